"""Idf tables of a study: random samples of the data at hand, and large corpora counted line by line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from nlgauge.errors import ModelError, RecipeError
from nlgauge.files.digests import file_digest
from nlgauge.files.lines import stream_lines
from nlgauge.text import IdfTable, TextTokenizer

__all__ = ["SAMPLE", "idf_table", "names_corpus", "random_sample"]

#: Segments of a random corpus in the published study.
SAMPLE = 2000


def random_sample(texts: Sequence[str], number: int, *, seed: int = 12345, size: int = SAMPLE) -> list[str]:
    """The random corpus of that number: segments without replacement, at most half of what there is.

    Half, because a sample of everything would be the same corpus each time.

    >>> random_sample([str(i) for i in range(8)], 1) == random_sample([str(i) for i in range(8)], 1)
    True
    """
    if number < 1:
        msg = f"random corpora are numbered from 1, got {number!r}"
        raise RecipeError(msg)
    rng = np.random.default_rng([seed, number])
    chosen = rng.choice(len(texts), size=max(1, min(size, len(texts) // 2)), replace=False)
    return [texts[at] for at in np.sort(chosen)]


def names_corpus(value: str) -> bool:
    """Whether a value of idf is one that only a study has: `random-1`, `corpus:FILE`."""
    return value.startswith("corpus:") or re.fullmatch(r"random-\d+", value) is not None


def idf_table(value: str, tokenizer: TextTokenizer, texts: Sequence[str], *, seed: int = 12345) -> IdfTable:
    """The table behind a value that names a corpus."""
    if value.startswith("corpus:"):
        path = Path(value.removeprefix("corpus:"))
        digest = ""
        if path.is_file():
            with contextlib.suppress(ModelError):  # an unreadable file is reported by its reader
                digest = file_digest(path)
        return _counted(str(path), digest, tokenizer)
    number = int(value.removeprefix("random-"))
    return IdfTable.count(random_sample(texts, number, seed=seed), tokenizer, source=value)


@lru_cache(maxsize=16)  # a study of many language pairs counts a corpus of millions of lines once
def _counted(path: str, digest: str, tokenizer: TextTokenizer) -> IdfTable:
    return IdfTable.count(stream_lines(path), tokenizer, source=Path(path).name)
