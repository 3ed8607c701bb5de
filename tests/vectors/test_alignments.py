"""Alignments as plain data and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nlgauge
from nlgauge.core.result import from_plain
from nlgauge.testing import hash_encoder
from nlgauge.vectors.cloud import Alignment, Flow


@pytest.fixture(scope="module")
def scores() -> list[nlgauge.Score]:
    with hash_encoder() as model:
        return nlgauge.score_systems(
            {"": ["the black cat sat"]},
            ["a cat sat on the mat"],
            metric=["bertscore:layer=2", "moverscore:n=2,idf=none"],
            model=model,
            alignments=True,
        )


def test_spans_survive_json_and_similarities_are_left_out(scores: list[nlgauge.Score]) -> None:
    for score, kind in zip(scores, (Alignment, Flow), strict=True):
        assert score.alignments is not None
        result = score.alignments[0]
        assert isinstance(result, kind)
        again = from_plain(Alignment | Flow | None, json.loads(json.dumps(result.to_dict())))
        assert again is not None
        assert again.hypothesis_spans == result.hypothesis_spans
        assert again.reference_spans == result.reference_spans
    assert "similarity" not in scores[0].to_dict()["segments"][0]["alignment"]


def test_an_alignment_of_an_earlier_version_has_no_spans(scores: list[nlgauge.Score]) -> None:
    assert scores[0].alignments is not None
    record = scores[0].alignments[0].to_dict()  # type: ignore[union-attr]
    old = {name: value for name, value in record.items() if not name.endswith("_spans")}
    again = from_plain(Alignment | Flow | None, old)
    assert isinstance(again, Alignment)
    assert again.hypothesis_spans == ()
    assert again.similarity is None


def test_ngram_spans_the_characters_of_its_tokens(scores: list[nlgauge.Score]) -> None:
    assert scores[1].alignments is not None
    flow = scores[1].alignments[0]
    assert isinstance(flow, Flow)
    assert flow.hypothesis_tokens[1] == "the black"
    assert flow.hypothesis_spans[:2] == (((0, 3),), ((0, 3), (4, 9)))  # [CLS] stands nowhere
    assert np.isclose(flow.flow.sum(), 1)


def test_a_notebook_shows_who_matched_whom() -> None:
    match = nlgauge.score(["A <b>cat</b> sat."], ["A cat sat."], alignments=True).alignments
    flow = nlgauge.score(["A cat sat."], ["A cat lay."], metric="moverscore", idf="none", alignments=True).alignments
    assert match is not None
    assert flow is not None
    shown = match[0]._repr_html_()  # type: ignore[union-attr]
    assert "<td>sat</td><td>sat</td>" in shown
    assert "<td>&lt;</td>" in shown
    assert "[CLS]" not in shown
    assert "<th>flow</th><th>cost</th>" in flow[0]._repr_html_()  # type: ignore[union-attr]
