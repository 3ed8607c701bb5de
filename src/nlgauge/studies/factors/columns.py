"""Linguistic factors of the pairs of a data set, one column each.

    SEM    human score                                    LEX    lexical overlap, as BLEU-1
    SYN    similarity of the dependency trees             MOR    morphological similarity
    CLB    the metric's own score of a foreign sentence and its machine translation (`surrogate.py`)

Any other name is a numeric column of the data. A pair without a value (no parse, no translation, no word with a
vector) has nan, never 0.

    LEX = min(1, exp(1 - |r| / |h|)) * (words of h that are in r, with clipped counts) / |h|

In the released scores r is the translation and h the human reference (D11), with case; LEX is 0 if no word is shared.
Across languages r is the machine translation of the foreign sentence, read from a file:

    {"sentence": {"Ein Hund bellt.": ["A", "dog", "barks", "."]}}     as released; also plain {text: translation}
    Ein Hund bellt.<TAB>A dog barks.                                  TSV without a header
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from nlgauge.core.annotation import AnnotatorName
from nlgauge.core.kinds import InputFile
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.storage import bytes_digest, file_digest, short_digest
from nlgauge.io.tables import read_bytes, read_json, read_tsv
from nlgauge.stats.numeric import Vector
from nlgauge.studies.factors.similarity import (
    WordPair,
    build_lexicon,
    morphological_similarity,
    read_lexicon,
    retrofit,
    syntactic_similarity,
    train_vectors,
    training_label,
    vectors_of_file,
    word_tree,
)
from nlgauge.text.annotation import AnnotatedText, Annotator, annotate_each
from nlgauge.text.annotators import load_annotator
from nlgauge.text.words import treebank_words


def bleu1(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """Precision of the hypothesis' words, times the brevity penalty.

    >>> bleu1("the cat sat".split(), "the the cat".split())
    0.6666666666666666
    >>> round(bleu1("the cat sat".split(), ["cat"]), 4)
    0.1353
    """
    shared = (Counter(hypothesis) & Counter(reference)).total()
    if not shared:
        return 0.0
    brevity = min(0.0, 1 - len(reference) / len(hypothesis))
    return math.exp(brevity) * shared / len(hypothesis)


def lexical_overlap(text: str, others: Sequence[str]) -> float:
    """LEX of a hypothesis and its references (maximum over references); nan for an empty text.

    >>> lexical_overlap("A man is playing a large flute.", ["A man is playing a flute."])
    0.8668778997501817
    """
    words = treebank_words(text)
    values = [bleu1(words, treebank_words(other)) for other in others if other.strip()]
    return max(values) if words and values else math.nan


@dataclass(frozen=True)
class Translations:
    """English translations of foreign texts, by text."""

    label: str
    """Name and digest of the file."""
    words: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str]


def read_translations(path: str | os.PathLike[str]) -> Translations:
    """Read translations from a file; texts are split into Penn Treebank words unless the file contains word lists."""
    name = os.fspath(path)
    data = read_bytes(name)
    if name.lower().endswith(".json"):
        document = read_json(name)
        translations = dict(document["sentence"] if isinstance(document.get("sentence"), dict) else document)
    else:
        rows = read_tsv(name, data=data, columns=("text", "translation"))
        translations = {row.text("text"): row.text("translation") for row in rows}
    words: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    for text, translation in translations.items():
        if isinstance(translation, list) and all(isinstance(word, str) for word in translation):
            words[text], texts[text] = tuple(translation), " ".join(translation)
        elif isinstance(translation, str):
            words[text], texts[text] = tuple(treebank_words(translation)), translation
        else:
            msg = f"{name}, {text[:40]!r}: expected a translation as text or as a list of words, got {translation!r}"
            raise FileFormatError(msg)
    return Translations(f"{os.path.basename(name)}[{short_digest(bytes_digest(data))}]", words, texts)


CLB = "CLB"
#: Factors that are computed from the pairs; CLB needs the metric too.
COMPUTED = ("SEM", "SYN", "LEX", "MOR")


@dataclass(frozen=True, kw_only=True)
class FactorOptions(OptionSet):
    """Options for computing factors."""

    called: ClassVar[str] = "options of factors"

    parser: str = option(
        "spacy-en",
        AnnotatorName(),
        help="parser: spacy-en, a spaCy model, or CoNLL-U files joined by +",
    )
    source_parser: str | None = option(
        None, AnnotatorName(), help="parser for sources in another language", unset="the same", hidden=True
    )
    lexicon: str | None = option(
        None, InputFile(), help="word pairs with the same features, for MOR", unset="from the parser"
    )
    word_vectors: str | None = option(
        None, InputFile(), help="word vectors, for MOR", unset="fastText-style, trained on the texts"
    )
    translations: str | None = option(
        None, InputFile(), help="translations of foreign sentences, for LEX and CLB across languages"
    )
    seed: int = seed_option()
    """Seed for training word vectors."""


class FactorMaker:
    """Computes factors of the rows of a table; shared inputs are computed once."""

    def __init__(self, table: JudgementTable, options: FactorOptions) -> None:
        self._table, self.options = table, options
        with_references = any(table.references)
        if not with_references and table.source is None:
            msg = f"{table.name} has neither references nor sources to compare outputs with"
            raise InputError(msg)
        self.across = not with_references
        """Whether outputs are compared with sources."""
        self.others: list[tuple[str, ...]] = (
            list(table.references) if table.source is None or with_references else [(text,) for text in table.source]
        )
        self.labels: dict[str, str] = {}

    def name_of(self, name: str) -> str:
        """Normalise the name of a factor: upper case, unless it is a column of the data."""
        return name if name in self._columns or name.upper() not in (*COMPUTED, CLB) else name.upper()

    @cached_property
    def _columns(self) -> dict[str, Vector]:
        return {**self._table.human, **self._table.released}

    def column(self, name: str, *, criterion: str | None = None) -> Vector:
        """A factor by name, a value per row."""
        name = self.name_of(name)
        makers: dict[str, Callable[[], Vector]] = {"SYN": self._syn, "LEX": self._lex, "MOR": self._mor}
        if name in makers:
            return makers[name]()
        if name == "SEM":
            self.labels[name] = f"human score: {criterion or self._table.default_criterion}"
            return self._table.gold(criterion)
        if name not in self._columns:
            columns = ", ".join(self._columns) or "none"
            factors = ", ".join((*COMPUTED, CLB))
            msg = f"unknown factor {name!r}; factors are {factors} and columns of the data: {columns}"
            raise RecipeError(msg)
        self.labels[name] = f"column of {self._table.name}"
        return self._columns[name]

    def foreign_first(self, row: int) -> bool:
        """Whether the foreign sentence of a row is its source (else its hypothesis)."""
        return not self._table.langpair[row].startswith("en-")

    def foreign(self, row: int) -> str:
        """The sentence of a row that is not English."""
        return self.others[row][0] if self.foreign_first(row) else self._table.hypothesis[row]

    @cached_property
    def translations(self) -> Translations:
        """The machine translations."""
        if self.options.translations is None:
            msg = (
                f"{self._table.name} compares across languages: LEX and CLB need machine translations of the foreign "
                "sentences (translations=FILE)"
            )
            raise RecipeError(msg)
        return read_translations(self.options.translations)

    def _lex(self) -> Vector:
        table = self._table
        if not self.across:
            self.labels["LEX"] = "BLEU-1 of Penn Treebank words, with case; maximum over references"
            pairs = zip(table.hypothesis, self.others, strict=True)
            return np.array([lexical_overlap(text, others) for text, others in pairs])
        self.labels["LEX"] = f"BLEU-1 of Penn Treebank words, with case; translations: {self.translations.label}"
        values = []
        for row, (hypothesis, others) in enumerate(zip(table.hypothesis, self.others, strict=True)):
            english = hypothesis if self.foreign_first(row) else others[0]
            translated = self.translations.words.get(self.foreign(row))
            values.append(math.nan if translated is None else bleu1(translated, treebank_words(english)))
        return np.array(values)

    def _syn(self) -> Vector:
        parsers = dict.fromkeys([self._annotator.label, self._other_annotator.label])
        self.labels["SYN"] = f"1 - tree edit distance / words; trees: {' and '.join(parsers)}"
        trees, other_trees = (
            {text: () if parsed is None else word_tree(parsed) for text, parsed in annotations.items()}
            for annotations in self._parsed
        )
        return self._best(lambda text, other: syntactic_similarity(trees[text], other_trees[other]))

    def _best(self, similarity: Callable[[str, str], float]) -> Vector:
        """Highest similarity of each row to one of its other texts; nan if there is none."""
        values = [
            [value for other in others if not math.isnan(value := similarity(text, other))]
            for text, others in zip(self._table.hypothesis, self.others, strict=True)
        ]
        return np.array([max(of_row, default=math.nan) for of_row in values])

    @cached_property
    def _parsed(self) -> tuple[Mapping[str, AnnotatedText | None], Mapping[str, AnnotatedText | None]]:
        """Hypotheses and other texts with their trees; None for texts that could not be parsed."""
        own = annotate_each(self._annotator, self._table.hypothesis)
        return own, annotate_each(self._other_annotator, [text for texts in self.others for text in texts])

    @cached_property
    def _annotator(self) -> Annotator:
        return _parser(self.options.parser)

    @cached_property
    def _other_annotator(self) -> Annotator:
        name = self.options.source_parser
        return self._annotator if name is None else _parser(name)

    def _mor(self) -> Vector:
        texts = [*self._table.hypothesis, *(text for texts in self.others for text in texts)]
        words = {text: [word.lower() for word in treebank_words(text)] for text in dict.fromkeys(texts)}
        if self.options.word_vectors is not None:
            label, vectors = vectors_of_file(self.options.word_vectors)
        else:
            vocabulary = sorted({word for of_text in words.values() for word in of_text})
            label = f"{training_label()}, trained on the {len(texts)} texts, seed {self.options.seed}"
            vectors = train_vectors(texts, vocabulary, seed=self.options.seed)
        pairs, of_pairs = self._lexicon()
        moved = retrofit(vectors, pairs)
        self.labels["MOR"] = f"cosine of mean word vectors ({label}), retrofitted on {len(pairs)} pairs ({of_pairs})"
        return self._best(lambda text, other: morphological_similarity(words[text], words[other], moved))

    def _lexicon(self) -> tuple[list[WordPair], str]:
        path = self.options.lexicon
        if path is not None:
            return read_lexicon(path), f"{Path(path).name}[{short_digest(file_digest(Path(path)))}]"
        words = [
            (word.form, word.features)
            for annotations in self._parsed
            for text in annotations.values()
            for sentence in ([] if text is None else text.sentences)
            for word in sentence.words
        ]
        return build_lexicon(words), f"features of {self._annotator.label}"


def _parser(name: str) -> Annotator:
    return load_annotator(name, sentences="annotator", trees=True)
