"""How often a metric scores a paraphrase above a lookalike, on adversarial triples.

share = |{ m(A, B) > m(A, C) }| / n        A is the reference; a tie is no win
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.files.html import HtmlCell, html_table
from nlgauge.recipes.composite import leaves
from nlgauge.recipes.metric import Metric
from nlgauge.scoring import recipes_and_run, score_systems
from nlgauge.stats import Interval, bootstrap_mean
from nlgauge.stress.triples import Triples

__all__ = ["TripleStudy", "TripleWins", "released_wins", "score_triples"]


@dataclass(frozen=True, eq=False)
class TripleWins:
    """One metric on all triples."""

    metric: str
    paraphrase: NDArray[np.float64]
    """m(A, B), as the metric gave it."""
    lookalike: NDArray[np.float64]
    """m(A, C)."""
    higher_is_better: bool = True
    signature: str = ""

    @property
    def differences(self) -> NDArray[np.float64]:
        """m(A, B) - m(A, C), turned so that above 0 is for the paraphrase."""
        found: NDArray[np.float64] = self.paraphrase - self.lookalike
        return found if self.higher_is_better else -found

    @property
    def share(self) -> float:
        """Of triples whose paraphrase wins."""
        return float(np.mean(self.differences > 0))

    @property
    def ties(self) -> float:
        """Of triples with equal scores."""
        return float(np.mean(self.differences == 0))

    @property
    def effect(self) -> float:
        """Mean difference in deviations of all scores of the metric: comparable between metrics; 0 for a constant."""
        spread = float(np.concatenate([self.paraphrase, self.lookalike]).std())
        return float(self.differences.mean()) / spread if spread > 0 else 0.0

    def interval(self, *, level: float = 0.95, resamples: int = 1000, seed: int = 12345) -> Interval | None:
        """Of the share; None for a single triple."""
        if len(self.differences) < 2:
            return None
        wins = (self.differences > 0).astype(np.float64)
        found = bootstrap_mean(wins, level=level, resamples=resamples, seed=seed)
        return found._replace(low=max(0.0, found.low), high=min(1.0, found.high))


@dataclass(frozen=True, eq=False)
class TripleStudy:
    """All metrics on one set of triples."""

    triples: Triples
    metrics: tuple[TripleWins, ...]
    level: float = 0.95
    resamples: int = 1000
    seed: int = 12345

    @property
    def signature(self) -> str:
        """What was measured, in one line; each metric has a signature of its own."""
        return (
            f"triples:{self.triples.label}|reference:anchor|interval:{self.level:g}"
            f"|resamples:{self.resamples}|seed:{self.seed}"
        )

    def interval(self, one: TripleWins) -> Interval | None:
        """Of a metric's share."""
        return one.interval(level=self.level, resamples=self.resamples, seed=self.seed)

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = []
        for one in self.metrics:
            found = self.interval(one)
            low, high = (None, None) if found is None else (found.low, found.high)
            rows.append([one.metric, one.share, low, high, one.ties, one.effect])
        columns = ["metric", "paraphrase wins", "low", "high", "ties", "effect"]
        caption = f"{self.triples.name}: {len(self.triples)} adversarial triples"
        return html_table(columns, rows, caption=caption, notes=[f"signature: {self.signature}"], width=3)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        overlap_b, overlap_c = self.triples.overlaps.mean(axis=1).tolist()
        return {
            "signature": self.signature,
            "triples": len(self.triples),
            "skipped": self.triples.skipped,
            "overlap": {"paraphrase": overlap_b, "lookalike": overlap_c},
            "metrics": [self._record(one) for one in self.metrics],
        }

    def _record(self, one: TripleWins) -> dict[str, Any]:
        found = self.interval(one)
        return {
            "metric": one.metric,
            "share": one.share,
            "interval": None if found is None else [found.low, found.high],
            "ties": one.ties,
            "mean_paraphrase": float(one.paraphrase.mean()),
            "mean_lookalike": float(one.lookalike.mean()),
            "effect": one.effect,
            "higher_is_better": one.higher_is_better,
            "signature": one.signature,
            "paraphrase": one.paraphrase.tolist(),
            "lookalike": one.lookalike.tolist(),
        }


def released_wins(triples: Triples, metrics: Sequence[str] | None = None, **how: Any) -> TripleStudy:
    """The study on scores that came with the triples, of all metrics or some."""
    names = list(triples.released) if metrics is None else list(metrics)
    for name in names:
        if name not in triples.released:
            known = ", ".join(triples.released) or "none"
            msg = f"{triples.name} has no released scores of {name!r}; it has {known}"
            raise InputError(msg)
    found = [
        TripleWins(name, triples.released[name][0], triples.released[name][1], signature="released") for name in names
    ]
    return TripleStudy(triples, tuple(found), **how)


def score_triples(
    triples: Triples, metrics: Sequence[str | Metric], *, how: dict[str, Any] | None = None, **options: Any
) -> TripleStudy:
    """Score B and C beside A with metrics of nlgauge; options are those of `nlgauge.score`.

    A is the reference, and the source for metrics that compare with one. Metrics that count idf count it on the
    anchors, as for any references.
    """
    recipes, _ = recipes_and_run(metrics, options)
    anchors = [one.anchor for one in triples.triples]
    systems = {
        "paraphrase": [one.paraphrase for one in triples.triples],
        "lookalike": [one.lookalike for one in triples.triples],
    }
    with_source = any(getattr(one, "against", "refs") == "source" for one in leaves(recipes))
    scores = score_systems(
        systems, anchors, metrics=list(metrics), sources=anchors if with_source else None, **options
    )
    found = []
    for number, metric in enumerate(metrics):
        b, c = scores[2 * number : 2 * number + 2]
        found.append(
            TripleWins(
                metric if isinstance(metric, str) else metric.name,
                b.segments[b.main],
                c.segments[c.main],
                b.higher_is_better,
                b.signature.recipe_part,
            )
        )
    return TripleStudy(triples, tuple(found), **(how or {}))
