"""The engine compares pairs of texts in blocks, under all metrics that share an encoding.

The input is a list of *windows*: blocks of pairs whose vectors fit in memory together. The texts of a window are
encoded once, represented once per role, compared and dropped. A corpus has a block for each hypothesis with its
references (`core/compare.py`). So do candidates with references, and texts with words left out, which are a corpus
with some texts replaced (`Corpus.take`). A matrix, or candidates that are ranked by each other, have blocks of many
texts with many others (`core/pairs.py`). Only `compare_block` of a metric may compute many pairs at once.

A pair has the same bits in every block: it is compared by the same functions, on arrays of the same shapes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import unknown_only_side
from nlgauge.core.metric import Pair
from nlgauge.core.notes import naming_documents
from nlgauge.core.prepare import PreparedMetric
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.core.tokens import Role, TextView, TokenizedCorpus
from nlgauge.core.vector_metric import WindowTexts
from nlgauge.encoders.base import EncodedText, Encoder, encode_texts
from nlgauge.encoders.cache import EmbeddingCache, VectorFile
from nlgauge.encoders.load import default_threads
from nlgauge.encoders.run_context import current_run, one_blas_thread, run_context
from nlgauge.errors import TooLongError
from nlgauge.io.progress import log
from nlgauge.vectors.cloud import Alignment, Flow
from nlgauge.vectors.remap import Side

Item = TypeVar("Item")
Part = TypeVar("Part", bound=Hashable)

#: Bytes of layer vectors that a window may hold.
_WINDOW_BYTES = 128 * 2**20

#: Token pairs that are compared before memory is freed.
_TOKEN_PAIRS = 2**24

#: Blocks of at least so many text pairs use several threads.
_PAIRS_FOR_THREADS = 256


class Place(NamedTuple):
    """A text with its system and number."""

    text: str
    system: str | None
    """The system that produced it; None for a reference or a source."""
    number: int
    """Number of its segment, or its index in a list."""


class Block(NamedTuple):
    """Hypotheses and references, each of which is compared with each."""

    rows: Sequence[Place]
    columns: Sequence[Place]
    others: bool = False
    """Whether both are from one list, in which no text is compared with itself."""
    grid: int = 0
    """Index of the grid that the block is part of."""

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """The pairs to compare, as a mask by row and column."""
        wanted = np.ones((len(self.rows), len(self.columns)), dtype=bool)
        if self.others:
            rows, columns = (np.array([place.number for place in places]) for places in (self.rows, self.columns))
            wanted = rows[:, None] != columns
        return wanted


class BlockPairs(NamedTuple):
    """The compared pairs of a block, row by row."""

    block: Block
    values: NDArray[np.float64]
    """A row per pair, a column per component."""
    unconverged: Sequence[tuple[int, int]]
    """Row and column of pairs whose solver did not converge."""
    weightless: Sequence[Place]
    """Texts without weight left after idf or the removal of tokens."""
    alignments: tuple[Alignment | Flow | None, ...] | None = None


class Window(NamedTuple):
    """Blocks that are compared while the vectors of their texts are in memory."""

    texts: Sequence[str]
    """The texts to encode, each once."""
    blocks: Callable[[PreparedMetric], Iterable[Block]]
    """The blocks of a metric, with references or with sources."""
    whole: Sequence[Block] | None = None
    """All pairs that may be needed, if each block depends on the scores of those before it."""


def compare_windows(
    metrics: Mapping[int, PreparedMetric],
    windows: Sequence[Window],
    options: RunOptions,
    collect: Callable[[int, BlockPairs], None],
    *,
    recurring: bool = False,
) -> None:
    """Compare all pairs under metrics that share an encoding; each text of a window is encoded once for all of them.

    `collect` gets the number of a metric and the pairs of a block. With `recurring` texts, vectors are kept in a
    temporary file for later windows, and data derived from them is dropped after each block, so memory does not grow
    with the number of pairs.
    """
    members = list(metrics.values())
    features: dict[str, dict[Hashable, Any]] = {}
    threads = options.threads or default_threads()
    with VectorFile() if recurring and len(windows) > 1 else nullcontext() as file:
        texts = [window.texts for window in windows]
        encodings = encode_windows(members[0].tokenized, layers_of(members), texts, options, keep=file)
        seconds = 0.0
        for window, encoded in zip(windows, encodings, strict=True):
            if recurring:  # keep the features of second models: they are small and expensive
                for text, vectors in encoded.items():
                    encoded[text] = replace(vectors, text_features=features.setdefault(text, {}))
            began = time.perf_counter()
            for number, metric in metrics.items():
                blocks = window.blocks(metric)
                if window.whole is None:
                    blocks = list(blocks)
                _run_text_models(metric, window.whole or list(blocks), encoded)
                with one_blas_thread, run_context(threads=threads):
                    for pairs in (
                        _compare_grids(metric, encoded, blocks, threads)
                        if recurring
                        else _compare_each(metric, encoded, blocks, align=options.alignments)
                    ):
                        collect(number, pairs)
            seconds += time.perf_counter() - began
    names = dict.fromkeys(member.metric.name for member in members)
    log.info("comparing texts by %s: %.1f s", ", ".join(names), seconds)


def encode_windows(
    view: TokenizedCorpus,
    layers: tuple[int, ...],
    windows: Sequence[Sequence[str]],
    options: RunOptions,
    *,
    keep: VectorFile | None = None,
) -> Iterator[dict[str, EncodedText]]:
    """Encode the texts of each window; `keep` stores vectors for later windows."""
    tokens, encoder = view.tokens, view.encoder
    total = sum(len(tokens[text]) for texts in windows for text in texts)
    cache: EmbeddingCache | VectorFile | None = keep
    if options.cache is not None and encoder.cacheable:  # vectors of a table in memory need no cache
        cache = EmbeddingCache(options.cache, gigabytes=options.cache_size)
    seconds = 0.0
    with Progress(total, show=options.progress, timed=False) as advance:
        for texts in windows:
            began = time.perf_counter()
            vectors = encode_texts(
                encoder,
                [tokens[text] for text in texts],
                layers,
                batch_tokens=options.batch_tokens,
                advance=advance,
                cache=cache,
            )
            seconds += time.perf_counter() - began
            yield dict(zip(texts, vectors, strict=True))
    log.info("encoding %d distinct texts, %d tokens: %.1f s", len({*chain(*windows)}), total, seconds)


def _run_text_models(prepared: PreparedMetric, blocks: Sequence[Block], encoded: Mapping[str, EncodedText]) -> None:
    """Run the metric's further models on the texts of a window; the results are stored with each text."""
    stand_in = [""] if prepared.zero_unknown else []
    left = dict.fromkeys([*(place.text for block in blocks for place in block.rows), *stand_in])
    right = dict.fromkeys([*(place.text for block in blocks for place in block.columns), *stand_in])
    with naming_documents(prepared.corpus):
        prepared.metric.run_text_models(WindowTexts(encoded, list(left), list(right)), prepared.state)


