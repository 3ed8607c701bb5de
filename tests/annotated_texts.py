"""Annotated texts in short: `cat:N see a dog:N . | dog:N run .` has two sentences, and its words stand as they are.

A word is its own lemma in lower case, or `form=lemma:TAG`; tags are N (noun), P (name), V, J (adjective), R (adverb),
D (determiner, the default) and `.` (punctuation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nlgauge.text.annotation import AnnotatedSentence, AnnotatedText, AnnotatedWord

TAGS = {"N": "NOUN", "P": "PROPN", "V": "VERB", "J": "ADJ", "R": "ADV", "D": "DET", ".": "PUNCT"}


def _word(short: str, at: int) -> AnnotatedWord:
    spelt, _, tag = short.partition(":") if short != "." else (".", "", ".")
    form, _, lemma = spelt.partition("=")
    return AnnotatedWord(at, at + len(form), form, lemma or form.lower(), TAGS[tag or "D"])


def annotated(short: str) -> AnnotatedText:
    """The text that is meant."""
    sentences, text = [], ""
    for part in short.split("|"):
        words: list[AnnotatedWord] = []
        for one in part.split():
            text += " " if text else ""
            words.append(_word(one, len(text)))
            text += words[-1].form
        if words:
            sentences.append(AnnotatedSentence(words[0].start, words[-1].end, tuple(words)))
    return AnnotatedText(text, tuple(sentences))


def conllu(*shorts: str) -> str:
    """The same as a CoNLL-U file."""
    lines: list[str] = []
    for short in shorts:
        for sentence in annotated(short).sentences:
            lines.append(f"# text = {' '.join(word.form for word in sentence.words)}")
            lines += [
                f"{number}\t{word.form}\t{word.lemma}\t{word.upos}\t_\t_\t0\troot\t_\t_"
                for number, word in enumerate(sentence.words, start=1)
            ]
            lines.append("")
    return "\n".join(lines) + "\n"


def text_of(short: str) -> str:
    """A document without its annotation."""
    return annotated(short).text


def write_conllu(path: Path, *documents: str) -> str:
    """A file with the annotation of documents, as `annotator=` takes it."""
    path.write_text(conllu(*documents), encoding="utf-8")
    return str(path)


def write_vectors(path: Path, vectors: Mapping[str, Sequence[float]]) -> str:
    """A file of word vectors, which is a model without context: a token is a word, and there is layer 0 only."""
    lines = [" ".join([word, *map(str, vector)]) for word, vector in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
