"""The cancellation hook is called before every pair, for every metric."""

from __future__ import annotations

import pytest

import nlgauge
from nlgauge.encoders.run_context import run_context

HYPS = ["A cat sat.", "It rained.", "Nobody came."]
REFS = ["The cat sat.", "There was rain.", "No one came."]


@pytest.mark.parametrize("metric", ["bertscore", "moverscore", "bleu", "rougel"])
def test_check_is_called_for_every_pair(metric: str) -> None:
    looks = []
    with run_context(check=lambda: looks.append(1)):
        nlgauge.score(HYPS, REFS, metric=metric)
    assert len(looks) == len(HYPS)
    nlgauge.score(HYPS, REFS, metric=metric)
    assert len(looks) == len(HYPS), "nobody watches any more"


@pytest.mark.parametrize("metric", ["bertscore", "rougel"])
def test_check_can_end_run_without_affecting_other_runs(metric: str) -> None:
    def end() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError), run_context(check=end):
        nlgauge.score(HYPS, REFS, metric=metric)
    nlgauge.score(HYPS, REFS, metric=metric)