def _compare_each(
    prepared: PreparedMetric, encoded: Mapping[str, EncodedText], blocks: Iterable[Block], *, align: bool
) -> Iterator[BlockPairs]:
    """Compare pair by pair; blocks share the representations of their texts."""
    representations = Representations(prepared, encoded)
    for block in blocks:
        try:
            xs, ys = representations.all(block.rows), representations.all(block.columns)
        except TooLongError as error:
            raise _name_pair(prepared, block.rows[0], block.columns[0], error) from error
        pairs = [
            _compare_pair(prepared, representations, row, column, x, y, align=align)
            for row, x in zip(block.rows, xs, strict=True)
            for column, y in zip(block.columns, ys, strict=True)
        ]
        values = np.array([pair.values for pair in pairs], dtype=np.float64)
        alignments = None
        if align:
            alignments = tuple(
                None if pair.alignment is None else replace(pair.alignment, reference_index=number % len(ys))
                for number, pair in enumerate(pairs)
            )
        unconverged = [divmod(number, len(ys)) for number, pair in enumerate(pairs) if not pair.converged]
        weightless = _find_weightless(prepared, (*block.rows, *block.columns), (*xs, *ys))
        yield BlockPairs(block, values, unconverged, weightless, alignments)


def _compare_pair(
    prepared: PreparedMetric,
    representations: Representations,
    row: Place,
    column: Place,
    x: Any,
    y: Any,
    *,
    align: bool = False,
) -> Pair:
    """Compare a hypothesis with a reference; a side without tokens is None and scores `empty_value`, if set."""
    current_run().check()
    if prepared.zero_unknown:
        side = unknown_only_side(row.text, column.text, prepared.tokenized.tokens)
        x = representations.empty(row) if side == "hypothesis" else x
        y = representations.empty(column) if side == "reference" else y
    metric = prepared.metric
    if metric.empty_value is not None and (x is None or y is None):
        return Pair([metric.empty_value] * len(metric.components))
    try:
        return metric.compare(x, y, prepared.state, align=align)
    except TooLongError as error:
        raise _name_pair(prepared, row, column, error) from error


def _name_pair(prepared: PreparedMetric, row: Place, column: Place, error: TooLongError) -> TooLongError:
    """The error with the name of the pair."""
    return TooLongError(f"{prepared.corpus.name_pair(row.system or '', row.number, column.number)}: {error}")


