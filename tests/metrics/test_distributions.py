"""JS and TF*IDF: divergence and cosine of counts of n-grams."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from scipy.spatial.distance import jensenshannon

import nlgauge
from nlgauge.core.score import Score
from nlgauge.errors import DataWarning, LanguageWarning

TEXT, OTHER = "the cat and the dog saw the cat", "the dog and a cat saw the rain"


@pytest.mark.parametrize("order", [1, 2])
def test_js_is_the_squared_distance_of_scipy(order: int) -> None:
    """SIMetrix' getJSDivergence has the same formula, with the natural logarithm."""
    sides = [Counter(zip(*(text.split()[start:] for start in range(order)), strict=False)) for text in (TEXT, OTHER)]
    ngrams = sorted(set().union(*sides))
    expected = jensenshannon(*([side[ngram] for ngram in ngrams] for side in sides)) ** 2
    score = nlgauge.score([TEXT], [OTHER], f"js:stemmer=no,order={order}")
    assert score.system_score == pytest.approx(expected)
    assert not score.higher_is_better
    assert nlgauge.metrics.JS.title_of(score.signature.recipe) == f"JS-{order}"


def test_disjoint_texts_and_equal_texts() -> None:
    score = nlgauge.score(["rain", "bread"], ["snow", "bread"], "js")
    assert score.js.tolist() == [pytest.approx(math.log(2)), 0.0]


def test_counts_of_several_references_are_added() -> None:
    pooled = nlgauge.score(["a cat"], [["a dog", "a cat"]], "js").system_score
    assert pooled == nlgauge.score(["a cat"], ["a dog a cat"], "js").system_score
    single = [nlgauge.score(["a cat"], [text], "js").system_score for text in ("a dog", "a cat")]
    assert nlgauge.score(["a cat"], [["a dog", "a cat"]], "js:multiref=mean").system_score == sum(single) / 2
    best = nlgauge.score(["a cat"], [["a dog", "a cat"]], "js:multiref=best")
    assert best.system_score == 0
    assert best.best_reference is not None
    assert best.best_reference.tolist() == [1]


def test_tfidf_by_hand() -> None:
    """Of three references two have "cat" (ln 3/2), all have "the" (0), one has "sat" (ln 3); "mat" has ln 3 as well.

    The vectors are (cat, sat) = (ln 1.5, ln 3) and (cat, mat) = (ln 1.5, ln 3).
    """
    refs = ["the cat sat", "the cat", "the rain"]
    score = nlgauge.score(["the cat mat", "the cat", "snow"], refs, "tfidf")
    common, rare = math.log(3 / 2), math.log(3)
    assert score.tfidf.tolist() == pytest.approx([common**2 / (common**2 + rare**2), 1.0, 0.0])


def test_tfidf_signs_its_references_and_is_not_merged() -> None:
    first, second = (nlgauge.score(["a cat", "rain"], ["a cat", other], "tfidf") for other in ("rain", "snow"))
    assert first.signature.run["idf_refs"] != second.signature.run["idf_refs"]
    with pytest.raises(nlgauge.errors.InputError, match="cannot merge"):
        Score.merge([first, second])


def test_summaries_that_share_words_win() -> None:
    refs = [f"the cat sat on mat {number}" for number in range(20)]
    systems = {"good": [text.replace("the", "a") for text in refs], "bad": ["dogs in the rain"] * 20}
    for metric in ("js", "tfidf"):
        (table,) = nlgauge.compare(systems, refs, metric=metric, resamples=200).comparison.metrics
        assert table.winner == "good"


@pytest.mark.parametrize("metric", ["js", "tfidf", "rouge1", "rougel", "rougesu"])
def test_texts_without_latin_letters_are_reported(metric: str) -> None:
    """The words of rouge-score have the letters a to z, so equal Russian texts have nothing in common."""
    texts = ["Мы идём в парк.", "Он спит."]
    with pytest.warns(LanguageWarning, match=f"in Cyrillic script, but {metric} reads only the letters a to z"):
        nlgauge.score(texts, texts, metric)


@pytest.mark.parametrize(("metric", "kind"), [("cider", "segment"), ("tfidf", "reference")])
def test_idf_of_a_single_document_is_reported(metric: str, kind: str) -> None:
    with pytest.warns(DataWarning, match=f"idf of 1 {kind} is 0, so all scores of {metric} are 0"):
        assert nlgauge.score([TEXT], [TEXT], metric).system_score == 0
