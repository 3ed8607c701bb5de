"""Texts shared by several tests."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Three pairs of unequal length, one with a word outside the models' vocabulary.
HYPS = ["A ferry was cancelled in the storm.", "Bread is good.", "Nobody wrote unputdownable letters."]
REFS = ["The ferry was called off because of the storm.", "The bread is the best.", "She wrote letters."]


@dataclass(frozen=True)
class GoldenPairs:
    """Pairs of texts with their scores from a published implementation."""

    hyps: list[str]
    refs: list[str]
    scores: dict[str, Any]


#: Modification time of files in reproducible archives.
LONG_AGO = 315_532_800  # 1980-01-01


def write_dated(path: Path, content: bytes) -> Path:
    """Write a file with a fixed date. New content of equal size then looks unchanged, as after `cp -p` or `unzip`."""
    path.write_bytes(content)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path
