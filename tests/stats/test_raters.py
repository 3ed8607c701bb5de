"""Agreement of raters, against published worked examples and hand calculations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stats.published_ratings import DIAGNOSES, KRIPPENDORFF, SUBJECTS, judged

from nlgauge.stats.raters import cohen_kappa, encode_ratings, fleiss_kappa, krippendorff_alpha


def once(items: int) -> np.ndarray:
    return np.ones((1, items))


@pytest.mark.parametrize(("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_example(scale: str, published: float) -> None:
    values = np.arange(1.0, 6.0)
    codes = encode_ratings(KRIPPENDORFF, values.tolist())
    alpha = krippendorff_alpha(codes, values, once(12), scale=scale)  # type: ignore[arg-type]
    assert alpha.value[0] == pytest.approx(published, abs=5e-4)


def expand(counts: list[list[int]]) -> np.ndarray:
    """Ratings with these counts by category; Fleiss' kappa does not depend on who rated."""
    return np.array([[category for category, count in enumerate(row) for _ in range(count)] for row in counts])


def test_fleiss_kappa_of_the_diagnoses() -> None:
    counts = [[int(digit) for digit in word] for word in DIAGNOSES.split()]
    assert [sum(column) for column in zip(*counts, strict=True)] == [26, 26, 30, 55, 43]  # in print: .144 to .239
    assert fleiss_kappa(expand(counts), once(30)).value[0] == pytest.approx(0.430, abs=5e-4)


def test_fleiss_kappa_of_the_worked_example() -> None:
    kappa = fleiss_kappa(expand(SUBJECTS), once(10))
    assert kappa.observed[0] == pytest.approx(1 - 0.378, abs=5e-4)
    assert kappa.expected[0] == pytest.approx(1 - 0.213, abs=5e-4)
    assert kappa.value[0] == pytest.approx(0.210, abs=5e-4)


def test_cohens_kappa_of_the_two_judges() -> None:
    kappa = cohen_kappa(*judged(), np.arange(3.0), once(200))
    assert kappa.observed[0] == pytest.approx(0.30)  # 140 of 200 agree
    assert kappa.expected[0] == pytest.approx(0.59)  # 1 - (.6 x .5 + .3 x .3 + .1 x .2)
    assert kappa.value[0] == pytest.approx(0.492, abs=5e-4)


@pytest.mark.parametrize(
    ("weights", "observed", "expected"),
    [
        # 40 of 200 items are one category apart and 20 two; by chance .42 and .17.
        ("linear", (40 + 2 * 20) / 200, 0.42 + 2 * 0.17),
        ("quadratic", (40 + 4 * 20) / 200, 0.42 + 4 * 0.17),
    ],
)
def test_weighted_kappa_of_the_two_judges_by_hand(weights: str, observed: float, expected: float) -> None:
    kappa = cohen_kappa(*judged(), np.arange(3.0), once(200), weights=weights)  # type: ignore[arg-type]
    assert (kappa.observed[0], kappa.expected[0]) == pytest.approx((observed, expected))
    assert kappa.value[0] == pytest.approx(1 - observed / expected)


def test_alpha_of_two_raters_without_missing_ratings_by_hand() -> None:
    # Ratings 0 1 | 0 1 | 1 1: 2 of 3 items differ, so D_o = 2/3; of the six ratings two are 0 and four are 1,
    # so D_e = (2 x 4 + 4 x 2) / (6 x 5) = 8/15; alpha = 1 - (2/3) / (8/15) = -1/4.
    codes = encode_ratings([[0, 0, 1], [1, 1, 1]], [0, 1])
    alpha = krippendorff_alpha(codes, np.arange(2.0), once(3))
    assert (alpha.observed[0], alpha.expected[0]) == pytest.approx((2 / 3, 8 / 15))
    assert alpha.value[0] == pytest.approx(-1 / 4)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_a_draw_counts_items_as_often_as_they_are_repeated(scale: str) -> None:
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 4, size=(3, 20))
    values, times = np.array([1.0, 2.0, 4.0, 8.0]), rng.integers(0, 3, size=20)
    codes = encode_ratings(columns.tolist(), [0, 1, 2, 3])
    drawn = krippendorff_alpha(codes, values, times[None].astype(float), scale=scale)  # type: ignore[arg-type]
    repeated = np.repeat(codes, times, axis=0)
    whole = krippendorff_alpha(repeated, values, once(len(repeated)), scale=scale)  # type: ignore[arg-type]
    assert drawn.value[0] == pytest.approx(whole.value[0], abs=1e-12)


def test_equal_ratings_have_no_kappa_and_no_alpha() -> None:
    codes = encode_ratings([[1, 1], [1, 1]], [0, 1])
    assert np.isnan(fleiss_kappa(codes, once(2)).value[0])
    assert np.isnan(cohen_kappa(codes[:, 0], codes[:, 1], np.arange(2.0), once(2)).value[0])
    assert np.isnan(krippendorff_alpha(codes, np.array([0.1, 0.7]), once(2), scale="interval").value[0])
