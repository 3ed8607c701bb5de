"""The drop-in for `evaluate`: keys, feeding in parts, other metrics, refusals."""

from __future__ import annotations

import pytest

import nlgauge
from nlgauge.apps.compat import evaluate

CANDS = ["The cat sat on the mat.", "Rain is expected in the north tomorrow.", "Nobody knew."]
REFS = [["A cat sat upon a mat.", "The cat lay there."], ["The north expects rain."], ["No one knew the answer."]]


def test_bertscore_has_the_keys_of_the_original_and_the_signature_as_its_hash() -> None:
    result = evaluate.load("bertscore").compute(predictions=CANDS, references=REFS, model_type="minilm", num_layers=4)
    expected = nlgauge.score(CANDS, REFS, layer=4, multiref="best-each", unknown="score")
    assert list(result) == ["precision", "recall", "f1", "hashcode"]
    assert result["hashcode"] == str(expected.signature)
    for name in ("precision", "recall", "f1"):
        assert result[name] == pytest.approx(expected.segments[name].tolist(), abs=1e-6)


def test_single_segments_and_batches_are_joined() -> None:
    metric = evaluate.load("bertscore", keep_in_memory=True, model_type="minilm")
    metric.add(prediction=CANDS[0], reference=REFS[0])
    metric.add_batch(predictions=CANDS[1:], references=REFS[1:])
    assert len(metric) == 3
    whole = evaluate.load("bertscore").compute(predictions=CANDS, references=REFS, model_type="minilm")
    assert metric.compute() == whole
    assert len(metric) == 0


def test_other_metrics_load_by_name() -> None:
    result = evaluate.load("rougel").compute(predictions=CANDS, references=REFS)
    expected = nlgauge.score(CANDS, REFS, metric="rougel")
    assert list(result) == ["score", "precision", "recall", "f1", "hashcode"]
    assert result["score"] == expected.system_score
    assert result["recall"] == expected.segments["recall"].tolist()
    assert result["hashcode"] == str(expected.signature)
    mover = evaluate.load("moverscore").compute(predictions=CANDS, references=REFS, n=1)
    assert mover["score"] == nlgauge.score(CANDS, REFS, metric="moverscore", n=1).system_score


def test_usage_errors() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="did you mean 'bertscore'"):
        evaluate.load("bertscor")
    with pytest.raises(nlgauge.errors.RecipeError, match="num_process must be 1"):
        evaluate.load("bertscore", num_process=2)
    with pytest.raises(nlgauge.errors.RecipeError, match="module_type"):
        evaluate.load("bertscore", module_type="comparison")
    metric = evaluate.load("chrf")
    with pytest.raises(nlgauge.errors.InputError, match="nothing to compute"):
        metric.compute()
    with pytest.raises(nlgauge.errors.InputError, match="needs prediction="):
        metric.add(reference="a")
    with pytest.raises(nlgauge.errors.InputError, match="got 3 and 2"):
        metric.add_batch(predictions=CANDS, references=REFS[:2])
    with pytest.raises(nlgauge.errors.RecipeError, match="config_name must be None"):
        evaluate.load("bertscore", "mrpc")
    metric.add(prediction="a", reference="a")
    with pytest.raises(nlgauge.errors.InputError, match="references must be set for all predictions"):
        metric.add(prediction="b")
    assert len(metric) == 1


@pytest.mark.parametrize("name", ["meteor", "ter", "exact_match", "evaluate-metric/bleurt"])
def test_error_for_metrics_that_only_evaluate_has(name: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError) as error:
        evaluate.load(name)
    assert str(error.value) == f"{name!r} is a metric of evaluate that nlgauge does not have; use evaluate for it"


def test_unknown_name_points_to_the_list_of_metrics() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="nlgauge list") as error:
        evaluate.load("no_such_metric")
    assert "lexical-chain" not in str(error.value), "no list of all names"


