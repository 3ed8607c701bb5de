"""Pairs compared tile by tile: some hypotheses against some references, with vectors that fit in memory together.

A score has the bits that `nlgauge.score` gives the pair alone: pairs are compared by the same functions, on arrays of
the same shapes. Equal texts are one and the same array there (a product of an array with itself is another routine
of BLAS), and so they are here. Rows otherwise never share anything with columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.compare import Representations, open_cache, window_budget
from nlgauge.core.metric import Pair, SystemResult
from nlgauge.core.notes import (
    TextNames,
    count_fields,
    naming_documents,
    warn_about_convergence,
    warn_about_foci,
    warn_about_nouns,
    warn_about_weights,
)
from nlgauge.core.pair_texts import (
    PreparedPairs,
    Tile,
    VectorStore,
    cut_at,
    texts_of,
    tiles_of,
    windows_of,
)
from nlgauge.core.prepare import PreparedMetric, PreparedTextMetric, unknown_only_side
from nlgauge.core.run_options import Progress, between_pairs, tick
from nlgauge.core.score import SegmentNotes
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import WindowTexts
from nlgauge.encoders.base import EncodedText, encode_texts
from nlgauge.encoders.blas import one_blas_thread
from nlgauge.encoders.load import default_threads
from nlgauge.errors import TooLongError
from nlgauge.text.tokenizer import Tokens

#: Pairs of tokens that are compared before something is let go.
_TOKEN_PAIRS = 2**24

#: Pairs of texts that are worth more than one thread.
_WORTH_A_THREAD = 256

#: Pairs of texts that a metric without vectors is given at once.
_TEXT_PAIRS = 2**18


class Part(NamedTuple):
    """Scores of a tile; nan where a pair is not compared."""

    tile: Tile
    scores: Mapping[str, NDArray[np.float64]]


class PairNotes(NamedTuple):
    """What is known when all pairs were compared."""

    signature: Signature
    texts: SegmentNotes
    """By number of the plan's texts."""
    counts: Mapping[str, int]
    """Pairs with a text of each kind of note."""


