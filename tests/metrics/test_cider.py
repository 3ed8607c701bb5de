"""CIDEr: numbers of pycocoevalcap and by hand."""

from __future__ import annotations

import math

import pytest
from tests.metrics.test_meteor import HYPS, REFS

import nlgauge


def test_scores_are_those_of_pycocoevalcap() -> None:
    """`Cider().compute_score` of pycocoevalcap 1.2 on these texts, which have no punctuation."""
    score = nlgauge.score(HYPS, REFS, "cider")
    assert score.cider.tolist() == pytest.approx([3.2537280621213527, 1.6593148890913318, 1.3664990963001167])
    assert score.system_score == pytest.approx(2.093180682504267)


def test_variants_by_hand() -> None:
    """idf of "a" is 0, of other words ln 2. The output has "cat" twice: (2, 0) and (1, 1) for "cat" and "sat".

    Clipped, the product is 1 for words; not clipped, 2. Pairs of the output are "a cat" and "cat cat", of the
    reference "a cat" and "cat sat": the product is 1, the lengths sqrt 2. Longer n-grams are not shared.
    """
    texts = ["a cat cat", "a dog"], ["a cat sat", "a dog"]
    words, pairs = 1 / (2 * math.sqrt(2)), 1 / 2
    assert nlgauge.score(*texts, "cider").cider[0] == pytest.approx(10 * (words + pairs) / 4)
    assert nlgauge.score(*texts, "cider:variant=plain").cider[0] == pytest.approx(10 * (2 * words + pairs) / 4)


def test_penalty_of_length_by_hand() -> None:
    texts = ["cat sat here now", "rain"], ["cat", "dog"]
    cosine = 1 / 2  # of one word in four
    assert nlgauge.score(*texts, "cider:variant=plain").cider[0] == pytest.approx(10 * cosine / 4)
    for sigma in (6, 2):
        penalty = math.exp(-(3**2) / (2 * sigma**2))
        score = nlgauge.score(*texts, f"cider:sigma={sigma}")
        assert score.cider[0] == pytest.approx(10 * penalty * cosine / 4)
    with pytest.raises(nlgauge.errors.RecipeError, match="no effect with variant=plain"):
        nlgauge.metrics.CIDEr(variant="plain", sigma=2)


def test_words_are_stemmed_and_without_punctuation_on_request() -> None:
    texts = ["Cats sleep.", "rain"], ["a cat sleeps", "dog"]
    assert nlgauge.score(*texts, "cider").cider[0] == 0
    assert nlgauge.score(*texts, "cider:stemmer=yes").cider[0] > 0
    kept = nlgauge.score(["Rain.", "a"], ["rain", "b"], "cider:punctuation=keep").cider[0]
    assert kept < nlgauge.score(["Rain.", "a"], ["rain", "b"], "cider").cider[0]


def test_signature_and_title() -> None:
    first, second = (nlgauge.score(["a cat", "rain"], ["a cat", other], "cider") for other in ("rain", "snow"))
    assert first.signature.run["idf_refs"] != second.signature.run["idf_refs"]
    assert nlgauge.metrics.CIDEr.title_of(first.signature.recipe) == "CIDEr-D"
    assert nlgauge.metrics.CIDEr.title_of({"variant": "plain"}) == "CIDEr"
