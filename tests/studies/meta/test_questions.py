"""One function answers every question that can be put to scores, and draws nothing for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr

from nlgauge.data.judgements import JudgementTable, RankedPairs
from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.meta.evaluation import evaluate
from nlgauge.studies.meta.questions import Question, Significance, answer, check_question
from nlgauge.studies.meta.row_scores import RowScores, ScoredJudgements, given_rows

SYSTEMS, SEGMENTS = 4, 12
RNG = np.random.default_rng(11)
HUMAN = RNG.random((SYSTEMS, SEGMENTS))
SCORES = HUMAN + 0.3 * RNG.random((SYSTEMS, SEGMENTS))


def table(human: np.ndarray = HUMAN) -> JudgementTable:
    rows = [(system, segment) for system in range(SYSTEMS) for segment in range(SEGMENTS)]
    return JudgementTable(
        name="made",
        segment=tuple(str(segment) for _, segment in rows),
        system=tuple(f"s{system}" for system, _ in rows),
        langpair=("de-en",) * len(rows),
        hypothesis=("h",) * len(rows),
        references=(("r",),) * len(rows),
        human={"people": human.ravel()},
        default_criterion="people",
    )


def metric(*, distance: bool = False) -> RowScores:
    return given_rows(table(), "m", -SCORES.ravel() if distance else SCORES.ravel(), higher_is_better=not distance)


def value(question: Question, made: JudgementTable | None = None, **more: Any) -> float:
    return answer(question, made or table(), metric(), **more)["de-en"].value


def test_correlations_at_every_level() -> None:
    assert value(Question()) == pytest.approx(pearsonr(SCORES.ravel(), HUMAN.ravel()).statistic)
    assert value(Question(agreement="kendall")) == pytest.approx(kendalltau(SCORES.ravel(), HUMAN.ravel()).statistic)
    by_topic = [pearsonr(ours, theirs).statistic for ours, theirs in zip(SCORES.T, HUMAN.T, strict=True)]
    assert value(Question(level="topic")) == pytest.approx(np.mean(by_topic))
    means = pearsonr(SCORES.mean(axis=1), HUMAN.mean(axis=1)).statistic
    assert value(Question(level="system")) == pytest.approx(means)
    medians = pearsonr(np.median(SCORES, axis=1), HUMAN.mean(axis=1)).statistic
    assert value(Question(level="system", aggregate="median")) == pytest.approx(medians)


def test_area_under_the_curve_of_two_classes() -> None:
    classes = (HUMAN > 0.5).astype(float)
    above = SCORES[classes == 1][:, None] > SCORES[classes == 0][None, :]
    assert value(Question(agreement="auc"), table(classes)) == pytest.approx(above.mean())


def test_relative_rankings_need_pairs() -> None:
    question = Question(agreement="darr")
    pairs = RankedPairs("made", ("de-en",) * 2, ("0", "1"), ("s0", "s1"), ("s1", "s2"))
    right = [SCORES[0, 0] > SCORES[1, 0], SCORES[1, 1] > SCORES[2, 1]]
    result = answer(question, table(), metric(), pairs=pairs)["de-en"]
    assert (result.value, result.count) == (np.mean([1 if item else -1 for item in right]), 2)
    with pytest.raises(RecipeError, match="needs ranked pairs"):
        answer(question, table(), metric())


@pytest.mark.parametrize(
    "question",
    [
        Question(),
        Question(level="topic", agreement="spearman"),
        Question(level="topic", agreement="acc-eq"),
        Question(level="topic", agreement="differences"),
        Question(level="system"),
        Question(level="system", agreement="spa"),
    ],
    ids=str,
)
def test_a_distance_answers_as_its_negative_and_a_table_has_the_same_number(question: Question) -> None:
    number = value(question)
    assert answer(question, table(), metric(distance=True))["de-en"].value == number
    result = evaluate(
        ScoredJudgements(table(), (metric(),)),
        level=question.level,  # type: ignore[arg-type]
        agreement=question.agreement,
        significance=Significance(test="none"),
    )
    assert result.cells["m"]["de-en"].value == number


def test_answer_needs_no_resampling_and_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    for name in ("compare_metrics", "compare_tie_accuracies", "bootstrap_correlations", "bootstrap_mean"):
        monkeypatch.setattr(f"nlgauge.studies.meta.evaluation.{name}", refuse)
    monkeypatch.setattr("numpy.random.default_rng", refuse)
    for level, agreement in (
        ("segment", "pearson"),
        ("topic", "kendall"),
        ("topic", "acc-eq"),
        ("system", "pearson"),
    ):
        assert np.isfinite(value(Question(level=level, agreement=agreement)))


def test_scores_of_another_table_are_refused() -> None:
    with pytest.raises(InputError, match="a score for each of the 48 rows of made, got 2"):
        answer(Question(), table(), given_rows(table().take([0, 1]), "m", [1.0, 2.0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resamples": 99}, "resamples must be a whole number from 100, got 99"),
        ({"seed": -1}, "seed must be a whole number from 0, got -1"),
        ({"alpha": 3}, "alpha must be a number above 0, below 1, got 3"),
    ],
)
def test_invalid_resampling_options_are_rejected(options: dict[str, int], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Significance(**options)  # type: ignore[arg-type]


def test_spa_needs_judgements_of_segments() -> None:
    systems_only = replace(table(), default_criterion=None)
    with pytest.raises(RecipeError, match="needs judgements of the same segments for all systems"):
        check_question(Question(level="system", agreement="spa"), systems_only)
