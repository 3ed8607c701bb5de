"""Pairwise scoring: all texts of a list against all of another (`nlgauge.matrix`), or candidates against each other.

In the first stage of a run, the texts are segments without references: each is tokenised and checked once. Grids
define which texts are compared. Parts of a grid whose vectors fit in memory are the blocks of the engine. The notes
in a signature count pairs instead of segments.

Idf is counted on each hypothesis and each reference once, however many pairs a text is in, as `nlgauge.score` does
for a corpus of these texts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import Corpus, TextNames, as_texts
from nlgauge.core.engine import Block, BlockPairs, Place, Window, compare_windows, fill, layers_of, window_budget
from nlgauge.core.metric import Metric, SystemResult
from nlgauge.core.notes import (
    count_fields,
    naming_documents,
    warn_about_convergence,
    warn_about_note,
    warn_about_weights,
)
from nlgauge.core.prepare import Prepared, PreparedMetric, PreparedTextMetric, SignatureCheck, prepare
from nlgauge.core.result import ComponentsResult
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.core.score import COMMON_NOTES, SegmentNotes, count_notes, order_notes
from nlgauge.core.scoring import AnyMetric, resolve_call, single_metric
from nlgauge.core.short_signature import format_signature
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import EmptyPairError, InputError, RecipeError
from nlgauge.io.table import Cell, Table
from nlgauge.text.tokenizer import Tokens

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from nlgauge.core.keywords import PairKeywords


#: Text pairs that a metric without vectors scores at once.
_TEXT_PAIRS = 2**18

#: Gets the number of a metric, a block, and the scores of its pairs by component (nan: not compared).
UseScores: TypeAlias = Callable[[int, Block, Mapping[str, NDArray[np.float64]]], None]

#: The blocks of a grid, by its number.
BlocksOf: TypeAlias = Callable[[int], Iterable[Block]]


class Grid(NamedTuple):
    """Hypotheses (rows) and references (columns) to compare, all with all, as numbers of texts."""

    rows: range
    columns: range
    others: bool = False
    """Whether both are the same texts, none of which is compared with itself."""

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.rows) * (len(self.columns) - self.others)


@dataclass(frozen=True, eq=False)
class TextPairs(Corpus):
    """A list of texts, and the grids of pairs to compare."""

    grids: Sequence[Grid] = ()

    @classmethod
    def of(
        cls, hypotheses: Sequence[str], references: Sequence[str] | None, grids: Sequence[Grid], names: TextNames
    ) -> Self:
        """Hypotheses, then references (or sources); with None, hypotheses are compared with each other."""
        texts = [*hypotheses, *(references or ())]
        documents = {"": hypotheses, None: hypotheses if references is None else references}
        return cls({"": texts}, [()] * len(texts), documents, names=names, grids=grids)

    @property
    def texts(self) -> Sequence[str]:
        """The texts of the list."""
        return self.systems[""]

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return sum(grid.pairs for grid in self.grids)

    @property
    def reference_count(self) -> str:
        """Always one reference, or a source."""
        return "source" if self.against_source else "1"

    @property
    def reference_groups(self) -> Sequence[tuple[str, ...]]:
        """The references, one in each group."""
        return [(text,) for text in self.idf_documents[None]]

    def compared_with(self, what: str, *, metric: str, choice: bool = True) -> Corpus:
        """The list; its references can be sources, but its hypotheses cannot."""
        if what == "refs":
            return self
        if len(self.idf_documents[""]) == len(self.texts):
            other = f", or compare the texts with each other: {metric}:against=refs" if choice else ""
            msg = f"{metric} needs the source texts; pass them as the second list{other}"
            raise InputError(msg)
        return self._with_sources

    @cached_property
    def _with_sources(self) -> Corpus:
        return replace(self, against_source=True)

    def name_pair(self, system: str, row: int, column: int) -> str:
        """The name of a pair in messages."""
        return f"{self.names.name(row)} and {self.names.name(column)}"

    def count(self, numbers: Iterable[int]) -> int:
        """Number of pairs that contain one of these texts."""
        flags = np.zeros(len(self.texts), dtype=bool)
        flags[list(numbers)] = True
        total = 0
        for grid in self.grids:
            rows, columns = (
                int(np.count_nonzero(~flags[side.start : side.stop])) for side in (grid.rows, grid.columns)
            )
            total += grid.pairs - rows * max(0, columns - grid.others)
        return total

    def refuse_empty_pairs(self, empty: Iterable[int]) -> None:
        """Refuse a pair of two empty texts, for which no score is defined."""
        empty_texts = {*empty}
        for grid in self.grids if empty_texts else ():
            rows, columns = ([text for text in side if text in empty_texts] for side in (grid.rows, grid.columns))
            for row, column in itertools.product(rows, columns):
                if grid.others and row == column:
                    continue
                msg = (
                    f"{self.name_pair('', row, column)} are both empty, so no score is defined; "
                    "remove one, or score the pair 0 (empty='zero')"
                )
                raise EmptyPairError(msg)

    def unknown_only(self, tokens: Mapping[str, Tokens]) -> dict[tuple[str, int], list[str]]:
        """Texts of unknown tokens only that are treated as empty in a pair: one with a different text."""
        numbers: set[int] = set()
        unknown = {number for number, text in enumerate(self.texts) if tokens[text].only_unknown}
        for grid in self.grids if unknown else ():
            rows, columns = (
                {number: self.texts[number].strip() for number in side if not tokens[self.texts[number]].empty}
                for side in (grid.rows, grid.columns)
            )
            known_rows = {text for number, text in rows.items() if number not in unknown}
            for side, others in ((rows, {*columns.values()}), (columns, known_rows)):
                numbers |= {
                    number for number, text in side.items() if number in unknown and len(others) > (text in others)
                }
        return {("", number): [self.texts[number]] for number in sorted(numbers)}


def prepare_pairs(recipe: Metric, pairs: TextPairs, options: RunOptions, check: SignatureCheck) -> Prepared:
    """Prepare a run as for a corpus; refuse recipes whose scores depend on more than a pair."""
    for metric in recipe.base_metrics:
        if metric.whole_corpus:
            reason, fix = metric.describe_dependence()
            msg = f"{reason}, and a pair of texts alone has none; {fix}"
            raise RecipeError(msg)
        if getattr(metric, "needs_sources", False):
            msg = f"{metric.name} compares a text with its source and its references at once; use nlgauge.score"
            raise RecipeError(msg)
        if isinstance(metric, VectorMetric) and metric.group > 1:
            msg = f"transforms={metric.transforms!r} needs neighbouring segments, which pairs do not have"
            raise RecipeError(msg)
    if options.alignments:
        msg = "scores of pairs come without alignments; leave alignments= out, or use nlgauge.score"
        raise RecipeError(msg)
    return prepare([recipe], pairs, options, check_signature=check)


class PairNotes(NamedTuple):
    """Notes of compared pairs, and their signature."""

    signature: Signature
    texts: SegmentNotes
    """Numbers of texts by kind of note."""
    counts: Mapping[str, int]
    """Number of pairs by kind of note."""


def compare_pairs(prepared: Prepared, use: UseScores, blocks: BlocksOf | None = None) -> PairNotes:
    """Compare all pairs of a list, pass the scores to `use` block by block, and return the notes.

    With `blocks`, only these pairs of each grid are compared; `use` gets a block before the next one is drawn.
    """
    pairs, options = prepared.corpus, prepared.options
    assert isinstance(pairs, TextPairs)
    metrics = [_PairScores(metric, number) for number, metric in enumerate(prepared.metrics)]
    total = pairs.pairs * len(metrics)
    with Progress(total, show=options.progress, what="comparing", unit="pair") as advance:

        def take(number: int, block: Block, scores: Mapping[str, NDArray[np.float64]]) -> None:
            use(number, block, scores)
            count = int(np.count_nonzero(block.wanted))
            advance(count)
            current_run().advance(count)

        for metric in metrics:
            if isinstance(metric.prepared, PreparedTextMetric):
                metric.score_texts(metric.prepared, take, blocks)
        for group in prepared.groups:
            windows = _plan_windows(list(group.metrics.values()), blocks)
            compare_windows(
                group.metrics, windows, options, lambda number, part: metrics[number].add(part, take), recurring=True
            )
    return prepared.recipes[0].join_pair_notes([metric.finish() for metric in metrics], pairs)


def _plan_windows(metrics: Sequence[PreparedMetric], blocks_of: BlocksOf | None) -> list[Window]:
    """Group blocks into windows whose texts fit in memory; with `blocks_of`, a grid is always in one window."""
    pairs, tokens = metrics[0].corpus, metrics[0].tokenized.tokens
    assert isinstance(pairs, TextPairs)
    budget = window_budget(metrics[0].tokenized.encoder, len(layers_of(metrics)))
    stand_in = [""] if any(metric.zero_unknown for metric in metrics) else []

    def texts_of(block: Block) -> list[str]:
        return [place.text for place in (*block.rows, *block.columns)]

    def window(blocks: Sequence[Block]) -> Window:
        texts = dict.fromkeys([*(text for block in blocks for text in texts_of(block)), *stand_in])
        if blocks_of is None:
            return Window(list(texts), lambda _: blocks)
        return Window(
            list(texts), lambda _: itertools.chain.from_iterable(blocks_of(block.grid) for block in blocks), blocks
        )

    blocks = _split_grids(pairs, tokens, budget) if blocks_of is None else _whole_grids(pairs)
    return [window(group) for group in fill(blocks, texts_of, lambda text: len(tokens[text]), budget)]


def _whole_grids(pairs: TextPairs) -> Iterator[Block]:
    """A block per grid."""
    for number, grid in enumerate(pairs.grids):
        yield Block(_places(pairs, grid.rows, ""), _places(pairs, grid.columns, None), grid.others, number)


def _places(pairs: TextPairs, numbers: range, system: str | None) -> list[Place]:
    return [Place(pairs.texts[number], system, number) for number in numbers]


def _split_grids(pairs: TextPairs, tokens: Mapping[str, Tokens], budget: int) -> Iterator[Block]:
    """Split grids of more than `budget` tokens into blocks, with texts sorted by length."""

    def length(place: Place) -> int:
        return len(tokens[place.text])

    for number, grid in enumerate(pairs.grids):
        rows = sorted(_places(pairs, grid.rows, ""), key=length)
        columns = sorted(_places(pairs, grid.columns, None), key=length)
        total = sum(map(length, (*rows, *columns)))
        most = total if total <= budget else budget // 2
        for column_part in fill(columns, lambda place: [place], length, most):
            for row_part in fill(rows, lambda place: [place], length, most):
                yield Block(row_part, column_part, grid.others, number)


class _PairScores:
    """Scores of all pairs under a metric, with their notes."""

    def __init__(self, prepared: PreparedMetric | PreparedTextMetric, number: int) -> None:
        pairs = prepared.corpus
        assert isinstance(pairs, TextPairs)
        self.prepared, self._pairs, self._number = prepared, pairs, number
        self._zero_weight: set[int] = set()
        self._unconverged: list[tuple[int, int]] = []
        self._noted: dict[str, list[tuple[int, int]]] = {note.name: [] for note in prepared.metric.notes}
        """Pairs by note of the metric."""

    def add(self, pairs: BlockPairs, take: UseScores) -> None:
        """Add the compared pairs of a block."""
        assert isinstance(self.prepared, PreparedMetric)
        metric = self.prepared.metric
        block = pairs.block
        self._zero_weight |= {place.number for place in pairs.weightless}
        self._unconverged += [_pair_numbers(block, *cell) for cell in pairs.unconverged]
        if len(pairs.values):
            self._pass_on(block, metric.finish_pairs(pairs.values, self.prepared.state), take)

    def score_texts(self, prepared: PreparedTextMetric, take: UseScores, blocks: BlocksOf | None) -> None:
        """Score all pairs under a metric without vectors."""
        for number in range(len(self._pairs.grids)):
            for block in (blocks or self._row_blocks)(number):
                cells = np.argwhere(block.wanted).tolist()
                if cells:
                    hypotheses = [block.rows[row].text for row, _ in cells]
                    references = [(block.columns[column].text,) for _, column in cells]
                    with naming_documents(self._pairs):
                        result = prepared.metric.score_texts(hypotheses, references)
                    self._pass_on(block, result, take)

    def _row_blocks(self, number: int) -> Iterator[Block]:
        """All pairs of a grid, some rows at a time."""
        grid = self._pairs.grids[number]
        size = max(1, _TEXT_PAIRS // len(grid.columns))
        columns = _places(self._pairs, grid.columns, None)
        for start in range(0, len(grid.rows), size):
            rows = _places(self._pairs, grid.rows[start : start + size], "")
            yield Block(rows, columns, grid.others, number)

    def _pass_on(self, block: Block, result: SystemResult, take: UseScores) -> None:
        """Pass the scores of a block on as arrays, with nan for pairs that are not compared."""
        wanted = block.wanted
        cells = np.argwhere(wanted)
        for kind, noted in self._noted.items():
            noted += [_pair_numbers(block, *cells[index]) for index in result.notes.get(kind, ())]
        tables = {name: np.full(wanted.shape, np.nan) for name in result.segments}
        for name, values in result.segments.items():
            tables[name][wanted] = values
        take(self._number, block, tables)

    def finish(self) -> PairNotes:
        """Warn about the notes, count them, and make the signature."""
        prepared, pairs, metric = self.prepared, self._pairs, self.prepared.metric
        warn_about_weights(self._zero_weight, pairs.names)

        def names_of(noted: Sequence[tuple[int, int]]) -> TextNames:
            return TextNames("pair", lambda number: pairs.name_pair("", *noted[number]))

        warn_about_convergence(range(len(self._unconverged)), names_of(self._unconverged))
        for note in metric.notes:
            noted = self._noted[note.name]
            warn_about_note(note, range(len(noted)), metric.describe_note(note), names_of(noted))
        notes = order_notes({**prepared.notes[""], "zero_weight": sorted(self._zero_weight)})
        sizes = {kind: pairs.count(texts) for kind, texts in notes.items()}
        sizes |= {kind: len(noted) for kind, noted in {"unconverged": self._unconverged, **self._noted}.items()}
        counts = count_notes(order_notes({kind: range(size) for kind, size in sizes.items()}))
        own = prepared.run_fields[""] if isinstance(prepared, PreparedMetric) else {}
        signature = Signature(metric.name, prepared.signature.recipe, count_fields(counts) | dict(own))
        return PairNotes(signature, notes, counts)


def _pair_numbers(block: Block, row: int, column: int) -> tuple[int, int]:
    """Numbers of the texts of a pair."""
    return block.rows[row].number, block.columns[column].number


#: Maximum rows and columns of a matrix shown in a notebook.
_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class ScoreMatrix(ComponentsResult):
    """Scores of every text of one list against every text of another.

    `scores` is the array (hypotheses, references) of the main component; `numpy.asarray` converts the matrix to it.
    `components` has the arrays of all components, which are also attributes (`matrix.precision`). The arrays are
    read-only; copy one to change it.
    """

    format = "nlgauge-matrix-1"
    components_in = "components"
    mappings = ("components", "counts", "hypothesis_notes", "reference_notes")

    metric: str
    components: Mapping[str, NDArray[np.float64]]
    main: str
    higher_is_better: bool
    signature: Signature
    """As of `nlgauge.score` on all pairs: its counts are of pairs."""
    counts: Mapping[str, int]
    """Pairs with a text that was truncated, is empty, ..."""
    hypothesis_notes: SegmentNotes
    """Numbers of the rows where something had to be decided."""
    reference_notes: SegmentNotes
    """Numbers of such columns."""
    distances: tuple[str, ...] = ()
    """Components for which lower is better, if the main component is not a distance."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """The main component: a row per hypothesis, a column per reference."""
        return self.components[self.main]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of hypotheses and of references."""
        rows, columns = self.scores.shape
        return rows, columns

    def __len__(self) -> int:
        return len(self.scores)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.scores, dtype=dtype) if copy else np.asarray(self.scores, dtype=dtype)

    def tables(self, form: str = "text") -> list[Table]:
        """The main component, a row per hypothesis; in a notebook only the first rows and columns."""
        shown = self.scores[:_SHOWN, :_SHOWN] if form == "html" else self.scores
        size = " x ".join(map(str, self.shape))
        notes = [f"{self.metric}, {self.main}: {size}", f"signature: {format_signature(self.signature)}"]
        rows: list[list[Cell]] = [[number, *row] for number, row in enumerate(shown.tolist())]
        return [Table(["hypothesis", *map(str, range(shown.shape[1]))], rows, notes=notes)]

    def flat_columns(self) -> dict[str, Any]:
        """A row per pair of texts, with the numbers of both texts."""
        rows, columns = np.indices(self.shape)
        values = {name: component.ravel() for name, component in self.components.items()}
        return {"hypothesis": rows.ravel(), "reference": columns.ravel(), **values}

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<{self.metric}: {self.main} of {rows} x {columns} pairs | {format_signature(self.signature)}>"