def test_an_unknown_option_is_named_when_the_metric_is_loaded() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=r"no option 'modeltype'; did you mean 'model_type'"):
        evaluate.load("bertscore", modeltype="minilm")
    with pytest.raises(nlgauge.errors.RecipeError, match="unknown keyword 'layr' for moverscore"):
        evaluate.load("moverscore", layr=1)
    with pytest.raises(
        nlgauge.errors.RecipeError, match=r"no option 'preds'.*pass texts as predictions= and references="
    ):
        evaluate.load("bertscore").compute(preds=["a"], refs=["a"], model_type="minilm")
    with pytest.raises(nlgauge.errors.RecipeError, match="no option 'return_hash'"):  # the hash always comes
        evaluate.load("bertscore", return_hash=True)


def test_texts_that_were_added_survive_an_error() -> None:
    metric = evaluate.load("bertscore")
    metric.add_batch(predictions=CANDS[:2], references=REFS[:2])
    with pytest.raises(nlgauge.errors.RecipeError, match="choose a model with model_type= or lang="):
        metric.compute(predictions=CANDS[2:], references=REFS[2:])
    assert len(metric) == 2, "what came with the call is given again with the next one"
    result = metric.compute(predictions=CANDS[2:], references=REFS[2:], model_type="minilm")
    assert result == evaluate.load("bertscore").compute(predictions=CANDS, references=REFS, model_type="minilm")


def test_combined_metrics_keep_the_same_texts_after_an_error() -> None:
    both = evaluate.combine(["chrf", "bertscore"])  # the second one lacks a model
    both.add_batch(predictions=CANDS, references=REFS)
    with pytest.raises(nlgauge.errors.RecipeError, match="choose a model with model_type="):
        both.compute()
    assert [len(evaluation_module) for evaluation_module in both.evaluation_modules] == [3, 3]


@pytest.mark.parametrize("name", ["bertscore", "chrf", "moverscore"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"predictions": "a", "references": ["a"]}, "predictions: expected a list of strings, got a bare string 'a'"),
        ({"predictions": ["a", "b"], "references": "ab"}, "references: expected a list .* got a bare string 'ab'"),
        ({"predictions": [None], "references": ["a"]}, r"predictions\[0\]: expected a string, got None"),
        ({"predictions": ["a"], "references": [None]}, r"references\[0\]: expected a text .* got None"),
        ({"predictions": ["a"], "references": [float("nan")]}, r"references\[0\]: expected a text .* got nan"),
        ({"predictions": ["a"], "references": [["a", 1]]}, r"references\[0\]\[1\]: expected a string, got 1"),
        ({"predictions": ["a"], "references": [[]]}, r"references\[0\]: the list is empty"),
        (
            {"predictions": ["a", "b", "c"], "references": [["a"] * 3] * 2},
            "got 3 and 2; each entry of references has 3",
        ),
        (
            {"predictions": ["a"], "references": ["a", "b"]},
            r"got 1 and 2; put several references .* list: \[\[...\]\]",
        ),
        ({"predictions": [], "references": []}, "nothing to compute"),
        ({"references": ["a"]}, "need predictions="),
        ({"predictions": {"a": 1}, "references": ["a"]}, "got a dict with keys"),
    ],
    ids=lambda value: "",
)
def test_input_errors_name_the_argument(name: str, given: dict[str, object], said: str) -> None:
    metric = evaluate.load(name)
    with pytest.raises(nlgauge.errors.InputError, match=said):
        metric.compute(**given)  # type: ignore[arg-type]
    assert len(metric) == 0


def test_metrics_of_evaluate_need_references_and_take_no_sources() -> None:
    for name in ("bertscore", "bleu"):
        with pytest.raises(nlgauge.errors.InputError, match=f"{name} needs references="):
            evaluate.load(name).compute(predictions=["a"])
        with pytest.raises(nlgauge.errors.InputError, match="omit sources="):
            evaluate.load(name).compute(predictions=["a"], references=["a"], sources=["a"])


def test_columns_of_other_packages_are_lists_too() -> None:
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    expected = evaluate.load("chrf").compute(predictions=CANDS, references=REFS)
    assert evaluate.load("chrf").compute(predictions=np.array(CANDS), references=pd.Series(REFS)) == expected
