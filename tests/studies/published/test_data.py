"""What of a published table cannot be computed is listed as missing; bugs and broken files stay errors."""

from __future__ import annotations

import pytest

from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import Run


def test_domain_error_is_listed_as_missing_with_its_reason() -> None:
    run = Run(Request(table=PAPER_TABLES["repro-table3"]))
    with run.or_missing("value of SSS, si-en"):
        raise InputError("Sinhala is not read")
    assert list(run.missing) == ["value of SSS, si-en: Sinhala is not read"]


def test_an_error_of_a_metric_is_listed_with_its_type() -> None:
    run = Run(Request(table=PAPER_TABLES["repro-table3"]))
    with run.or_missing("value of SSS, de-en"):
        raise IndexError("list index out of range")
    assert list(run.missing) == ["value of SSS, de-en: IndexError: list index out of range"]


def test_a_broken_file_is_raised() -> None:
    run = Run(Request(table=PAPER_TABLES["repro-table3"]))
    with pytest.raises(FileFormatError), run.or_missing("value"):
        raise FileFormatError("a broken file")
    assert not run.missing
