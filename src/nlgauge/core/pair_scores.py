"""Pairs of a list of texts, compared tile by tile: some texts against some others, with vectors that fit in memory.

A score has the bits that `nlgauge.score` gives the pair alone: pairs are compared by the same functions, on arrays of
the same shapes. Equal texts are one and the same array there (a product of an array with itself is another routine
of BLAS), and so they are here. Rows otherwise never share anything with columns.

Tiles that share what is encoded are a window. Each text is encoded once: vectors that a later window needs wait in a
temporary file and come back from there, bit for bit, so that memory does not grow with the number of texts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.compare import (
    Representations,
    compare_pair,
    encode_windows,
    fill,
    has_no_weight,
    layers_of,
    run_text_models,
    window_budget,
)
from nlgauge.core.composite import leaves
from nlgauge.core.corpus import TextNames
from nlgauge.core.metric import Metric, Pair, SystemResult
from nlgauge.core.notes import (
    count_fields,
    naming_documents,
    warn_about_convergence,
    warn_about_note,
    warn_about_weights,
)
from nlgauge.core.prepare import (
    Prepared,
    PreparedComposite,
    PreparedMetric,
    PreparedTextMetric,
    SignatureCheck,
    prepare,
    unknown_only_side,
)
from nlgauge.core.run_options import Progress, RunOptions, between_pairs, tick
from nlgauge.core.score import SegmentNotes, count_notes, join_notes, order_notes
from nlgauge.core.signature import Signature
from nlgauge.core.text_pairs import TextPairs
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.base import EncodedText
from nlgauge.encoders.blas import one_blas_thread
from nlgauge.encoders.cache import VectorFile
from nlgauge.encoders.load import default_threads
from nlgauge.errors import RecipeError, TooLongError
from nlgauge.text.tokenizer import Tokens
from nlgauge.vectors.transforms import POSITION_NORM

#: Pairs of tokens that are compared before something is let go.
_TOKEN_PAIRS = 2**24

#: Pairs of texts that are worth more than one thread.
_WORTH_A_THREAD = 256

#: Pairs of texts that a metric without vectors is given at once.
_TEXT_PAIRS = 2**18


def prepare_pairs(recipe: Metric, pairs: TextPairs, options: RunOptions, check: SignatureCheck) -> Prepared:
    """Load, tokenise, count and check, as for a corpus; recipes that look at more than a pair are refused."""
    for metric in leaves([recipe]):
        if metric.whole_corpus:
            frozen = "freeze them: bounds=FILE ('nlgauge build bounds' makes it)"
            what = f"; {frozen}" if "bounds" in metric.options() else ""
            msg = (
                f"{metric.name} scales the score of a pair by the lowest and highest values of a corpus, "
                f"and pairs of many texts are no corpus{what}"
            )
            raise RecipeError(msg)
        if isinstance(metric, VectorMetric) and metric.uses_neighbours:
            msg = f"transforms={POSITION_NORM!r} looks at a text's neighbours in a corpus, which pairs do not have"
            raise RecipeError(msg)
    if options.alignments:
        msg = "alignments are not kept for many pairs; leave alignments= out, and give a pair to nlgauge.score"
        raise RecipeError(msg)
    return prepare([recipe], pairs, options, check_signature=check)


class Tile(NamedTuple):
    """Texts, by number, that are compared while their vectors are in memory."""

    block: int
    rows: Sequence[int]
    columns: Sequence[int]
    others: bool
    """Whether a text is not compared with itself."""

    @property
    def pairs(self) -> int:
        """How many are compared."""
        left_out = len({*self.rows} & {*self.columns}) if self.others else 0
        return len(self.rows) * len(self.columns) - left_out

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """Which pairs are compared."""
        if not self.others:
            return np.ones((len(self.rows), len(self.columns)), dtype=bool)
        wanted: NDArray[np.bool_] = np.asarray(self.rows)[:, None] != np.asarray(self.columns)
        return wanted


class Part(NamedTuple):
    """Scores of a tile; nan where a pair is not compared."""

    tile: Tile
    scores: Mapping[str, NDArray[np.float64]]


class PairNotes(NamedTuple):
    """What is known when all pairs were compared."""

    signature: Signature
    texts: SegmentNotes
    """By number of the text."""
    counts: Mapping[str, int]
    """Pairs with a text of each kind of note."""


def comparers_of(prepared: Prepared) -> list[PairComparer]:
    """What compares the pairs: one, or one for each member of a metric that joins others."""
    metric = prepared.metrics[0]
    numbers = metric.members if isinstance(metric, PreparedComposite) else (0,)
    return [PairComparer(prepared, number) for number in numbers]


def join_members(prepared: Prepared, scores: Sequence[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Components of a metric that joins others, from the main component of each, of any shape; else nothing."""
    metric = prepared.metrics[0]
    if not isinstance(metric, PreparedComposite):
        return {}
    joined = metric.metric.combine([values.ravel() for values in scores], metric.resolved).segments
    return {name: values.reshape(scores[0].shape) for name, values in joined.items()}