def _find_weightless(
    prepared: PreparedMetric, places: Sequence[Place], representations: Sequence[Any]
) -> list[Place]:
    """Texts without weight left after idf or the removal of tokens."""
    tokens = prepared.tokenized.tokens
    return [
        place
        for place, x in zip(places, representations, strict=True)
        if getattr(x, "zero_weight", False) or (x is None and not tokens[place.text].empty)
    ]


def _compare_grids(
    prepared: PreparedMetric, encoded: Mapping[str, EncodedText], blocks: Iterable[Block], threads: int
) -> Iterator[BlockPairs]:
    """Compare many rows with many columns, some rows at a time, with the same bits as pair by pair.

    BLAS multiplies an array with itself by another routine. A pair of equal texts is a single array if it is compared
    alone, so it is one here, too. Otherwise rows and columns never share arrays.
    """
    tokens = prepared.tokenized.tokens
    for block in blocks:
        ys = Representations(prepared, _without_derived(encoded, block.columns)).all(block.columns)
        most = _TOKEN_PAIRS // max(1, sum(len(tokens[column.text]) for column in block.columns))
        for rows in fill(block.rows, lambda row: [row], lambda row: len(tokens[row.text]), most):
            yield _compare_rows(prepared, encoded, block._replace(rows=rows), ys, threads)


def _compare_rows(
    prepared: PreparedMetric, encoded: Mapping[str, EncodedText], block: Block, ys: Sequence[Any], threads: int
) -> BlockPairs:
    """Compare all rows of a block with columns that are already represented."""
    current_run().check()
    rows, columns, wanted = block.rows, block.columns, block.wanted
    xs = Representations(prepared, _without_derived(encoded, rows)).all(rows)
    pairs = _compare_special_pairs(prepared, encoded, block, wanted)
    values = _compare_block(prepared, xs, ys, threads) if wanted.any() else None
    if values is None:
        together = Representations(prepared, encoded)
        pairs = {
            (i, j): pairs.get((i, j)) or _compare_pair(prepared, together, rows[i], columns[j], xs[i], ys[j])
            for i, j in np.argwhere(wanted).tolist()
        }
        table = np.array([pair.values for pair in pairs.values()], dtype=np.float64)
    else:
        for cell, pair in pairs.items():
            values[cell] = pair.values
        table = values[wanted]
    unconverged = [cell for cell, pair in pairs.items() if not pair.converged]
    return BlockPairs(block, table, unconverged, _find_weightless(prepared, (*rows, *columns), (*xs, *ys)))


