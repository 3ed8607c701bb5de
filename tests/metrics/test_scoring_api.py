"""`nlgauge.score` and `score_systems`: arguments and results."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from tests.extras import LazyModule

import nlgauge
from nlgauge.core.score import Score
from nlgauge.errors import NlgaugeWarning, SignatureError
from nlgauge.io.store.resolve import resolve

pd = LazyModule("pandas")

HYPS = ["The cat sat on the mat.", "A dog barked all night.", "Two birds sang."]
FIRST = ["A cat was sitting on a mat.", "All night long, dogs barked.", "Birds were singing."]
SECOND = ["There is a cat on the mat.", "A dog barked the whole night.", "It was loud."]
COMPONENTS = ["precision", "recall", "f1"]


@pytest.fixture(scope="module")
def result() -> Score:
    """Of one system with two references."""
    return nlgauge.score(HYPS, list(zip(FIRST, SECOND, strict=True)))


def same(left: Score, right: Score) -> bool:
    return str(left.signature) == str(right.signature) and all(
        left.segments[name].tolist() == right.segments[name].tolist() for name in COMPONENTS
    )


# --- ways to call --------------------------------------------------------------------------------------


def lazily(texts: Iterable[str]) -> Iterable[str]:
    yield from texts


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        lazily,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: pd.Series(texts, index=[7, 8, 9]),
        lambda texts: pd.Series(texts, dtype="string"),
        lambda texts: dict.fromkeys(texts).keys(),
    ],
    ids=["list", "tuple", "generator", "numpy", "numpy objects", "series", "string series", "view"],
)
def test_texts_in_any_container(wrap: Callable[[list[str]], Iterable[str]]) -> None:
    expected = nlgauge.score(HYPS, FIRST)
    assert same(nlgauge.score(wrap(HYPS), wrap(FIRST)), expected)
    assert same(nlgauge.score(wrap(HYPS), ref_streams=[wrap(FIRST)]), expected)


def test_references_in_any_container() -> None:
    pairs = list(zip(FIRST, SECOND, strict=True))
    expected = nlgauge.score(HYPS, pairs)
    for references in (
        [list(pair) for pair in pairs],
        (lazily(pair) for pair in pairs),
        np.array(pairs),
        pd.Series([list(pair) for pair in pairs]),
    ):
        assert same(nlgauge.score(HYPS, references), expected)


def test_streams_equal_transposed_references(result: Score) -> None:
    assert same(nlgauge.score(HYPS, ref_streams=[FIRST, SECOND]), result)
    assert same(nlgauge.score(HYPS, ref_streams=lazily([FIRST, SECOND])), result)  # type: ignore[arg-type,list-item]
    assert result.signature.recipe["refs"] == "2"


def test_the_number_of_references_may_vary() -> None:
    varied = nlgauge.score(HYPS, [FIRST[0], [FIRST[1], SECOND[1]], [SECOND[2]]])
    assert varied.signature.recipe["refs"] == "var"
    assert varied.f1[0] == nlgauge.score(HYPS[:1], FIRST[:1]).f1[0]
    assert varied.f1[1] == nlgauge.score(HYPS[1:2], [[FIRST[1], SECOND[1]]]).f1[0]


def test_a_metric_is_named_in_four_ways() -> None:
    expected = nlgauge.score(HYPS, FIRST, layer=3, multiref="mean")
    recipe = nlgauge.metrics.BERTScore(layer=3, multiref="mean")
    for metric in ("bertscore:layer=3,multiref=mean", recipe, str(expected.signature)):
        assert same(nlgauge.score(HYPS, FIRST, metric=metric), expected)
    assert same(recipe.score(HYPS, FIRST), expected)
    assert same(nlgauge.recipe_from_signature(expected.signature).score(HYPS, FIRST), expected)
    assert nlgauge.recipe_from_signature(expected.signature) == recipe


def test_several_systems_and_metrics_come_metric_by_metric() -> None:
    systems = {"one": HYPS, "two": SECOND}
    scores = nlgauge.score_systems(systems, FIRST, metric=["bertscore", nlgauge.metrics.BERTScore(layer=2)])
    assert [(s.system, s.signature.recipe["layer"]) for s in scores] == [
        ("one", "4"),
        ("two", "4"),
        ("one", "2"),
        ("two", "2"),
    ]
    assert same(scores[1], nlgauge.score(SECOND, FIRST))
    assert same(scores[2], nlgauge.score(HYPS, FIRST, layer=2))


def test_an_option_applies_to_every_metric_that_does_not_set_it() -> None:
    scores = nlgauge.score_systems({"a": HYPS}, FIRST, metric=["bertscore", "bertscore:layer=2"], layer=5, idf="refs")
    assert [s.signature.recipe["layer"] for s in scores] == ["5", "2"]
    assert all(s.signature.recipe["idf"].startswith("refs[") for s in scores)


def test_single_metric_without_list() -> None:
    (score,) = nlgauge.score_systems({"a": HYPS}, FIRST, metric="bertscore")
    (again,) = nlgauge.score_systems({"a": HYPS}, FIRST, metric=nlgauge.metrics.BERTScore())  # type: ignore[arg-type]
    assert same(score, again)


def test_lists_of_caller_are_not_changed() -> None:
    hyps, refs = list(HYPS), [list(pair) for pair in zip(FIRST, SECOND, strict=True)]
    nlgauge.score(hyps, refs)
    assert hyps == HYPS
    assert refs == [list(pair) for pair in zip(FIRST, SECOND, strict=True)]


def test_signature_has_model_name_of_caller() -> None:
    """Whatever this process scored before: the signature must not depend on it."""
    path = resolve("minilm").path
    nlgauge.score(HYPS, FIRST)
    by_path = nlgauge.score(HYPS, FIRST, model=path, layer=4)
    assert by_path.signature.recipe["model"] == path.name
    assert nlgauge.score(HYPS, FIRST).signature.recipe["model"] == "minilm"


# --- a signature is a promise --------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["weights", "tokenizer", "maxlen", "layer", "idf", "multiref"])
def test_irreproducible_signature_is_refused(key: str) -> None:
    signature = nlgauge.score(HYPS, FIRST, idf="refs").signature
    # `layer` and `multiref` are options: the recipe follows them, and another option stands against it.
    against: dict[str, dict[str, Any]] = {"layer": {"layer": 2}, "multiref": {"multiref": "mean"}}
    altered = {**signature.recipe}
    if key not in against:
        altered[key] = altered[key].replace(altered[key][-2], "0" if altered[key][-2] != "0" else "1")
    text = str(nlgauge.Signature(signature.metric, altered, signature.run))
    with pytest.raises(SignatureError, match=f"{key}: asked"):
        nlgauge.score(HYPS, FIRST, metric=text, **against.get(key, {}))


@pytest.mark.parametrize(("key", "value"), [("nlgauge", "0.0.1"), ("engine", "onnxruntime-1.0.0-fp32")])
def test_another_version_is_scored_with_a_warning(key: str, value: str) -> None:
    signature = nlgauge.score(HYPS, FIRST).signature
    text = str(nlgauge.Signature(signature.metric, {**signature.recipe, key: value}))
    with pytest.warns(NlgaugeWarning, match=f"the signature was made with .*{value}"):
        again = nlgauge.score(HYPS, FIRST, metric=text)
    assert again.f1.tolist() == nlgauge.score(HYPS, FIRST).f1.tolist()


def test_run_part_of_signature_is_not_compared() -> None:
    signature = nlgauge.score(HYPS, FIRST).signature
    text = str(nlgauge.Signature(signature.metric, signature.recipe, {"truncated": "9", "empty": "9"}))
    assert nlgauge.score(HYPS, FIRST, metric=text).counts["empty"] == 0


# --- the result ----------------------------------------------------------------------------------------


def test_components_are_arrays_with_a_value_per_segment(result: Score) -> None:
    assert list(result.segments) == COMPONENTS
    for name in COMPONENTS:
        values = getattr(result, name)
        assert values is result.segments[name]
        assert (values.shape, values.dtype) == ((3,), np.float64)
    assert len(result) == 3
    assert result.f1 == pytest.approx(2 * result.precision * result.recall / (result.precision + result.recall))


def test_means_are_over_segments(result: Score) -> None:
    assert result.means == {name: pytest.approx(np.mean(getattr(result, name))) for name in COMPONENTS}
    assert result.mean == result.means["f1"]
    assert (result.metric, result.system, result.main, result.higher_is_better) == ("bertscore", None, "f1", True)


def test_the_best_reference_is_the_one_with_the_best_f(result: Score) -> None:
    alone = np.array([nlgauge.score(HYPS, refs).f1 for refs in (FIRST, SECOND)])
    assert result.best_reference is not None
    assert result.best_reference.tolist() == alone.argmax(axis=0).tolist()
    assert set(result.best_reference.tolist()) == {0, 1}
    assert result.f1.tolist() == alone.max(axis=0).tolist()


def test_counts_of_an_ordinary_run_are_0(result: Score) -> None:
    assert result.counts == {"truncated": 0, "empty": 0, "zero_weight": 0}


def test_signature_contains_resolved_options(result: Score) -> None:
    files = resolve("minilm")
    recipe = dict(result.signature.recipe)
    assert recipe.pop("engine").startswith("onnxruntime-")
    assert recipe == {
        "layer": "4",
        "idf": "none",
        "multiref": "best-f",
        "rescale": "no",
        "refs": "2",
        "model": "minilm",
        "weights": files.weights_digest[:12],
        "tokenizer": files.tokenizer_digest[:12],
        "config": files.config_digest[:12],
        "maxlen": "512",
        "nlgauge": nlgauge.__version__,
        "sig": "1",
    }
    assert nlgauge.Signature.parse(str(result.signature)) == result.signature


def test_to_dict_is_json_and_complete(result: Score) -> None:
    record = result.to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["score"] == result.mean
    assert record["signature"] == str(result.signature)
    assert [row["f1"] for row in record["segments"]] == result.f1.tolist()
    assert [row["segment"] for row in record["segments"]] == [0, 1, 2]
    assert "segments" not in result.to_dict(segments=False)


def test_to_dict_with_alignments_is_json(result: Score) -> None:
    aligned = nlgauge.score(HYPS, FIRST, alignments=True)
    record = aligned.to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    alignment = record["segments"][0]["alignment"]
    assert len(alignment["hypothesis_tokens"]) == len(alignment["hypothesis_match"])
    assert max(alignment["hypothesis_match"]) < len(alignment["reference_tokens"])
    assert "alignment" not in result.to_dict()["segments"][0]


def test_to_frame_has_a_row_per_segment(result: Score) -> None:
    frame = result.to_frame()
    assert list(frame.columns) == ["metric", "segment", *COMPONENTS, "best_reference"]
    assert frame["f1"].tolist() == result.f1.tolist()
    assert frame["metric"].unique().tolist() == ["bertscore"]


def test_frames_of_several_systems_can_be_joined() -> None:
    scores = nlgauge.score_systems({"one": HYPS, "two": SECOND}, FIRST)
    frame = pd.concat([score.to_frame() for score in scores])
    assert frame["system"].tolist() == ["one"] * 3 + ["two"] * 3
    assert frame.groupby("system")["f1"].mean()["two"] == pytest.approx(scores[1].mean)


def test_repr_has_means_and_short_signature(result: Score) -> None:
    text = repr(result)
    assert f"f1={result.mean:.4f}" in text
    assert "3 segments" in text
    assert result.signature.short() in text
    assert "array" not in text
    assert "1 segment |" in repr(nlgauge.score(HYPS[:1], FIRST[:1]))
    assert "one" in repr(nlgauge.score_systems({"one": HYPS}, FIRST)[0])


def test_an_unknown_attribute_names_the_components(result: Score) -> None:
    with pytest.raises(AttributeError, match=r"'f_1'; components: precision, recall, f1"):
        _ = result.f_1
    assert not hasattr(result, "__array__")


def test_the_interval_is_seeded_and_holds_the_mean(result: Score) -> None:
    first = result.interval()
    assert first == result.interval()
    assert first.low <= first.mean <= first.high
    assert first.mean == pytest.approx(result.mean)
    assert result.interval("recall").mean == pytest.approx(result.means["recall"])
    assert (first.method, first.n) == ("t", len(result))
    assert result.interval(documents=["a", *"b" * (len(result) - 1)]).n == 2


def test_an_interval_of_an_unknown_component_names_the_components(result: Score) -> None:
    with pytest.raises(nlgauge.errors.NlgaugeError, match=r"'f_1'; components: .*f1"):
        result.interval("f_1")


@pytest.mark.parametrize(
    "duplicate",
    [lambda score: pickle.loads(pickle.dumps(score)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_score_can_be_pickled_and_copied(result: Score, duplicate: Callable[[Score], Score]) -> None:
    aligned = nlgauge.score(HYPS, FIRST, alignments=True)
    for score in (result, aligned):
        other = duplicate(score)
        assert isinstance(other, Score)
        assert same(other, score)
        assert other.to_dict() == score.to_dict()
        with pytest.raises(AttributeError, match="f_1"):
            _ = other.f_1


def test_a_score_that_is_not_filled_yet_has_no_components() -> None:
    """As pickle and copy make it, before they fill it in: no endless recursion."""
    blank = Score.__new__(Score)
    with pytest.raises(AttributeError, match="f1"):
        _ = blank.f1


def test_scores_can_be_compared(result: Score) -> None:
    again = nlgauge.score(HYPS, list(zip(FIRST, SECOND, strict=True)))
    assert isinstance(result == again, bool)
    assert result != nlgauge.score(HYPS, FIRST)
