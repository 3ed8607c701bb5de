"""Texts that several tests score."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Three pairs of unequal length, one with a word that the models' vocabulary does not hold.
HYPS = ["A ferry was cancelled in the storm.", "Bread is good.", "Nobody wrote unputdownable letters."]
REFS = ["The ferry was called off because of the storm.", "The bread is the best.", "She wrote letters."]


@dataclass(frozen=True)
class GoldenPairs:
    """Pairs of texts, and the scores that a published implementation gives them."""

    hyps: list[str]
    refs: list[str]
    scores: dict[str, Any]


#: A date that reproducible archives give to every file.
LONG_AGO = 315_532_800  # 1980-01-01


def write_dated(path: Path, content: bytes) -> Path:
    """A file of a fixed date. Written again with content of the same size it looks as after `cp -p` or `unzip`."""
    path.write_bytes(content)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path
