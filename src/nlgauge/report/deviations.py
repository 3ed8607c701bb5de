"""A word on the numbers (D5.1, D19) by which texts name where a paper and its released code disagree."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["deviation_notes"]


def deviation_notes(texts: Iterable[str]) -> list[str]:
    """Where such a number is explained; nothing where the texts have none.

    >>> deviation_notes(["435 rows of lv-en (D8.12)", "aclanthology.org/D19-1053"])
    ['numbers such as D8.12 are rows of docs/deviations.md']
    """
    for text in texts:
        found = re.search(r"\bD\d+(\.\d+)?(?![\w-])", text)
        if found:
            return [f"numbers such as {found[0]} are rows of docs/deviations.md"]
    return []
