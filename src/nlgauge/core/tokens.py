"""Texts under one model: tokens of a corpus, the view of a text for a metric, and idf tables.

The idf table that weights each text:

    none    no table: all tokens have the same weight
    refs    one table, each reference a document                       (BERTScore as published)
    both    references by a table of the references, a system's outputs by a table of its own outputs
            (MoverScore and BaryScore as published)
    FILE    one frozen table for all texts
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import Corpus
from nlgauge.encoders.base import EncodedText, Encoder
from nlgauge.errors import InputError, refuse_word
from nlgauge.io.storage import short_digest
from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import TextTokenizer, Tokens
from nlgauge.text.windows import Windows
from nlgauge.vectors.cloud import Cloud, PointSpans, TokenCloud, TokenPoints, unit_rows
from nlgauge.vectors.points import Aggregation, TokenFilter, ngram_labels, ngram_spans, select_tokens, surfaces_of

Value = TypeVar("Value")

#: Spelling of tokens in labels: as in the text, or as in the vocabulary.
Spelling: TypeAlias = Literal["surfaces", "token_strings"]


@dataclass(frozen=True, eq=False)
class TokenizedCorpus:
    """A corpus with the tokens of each of its texts under one model."""

    corpus: Corpus
    encoder: Encoder
    tokenizer: TextTokenizer
    """The encoder's tokenizer, with the settings of the recipe."""
    tokens: Mapping[str, Tokens]
    limit: int = 0
    """Longest text in tokens: the model's limit, or `max_tokens` of the recipe."""
    windows: Windows | None = None
    """How texts over the limit are read; None: they are cut."""
    memo: dict[str, Any] = field(default_factory=dict, repr=False)
    """Idf tables that recipes share, by choice."""

    def reference_tokens(self) -> Iterable[Tokens]:
        """Every reference as a document of idf, in order, repeated texts included."""
        documents = self.corpus.idf_documents.get(None)
        if documents is None:
            documents = [text for group in self.corpus.references for text in group]
        return (self.tokens[text] for text in documents)

    def system_tokens(self, system: str) -> Iterable[Tokens]:
        """Every output of a system as a document of idf."""
        texts = self.corpus.idf_documents.get(system, self.corpus.systems[system])
        return (self.tokens[text] for text in texts)


class Role(NamedTuple):
    """The role of a text in a comparison."""

    kind: Literal["hypothesis", "reference", "source"]
    system: str | None = None
    """The system of a hypothesis, if the recipe has an idf table per system."""


class Selection(NamedTuple):
    """The tokens or words that a recipe keeps, with their weights."""

    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    zero_weight: bool
    """Whether idf gave all of them weight 0, so that the weights are uniform instead."""


@dataclass(frozen=True, eq=False)
class TextView:
    """A text in its role."""

    encoded: EncodedText
    role: Role
    tokenizer: TextTokenizer
    idf: IdfTable | None = None
    """The table of its token weights; None: all have the same weight."""

    @property
    def tokens(self) -> Tokens:
        """Its tokens."""
        return self.encoded.tokens

    @property
    def layers(self) -> Mapping[int, NDArray[np.float32]]:
        """Token vectors by layer."""
        return self.encoded.layers

    @property
    def features(self) -> Mapping[Hashable, Any]:
        """Results of models of whole texts."""
        return self.encoded.text_features

    def once(self, function: Callable[..., Value], *args: Hashable) -> Value:
        """`function(text, *args)`, computed once for all recipes.

        It must not use `role` or `idf`, which differ between recipes and sides.
        """
        return self.encoded.derived((function, *args), lambda: function(self, *args))

    def unit(self, layer: int, keep: TokenFilter | None = None) -> NDArray[np.float32]:
        """Its token vectors of a layer, scaled to length 1; computed once, so recipes share the array."""
        return self.once(_unit_vectors, layer, keep)

    def words(self) -> tuple[str, ...]:
        """Its tokens, spelt as in the text."""
        return surfaces_of(self.encoded, self.tokenizer)

    def token_points(
        self, aggregation: Aggregation, layers: tuple[int, ...], by_word: bool, *, floor: float | None = None
    ) -> TokenPoints:
        """A point for every token or word: its layers combined, and with a `floor` scaled to length 1.

        Recipes with the same aggregation share the points.
        """
        return self.once(_token_points, aggregation, layers, by_word, floor)

    def cloud(
        self,
        points: NDArray[Any] | TokenPoints,
        selection: Selection,
        *,
        by_word: bool = False,
        spelling: Spelling = "surfaces",
    ) -> Cloud:
        """A cloud of weighted points for the selected tokens or words.

        `TokenPoints` are points of all tokens. Recipes that keep different tokens share their distances.
        """
        names = TokenNames(self.tokens, self.tokenizer, selection.rows, 1, by_word, spelling)
        if isinstance(points, TokenPoints):
            return TokenCloud(
                points, selection.rows, selection.weights, zero_weight=selection.zero_weight, names=names
            )
        return Cloud(points, selection.weights, selection.zero_weight, names)

    def select(self, keep: TokenFilter | None, *, specials_weigh: bool) -> Selection:
        """The tokens that a filter keeps (None: all) with their weights; words if the filter averages pieces.

        The weight is the token's idf. Without a table it is 1, for special tokens 1 or 0 by `specials_weigh`. If all
        weights are 0 (with a corpus of one document, all its tokens have idf 0), all but special tokens get the same
        weight.
        """
        tokens, by_word = self.tokens, keep is not None and keep.subwords == "average"
        rows = np.arange(len(tokens)) if keep is None else select_tokens(self.encoded, keep, self.tokenizer)
        special = tokens.is_special[tokens.starts_word] if by_word else tokens.is_special
        if self.idf is not None:
            weights = self.idf.weights[tokens.ids]
            weights = (tokens.average_pieces(weights) if by_word else weights)[rows]
        else:
            weights = np.where(special[rows], float(specials_weigh), 1.0)
        if weights.sum() > 0:
            return Selection(rows, weights, False)
        uniform = np.where(special[rows], 0.0, 1.0)
        return Selection(rows, uniform if uniform.sum() > 0 else np.ones(len(rows)), True)


