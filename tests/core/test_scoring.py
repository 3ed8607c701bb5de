"""`score` and `score_systems`: what they call their metrics, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nlgauge
from nlgauge.core.registry import with_options

HYPS = ["The cat sat.", "A dog barked."]
REFS = ["The cat sat down.", "The dog barked."]


def test_metric_is_the_third_argument() -> None:
    first = nlgauge.score(HYPS, REFS, metric="chrf")
    assert nlgauge.score(HYPS, REFS, "chrf").mean == first.mean
    assert nlgauge.score(HYPS, REFS, metric=["chrf"]).mean == first.mean
    assert nlgauge.score_systems({"a": HYPS}, REFS, metric="chrf")[0].mean == first.mean
    assert nlgauge.score_systems({"a": HYPS}, REFS, metric=["chrf"])[0].mean == first.mean
    assert [score.metric for score in nlgauge.score_systems({"a": HYPS}, REFS, ["chrf", "bleu"])] == ["chrf", "bleu"]
    with pytest.raises(nlgauge.errors.RecipeError, match="score_systems"):
        nlgauge.score(HYPS, REFS, metric=["chrf", "bleu"])


@pytest.mark.parametrize(
    "call",
    [
        lambda **metrics: nlgauge.score(HYPS, REFS, **metrics),
        lambda **metrics: nlgauge.score_systems({"a": HYPS}, REFS, **metrics),
        lambda **metrics: nlgauge.rank([HYPS], **metrics),
        lambda **metrics: nlgauge.matrix(HYPS, **metrics),
        lambda **metrics: nlgauge.explain_pair(HYPS[0], REFS[0], **metrics),
        lambda **metrics: nlgauge.Accumulator(**metrics),
        lambda **metrics: nlgauge.studies.stress.stress(HYPS, **metrics),
    ],
)
def test_metrics_keyword_is_refused_and_the_message_names_metric(call: Callable[..., object]) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=r"unknown keyword 'metrics' for .*did you mean 'metric'\?"):
        call(metrics=["chrf"])


def test_capitals_do_not_matter_and_misspellings_get_a_hint() -> None:
    assert nlgauge.score(HYPS, REFS, metric="ChrF").metric == "chrf"
    with pytest.raises(nlgauge.errors.RecipeError, match=r"did you mean 'chrf'\?"):
        nlgauge.score(HYPS, REFS, metric="chrff")
    with pytest.raises(nlgauge.errors.RecipeError, match=r"did you mean 'layer'\?"):
        nlgauge.score(HYPS, REFS, layr=4)


def test_an_option_that_the_metric_sets_otherwise_is_refused() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="chars is 4 in 'chrf:chars=4', but 5"):
        nlgauge.score(HYPS, REFS, metric="chrf:chars=4", chars=5)
    assert nlgauge.score(HYPS, REFS, metric="chrf:chars=4", chars=4).signature.recipe["chars"] == "4"


def test_a_value_with_a_comma_has_no_place_in_a_recipe() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="outside the recipe: idf=FILE"):
        nlgauge.score(HYPS, REFS, metric="bertscore:idf=com,ma.idf")
    with pytest.raises(nlgauge.errors.RecipeError, match="comma"):
        with_options("bertscore", {"idf": "a,b.idf"})


def test_a_frame_of_systems_is_refused_without_printing_it() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x"] * 50, "b": ["y"] * 50})
    with pytest.raises(nlgauge.errors.InputError, match=r"got a DataFrame; .*to_dict\('list'\)$"):
        nlgauge.score_systems(frame, ["z"] * 50, metric="chrf")
    assert len(nlgauge.score_systems(frame.to_dict("list"), ["z"] * 50, metric="chrf")) == 2


def test_a_cache_is_a_folder() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="cache must be a folder, got 3"):
        nlgauge.score(["a"], ["b"], cache=3)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "rouge1"])
def test_another_version_of_a_package_is_told_like_one_of_an_engine(metric: str) -> None:
    made = nlgauge.score(["a b c d"], ["a b c e"], metric=metric)
    package = "rouge_score" if metric == "rouge1" else "sacrebleu"
    recipe = {**made.signature.recipe, package: "0.0.1"}
    with pytest.warns(nlgauge.errors.NlgaugeWarning, match=f"{package} 0.0.1"):
        again = nlgauge.score(["a b c d"], ["a b c e"], metric=nlgauge.Signature(metric, recipe))
    assert again.system_score == made.system_score


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ({"metrc": "chrf"}, "; did you mean 'metric'?"),
        ({"source": ["a"]}, "; did you mean 'sources'?"),
        ({"references": ["a"]}, "; did you mean 'refs'?"),
        ({"batch_size": 8}, "; see 'nlgauge show chrf'"),  # not 'cache_size', which is spelt alike
        ({"model_type": "x"}, "; see 'nlgauge show chrf'"),  # chrF has no model
    ],
)
def test_unknown_keyword_suggests_only_what_is_meant(options: dict[str, Any], end: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError) as caught:
        nlgauge.score(["a"], ["a"], "chrf", **options)
    assert str(caught.value) == f"unknown keyword {next(iter(options))!r} for chrf{end}"
