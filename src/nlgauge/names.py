"""What a misspelt name was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to put behind a message, or nothing where no known name is near.

    >>> did_you_mean("bertscor", ["bertscore", "bleu"])
    "; did you mean 'bertscore'?"
    """
    spellings = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), spellings, n=1, cutoff=0.7)
    return f"; did you mean {spellings[near[0]]!r}?" if near else ""
