"""Agreement of raters as a study: intervals, missing ratings, words and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.stats.published_ratings import KRIPPENDORFF, judged

from nlgauge.errors import InputError, NlgaugeError, RecipeError
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.meta.raters import load_ratings, rater_agreement

RATERS = dict(zip("abcd", KRIPPENDORFF, strict=True))


def test_alpha_and_pairs_of_krippendorffs_example() -> None:
    result = rater_agreement(RATERS, scale="ordinal", resamples=100)
    alpha = result.measure("Krippendorff's alpha")
    assert alpha.value == pytest.approx(0.815, abs=5e-4)
    assert alpha.low < alpha.value < alpha.high <= 1
    # The second and the fourth observer rated units 1 to 10 and agree on all but the sixth.
    assert [pair[:4] for pair in result.pairs if pair[:2] == ("b", "d")] == [("b", "d", 10, 0.9)]
    assert "same number" in result.measure("Fleiss' kappa").reason
    assert "1 item with fewer than two ratings left out" in result.notes


def test_interval_of_percent_agreement_is_that_of_a_mean() -> None:
    first, second = judged()
    measure = rater_agreement({"a": first, "b": second}).measure("percent agreement")
    interval = bootstrap_mean(first == second)
    assert (measure.value, measure.low, measure.high) == pytest.approx(interval[:3])


def test_most_intervals_contain_the_kappa_of_the_population() -> None:
    first, second = judged()  # kappa .4915 of the population
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(100):
        rows = rng.integers(0, 200, size=60)
        kappa = rater_agreement({"a": first[rows], "b": second[rows]}, resamples=200).measure("Cohen's kappa")
        covered += kappa.low <= 0.4915 <= kappa.high
    assert 88 <= covered <= 100  # .95 expected


def test_kappa_of_several_raters_is_the_mean_of_their_pairs() -> None:
    result = rater_agreement({"a": [1, 2, 1, 2], "b": [1, 2, 2, 2], "c": [1, 1, 2, 2]}, resamples=100)
    # a-b: p_o 3/4, p_e 1/2; a-c: 1/2, 1/2; b-c: 3/4, 1/2
    assert [pair.kappa for pair in result.pairs] == pytest.approx([0.5, 0, 0.5])
    assert result.measure("Light's kappa").value == pytest.approx(1 / 3)


def test_words_have_an_order() -> None:
    words = {"a": ["low", "high", "mid", "high"], "b": ["low", "mid", "mid", "high"]}
    numbers = {"a": [1, 3, 2, 3], "b": [1, 2, 2, 3]}
    options: dict[str, Any] = {"scale": "ordinal", "weights": "linear", "resamples": 100}
    named = rater_agreement(words, order=("low", "mid", "high"), **options)
    assert [measure[:4] for measure in named.measures] == [
        measure[:4] for measure in rater_agreement(numbers, **options).measures
    ]
    with pytest.raises(RecipeError, match="order from lowest to highest"):
        rater_agreement(words, scale="ordinal")
    with pytest.raises(RecipeError, match="'high' is missing"):
        rater_agreement(words, order=("low", "mid"))


def test_ratings_that_allow_no_measure() -> None:
    equal = rater_agreement({"a": [1, 1, 1], "b": [1, 1, 1]}, resamples=100)
    assert equal.measure("percent agreement").value == 1
    assert "all ratings are equal" in equal.measure("Cohen's kappa").reason
    with pytest.raises(InputError, match="at least 2 items with 2 ratings, got 1"):
        rater_agreement({"a": [1, None, 3], "b": [1, 2, None]})
    with pytest.raises(InputError, match="at least two raters"):
        rater_agreement({"a": [1, 2]})
    with pytest.raises(InputError, match="a has 2, b has 3"):
        rater_agreement({"a": [1, 2], "b": [1, 2, 3]})


def test_a_column_of_item_names_is_pointed_out() -> None:
    result = rater_agreement({"item": [1, 2, 3, 4], "a": [1, 2, 2, 1], "b": [1, 2, 1, 1]}, resamples=100)
    assert any(note.startswith("item has no rating twice") for note in result.notes)
    measured = rater_agreement({"a": [1.1, 2.2, 3.3], "b": [1.2, 2.3, 3.4]}, scale="interval", resamples=100)
    assert not any("twice" in note for note in measured.notes)


def test_measurements_have_alpha_only() -> None:
    first = np.random.default_rng(1).normal(size=600)
    result = rater_agreement({"a": first, "b": first + 0.1}, scale="interval", resamples=100)
    assert "500 different ratings" in result.measure("Fleiss' kappa").reason
    # A constant difference of .1: D_o = .01, and D_e is about twice the variance plus .005.
    assert result.measure("Krippendorff's alpha").observed == pytest.approx(0.01)


def test_files_with_missing_ratings(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("item,anna,ben\nx,1,1.0\ny,2,NA\nz,,3\n", encoding="utf-8")
    ratings = load_ratings(file, columns=["anna", "ben"], missing=["NA"])
    assert ratings == {"anna": [1, 2, None], "ben": [1, None, 3]}
    assert load_ratings(file, columns=["item"]) == {"item": ["x", "y", "z"]}
    lines = tmp_path / "ratings.jsonl"
    lines.write_text('{"anna": 1, "ben": null}\n{"anna": 2, "ben": 2}\n', encoding="utf-8")
    assert load_ratings(lines) == {"anna": [1, 2], "ben": [None, 2]}
    with pytest.raises(NlgaugeError, match="column 'carl': no such column"):
        load_ratings(file, columns=["anna", "carl"])
