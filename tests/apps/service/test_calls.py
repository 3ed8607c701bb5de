"""Request models have every option within limits but for files; warnings find their call; answers are strict JSON."""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import nlgauge
from nlgauge.apps.operations import operations
from nlgauge.apps.service.calls import answer, capture_warnings, request_model
from nlgauge.core.kinds import Folder, InputFile, Int, Many, OutputFile, Text
from nlgauge.core.operations import SEGMENTS, Operation
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score_table import ScoreTable
from nlgauge.errors import DataWarning, InputError, NlgaugeWarning
from nlgauge.studies.compare.comparison import CompareSettings


@dataclass(frozen=True, kw_only=True)
class Job(OptionSet):
    draws: int = option(10, Int(1), help="number of draws", limit=100)
    name: str = option("a", Text("a name"), help="name of the job")
    source: str | None = option(None, InputFile(), help="file to read")
    files: tuple[str, ...] = option((), Many(InputFile()), help="files to read")
    target: str | None = option(None, OutputFile(), help="file to write")
    cache: str | None = option(None, Folder(), help="folder")


def work(hyps: list[str], *, metric: str = "bertscore", **options: Any) -> None:
    """Work."""


JobRequest = request_model(
    Operation(
        name="work", function=work, inputs=SEGMENTS, result="nlgauge.core.rank:Ranking", help="work", options=(Job,)
    )
)


def test_a_comparison_can_be_asked_for_with_every_setting() -> None:
    model = request_model(operations()["compare"])
    assert set(CompareSettings.options()) <= set(model.model_fields)
    request = model.model_validate({"hyps": ["a"], "refs": ["a"], "metric": ["chrf"], "ties": "drop"})
    assert CompareSettings.of(request.chosen) == CompareSettings(ties="drop")


def test_local_options_are_not_sent() -> None:
    fields = request_model(operations()["score"]).model_fields
    local = {name for name, entry in RunOptions.options().items() if entry.local}
    assert {"engine", "threads", "cache", "progress"} <= local
    assert not local & set(fields)
    assert {"long", "empty", "alignments"} <= set(fields)


@pytest.mark.parametrize("name", ["source", "files", "target", "cache"])
def test_request_cannot_name_files(name: str) -> None:
    assert name not in JobRequest.model_fields
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        JobRequest.model_validate({"hyps": ["a"], name: "a.txt"})


@pytest.mark.parametrize(
    ("draws", "message"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")]
)
def test_numbers_have_the_limits_of_the_option_and_of_the_service(draws: int, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        JobRequest.model_validate({"hyps": ["a"], "draws": draws})
    assert JobRequest.model_validate({"hyps": ["a"], "draws": 7}).chosen == {"draws": 7}


def test_options_that_need_a_file_or_human_judgements_are_not_offered() -> None:
    fields = request_model(operations()["sensitivity"]).model_fields
    assert {"preset", "resamples", "lang"} <= fields.keys()
    assert fields.keys().isdisjoint({"documents", "criterion", "levels", "agreement", "idf_corpus"})
    assert request_model(operations()["discourse"]).model_fields.keys().isdisjoint({"vectors", "threshold"})


def test_warnings_are_collected_per_thread() -> None:
    start = threading.Barrier(8)
    result: dict[int, list[str]] = {number: [] for number in range(8)}

    def work(number: int) -> None:
        with capture_warnings(result[number]):
            start.wait(60)
            for _ in range(50):
                warnings.warn(f"of {number}", DataWarning, stacklevel=1)

    threads = [threading.Thread(target=work, args=[number]) for number in result]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == {number: [f"of {number}"] for number in range(8)}


def test_other_warnings_reach_the_previous_receiver() -> None:
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with capture_warnings(messages):
            warnings.warn("mine", NlgaugeWarning, stacklevel=1)
            warnings.warn("elsewhere", UserWarning, stacklevel=1)
        warnings.warn("after", NlgaugeWarning, stacklevel=1)
    assert messages == ["mine"]
    assert [str(item.message) for item in seen] == ["elsewhere", "after"]


def test_left_over_warning_filters_do_not_matter() -> None:
    messages: list[str] = []
    with warnings.catch_warnings():
        with capture_warnings(messages):
            pass
        warnings.simplefilter("ignore", NlgaugeWarning)
        with capture_warnings(messages):
            warnings.warn("heard", NlgaugeWarning, stacklevel=1)
    assert messages == ["heard"]


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_score_that_is_not_a_number_is_refused_as_by_commands(number: float) -> None:
    request = request_model(operations()["score"]).model_validate({"hyps": ["a"], "refs": ["a"], "metric": "chrf"})
    score = nlgauge.score(["a"], ["a"], metric="chrf")
    broken = ScoreTable((replace(score, segments={score.main: np.array([number])}),))
    with pytest.raises(InputError, match="a value that JSON cannot represent"):
        answer(request, broken, "json", [])
