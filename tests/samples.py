"""Texts that several tests score."""

from __future__ import annotations

from dataclasses import dataclass
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
