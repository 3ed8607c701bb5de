"""Tables of a comparison of systems: for people with captions, notes and a legend, for programs in one piece.

    text, Markdown, LaTeX   a verdict in words per metric; then for each metric the ranking, the pairs of systems and
                            the win matrix; where rankings disagree; a legend; how systems were compared
    TSV, CSV                the ranking, pairs, wins or disagreements: one table, the metric in each row

A star (bold in LaTeX and Markdown) means a significant difference; the legend says by which test. Tables for programs
leave nothing out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlgauge.io.table import Cell, Marked, Paragraphs, Probability, Table, counted
from nlgauge.studies.compare.sentences import plain_verdicts, test_name

if TYPE_CHECKING:
    from nlgauge.studies.compare.comparison import Diagnostics, MetricComparison, SystemComparison
    from nlgauge.studies.compare.repeated_runs import Budgets
    from nlgauge.studies.compare.settings import CompareSettings

#: Formats and views that programs read.
FOR_PROGRAMS = ("tsv", "csv", "pairs", "wins", "disagreements")

_AGREE = "all rankings agree: by score and by Bradley-Terry strength, under every metric"

#: Systems of a win matrix that a page is wide enough for.
_WIDEST_MATRIX = 16

#: Pairs of systems that a table for people has at most; 21 systems have 210.
_MOST_PAIRS = 200


def comparison_tables(
    comparison: SystemComparison, form: str, *, budgets: Budgets | None = None, further: Iterable[Table] = ()
) -> list[Table]:
    """The comparison in a format or view; for people `further` tables come before the legend."""
    metrics, settings, rows = comparison.metrics, comparison.settings, comparison.disagreements
    if form == "pairs":
        return [join_tables((found.metric, pairs_table(found, settings, complete=True)) for found in metrics)]
    if form == "wins":
        return [join_tables((found.metric, _win_rows(found)) for found in metrics)]
    if form == "disagreements":
        return [disagreement_table(comparison)]
    if form in FOR_PROGRAMS:
        return [join_tables((found.metric, ranking_table(found, budgets, signed=True)) for found in metrics)]
    return [
        Paragraphs(plain_verdicts(comparison)),
        *_metric_tables(comparison, budgets),
        *further,
        Paragraphs(legend(comparison)),
        *([Paragraphs([_AGREE])] if rows and not any(row.share_of_pairs for row in rows) else []),
        Paragraphs([f"comparison: {comparison.signature}"]),
    ]


def _metric_tables(comparison: SystemComparison, budgets: Budgets | None) -> Iterator[Table]:
    for found in comparison.metrics:
        yield ranking_table(found, budgets)
        if len(found.systems) > 1:
            yield pairs_table(found, comparison.settings)
        if len(found.systems) > 2:  # two are in the row of their pair
            yield wins_table(found)
    if any(row.share_of_pairs for row in comparison.disagreements):
        yield disagreement_table(comparison, all_rows=False)


def join_tables(tables: Iterable[tuple[str, Table]]) -> Table:
    """Tables of several metrics as one for programs: the metric in each row."""
    named = list(tables)
    return Table(["metric", *named[0][1].columns], [[name, *row] for name, table in named for row in table.rows])


def row_table(
    rows: Iterable[Any],
    columns: Mapping[str, str],
    caption: str | None = None,
    notes: Sequence[str] = (),
    *,
    marked: bool = False,
) -> Table:
    """A table of systems, pairs or metrics: by the title of a column the field of a row (`row_cells`)."""
    return Table(list(columns), [row_cells(row, columns.values(), marked=marked) for row in rows], caption, notes)


def row_cells(row: Any, fields: Iterable[str], *, marked: bool = False) -> list[Cell]:
    """Fields of a row; `interval.low` is an end of an interval, `p.t` a value of a mapping.

    With `marked`, a significant difference stands out.
    """
    cells: list[Cell] = []
    for field in fields:
        name, _, part = field.partition(".")
        value = getattr(row, name)
        if part and value is not None:
            value = value.get(part) if isinstance(value, Mapping) else getattr(value, part)
        if name in ("p", "p_value", "p_adjusted"):
            value = None if value is None else Probability(value)
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        elif marked and field == "difference" and row.significant:
            value = Marked(value)
        cells.append(value)
    return cells


#: Columns of wins and strengths, which scores and verdicts give alike.
STRENGTHS = {"BT": "bradley_terry", "BT low": "bt_interval.low", "BT high": "bt_interval.high"}
GAMES = {"wins": "wins", "ties": "ties", "losses": "losses"}
#: Columns of a score or a difference with its interval.
INTERVAL = {"low": "interval.low", "high": "interval.high"}
DIFFERENCE = {name: name for name in ("first", "second", "difference", "low", "high")}


def ranking_table(found: MetricComparison, budgets: Budgets | None = None, *, signed: bool = False) -> Table:
    """Systems, best first, with intervals, Bradley-Terry strengths and clusters."""
    rated = any(row.elo is not None for row in found.systems)
    columns = {"rank": "rank", "system": "system", "score": "score", **INTERVAL, "median": "median", **STRENGTHS}
    columns |= {"Elo": "elo", "TrueSkill": "trueskill"} if rated else {}
    columns |= GAMES | {"cluster": "cluster"}
    spent = budget_names((budgets or {}).values())
    rows: list[list[Cell]] = [
        [
            *row_cells(row, columns.values()),
            *((budgets or {}).get(row.system, {}).get(name) for name in spent),
            *([found.signature] if signed else []),
        ]
        for row in found.systems
    ]
    return Table([*columns, *spent, *(["signature"] if signed else [])], rows, _caption(found), _ranking_notes(found))


def budget_names(budgets: Iterable[Mapping[str, str | float]]) -> list[str]:
    """What was spent on any system, in the order in which it is named."""
    return list(dict.fromkeys(name for budget in budgets for name in budget))


def _caption(found: MetricComparison) -> str:
    on = counted(found.n, "instance")
    if found.documents is not None:
        on += f" of {counted(found.documents, 'document')}"
    return f"{found.metric}: {on}{'' if found.higher_is_better else ' (distance: lower is better)'}"


def _ranking_notes(found: MetricComparison) -> list[str]:
    signed = [f"signature: {found.signature}"] if found.signature else []
    return [*found.notes, _diagnostics(found.diagnostics), *signed]


def _diagnostics(of: Diagnostics) -> str:
    """What the scores look like, in a line: what a mean hides, and how much there is to pair."""
    said = f"scores: {100 * of.outliers:.3g} % outliers, {100 * of.ties:.3g} % of comparisons tie"
    spreads = {"systems on an instance": of.instance_deviation, "instances": of.difficulty_deviation}
    known = [f"{value:.3g} between {what}" for what, value in spreads.items() if value is not None]
    return f"{said}; standard deviation {', '.join(known)}" if known else said


def legend(comparison: SystemComparison) -> list[str]:
    """What columns, stars and clusters mean; the same for all metrics, so it is said once."""
    settings, metrics = comparison.settings, comparison.metrics
    decided = significance_in_words(settings)
    made = dict.fromkeys(
        str(row.interval) for found in metrics for row in found.systems[:1] if row.interval is not None
    )
    said = [f"low, high: {'; '.join(made)}; of BT (Bradley-Terry strength): bootstrap"] if made else []
    if len(metrics[0].systems) > 1:
        said += [
            "cluster: rank clusters as in WMT; every system of a cluster is significantly better than every system "
            "of later clusters",
            f"difference: above 0 if the first is better; with a star, or bold: {decided}",
            "effect: Cohen's d of the paired differences; detectable: found with a chance of 80 %",
        ]
    if len(metrics[0].pairs) > 1 and settings.correction == "holm":
        said.append(
            "intervals are not corrected for the number of pairs, stars are: one that leaves out 0 may lack a star"
        )
    return [*said, "outliers: scores more than 1.5 interquartile ranges off the middle half"]


def significance_in_words(settings: CompareSettings) -> str:
    """How differences are called significant."""
    corrected = ", corrected for all pairs by Holm" if settings.correction == "holm" else ", not corrected"
    least = f", difference at least {settings.smallest_difference:g}" if settings.smallest_difference else ""
    return f"{test_name(settings)}, p < {settings.alpha:g}{corrected}{least}"


def pairs_table(found: MetricComparison, settings: CompareSettings, *, complete: bool = False) -> Table:
    """Pairs of systems: difference, test, instances won; `complete` with all pairs, all tests, the better system."""
    columns = DIFFERENCE | {"effect": "effect"} | GAMES | {"p": "p_value"}
    columns |= {"p Holm": "p_adjusted"} if settings.correction == "holm" else {}
    columns |= {"detectable": "detectable"}
    caption = f"{found.metric}, pairs"
    if complete:
        columns |= {f"p {name}": f"p.{name}" for name in settings.tests if name != settings.test}
        return row_table(found.pairs, columns | {"better": "better"}, caption)
    notes = []
    if len(found.pairs) > _MOST_PAIRS:
        notes.append(f"{_MOST_PAIRS} of {len(found.pairs)} pairs; all of them: --format tsv --table pairs, or json")
    return row_table(found.pairs[:_MOST_PAIRS], columns, caption, notes, marked=True)


def wins_table(found: MetricComparison) -> Table:
    """Share of instances on which the system of the row beats that of the column."""
    systems = [row.system for row in found.systems]
    caption = f"{found.metric}, share of instances on which the row beats the column"
    if len(systems) > _WIDEST_MATRIX:
        note = f"{len(systems)} systems; --format tsv --table wins, or json"
        return Table(["system"], [], f"{caption}: too wide for a page", [note])
    rows: list[list[Cell]] = []
    for i, name in enumerate(systems):
        shares = (None if i == j else float(found.win_matrix[i, j]) for j in range(len(systems)))
        rows.append([i + 1, name, *shares])
    return Table(["", "system", *(str(number) for number in range(1, len(systems) + 1))], rows, caption)


def _win_rows(found: MetricComparison) -> Table:
    """The win matrix as rows."""
    names = [row.system for row in found.systems]
    rows: list[list[Cell]] = [
        [system, other, float(found.win_matrix[i, j])]
        for i, system in enumerate(names)
        for j, other in enumerate(names)
        if i != j
    ]
    return Table(["system", "other", "share"], rows)


def disagreement_table(comparison: SystemComparison, *, all_rows: bool = True) -> Table:
    """Where two rankings of the same systems disagree; without `all_rows` only those that do."""
    rows = [row for row in comparison.disagreements if all_rows or row.share_of_pairs]
    columns = {"ranking": "first", "other ranking": "second", "share of pairs": "share_of_pairs"}
    columns |= {"another winner": "different_winner", "another top 3": "different_top3"}
    notes = ["share of pairs: of systems that the two rankings order differently; BT: Bradley-Terry"]
    return row_table(rows, columns, "rankings that disagree", notes)
