"""Texts under one model: the tokens of a corpus, a text as a metric sees it, and the idf tables that weigh tokens.

Which idf table weighs which text:

    none    no table: every token weighs the same
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
from nlgauge.errors import InputError
from nlgauge.io.storage import short_digest
from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import TextTokenizer, Tokens
from nlgauge.text.windows import Windows
from nlgauge.vectors.cloud import Cloud, PointSpans, TokenCloud, TokenPoints, unit_rows
from nlgauge.vectors.points import Aggregation, TokenFilter, kept_tokens, ngram_labels, ngram_spans, surfaces_of

Made = TypeVar("Made")

#: How labels spell tokens: as a reader writes them, or as the vocabulary does.
Spelling: TypeAlias = Literal["surfaces", "token_strings"]


@dataclass(frozen=True, eq=False)
class TokenizedCorpus:
    """A corpus with the tokens of each of its texts under one model."""

    corpus: Corpus
    encoder: Encoder
    tokenizer: TextTokenizer
    """The encoder's, as the recipe reads texts with it."""
    tokens: Mapping[str, Tokens]
    limit: int = 0
    """Longest text in tokens: the model's limit, or less where the recipe says so."""
    windows: Windows | None = None
    """How texts over the limit are read; None: they are cut."""
    memo: dict[str, Any] = field(default_factory=dict, repr=False)
    """What recipes count on the corpus and share with each other: idf tables, by choice."""

    def reference_tokens(self) -> Iterable[Tokens]:
        """Every reference as a document of idf, in order, repeated texts included."""
        other = self.corpus.idf_documents.get(None)
        texts = (text for group in self.corpus.references for text in group) if other is None else iter(other)
        return (self.tokens[text] for text in texts)

    def system_tokens(self, system: str) -> Iterable[Tokens]:
        """Every output of a system as a document of idf."""
        texts = self.corpus.idf_documents.get(system, self.corpus.systems[system])
        return (self.tokens[text] for text in texts)


class Role(NamedTuple):
    """What a text is in a comparison."""

    kind: Literal["hypothesis", "reference", "source"]
    system: str | None = None
    """Whose hypothesis it is, where a recipe treats the texts of systems differently (idf of each system's own)."""


class Selection(NamedTuple):
    """Tokens, or words, that a recipe keeps."""

    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    zero_weight: bool
    """Whether idf left no weight, so that uniform weights stand in."""


@dataclass(frozen=True, eq=False)
class TextView:
    """A text in its role."""

    encoded: EncodedText
    role: Role
    tokenizer: TextTokenizer
    idf: IdfTable | None = None
    """The table that weighs its tokens; None: all weigh the same."""

    @property
    def tokens(self) -> Tokens:
        """Its tokens."""
        return self.encoded.tokens

    @property
    def layers(self) -> Mapping[int, NDArray[np.float32]]:
        """A row per token, by layer."""
        return self.encoded.layers

    @property
    def features(self) -> Mapping[Hashable, Any]:
        """What models of whole texts found about it."""
        return self.encoded.text_features

    def once(self, function: Callable[..., Made], *given: Hashable) -> Made:
        """`function(text, *given)`, computed once for all recipes that ask for the same.

        It must not look at `role` or `idf`, which differ between recipes and sides.
        """
        return self.encoded.derived((function, *given), lambda: function(self, *given))

    def unit(self, layer: int, keep: TokenFilter | None = None) -> NDArray[np.float32]:
        """Its token vectors of a layer, scaled to length 1; once, so that two recipes compare the same array."""
        return self.once(_unit_vectors, layer, keep)

    def words(self) -> tuple[str, ...]:
        """Its tokens as a reader writes them."""
        return surfaces_of(self.encoded, self.tokenizer)

    def token_points(
        self, aggregation: Aggregation, layers: tuple[int, ...], by_word: bool, *, floor: float | None = None
    ) -> TokenPoints:
        """A point for every token, or every word: its layers joined, scaled to length 1 where there is a `floor`.

        Recipes with an equal aggregation share them.
        """
        return self.once(_token_points, aggregation, layers, by_word, floor)

    def cloud(
        self,
        points: NDArray[Any] | TokenPoints,
        kept: Selection,
        *,
        by_word: bool = False,
        spelling: Spelling = "surfaces",
    ) -> Cloud:
        """Weighted points that stand for the kept tokens, or words.

        Points of all tokens, of which each recipe keeps some, are `TokenPoints`: their distances are shared.
        """
        names = TokenNames(self.tokens, self.tokenizer, kept.rows, 1, by_word, spelling)
        if isinstance(points, TokenPoints):
            return TokenCloud(points, kept.rows, kept.weights, zero_weight=kept.zero_weight, names=names)
        return Cloud(points, kept.weights, kept.zero_weight, names)

    def select(self, keep: TokenFilter | None, *, specials_weigh: bool) -> Selection:
        """The tokens that a filter keeps (None: all), or the words where it averages pieces, with their weights.

        A weight is the token's idf; without a table it is 1, of special tokens only where they are to weigh. Where
        that leaves nothing (a corpus of one document gives every token it holds 0) all but special tokens weigh the
        same.
        """
        tokens, by_word = self.tokens, keep is not None and keep.subwords == "average"
        rows = np.arange(len(tokens)) if keep is None else kept_tokens(self.encoded, keep, self.tokenizer)
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
    return text.unit(layer)[kept_tokens(text.encoded, keep, text.tokenizer)]


