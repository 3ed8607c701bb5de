"""AUC, WMT's tau of ranked pairs and Bradley-Terry strengths in tables of agreement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from nlgauge.data.judgements import JudgementTable, RankedPairs
from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.compare.rankings import win_counts
from nlgauge.studies.compare.strengths import bradley_terry
from nlgauge.studies.meta.evaluation import AgreementTable, evaluate
from nlgauge.studies.meta.levels import AGGREGATES
from nlgauge.studies.meta.pairwise import derive_pairs, preference_tau
from nlgauge.studies.meta.questions import Significance
from nlgauge.studies.meta.row_scores import ScoredJudgements, given_rows

RNG = np.random.default_rng(4)
SYSTEMS, SEGMENTS = 5, 40
RAW = RNG.integers(0, 101, (SYSTEMS, SEGMENTS)).astype(float)
CLOSE, FAR = RAW + RNG.normal(0, 15, RAW.shape), RNG.normal(0, 1, RAW.shape)


def table(human: np.ndarray = RAW) -> JudgementTable:
    rows = [(system, segment) for system in range(SYSTEMS) for segment in range(SEGMENTS)]
    return JudgementTable(
        name="made",
        segment=tuple(str(segment) for _, segment in rows),
        system=tuple(f"s{system}" for system, _ in rows),
        langpair=("de-en",) * len(rows),
        document=tuple(str(segment // 4) for _, segment in rows),
        hypothesis=("h",) * len(rows),
        references=(("r",),) * len(rows),
        human={"da": human.ravel()},
        default_criterion="da",
    )


def agreement(made: JudgementTable, kind: str, **more: object) -> AgreementTable:
    metrics = (
        given_rows(made, "close", CLOSE.ravel()),
        given_rows(made, "far", -FAR.ravel(), higher_is_better=False),
    )
    significance = Significance(resamples=300, **more)
    return evaluate(ScoredJudgements(made, metrics), agreement=kind, significance=significance)


def test_pairs_of_raw_assessments_have_the_tau_of_the_matrix() -> None:
    result = agreement(table(), "darr")
    close, far = result.cells["close"]["de-en"], result.cells["far"]["de-en"]
    assert (close.value, far.value) == (preference_tau(CLOSE, RAW).value, preference_tau(FAR, RAW).value)
    better, worse = np.nonzero((RAW[:, None] - RAW >= 25).any(axis=2))[0].size, int((RAW[:, None] - RAW >= 25).sum())
    assert close.count == worse >= better
    assert close.low < close.value < close.high
    assert far.low < 0 < far.high, "a metric that knows nothing"
    assert (close.unbeaten, close.rank) == (True, 1)
    assert (far.unbeaten, far.rank) == (False, 2)
    assert "differ by 25 points" in "".join(result.notes)
    assert result.options["unit"] == "segment"
    assert result.options["test"] == "bootstrap"
    by_document = agreement(table(), "darr", documents=True)
    assert by_document.cells["close"]["de-en"].low != close.low
    assert "resampled by document (10 documents)" in by_document.render("text")


def test_standardised_scores_are_refused() -> None:
    with pytest.raises(InputError, match=r"'da' goes from -.* is not a raw direct assessment"):
        derive_pairs(table((RAW - RAW.mean()) / RAW.std()))
    with pytest.raises(InputError, match="no two outputs of a segment differ by 25"):
        derive_pairs(table(np.tile(np.linspace(0, 100, SEGMENTS), (SYSTEMS, 1))))
    with pytest.raises(InputError, match="human scores of systems only"):
        derive_pairs(replace(table(), human={}, default_criterion=None))
    with pytest.raises(RecipeError, match="'darr' needs test 'bootstrap', got 'permutation'"):
        agreement(table(), "darr", test="permutation")


def test_given_pairs_count_ties_as_errors() -> None:
    pairs = RankedPairs("rr", ("de-en",) * 3, ("0", "1", "2"), ("s0",) * 3, ("s1",) * 3)
    made = table()
    scores = np.zeros((SYSTEMS, SEGMENTS))
    scores[0, :2] = 1
    scored = ScoredJudgements(made, (given_rows(made, "m", scores.ravel()),))
    cell = evaluate(scored, agreement="darr", pairs=pairs).cells["m"]["de-en"]
    assert cell.value == pytest.approx(1 / 3), "two right, one tie"
    missing = replace(pairs, better=("s9", "s0", "s0"))
    with pytest.raises(InputError, match="no output of system 's9' for the ranked segment '0'"):
        evaluate(scored, agreement="darr", pairs=missing)


def test_auc_has_intervals_and_paired_tests() -> None:
    result = agreement(table((RAW > 50).astype(float)), "auc")
    close, far = result.cells["close"]["de-en"], result.cells["far"]["de-en"]
    assert 0.8 < close.low < close.value < close.high <= 1
    assert far.low < 0.5 < far.high
    assert (close.rank, far.rank, far.unbeaten) == (1, 2, False)
    assert "paired bootstrap" in result.render("text")
    by_document = agreement(table((RAW > 50).astype(float)), "auc", documents=True)
    assert by_document.cells["close"]["de-en"].value == close.value
    assert by_document.cells["close"]["de-en"].low != close.low


def test_systems_by_bradley_terry_strength() -> None:
    made = table()
    scored = ScoredJudgements(made, (given_rows(made, "close", CLOSE.ravel()),))
    result = evaluate(scored, level="system", agreement="kendall", aggregate="bt")
    strengths = bradley_terry(win_counts(CLOSE.T)).strengths
    assert result.averages["close"] == pytest.approx(kendalltau(strengths, RAW.mean(axis=1)).statistic)
    assert "Bradley-Terry" in result.render("text")


def test_strengths_with_gaps_use_common_segments() -> None:
    # s0 beats s1 on 3 of 4 common segments; s2 met only s1, 1 to 1. Strengths 3 : 1 : 1 by hand.
    gap = np.nan
    scores = np.array([[2, 2, 2, 0, gap, gap], [1, 1, 1, 1, 1, 1], [gap, gap, gap, gap, 0, 2]], dtype=float)
    assert np.asarray(AGGREGATES["bt"](scores)) == pytest.approx([0.6, 0.2, 0.2], abs=1e-6)
