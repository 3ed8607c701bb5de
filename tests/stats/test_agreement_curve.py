"""Agreement curves: planted numbers are recovered, and calibration measures follow their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.agreement_curve import (
    AgreementFit,
    ReliabilityBin,
    brier_score,
    calibration_error,
    draw_fits,
    draw_fits_by_item,
    fit_agreement,
    predict_left_out,
    reliability,
)

PLANTED = AgreementFit(ceiling=0.9, scale=0.006, shape=1.4)


def planted(count: int, *, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    sizes = random.exponential(0.008, size=count)
    return sizes, (random.random(count) < PLANTED.predict(sizes)).astype(float)


@pytest.mark.heavy
def test_fit_recovers_planted_numbers() -> None:
    fit = fit_agreement(*planted(40_000))
    assert fit.ceiling == pytest.approx(PLANTED.ceiling, abs=0.02)
    assert fit.scale == pytest.approx(PLANTED.scale, rel=0.05)
    assert fit.shape == pytest.approx(PLANTED.shape, abs=0.1)


def test_fit_does_not_depend_on_the_unit() -> None:
    sizes, outcomes = planted(800)
    small, large = fit_agreement(sizes, outcomes), fit_agreement(1000 * sizes, outcomes)
    assert large.scale == pytest.approx(1000 * small.scale, rel=1e-4)
    assert large.shape == pytest.approx(small.shape, rel=1e-4)


@pytest.mark.heavy
def test_no_other_curve_has_a_higher_likelihood() -> None:
    """A grid search is the independent check of the optimiser."""
    sizes, outcomes = planted(300)

    def likelihood(fit: AgreementFit) -> float:
        p = np.clip(fit.predict(sizes), 1e-9, 1 - 1e-9)
        return float(np.sum(outcomes * np.log(p) + (1 - outcomes) * np.log(1 - p)))

    best = likelihood(fit_agreement(sizes, outcomes))
    grid = [
        AgreementFit(ceiling, scale, shape)
        for ceiling in np.linspace(0.5, 0.999, 12)
        for scale in np.geomspace(0.001, 0.05, 25)
        for shape in np.geomspace(0.3, 6, 15)
    ]
    assert best >= max(map(likelihood, grid)) - 1e-6


def test_agreement_and_difference_by_hand() -> None:
    # .5 + .5 * .8 * (1 - exp(-1)) = .75285
    fit = AgreementFit(ceiling=0.8, scale=2.0, shape=3.0)
    assert fit.predict([0.0, 2.0]).tolist() == pytest.approx([0.5, 0.752848], abs=1e-6)
    assert fit.size_at(0.752848) == pytest.approx(2.0, abs=1e-4)
    assert fit.size_at(0.9) is None  # the ceiling


def test_a_weight_of_two_equals_a_pair_twice() -> None:
    sizes, outcomes = planted(60)
    twice = fit_agreement(np.repeat(sizes, 2), np.repeat(outcomes, 2))
    weighted = fit_agreement(sizes, outcomes, np.full(60, 2.0))
    assert weighted == pytest.approx(twice, rel=1e-3)


@pytest.mark.heavy
def test_intervals_contain_the_planted_curve() -> None:
    sizes, outcomes = planted(600)
    units = [(row % 2, row % 14) for row in range(600)]
    pairs = [(i, j) for i in range(40) for j in range(i)][:600]
    for fits in (
        draw_fits(sizes, outcomes, units, resamples=100, seed=1),
        draw_fits_by_item(sizes, outcomes, pairs, resamples=100, seed=1),
    ):
        low, high = np.percentile([fit.predict([0.004, 0.01]) for fit in fits], [2.5, 97.5], axis=0)
        truth = PLANTED.predict([0.004, 0.01])
        assert (low < truth).all()
        assert (truth < high).all()
        assert (high - low < 0.3).all()


def test_left_out_groups_take_no_part() -> None:
    """The only group in which raters never agree is predicted by the others, so it is predicted high."""
    sizes = np.tile(np.linspace(0.1, 1.0, 40), 3)
    groups = ["a"] * 40 + ["b"] * 40 + ["c"] * 40
    outcomes = np.array([1.0] * 80 + [0.0] * 40)
    predicted = predict_left_out(sizes, outcomes, groups)
    assert predicted[80:].min() > 0.9
    assert predicted[:80].max() < 0.8
    with pytest.raises(InputError, match="at least 2"):
        predict_left_out(sizes, outcomes, ["a"] * 120)


def test_calibration_measures_by_hand() -> None:
    predicted = np.array([0.55, 0.65, 0.9, 1.0])
    outcomes = np.array([1.0, 0.0, 1.0, 1.0])
    bins = reliability(predicted, outcomes, bins=2)
    assert bins == [ReliabilityBin(pytest.approx(0.6), 0.5, 2), ReliabilityBin(pytest.approx(0.95), 1.0, 2)]
    assert calibration_error(bins) == pytest.approx((0.1 + 0.05) / 2)
    # (.45^2 + .65^2 + .1^2 + 0) / 4
    assert brier_score(predicted, outcomes) == pytest.approx(0.15875)


def test_unusable_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="at least 20"):
        fit_agreement([0.1] * 5, [1.0] * 5)
    with pytest.raises(InputError, match="all differences are 0"):
        fit_agreement([0.0] * 30, [0.5] * 30)
    with pytest.raises(InputError, match="between 0 and 1"):
        fit_agreement([0.1] * 30, [2.0] * 30)
