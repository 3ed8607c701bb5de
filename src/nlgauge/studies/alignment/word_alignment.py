"""Which words of two texts translate each other: mutual nearest neighbours, and the files of word aligners.

FastAlign, SimAlign and their kin write one line per pair of texts, links `i-j` with blanks between: word i of the
source (from 0, words are what white space separates) belongs with word j of the target.

    0-0 1-2 2-1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.lines import read_lines
from nlgauge.io.storage import write_atomic
from nlgauge.vectors.cloud import unit_rows

#: Pairs (word of the source, word of the target), both from 0.
Links = tuple[tuple[int, int], ...]

#: SimAlign marks a possible link `ipj`, which is one here too.
_LINK = re.compile(r"(\d+)[-p](\d+)", flags=re.ASCII)


def mutual_nearest(source: ArrayLike, target: ArrayLike, *, least: float = -1.0) -> Links:
    """Words that are each other's nearest by cosine, at least `least`; the first of equally near ones counts.

    Rows are words' vectors. The same idea as SimAlign's method Argmax (Jalili Sabet et al. 2020).

    >>> mutual_nearest([[1.0, 0.0], [0.0, 1.0]], [[0.1, 2.0], [3.0, 0.0]])
    ((0, 1), (1, 0))
    """
    x, z = (unit_rows(_matrix(rows), pairwise=True) for rows in (source, target))
    if not len(x) or not len(z):
        return ()
    if x.shape[1] != z.shape[1]:
        msg = f"expected vectors of one width, got {x.shape[1]} and {z.shape[1]}"
        raise InputError(msg)
    cosine = x @ z.T
    forth, back = cosine.argmax(axis=1), cosine.argmax(axis=0)
    return tuple((i, int(j)) for i, j in enumerate(forth) if back[j] == i and cosine[i, j] >= least)


def _matrix(vectors: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2:
        msg = f"expected a matrix with a word's vector per row, got an array of shape {rows.shape}"
        raise InputError(msg)
    return rows


def parse_links(line: str, *, where: str) -> Links:
    """The links of one line; an empty line has none.

    >>> parse_links("0-0 1-2", where="line 1")
    ((0, 0), (1, 2))
    """
    links = []
    for field in line.split():
        found = _LINK.fullmatch(field)
        if found is None:
            msg = f"{where}: expected links such as 0-0 1-2, got {field!r}"
            raise FileFormatError(msg)
        links.append((int(found[1]), int(found[2])))
    return tuple(links)


def read_alignments(path: Path) -> list[Links]:
    """The links of each pair of texts, a line each."""
    try:
        lines = read_lines(path)
    except InputError as error:
        msg = f"word alignments {str(path)!r} cannot be read: {error}"
        raise FileFormatError(msg) from error
    return [parse_links(line, where=f"{path.name}, line {number}") for number, line in enumerate(lines, 1)]


def check_links(alignments: Sequence[Links], sizes: Sequence[tuple[int, int]], *, name: str) -> None:
    """Refuse links to words that are not there; `sizes` are the words of source and target of each pair."""
    if len(sizes) != len(alignments):
        msg = f"{name} has {len(alignments)} lines, but there are {len(sizes)} pairs of texts; one line per pair"
        raise InputError(msg)
    for number, (links, (left, right)) in enumerate(zip(alignments, sizes, strict=True), 1):
        for i, j in links:
            if i >= left or j >= right:
                msg = (
                    f"{name}, line {number}: link {i}-{j}, but the texts have {left} and {right} words; "
                    "give as texts the tokenised files that were aligned"
                )
                raise FileFormatError(msg)


def write_alignments(path: Path, alignments: Iterable[Iterable[tuple[int, int]]]) -> None:
    """One line per pair of texts, as word aligners write them."""
    lines = (" ".join(f"{i}-{j}" for i, j in links) for links in alignments)
    write_atomic(path, "".join(f"{line}\n" for line in lines).encode())
