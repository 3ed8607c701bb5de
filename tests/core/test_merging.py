"""Merging the scores of parts of a corpus."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import nlgauge
from nlgauge.core.score import Score
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.bleu import SacreBLEUMetric
from nlgauge.testing import hash_encoder

HYPS = ["the cat sat on the mat .", "a dog ran", "", "it was the old storm !", "the bird"]
REFS: list[Any] = [
    "the cat slept on a mat .",
    ["a dog ran over", "the dog"],
    "a tree",
    "the storm was old",
    "a bird !",
]
HASH = "bertscore:model=hash,layer=1"

pytestmark = pytest.mark.filterwarnings("ignore::nlgauge.errors.EmptyTextWarning")


@pytest.fixture(autouse=True)
def small_encoder() -> Iterator[None]:
    with hash_encoder():
        yield


def parts(metric: str, **options: Any) -> list[Score]:
    cuts = [(0, 1), (1, 3), (3, 5)]
    return [nlgauge.score(HYPS[a:b], REFS[a:b], metric=metric, **options) for a, b in cuts]


@pytest.mark.parametrize("metric", [HASH, "bleu", "chrf", "rouge1", "moverscore:model=hash,idf=none"])
def test_merged_parts_equal_one_call(metric: str) -> None:
    whole = nlgauge.score(HYPS, REFS, metric=metric)
    assert Score.merge(parts(metric)).to_dict() == whole.to_dict()
    assert Score.merge([Score.from_dict(part.to_dict()) for part in parts(metric)]).to_dict() == whole.to_dict()


def test_alignments_are_merged_if_all_parts_have_them() -> None:
    result = parts(HASH, alignments=True)
    whole = nlgauge.score(HYPS, REFS, metric=HASH, alignments=True)
    assert Score.merge(result).to_dict() == whole.to_dict()
    assert Score.merge([result[0], *parts(HASH)[1:]]).alignments is None


def test_a_merged_score_can_be_pickled_and_merged_again() -> None:
    first, *rest = parts(HASH)
    once = pickle.loads(pickle.dumps(Score.merge(rest)))
    assert Score.merge([first, once]).to_dict() == Score.merge([first, *rest]).to_dict()


@pytest.mark.parametrize("metric", [f"{HASH},idf=refs", "sentsim:model=hash,layer=1,against=refs,combine=wmd"])
def test_scores_scaled_over_their_corpus_are_refused(metric: str) -> None:
    first, other = nlgauge.score(HYPS[:2], REFS[:2], metric=metric), nlgauge.score(HYPS[2:], REFS[2:], metric=metric)
    with pytest.raises(InputError, match="cannot merge: scores"):
        Score.merge([first, other])


def test_merge_refuses_scores_of_several_systems() -> None:
    first = nlgauge.score_systems({"a": HYPS, "b": HYPS}, REFS, metric=HASH)
    with pytest.raises(InputError, match="of system 'b', scores"):
        Score.merge(first)
    with pytest.raises(InputError, match="at least one score"):
        Score.merge([])
    with pytest.raises(InputError, match=r"scores\[1\]: expected a Score, got float"):
        Score.merge([first[0], 0.5])  # type: ignore[list-item]  # on purpose


def test_a_corpus_score_without_its_counts_cannot_be_merged() -> None:
    records = [part.to_dict() for part in parts("bleu")]
    for record in records:
        del record["statistics"]
    with pytest.raises(InputError, match="the counts of segments are missing"):
        Score.merge([Score.from_dict(record) for record in records])


def test_metric_without_corpus_scores_cannot_be_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = nlgauge.score(["a b c d"], ["a b c e"], metric="bleu")
    monkeypatch.delattr(SacreBLEUMetric, "corpus_scores")
    with pytest.raises(RecipeError, match=r"cannot merge .*bleu .* does not define corpus_scores\(\); define it"):
        Score.merge([first, first])
