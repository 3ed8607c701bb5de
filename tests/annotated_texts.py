"""Short notation for annotated texts: `cat:N see a dog:N . | dog:N run .` has two sentences.

The lemma of a word is its lower-case form unless given as `form=lemma:TAG`. Tags are N (noun), P (name), V,
J (adjective), R (adverb), D (determiner, the default) and `.` (punctuation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nlgauge.text.annotation import AnnotatedSentence, AnnotatedText, AnnotatedWord

TAGS = {"N": "NOUN", "P": "PROPN", "V": "VERB", "J": "ADJ", "R": "ADV", "D": "DET", ".": "PUNCT"}


def _parse_word(short: str, index: int) -> AnnotatedWord:
    spelt, _, tag = short.partition(":") if short != "." else (".", "", ".")
    form, _, lemma = spelt.partition("=")
    return AnnotatedWord(index, index + len(form), form, lemma or form.lower(), TAGS[tag or "D"])


def annotated(short: str) -> AnnotatedText:
    """Parse the notation."""
    sentences, text = [], ""
    for part in short.split("|"):
        words: list[AnnotatedWord] = []
        for word in part.split():
            text += " " if text else ""
            words.append(_parse_word(word, len(text)))
            text += words[-1].form
        if words:
            sentences.append(AnnotatedSentence(words[0].start, words[-1].end, tuple(words)))
    return AnnotatedText(text, tuple(sentences))


def conllu(*shorts: str) -> str:
    """Convert the notation to CoNLL-U."""
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
    """Plain text of a document."""
    return annotated(short).text


def write_conllu(path: Path, *documents: str) -> str:
    """Write a file with the annotation of documents for `annotator=`."""
    path.write_text(conllu(*documents), encoding="utf-8")
    return str(path)


def write_vectors(path: Path, vectors: Mapping[str, Sequence[float]]) -> str:
    """Write a file of word vectors: a model without context, with words as tokens and only layer 0."""
    lines = [" ".join([word, *map(str, vector)]) for word, vector in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
