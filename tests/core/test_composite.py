"""Composite metrics: recipes that are files, and signatures with the fields of members."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from tests.learned_files import save_learned

import nlgauge
from nlgauge.core.metric import base_metrics
from nlgauge.core.registry import join_recipe, parse_metric, split_recipe, with_options
from nlgauge.core.signature import Signature, plain_key
from nlgauge.errors import FileFormatError, InputError, RecipeError, SignatureError
from nlgauge.metrics.eed import EED
from nlgauge.metrics.learned import Learned


def test_a_file_is_a_recipe(tmp_path: Path) -> None:
    path = save_learned(tmp_path / "a, b.json", ["eed", "character"])
    recipe = parse_metric(path, lang="en")
    assert recipe == Learned(fit=path)
    assert [metric.name for metric in recipe.base_metrics] == ["eed", "character"]
    assert base_metrics([recipe, EED()]) == [*recipe.base_metrics, EED()]
    assert pickle.loads(pickle.dumps(recipe)) == recipe
    assert split_recipe("learned:mt-en-mpnet") == ("learned", {"fit": "mt-en-mpnet"})
    with pytest.raises(RecipeError, match="expected option=value"):
        split_recipe("bertscore:chrf")


def test_recipes_are_written_as_text() -> None:
    text = "bertscore:layer=2,model=mpnet"
    assert join_recipe(parse_metric(text)) == text
    assert join_recipe(parse_metric("eed")) == "eed"
    assert with_options("chrf", {"layer": "5"}) == "chrf"


def test_unusable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"learned metric '.*none.json' does not exist; make one with 'nlgauge study"
    ):
        nlgauge.score(["a"], ["a"], metric=str(tmp_path / "none.json"))
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(FileFormatError, match=r"is not a learned metric \(nlgauge-learned/1\)"):
        nlgauge.score(["a"], ["a"], metric=str(tmp_path / "other.json"))
    own = save_learned(tmp_path / "own.json", ["eed", "character"])
    text = Path(own).read_text(encoding="utf-8").replace('"recipe": "character"', f'"recipe": "learned:{own}"')
    (tmp_path / "nested.json").write_text(text)
    with pytest.raises(FileFormatError, match="its digest does not match its numbers"):
        nlgauge.score(["a"], ["a"], metric=str(tmp_path / "nested.json"))


def test_options_of_members_are_refused(tmp_path: Path) -> None:
    path = save_learned(tmp_path / "own.json", ["eed", "character"])
    with pytest.raises(RecipeError, match="learned has no option 'layer'"):
        nlgauge.score(["a"], ["a"], metric=path, layer=3)


def test_signature_fields_of_members_are_numbered() -> None:
    signature = Signature.parse("learned|fit:mt-en[ab]|members:bertscore+chrf|1.layer:4|2.chars:6|model:minilm")
    first, second = signature.members
    assert (first.metric, dict(first.recipe)) == ("bertscore", {"layer": "4", "model": "minilm"})
    assert (second.metric, second.recipe["chars"]) == ("chrf", "6")
    assert (plain_key("12.layer"), plain_key("layer"), plain_key("a.b")) == ("layer", "layer", "a.b")
    assert signature.short().startswith("learned|bertscore+chrf|minilm|fit:mt-en|h:")


def test_signature_with_unknown_fields_is_refused() -> None:
    with pytest.raises(SignatureError, match=r"has no field '1.chars'"):
        nlgauge.recipe_from_signature("learned|fit:mt-en-minilm[ab]|members:bertscore+chrf|1.chars:6")
    with pytest.raises(SignatureError, match="has no members"):
        nlgauge.recipe_from_signature("learned|fit:mt-en-minilm[ab]")
    with pytest.raises(SignatureError, match="only the digest of its fit file"):
        nlgauge.recipe_from_signature("learned|fit:file[ab]|members:bertscore+chrf|1.layer:4")
