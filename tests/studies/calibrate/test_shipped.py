"""Shipped curves: their recipes are those of `nlgauge score`, and their thresholds those of an independent trial."""

from __future__ import annotations

import pytest

import nlgauge
from nlgauge.studies.calibrate.curves import AgreementCurve, AgreementCurves, find_curve, load_curves

#: Differences at 80 % and 90 % agreement: an independent fit of the same form on another sample of 1,000 segments per
#: system of WMT17, and of WMT18 (MiniLM in int8). The curve of both years must lie between those of each.
TRIAL = {
    "bertscore": ((0.0041, 0.0074), (0.0052, 0.0108)),
    "moverscore": ((0.009, 0.019), (0.011, 0.038)),
    "chrf": ((0.8, 1.4), (1.2, 2.5)),
}


def shipped(metric: str) -> tuple[AgreementCurves, AgreementCurve]:
    for file in load_curves("wmt"):
        for curve in file.curves:
            if curve.metric == metric:
                return file, curve
    pytest.fail(f"no curve of {metric}")


@pytest.mark.parametrize("metric", TRIAL)
def test_thresholds_agree_with_the_trial(metric: str) -> None:
    """A tenth of tolerance, because the trial drew other segments."""
    _, curve = shipped(metric)
    for agreement, (low, high) in zip((0.8, 0.9), TRIAL[metric], strict=True):
        size = curve.fit.size_at(agreement)
        assert size is not None
        assert 0.9 * low <= size <= 1.1 * high


@pytest.mark.parametrize("metric", TRIAL)
def test_all_pairs_of_both_years_are_in_the_curve(metric: str) -> None:
    """5 to 16 systems per language pair: 699 pairs."""
    file, curve = shipped(metric)
    assert curve.pairs == 699
    assert (file.origin.name, file.origin.data, len(file.origin.langpairs)) == ("WMT17-18", ("wmt17", "wmt18"), 8)


@pytest.mark.parametrize("name", ["chrf", "bleu"])
def test_recipes_of_text_metrics_are_the_defaults(name: str) -> None:
    score = nlgauge.score(["a b c d"], ["a b c e"], metric=name)
    match = find_curve(load_curves("wmt"), score.signature)
    assert match is not None
    assert match[1].metric == name


@pytest.mark.parametrize("metric", ["bertscore", "bertscore:model=mpnet"])
def test_errors_on_left_out_groups_are_within_the_limit(metric: str) -> None:
    _, curve = shipped(metric)
    errors = {row.groups: row.error for row in curve.left_out}
    assert errors.keys() == {"year", "langpair"}
    assert all(error <= 0.05 for error in errors.values())


def test_default_recipe_has_a_curve_in_both_precisions() -> None:
    _, curve = shipped("bertscore")
    assert curve.precision == "int8"
    assert 0 < curve.tolerances["fp32"] < 0.001
    fields = {"layer": "4", "weights": "53aa51172d14", "rescale": "no", "idf": "none", "refs": "1"}
    assert {key: curve.fields[key] for key in fields} == fields


def test_summaries_have_curves_of_their_own() -> None:
    """SummEval: 16 systems; TAC 2008: 58 automatic systems."""
    for name, pairs, references in (("summeval", 120, "1"), ("tac", 1653, "4")):
        (file,) = load_curves(name)
        assert {curve.pairs for curve in file.curves} == {pairs}
        assert {curve.fields["refs"] for curve in file.curves} == {references}
        assert {"bertscore", "moverscore"} <= {curve.metric for curve in file.curves}


@pytest.mark.parametrize("metric", ["moverscore", "baryscore"])
def test_transport_with_mpnet_has_curves_of_the_pairs_of_bertscore(metric: str) -> None:
    """4, 6, 9, 9 and 10 systems in WMT17, 5, 9, 8 and 5 in WMT18."""
    file, curve = shipped(f"{metric}:model=mpnet")
    assert file.origin.langpairs == ("cs-en", "fi-en", "lv-en", "ru-en", "tr-en")
    systems = (4, 6, 9, 9, 10, 5, 9, 8, 5)
    assert curve.pairs == sum(count * (count - 1) // 2 for count in systems) == 222
    assert (curve.segments, curve.precision) == (400, "int8")
    assert (curve.fields["weights"], curve.fields["layers"]) == ("78c0197b6159", "8-12")
    assert 0 < curve.tolerances["fp32"] < 0.002
    assert {row.groups for row in curve.left_out} == {"year", "langpair"}


@pytest.mark.heavy
@pytest.mark.model
@pytest.mark.parametrize("metric", ["bertscore", "moverscore", "baryscore"])
def test_mpnet_gets_a_statement(metric: str) -> None:
    outputs, references = ["A cat sat.", "Rain fell all day."], ["The cat was sitting.", "It rained today."]
    score = nlgauge.score(outputs, references, metric=metric, model="mpnet")
    match = find_curve(load_curves("wmt"), score.signature)
    assert match is not None
    assert match[1].metric == f"{metric}:model=mpnet"


@pytest.mark.model
def test_default_bertscore_gets_a_statement() -> None:
    score = nlgauge.score(["A cat sat on the mat."], ["The cat sat."], metric="bertscore")
    assert find_curve(load_curves("wmt"), score.signature) is not None
