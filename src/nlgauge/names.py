"""What a misspelt name was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


#: Letters that the start of a name must have to stand for it.
_LEAST_START = 3


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to put behind a message, or nothing where no known name is near or starts alike.

    >>> did_you_mean("bertscor", ["bertscore", "bleu"])
    "; did you mean 'bertscore'?"
    >>> did_you_mean("mover", ["moverscore", "xmoverscore"])
    "; did you mean 'moverscore'?"
    """
    spellings = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), spellings, n=1, cutoff=0.7)
    if not near and len(name) >= _LEAST_START:
        near = [one for one in spellings if one.startswith(name.casefold())]
    return f"; did you mean {spellings[near[0]]!r}?" if near else ""
