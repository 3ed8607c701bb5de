"""Texts with sentences, lemmas, parts of speech and trees."""

from nlgauge.annotate.annotated import AnnotatedSentence, AnnotatedText, AnnotatedWord, Annotator
from nlgauge.annotate.load import load_annotator

__all__ = ["AnnotatedSentence", "AnnotatedText", "AnnotatedWord", "Annotator", "load_annotator"]