def _token_points(
    text: TextView, aggregation: Aggregation, layers: tuple[int, ...], by_word: bool, floor: float | None
) -> TokenPoints:
    vectors = aggregation.join([text.layers[layer] for layer in layers])
    vectors = text.tokens.average_pieces(vectors) if by_word else vectors
    return TokenPoints(vectors if floor is None else unit_rows(vectors, floor=floor))


@dataclass(frozen=True, eq=False)
class TokenNames:
    """What points of a text stand for; nothing of the text is kept alive but its tokens."""

    tokens: Tokens
    tokenizer: TextTokenizer
    rows: NDArray[np.intp]
    n: int
    by_word: bool
    spelling: Spelling

    def ngrams(self, n: int) -> TokenNames:
        """The same for n-grams."""
        return replace(self, n=n)

    def labels(self) -> tuple[str, ...]:
        """The tokens as a reader or as the vocabulary writes them, words put together from their pieces."""
        words = getattr(self.tokenizer, self.spelling)(self.tokens)
        if self.by_word:
            pieces = self.tokenizer.pieces(self.tokens)
            words = [
                words[start] if size == 1 else "".join(pieces[start : start + size])
                for start, size in zip(*self.tokens.word_pieces, strict=True)
            ]
        return ngram_labels([words[row] for row in self.rows], self.n)

    def spans(self) -> tuple[PointSpans, ...]:
        """Where the tokens stand in the text, words by the places of their pieces; special tokens stand nowhere."""
        places, special = self.tokens.offsets.tolist(), self.tokens.is_special.tolist()
        spans: list[PointSpans] = [
            ((start, end),) if end > start and not out else ()
            for (start, end), out in zip(places, special, strict=True)
        ]
        if self.by_word:
            words = zip(*self.tokens.word_pieces, strict=True)
            spans = [tuple(span for place in spans[start : start + size] for span in place) for start, size in words]
        return ngram_spans([spans[row] for row in self.rows], self.n)


#: Choices that look at the texts at hand.
COUNTED = ("refs", "both")


@dataclass(frozen=True, eq=False)
class IdfTables:
    """The tables of a run, and how a signature names them."""

    label: str = "none"
    shared: IdfTable | None = None
    """Of the references, or of all texts; None where tokens weigh the same."""
    by_system: Mapping[str, IdfTable] = field(default_factory=dict)
    """Of a system's own outputs, where each system has one."""

    def of(self, role: Role) -> IdfTable | None:
        """The table that weighs texts of a role."""
        return self.shared if role.system is None else self.by_system.get(role.system, self.shared)

    def run_fields(self, system: str) -> dict[str, str]:
        """Names a system's own table in the run part of its signature: another one for each system."""
        own = self.by_system.get(system)
        return {} if own is None else {"idf_hyps": short_digest(own.digest)}


def idf_tables(choice: str, corpus: TokenizedCorpus) -> IdfTables:
    """The tables that a choice asks for, counted or read once for all recipes of a run."""
    if choice not in corpus.memo:
        corpus.memo[choice] = _counted_or_read(choice, corpus)
    found: IdfTables = corpus.memo[choice]
    return found


def _counted_or_read(choice: str, corpus: TokenizedCorpus) -> IdfTables:
    tokenizer = corpus.tokenizer

    def table(documents: Iterable[Tokens]) -> IdfTable:
        return IdfTable.build(documents, vocabulary_size=tokenizer.vocabulary_size, tokenizer=tokenizer.digest)

    if choice == "none":
        return IdfTables()
    if choice not in COUNTED:
        loaded = IdfTable.load(Path(choice))
        if loaded.tokenizer == tokenizer.digest_otherwise:
            ways = "without a space before each document" if tokenizer.prefix_space else "with one"
            mine = tokenizer.signed_prefix_space
            msg = (
                f"idf file {choice!r} was counted {ways}, but the recipe has prefix_space={mine}; build it again "
                f"with --prefix-space {mine}"
            )
            raise InputError(msg)
        loaded.check_tokenizer(tokenizer.digest, vocabulary_size=tokenizer.vocabulary_size, path=choice)
        return IdfTables(f"file[{short_digest(loaded.digest)}]", loaded)
    shared = table(corpus.reference_tokens())
    own = {}
    if choice == "both":
        own = {system: table(corpus.system_tokens(system)) for system in corpus.corpus.systems}
    return IdfTables(f"{choice}[{short_digest(shared.digest)}]", shared, own)
