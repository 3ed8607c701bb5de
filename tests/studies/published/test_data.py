"""What of a published table cannot be computed is listed as missing; bugs and broken files stay errors."""

from __future__ import annotations

import pytest

from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.published.runs import or_missing


def test_domain_error_is_listed_as_missing_with_its_reason() -> None:
    missing: dict[str, None] = {}
    with or_missing("value of SSS, si-en", missing):
        raise InputError("Sinhala is not read")
    assert list(missing) == ["value of SSS, si-en: Sinhala is not read"]


@pytest.mark.parametrize("error", [IndexError("a bug"), FileFormatError("a broken file")])
def test_bugs_and_broken_files_are_raised(error: Exception) -> None:
    missing: dict[str, None] = {}
    with pytest.raises(type(error)), or_missing("value", missing):
        raise error
    assert not missing
