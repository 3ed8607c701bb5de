"""Scores of other tools as tables to compare, put in line with the systems and segments at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from nlgauge.compare.table import SystemScores
from nlgauge.data.score_files import ImportedScores
from nlgauge.errors import InputError

__all__ = ["imported_table", "imported_tables", "in_line_with", "match_systems"]


def imported_tables(
    imported: Sequence[ImportedScores],
    *,
    beside: Sequence[SystemScores] = (),
    documents: Sequence[str] | None = None,
) -> list[SystemScores]:
    """Scores of other tools as tables of the same systems and segments: those `beside`, or those of the first."""
    if beside:
        first = beside[0]
        known = first.documents if documents is None else documents
        return [imported_table(one, systems=first.systems, segments=first.n, documents=known) for one in imported]
    aligned = [in_line_with(imported[0], one) for one in imported]
    if documents is None:
        documents = next((one.documents for one in aligned if one.documents is not None), None)
    return [imported_table(one, systems=imported[0].systems, documents=documents) for one in aligned]


def imported_table(
    imported: ImportedScores,
    *,
    systems: Sequence[str] | None = None,
    segments: int | None = None,
    documents: Sequence[str] | None = None,
) -> SystemScores:
    """The scores as a table of these systems on so many segments; documents of the caller come before the file's.

    Segments are those of the caller in their order: a file of another tool knows only their places.
    """
    table = SystemScores(
        imported.metric,
        imported.systems,
        imported.values,
        higher_is_better=imported.higher_is_better,
        signature=str(imported.signature),
        instances=imported.instances,
        documents=imported.documents if documents is None else tuple(documents),
    )
    if segments is not None and table.n != segments:
        msg = (
            f"{imported.file} has scores of {table.n} segments under {imported.metric}, but there are {segments} "
            "segments to compare"
        )
        raise InputError(msg)
    if systems is None:
        return table
    return replace(table.take(match_systems(systems, imported)), systems=tuple(systems))


def in_line_with(first: ImportedScores, other: ImportedScores) -> ImportedScores:
    """The other file's scores with its instances in the order of the first's; both must have the same."""
    there = {name: at for at, name in enumerate(other.instances)}
    if set(there) != set(first.instances):
        lacking, missing = next(
            (file, name)
            for file, names, others in (
                (other.file, first.instances, other.instances),
                (first.file, other.instances, first.instances),
            )
            for name in names
            if name not in set(others)
        )
        msg = f"{lacking} lacks segment {missing!r}, which {first.file if lacking == other.file else other.file} has"
        raise InputError(msg)
    at = [there[name] for name in first.instances]
    documents = None if other.documents is None else tuple(other.documents[place] for place in at)
    return replace(other, instances=first.instances, values=other.values[at], documents=documents)


def match_systems(systems: Sequence[str], imported: ImportedScores) -> list[str]:
    """What the file calls each of the systems: the same, without folder, or without folder and suffix."""
    return [_match(name, imported) for name in systems]


def _match(name: str, imported: ImportedScores) -> str:
    for short in (str, _without_folder, _stem):
        there = [other for other in imported.systems if short(other) == short(name)]
        if len(there) == 1:
            return there[0]
        if there:
            msg = f"{imported.file}: {there[0]!r} and {there[1]!r} could both be the system {name!r}"
            raise InputError(msg)
    msg = (
        f"{imported.file} has no scores of system {name!r} under {imported.metric}; it has "
        f"{', '.join(map(repr, imported.systems))}"
    )
    raise InputError(msg)


def _without_folder(name: str) -> str:
    return PurePath(name).name


def _stem(name: str) -> str:
    return PurePath(name).name.split(".")[0]