def _unit_vectors(text: TextView, layer: int, keep: TokenFilter | None) -> NDArray[np.float32]:
    if keep is None:
        return unit_rows(text.layers[layer])
    return text.unit(layer)[select_tokens(text.encoded, keep, text.tokenizer)]


def _token_points(
    text: TextView, aggregation: Aggregation, layers: tuple[int, ...], by_word: bool, floor: float | None
) -> TokenPoints:
    vectors = aggregation.join([text.layers[layer] for layer in layers])
    vectors = text.tokens.average_pieces(vectors) if by_word else vectors
    return TokenPoints(vectors if floor is None else unit_rows(vectors, floor=floor))


@dataclass(frozen=True, eq=False)
class TokenNames:
    """Labels and spans of the points of a text; keeps only its tokens in memory."""

    tokens: Tokens
    tokenizer: TextTokenizer
    rows: NDArray[np.intp]
    n: int
    by_word: bool
    spelling: Spelling

    def ngrams(self, n: int) -> TokenNames:
        """The names of n-grams of these tokens."""
        return replace(self, n=n)

    def labels(self) -> tuple[str, ...]:
        """The tokens, spelt by `spelling`; words are joined from their pieces."""
        words = getattr(self.tokenizer, self.spelling)(self.tokens)
        if self.by_word:
            pieces = self.tokenizer.pieces(self.tokens)
            words = [
                words[start] if size == 1 else "".join(pieces[start : start + size])
                for start, size in zip(*self.tokens.word_pieces, strict=True)
            ]
        return ngram_labels([words[row] for row in self.rows], self.n)

    def spans(self) -> tuple[PointSpans, ...]:
        """Character spans of the tokens, or of all pieces of each word; special tokens have none."""
        offsets, special = self.tokens.offsets.tolist(), self.tokens.is_special.tolist()
        spans: list[PointSpans] = [
            ((start, end),) if end > start and not is_special else ()
            for (start, end), is_special in zip(offsets, special, strict=True)
        ]
        if self.by_word:
            words = zip(*self.tokens.word_pieces, strict=True)
            spans = [tuple(span for piece in spans[start : start + size] for span in piece) for start, size in words]
        return ngram_spans([spans[row] for row in self.rows], self.n)


#: Choices that count idf on the scored texts.
COUNTED = ("refs", "both")


@dataclass(frozen=True, eq=False)
class IdfTables:
    """The idf tables of a run, and their label in a signature."""

    label: str = "none"
    shared: IdfTable | None = None
    """The table of the references, or of all texts; None if there is no idf."""
    by_system: Mapping[str, IdfTable] = field(default_factory=dict)
    """The tables of the outputs of each system, with `idf=both`."""

    def of(self, role: Role) -> IdfTable | None:
        """The table for texts of a role."""
        return self.shared if role.system is None else self.by_system.get(role.system, self.shared)

    def run_fields(self, system: str) -> dict[str, str]:
        """The field for a system's own table in the run part of its signature."""
        own = self.by_system.get(system)
        return {} if own is None else {"idf_hyps": short_digest(own.digest)}


def idf_tables(choice: str, corpus: TokenizedCorpus) -> IdfTables:
    """The tables of a choice, counted or read once for all recipes of a run."""
    if choice not in corpus.memo:
        corpus.memo[choice] = _count_or_read(choice, corpus)
    tables: IdfTables = corpus.memo[choice]
    return tables


def _count_or_read(choice: str, corpus: TokenizedCorpus) -> IdfTables:
    tokenizer = corpus.tokenizer

    def count(documents: Iterable[Tokens]) -> IdfTable:
        return IdfTable.build(documents, vocabulary_size=tokenizer.vocabulary_size, tokenizer=tokenizer.digest)

    if choice == "none":
        return IdfTables()
    if choice not in COUNTED:
        refuse_word("idf", choice, ("none", *COUNTED), file="a file made by 'nlgauge build idf'")
        loaded = IdfTable.load(Path(choice))
        if loaded.tokenizer == tokenizer.alternative_digest:
            ways = "without a space before each document" if tokenizer.prefix_space else "with one"
            mine = tokenizer.signed_prefix_space
            msg = (
                f"idf file {choice!r} was counted {ways}, but the recipe has prefix_space={mine}; build it again "
                f"with --prefix-space {mine}"
            )
            raise InputError(msg)
        loaded.check_tokenizer(tokenizer.digest, vocabulary_size=tokenizer.vocabulary_size, path=choice)
        return IdfTables(f"file[{short_digest(loaded.digest)}]", loaded)
    shared = count(corpus.reference_tokens())
    own = {}
    if choice == "both":
        own = {system: count(corpus.system_tokens(system)) for system in corpus.corpus.systems}
    return IdfTables(f"{choice}[{short_digest(shared.digest)}]", shared, own)
