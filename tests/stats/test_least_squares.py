"""Least squares on standardised columns beside statsmodels, and input that has no fit."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.least_squares import least_squares, standardise

RNG = np.random.default_rng(7)
FACTORS = RNG.normal(size=(120, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
TARGET = 3 + FACTORS @ [0.5, -0.2, 0.0] + RNG.normal(size=120)


def test_as_statsmodels_has_it():
    sm = pytest.importorskip("statsmodels.api")
    from statsmodels.stats.outliers_influence import variance_inflation_factor

    ours = least_squares(TARGET, FACTORS)
    # With a constant, which takes the degree of freedom that standardising takes here.
    design = sm.add_constant(standardise(FACTORS))
    theirs = sm.OLS(standardise(TARGET), design).fit()
    np.testing.assert_allclose(ours.coefficients, theirs.params[1:], atol=1e-12)
    np.testing.assert_allclose(ours.errors, theirs.bse[1:], atol=1e-12)
    np.testing.assert_allclose(ours.p, theirs.pvalues[1:], atol=1e-12)
    assert ours.r2 == pytest.approx(theirs.rsquared, abs=1e-12)
    np.testing.assert_allclose(
        ours.vif, [variance_inflation_factor(design, index) for index in (1, 2, 3)], rtol=1e-10
    )
    for index, partial in enumerate(ours.partial_r2):
        rest = sm.OLS(standardise(TARGET), np.delete(design, index + 1, axis=1)).fit()
        assert partial == pytest.approx((rest.ssr - theirs.ssr) / rest.ssr, abs=1e-12)


def test_t_intervals_of_few_rows_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    ours = least_squares(TARGET[:20], FACTORS[:20])
    theirs = sm.OLS(standardise(TARGET[:20]), sm.add_constant(standardise(FACTORS[:20]))).fit().conf_int()[1:]
    np.testing.assert_allclose(np.column_stack([ours.low, ours.high]), theirs, atol=1e-10)


def test_a_resample_is_standardised_and_fitted_anew():
    ours = least_squares(TARGET, FACTORS, resamples=200, seed=3)
    rng = np.random.default_rng(3)
    drawn = []
    for rows in rng.integers(0, 120, size=(200, 120)):
        drawn.append(np.linalg.lstsq(standardise(FACTORS[rows]), standardise(TARGET[rows]), rcond=None)[0])
    for tail, ends in ((0, ours.low), (100, ours.high)):
        # Percentiles lie a little outside of the plain ones, so within the drawn values.
        assert (np.percentile(drawn, abs(tail - 2.5), axis=0) - ends) @ np.ones(3) * (1 if tail == 0 else -1) >= 0
        assert np.all((np.min(drawn, axis=0) <= ends) & (ends <= np.max(drawn, axis=0)))


def test_intervals_hold_the_coefficient_about_as_often_as_they_say():
    held = 0
    rng = np.random.default_rng(11)
    for _ in range(200):
        x = rng.normal(size=(60, 2))
        y = 0.6 * x[:, 0] + 0.8 * rng.normal(size=60)
        fit = least_squares(y, x, resamples=200)
        held += fit.low[0] <= 0.6 <= fit.high[0]
    assert 0.90 <= held / 200 <= 0.99


def test_scale_and_shift_of_a_column_change_nothing():
    first = least_squares(TARGET, FACTORS, resamples=50)
    other = least_squares(TARGET * 10 - 4, FACTORS * [1, 1000, 0.01] + 5, resamples=50)
    for ours, theirs in zip(first[:9], other[:9], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_a_perfect_fit_has_no_error():
    fit = least_squares([1.0, 2.0, 3.0, 4.0, 5.0], [[2.0], [4.0], [6.0], [8.0], [10.0]])
    assert fit.r2 == pytest.approx(1)
    assert fit.p[0] < 1e-12


@pytest.mark.parametrize(
    ("y", "x", "said"),
    [
        ([1.0, 2.0, 3.0], [[1.0, 2.0], [2.0, 1.0], [3.0, 0.5]], "3 rows are too few for 2 factors"),
        ([1.0, 2.0, 3.0, 5.0], [[7.0, 2.0], [7.0, 1.0], [7.0, 0.5], [7.0, 4.0]], "SYN is 7.0 in all 4 rows"),
        ([2.0, 2.0, 2.0, 2.0], [[7.0, 2.0], [6.0, 1.0], [7.0, 0.5], [7.0, 4.0]], "bertscore is 2.0 in all 4"),
        ([1.0, 2.0, 3.0, 5.0], [[1.0, 2.0], [2.0, np.nan], [7.0, 0.5], [7.0, 4.0]], "LEX needs finite numbers"),
        ([1.0, 2.0, 3.0, 5.0], [[1.0, -2.0], [2.0, -4.0], [7.0, -14.0], [6.0, -12.0]], "SYN, LEX are linear comb"),
        ([1.0, 2.0], [[1.0, -2.0], [2.0, -4.0], [7.0, -14.0], [6.0, -12.0]], "bertscore needs a value for each of 4"),
        ([1.0, 2.0], [1.0, -2.0], r"got shape \(2,\)"),
    ],
)
def test_singular_fit_is_refused_by_name(y, x, said):
    with pytest.raises(InputError, match=said):
        least_squares(y, x, names=["bertscore", "SYN", "LEX"])
