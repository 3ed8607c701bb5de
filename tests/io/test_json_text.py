"""JSON for people: rows of plain values on one line each, and the same content as ever."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.errors import InputError
from nlgauge.io.storage import json_text

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


@given(VALUES)
def test_what_is_written_is_read_back(value: object) -> None:
    assert json.loads(json_text(value)) == value


def test_rows_of_plain_values_are_lines() -> None:
    assert json_text({"a": [[1, 2], []], "b": {}}) == '{\n  "a": [\n    [1, 2],\n    []\n  ],\n  "b": {}\n}\n'


def test_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="JSON cannot represent"):
        json_text({"mean": [math.nan]})
