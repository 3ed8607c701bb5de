"""Warnings find the call that they belong to, and answers are strict JSON."""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest

import nlgauge
from nlgauge.apps.operations import operations
from nlgauge.apps.service.calls import answer, collected_warnings
from nlgauge.apps.service.request_models import request_model
from nlgauge.core.score_table import ScoreTable
from nlgauge.errors import DataWarning, InputError, NlgaugeWarning


def test_each_thread_collects_its_own() -> None:
    start = threading.Barrier(8)
    found: dict[int, list[str]] = {number: [] for number in range(8)}

    def work(number: int) -> None:
        with collected_warnings(found[number]):
            start.wait(60)
            for _ in range(50):
                warnings.warn(f"of {number}", DataWarning, stacklevel=1)

    threads = [threading.Thread(target=work, args=[number]) for number in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [f"of {number}"] for number in range(8)}


def test_others_are_left_to_whoever_had_them() -> None:
    said: list[str] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with collected_warnings(said):
            warnings.warn("mine", NlgaugeWarning, stacklevel=1)
            warnings.warn("elsewhere", UserWarning, stacklevel=1)
        warnings.warn("after", NlgaugeWarning, stacklevel=1)
    assert said == ["mine"]
    assert [str(one.message) for one in seen] == ["elsewhere", "after"]


def test_filters_that_somebody_left_behind_do_no_harm() -> None:
    said: list[str] = []
    with warnings.catch_warnings():
        with collected_warnings(said):
            pass
        warnings.simplefilter("ignore", NlgaugeWarning)
        with collected_warnings(said):
            warnings.warn("heard", NlgaugeWarning, stacklevel=1)
    assert said == ["heard"]


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_score_that_is_not_a_number_is_refused_as_by_commands(number: float) -> None:
    request = request_model(operations()["score"]).model_validate({"hyps": ["a"], "refs": ["a"], "metric": "chrf"})
    score = nlgauge.score(["a"], ["a"], metric="chrf")
    broken = ScoreTable((replace(score, segments={score.main: np.array([number])}),))
    with pytest.raises(InputError, match="a value that JSON has no word for"):
        answer(request, broken, "json", [])
