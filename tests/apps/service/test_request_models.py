"""Request models have every option of the library, within limits, but for files."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from nlgauge.apps.service.request_models import requested, with_options
from nlgauge.apps.service.schemas import CompareRequest
from nlgauge.core.kinds import Folder, InputFile, Int, Many, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.studies.compare.settings import CompareSettings


@dataclass(frozen=True, kw_only=True)
class Job(OptionSet):
    draws: int = option(10, Int(1), help="number of draws", limit=100)
    name: str = option("a", Text("a name"), help="name of the job")
    source: str | None = option(None, InputFile(), help="file to read")
    sources: tuple[str, ...] = option((), Many(InputFile()), help="files to read")
    target: str | None = option(None, OutputFile(), help="file to write")
    cache: str | None = option(None, Folder(), help="folder")


@with_options(Job)
class JobRequest(BaseModel):
    """A job."""

    model_config = ConfigDict(extra="forbid")


def test_a_comparison_can_be_asked_for_with_every_setting() -> None:
    assert set(CompareSettings.options()) <= set(CompareRequest.model_fields)
    request = CompareRequest.model_validate({"hyps": ["a"], "refs": ["a"], "metric": ["chrf"], "ties": "drop"})
    assert CompareSettings.of(requested(request, CompareSettings)) == CompareSettings(ties="drop")


@pytest.mark.parametrize("name", ["source", "sources", "target", "cache"])
def test_a_request_names_no_files(name: str) -> None:
    assert name not in JobRequest.model_fields
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        JobRequest.model_validate({name: "a.txt"})


@pytest.mark.parametrize(
    ("draws", "message"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")]
)
def test_numbers_have_the_limits_of_the_option_and_of_the_service(draws: int, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        JobRequest.model_validate({"draws": draws})
    assert requested(JobRequest.model_validate({"draws": 7}), Job) == {"draws": 7}
