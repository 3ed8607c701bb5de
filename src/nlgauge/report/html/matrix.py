"""All pairs of systems under one metric: which differences are significant, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgauge.report.comparison_tables import p_cell
from nlgauge.report.html.elements import Html, hidden, joined, name_of, tag
from nlgauge.report.html.exports import export, scrolling
from nlgauge.report.numbers import p_text, signed
from nlgauge.report.table import Cell, Table
from nlgauge.report.verdicts import metric_decimals, test_name

if TYPE_CHECKING:
    from nlgauge.compare import CompareSettings, MetricComparison, PairRow

__all__ = ["pair_table", "significance_matrix"]

#: Above so many systems a cell has only its sign: numbers would be too small to read.
_MOST_WITH_NUMBERS = 12

#: Above so many, numbers do not fit on a sheet of paper.
_MOST_ON_PAPER = 6


def significance_matrix(found: MetricComparison, settings: CompareSettings, *, name: str) -> Html | None:
    """Row against column, best systems first; None where there is one system."""
    systems = [row.system for row in found.systems]
    if len(systems) < 2:
        return None
    pairs: dict[tuple[str, str], tuple[PairRow, int]] = {}
    for pair in found.pairs:
        pairs[pair.first, pair.second] = (pair, 1)
        pairs[pair.second, pair.first] = (pair, -1)
    decimals = metric_decimals(found)
    small = len(systems) <= _MOST_WITH_NUMBERS
    heads = [tag("th", str(at), scope="col", title=system) for at, system in enumerate(systems, 1)]
    rows, before = [], found.systems[0].cluster
    for at, (system, cluster) in enumerate(zip(systems, (row.cluster for row in found.systems), strict=True), 1):
        cells = [
            tag("td", class_="self") if other == system else _cell(*pairs[system, other], decimals, numbers=small)
            for other in systems
        ]
        label = tag("th", tag("span", str(at), class_="rank"), " ", name_of(system), scope="row", class_="name")
        rows.append(tag("tr", label, *cells, class_="starts" if cluster != before else None))
        before = cluster
    corner = tag("td", class_="corner")
    table = tag(
        "table",
        tag("thead", tag("tr", corner, *heads)),
        tag("tbody", *rows),
        class_="matrix crowded" if len(systems) > _MOST_ON_PAPER else "matrix",
    )
    return joined(
        [
            scrolling(table, label=f"Significance matrix of {found.metric}"),
            _legend(found, settings, numbers=small),
            export(pair_table(found), name=f"{name}-pairs", decimals=decimals),
        ]
    )


def pair_table(found: MetricComparison) -> Table:
    """All that is known of each pair, as a table to copy."""
    tests = list(found.pairs[0].p) if found.pairs else []
    columns = ["first", "second", "difference", "low", "high", "effect", "wins", "ties", "losses"]
    columns += [f"p {test}" for test in tests]
    rows: list[list[Cell]] = []
    for pair in found.pairs:
        cells: list[Cell] = [pair.first, pair.second, pair.difference, pair.low, pair.high, pair.effect]
        cells += [pair.wins, pair.ties, pair.losses, *(p_cell(pair.p.get(test)) for test in tests)]
        rows.append([*cells, p_cell(pair.p_adjusted), pair.better or "", pair.detectable])
    return Table(
        [*columns, "p adjusted", "better", "detectable"], rows, caption=f"Pairs of systems by {found.metric}"
    )


def _cell(pair: PairRow, sign: int, decimals: int, *, numbers: bool) -> Html:
    """The row's system against the column's."""
    row, column = (pair.first, pair.second) if sign > 0 else (pair.second, pair.first)
    difference = signed(sign * pair.difference, decimals)
    mark, class_, word = "·", "even", "not shown to differ from"
    if pair.better is not None:
        mark, class_, word = ("▲", "better", "better than") if pair.better == row else ("▼", "worse", "worse than")
    adjusted = "" if pair.p_adjusted is None else f", {p_text(pair.p_adjusted)}"
    shown = tag("span", mark, class_="mark", aria_hidden="true")
    said = hidden(f"{word} {column}")
    number = tag("span", difference, class_="difference") if numbers else None
    return tag("td", shown, number, said, class_=class_, title=f"{row} {word} {column}: {difference}{adjusted}")


def _legend(found: MetricComparison, settings: CompareSettings, *, numbers: bool) -> Html:
    corrected = f" after {settings.correction.capitalize()}'s correction" if settings.correction != "none" else ""
    test = f"{test_name(settings)}, p < {settings.alpha:g}{corrected} over {len(found.pairs)} pairs"
    said = [
        tag("span", "▲", class_="better key"), " the row's system is better than the column's, ",
        tag("span", "▼", class_="worse key"), " it is worse (", test, "), ",
        tag("span", "·", class_="even key"), " no difference is shown. ",
    ]  # fmt: skip
    said.append(
        "Numbers are differences of scores, row minus column, turned so that above 0 is better."
        if numbers
        else "Columns are numbered as rows are; differences and p-values are in the copies below."
    )
    if found.systems[-1].cluster > 1:
        said.append(" Lines separate rank clusters, as in the ranking.")
    return tag("p", *said, class_="note")
