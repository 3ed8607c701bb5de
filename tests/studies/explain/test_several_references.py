"""Several references: one is shown, and the sentence says how the score was made of all."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import nlgauge
from nlgauge.core.registry import parse_metric
from nlgauge.studies.explain.explanation import Explanation, SeveralReferences
from nlgauge.studies.explain.pairs import explain_pair, explain_segments, reference_rule
from nlgauge.testing import hash_encoder

HYP = "the cat sat on the mat"
REFS = ["a dog ran", "the cat sat on a mat", "the bird"]


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with hash_encoder() as name:
        yield name


#: Without idf, so that a reference scores alone what it scores among others.
MEANS = ["moverscore:idf=none", "baryscore:idf=none", "bertscore:layer=2,multiref=mean", "rouge1"]


@pytest.mark.parametrize("metric", MEANS)
def test_a_mean_names_what_each_reference_gives(model: str, metric: str) -> None:
    options = {} if metric == "rouge1" else {"model": model}
    result = explain_pair(HYP, REFS, metric=metric, **options)
    alone = [explain_pair(HYP, ref, metric=metric, **options).score for ref in REFS]
    assert result.references is not None
    assert (result.references.rule, result.references.number, result.references.shown) == ("mean", 3, 1)
    assert result.references.scores == pytest.approx(alone, abs=1e-6)
    assert result.score == pytest.approx(sum(alone) / 3, abs=1e-6)
    first, second, third = (f"{value:.3f}" for value in alone)
    message = f"This is the mean over 3 references ({first}, {second} and {third}); the best of them"
    assert f"{message} ({second}) is shown." in result.sentence
    assert result.reference.text == REFS[1]
    assert "reference 2 of 3 is shown (the best)" in result.notes


def test_the_score_of_the_best_is_that_of_the_one_shown(model: str) -> None:
    result = explain_pair(HYP, REFS, metric="moverscore:idf=none,multiref=best", model=model)
    assert result.references == SeveralReferences("best", 3, 1, ())
    assert "mean" not in result.sentence


def test_a_metric_that_reads_all_references_shows_the_first() -> None:
    result = explain_pair(HYP, REFS[:2], metric="chrf")
    first, second = (explain_pair(HYP, ref, metric="chrf").score for ref in REFS[:2])
    message = (
        f"The metric uses both references together; against each single reference it is {first:.3f} and {second:.3f}"
    )
    assert f"{message}; the first is shown." in result.sentence
    assert (result.reference.text, result.score) == (REFS[0], pytest.approx(second))  # chrF takes the best of them


def test_note_names_contributions_to_the_reference_shown() -> None:
    result = explain_pair(HYP, REFS, metric="bertscore:multiref=mean")
    assert any("precision and recall against the reference shown (precision" in note for note in result.notes)
    rescaled = explain_pair(HYP, REFS, metric="bertscore:multiref=mean,rescale=yes")
    assert any(
        "precision and recall before rescaling and against the reference shown" in note for note in rescaled.notes
    )
    assert rescaled.references is not None
    assert sum(rescaled.references.scores) / 3 == pytest.approx(rescaled.score, abs=1e-9)
    each = explain_pair(HYP, REFS, metric="bertscore:multiref=best-each")
    assert "precision, recall and f1 are each the maximum over references (multiref=best-each)" in each.notes
    other = explain_pair(HYP, REFS, metric="rouge1", side="reference")
    assert any("left out of the reference shown" in note for note in other.notes)


def test_single_reference_is_not_described(model: str) -> None:
    result = explain_pair(HYP, REFS[1], metric="moverscore", model=model)
    assert result.references is None
    assert "reference" not in result.sentence.split(".")[0]


@pytest.mark.parametrize("carried", [False, True])
def test_segments_of_a_score_describe_references(model: str, carried: bool) -> None:
    hyps, refs = [HYP, "a bird"], [REFS[:2], ["the bird"]]
    score = nlgauge.score(hyps, refs, metric="moverscore", model=model, alignments=carried)
    single, several = explain_segments(score, [1, 0])
    assert single.references is None
    assert several.references is not None
    assert sum(several.references.scores) / 2 == pytest.approx(score.segments["score"][0], abs=1e-9)


def test_a_score_that_is_scaled_over_the_corpus_has_none_for_each_reference() -> None:
    hyps, refs = [HYP, "a bird"], [REFS[:2], ["the bird", "a dog"]]
    score = nlgauge.score(hyps, refs, metric="sentsim:against=refs,model=minilm,combine=sss+wmd")
    result = score.explain(0)
    assert result.references is not None
    assert result.references.scores == ()
    assert "This is the mean over 2 references; the best of them is shown." in result.sentence


def test_json_contains_several_references(model: str) -> None:
    result = explain_pair(HYP, REFS, metric="moverscore", model=model)
    record = json.loads(json.dumps(result.to_dict()))
    again = Explanation.from_dict(record)
    assert again.references == result.references
    assert again.sentence == result.sentence


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        ("bertscore", "best"),
        ("moverscore", "mean"),
        ("xmoverscore", "mean"),
        ("bleu", "together"),
        ("rouge1", "mean"),
    ],
)
def test_the_rule_is_that_of_the_recipe(metric: str, rule: str) -> None:
    assert reference_rule(parse_metric(metric)) == rule
