"""The file in which a run keeps what it has finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.engine.checkpoint import StudyState
from nlgauge.errors import FileFormatError


def test_a_state_that_is_empty_or_torn_at_its_head_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "study.state"
    for content in ("", '{"form'):
        path.write_text(content, encoding="utf-8")
        assert len(StudyState(path)) == 0
        assert path.read_text(encoding="utf-8") == '{"format": "nlgauge-study/1"}\n'


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "study.state"
    path.write_text('{"format": "nlgauge-study/1"}\n{"key": 3}\n', encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"study\.state', line 2"):
        StudyState(path)
