"""Tiles: parts of blocks whose vectors fit in memory, and windows of tiles that share what is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.pairs.plan import PairPlan
from nlgauge.text import Tokens

__all__ = ["Tile", "cut_at", "texts_of", "tiles_of", "windows_of"]


class Tile(NamedTuple):
    """Hypotheses and references, by number, that are compared while their vectors are in memory."""

    block: int
    rows: Sequence[int]
    columns: Sequence[int]
    others: bool
    """Whether a row is not compared with the column of its number."""

    @property
    def pairs(self) -> int:
        """How many are compared."""
        left_out = len({*self.rows} & {*self.columns}) if self.others else 0
        return len(self.rows) * len(self.columns) - left_out

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """Which pairs are compared."""
        if not self.others:
            return np.ones((len(self.rows), len(self.columns)), dtype=bool)
        wanted: NDArray[np.bool_] = np.asarray(self.rows)[:, None] != np.asarray(self.columns)
        return wanted


def tiles_of(plan: PairPlan, tokens: Mapping[str, Tokens], budget: int) -> Iterator[Tile]:
    """Blocks, or parts of those that have more than `budget` tokens; texts of one length stand together."""
    for number, block in enumerate(plan.blocks):
        left = {row: len(tokens[plan.hypotheses[row]]) for row in block.rows}
        right = {column: len(tokens[plan.references[column]]) for column in block.columns}
        rows, columns = sorted(left, key=left.__getitem__), sorted(right, key=right.__getitem__)
        total = sum(left.values()) + sum(right.values())
        most = total if total <= budget else budget // 2
        for some in cut_at(columns, right, most):
            for part in cut_at(rows, left, most):
                yield Tile(number, part, some, block.others)


def windows_of(
    tiles: Iterable[Tile], plan: PairPlan, tokens: Mapping[str, Tokens], budget: int
) -> Iterator[list[Tile]]:
    """Tiles in a row whose texts have at most `budget` tokens together, or single ones."""
    window: list[Tile] = []
    seen, size = set[str](), 0
    for tile in tiles:
        texts = set(texts_of([tile], plan))
        cost = sum(len(tokens[text]) for text in texts - seen)
        if window and size + cost > budget:
            yield window
            window, seen, size = [], set(), 0
            cost = sum(len(tokens[text]) for text in texts)
        window.append(tile)
        seen |= texts
        size += cost
    if window:
        yield window


def texts_of(tiles: Iterable[Tile], plan: PairPlan) -> list[str]:
    """All texts of tiles, each once."""
    found: dict[str, None] = {}
    for tile in tiles:
        found |= dict.fromkeys(plan.hypotheses[row] for row in tile.rows)
        found |= dict.fromkeys(plan.references[column] for column in tile.columns)
    return list(found)


def cut_at(items: Sequence[int], sizes: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Items in a row whose sizes sum to at most `most`, or single ones."""
    part: list[int] = []
    total = 0
    for item in items:
        if part and total + sizes[item] > most:
            yield part
            part, total = [], 0
        part.append(item)
        total += sizes[item]
    if part:
        yield part
