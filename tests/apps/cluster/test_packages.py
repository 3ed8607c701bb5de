"""What is said where pyarrow or ray is not installed."""

from __future__ import annotations

import sys

import pytest

from nlgauge.errors import MissingExtraError
from nlgauge.io.large_tables import package


@pytest.mark.parametrize("name", ["pyarrow.parquet", "ray"])
def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    top = name.partition(".")[0]
    for known in [one for one in sys.modules if one.partition(".")[0] == top]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, top, None)
    with pytest.raises(MissingExtraError, match=rf"need {top}: pip install 'nlgauge\[cluster\]'"):
        package(name)