def _compare_block(
    prepared: PreparedMetric, xs: Sequence[Any], ys: Sequence[Any], threads: int
) -> NDArray[np.float64] | None:
    """Compare all with all, in threads of some rows each; a pair's bits do not depend on the thread."""
    metric, state = prepared.metric, prepared.state
    empty_value = metric.empty_value
    left = [i for i, x in enumerate(xs) if x is not None or empty_value is None]
    right = [j for j, y in enumerate(ys) if y is not None or empty_value is None]
    columns = [ys[j] for j in right]
    if len(left) * len(right) < _PAIRS_FOR_THREADS:
        threads = 1
    size = max(1, -(-len(left) // threads))
    shares = [[xs[i] for i in left[start : start + size]] for start in range(0, max(1, len(left)), size)]
    if len(shares) == 1:
        results = [metric.compare_block(shares[0], columns, state)]
    else:
        from concurrent.futures import ThreadPoolExecutor  # here, because the import is slow

        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(lambda share: metric.compare_block(share, columns, state), shares))
    blocks = [block for block in results if block is not None]
    if not blocks:
        return None
    values = np.full((len(xs), len(ys), blocks[0].shape[2]), empty_value or 0.0)
    values[np.ix_(left, right)] = np.concatenate(blocks)
    return values


def _compare_special_pairs(
    prepared: PreparedMetric, encoded: Mapping[str, EncodedText], block: Block, wanted: NDArray[np.bool_]
) -> dict[tuple[int, int], Pair]:
    """Compare pairs of equal texts, and pairs with a text that is treated as empty; by row and column."""
    tokens = prepared.tokenized.tokens
    columns: dict[str, list[int]] = {}
    for j, column in enumerate(block.columns):
        columns.setdefault(column.text, []).append(j)
    cells = [(i, j) for i, row in enumerate(block.rows) for j in columns.get(row.text, ())]
    if prepared.zero_unknown:
        unknown = [[tokens[place.text].only_unknown for place in places] for places in (block.rows, block.columns)]
        cells += [(i, j) for i, j in np.argwhere(np.logical_or.outer(*unknown)).tolist()]
    by_texts: dict[tuple[str, str], Pair] = {}
    pairs = {}
    for i, j in cells:
        row, column = block.rows[i], block.columns[j]
        texts = row.text, column.text
        if not wanted[i, j] or (texts[0] != texts[1] and unknown_only_side(*texts, tokens) is None):
            continue
        if texts not in by_texts:
            stand_in = [Place("", None, 0)] if prepared.zero_unknown else []
            together = Representations(prepared, _without_derived(encoded, [row, column, *stand_in]))
            x, y = together.all([row, column])
            by_texts[texts] = _compare_pair(prepared, together, row, column, x, y)
        pairs[i, j] = by_texts[texts]
    return pairs


def _without_derived(encoded: Mapping[str, EncodedText], places: Iterable[Place]) -> dict[str, EncodedText]:
    """The texts without derived data, which would use memory that grows with the number of pairs."""
    return {
        text: EncodedText(encoded[text].tokens, encoded[text].layers, text_features=encoded[text].text_features)
        for text in (place.text for place in places)
    }


def fill(
    items: Iterable[Item], parts_of: Callable[[Item], Iterable[Part]], size_of: Callable[[Part], int], most: int
) -> Iterator[list[Item]]:
    """Split items into runs whose distinct parts have a total size of at most `most`, or single larger items."""
    run: list[Item] = []
    seen, size = set[Part](), 0
    for item in items:
        parts = set(parts_of(item))
        cost = sum(map(size_of, parts - seen))
        if run and size + cost > most:
            yield run
            run, seen, size = [], set(), 0
            cost = sum(map(size_of, parts))
        run.append(item)
        seen |= parts
        size += cost
    if run:
        yield run


def window_budget(encoder: Encoder, layers: int) -> int:
    """Number of tokens whose vectors of so many layers fit in a window."""
    return _WINDOW_BYTES // (4 * encoder.hidden_size * max(1, layers))


def layers_of(metrics: Iterable[PreparedMetric]) -> tuple[int, ...]:
    """All layers that the metrics need, in order."""
    return tuple(sorted({layer for metric in metrics for layer in metric.state.layers}))


class Representations:
    """Representations of the texts of a window, computed on first use."""

    def __init__(self, prepared: PreparedMetric, encoded: Mapping[str, EncodedText]) -> None:
        self._prepared = prepared
        self._encoded = encoded
        self._cache: dict[Hashable, Any] = {}
        self._groups: dict[tuple[str | None, int], list[EncodedText]] = {}

    def all(self, places: Iterable[Place]) -> list[Any]:
        """The representations of these texts."""
        return [self.of(place) for place in places]

    def empty(self, place: Place) -> Any:
        """The representation of a text without tokens in this place."""
        metric, state, role = self._prepared.metric, self._prepared.state, self._role(place.system)
        if metric.empty_value is not None:
            return None
        return metric.represent(TextView(self._encoded[""], role, state.encoder.tokenizer), state)

    def of(self, place: Place) -> Any:
        """The representation of a text; None if it has no tokens and the metric does not represent such texts."""
        metric, state = self._prepared.metric, self._prepared.state
        role = self._role(place.system)
        key: Hashable = (place.text, role) if metric.group == 1 else place
        if key not in self._cache:
            encoded = self._transform(place)
            view = TextView(encoded, role, state.encoder.tokenizer, state.idf.of(role))
            skipped = encoded.tokens.empty and metric.empty_value is not None
            self._cache[key] = None if skipped else metric.represent(view, state)
        return self._cache[key]

    def _role(self, system: str | None) -> Role:
        if system is None:
            return Role("source" if self._prepared.corpus.against_source else "reference")
        return Role("hypothesis", system if self._prepared.metric.per_system_idf else None)

    def _transform(self, place: Place) -> EncodedText:
        """Apply the transforms to the vectors of a text, alone or together with its group."""
        corpus, transforms, size = self._prepared.corpus, self._prepared.state.transforms, self._prepared.metric.group
        encoded = self._encoded[place.text]
        if transforms is None:
            return encoded
        side: Side = "source" if place.system is None and corpus.against_source else "target"
        if size == 1:
            return transforms.apply(encoded, side)
        group = place.system, place.number // size
        if group not in self._groups:
            span = slice(group[1] * size, (group[1] + 1) * size)
            if place.system is None:
                texts = [references[0] for references in corpus.references[span]]
            else:
                texts = list(corpus.systems[place.system][span])
            self._groups[group] = transforms.apply_together([self._encoded[text] for text in texts], side)
        return self._groups[group][place.number % size]
