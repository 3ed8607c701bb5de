"""Hybrid super-sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.meta.levels import Hybrids, SummedCounts, hybrid_results, make_hybrids, model_selection


def test_a_hybrid_takes_one_judged_output_per_segment() -> None:
    # Powers of ten tell which output was taken: segment 0 has systems 0 and 2, segment 1 all three.
    human = np.array([[1.0, 10.0, math.nan], [math.nan, 20.0, math.nan], [3.0, 30.0, math.nan]])
    scores = {"m": 2 * np.nan_to_num(human)}
    made = make_hybrids(scores, human, hybrids=6000)
    sums = np.round(2 * made.human).astype(int)
    values, counts = np.unique(sums, return_counts=True)
    assert values.tolist() == [11, 13, 21, 23, 31, 33]
    assert counts == pytest.approx(1000, abs=120)  # four deviations of a uniform draw
    assert made.metrics[0] == pytest.approx(2 * made.human)  # the same outputs on both sides
    assert (made.segments, made.unjudged) == (2, 1)


def test_hybrids_of_two_systems_differ_as_systems_do() -> None:
    # Systems at -1, 0 and 4; a metric that sees the system through the noise of segments.
    rng = np.random.default_rng(5)
    human = np.repeat([[-1.0], [0.0], [4.0]], 400, axis=1)
    metric = {"m": human + rng.normal(scale=20, size=human.shape)}
    every, two = (make_hybrids(metric, human, hybrids=3000, mixed=mixed) for mixed in ("all", "two"))
    assert np.std(two.human) > 10 * np.std(every.human)
    for made in (every, two):
        assert -1 <= made.human.min() <= made.human.max() <= 4
    # Each pair in a third of the hybrids, and all shares: those of -1 and 0 only lie at or below 0.
    assert (two.human <= 0).mean() == pytest.approx(1 / 3 + 1 / 3 / 5, abs=0.04)
    noisy, clear = (np.corrcoef(made.metrics[0], made.human)[0, 1] for made in (every, two))
    assert clear > noisy + 0.2
    results = hybrid_results(metric, human, hybrids=300, mixed="two", chosen_from=10, repeats=50)
    assert results[0].pearson == pytest.approx(clear, abs=0.1)
    with pytest.raises(InputError, match=r"mixed='two' needs two systems, .* got 3, 1 without"):
        make_hybrids(metric, np.where(np.arange(400) == 0, [[math.nan], [1.0], [2.0]], human), mixed="two")
    with pytest.raises(RecipeError, match="mixed must be 'all' or 'two', got 'three'"):
        make_hybrids(metric, human, mixed="three")  # type: ignore[arg-type]


def test_hybrids_depend_on_seed_not_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    human = np.random.default_rng(0).normal(size=(4, 30))
    metric = {"m": human**3}
    options = {"hybrids": 200, "chosen_from": 10, "repeats": 300}
    first = hybrid_results(metric, human, **options)
    assert first == hybrid_results(metric, human, **options)
    assert first != hybrid_results(metric, human, **options, seed=1)
    whole = make_hybrids(metric, human, hybrids=200)
    monkeypatch.setattr("nlgauge.studies.meta.levels._CELLS", 30 * 7)
    assert make_hybrids(metric, human, hybrids=200).human == pytest.approx(whole.human)


def test_human_scores_select_the_best_hybrid() -> None:
    human = np.random.default_rng(3).normal(size=(5, 40))
    itself, opposite = hybrid_results(
        {"same": human, "against": -human},
        human,
        hybrids=500,
        chosen_from=20,
        repeats=400,
    )
    assert (itself.hits_at_1, itself.mrr, itself.diff) == (1, 1, 0)
    assert itself.pearson == pytest.approx(1)
    assert opposite.pearson == pytest.approx(-1)
    assert opposite.hits_at_1 == 0
    assert opposite.mrr == pytest.approx(1 / 20)  # it always takes the last of twenty
    assert opposite.diff > 0


def test_selection_among_all_hybrids_equals_hand_computation() -> None:
    # All four hybrids are drawn each time: the metric takes number 1, which people put second, .2 below the best.
    made = Hybrids(("m",), np.array([0.9, 0.7, 0.1, 0.3]), np.array([[1.0, 4.0, 2.0, 3.0]]), 1, 0)
    (result,) = model_selection(made, chosen_from=4, repeats=10)
    assert (result.hits_at_1, result.mrr) == (0, 0.5)
    assert result.diff == pytest.approx(20)


def test_a_random_metric_selects_by_chance() -> None:
    human = np.random.default_rng(5).normal(size=(6, 100))
    (result,) = hybrid_results(
        {"random": np.random.default_rng(12345).random((6, 100))}, human, hybrids=4000, chosen_from=10, repeats=4000
    )
    assert result.hits_at_1 == pytest.approx(0.1, abs=0.03)
    assert result.mrr == pytest.approx(np.mean(1 / np.arange(1, 11)), abs=0.04)  # ranks 1 to 10 alike
    assert abs(result.pearson) < 0.2


def test_the_same_hybrid_is_never_drawn_twice() -> None:
    # With two hybrids to choose from two, both are there, so the better one is always found.
    made = Hybrids(("m",), np.arange(100.0), np.arange(100.0)[None], 1, 0)
    (result,) = model_selection(made, chosen_from=2, repeats=20_000)
    gaps = result.diff
    assert gaps == 0
    reverse = made._replace(metrics=-made.metrics)
    (result,) = model_selection(reverse, chosen_from=2, repeats=20_000)
    assert result.hits_at_1 == 0  # a repeated hybrid would be a hit


def test_a_metric_blind_to_systems_selects_nothing() -> None:
    human = np.random.default_rng(3).normal(size=(4, 10))
    metrics = {"good": human, "blind": np.tile(np.arange(10.0), (4, 1))}
    options = {"hybrids": 50, "chosen_from": 5, "repeats": 20}
    with pytest.raises(InputError, match="'blind' has no correlation over hybrids: metric is constant"):
        hybrid_results(metrics, human, **options)
    good, blind = hybrid_results(metrics, human, **options, undefined="nan")
    assert good.hits_at_1 == 1
    assert np.isnan([blind.pearson, blind.hits_at_1, blind.mrr, blind.diff]).all()
    assert "constant" in str(blind.reason)


def test_model_selection_rejects_invalid_options() -> None:
    made = Hybrids(("m",), np.arange(5.0), np.arange(5.0)[None], 1, 0)
    with pytest.raises(InputError, match=r"between 2 and the number of hybrids \(5\), got 6"):
        model_selection(made, chosen_from=6)
    with pytest.raises(InputError, match="resamples must be at least 1"):
        make_hybrids({"m": np.eye(2)}, np.eye(2), hybrids=0)


def test_scores_of_summed_counts_are_those_of_the_sums() -> None:
    counts = np.random.default_rng(1).integers(1, 9, size=(3, 5, 2)).astype(float)
    human = np.arange(15.0).reshape(3, 5)
    rate = SummedCounts(counts, lambda totals: totals[:, 0] / totals[:, 1])
    scores = {"edits": counts[:, :, 0], "rate": rate, "words": counts[:, :, 1]}
    edits, rates, words = make_hybrids(scores, human, hybrids=20, mixed="two").metrics
    assert rates == pytest.approx(edits / words)
