"""A result: the number to report, arrays that stay as they are, and the way through JSON."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import nlgauge

HYPS = ["The ferry was cancelled.", "Nobody wrote a letter to the old baker in town."]
REFS = [["The ferry did not run.", "A ferry was cancelled."], ["No one wrote the baker a letter.", "Nobody wrote."]]
METRICS = ["bertscore", "moverscore", "baryscore", "bleu", "chrf", "rougel"]


@pytest.fixture(scope="module", params=METRICS)
def score(request: pytest.FixtureRequest) -> nlgauge.Score:
    return nlgauge.score(HYPS, REFS, metric=request.param, alignments=True)


def test_one_attribute_is_the_number_to_report(score: nlgauge.Score) -> None:
    assert score.system_score == score.to_dict()["score"] == score.system_scores[score.main]
    whole = score.metric in {"bleu", "chrf"}
    assert (score.system_score == score.mean) != whole


def test_the_number_to_report_of_bleu_is_sacrebleus() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    streams = [list(stream) for stream in zip(*REFS, strict=True)]
    score = nlgauge.score(HYPS, REFS, metric="bleu")
    assert score.system_score == pytest.approx(sacrebleu.corpus_bleu(HYPS, streams).score)


def test_a_signed_result_cannot_be_changed(score: nlgauge.Score) -> None:
    values = score.segments[score.main]
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 9
    with pytest.raises(TypeError):
        score.segments[score.main] = values * 2  # type: ignore[index]
    if score.best_reference is not None:
        with pytest.raises(ValueError, match="read-only"):
            score.best_reference[0] = 1
    assert (values.copy() * 2)[0] == 2 * values[0]


def test_components_are_offered_by_completion() -> None:
    names = dir(nlgauge.score(HYPS, REFS))
    assert {"precision", "recall", "f1", "system_score", "to_dict"} <= set(names)


def plain(score: nlgauge.Score) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(json.dumps(score.to_dict()))
    return record


def test_a_result_comes_back_from_json(score: nlgauge.Score) -> None:
    again = nlgauge.Score.from_dict(plain(score))
    assert again.to_dict() == score.to_dict()
    assert repr(again) == repr(score)
    assert again.signature == score.signature
    assert again.notes == score.notes
    for name, values in score.segments.items():
        assert np.array_equal(getattr(again, name), values)
    if score.metric in {"bertscore", "moverscore"}:
        assert again.alignments is not None
        assert type(again.alignments[0]) is type((score.alignments or (None,))[0])


def test_a_result_with_notes_and_a_system_comes_back() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        score = nlgauge.score_systems({"a": [*HYPS[:1], ""]}, REFS)[0]
    again = nlgauge.Score.from_dict(plain(score))
    assert (again.system, again.notes.get("empty", ()), again.counts) == ("a", (1,), score.counts)


def test_a_result_can_be_sent_to_another_process(score: nlgauge.Score) -> None:
    again = pickle.loads(pickle.dumps(score))
    assert again.to_dict() == score.to_dict()
    with pytest.raises(ValueError, match="read-only"):
        again.segments[again.main][0] = 9


@pytest.mark.parametrize("missing", ["segments", "signature", "main"])
def test_a_dict_that_is_no_result_is_refused(missing: str) -> None:
    record = plain(nlgauge.score(HYPS, REFS))
    del record[missing]
    with pytest.raises(nlgauge.errors.InputError, match=f"the dict of a score has no '{missing}'"):
        nlgauge.Score.from_dict(record)
    with pytest.raises(nlgauge.errors.InputError, match=r"a dict of Score\.to_dict"):
        nlgauge.Score.from_dict([])  # type: ignore[arg-type]
