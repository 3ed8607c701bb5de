"""Views of the scores of rows, and rows of scores that look at no quality."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import RecipeError
from nlgauge.studies.meta.row_scores import copied_share, given_rows, sentinels_of
from nlgauge.studies.meta.score_judgements import score_judgements


def table(*, sources: bool = True) -> JudgementTable:
    return JudgementTable(
        name="made",
        segment=("0", "1", "0", "1"),
        system=("a",) * 4,
        langpair=("de-en", "de-en", "cs-en", "cs-en"),
        hypothesis=("a cat", "dog dog", "x", "dog"),
        references=(("a cat sat",), ("a dog",), ("x",), ("dog",)),
        human={},
        default_criterion=None,
        source=("a cat sat", "Hund", "y", "dog") if sources else None,
    )


def test_given_scores_are_one_score_per_language_pair() -> None:
    scores = given_rows(table(), "wer", [0.1, 0.2, np.nan, 0.4], higher_is_better=False)
    assert [(part.langpair, part.score.metric, len(part.score)) for part in scores.parts] == [
        ("de-en", "wer", 2),
        ("cs-en", "wer", 2),
    ]
    assert np.array_equal(scores.oriented, [-0.1, -0.2, np.nan, -0.4], equal_nan=True)
    assert repr(scores) == "<RowScores wer: 4, lower is better>"
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0] = 2


def test_a_view_holds_the_scores_of_the_metric() -> None:
    (scores,) = score_judgements(table(), ["rouge1"]).metrics
    assert [part.score.system for part in scores.parts] == ["a", "a"]
    recall = scores.component("recall")
    assert recall.name == "rouge1 recall"
    assert recall.values[0] == scores.parts[0].score.segments["recall"][0]
    with pytest.raises(RecipeError, match="rouge1 has no component 'f2'; it has"):
        scores.component("f2")


def test_sentinels_know_nothing_of_quality() -> None:
    length, random, copy = sentinels_of(table())
    assert length.values.tolist() == [5, 7, 1, 3]
    # "a cat" has the trigrams "a c", " ca", "cat", all of them in the source; "dog dog" shares none with "Hund".
    assert copy.values.tolist() == [1, 0, 0, 1]
    assert [one.name for one in (length, random, copy)] == ["sentinel-length", "sentinel-random", "sentinel-copy"]
    assert length.signatures["cs-en"] == "sentinel:length|unit:characters"
    assert np.array_equal(random.values, sentinels_of(table())[1].values)
    assert not np.array_equal(random.values, sentinels_of(table(), seed=1)[1].values)
    assert [one.name for one in sentinels_of(table(sources=False))] == ["sentinel-length", "sentinel-random"]


def test_a_trigram_counts_as_often_as_the_source_has_it() -> None:
    assert copied_share("aaaa", "aaa") == 0.5
