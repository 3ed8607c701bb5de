"""The foci of a text as a table of vectors, and what two such tables have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import ORIGIN, Flow
from nlgauge.clouds.cloud import PointSpans
from nlgauge.metrics.parts.mentions import Mention, sums_of_runs
from nlgauge.transport import squared_distances

__all__ = ["Entity", "FocusPair", "FocusTable"]

#: A focus is known by the lemmas of its nouns.
Entity: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FocusTable:
    """The foci of a text, a row each."""

    rows: Mapping[Entity, int]
    vectors: NDArray[np.float32]
    """F: sums over the mentions of each focus."""
    mentions: Sequence[Mention]
    focus_of: NDArray[np.intp]
    """The row of each mention."""

    @classmethod
    def of(
        cls,
        mentions: Sequence[Mention],
        vectors: NDArray[np.float32],
        entities: Mapping[str, Entity],
        *,
        least: int,
    ) -> FocusTable:
        """F_v = sum over the mentions of v (equation 1), for what is mentioned at least so often."""
        counts: dict[Entity, int] = {}
        for one in mentions:
            counts[entities[one.lemma]] = counts.get(entities[one.lemma], 0) + 1
        rows = {entity: row for row, entity in enumerate(key for key, count in counts.items() if count >= least)}
        kept = [at for at, one in enumerate(mentions) if entities[one.lemma] in rows]
        focus_of = np.array([rows[entities[mentions[at].lemma]] for at in kept], dtype=np.intp)
        order = np.array(kept, dtype=np.intp)[np.argsort(focus_of, kind="stable")]
        stop = np.cumsum(np.bincount(focus_of, minlength=len(rows)))
        first = np.concatenate([[0], stop[:-1]])[: len(rows)]
        return cls(rows, sums_of_runs(vectors[order], first, stop), [mentions[at] for at in kept], focus_of)

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of_counts(cls, lemmas: Sequence[str], *, least: int) -> FocusTable:
        """Nouns whose mentions all have the same vector, of one number."""
        counts = {(lemma,): count for lemma, count in Counter(lemmas).items() if count >= least}
        vectors = np.array([*counts.values()], dtype=np.float32).reshape(-1, 1)
        return cls({entity: row for row, entity in enumerate(counts)}, vectors, (), np.zeros(0, dtype=np.intp))

    @cached_property
    def squared_lengths(self) -> NDArray[np.float64]:
        """Squared distances to the origin."""
        return _squares(self.vectors.astype(np.float64))

    @property
    def labels(self) -> tuple[str, ...]:
        """The foci in words."""
        return tuple(" / ".join(entity) for entity in self.rows)

    @property
    def spans(self) -> tuple[PointSpans, ...]:
        """Where each focus is mentioned."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.rows]
        for row, one in zip(self.focus_of.tolist(), self.mentions, strict=True):
            found[row].append((one.start, one.end))
        return tuple(map(tuple, found))


@dataclass(frozen=True, eq=False)
class FocusPair:
    """The foci of a hypothesis beside those of a reference."""

    x: FocusTable
    y: FocusTable
    x_rows: NDArray[np.intp]
    y_rows: NDArray[np.intp]
    """Rows of the foci that both have."""
    squared: bool
    """Whether distances are squared."""

    @classmethod
    def of(cls, x: FocusTable, y: FocusTable, *, squared: bool) -> FocusPair:
        """Found by equal foci: an entity matches one of the same nouns only."""
        common = [(row, y.rows[entity]) for entity, row in x.rows.items() if entity in y.rows]
        rows = np.array(common, dtype=np.intp).reshape(-1, 2)
        return cls(x, y, rows[:, 0], rows[:, 1], squared)

    def __len__(self) -> int:
        return len(self.x_rows)

    def values(self, *, unmatched: str) -> tuple[float, float, float]:
        """P, R and (P + R) / 2 (equation 2, D6.12): the sum over foci divided by how many there are of them.

        `unmatched`: where one side lacks a focus it is `ignored`, and nothing in common gives 0; or it is at the
        `origin` there, and the sum is divided by the number of foci of either side (D6.4).
        """
        total = float(self.apart.sum())
        if unmatched == "origin":
            alone = self.alone
            count = len(self) + len(alone)
            value = (total + float(alone.sum())) / count if count else 0.0
            return value, value, value
        p, r = (total / len(side) if len(self) else 0.0 for side in (self.x, self.y))
        return p, r, (p + r) / 2

    @cached_property
    def apart(self) -> NDArray[np.float64]:
        """Distance between the vectors of each common focus."""
        difference = self.x.vectors[self.x_rows].astype(np.float64) - self.y.vectors[self.y_rows]
        return self._distances(_squares(difference))

    @property
    def alone(self) -> NDArray[np.float64]:
        """Distance to the origin of each focus that one side lacks: those of the hypothesis first."""
        return np.concatenate([self._distances(table.squared_lengths[rows]) for table, rows in self._rows_alone])

    @property
    def _rows_alone(self) -> list[tuple[FocusTable, NDArray[np.intp]]]:
        sides = ((self.x, self.x_rows), (self.y, self.y_rows))
        return [(table, _others(len(table), rows)) for table, rows in sides]

    def _distances(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return squares if self.squared else np.sqrt(squares)

    def flow(self, *, unmatched: str) -> Flow | None:
        """What was matched, each focus with an equal share, so that the sum of `flow * cost` is P.

        Where a focus that one side lacks is at the origin there, it moves to a point that stands nowhere in the text.
        None where nothing was matched.
        """
        with_origin, parts = unmatched == "origin", len(self.x)
        if not len(self) and not (with_origin and (len(self.x) or len(self.y))):
            return None
        x, y = (
            _with_origin(table) if with_origin else table.vectors.astype(np.float64) for table in (self.x, self.y)
        )
        mass = np.zeros((len(x), len(y)))
        mass[self.x_rows, self.y_rows] = 1
        if with_origin:
            (_, x_alone), (_, y_alone) = self._rows_alone
            mass[x_alone, -1] = mass[-1, y_alone] = 1
            parts = len(self) + len(x_alone) + len(y_alone)
        flow = mass / parts
        nowhere: tuple[PointSpans, ...] = ((),) if with_origin else ()
        origin = (ORIGIN,) if with_origin else ()
        return Flow(
            reference_index=0,
            hypothesis_tokens=self.x.labels + origin,
            reference_tokens=self.y.labels + origin,
            hypothesis_weight=flow.sum(axis=1),
            reference_weight=flow.sum(axis=0),
            flow=flow,
            cost=self._distances(squared_distances(x, y)),
            hypothesis_spans=self.x.spans + nowhere,
            reference_spans=self.y.spans + nowhere,
        )


def _others(size: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    left = np.ones(size, dtype=np.bool_)
    left[rows] = False
    return np.flatnonzero(left)


def _squares(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors)
    return found


def _with_origin(table: FocusTable) -> NDArray[np.float64]:
    return np.vstack([table.vectors.astype(np.float64), np.zeros((1, table.vectors.shape[1]))])
