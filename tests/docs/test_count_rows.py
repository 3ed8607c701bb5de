"""The count of rows of published tables by metric."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from docs.count_rows import count_kinds, main, row_states


def test_every_lexical_row_has_a_recipe() -> None:
    rows, recipes = {row[0]: row[1:3] for row in count_kinds(list(row_states()))}["lexical"]
    assert rows == recipes == 107


def test_rows_are_close_or_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(difference: float, reason: str) -> None:
        cells = {"cs-en": {"published": 0.95, "ours": 0.95 + difference, "difference": difference}}
        rows = [{"name": "WER", "cells": cells, "reason": reason}]
        (tmp_path / "bertscore-table19.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")

    for difference, reason, counts, status in ((0.02, "", "1 | 1 | 0", 0), (0.021, "why", "1 | 0 | 1", 0),
                                               (-0.021, "", "1 | 0 | 0", 1)):  # fmt: skip
        write(difference, reason)
        assert main([str(tmp_path), "--list"]) == status
        assert f"| WER | 12 | 12 | {counts} |" in capsys.readouterr().out
