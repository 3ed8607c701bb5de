"""From a name to an annotator that annotates each distinct text once per process."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from nlgauge.annotate.annotated import AnnotatedText, Annotator
from nlgauge.annotate.conllu_annotator import ConlluAnnotator
from nlgauge.annotate.spacy_annotator import SpacyAnnotator, model_folder, require_spacy
from nlgauge.errors import ModelError, RecipeError
from nlgauge.files.digests import file_digest, text_digest
from nlgauge.models.catalog import CARDS, find_card
from nlgauge.models.resolve import resolve

__all__ = ["ANNOTATORS", "SENTENCE_RULES", "LoadedAnnotator", "load_annotator"]

#: Annotators known by name.
ANNOTATORS = tuple(name for name, card in CARDS.items() if card.kind == "annotator")

#: Where sentences end: by rules, at ends of lines, or as the annotator says.
SENTENCE_RULES = ("rules", "lines", "annotator")

#: Most words that an annotator remembers; one of spaCy's takes about 170 bytes.
MEMO_WORDS = 1_000_000


class _Source(Annotator, Protocol):
    """What annotates anew whenever it is asked."""

    @property
    def engine(self) -> str:
        """The package that annotates, with its version; empty for files."""

    @property
    def language(self) -> str:
        """The one language that it reads; empty where that is not known (files) or there are several."""


class LoadedAnnotator:
    """An annotator that remembers texts: what several metrics ask for is annotated once.

    Threads may share it. Texts asked for least recently are forgotten first.
    """

    def __init__(self, annotator: _Source, *, memo_words: int = MEMO_WORDS) -> None:
        self._annotator = annotator
        self._memo_words = memo_words
        self._memo: OrderedDict[str, AnnotatedText] = OrderedDict()
        self._words = 0
        self._lock = threading.Lock()
        self.annotated = 0
        """Texts annotated so far, those remembered not counted."""

    @property
    def label(self) -> str:
        """Name, version and digest, as a signature has them."""
        return self._annotator.label

    @property
    def engine(self) -> str:
        """The package that annotates, with its version; empty for files."""
        return self._annotator.engine

    @property
    def language(self) -> str:
        """The one language that it reads; empty where that is not known (files) or there are several."""
        return self._annotator.language

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts in their order, annotated."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._memo]
            found = dict(zip(new, self._annotator.annotate(new), strict=True))
            self.annotated += len(new)
            for text in dict.fromkeys(texts):
                if text in found:
                    self._memo[text] = found[text]
                    self._words += _size(found[text])
                else:
                    self._memo.move_to_end(text)
                    found[text] = self._memo[text]
            while self._words > self._memo_words:
                _, forgotten = self._memo.popitem(last=False)
                self._words -= _size(forgotten)
        return [found[text] for text in texts]


def load_annotator(
    name: str, *, sentences: str = "rules", trees: bool = False, extra: str = "documents"
) -> LoadedAnnotator:
    """An annotator by name, and a rule for sentences.

    `name` is `spacy-en`, a folder with a spaCy model, or CoNLL-U files joined by +. `sentences` is `rules`, `lines`
    (a sentence per line of the text) or `annotator` (spaCy's, or those of the file). `trees` also gives heads and
    relations, by the scheme of the model or file: the English model has ClearNLP's relations (dobj), not UD's (obj).
    `extra` is what is said to be installed where spaCy is missing.

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
        return _from_files(files, sentences, trees, _state(files))
    card = find_card(name)
    if card is not None and card.kind == "annotator":
        require_spacy(extra)
        return _from_spacy(resolve(name).path, card.name, sentences, trees, "")
    folder = model_folder(Path(name).expanduser())
    if folder is None:
        msg = (
            f"no annotator is known as {name!r}: there is {', '.join(ANNOTATORS)} for English, and none for other "
            "languages; name CoNLL-U files that UDPipe or Stanza wrote (such as parses.conllu), "
            "or a folder with a spaCy model"
        )
        raise RecipeError(msg)
    require_spacy(extra)
    return _from_spacy(folder, "spacy", sentences, trees, _state(sorted(folder.rglob("*"))))


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
def _from_files(files: tuple[Path, ...], sentences: str, trees: bool, state: str) -> LoadedAnnotator:
    return LoadedAnnotator(ConlluAnnotator(files, sentences=sentences, trees=trees))


@lru_cache(maxsize=4)
def _from_spacy(folder: Path, name: str, sentences: str, trees: bool, state: str) -> LoadedAnnotator:
    return LoadedAnnotator(SpacyAnnotator(folder, name=name, sentences=sentences, trees=trees))


def _size(text: AnnotatedText) -> int:
    return 1 + sum(len(sentence.words) for sentence in text.sentences)
