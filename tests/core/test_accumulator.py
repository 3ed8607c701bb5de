"""update, compute, reset: scores of batches equal those of one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.core.test_merging import HASH, HYPS, REFS

import nlgauge
from nlgauge.errors import EmptyPairError, InputError, RecipeError
from nlgauge.testing import hash_encoder

pytestmark = pytest.mark.filterwarnings("ignore::nlgauge.errors.EmptyTextWarning")


@pytest.fixture(autouse=True)
def small_encoder() -> Iterator[None]:
    with hash_encoder():
        yield


def filled(metric: str, sizes: tuple[int, ...] = (1, 2, 2), **options: Any) -> nlgauge.Accumulator:
    running, start = nlgauge.Accumulator(metric, **options), 0
    for size in sizes:
        running.update(HYPS[start : start + size], REFS[start : start + size])
        start += size
    return running


@pytest.mark.parametrize(
    "metric",
    [HASH, "bleu", "bertscore:model=hash,layer=1,idf=refs", "sentsim:model=hash,layer=1,combine=wmd,against=refs"],
)
def test_batches_give_same_score_as_one_call(metric: str) -> None:
    running = filled(metric)
    assert len(running) == 5
    expected = nlgauge.score(HYPS, REFS, metric=metric).to_dict()
    assert running.compute().to_dict() == expected
    assert running.compute().to_dict() == expected  # nothing was used up
    assert filled(metric, (5,)).compute().to_dict() == expected


def test_compute_keeps_batches_and_reset_drops_them() -> None:
    running = filled(HASH, (1, 2))
    assert len(running.compute()) == 3
    running.update(HYPS[3:], REFS[3:])
    assert running.compute().to_dict() == nlgauge.score(HYPS, REFS, metric=HASH).to_dict()
    running.reset()
    with pytest.raises(InputError, match="no segments to score: call update"):
        running.compute()
    running.update(HYPS[:1], REFS[:1])
    assert len(running.compute()) == 1


@pytest.mark.parametrize("metric", [HASH, "bertscore:model=hash,layer=1,idf=refs"])
def test_merge_accumulators_of_several_processes(metric: str) -> None:
    first, other = nlgauge.Accumulator(metric), nlgauge.Accumulator(metric)
    first.update(HYPS[:2], REFS[:2])
    other.update(HYPS[2:], REFS[2:])
    first.merge(other)
    assert first.compute().to_dict() == nlgauge.score(HYPS, REFS, metric=metric).to_dict()
    with pytest.raises(InputError, match="Accumulators of different recipes"):
        first.merge(nlgauge.Accumulator("chrf"))
    with pytest.raises(InputError, match="cannot merge an Accumulator with itself"):
        first.merge(first)


def test_refused_batch_changes_nothing() -> None:
    running = filled(HASH, (1,))
    with pytest.raises(EmptyPairError):
        running.update([""], [""])
    assert len(running) == 1


def test_sources_in_every_batch_or_in_none() -> None:
    running = nlgauge.Accumulator("bertscore:model=hash,layer=1,idf=refs")
    running.update(["the cat"], ["a cat"], sources=["die Katze"])
    with pytest.raises(InputError, match="pass sources in every update"):
        running.update(["the dog"], ["a dog"])


def test_one_metric_and_known_options() -> None:
    with pytest.raises(RecipeError, match="accepts one metric"):
        nlgauge.Accumulator(["bleu", "chrf"])  # type: ignore[arg-type]  # on purpose
    with pytest.raises(RecipeError, match="unknown keyword 'layers' for"):
        nlgauge.Accumulator("bertscore", layers=3)


def test_texts_can_be_checked_without_adding_them() -> None:
    running = nlgauge.Accumulator("chrf")
    assert len(running.check(["a cat"], ["a dog"])) == 1
    with pytest.raises(nlgauge.errors.InputError):
        running.check(["a cat"], ["a dog", "a cow"])
    assert len(running) == 0
    assert not running.keeps_texts
    assert nlgauge.Accumulator("bertscore", idf="refs").keeps_texts
