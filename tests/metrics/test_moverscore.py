"""MoverScore: released scores, profiles, and the effect of each option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.samples import HYPS, REFS, GoldenPairs

import nlgauge

#: Golden key (origin: `about` in the golden file) and the recipe that reproduces it.
RELEASED = {
    "v1.ngram1": "moverscore",
    "v1.ngram2": "moverscore:n=2",
    "v1.ngram1.keepsub": "moverscore:subwords=all",
    "v1.ngram1.idf1": "moverscore:idf=none",
    "v1.ngram1.stop": "moverscore:stopwords=stop.txt",
    "v2": "moverscore:profile=v2",
}


@pytest.mark.parametrize("key", RELEASED)
def test_thirty_pairs_match_released_scores(
    key: str, thirty_pairs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stop.txt").write_text("the\na\nof\nand\nin\non\nis\nwas\n")
    hyps, refs = ([pair[side] for pair in thirty_pairs["pairs"]] for side in ("hyp", "ref"))
    score = nlgauge.score(hyps, refs, metric=RELEASED[key])
    golden = np.array(thirty_pairs["scores"][f"minilm.moverscore.{key}"])
    # Of identical texts, v2 takes the root of float32 noise and gives 0.99985; ours is 1.
    same = np.array([hyp == ref for hyp, ref in zip(hyps, refs, strict=True)]) & (key == "v2")
    np.testing.assert_allclose(score.score[~same], golden[~same], rtol=0, atol=1e-4)
    np.testing.assert_allclose(score.score[same], 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("key", "metric"),
    [(key, RELEASED[key]) for key in ("v1.ngram1", "v1.ngram2", "v1.ngram1.keepsub", "v2")],
)
def test_wmt17_czech_english_matches_released_scores(wmt17_czech_english: GoldenPairs, key: str, metric: str) -> None:
    score = nlgauge.score(wmt17_czech_english.hyps, wmt17_czech_english.refs, metric=metric)
    golden = wmt17_czech_english.scores[f"moverscore.{key}"]
    np.testing.assert_allclose(score.score, golden, rtol=0, atol=1e-4)


def test_changed_option_marks_profile() -> None:
    def profile(metric: str) -> str:
        return nlgauge.score(HYPS, REFS, metric=metric).signature.recipe["profile"]

    assert profile("moverscore") == "v1"
    assert profile("moverscore:subwords=first") == "v1", "what the profile says anyway is no change"
    assert profile("moverscore:subwords=all") == "v1*"
    assert profile("moverscore:profile=web,idf=refs") == "web*"
    for option in ("multiref=best", "specials=drop", "exponents=1", "punctuation=keep", "aggregation=last"):
        assert profile(f"moverscore:{option}") == "v1*", option
    assert profile("moverscore:n=2") == "v1", "n is no part of a profile"


@pytest.mark.parametrize(
    "metric",
    ["moverscore", "moverscore:profile=v2,idf=none", "moverscore:n=sentence,aggregation=kde-routing,multiref=best"],
)
def test_the_signature_reproduces_the_score(metric: str) -> None:
    first = nlgauge.score(HYPS, REFS, metric=metric)
    again = nlgauge.score(HYPS, REFS, metric=first.signature)
    assert np.array_equal(first.score, again.score)
    assert first.signature == again.signature


def test_paper_profile_is_a_distance() -> None:
    score = nlgauge.score([REFS[0], HYPS[0]], [REFS[0], REFS[0]], metric="moverscore:profile=paper,idf=none")
    assert not score.higher_is_better
    assert score.score[0] == pytest.approx(0, abs=1e-4)
    assert score.score[1] > 1


def test_sentence_mover_is_the_distance_of_two_points() -> None:
    """An n longer than the text makes one n-gram of it."""
    whole = nlgauge.score(HYPS, REFS, metric="moverscore:n=sentence")
    long = nlgauge.score(HYPS, REFS, metric="moverscore:n=50")
    np.testing.assert_allclose(whole.score, long.score, atol=1e-12)
    same = nlgauge.score(REFS, REFS, metric="moverscore:n=sentence,idf=none")
    np.testing.assert_allclose(same.score, 1.0, atol=1e-5)


@pytest.mark.parametrize("base", ["", "idf=none,"])
def test_each_option_changes_the_score(base: str) -> None:
    options = ["n=2", "subwords=all", "subwords=average", "aggregation=kde-routing", "aggregation=last", "profile=v2"]
    # A full stop stands in every text, so its idf is 0, and dropping it shows only without idf.
    options += ["punctuation=keep"] if base else ["idf=none", "idf=refs"]
    plain = nlgauge.score(HYPS, REFS, metric=f"moverscore:{base}multiref=mean").score
    for option in options:
        moved = nlgauge.score(HYPS, REFS, metric=f"moverscore:{base}{option}").score
        assert not np.allclose(moved, plain, atol=1e-9), option


def test_several_references_are_averaged_as_published() -> None:
    single = [nlgauge.score(HYPS[:1], [ref], metric="moverscore:idf=none").score[0] for ref in REFS]
    mean = nlgauge.score(HYPS[:1], [REFS], metric="moverscore:idf=none")
    best = nlgauge.score(HYPS[:1], [REFS], metric="moverscore:idf=none,multiref=best")
    assert mean.score[0] == pytest.approx(np.mean(single))
    assert best.score[0] == max(single)
    assert best.best_reference is not None
    assert best.best_reference[0] == int(np.argmax(single))


def test_idf_is_each_systems_own() -> None:
    """v1 weighs a hypothesis by the outputs of its system, so another system does not move it."""
    systems = {"a": HYPS, "b": ["The storm.", "Bread.", "Letters and letters."]}
    together = nlgauge.score_systems(systems, REFS, metric=["moverscore"])
    assert np.array_equal(together[0].score, nlgauge.score(HYPS, REFS, metric="moverscore").score)
    assert np.array_equal(together[1].score, nlgauge.score(systems["b"], REFS, metric="moverscore").score)


def test_one_document_falls_back_to_uniform_weights() -> None:
    """MoverScore issue 7: every score was 1.0."""
    with pytest.warns(nlgauge.errors.ZeroWeightWarning):
        score = nlgauge.score(HYPS[:1], REFS[:1], metric="moverscore")
    assert 0 < score.score[0] < 0.95
    assert score.counts["zero_weight"] == 1


def test_empty_and_punctuation_only_texts_have_a_value() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        score = nlgauge.score(["", "...", "Bread."], ["Bread.", "Bread.", "..."], metric="moverscore:idf=none")
    assert score.score[0] == 0
    assert np.isfinite(score.score).all()


@pytest.mark.parametrize(
    "option", ["profile=v3", "n=0", "n=many", "aggregation=sum", "subwords=last", "punctuation=some", "multiref=max"]
)
def test_invalid_values_are_refused(option: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=option.partition("=")[0]):
        nlgauge.score(HYPS, REFS, metric=f"moverscore:{option}")


def test_a_missing_stop_word_file_is_named() -> None:
    with pytest.raises(nlgauge.errors.InputError, match=r"none\.txt"):
        nlgauge.score(HYPS, REFS, metric="moverscore:stopwords=none.txt")


def test_the_paper_sums_vectors_by_idf() -> None:
    """Equation 1 is a sum: with a frozen table that doubles every idf, every distance doubles too."""
    weights = nlgauge.score(HYPS, REFS, metric="moverscore:profile=paper,idf=refs", alignments=True)
    bigger = nlgauge.score([*HYPS, *REFS], [*REFS, *REFS], metric="moverscore:profile=paper,idf=refs")
    assert not np.allclose(weights.score, bigger.score[:3]), "idf scales the vectors, not the weights alone"


def test_aggregation_and_exponents_options() -> None:
    first = nlgauge.score(HYPS, REFS, metric="moverscore:aggregation=layer-6")
    last = nlgauge.score(HYPS, REFS, metric="moverscore:aggregation=last")
    assert np.array_equal(first.score, last.score)
    mean = nlgauge.score(HYPS, REFS, metric="moverscore:exponents=1")
    assert mean.signature.recipe["exponents"] == "1"
    assert mean.signature.recipe["profile"] == "v1*"
    assert not np.allclose(mean.score, nlgauge.score(HYPS, REFS, metric="moverscore").score)
    with pytest.raises(nlgauge.errors.RecipeError, match="exponents"):
        nlgauge.metrics.MoverScore(exponents="1+x")
    with pytest.raises(nlgauge.errors.RecipeError, match="a layer from 0 to 6"):
        nlgauge.score(HYPS, REFS, metric="moverscore:aggregation=layer-7")


def test_v2_with_n_grams_is_marked() -> None:
    """The released v2 ignores its n; ours obeys, and says that this is no longer v2."""
    assert nlgauge.score(HYPS, REFS, metric="moverscore:profile=v2,n=2").signature.recipe["profile"] == "v2*"
    assert nlgauge.score(HYPS, REFS, metric="moverscore:profile=v1,n=2").signature.recipe["profile"] == "v1"
