"""Annotation out of CoNLL-U files of one's own, in any language.

The files have the sentences of the documents in their order, as UDPipe, Stanza or spaCy wrote them, one document
after the other (`# newdoc` is not needed). A document is found by its characters, blanks left out: the sentences that
follow each other and together spell it. So systems, references and sources may stand in one file or several, in any
order, and a document that stands there twice is read the first time. One that is not there is an error that quotes
its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from nlgauge.annotate.annotated import AnnotatedSentence, AnnotatedText, AnnotatedWord
from nlgauge.annotate.sentences import Span, split_lines, split_sentences
from nlgauge.errors import InputError
from nlgauge.files.digests import short_digest, text_digest
from nlgauge.files.lines import read_bytes, whole_text
from nlgauge.files.lines import split_lines as lines_of
from nlgauge.text.conllu import Contraction, Sentence, parse_conllu

__all__ = ["ConlluAnnotator"]

_SHOWN = 60


class ConlluAnnotator:
    """Sentences of files, and a rule for sentences."""

    engine = ""
    language = ""

    def __init__(self, paths: Sequence[Path], *, sentences: str, trees: bool) -> None:
        self._rule = sentences
        self._names = [path.name for path in paths]
        contents = [read_bytes(str(path)) for path in paths]
        texts = [whole_text(data, path.name) for data, path in zip(contents, paths, strict=True)]
        self.label = f"conllu[{short_digest(text_digest(chr(0).join(texts)))}]"
        self._sentences: list[tuple[str, Sentence]] = []
        for data, path in zip(contents, paths, strict=True):
            found = parse_conllu(lines_of(data, path.name), name=path.name, trees=trees)
            self._sentences += [(_squeezed(sentence.text), sentence) for sentence in found]
        self._starts: dict[str, list[int]] = {}
        for number, (text, _) in enumerate(self._sentences):
            self._starts.setdefault(text, []).append(number)
        self._lengths = sorted({len(text) for text in self._starts}, reverse=True)

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts in their order, annotated."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> AnnotatedText:
        places = [place for place, char in enumerate(text) if not char.isspace()]
        if not places:
            return AnnotatedText(text, ())
        first, last = self._find(text, "".join(text[place] for place in places))
        sentences = []
        at = 0
        for squeezed, sentence in self._sentences[first:last]:
            words = tuple(_placed(sentence, places, at))
            end = at + len(squeezed)
            sentences.append(AnnotatedSentence(places[at], places[end - 1] + 1, words))
            at = end
        if self._rule == "annotator":
            return AnnotatedText(text, tuple(sentences))
        spans = split_lines(text) if self._rule == "lines" else split_sentences(text)
        return AnnotatedText(text, tuple(_regrouped(sentences, spans)))

    def _find(self, text: str, wanted: str) -> tuple[int, int]:
        """The numbers of the sentences, from the first up to another, that spell the wanted characters."""
        farthest, expected = 0, ""
        for length in self._lengths:
            for first in self._starts.get(wanted[:length], ()) if length <= len(wanted) else ():
                at, last = 0, first
                while last < len(self._sentences) and wanted.startswith(self._sentences[last][0], at):
                    at += len(self._sentences[last][0])
                    last += 1
                    if at == len(wanted):
                        return first, last
                if at > farthest:
                    follows = self._sentences[last][1].text if last < len(self._sentences) else ""
                    farthest, expected = at, follows
        msg = f"{' + '.join(self._names)} does not have the document {_beginning(text)}: "
        if farthest:
            there = _after(text, farthest)
            msg += f"its first {farthest} characters without blanks fit, then the text has {_beginning(there)} and "
            msg += f"the file {_beginning(expected)}" if expected else "the file ends"
        else:
            msg += "no sentence of it starts so"
        error = InputError(f"{msg}; annotate the very texts that are scored")
        error.document = text
        raise error


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _beginning(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _after(text: str, count: int) -> str:
    """The rest of a text behind so many characters that are no blanks."""
    seen = accumulate(not char.isspace() for char in text)
    place = next(place for place, number in enumerate(seen) if number == count)
    return text[place + 1 :].strip()


def _placed(sentence: Sentence, places: Sequence[int], at: int) -> Iterator[AnnotatedWord]:
    """The words of a sentence whose first character is number `at` of those that are no blanks."""
    contracted: dict[int, Contraction] = {}
    for contraction in sentence.contractions:
        contracted |= dict.fromkeys(range(contraction.first, contraction.last + 1), contraction)
    for number, word in enumerate(sentence.words, start=1):
        whole = contracted.get(number)
        length = len(_squeezed(word.form if whole is None else whole.form))
        yield AnnotatedWord(
            start=places[at],
            end=places[at + length - 1] + 1,
            form=word.form,
            lemma=word.lemma or word.form,
            upos=word.upos,
            features=word.features,
            head=word.head,
            relation=word.relation,
        )
        if whole is None or number == whole.last:
            at += length


def _regrouped(sentences: Iterable[AnnotatedSentence], spans: Sequence[Span]) -> Iterator[AnnotatedSentence]:
    """The words in sentences of another rule; a word belongs where it starts."""
    words = [word for sentence in sentences for word in sentence.words]
    at = 0
    for number, span in enumerate(spans):
        until = spans[number + 1].start if number + 1 < len(spans) else None
        first = at
        while at < len(words) and (until is None or words[at].start < until):
            at += 1
        yield AnnotatedSentence(span.start, span.end, tuple(words[first:at]))
