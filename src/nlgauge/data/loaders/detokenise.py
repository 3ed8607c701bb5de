"""Moses detokenisation, by `sacremoses`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from nlgauge.errors import MissingExtraError

__all__ = ["moses_detokeniser"]


@cache
def moses_detokeniser(language: str) -> Callable[[str], str]:
    """A function that joins Moses tokens to running text: no blanks before punctuation, entities unescaped."""
    try:
        from sacremoses import MosesDetokenizer
    except ImportError as error:
        msg = (
            "the official WMT17 protocol detokenises with sacremoses, which is not installed; run "
            "pip install 'nlgauge[meta]', or ask for the text as it stands (detokenise=False)"
        )
        raise MissingExtraError(msg) from error
    detokeniser = MosesDetokenizer(lang=language)

    def detokenise(text: str) -> str:
        joined: str = detokeniser.detokenize(text.split())
        return joined

    return detokenise
