"""What a stress test found: how far each metric falls under each perturbation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.files.html import HtmlCell, html_table
from nlgauge.stats import Interval, bootstrap_mean

__all__ = ["Fall", "MetricFalls", "StressTest", "fall_of"]


class Fall(NamedTuple):
    """One metric under one perturbation, over the texts that it changed."""

    perturbation: str
    keeps_meaning: bool
    changed: int
    """Texts that were changed."""
    fall: Interval | None
    """Mean of before minus after, turned so that a fall is above 0; None where less than two texts were changed."""
    mean: float | None
    """The same without an interval; None where no text was changed."""
    way: float | None
    """The mean as a share of the fall to an unrelated text: 0 not moved, 1 like another text altogether."""
    below_paraphrase: Interval | None
    """Share of texts that score below their paraphrase once perturbed; None without paraphrases."""


@dataclass(frozen=True)
class MetricFalls:
    """One metric under all perturbations."""

    metric: str
    signature: str
    higher_is_better: bool
    original: float
    """Mean score of the texts as they were."""
    unrelated: float | None
    """Mean score of texts beside the reference of another; None for a single text."""
    paraphrase: Fall | None
    """What the paraphrases cost, over all texts that have one."""
    falls: tuple[Fall, ...]


@dataclass(frozen=True)
class StressTest:
    """All metrics under all perturbations."""

    texts: str
    """Name, number and digest of the texts."""
    against: str
    """What scores are against: the texts themselves, or references."""
    size: int
    perturbations: tuple[str, ...]
    unchanged: int
    """Texts that no perturbation could change."""
    metrics: tuple[MetricFalls, ...]
    seed: int
    lang: str
    annotator: str
    paraphrases: str
    """Name, number and digest of the paraphrases; empty without."""
    level: float
    resamples: int

    @property
    def signature(self) -> str:
        """What was measured, in one line; each metric has a signature of its own."""
        fields = {
            "texts": self.texts,
            "against": self.against,
            "perturbations": "+".join(self.perturbations),
            "seed": str(self.seed),
            "lang": self.lang,
            "annotator": self.annotator or "none",
            "paraphrases": self.paraphrases or "none",
            "interval": f"{self.level:g}",
            "resamples": str(self.resamples),
        }
        return "stress|" + "|".join(f"{key}:{value}" for key, value in fields.items())

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = []
        for one in self.metrics:
            for fall in (*(() if one.paraphrase is None else (one.paraphrase,)), *one.falls):
                low, high = (None, None) if fall.fall is None else (fall.fall.low, fall.fall.high)
                meaning = "kept" if fall.keeps_meaning else "changed"
                rows.append([one.metric, fall.perturbation, meaning, fall.changed, fall.mean, low, high, fall.way])
        columns = ["metric", "perturbation", "meaning", "changed", "fall", "low", "high", "way"]
        notes = [f"signature: {self.signature}"]
        return html_table(columns, rows, caption=f"how far metrics fall, {self.size} texts", notes=notes, width=3)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "signature": self.signature,
            "texts": self.size,
            "unchanged": self.unchanged,
            "metrics": [
                {
                    "metric": one.metric,
                    "signature": one.signature,
                    "higher_is_better": one.higher_is_better,
                    "original": one.original,
                    "unrelated": one.unrelated,
                    "paraphrase": None if one.paraphrase is None else _record(one.paraphrase),
                    "perturbations": [_record(fall) for fall in one.falls],
                }
                for one in self.metrics
            ],
        }


def _record(fall: Fall) -> dict[str, Any]:
    return {
        "perturbation": fall.perturbation,
        "keeps_meaning": fall.keeps_meaning,
        "changed": fall.changed,
        "fall": fall.mean,
        "interval": None if fall.fall is None else [fall.fall.low, fall.fall.high],
        "way_to_unrelated": fall.way,
        "below_paraphrase": None if fall.below_paraphrase is None else fall.below_paraphrase.mean,
        "below_paraphrase_interval": None
        if fall.below_paraphrase is None
        else [fall.below_paraphrase.low, fall.below_paraphrase.high],
    }


def fall_of(
    name: str,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    rows: NDArray[np.bool_],
    *,
    keeps_meaning: bool,
    to_unrelated: float | None,
    paraphrase: NDArray[np.float64] | None,
    drawing: dict[str, Any],
) -> Fall:
    """The fall of the chosen rows; scores are oriented, higher being better."""
    difference = (before - after)[rows]
    mean = float(difference.mean()) if len(difference) else None
    way = mean / to_unrelated if mean is not None and to_unrelated else None
    below = None
    if paraphrase is not None and rows.sum() > 1:
        found = bootstrap_mean((after < paraphrase)[rows].astype(np.float64), **drawing)
        below = found._replace(low=max(0.0, found.low), high=min(1.0, found.high))
    interval = bootstrap_mean(difference, **drawing) if len(difference) > 1 else None
    return Fall(name, keeps_meaning, int(rows.sum()), interval, mean, way, below)
