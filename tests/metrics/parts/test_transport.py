"""Shared parts of transport metrics: flows, labels, empty texts, idf in the run part."""

from __future__ import annotations

import json

import pytest
from tests.samples import HYPS, REFS

import nlgauge


@pytest.mark.parametrize(
    ("metric", "score_of_cost"),
    [
        ("moverscore", lambda cost: 1 - cost),
        ("moverscore:n=2", lambda cost: 1 - cost),
        ("moverscore:profile=v2", lambda cost: 1 / (1 + cost)),
        ("moverscore:profile=paper", lambda cost: cost),
        ("smd", lambda cost: 1 - cost),
        ("baryscore", lambda cost: cost),
        ("baryscore:profile=released", lambda cost: cost),
    ],
)
def test_the_flow_explains_the_score(metric: str, score_of_cost: object) -> None:
    score = nlgauge.score(HYPS, REFS, metric=metric, alignments=True)
    assert score.alignments is not None
    for value, flow in zip(score.segments[score.main], score.alignments, strict=True):
        assert isinstance(flow, nlgauge.plugin.Flow)
        assert flow.flow.shape == flow.cost.shape == (len(flow.hypothesis_tokens), len(flow.reference_tokens))
        assert flow.flow.sum() == pytest.approx(1)
        assert value == pytest.approx(score_of_cost((flow.flow * flow.cost).sum()), abs=1e-9)  # type: ignore[operator]
    json.dumps(score.to_dict(), allow_nan=False)


def test_labels_are_the_n_grams() -> None:
    score = nlgauge.score(HYPS[1:2], REFS[1:2], metric="moverscore:n=2,idf=none", alignments=True)
    assert score.alignments is not None
    flow = score.alignments[0]
    assert isinstance(flow, nlgauge.plugin.Flow)
    assert flow.hypothesis_tokens == ("[CLS] bread", "bread is", "is good", "good [SEP]")


@pytest.mark.parametrize(
    ("metric", "best"),
    [
        ("moverscore:idf=none", 1.0),
        ("smd:idf=none", 1.0),
        ("smd:profile=web", 0.0),
        ("moverscore:profile=paper,idf=none", 0.0),
    ],
)
def test_an_empty_text_is_never_the_best(metric: str, best: float) -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        score = nlgauge.score(["", HYPS[0], REFS[0]], [REFS[0]] * 3, metric=metric)
    sign = 1 if score.higher_is_better else -1
    empty, unlike, same = sign * score.score
    assert unlike < same
    assert empty < sign * best - 0.2


def test_the_run_part_names_each_systems_own_idf() -> None:
    first, two = nlgauge.score_systems({"a": HYPS, "b": REFS[::-1]}, REFS, metric=["moverscore"])
    assert first.signature.recipe == two.signature.recipe
    assert first.signature.run["idf_hyps"] != two.signature.run["idf_hyps"]
    assert "idf_hyps" not in nlgauge.score(HYPS, REFS, metric="moverscore:idf=refs").signature.run