def finish_pairs(prepared: Prepared, comparers: Sequence[PairComparer]) -> PairNotes:
    """Notes and signature of the metric that was asked for; what happened in a member happened in the whole."""
    notes = [comparer.finish() for comparer in comparers]
    metric, pairs = prepared.metrics[0], prepared.corpus
    if not isinstance(metric, PreparedComposite):
        return notes[0]
    assert isinstance(pairs, TextPairs)
    texts = join_notes(member.texts for member in notes)
    counts = {  # where a note is of pairs and not of texts, it is not known which: that of the member with most
        kind: max(pairs.count(texts.get(kind, ())), *(member.counts.get(kind, 0) for member in notes))
        for kind in dict.fromkeys(kind for member in notes for kind in member.counts)
    }
    return PairNotes(Signature(metric.metric.name, metric.signature.recipe, count_fields(counts)), texts, counts)


class PairComparer:
    """Compares all pairs under a metric, once: `for part in comparer`. What happened to texts is known afterwards."""

    def __init__(self, prepared: Prepared, number: int) -> None:
        prepared_metric = prepared.metrics[number]
        assert not isinstance(prepared_metric, PreparedComposite)
        pairs = prepared_metric.corpus
        assert isinstance(pairs, TextPairs)
        self._prepared, self._pairs, self._options = prepared_metric, pairs, prepared.options
        self._zero_weight: set[int] = set()
        self._unconverged: list[tuple[int, int]] = []
        self._noted: dict[str, list[tuple[int, int]]] = {note.name: [] for note in self.metric.notes}
        """Pairs that a note of the metric names."""

    @property
    def metric(self) -> Metric:
        """The recipe."""
        return self._prepared.metric

    def __iter__(self) -> Iterator[Part]:
        one, show = self._prepared, self._options.progress
        parts = self._of_texts(one) if isinstance(one, PreparedTextMetric) else self._of_vectors(one)
        with (
            naming_documents(self._pairs),
            Progress(self._pairs.pairs, show=show, what="comparing", unit="pair") as advance,
        ):
            for part in parts:
                yield part
                advance(part.tile.pairs)

    def finish(self) -> PairNotes:
        """What happened to texts while they were compared is warned of, and everything is counted and signed."""
        one, pairs, metric = self._prepared, self._pairs, self.metric
        warn_about_weights(self._zero_weight, pairs.names)

        def names_of(noted: Sequence[tuple[int, int]]) -> TextNames:
            return TextNames("pair", lambda at: pairs.pair_name(*noted[at]))

        warn_about_convergence(range(len(self._unconverged)), names_of(self._unconverged))
        for note in metric.notes:
            noted = self._noted[note.name]
            warn_about_note(note, range(len(noted)), metric.describe_note(note), names_of(noted))
        notes = order_notes({**one.notes[""], "zero_weight": sorted(self._zero_weight)})
        noted_pairs = {"unconverged": self._unconverged, **self._noted}
        sizes = {kind: pairs.count(texts) for kind, texts in notes.items()}
        sizes |= {kind: len(places) for kind, places in noted_pairs.items()}
        counts = count_notes(order_notes({kind: range(size) for kind, size in sizes.items()}))
        own = one.run_fields[""] if isinstance(one, PreparedMetric) else {}
        return PairNotes(
            Signature(metric.name, one.signature.recipe, count_fields(counts) | dict(own)), notes, counts
        )

    def _of_texts(self, one: PreparedTextMetric) -> Iterator[Part]:
        texts = self._pairs.texts
        for number, block in enumerate(self._pairs.blocks):
            size = max(1, _TEXT_PAIRS // len(block.columns))
            for start in range(0, len(block.rows), size):
                tile = Tile(number, block.rows[start : start + size], block.columns, block.others)
                cells = np.argwhere(wanted := tile.wanted).tolist()
                hypotheses = [texts[tile.rows[row]] for row, _ in cells]
                references = [(texts[tile.columns[column]],) for _, column in cells]
                found = one.metric.score_texts(hypotheses, references) if cells else SystemResult({})
                for kind, noted in self._noted.items():
                    noted += [_place(tile, *cells[at]) for at in found.notes.get(kind, ())]
                yield Part(tile, {name: _spread(values, wanted) for name, values in found.segments.items()})

    def _of_vectors(self, one: PreparedMetric) -> Iterator[Part]:
        tokens, texts = one.tokenized.tokens, self._pairs.texts
        layers = layers_of([one])
        budget = window_budget(one.tokenized.encoder, len(layers))
        tiles = tiles_of(self._pairs, tokens, budget)
        windows = list(fill(tiles, lambda tile: self._texts_of([tile]), lambda text: len(tokens[text]), budget))
        stand_in = [""] if one.counted_empty else []  # for texts that are counted as empty
        planned = [[*self._texts_of(window), *stand_in] for window in windows]
        features: dict[str, dict[Hashable, Any]] = {}
        with VectorFile() as file:
            cache = file if len(windows) > 1 else None
            encodings = encode_windows(one.tokenized, layers, planned, self._options, keep=cache)
            for window, encoded in zip(windows, encodings, strict=True):
                for text, vectors in encoded.items():
                    # Features are small, and what a second model found about a text is worth keeping.
                    encoded[text] = replace(vectors, text_features=features.setdefault(text, {}))
                rows = [texts[row] for tile in window for row in tile.rows]
                columns = [texts[column] for tile in window for column in tile.columns]
                run_text_models(one, rows, columns, encoded)
                for tile in window:
                    yield from self._compare_tile(one, encoded, tile)

    def _texts_of(self, tiles: Iterable[Tile]) -> list[str]:
        """All texts of tiles, each once."""
        numbers = dict.fromkeys(at for tile in tiles for at in (*tile.rows, *tile.columns))
        return list(dict.fromkeys(self._pairs.texts[at] for at in numbers))

    def _compare_tile(self, one: PreparedMetric, encoded: Mapping[str, EncodedText], tile: Tile) -> Iterator[Part]:
        lengths = {at: len(one.tokenized.tokens[self._pairs.texts[at]]) for at in (*tile.rows, *tile.columns)}
        with one_blas_thread:
            ys = self._represent(one, encoded, tile.columns, None)
        most = _TOKEN_PAIRS // max(1, sum(lengths[column] for column in tile.columns))
        for rows in fill(tile.rows, lambda row: [row], lengths.__getitem__, most):
            part = tile._replace(rows=rows)
            between_pairs()
            with one_blas_thread:
                xs = self._represent(one, encoded, rows, "")
                scores = self._compare_rows(one, encoded, part, xs, ys) if part.pairs else {}
            yield Part(part, scores)
            tick(part.pairs)

    def _represent(
        self, one: PreparedMetric, encoded: Mapping[str, EncodedText], numbers: Sequence[int], system: str | None
    ) -> list[Any]:
        """The texts as the metric compares them; those without weight are noted."""
        texts = [self._pairs.texts[at] for at in numbers]
        made = Representations(one, _apart(encoded, texts))
        found = [made.of(text, system, at) for at, text in zip(numbers, texts, strict=True)]
        tokens = one.tokenized.tokens
        self._zero_weight |= {
            at for at, x, text in zip(numbers, found, texts, strict=True) if has_no_weight(x, tokens[text])
        }
        return found

    def _compare_rows(
        self,
        one: PreparedMetric,
        encoded: Mapping[str, EncodedText],
        tile: Tile,
        xs: Sequence[Any],
        ys: Sequence[Any],
    ) -> dict[str, NDArray[np.float64]]:
        """Scores of the pairs of a tile."""
        metric, wanted = one.metric, tile.wanted
        apart = self._compare_apart(one, encoded, tile, wanted)
        block = self._compare_block(one, xs, ys)
        cells = np.argwhere(wanted)
        if block is None:
            pairs = {
                (row, column): apart.get((row, column))
                or self._compare(one, xs[row], ys[column], *_place(tile, row, column))
                for row, column in cells.tolist()
            }
            values = np.array([pair.values for pair in pairs.values()], dtype=np.float64)
        else:
            pairs = apart
            for cell, pair in apart.items():
                block[cell] = pair.values
            values = block[wanted]
        self._unconverged += [_place(tile, *cell) for cell, pair in pairs.items() if not pair.converged]
        for kind, mask in metric.noted_pairs(values).items():
            self._noted[kind] += [_place(tile, row, column) for row, column in cells[mask].tolist()]
        return {name: _spread(scores, wanted) for name, scores in metric.finish_pairs(values, one.state).items()}

    def _compare_block(self, one: PreparedMetric, xs: Sequence[Any], ys: Sequence[Any]) -> NDArray[np.float64] | None:
        """All against all, the rows shared out to threads; a pair's bits do not depend on who computes it."""
        blank = one.metric.empty_value
        left = [at for at, x in enumerate(xs) if x is not None or blank is None]
        right = [at for at, y in enumerate(ys) if y is not None or blank is None]
        columns = [ys[at] for at in right]
        threads = self._options.threads or default_threads()
        if len(left) * len(right) < _WORTH_A_THREAD:
            threads = 1
        size = max(1, -(-len(left) // threads))
        shares = [[xs[at] for at in left[start : start + size]] for start in range(0, max(1, len(left)), size)]

        def compare(share: Sequence[Any]) -> NDArray[np.float64] | None:
            return one.metric.compare_block(share, columns, one.state)

        if len(shares) == 1:
            found = [compare(shares[0])]
        else:
            from concurrent.futures import ThreadPoolExecutor  # here, because its import takes a moment

            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(compare, shares))
        blocks = [block for block in found if block is not None]
        if not blocks:
            return None
        values = np.full((len(xs), len(ys), blocks[0].shape[2]), blank or 0.0)
        values[np.ix_(left, right)] = np.concatenate(blocks)
        return values

    def _compare_apart(
        self, one: PreparedMetric, encoded: Mapping[str, EncodedText], tile: Tile, wanted: NDArray[np.bool_]
    ) -> dict[tuple[int, int], Pair]:
        """Pairs of equal texts, and those of which a text is scored as if it were empty, by place in the tile."""
        texts, tokens = self._pairs.texts, one.tokenized.tokens
        columns: dict[str, list[int]] = {}
        for at, column in enumerate(tile.columns):
            columns.setdefault(texts[column], []).append(at)
        cells = [(at, column) for at, row in enumerate(tile.rows) for column in columns.get(texts[row], ())]
        if unknown := [number for _, number in one.counted_empty]:
            either = np.logical_or.outer(np.isin(tile.rows, unknown), np.isin(tile.columns, unknown))
            cells += [(at, column) for at, column in np.argwhere(either).tolist()]
        known: dict[tuple[str, str], Pair] = {}
        pairs = {}
        for cell in cells:
            row, column = _place(tile, *cell)
            x, y = texts[row], texts[column]
            side = unknown_only_side(x, y, tokens) if unknown else None
            if not wanted[cell] or (side is None and x != y):
                continue
            if (x, y) not in known:
                known[x, y] = self._compare_alone(one, encoded, row, column, side)
            pairs[cell] = known[x, y]
        return pairs

    def _compare_alone(
        self, one: PreparedMetric, encoded: Mapping[str, EncodedText], row: int, column: int, side: str | None
    ) -> Pair:
        """A pair as `nlgauge.score` compares it."""
        x, y = self._pairs.texts[row], self._pairs.texts[column]
        made = Representations(one, _apart(encoded, [x, y, *([""] if side else [])]))
        left = made.empty("") if side == "hypothesis" else made.of(x, "", row)
        right = made.empty(None) if side == "reference" else made.of(y, None, column)
        return self._compare(one, left, right, row, column)

    def _compare(self, one: PreparedMetric, x: Any, y: Any, row: int, column: int) -> Pair:
        """A pair; what is too long for the metric is named."""
        between_pairs()
        try:
            return compare_pair(one, x, y)
        except TooLongError as error:
            msg = f"{self._pairs.pair_name(row, column)}: {error}"
            raise TooLongError(msg) from error


def tiles_of(pairs: TextPairs, tokens: Mapping[str, Tokens], budget: int) -> Iterator[Tile]:
    """Blocks, or parts of those that have more than `budget` tokens; texts of one length stand together."""
    for number, block in enumerate(pairs.blocks):
        lengths = {at: len(tokens[pairs.texts[at]]) for at in (*block.rows, *block.columns)}
        rows, columns = (sorted(part, key=lengths.__getitem__) for part in (block.rows, block.columns))
        total = sum(lengths[at] for at in (*rows, *columns))
        most = total if total <= budget else budget // 2
        for some in fill(columns, lambda at: [at], lengths.__getitem__, most):
            for part in fill(rows, lambda at: [at], lengths.__getitem__, most):
                yield Tile(number, part, some, block.others)


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


def _spread(values: NDArray[np.float64], wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values of the wanted pairs in their places."""
    found = np.full(wanted.shape, np.nan)
    found[wanted] = values
    return found
