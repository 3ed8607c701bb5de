"""The asymptotic confidence sequence, against the formula worked by hand and against known properties."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.anytime import ConfidenceSequence, running_moments
from nlgauge.stats.paired_tests import t_statistics


def test_half_width_of_the_published_formula_by_hand() -> None:
    # alpha .05, n* 200: -2 ln .05 = 5.991465, ln 6.991465 = 1.944690, rho^2 = 7.936155 / 200 = .03968077.
    sequence = ConfidenceSequence()
    assert sequence.rho_squared == pytest.approx(0.03968077, abs=1e-8)
    # n = 200: n rho^2 = 7.936155; 2 x 8.936155 / (200 x 7.936155) = .01126005; ln(sqrt(8.936155) / .05) =
    # .5 x 2.190105 + 2.995732 = 4.090785; .01126005 x 4.090785 = .04606244, of which the root is .2146216.
    assert float(sequence.half_width(200, 1.0)) == pytest.approx(0.2146216, abs=2e-6)
    # n = 50: n rho^2 = 1.984039; 2 x 2.984039 / (50 x 1.984039) = .0601609; .5 ln 2.984039 + 2.995732 = 3.542345;
    # product .2131107, root .4616392; variance 4 doubles it.
    assert float(sequence.half_width(50, 4.0)) == pytest.approx(2 * 0.4616392, abs=4e-6)


def test_sequence_is_tightest_where_it_is_tuned() -> None:
    # For one n the best n* is about n: the closed form is an approximation of Lambert's W.
    widths = {tuned: float(ConfidenceSequence(tuned_for=tuned).half_width(200, 1.0)) for tuned in (50, 200, 800)}
    assert widths[200] < widths[50]
    assert widths[200] < widths[800]


def test_before_the_first_look_nothing_is_decided() -> None:
    widths = ConfidenceSequence(first_look=10).half_width([9, 10], [1.0, 1.0])
    assert np.isinf(widths).tolist() == [True, False]
    assert ConfidenceSequence(first_look=10).interval([5.0] * 9) == (-np.inf, np.inf)


def test_interval_is_mean_and_half_width_of_the_sample_variance() -> None:
    sequence = ConfidenceSequence(first_look=3)
    values = np.array([1.0, 4.0, 2.0, 7.0])
    low, high = sequence.interval(values)
    width = float(sequence.half_width(4, values.var(ddof=1)))
    assert (low, high) == pytest.approx((3.5 - width, 3.5 + width), abs=1e-12)
    lows, highs = sequence.intervals(values)
    assert np.isinf(lows).tolist() == [True, True, False, False]
    # Each end is that of the values up to there: looking twice does not change a look.
    assert (lows[2], highs[2]) == pytest.approx(sequence.interval(values[:3]), abs=1e-12)


def test_documents_count_by_their_ratio_of_totals() -> None:
    # Two documents of 1 and 3 segments with totals 2 and 2: ratio 4 / 4 = 1, residuals 2 - 1 = 1 and 2 - 3 = -1,
    # in units of the mean size 2: .5 and -.5, variance .5.
    moments = running_moments([2.0, 2.0], [1.0, 3.0])
    assert moments.means.tolist() == pytest.approx([2.0, 1.0])
    assert moments.variances[1] == pytest.approx(0.5)
    # Documents of one segment are segments.
    values = [0.3, -1.2, 2.0, 0.1]
    assert running_moments(values, np.ones(4)).variances[1:] == pytest.approx(running_moments(values).variances[1:])


def test_variance_of_documents_is_that_of_the_t_test() -> None:
    draw = np.random.default_rng(7)
    sizes = draw.integers(1, 9, 60).astype(float)
    totals = draw.normal(size=60) * sizes
    moments = running_moments(totals, sizes)
    mean, error = t_statistics(totals[:, None], sizes)
    assert moments.means[-1] == pytest.approx(float(mean[0]), abs=1e-12)
    assert np.sqrt(moments.variances[-1] / 60) == pytest.approx(float(error[0]), abs=1e-12)


def test_constant_difference_has_no_width() -> None:
    assert ConfidenceSequence(first_look=5).interval([0.1] * 30) == pytest.approx((0.1, 0.1), abs=1e-12)
    assert ConfidenceSequence(first_look=5).interval([0.1, 0.2, 0.3] * 4, [1.0, 2.0, 3.0] * 4) == pytest.approx(
        (0.1, 0.1), abs=1e-12
    )


def test_false_alarms_of_normal_values_stay_below_alpha_where_repeated_t_intervals_do_not() -> None:
    draw = np.random.default_rng(11).normal(size=(400, 1000))
    sequence = ConfidenceSequence()
    alarms = repeated = 0
    for values in draw:
        lows, highs = sequence.intervals(values)
        looks = np.arange(49, 1000, 25)
        alarms += bool(((lows[looks] > 0) | (highs[looks] < 0)).any())
        moments = running_moments(values)
        repeated += bool(
            (np.abs(moments.means) > 1.96 * np.sqrt(moments.variances / np.arange(1, 1001)))[looks].any()
        )
    assert alarms / 400 <= 0.05
    assert repeated / 400 > 0.15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must lie between 0 and 1, got 0.0"),
        ({"tuned_for": 0}, "tuned_for must be at least 1, got 0"),
        ({"first_look": 1}, "first_look must be at least 2, got 1"),
    ],
)
def test_wrong_options_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ConfidenceSequence(**options)  # type: ignore[arg-type]


def test_wrong_counts_and_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="counts of at least 1"):
        ConfidenceSequence().half_width(0, 1.0)
    with pytest.raises(InputError, match="one for each of 3 values, got 2"):
        running_moments([1.0, 2.0, 3.0], [1.0, 2.0])
