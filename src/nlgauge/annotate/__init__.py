"""Texts with sentences, lemmas, parts of speech and trees."""

from nlgauge.annotate.annotated import AnnotatedSentence, AnnotatedText, AnnotatedWord, Annotator

__all__ = ["AnnotatedSentence", "AnnotatedText", "AnnotatedWord", "Annotator"]
