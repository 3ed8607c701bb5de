"""Data sets by name: find the card, find the files in a folder, load them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from nlgauge.core.options import did_you_mean
from nlgauge.core.result import Result
from nlgauge.data.card import DataCard
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.loaders.common import files_below
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import Cell, Table
from nlgauge.io.toml_records import read_records

#: The known data sets by name.
DATA_CARDS: Mapping[str, DataCard] = read_records(Path(__file__).with_name("cards.toml"), DataCard)


def find_data_card(name: str) -> DataCard:
    """The card of that name."""
    if name not in DATA_CARDS:
        msg = f"no data set is known as {name!r}; known are {', '.join(DATA_CARDS)}{did_you_mean(name, DATA_CARDS)}"
        raise RecipeError(msg)
    return DATA_CARDS[name]


def locate(card: DataCard, path: str | os.PathLike[str]) -> Path | None:
    """Where in a path the data set lies: the path itself, or one of its usual folders in it; None if nowhere."""
    base = Path(path)
    telling = [group.pattern for group in card.files if not group.shared]
    if base.is_file():
        return base if any(base.match(pattern) for pattern in telling) else None
    for folder in card.folders:
        place = base / folder
        if place.is_dir() and any(_has(place, pattern) for pattern in telling):
            return place
    return None


def _has(place: Path, pattern: str) -> bool:
    """Whether a folder has such a file; one that is too large to look through has none."""
    with contextlib.suppress(InputError):
        return next(files_below(place, pattern), None) is not None
    return False


def load(
    name: str, path: str | os.PathLike[str], *, langpairs: str | Iterable[str] | None = None, **options: Any
) -> JudgementTable:
    """The table of a known data set; `path` is its folder (or file), or a folder that holds it under its usual name.

    `options` are those of the data set's loader, such as `level="system"` of WMT packages or `humans=False` of TAC.
    """
    card = find_data_card(name)
    card.check_given(options)
    if not isinstance(path, str | os.PathLike):
        msg = f"path must be a folder or a file, got {path!r}"
        raise InputError(msg)
    if not Path(path).exists():
        where = f"; {card.name} is published at {card.published}" if card.published else ""
        msg = f"{os.fspath(path)!r} does not exist{where}"
        raise InputError(msg)
    table = card.read(locate(card, path) or Path(path), langpairs=langpairs, **options)
    return table if card.generic else replace(table, name=card.name, citation=card.citation)


class FileDescription(NamedTuple):
    """Files of a data set."""

    pattern: str
    files: int | None
    """How many; None for any number."""
    sha256: str


@dataclass(frozen=True)
class DataDescription(Result):
    """A data set: source, citation, options, rows and files."""

    format = "nlgauge-data-set-1"

    name: str
    title: str
    gold: str
    published: str
    citation: str
    licence: str
    pitfall: str
    options: tuple[str, ...]
    rows: Mapping[str, int]
    """By language pair."""
    files: tuple[FileDescription, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """A row per group of files."""
        rows: list[list[Cell]] = [
            [group.pattern, "any" if group.files is None else str(group.files), group.sha256 or "-"]
            for group in self.files
        ]
        return [Table(["files", "number", "sha256"], rows)] if rows else []

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """As text the facts line by line, then the files."""
        if form != "text":
            return super().render(form, decimals=decimals)
        names = ("name", "title", "gold", "published", "citation", "licence", "pitfall")
        lines = [(name, getattr(self, name)) for name in names if getattr(self, name)]
        kinds = DATA_CARDS[self.name].options
        named = [f"{name} ({kinds[name]})" for name in self.options if name in kinds]
        lines.append(("options", ", ".join(["langpairs (names)", *named])))
        if self.rows:
            lines.append(("rows", ", ".join(f"{pair} {count}" for pair, count in self.rows.items())))
        facts = "".join(f"{name + ':':<10} {value}\n" for name, value in lines)
        return "\n".join([facts, *(table.to_text(width=0) for table in self.tables())])


@dataclass(frozen=True)
class DataList(Result):
    """The known data sets, a line each."""

    format = "nlgauge-data-sets-1"
    decimals = 0

    data: tuple[DataDescription, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """A row per data set."""
        rows: list[list[Cell]] = [
            [card.name, str(sum(card.rows.values())) if card.rows else "-", card.gold, card.title]
            for card in self.data
        ]
        return [Table(["name", "rows", "gold", "what"], rows)]


def describe_card(card: DataCard, *, options: bool = True) -> DataDescription:
    """What is known about a data set; its options import its loader, which takes a while."""
    facts = ("name", "title", "gold", "published", "citation", "licence", "pitfall")
    return DataDescription(
        **{name: getattr(card, name) for name in facts},
        options=("langpairs", *card.options) if options else (),
        rows=dict(card.rows),
        files=tuple(FileDescription(group.pattern, group.files, group.digest or "") for group in card.files),
    )
