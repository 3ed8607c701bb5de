"""Composite metrics: the text form of members, and reading them from a signature."""

from __future__ import annotations

import pickle

import pytest

import nlgauge
from nlgauge.core.composite import member_recipe, member_text, split_outside
from nlgauge.core.metric import base_metrics
from nlgauge.core.registry import parse_metric, split_recipe, with_options
from nlgauge.core.signature import Signature, plain_key
from nlgauge.errors import RecipeError, SignatureError
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.chrf import ChrF
from nlgauge.metrics.ensemble import Ensemble


def test_separators_in_parentheses_are_ignored() -> None:
    assert split_outside("a(x=1+2)+b(y=3,z=4)", "+") == ["a(x=1+2)", "b(y=3,z=4)"]
    assert split_outside("a(x=1+2", "+") == ["a(x=1", "2"]


def test_member_and_recipe_convert_to_each_other() -> None:
    for text in ("bertscore", "bertscore(layer=5,idf=refs)"):
        assert member_text(member_recipe(text)) == text
    with pytest.raises(RecipeError, match=r"expected a member such as"):
        member_recipe("(layer=5)")


def test_option_name_members_can_be_omitted() -> None:
    assert split_recipe("ensemble:bertscore+chrf,norms=n.json") == (
        "ensemble",
        {"members": "bertscore+chrf", "norms": "n.json"},
    )
    assert split_recipe("ensemble:members=bertscore(layer=1)+chrf")[1] == {"members": "bertscore(layer=1)+chrf"}
    with pytest.raises(RecipeError, match="expected option=value"):
        split_recipe("bertscore:chrf")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ensemble:bertscore", "needs at least two metrics"),
        ("ensemble:bertscore+", "option 'members' of ensemble must be metrics joined by"),
        ("ensemble:bertscore+nope", "unknown metric 'nope'"),
        ("ensemble:ensemble+chrf", "ensemble cannot be a member of ensemble"),
        ("ensemble:sentsim+chrf", "scales its parts over the whole corpus.*bounds=FILE"),
        ("ensemble:cider+chrf", "scores by cider depend on the other pairs of the corpus.*use another metric"),
        ("ensemble:yisi0+chrf", "yisi0 depend on the other pairs.*use idf=none"),
        ("ensemble:bertscore(layer=5+chrf", "unbalanced parentheses"),
        ("ensemble:bertscore(depth=5)+chrf", "has no option 'depth'"),
    ],
)
def test_invalid_members_are_refused(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_metric(text)


def test_shared_options_apply_to_members_that_have_them() -> None:
    recipe = parse_metric("ensemble:bertscore(layer=2)+moverscore+chrf", model="mpnet", layer=5, words=2)
    assert isinstance(recipe, Ensemble)
    first, second, third = recipe.base_metrics
    assert (getattr(first, "model", ""), getattr(first, "layer", 0)) == ("mpnet", 2)
    assert getattr(second, "model", "") == "mpnet"
    assert third == ChrF(words=2)
    with pytest.raises(RecipeError, match="unknown keyword 'depth' for ensemble"):
        nlgauge.score(["a"], ["b"], metric="ensemble:bertscore+chrf", depth=3)
    assert with_options("chrf", {"layer": "5"}) == "chrf"


def test_members_may_be_recipes() -> None:
    recipe = Ensemble(members=[BERTScore(layer=5), "chrf:words=2"])  # type: ignore[arg-type]  # lists are taken too
    assert recipe.members == "bertscore(layer=5)+chrf(words=2)"
    assert recipe.base_metrics == (BERTScore(layer=5), ChrF(words=2))
    assert pickle.loads(pickle.dumps(recipe)) == recipe
    assert base_metrics([recipe, ChrF()]) == [*recipe.base_metrics, ChrF()]


def test_signature_fields_of_members_are_numbered() -> None:
    signature = Signature.parse("ensemble|members:bertscore+chrf|norms:shipped[ab]|1.layer:4|2.chars:6|model:minilm")
    first, second = signature.members
    assert (first.metric, dict(first.recipe)) == ("bertscore", {"layer": "4", "model": "minilm"})
    assert (second.metric, second.recipe["chars"]) == ("chrf", "6")
    assert (plain_key("12.layer"), plain_key("layer"), plain_key("a.b")) == ("layer", "layer", "a.b")
    assert signature.short().startswith("ensemble|bertscore+chrf|minilm|h:")


def test_signature_with_unknown_fields_is_refused() -> None:
    with pytest.raises(SignatureError, match=r"has no field '1.chars'"):
        nlgauge.recipe_from_signature("ensemble|members:bertscore+chrf|norms:shipped[ab]|1.chars:6")
    with pytest.raises(SignatureError, match="has no members"):
        nlgauge.recipe_from_signature("ensemble|norms:shipped[ab]")
