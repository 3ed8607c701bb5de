"""`nlgauge.matrix`: every text of one list against every text of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import TextNames, checked_texts
from nlgauge.core.engine import Block
from nlgauge.core.pairs import Grid, TextPairs, compare_pairs, prepare_pairs
from nlgauge.core.result import ComponentsResult
from nlgauge.core.score import COMMON_NOTES, SegmentNotes
from nlgauge.core.scoring import AnyMetric, one_metric, resolved_call
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.io.table import Cell, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import PairKeywords

#: Rows and columns of a matrix that a notebook shows.
_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class ScoreMatrix(ComponentsResult):
    """Scores of every text of one list against every text of another.

    `scores` is the array (hypotheses, references) of the main component, and what `numpy.asarray` takes it for;
    `components` has all of them, each an attribute too (`found.precision`). The arrays cannot be changed; copy one to
    work on it.
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
    """Components that are better when they are lower, beside a main component that is not one of them."""

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
        """The main component, a row per hypothesis; in a notebook the first rows and columns of a large matrix."""
        shown = self.scores[:_SHOWN, :_SHOWN] if form == "html" else self.scores
        notes = [f"{self.metric}, {self.main}: {' x '.join(map(str, self.shape))}", f"signature: {self.signature}"]
        rows: list[list[Cell]] = [[number, *row] for number, row in enumerate(shown.tolist())]
        return [Table(["hypothesis", *map(str, range(shown.shape[1]))], rows, notes=notes)]

    def flat_columns(self) -> dict[str, Any]:
        """A row per pair of texts, with their numbers."""
        rows, columns = np.indices(self.shape)
        values = {name: component.ravel() for name, component in self.components.items()}
        return {"hypothesis": rows.ravel(), "reference": columns.ravel(), **values}

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<{self.metric}: {self.main} of {rows} x {columns} pairs | {self.signature}>"


def count_pairs(a: Sequence[str], b: Sequence[str] | None = None) -> int:
    """Pairs of texts that `matrix` compares."""
    return len(a) * len(a if b is None else b)


def matrix(
    a: Iterable[str],
    b: Iterable[str] | None = None,
    metric: AnyMetric | None = None,
    **options: Unpack[PairKeywords],
) -> ScoreMatrix:
    """Score every text of `a` against every text of `b`; each text is encoded once.

    A number is that of `nlgauge.score([a[i]], [b[j]])`, to the bit, whatever else is in the lists. An idf that is
    counted on the texts at hand (`idf="refs"`) is that of `nlgauge.score` with references `b`: each text of `b` is a
    document, once (and each of `a` under `idf="both"`). A metric that scales scores over a corpus is refused.

    Args:
        a: Hypotheses: a row each.
        b: References, or sources for a metric that compares with them: a column each. Default: `a` itself.
        metric: As `nlgauge.score` has it. Default: BERTScore.
        options: As `nlgauge.score` has them, but for `alignments`.

    Memory: the arrays take 8 bytes per pair and component. Beside them and the model there is less than a
    gigabyte, whatever the number of texts: vectors that do not fit wait in a temporary file.

    >>> found = matrix(["The cat sat.", "It rains."], ["A cat sat.", "Rain fell.", "The cat sat."])
    >>> found.shape, found.scores.argmax(axis=1).tolist()
    ((2, 3), [2, 1])
    """
    recipes, run, check = resolved_call(one_metric(metric, function="matrix"), options)
    hypotheses = checked_texts(a, "a")
    references = None if b is None else checked_texts(b, "b")
    prepared = prepare_pairs(recipes[0], _all_pairs(hypotheses, references), run, check)
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
    recipe = prepared.recipes[0].metric
    return ScoreMatrix(
        metric=recipe.name,
        components=components,
        main=recipe.main,
        higher_is_better=recipe.higher_is_better,
        signature=notes.signature,
        counts=notes.counts,
        hypothesis_notes=_between(notes.texts, 0, shape[0]),
        reference_notes=_between(notes.texts, first, first + shape[1]),
        distances=tuple(name for name in components if name in recipe.distances),
    )


def _all_pairs(hypotheses: Sequence[str], references: Sequence[str] | None) -> TextPairs:
    for name, texts in (("a", hypotheses), ("b", references)):
        if texts is not None and not texts:
            msg = f"{name}: the list is empty, so there is nothing to score"
            raise InputError(msg)
    count = len(hypotheses)
    rows = range(count)
    columns = rows if references is None else range(count, count + len(references))
    names = TextNames("text", lambda number: f"a[{number}]" if number < count else f"b[{number - count}]")
    return TextPairs.of(hypotheses, references, [Grid(rows, columns)], names)


def _between(notes: SegmentNotes, start: int, stop: int) -> SegmentNotes:
    """Notes of the texts of a side, counted from its first."""
    return {
        note.name: tuple(text - start for text in notes.get(note.name, ()) if start <= text < stop)
        for note in COMMON_NOTES
    }
