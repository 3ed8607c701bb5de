"""Signatures parse back, compare, and reproduce scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nlgauge
from nlgauge.core.registry import METRICS, signature_fields
from nlgauge.core.signature import MEANINGS, Signature

keys = st.text("abcdefghijklmnop_", min_size=1, max_size=8)
values = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
fields = st.dictionaries(keys, values, max_size=5)

HYPS = ["A ferry was cancelled.", "Bread is good."]
REFS = ["The ferry was called off.", "The bread is the best."]


@given(metric=keys, recipe=fields, run=fields)
def test_what_is_written_is_read_back(metric: str, recipe: dict[str, str], run: dict[str, str]) -> None:
    signature = Signature(metric, recipe, run)
    assert Signature.parse(str(signature)) == signature
    assert Signature.parse(signature.recipe_part) == Signature(metric, recipe)


def test_the_parts_are_in_order() -> None:
    text = str(nlgauge.score(HYPS, REFS).signature)
    recipe, run = text.split("||")
    assert recipe.startswith("bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1|model:minilm|weights:")
    assert f"nlgauge:{nlgauge.__version__}" in recipe
    assert run == "truncated:0|empty:0"


def test_difference_names_each_field_and_part() -> None:
    left = Signature.parse("bertscore|layer:4|idf:none||empty:0")
    right = Signature.parse("bertscore|layer:6|idf:none|extra:x||empty:1")
    assert left.difference(right) == [
        ("recipe", "layer", "4", "6"),
        ("recipe", "extra", None, "x"),
        ("run", "empty", "0", "1"),
    ]
    assert left.difference(left) == []


@pytest.mark.parametrize("text", ["", "|layer:4", "layer:4|idf:none", "bertscore|layer", "bertscore|a:1|a:2"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(nlgauge.errors.SignatureError):
        Signature.parse(text)


def test_only_a_text_is_parsed() -> None:
    with pytest.raises(nlgauge.errors.SignatureError, match=r"must be a text, got 3 \(int\)"):
        nlgauge.Signature.parse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "recipe",
    [
        nlgauge.metrics.BERTScore(),
        nlgauge.metrics.BERTScore(layer=6, idf="refs", multiref="mean"),
        nlgauge.metrics.BERTScore(rescale=True, multiref="best-each"),
    ],
)
def test_the_recipe_part_reproduces_the_score(recipe: nlgauge.metrics.BERTScore) -> None:
    first = recipe.score(HYPS, REFS)
    again = nlgauge.score(HYPS, REFS, metric=first.signature.recipe_part)
    assert np.array_equal(first.f1, again.f1)
    assert str(again.signature) == str(first.signature)
    rebuilt = nlgauge.recipe_from_signature(first.signature)
    assert rebuilt.score(HYPS, REFS).signature == first.signature


def test_a_signature_that_cannot_come_out_is_refused() -> None:
    signature = str(nlgauge.score(HYPS, REFS, idf="refs").signature)
    digest = Signature.parse(signature).recipe["weights"]
    with pytest.raises(nlgauge.errors.SignatureError, match="weights: asked 000000000000"):
        nlgauge.score(HYPS, REFS, metric=signature.replace(digest, "000000000000"))
    with pytest.raises(nlgauge.errors.SignatureError, match="idf: asked refs"):  # other references, other idf
        nlgauge.score(HYPS, ["The bread.", "A ferry."], metric=signature)
    with pytest.raises(nlgauge.errors.SignatureError, match="idf=PATH"):
        nlgauge.recipe_from_signature("bertscore|layer:4|idf:file[abc]|multiref:mean|rescale:no|model:minilm")


def test_another_version_is_said_but_not_refused() -> None:
    signature = str(nlgauge.score(HYPS, REFS).signature)
    with pytest.warns(nlgauge.errors.NlgaugeWarning, match=r"nlgauge 0\.0\.1"):
        nlgauge.score(HYPS, REFS, metric=signature.replace(f"nlgauge:{nlgauge.__version__}", "nlgauge:0.0.1"))


@pytest.mark.parametrize("field", ["l:6", "Layer:6", "profile:v1"])
def test_a_field_that_no_recipe_has_is_refused(field: str) -> None:
    """A misspelt key would otherwise score something else in silence."""
    with pytest.raises(nlgauge.errors.SignatureError, match=f"no field '{field.partition(':')[0]}'"):
        nlgauge.score(HYPS, REFS, metric=f"bertscore|{field}")


def test_a_mismatch_is_found_before_anything_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    from nlgauge.encoders.engines.graph_engines import OnnxEncoder

    signature = nlgauge.score(HYPS, REFS, idf="refs").signature
    monkeypatch.setattr(OnnxEncoder, "encode", lambda *_: pytest.fail("a text was encoded"))
    with pytest.raises(nlgauge.errors.SignatureError, match="idf: asked refs"):
        nlgauge.score(HYPS, ["The bread.", "A ferry."], metric=signature)


def test_signatures_of_two_engines_do_not_go_together() -> None:
    onnx = str(nlgauge.score(HYPS, REFS).signature)
    torch = onnx.replace("engine:onnxruntime", "engine:torch")
    with pytest.raises(nlgauge.errors.SignatureError, match="several engines"):
        nlgauge.score_systems({"a": HYPS}, REFS, metric=[onnx, torch])


@pytest.mark.parametrize("metric", METRICS)
def test_every_field_has_a_meaning(metric: str) -> None:
    assert set(signature_fields(METRICS[metric])) <= set(MEANINGS)
