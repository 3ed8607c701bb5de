"""Metrics learned from ratings: fit a combination of metrics, measure its gain, and freeze it to a file.

    learned = learn_metric(table, ["bertscore", "moverscore:idf=none", "eed"])
    learned.save("mine.json")
    nlgauge.score(hyps, refs, metric="mine.json")

The gain over the best member is measured on ratings that took no part in the fit (`nlgauge.stats.ridge`): Pearson of
the predictions of left-out rows minus Pearson of the member that correlates best on all rows, both averaged over
language pairs. What is left out together:

    langpair    the rows of a language pair (default for at least three)
    document    the rows of a tenth of the documents (default for at least 30 documents)
    segment     all outputs of a tenth of the segments

The interval is a paired bootstrap of the rows of each language pair, by document or segment. It has the uncertainty
of the ratings, not that of the weights. A combination is proven if its interval is above 0; `save` refuses others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.composite import CompositeMetric
from nlgauge.core.kinds import Choice, Int, Text
from nlgauge.core.metric import Metric
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.registry import join_recipe
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import AnyMetric, recipes_and_run
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.numbers import format_signed
from nlgauge.io.storage import arrays_digest
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.metrics.parts.learned_weights import (
    CrossValidation,
    LearnedWeights,
    Training,
    WeightedMember,
    recipe_of_member,
)
from nlgauge.stats.correlation import bootstrap_correlations
from nlgauge.stats.numeric import LEAST_RESAMPLES, SAME, Vector
from nlgauge.stats.resampling import unit_numbers
from nlgauge.stats.ridge import METHODS, Method, draw_folds, fit_best, mean_correlation, predict_left_out
from nlgauge.studies.meta.row_scores import RowScores
from nlgauge.studies.meta.score_judgements import score_judgements

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["LearnOptions", "LearnStudy", "learn_metric"]

#: Fewest ratings to learn from, and folds of documents or segments.
_LEAST_ROWS = 30
_FOLDS = 10

#: Fewest language pairs, and documents, that are left out by default.
_LEAST_PAIRS = 3
_LEAST_DOCUMENTS = 30

#: Level of the interval of the gain.
_LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class LearnOptions(OptionSet):
    """How weights are fitted, and how their gain is measured."""

    called: ClassVar[str] = "options of a learned metric"

    method: Method = option(
        "ridge", Choice(*METHODS), help="ridge; nnls: no negative weight; average: equal weights, nothing is learned"
    )
    leave_out: str = option(
        "auto",
        Choice("auto", "langpair", "document", "segment"),
        help="what is left out together to measure the gain",
        unset="language pairs, else documents, else segments",
    )
    criterion: str | None = option(None, Text("a criterion"), help="human rating", unset="set by the data set")
    resamples: int = option(1000, Int(LEAST_RESAMPLES), help="number of resamples", hidden=True, limit=10_000)
    seed: int = seed_option()


@dataclass(frozen=True)
class LearnStudy(Result):
    """A learned metric, and how well each of its members correlates with the ratings."""

    format = "nlgauge-learn-1"
    decimals = 3
    line = LINE
    computed = ("digest",)

    weights: LearnedWeights
    """The content of the file."""
    correlations: tuple[float, ...]
    """Pearson of each member, averaged over language pairs."""
    above_zero: float
    """Share of resamples in which the gain is above 0."""

    @property
    def digest(self) -> str:
        """sha256 of the content, whose first digits are in signatures."""
        return self.weights.digest

    def save(self, path: str | PathLike[str], *, unproven: bool = False) -> None:
        """Write the file for `metric=PATH`; refused without a proven gain, unless `unproven`."""
        if not unproven:
            self.check()
        self.weights.save(Path(path))

    def check(self) -> None:
        """Refuse a combination whose gain over its best member is not proven."""
        validation = self.weights.validation
        if not validation.proven:
            msg = (
                f"the combination is not proven to be better than its best member {validation.best_member!r}: "
                f"gain {_format_gain(validation)}; use that member, collect more ratings, or write it anyway with "
                "unproven=True"
            )
            raise InputError(msg)

    def tables(self, form: str = "text") -> list[Table]:
        """A row for the combination on left-out ratings, and a row per member."""
        weights, validation, training = self.weights, self.weights.validation, self.weights.training
        rows: list[list[Cell]] = [["combination (left out)", None, validation.learned]]
        for member, correlation in zip(weights.members, self.correlations, strict=True):
            rows.append([member.recipe, member.weight, correlation])
        pairs = f", averaged over {', '.join(training.langpairs)}" if len(training.langpairs) > 1 else ""
        notes = [
            f"{training.data}: {training.rows} ratings ({training.criterion}) of {training.segments} segments; "
            f"{weights.method}, penalty {weights.penalty:g}",
            f"pearson: with the ratings{pairs}; left out: {validation.folds}",
            "weight: change of the score by one standard deviation of the member",
            f"gain over {validation.best_member}: {_format_gain(validation)}, above 0 in {self.above_zero:.1%} of "
            f"{validation.resamples} resamples",
        ]
        return [Table(["metric", "weight", "pearson"], rows, "learned metric", notes)]


def _format_gain(validation: CrossValidation) -> str:
    numbers = [format_signed(value, 3) for value in (validation.gain, validation.low, validation.high)]
    return f"{numbers[0]} [{numbers[1]}, {numbers[2]}]"


def learn_metric(
    table: JudgementTable, members: Iterable[AnyMetric], *, run: RunOptions | None = None, **options: Any
) -> LearnStudy:
    """Learn a combination of metrics from the human ratings of a data set; options are those of `LearnOptions`.

    Args:
        table: Outputs with ratings, from `nlgauge.data.load`; rows without a rating are left out.
        members: Metrics to combine, such as `bertscore:model=mpnet`.
        run: How the members are scored.
    """
    chosen = LearnOptions.of(options)
    recipes, _ = recipes_and_run(list(members), {})
    _check_members(recipes)
    judged = table.take(np.flatnonzero(np.isfinite(table.gold(chosen.criterion))))
    if len(judged) < _LEAST_ROWS:
        msg = f"{table.name} has {len(judged)} ratings, but a learned metric needs at least {_LEAST_ROWS}"
        raise InputError(msg)
    gold = np.asarray(judged.gold(chosen.criterion), dtype=np.float64)
    if not any(getattr(recipe, "counts_idf", False) for recipe in recipes):
        judged = replace(judged, files=None)  # whole files matter for idf only, and take longer
    scores = score_judgements(judged, recipes, run=run).metrics
    names = [join_recipe(recipe) for recipe in recipes]
    for name, metric in zip(names, scores, strict=True):
        if np.ptp(metric.values) <= SAME * max(1.0, float(np.abs(metric.values).max())):
            msg = f"all {len(judged)} scores of {name} are {metric.values[0]:g}; leave it out"
            raise InputError(msg)
    columns = np.stack([metric.oriented for metric in scores], axis=1)
    pairs = unit_numbers(judged.langpair, len(judged))
    folds, what = _folds(judged, chosen)
    left_out = predict_left_out(columns, gold, folds, pairs, method=chosen.method)
    fit = fit_best(columns, gold, folds, pairs, method=chosen.method)
    correlations = [mean_correlation(column, gold, pairs) for column in columns.T]
    best = int(np.argmax(correlations))
    draws = _draw_gains(np.stack([left_out, columns[:, best]]), gold, judged, chosen)
    low, high = np.percentile(draws, [50 * (1 - _LEVEL), 50 * (1 + _LEVEL)])
    learned = mean_correlation(left_out, gold, pairs)
    weights = LearnedWeights(
        method=chosen.method,
        penalty=fit.penalty,
        intercept=fit.intercept,
        members=tuple(
            _weigh(name, metric, float(weight))
            for name, metric, weight in zip(names, scores, fit.weights, strict=True)
        ),
        training=Training(
            data=judged.name,
            criterion=chosen.criterion or judged.default_criterion or "",
            rows=len(judged),
            segments=len(set(_segments(judged))),
            langpairs=judged.langpairs,
            digest=arrays_digest(names, [("ratings", gold), ("scores", columns)], form="<f8"),
        ),
        validation=CrossValidation(
            folds=what,
            learned=learned,
            best_member=names[best],
            best=correlations[best],
            gain=learned - correlations[best],
            low=float(low),
            high=float(high),
            resamples=chosen.resamples,
            seed=chosen.seed,
        ),
    )
    return LearnStudy(weights, tuple(correlations), float((draws > 0).mean()))


def _check_members(recipes: Sequence[Metric]) -> None:
    if len(set(recipes)) < 2:
        msg = f"a learned metric needs at least two different members, got {len(set(recipes))}"
        raise RecipeError(msg)
    for recipe in recipes:
        if isinstance(recipe, CompositeMetric):
            msg = f"{recipe.name} is a combination itself and cannot be a member; name its members instead"
            raise RecipeError(msg)
        if recipe.whole_corpus:
            msg = (
                f"{recipe.name} scales scores by the range over each corpus, so frozen weights do not fit; "
                "fix its bounds first with 'nlgauge build bounds'"
            )
            raise RecipeError(msg)


def _weigh(name: str, metric: RowScores, weight: float) -> WeightedMember:
    values = metric.values
    return WeightedMember(
        recipe=name,
        fields=recipe_of_member(metric.parts[0].score.signature),
        mean=float(values.mean()),
        deviation=float(values.std()),
        weight=weight,
        low=float(values.min()),
        high=float(values.max()),
    )


def _segments(table: JudgementTable) -> list[str]:
    """The segment of each row, with its language pair."""
    return [f"{pair}\t{segment}" for pair, segment in zip(table.langpair, table.segment, strict=True)]


def _documents(table: JudgementTable) -> list[str]:
    return [f"{pair}\t{name}" for pair, name in zip(table.langpair, table.document_of_rows(), strict=True)]


def _folds(table: JudgementTable, options: LearnOptions) -> tuple[NDArray[np.intp], str]:
    """The fold of each row, and what the folds are."""
    way = options.leave_out
    if way == "auto":
        documents = 0 if table.document is None else len(set(_documents(table)))
        way = "document" if documents >= _LEAST_DOCUMENTS else "segment"
        way = "langpair" if len(table.langpairs) >= _LEAST_PAIRS else way
    units = {"langpair": lambda: list(table.langpair), "document": lambda: _documents(table)}.get(
        way, lambda: _segments(table)
    )()
    count = len(set(units))
    if count < _LEAST_PAIRS:
        msg = f"leave_out={way!r} needs at least {_LEAST_PAIRS} of them, {table.name} has {count}; choose another"
        raise InputError(msg)
    if way == "langpair":
        return draw_folds(units, count, options.seed), f"each of {count} language pairs"
    folds = min(_FOLDS, count)
    return draw_folds(units, folds, options.seed), f"{folds} parts of {count} {way}s"


def _draw_gains(scores: Vector, gold: Vector, table: JudgementTable, options: LearnOptions) -> Vector:
    """Gains over resampled rows, averaged over language pairs."""
    units = _segments(table) if table.document is None else _documents(table)
    total = np.zeros(options.resamples)
    for number, pair in enumerate(table.langpairs):
        rows = table.rows_of(pair)
        drawn = bootstrap_correlations(
            scores[:, rows],
            gold[rows],
            clusters=[units[row] for row in rows],
            resamples=options.resamples,
            seed=options.seed + number,  # the pairs are independent
        )
        total += drawn.draws[:, 0] - drawn.draws[:, 1]
    gains: Vector = total[np.isfinite(total)] / len(table.langpairs)  # nan: all drawn scores are equal
    return gains