def count_pairs(a: Sequence[str], b: Sequence[str] | None = None) -> int:
    """Number of text pairs that `matrix` compares."""
    return len(a) * len(a if b is None else b)


def matrix(
    a: Iterable[str],
    b: Iterable[str] | None = None,
    metric: AnyMetric | None = None,
    **options: Unpack[PairKeywords],
) -> ScoreMatrix:
    """Score every text of the first list against every text of the second (default: against itself).

    Each text is encoded once.

    Each score equals that of `nlgauge.score([a[i]], [b[j]])` to the bit, whatever else is in the lists. With
    `idf="refs"`, idf is counted on `b`, each text once (with `idf="both"` also on `a`), as by `nlgauge.score` with
    references `b`. A metric that scales scores over a corpus is refused.

    Args:
        a: Hypotheses: a row each.
        b: References, or sources for a metric that compares with them: a column each. Default: `a` itself.
        metric: As in `nlgauge.score`. Default: BERTScore.
        options: As in `nlgauge.score`, except `alignments`.

    Memory: the arrays take 8 bytes per pair and component. Apart from them and the model, less than a gigabyte is
    used for any number of texts: vectors that do not fit are kept in a temporary file.

    >>> scores = matrix(["The cat sat.", "It rains."], ["A cat sat.", "Rain fell.", "The cat sat."])
    >>> scores.shape, scores.scores.argmax(axis=1).tolist()
    ((2, 3), [2, 1])
    """
    recipes, run, check = resolve_call(single_metric(metric, function="matrix"), options)
    hypotheses = as_texts(a, "a")
    references = None if b is None else as_texts(b, "b")
    prepared = prepare_pairs(recipes[0], _make_grid(hypotheses, references), run, check)
    first = 0 if references is None else len(hypotheses)
    shape = len(hypotheses), len(hypotheses if references is None else references)
    arrays: list[dict[str, NDArray[np.float64]]] = [{} for _ in prepared.metrics]

    def fill_arrays(number: int, block: Block, scores: Mapping[str, NDArray[np.float64]]) -> None:
        cells = np.ix_([row.number for row in block.rows], [column.number - first for column in block.columns])
        for name, values in scores.items():
            arrays[number].setdefault(name, np.empty(shape))[cells] = values

    notes = compare_pairs(prepared, fill_arrays)
    mains = [own[prepared.metrics[number].metric.main] for number, own in enumerate(arrays)]
    components = prepared.recipes[0].join_values(mains) or arrays[0]
    notes = prepared.recipes[0].count_pairs(notes, mains)
    recipe = prepared.recipes[0].metric
    return ScoreMatrix(
        metric=recipe.name,
        components=components,
        main=recipe.main,
        higher_is_better=recipe.higher_is_better,
        signature=notes.signature,
        counts=notes.counts,
        hypothesis_notes=_select_notes(notes.texts, 0, shape[0]),
        reference_notes=_select_notes(notes.texts, first, first + shape[1]),
        distances=tuple(name for name in components if name in recipe.distances),
    )


def _make_grid(hypotheses: Sequence[str], references: Sequence[str] | None) -> TextPairs:
    for name, texts in (("a", hypotheses), ("b", references)):
        if texts is not None and not texts:
            msg = f"{name}: the list is empty; pass at least one text"
            raise InputError(msg)
    count = len(hypotheses)
    rows = range(count)
    columns = rows if references is None else range(count, count + len(references))
    names = TextNames("text", lambda number: f"a[{number}]" if number < count else f"b[{number - count}]")
    return TextPairs.of(hypotheses, references, [Grid(rows, columns)], names)


def _select_notes(notes: SegmentNotes, start: int, stop: int) -> SegmentNotes:
    """Notes of texts `start` to `stop`, renumbered from 0."""
    return {
        note.name: tuple(text - start for text in notes.get(note.name, ()) if start <= text < stop)
        for note in COMMON_NOTES
    }
