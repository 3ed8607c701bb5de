"""Scores of metrics without the texts: a CSV per metric, a line per instance, a column per system.

    M0,M1,M2
    0.37777777777777777,0.39047619047619053,0.4368932038834952

The tables behind *Better than Average* (Peyrard, Zhao, Eger, West 2021) are pickles of such frames; each is read
from a CSV with all its digits, because a rounded copy has ties that the scores do not have. What people gave to the
same outputs (the pyramid scores of TAC) is one more frame. All scores are better when higher: JS is negated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import need_file
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.errors import FileFormatError, InputError
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import Row, delimited_rows

__all__ = ["load_score_frames"]


def load_score_frames(
    path: Path, *, folder: str, human: str = "", langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """The frames of a folder as released scores; `human` is the file of the pyramid scores, if there is one.

    Rows of the table have no texts, so that only these scores can be looked at. A segment is the number of a line.
    """
    select_known(langpairs, ["en"], "score frames: language")
    files = sorted((path / folder).glob("*.csv"))
    if not files:
        msg = f"{path}: expected files named like '{folder}/ROUGE_1.csv', got none"
        raise InputError(msg)
    frames = {file.stem: _frame(file) for file in files}
    people = _frame(need_file(path, human)) if human else None
    first, lines = next(iter(frames.items()))
    for name, other in [*frames.items(), *([("human scores", people)] if people else [])]:
        _check_parallel(name, other, first, lines)
    build = TableBuilder()
    for number, line in enumerate(lines):
        for system in line.values:
            build.add(
                line,
                segment=str(number),
                system=system,
                langpair="en",
                hypothesis="",
                human={"pyramid": people[number].number(system)} if people else None,
                released={name: frame[number].number(system) for name, frame in frames.items()},
            )
    return build.table(
        "score frames",
        default_criterion="pyramid" if people else None,
        notes=("scores only: the texts behind them are not part of the data",),
    )


def _frame(file: Path) -> list[Row]:
    return list(delimited_rows(read_bytes(str(file)), str(file), separator=","))


def _check_parallel(name: str, frame: Sequence[Row], first: str, lines: Sequence[Row]) -> None:
    """Refuse frames whose lines or columns are not those of the first: they are scores of the same outputs."""
    for what, got, expected in (
        ("lines", len(frame), len(lines)),
        ("systems", list(frame[0].values), list(lines[0].values)),
    ):
        if got != expected:
            place = frame[0].file
            msg = f"{place}: {name} has the {what} {got}, but {first} has {expected}; frames must run in parallel"
            raise FileFormatError(msg)
