"""Agreement between raters, against published worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.raters import cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement

#: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example with four observers, twelve units
#: and missing data; the published alphas are .743 (nominal), .815 (ordinal) and .849 (interval).
NO = None
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
    [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
]
#: The worked example of Wikipedia's article "Fleiss' kappa": 14 raters, 10 subjects, 5 categories.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


@pytest.mark.parametrize(("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_example(scale: str, published: float) -> None:
    found = krippendorff_alpha(KRIPPENDORFF, scale=scale)  # type: ignore[arg-type]
    assert found.value == pytest.approx(published, abs=5e-4)


def test_nan_is_a_missing_rating_too() -> None:
    ratings = np.array(KRIPPENDORFF, dtype=float)
    assert krippendorff_alpha(ratings, scale="interval") == krippendorff_alpha(KRIPPENDORFF, scale="interval")


def test_fleiss_kappa_of_the_worked_example() -> None:
    found = fleiss_kappa(FLEISS)
    assert found.observed == pytest.approx(0.378, abs=5e-4)
    assert found.expected == pytest.approx(0.213, abs=5e-4)
    assert found.value == pytest.approx(0.210, abs=5e-4)


def test_cohens_kappa_of_the_worked_example() -> None:
    # Wikipedia, "Cohen's kappa": 20 times yes/yes, 5 yes/no, 10 no/yes, 15 no/no; kappa .4
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(first, second)
    assert found.observed == pytest.approx(0.7)
    assert found.expected == pytest.approx(0.5)
    assert found.value == pytest.approx(0.4)
    assert percent_agreement([first, second]) == pytest.approx(0.7)


def test_full_agreement_is_one_and_opposition_is_below_zero() -> None:
    ratings = [[1, 2, 3, 1], [1, 2, 3, 1], [1, 2, 3, 1]]
    assert krippendorff_alpha(ratings).value == 1
    assert percent_agreement(ratings) == 1
    assert cohen_kappa(ratings[0], ratings[1]).value == 1
    assert cohen_kappa([0, 1], [1, 0]).value == -1
    assert krippendorff_alpha([[0, 1], [1, 0]]).value < 0


def test_percent_agreement_over_pairs_of_ratings() -> None:
    # Item 0: one of three pairs agrees; item 1: its only pair agrees; item 2 has one rating.
    assert percent_agreement([[1, 2, 3], [1, 2, None], [2, None, None]]) == pytest.approx(2 / 4)


def test_what_has_no_value_is_refused() -> None:
    with pytest.raises(InputError, match="one category"):
        krippendorff_alpha([[1, 1], [1, 1]])
    with pytest.raises(InputError, match="same category"):
        cohen_kappa([1, 1], [1, 1])
    with pytest.raises(InputError, match="one category"):
        fleiss_kappa([[3, 0], [3, 0]])
    with pytest.raises(InputError, match="no item has two"):
        krippendorff_alpha([[1, None], [None, 2]])
    with pytest.raises(InputError, match="no item has two"):
        percent_agreement([[None, None], [None, None]])
    with pytest.raises(InputError, match="rater 1 has none for item 0"):
        cohen_kappa([1, 2], [None, 2])
    with pytest.raises(InputError, match="3 for item 1 and 2 for item 0"):
        fleiss_kappa([[1, 1], [1, 2]])
    with pytest.raises(InputError, match="whole numbers"):
        fleiss_kappa([[0.5, 1.5], [1, 1]])
    with pytest.raises(InputError, match=r"\[2, 1\]"):
        percent_agreement([[1, 2], [1]])
    with pytest.raises(InputError, match="all numbers or all texts"):
        percent_agreement([[1, "a"], [1, "a"]])
    with pytest.raises(RecipeError, match="'ratio'"):
        krippendorff_alpha(KRIPPENDORFF, scale="ratio")  # type: ignore[arg-type]
