"""Regularised combinations of columns, against the normal equations by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.ridge import (
    METHODS,
    Method,
    draw_folds,
    fit_best,
    fit_combination,
    mean_correlation,
    predict_left_out,
)

#: Two columns of mean 0 and variance 1 with correlation .6.
X = np.array([[1.0, 1.4], [1.0, -0.2], [-1.0, 0.2], [-1.0, -1.4]])
Y = np.array([3.0, 1.0, 0.0, -4.0])


def test_ridge_with_two_columns_solves_the_normal_equations() -> None:
    # R = [[1, .6], [.6, 1]]: sums of products (1.4 - .2 - .2 + 1.4) / 4 = .6, of squares (1.96 + .04) / 2 = 1.
    # X'y / n: (3 + 1 - 0 + 4) / 4 = 2 and (4.2 - .2 + 0 + 5.6) / 4 = 2.4; y has mean 0. With penalty .5 the matrix is
    # [[1.5, .6], [.6, 1.5]] of determinant 1.89, so w = (1.5 x 2 - .6 x 2.4, 1.5 x 2.4 - .6 x 2) / 1.89.
    fit = fit_combination(X, Y, method="ridge", penalty=0.5)
    assert fit.weights.tolist() == pytest.approx([1.56 / 1.89, 2.4 / 1.89], abs=1e-12)
    assert (fit.intercept, fit.penalty) == (0.0, 0.5)
    moved = fit_combination(10 + 3 * X, Y + 7, method="ridge", penalty=0.5)
    assert moved.weights.tolist() == pytest.approx(fit.weights.tolist(), abs=1e-12)
    assert moved.predict(10 + 3 * X).tolist() == pytest.approx((fit.predict(X) + 7).tolist(), abs=1e-12)


def test_nnls_has_no_negative_weight_and_else_is_ridge() -> None:
    free = fit_combination(X, Y, method="nnls", penalty=0.5)
    assert free.weights.tolist() == pytest.approx([1.56 / 1.89, 2.4 / 1.89], abs=1e-9)
    # With y = the second column the first gets a negative weight in ridge: X'y / n = (.6, 1), so the sign of
    # 1.5 x .6 - .6 x 1 is positive; with y = second - first it is 1.5 x -.4 - .6 x .4 < 0, and nnls solves the
    # second column alone: .4 / 1.5.
    opposed = X[:, 1] - X[:, 0]
    assert fit_combination(X, opposed, method="ridge", penalty=0.5).weights[0] < 0
    bounded = fit_combination(X, opposed, method="nnls", penalty=0.5)
    assert bounded.weights.tolist() == pytest.approx([0.0, 0.4 / 1.5], abs=1e-9)


def test_average_has_equal_weights_whatever_the_ratings() -> None:
    fit = fit_combination(X, -Y, method="average", penalty=0.0)
    assert fit.weights.tolist() == [0.5, 0.5]
    assert fit.predict(X).tolist() == pytest.approx([1.2, 0.4, -0.4, -1.2], abs=1e-12)


def test_constant_column_is_refused() -> None:
    with pytest.raises(InputError, match="all 4 scores of column 2 are 3; leave it out"):
        fit_combination(np.stack([X[:, 0], np.full(4, 3.0)], axis=1), Y, method="ridge", penalty=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_left_out_ratings_do_not_affect_their_predictions(method: Method) -> None:
    rng = np.random.default_rng(3)
    columns, gold = rng.normal(size=(60, 3)), rng.normal(size=60)
    folds, groups = np.repeat(np.arange(4), 15), np.zeros(60, dtype=np.intp)
    first = predict_left_out(columns, gold, folds, groups, method=method)
    changed = np.where(folds == 2, 100 * rng.normal(size=60), gold)
    second = predict_left_out(columns, changed, folds, groups, method=method)
    assert first[folds == 2].tolist() == second[folds == 2].tolist()
    if method != "average":
        assert first[folds == 1].tolist() != second[folds == 1].tolist()


def test_few_rows_with_many_equally_good_columns_get_a_high_penalty() -> None:
    """A high penalty makes weights alike, and an average is the best combination of such columns."""
    rng = np.random.default_rng(1)
    gold = rng.normal(size=40)
    columns = gold[:, None] + 2 * rng.normal(size=(40, 30))
    folds, groups = np.arange(40) % 5, np.zeros(40, dtype=np.intp)
    assert fit_best(columns, gold, folds, groups, method="ridge").penalty >= 0.3
    signal = np.stack([gold + 0.1 * rng.normal(size=40), rng.normal(size=40)], axis=1)
    assert fit_best(signal, gold, folds, groups, method="ridge").penalty <= 0.03


def test_folds_have_whole_units_and_do_not_depend_on_the_order_of_rows() -> None:
    units = [f"document {row // 3}" for row in range(30)]
    folds = draw_folds(units, 5, 12345)
    assert np.bincount(folds).tolist() == [6] * 5
    assert [len(set(folds[start : start + 3].tolist())) for start in range(0, 30, 3)] == [1] * 10
    assert draw_folds(units[::-1], 5, 12345).tolist() == folds[::-1].tolist()


def test_correlation_is_averaged_over_groups() -> None:
    values, gold = np.array([1.0, 2.0, 1.0, 2.0]), np.array([1.0, 2.0, 2.0, 1.0])
    assert mean_correlation(values, gold, np.array([0, 0, 1, 1])) == pytest.approx(0.0, abs=1e-12)
    assert mean_correlation(values, gold, np.array([0, 0, 1, 2])) == pytest.approx(1 / 3, abs=1e-12)
