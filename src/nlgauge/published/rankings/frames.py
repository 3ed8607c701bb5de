"""The frames of a published comparison that are here: scores of systems by data set and metric."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nlgauge.compare.table import SystemScores
from nlgauge.data import JudgementTable, find_data_card, load, locate
from nlgauge.errors import InputError
from nlgauge.published.data import or_missing
from nlgauge.published.rankings.table import PublishedFrames

__all__ = ["FrameSet", "find_frames", "frames_of"]


class FrameSet(NamedTuple):
    """The frames of a data set."""

    label: str
    task: str
    frames: dict[str, SystemScores]
    """By metric."""


def frames_of(table: JudgementTable) -> dict[str, SystemScores]:
    """The released scores of a data set as frames, in which every system has every segment."""
    systems, segments = table.systems, tuple(dict.fromkeys(table.segment))
    columns = {name: at for at, name in enumerate(systems)}
    lines = {name: at for at, name in enumerate(segments)}
    at = [lines[name] for name in table.segment], [columns[name] for name in table.system]
    if len(table) != len(systems) * len(segments):
        msg = f"{table.name}: {len(table)} rows are no grid of {len(segments)} segments x {len(systems)} systems"
        raise InputError(msg)
    made = {}
    for name, values in table.released.items():
        grid = np.empty((len(segments), len(systems)))
        grid[at] = values
        better = name not in table.distances
        made[name] = SystemScores(name, systems, grid, better, f"released: {table.name}", segments)
    return made


def find_frames(
    asked: Sequence[PublishedFrames],
    at: str | os.PathLike[str] | None,
    missing: dict[str, None],
    *,
    reverse: bool = False,
) -> list[FrameSet]:
    """The frames that are here; what is not is noted in `missing`, public sets with where they are published."""
    found = []
    for one in asked:
        if not one.card:
            continue
        card = find_data_card(one.card)
        place = None if at is None else locate(card, at)
        if place is None:
            where = "no folder of data was given (--at PATH)" if at is None else f"not under {os.fspath(at)!r}"
            missing[f"data set {card.name}: {where}; published at {card.published}"] = None
            continue
        with or_missing(f"frames of {one.label}", missing):
            frames = frames_of(load(one.card, place))
            if reverse:
                frames = {name: scores.take(scores.systems[::-1]) for name, scores in frames.items()}
            found.append(FrameSet(one.label, one.task, frames))
    if absent := [one for one in asked if not one.card]:
        setups = sum(one.metrics for one in absent)
        missing[f"{setups} setups whose frames the published repository lacks: {_listed(absent)}"] = None
    return found


def _listed(frames: Sequence[PublishedFrames]) -> str:
    """Labels, those of one year of WMT together."""
    groups: dict[str, list[str]] = {}
    for one in frames:
        name, _, pair = one.label.partition(" ")
        groups.setdefault(name, []).extend([pair] if pair else [])
    return ", ".join(f"{name} ({', '.join(pairs)})" if pairs else name for name, pairs in groups.items())
