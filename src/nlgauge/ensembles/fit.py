"""Norms of an ensemble's members: from a data set that is scored, or from files of saved scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.data import JudgementTable
from nlgauge.errors import InputError
from nlgauge.meta import score_table
from nlgauge.metrics.parts.norms import Norms, recipe_of_member
from nlgauge.recipes.composite import CompositeMetric
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.signature import Signature
from nlgauge.scores import Score
from nlgauge.scoring import recipes_and_run

__all__ = ["fit_norms", "norms_of_scores"]


def fit_norms(
    table: JudgementTable, metrics: Sequence[str | Metric], *, run: RunOptions | None = None, **options: Any
) -> Norms:
    """Means and deviations of metrics over all rows of a data set; people's scores are not looked at.

    An ensemble among the metrics stands for its members. Options are those of `nlgauge.score`.
    """
    recipes, _ = recipes_and_run(metrics, options)
    members = list(
        dict.fromkeys(
            member
            for recipe in recipes
            for member in (recipe.recipes if isinstance(recipe, CompositeMetric) else (recipe,))
        )
    )
    given = {name: value for name, value in options.items() if name in RunOptions.__dataclass_fields__}
    scored = score_table(table, members, run=run, **given)
    found = []
    for recipe, one in zip(members, scored.metrics, strict=True):
        _refuse_whole_corpus(recipe)
        found.append((Signature.parse(next(iter(one.signatures.values()))), one.values))
    return Norms.of(found, data=f"{table.name}, {len(table)} rows")


def _refuse_whole_corpus(recipe: Metric) -> None:
    if recipe.whole_corpus:
        msg = (
            f"{recipe.name} scales its scores over the corpus at hand, so that no frozen mean fits it; "
            "freeze its bounds first ('nlgauge sentsim calibrate')"
        )
        raise InputError(msg)


def norms_of_scores(scores: Sequence[Score], *, data: str = "saved scores") -> Norms:
    """Means and deviations over scores that were computed before; those of one recipe are taken together."""
    if not scores:
        msg = "there are no scores to take means of"
        raise InputError(msg)
    grouped: dict[str, tuple[Signature, list[NDArray[np.float64]]]] = {}
    for score in scores:
        key = f"{score.metric} {sorted(recipe_of_member(score.signature).items())}"
        grouped.setdefault(key, (score.signature, []))[1].append(score.segments[score.main])
    return Norms.of([(signature, np.concatenate(parts)) for signature, parts in grouped.values()], data=data)
