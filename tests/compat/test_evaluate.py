"""The drop-in for `evaluate`: keys, feeding in parts, other metrics, refusals."""

from __future__ import annotations

import pytest

import nlgauge
from nlgauge.compat import evaluate

CANDS = ["The cat sat on the mat.", "Rain is expected in the north tomorrow.", "Nobody knew."]
REFS = [["A cat sat upon a mat.", "The cat lay there."], ["The north expects rain."], ["No one knew the answer."]]


def test_bertscore_has_the_keys_of_the_original_and_the_signature_as_its_hash() -> None:
    found = evaluate.load("bertscore").compute(predictions=CANDS, references=REFS, model_type="minilm", num_layers=4)
    expected = nlgauge.score(CANDS, REFS, layer=4, multiref="best-each", unknown="score")
    assert list(found) == ["precision", "recall", "f1", "hashcode"]
    assert found["hashcode"] == str(expected.signature)
    for name in ("precision", "recall", "f1"):
        assert found[name] == pytest.approx(expected.segments[name].tolist(), abs=1e-6)


def test_what_is_added_one_by_one_and_in_batches_counts_as_one() -> None:
    metric = evaluate.load("bertscore", keep_in_memory=True, model_type="minilm")
    metric.add(prediction=CANDS[0], reference=REFS[0])
    metric.add_batch(predictions=CANDS[1:], references=REFS[1:])
    assert len(metric) == 3
    whole = evaluate.load("bertscore").compute(predictions=CANDS, references=REFS, model_type="minilm")
    assert metric.compute() == whole
    assert len(metric) == 0


def test_other_metrics_load_by_name() -> None:
    found = evaluate.load("chrf").compute(predictions=CANDS, references=REFS)
    expected = nlgauge.score(CANDS, REFS, metric="chrf")
    assert found["score"] == expected.system_score
    assert found["chrf"] == expected.segments["chrf"].tolist()
    assert found["hashcode"] == str(expected.signature)
    mover = evaluate.load("moverscore").compute(predictions=CANDS, references=REFS, n=1)
    assert mover["score"] == nlgauge.score(CANDS, REFS, metric="moverscore", n=1).system_score


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(nlgauge.RecipeError, match="did you mean 'bertscore'"):
        evaluate.load("bertscor")
    with pytest.raises(nlgauge.RecipeError, match="num_process must be 1"):
        evaluate.load("bertscore", num_process=2)
    with pytest.raises(nlgauge.RecipeError, match="module_type"):
        evaluate.load("bertscore", module_type="comparison")
    metric = evaluate.load("chrf")
    with pytest.raises(nlgauge.InputError, match="nothing to compute"):
        metric.compute()
    with pytest.raises(nlgauge.InputError, match="needs prediction="):
        metric.add(reference="a")
    with pytest.raises(nlgauge.InputError, match="got 3 and 2"):
        metric.add_batch(predictions=CANDS, references=REFS[:2])
    with pytest.raises(nlgauge.InputError, match="got one text"):
        metric.add_batch(predictions="a", references=["a"])
    metric.add(prediction="a", reference="a")
    with pytest.raises(nlgauge.InputError, match="references must be given with every"):
        metric.add(prediction="b")
    assert len(metric) == 1
