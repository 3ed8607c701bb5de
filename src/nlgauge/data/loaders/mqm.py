"""MQM annotations: errors that raters marked as spans, one line each, with category and severity.

    mqm_ted_zhen.tsv    system doc doc_id seg_id rater source target category severity
                        the span stands between <v> and </v> in `target`, or in `source` for what is left out

The score of an output is minus the sum of its errors' weights, and the mean over raters where there are several:
25 for a non-translation, 5 for a major error, 0.1 for minor punctuation, 1 for any other minor error (Freitag et al.
2021). References are among the systems of the file; one of them is what the others are compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import language_files
from nlgauge.data.table import ErrorSpan, JudgementTable, select_known
from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import Row, delimited_rows

__all__ = ["load_mqm", "mqm_weight"]

_COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")

#: How references are called in these files: ref, refA, refB, ref.A.
_REFERENCE = re.compile(r"ref\.?[A-Z]?")

_WEIGHTS = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0}
_NON_TRANSLATION, _MINOR_PUNCTUATION = 25.0, 0.1


def mqm_weight(category: str, severity: str) -> float | None:
    """How much an error counts; None for a severity that is not known.

    >>> mqm_weight("Fluency/Punctuation", "Minor"), mqm_weight("Fluency/Grammar", "Minor")
    (0.1, 1.0)
    """
    if category.casefold().startswith("non-translation"):
        return _NON_TRANSLATION
    if severity.casefold() == "minor" and category.casefold() == "fluency/punctuation":
        return _MINOR_PUNCTUATION
    return _WEIGHTS.get(severity.casefold())


def load_mqm(
    path: Path,
    *,
    references: str = "refB",
    humans: bool = False,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """The files `mqm_ted_{pair}.tsv` of a folder, or one of them.

    `references` is the system that the others are compared with: `ref` of TED zh-en is rated worse than every system,
    so `refB` is the default. `humans=True` keeps the other references among the systems.
    """
    if path.is_file():
        match = re.search(r"_([a-z]{2})([a-z]{2})\.tsv$", path.name)
        files = {f"{match[1]}-{match[2]}" if match else "und": path}
    else:
        found = language_files(path, "mqm_ted_*.tsv", r"mqm_ted_([a-z]{4})\.tsv")
        files = {f"{pair[:2]}-{pair[2:]}": file for pair, file in found.items()}
    build = TableBuilder()
    people: set[str] = set()
    for langpair in select_known(langpairs, list(files), f"{path}: language pair"):
        people |= _add_file(build, files[langpair], langpair, references, humans=humans)
    notes = (f"compared with {references!r}; references among the systems: {', '.join(sorted(people)) or 'none'}",)
    return build.table("mqm", default_criterion="mqm", human_systems=frozenset(people), notes=notes)


def _add_file(build: TableBuilder, path: Path, langpair: str, reference: str, *, humans: bool) -> set[str]:
    """Add the outputs of all systems but the reference; which of them people wrote."""
    items: dict[tuple[str, str], list[Row]] = {}
    for row in delimited_rows(read_bytes(str(path)), str(path), needed=_COLUMNS):
        segment = f"{row.label('doc')}:{row.label('seg_id')}"
        items.setdefault((row.label("system"), segment), []).append(row)
    systems = list(dict.fromkeys(system for system, _ in items))
    if reference not in systems:
        msg = f"{path}: references={reference!r} is not a system of the file; there are: {', '.join(systems)}"
        raise RecipeError(msg)
    people = {system for system in systems if _REFERENCE.fullmatch(system)} - {reference}
    for (system, segment), rows in items.items():
        if system == reference or (system in people and not humans):
            continue
        if (reference, segment) not in items:
            msg = f"{rows[0].at()}: segment {segment!r} has no line of {reference!r}"
            raise FileFormatError(msg)
        _add_item(build, rows, segment, langpair, _unmarked(items[reference, segment][0], "target"))
    return people if humans else set()


def _add_item(build: TableBuilder, rows: list[Row], segment: str, langpair: str, reference: str) -> None:
    first = rows[0]
    errors: dict[str, list[ErrorSpan]] = {"target": [], "source": []}
    for row in rows:
        weight = mqm_weight(row.text("category"), row.text("severity"))
        if weight is None:
            row.refuse("severity", "one of Major, Minor, Neutral, No-error")
        for column, spans in errors.items():
            if _unmarked(row, column) != _unmarked(first, column):
                row.refuse(column, f"the text of {first.where}, with other marks")
            spans += [ErrorSpan(start, end, weight) for start, end in _marked(row.text(column))]
    raters = {row.label("rater") for row in rows}
    total = sum(mqm_weight(row.text("category"), row.text("severity")) or 0.0 for row in rows)
    build.add(
        first,
        segment=segment,
        system=first.label("system"),
        langpair=langpair,
        document=first.label("doc"),
        source=_unmarked(first, "source"),
        hypothesis=_unmarked(first, "target"),
        references=(reference,),
        hypothesis_errors=tuple(errors["target"]),
        source_errors=tuple(errors["source"]),
        human={"mqm": -total / len(raters)},
    )


def _unmarked(row: Row, column: str) -> str:
    return re.sub(r"</?v>", "", row.text(column))


def _marked(text: str) -> list[tuple[int, int]]:
    """Spans between <v> and </v>, in the text without the marks; one that is never closed reaches to the end.

    >>> _marked("a <v>b</v> c"), _marked("<v>ab")
    ([(2, 3)], [(0, 2)])
    """
    found: list[tuple[int, int]] = []
    start, taken = None, 0
    for match in re.finditer(r"</?v>", text):
        at = match.start() - taken
        taken += len(match[0])
        if match[0] == "<v>":
            start = at
        elif start is not None:
            found.append((start, at))
            start = None
    return found if start is None else [*found, (start, len(text) - taken)]