class PairComparer:
    """Compares all pairs of a plan, once: `for part in comparer`. What happened to texts is known afterwards."""

    def __init__(self, prepared: PreparedPairs) -> None:
        self._prepared = prepared
        self.zero_weight: set[int] = set()
        """Numbers of the plan's texts that were left without weight."""
        self.unconverged: list[tuple[int, int]] = []
        """Pairs whose value is approximate."""
        self.noted: dict[str, list[tuple[int, int]]] = {"no_noun": [], "no_focus": [], "no_ties": []}
        """Pairs that a metric of nouns has something to say of, by the name of the note."""

    def __iter__(self) -> Iterator[Part]:
        one, show = self._prepared.one, self._prepared.options.progress
        parts = self._of_texts(one) if isinstance(one, PreparedTextMetric) else self._of_vectors(one)
        plan = self._prepared.plan
        with (
            naming_documents(plan.listed, plan.names),
            Progress(plan.pairs, show=show, what="comparing", unit="pair") as advance,
        ):
            for part in parts:
                yield part
                advance(part.tile.pairs)

    def finish(self) -> PairNotes:
        """What happened to texts while they were compared is warned of, and everything is counted and signed."""
        prepared, plan = self._prepared, self._prepared.plan
        warn_about_weights(self.zero_weight, plan.names)

        def names_of(pairs: Sequence[tuple[int, int]]) -> TextNames:
            def name(at: int) -> str:
                row, column = pairs[at]
                return f"{plan.name_hypothesis(row)} and {plan.name_reference(column)}"

            return TextNames("pair", name)

        warn_about_convergence(range(len(self.unconverged)), names_of(self.unconverged))
        no_noun, no_focus = self.noted["no_noun"], self.noted["no_focus"]
        warn_about_nouns(range(len(no_noun)), prepared.metric.name, names_of(no_noun))
        warn_about_foci(range(len(no_focus)), getattr(prepared.metric, "unmatched", ""), names_of(no_focus))
        notes = replace(prepared.notes, zero_weight=tuple(sorted(self.zero_weight)))
        counts = {kind: plan.count(at) for kind, at in notes.__dict__.items()}
        counts |= {"unconverged": len(self.unconverged)} | {kind: len(at) for kind, at in self.noted.items()}
        own = prepared.one.run_fields[""] if isinstance(prepared.one, PreparedMetric) else {}
        recipe = prepared.one.signature.recipe
        shown = {kind: count for kind, count in counts.items() if count or kind in SegmentNotes().counts()}
        return PairNotes(Signature(prepared.metric.name, recipe, count_fields(counts) | dict(own)), notes, shown)

    def _of_texts(self, one: PreparedTextMetric) -> Iterator[Part]:
        plan = self._prepared.plan
        for number, block in enumerate(plan.blocks):
            size = max(1, _TEXT_PAIRS // len(block.columns))
            for start in range(0, len(block.rows), size):
                tile = Tile(number, block.rows[start : start + size], block.columns, block.others)
                cells = np.argwhere(wanted := tile.wanted).tolist()
                hypotheses = [plan.hypotheses[tile.rows[row]] for row, _ in cells]
                references = [(plan.references[tile.columns[column]],) for _, column in cells]
                found = one.metric.score_texts(hypotheses, references) if cells else SystemResult({})
                for kind, pairs in self.noted.items():
                    pairs += [_place(tile, *cells[at]) for at in getattr(found, kind)]
                yield Part(tile, {name: _spread(values, wanted) for name, values in found.segments.items()})

    def _of_vectors(self, one: PreparedMetric) -> Iterator[Part]:
        options, plan, view = self._prepared.options, self._prepared.plan, one.tokenized
        layers = tuple(sorted(one.state.layers))
        budget = window_budget(view.encoder, len(layers))
        windows = list(windows_of(tiles_of(plan, view.tokens, budget), plan, view.tokens, budget))
        stand_in = [""] if one.metric.unknown == "zero" else []  # for texts that are counted as empty
        cache = open_cache(view.encoder, options)

        def encode(texts: list[str]) -> list[EncodedText]:
            tokens = [view.tokens[text] for text in texts]
            with Progress(sum(map(len, tokens)), show=options.progress) as advance:
                return encode_texts(
                    view.encoder, tokens, layers, batch_tokens=options.batch_tokens, advance=advance, cache=cache
                )

        uses = Counter(text for tiles in windows for text in {*texts_of(tiles, plan), *stand_in})
        with VectorStore(encode, view.tokens, uses) as store:
            for tiles in windows:
                encoded = store.load([*texts_of(tiles, plan), *stand_in])
                rows = dict.fromkeys(plan.hypotheses[row] for tile in tiles for row in tile.rows)
                columns = dict.fromkeys(plan.references[column] for tile in tiles for column in tile.columns)
                one.metric.run_text_models(WindowTexts(encoded, [*rows, *stand_in], [*columns, *stand_in]), one.state)
                for tile in tiles:
                    yield from self._compare_tile(one, encoded, tile)

    @property
    def _tokens(self) -> Mapping[str, Tokens]:
        one = self._prepared.one
        assert isinstance(one, PreparedMetric)
        return one.tokenized.tokens

    def _compare_tile(self, one: PreparedMetric, encoded: Mapping[str, EncodedText], tile: Tile) -> Iterator[Part]:
        plan, tokens = self._prepared.plan, self._tokens
        column_texts = [plan.references[column] for column in tile.columns]
        made = Representations(one, _apart(encoded, column_texts))
        with one_blas_thread:
            ys = [made.references(column)[0] for column in tile.columns]
        self._note_weights(ys, column_texts, [self._number(column) for column in tile.columns])
        width = sum(len(tokens[text]) for text in column_texts)
        sizes = {row: len(tokens[plan.hypotheses[row]]) for row in tile.rows}
        for rows in cut_at(tile.rows, sizes, _TOKEN_PAIRS // max(1, width)):
            part = tile._replace(rows=rows)
            between_pairs()
            with one_blas_thread:
                scores = self._finished(one, self._compare_rows(one, encoded, part, ys), part)
            yield Part(part, scores)
            tick(part.pairs)

    def _number(self, column: int) -> int:
        plan = self._prepared.plan
        return column if plan.same else len(plan.hypotheses) + column

    def _note_weights(self, made: Sequence[Any], texts: Sequence[str], numbers: Sequence[int]) -> None:
        for one, text, number in zip(made, texts, numbers, strict=True):
            if getattr(one, "zero_weight", False) or (one is None and not self._tokens[text].empty):
                self.zero_weight.add(number)

    def _compare_rows(
        self, one: PreparedMetric, encoded: Mapping[str, EncodedText], tile: Tile, ys: Sequence[Any]
    ) -> NDArray[np.float64]:
        """Components of each pair of the tile; what they are where a pair is not wanted means nothing."""
        plan, metric = self._prepared.plan, one.metric
        row_texts = [plan.hypotheses[row] for row in tile.rows]
        made = Representations(one, _apart(encoded, row_texts))
        xs = [made.hypothesis("", row) for row in tile.rows]
        self._note_weights(xs, row_texts, tile.rows)
        wanted = tile.wanted
        alone = self._compared_alone(one, encoded, tile, wanted)
        values = _blank(metric, xs, ys) if metric.empty_value is not None else None
        left = [at for at, x in enumerate(xs) if x is not None or values is None]
        right = [at for at, y in enumerate(ys) if y is not None or values is None]
        block = self._block(one, [xs[at] for at in left], [ys[at] for at in right])
        if block is not None:
            values = np.empty((len(xs), len(ys), block.shape[2])) if values is None else values
            values[np.ix_(left, right)] = block
        else:
            for row in left:
                between_pairs()
                for column in right:
                    if wanted[row, column] and (row, column) not in alone:
                        pair = self._compared(one, xs[row], ys[column], tile.rows[row], tile.columns[column])
                        values = self._put(values, tile, row, column, pair, shape=wanted.shape)
        for (row, column), pair in alone.items():
            values = self._put(values, tile, row, column, pair, shape=wanted.shape)
        return np.empty((*wanted.shape, 0)) if values is None else values

    def _block(self, one: PreparedMetric, xs: Sequence[Any], ys: Sequence[Any]) -> NDArray[np.float64] | None:
        """All against all, the rows shared out to threads; a pair's bits do not depend on who computes it."""
        threads = self._prepared.options.threads or default_threads()
        size = -(-len(xs) // threads)
        shares = [xs[start : start + size] for start in range(0, len(xs), size)] if xs else [xs]
        if len(shares) < 2 or len(xs) * len(ys) < _WORTH_A_THREAD:
            return one.metric.compare_block(xs, ys, one.state)
        from concurrent.futures import ThreadPoolExecutor  # here, because its import takes a moment

        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda share: one.metric.compare_block(share, ys, one.state), shares))
        blocks = [block for block in found if block is not None]
        return np.concatenate(blocks) if blocks else None

    def _put(
        self,
        values: NDArray[np.float64] | None,
        tile: Tile,
        row: int,
        column: int,
        pair: Pair,
        *,
        shape: tuple[int, ...],
    ) -> NDArray[np.float64]:
        values = np.full((*shape, len(pair.values)), np.nan) if values is None else values
        values[row, column] = pair.values
        if not pair.converged:
            self.unconverged.append((tile.rows[row], tile.columns[column]))
        return values

    def _compared_alone(
        self, one: PreparedMetric, encoded: Mapping[str, EncodedText], tile: Tile, wanted: NDArray[np.bool_]
    ) -> dict[tuple[int, int], Pair]:
        """Pairs of equal texts, and those of which a text is scored as if it were empty, by place in the tile."""
        plan, found = self._prepared.plan, dict[tuple[int, int], Pair]()
        places: dict[str, list[int]] = {}
        for at, column in enumerate(tile.columns):
            places.setdefault(plan.references[column], []).append(at)
        known: dict[str, Pair] = {}
        for at, row in enumerate(tile.rows):
            text = plan.hypotheses[row]
            for column in places.get(text, ()):
                if wanted[at, column]:
                    if text not in known:
                        known[text] = self._pair(one, encoded, row, tile.columns[column], None)
                    found[at, column] = known[text]
        if one.metric.unknown == "zero" and one.metric.reads_with(one.state.encoder):
            for at, column, side in self._unknown_places(tile):
                if wanted[at, column]:
                    found[at, column] = self._pair(one, encoded, tile.rows[at], tile.columns[column], side)
        return found

    def _unknown_places(self, tile: Tile) -> Iterator[tuple[int, int, str]]:
        plan, tokens = self._prepared.plan, self._tokens
        left = [tokens[plan.hypotheses[row]].only_unknown for row in tile.rows]
        right = [tokens[plan.references[column]].only_unknown for column in tile.columns]
        for at, column in np.argwhere(np.logical_or.outer(left, right)).tolist():
            x, y = plan.hypotheses[tile.rows[at]], plan.references[tile.columns[column]]
            side = unknown_only_side(x, y, tokens)
            if side is not None:
                yield at, column, side

    def _pair(
        self, one: PreparedMetric, encoded: Mapping[str, EncodedText], row: int, column: int, side: str | None
    ) -> Pair:
        """A pair as `nlgauge.score` compares it."""
        plan, metric = self._prepared.plan, one.metric
        texts = [plan.hypotheses[row], plan.references[column], *([""] if side else [])]
        made = Representations(one, _apart(encoded, texts))
        x = made.empty("") if side == "hypothesis" else made.hypothesis("", row)
        y = made.empty(None) if side == "reference" else made.references(column)[0]
        if metric.empty_value is not None and (x is None or y is None):
            return Pair([metric.empty_value] * len(metric.components))
        return self._compared(one, x, y, row, column)

    def _compared(self, one: PreparedMetric, x: Any, y: Any, row: int, column: int) -> Pair:
        """What the metric says; what is too long for it is named."""
        try:
            return one.metric.compare(x, y, one.state, align=False)
        except TooLongError as error:
            plan = self._prepared.plan
            msg = f"{plan.name_hypothesis(row)} and {plan.name_reference(column)}: {error}"
            raise TooLongError(msg) from error

    def _finished(
        self, one: PreparedMetric, values: NDArray[np.float64], tile: Tile
    ) -> dict[str, NDArray[np.float64]]:
        wanted = tile.wanted
        if not wanted.any():
            return {}
        found = one.metric.finish_pairs(values[wanted], one.state)
        cells = np.argwhere(wanted)
        for kind, mask in one.metric.noted_pairs(values[wanted]).items():
            self.noted[kind] += [_place(tile, row, column) for row, column in cells[mask].tolist()]
        return {name: _spread(scores, wanted) for name, scores in found.items()}


def _apart(encoded: Mapping[str, EncodedText], texts: Iterable[str]) -> dict[str, EncodedText]:
    """The texts without what was derived from them: it would stay, and grow with the number of pairs."""
    found = {}
    for text in texts:
        one = encoded[text]
        found[text] = EncodedText(one.tokens, one.layers, text_features=one.text_features)
    return found


def _place(tile: Tile, row: int, column: int) -> tuple[int, int]:
    """Numbers of the texts of a cell."""
    return tile.rows[row], tile.columns[column]


def _blank(metric: Any, xs: Sequence[Any], ys: Sequence[Any]) -> NDArray[np.float64]:
    return np.full((len(xs), len(ys), len(metric.components)), metric.empty_value)


def _spread(values: NDArray[np.float64], wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values of the wanted pairs in their places."""
    found = np.full(wanted.shape, np.nan)
    found[wanted] = values
    return found
