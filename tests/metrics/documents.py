"""Hand-made documents: annotated in a file, with vectors that one can calculate with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nlgauge.annotate import AnnotatedSentence, AnnotatedText, AnnotatedWord

__all__ = ["annotated", "text_of", "write_conllu", "write_vectors"]


def _words(sentence: str) -> list[tuple[str, str, str]]:
    """Form, lemma and part of speech of words written as form/lemma/PART; one without slashes is a verb."""
    split = [word.split("/") for word in sentence.split()]
    return [(word[0], word[1], word[2]) if len(word) == 3 else (word[0], word[0], "VERB") for word in split]


def text_of(*sentences: str) -> str:
    """The document without its annotation."""
    return " ".join(form for sentence in sentences for form, _, _ in _words(sentence))


def annotated(*sentences: str) -> AnnotatedText:
    """The document with its annotation."""
    made, at = [], 0
    for sentence in sentences:
        words, begin = [], at
        for form, lemma, upos in _words(sentence):
            words.append(AnnotatedWord(at, at + len(form), form, lemma, upos))
            at += len(form) + 1
        made.append(AnnotatedSentence(begin, at - 1, tuple(words)))
    return AnnotatedText(text_of(*sentences), tuple(made))


def write_conllu(path: Path, documents: Sequence[Sequence[str]]) -> str:
    """A file with the annotation of documents, one after the other, as `annotator=` takes it."""
    blocks = []
    for sentence in (sentence for document in documents for sentence in document):
        rows = [
            f"{number}\t{form}\t{lemma}\t{upos}\t_\t_\t{number - 1}\tdep\t_\t_"
            for number, (form, lemma, upos) in enumerate(_words(sentence), start=1)
        ]
        blocks.append("\n".join([f"# text = {text_of(sentence)}", *rows]) + "\n\n")
    path.write_text("".join(blocks), encoding="utf-8")
    return str(path)


def write_vectors(path: Path, vectors: Mapping[str, Sequence[float]]) -> str:
    """A file of word vectors, which is a model without context: a token is a word, and there is layer 0 only."""
    lines = [" ".join([word, *map(str, vector)]) for word, vector in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
