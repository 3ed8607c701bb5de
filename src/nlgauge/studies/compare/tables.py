"""Tables of a comparison of systems.

    text, Markdown, LaTeX, HTML   the verdicts in sentences; one table of systems and metrics; a legend
      with `all_tables`           for each metric the ranking, the pairs of systems and the win matrix; where rankings
                                  disagree; a legend; how systems were compared
    TSV, CSV                      the ranking, pairs, wins or disagreements: one table, the metric in each row

A star (bold in LaTeX and Markdown) means a significant difference; the legend names the test. Tables for programs
have all columns and rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlgauge.core.registry import table_decimals
from nlgauge.core.short_signature import format_signature, shorten_text
from nlgauge.errors import InputError
from nlgauge.io.escapes import escape_markdown
from nlgauge.io.numbers import format_count, format_level
from nlgauge.io.paper_table import MetricScores, PaperKeywords, PaperTable, code_span, paper_table
from nlgauge.io.table import Cell, Formatted, Marked, Paragraphs, Probability, Table
from nlgauge.studies.compare.sentences import decision_rule, metric_decimals, plain_verdicts, title_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.studies.compare.comparison import (
        CompareSettings,
        Diagnostics,
        MetricComparison,
        PairRow,
        SystemComparison,
    )
    from nlgauge.studies.compare.repeated_runs import Budgets


#: Formats and views that programs read.
FOR_PROGRAMS = ("tsv", "csv", "pairs", "wins", "disagreements", "budgets")

_AGREE = "all rankings agree: by score and by Bradley-Terry strength, under every metric"

#: Systems of a win matrix that a page is wide enough for.
_WIDEST_MATRIX = 16

#: Pairs of systems that a table for people has at most; 21 systems have 210.
_MOST_PAIRS = 200

#: Pairs that a sentence names.
_NAMED = 5


class Details(Paragraphs):
    """Explanations and signatures: folded in Markdown, with signatures as code."""

    def __init__(self, lines: Sequence[str], signatures: Sequence[str]) -> None:
        """`signatures` follow the lines."""
        super().__init__([*lines, *signatures])
        self._explanations, self._signatures = list(lines), list(signatures)

    def write(self, format: str, *, width: int = 4, line: int | None = None) -> str:  # noqa: A002 - as Table
        """In a format by its name."""
        if format != "markdown":
            return super().write(format, width=width, line=line)
        items = [*map(escape_markdown, self._explanations), *map(code_span, self._signatures)]
        title = "Legend and signatures" if self._signatures else "Legend"
        lines = [f"<details><summary>{title}</summary>", "", *(f"- {item}" for item in items), "", "</details>"]
        return "\n".join(lines) + "\n"


def comparison_tables(
    comparison: SystemComparison,
    form: str,
    *,
    all_tables: bool = False,
    decimals: int | None = None,
    budgets: Budgets | None = None,
    further: Iterable[Table] = (),
) -> list[Table]:
    """The comparison in a format or view; for people `further` tables come before the legend."""
    metrics, settings, rows = comparison.metrics, comparison.settings, comparison.disagreements
    if form == "pairs":
        return [join_tables((metric.metric, pairs_table(metric, settings, complete=True)) for metric in metrics)]
    if form == "wins":
        return [join_tables((metric.metric, _win_rows(metric)) for metric in metrics)]
    if form == "disagreements":
        return [disagreement_table(comparison)]
    if form == "budgets":
        msg = "table 'budgets' is of systems over runs at equal budget, and these are scores of instances"
        raise InputError(msg)
    if form in FOR_PROGRAMS:
        return [join_tables((metric.metric, ranking_table(metric, budgets, signed=True)) for metric in metrics)]
    tables: list[Table] = [Paragraphs(plain_verdicts(comparison))]
    signatures = [format_signature(metric.signature) for metric in metrics if metric.signature]
    if not all_tables:
        details = Details(_short_legend(comparison), signatures)
        return [*tables, system_table(comparison, decimals=decimals, budgets=budgets), *further, details]
    for metric in metrics:
        tables.append(ranking_table(metric, budgets))
        if len(metric.systems) > 1:
            tables.append(pairs_table(metric, settings))
        if len(metric.systems) > 2:  # two are in the row of their pair
            tables.append(wins_table(metric))
        if len(metric.systems) > 1:
            tables.append(decisions_table(metric))
    agree = not any(row.share_of_pairs for row in rows)
    tables += [] if agree else [disagreement_table(comparison, all_rows=False)]
    agreement = [_AGREE] if rows and agree else []
    return [
        *tables,
        *further,
        Details([*legend(comparison), *agreement], [*signatures, format_signature(comparison.signature)]),
    ]


def system_table(
    comparison: SystemComparison, *, decimals: int | None = None, budgets: Budgets | None = None
) -> Table:
    """Systems as rows, best first by the first metric; metrics as columns, with intervals where they fit."""
    systems = [row.system for row in comparison.metrics[0].systems]
    interval = f"{format_level(comparison.settings.level)} interval"
    columns: dict[int, tuple[str, list[Cell]]] = {}
    intervals = []
    for metric in comparison.metrics:
        rows = {row.system: row for row in metric.systems}
        places = metric_decimals(metric) if decimals is None else decimals
        space = " " * any(row.worse_than_best for row in metric.systems)
        scores: list[Cell] = []
        ends: list[Cell] = []
        for system in systems:
            row = rows[system]
            mark = "*" if row.worse_than_best else space
            scores.append(Formatted(f"{row.score:.{places}f}{mark}"))
            bounds = row.interval
            ends.append(None if bounds is None else Formatted(f"[{bounds.low:.{places}f}, {bounds.high:.{places}f}]"))
        title = title_of(metric) if metric.higher_is_better else f"{title_of(metric)} (lower is better)"
        columns[len(columns) + 1] = (title, scores)
        if any(ends):
            intervals.append(len(columns) + 1)
            columns[len(columns) + 1] = (interval, ends)
    budget_columns = []
    for name in budget_names((budgets or {}).values()):
        budget_columns.append(len(columns) + 1)
        columns[len(columns) + 1] = (name, [(budgets or {}).get(system, {}).get(name) for system in systems])
    return Table(
        ["system", *(title for title, _ in columns.values())],
        [list(row) for row in zip(systems, *(cells for _, cells in columns.values()), strict=True)],
        less_important=[*reversed(intervals), *reversed(budget_columns)],
    )


def _short_legend(comparison: SystemComparison) -> list[str]:
    """At most three lines, and what limits the verdicts."""
    metrics, settings = comparison.metrics, comparison.settings
    lines = []
    if any(row.worse_than_best for metric in metrics for row in metric.systems):
        rule = decision_rule(settings, len(metrics[0].pairs))
        lines.append(f"*: significantly worse than the best system ({rule})")
    counts = dict.fromkeys(_counted(metric) for metric in metrics)
    methods = dict.fromkeys(
        "Student's t" if row.interval.method == "t" else "bootstrap"
        for metric in metrics
        for row in metric.systems
        if row.interval is not None
    )
    how = f"; {format_level(settings.level)} intervals: {', '.join(methods)}" if methods else ""
    lines.append(f"{', '.join(counts)}{how}")
    lines.append("more with --all (Python: all_tables=True): pairwise tests, rank clusters, Bradley-Terry strengths")
    warnings: dict[str, list[str]] = {}
    for metric in metrics:
        for warning in metric.warnings:
            warnings.setdefault(warning, []).append(title_of(metric))
    for warning, titles in warnings.items():
        lines.append(f"{', '.join(titles)}: {warning}" if len(titles) < len(metrics) else warning)
    return lines


def _counted(metric: MetricComparison) -> str:
    segments = format_count(metric.n, "segment")
    return segments if metric.documents is None else f"{segments} of {format_count(metric.documents, 'document')}"


def comparison_paper_table(comparison: SystemComparison, **options: Unpack[PaperKeywords]) -> PaperTable:
    """Systems and metrics for a paper, with the best system and its equals marked."""
    systems = [row.system for row in comparison.metrics[0].systems]
    several = len(systems) > 1
    metrics = []
    for metric in comparison.metrics:
        rows = {row.system: row for row in metric.systems}
        ordered = [rows[system] for system in systems]
        metrics.append(
            MetricScores(
                title_of(metric),
                metric.higher_is_better,
                [row.score for row in ordered],
                table_decimals(metric.metric),
                shorten_text(metric.signature),
                best=[several and row.rank == 1 for row in ordered],
                level=[several and row.rank > 1 and not row.worse_than_best for row in ordered],
            )
        )
    segments = " and ".join(dict.fromkeys(map(_counted, comparison.metrics)))
    marks = decision_rule(comparison.settings, len(comparison.metrics[0].pairs)) if several else ""
    return paper_table(systems, metrics, segments, marks=marks, **options)


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
    cells = [row_cells(row, columns.values(), marked=marked) for row in rows]
    return Table(list(columns), cells, caption, notes, less_important=_less_important(columns))


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
#: Columns of rankings and pairs that a narrow terminal leaves out, the least important first.
_LESS_IMPORTANT = ("BT low", "BT high", "effect", "detectable", "ties", "losses", "wins", "median", "BT")
DIFFERENCE = {name: name for name in ("first", "second", "difference", "low", "high")}


def _less_important(columns: Iterable[str]) -> list[int]:
    positions = {name: i for i, name in enumerate(columns)}
    return [positions[name] for name in _LESS_IMPORTANT if name in positions]


def ranking_table(metric: MetricComparison, budgets: Budgets | None = None, *, signed: bool = False) -> Table:
    """Systems, best first, with intervals, Bradley-Terry strengths and clusters."""
    rated = any(row.elo is not None for row in metric.systems)
    columns = {"rank": "rank", "system": "system", "score": "score", **INTERVAL, "median": "median", **STRENGTHS}
    columns |= {"Elo": "elo", "TrueSkill": "trueskill"} if rated else {}
    columns |= GAMES | {"cluster": "cluster"}
    spent = budget_names((budgets or {}).values())
    rows: list[list[Cell]] = [
        [
            *row_cells(row, columns.values()),
            *((budgets or {}).get(row.system, {}).get(name) for name in spent),
            *([metric.signature] if signed else []),
        ]
        for row in metric.systems
    ]
    caption = f"{metric.metric}: {format_count(metric.n, 'instance')}"
    caption += "" if metric.documents is None else f" of {format_count(metric.documents, 'document')}"
    caption += "" if metric.higher_is_better else " (distance: lower is better)"
    notes = [*metric.notes, _diagnostics(metric.diagnostics)]
    names = [*columns, *spent, *(["signature"] if signed else [])]
    return Table(names, rows, caption, notes, less_important=_less_important(names))


def budget_names(budgets: Iterable[Mapping[str, str | float]]) -> list[str]:
    """What was spent on any system, in the order in which it is named."""
    return list(dict.fromkeys(name for budget in budgets for name in budget))


def _diagnostics(diagnostics: Diagnostics) -> str:
    """Outliers, ties and spread of the scores in a line."""
    shares = f"scores: {100 * diagnostics.outliers:.3g} % outliers, {100 * diagnostics.ties:.3g} % of comparisons tie"
    deviations = {
        "systems on a segment": diagnostics.instance_deviation,
        "segments": diagnostics.difficulty_deviation,
    }
    spread = [f"{value:.3g} between {what}" for what, value in deviations.items() if value is not None]
    return f"{shares}; standard deviation {', '.join(spread)}" if spread else shares


def legend(comparison: SystemComparison) -> list[str]:
    """The meaning of columns, stars and clusters, once for all metrics."""
    settings, metrics = comparison.settings, comparison.metrics
    pairs = len(metrics[0].pairs)
    methods = dict.fromkeys(
        str(row.interval) for metric in metrics for row in metric.systems[:1] if row.interval is not None
    )
    lines = [f"low, high: {'; '.join(methods)}; of BT (Bradley-Terry strength): bootstrap"] if methods else []
    if pairs:
        lines += [
            "cluster: rank clusters as in WMT; every system of a cluster is significantly better than every system "
            "of later clusters",
            f"difference: above 0 if the first is better; star, or bold: {decision_rule(settings, pairs)}",
            "effect: Cohen's d of the paired differences; detectable: difference that is detected with 80 % power",
        ]
    if pairs > 1 and settings.correction == "holm":
        lines.append("Stars are Holm-corrected, intervals are not; an interval can exclude 0 without a star.")
    return [*lines, "outliers: scores more than 1.5 interquartile ranges outside of the middle half"]


def pairs_table(metric: MetricComparison, settings: CompareSettings, *, complete: bool = False) -> Table:
    """Pairs of systems: difference, test, instances won; `complete` with all pairs, all tests, the better system."""
    columns = DIFFERENCE | {"effect": "effect"} | GAMES | {"p": "p_value"}
    columns |= {"p Holm": "p_adjusted"} if settings.correction == "holm" else {}
    columns |= {"detectable": "detectable"}
    caption = f"{metric.metric}, pairs"
    if complete:
        columns |= {f"p {name}": f"p.{name}" for name in settings.tests if name != settings.test}
        columns |= MEDIANS | probability_columns(metric.pairs)
        return row_table(metric.pairs, columns | {"better": "better"}, caption)
    notes = []
    if len(metric.pairs) > _MOST_PAIRS:
        notes.append(f"{_MOST_PAIRS} of {len(metric.pairs)} pairs; all of them: --format tsv --table pairs, or json")
    return row_table(metric.pairs[:_MOST_PAIRS], columns, caption, notes, marked=True)


#: Columns of medians of a pair, and those of all three ways to decide.
MEDIANS = {"of medians": "median_difference", "paired median": "paired_median"}
_DECIDING = {"first": "first", "second": "second", "of scores": "difference"} | MEDIANS


def probability_columns(pairs: Sequence[PairRow]) -> dict[str, str]:
    """Columns of the probability that the first of a pair beats the second, by rating."""
    return {f"P {name}": f"probability.{name}" for name in (pairs[0].probability if pairs else ())}


def decisions_table(metric: MetricComparison) -> Table:
    """What mean, median and Bradley-Terry say about each pair, and P(first beats second) under each rating."""
    pairs = metric.pairs[:_MOST_PAIRS]
    notes = [
        "above 0, or P above .5: the first is better; paired median: median of the differences of segments",
        "P pair: share of segments that the first wins; P BT: the same, estimated by Bradley-Terry from all systems; "
        "--ratings adds Elo and TrueSkill",
        *disagreeing_pairs(metric),
    ]
    caption = f"{metric.metric}: differences of scores and medians, and the probability that the first system wins"
    return row_table(pairs, _DECIDING | probability_columns(pairs), caption, notes)


def disagreeing_pairs(metric: MetricComparison) -> list[str]:
    """The pairs of which mean, median and Bradley-Terry do not prefer the same system, in a sentence."""
    rows = [row for row in metric.pairs if len(set(row.decisions.values())) > 1]
    if not rows:
        return []
    shown = [f"{row.first} and {row.second} ({_decided(row)})" for row in rows[:_NAMED]]
    more = [f"{len(rows) - _NAMED} more"] if len(rows) > _NAMED else []
    return [f"mean, median and Bradley-Terry disagree on {'; '.join(shown + more)}"]


def _decided(row: PairRow) -> str:
    return ", ".join(f"{name}: {system or 'tie'}" for name, system in row.decisions.items())


def wins_table(metric: MetricComparison) -> Table:
    """Share of instances on which the system of the row beats that of the column."""
    systems = [row.system for row in metric.systems]
    caption = f"{metric.metric}, share of instances on which the row beats the column"
    if len(systems) > _WIDEST_MATRIX:
        note = f"{len(systems)} systems; --format tsv --table wins, or json"
        return Table(["system"], [], f"{caption}: too wide for a page", [note])
    rows: list[list[Cell]] = []
    for i, name in enumerate(systems):
        shares = (None if i == j else float(metric.win_matrix[i, j]) for j in range(len(systems)))
        rows.append([i + 1, name, *shares])
    return Table(["", "system", *(str(number) for number in range(1, len(systems) + 1))], rows, caption)


def _win_rows(metric: MetricComparison) -> Table:
    """The win matrix as rows."""
    names = [row.system for row in metric.systems]
    by_names = {(row.first, row.second): row for row in metric.pairs}
    by_names |= {names[::-1]: row.turned() for names, row in by_names.items()}
    rows: list[list[Cell]] = [
        [system, other, float(metric.win_matrix[i, j]), *by_names[system, other].probability.values()]
        for i, system in enumerate(names)
        for j, other in enumerate(names)
        if i != j
    ]
    return Table(["system", "other", "share", *probability_columns(metric.pairs)], rows)


def disagreement_table(comparison: SystemComparison, *, all_rows: bool = True) -> Table:
    """Where two rankings of the same systems disagree; without `all_rows` only those that do."""
    rows = [row for row in comparison.disagreements if all_rows or row.share_of_pairs]
    columns = {"ranking": "first", "other ranking": "second", "share of pairs": "share_of_pairs"}
    columns |= {"another winner": "different_winner", "another top 3": "different_top3"}
    notes = ["share of pairs: of systems that the two rankings order differently; BT: Bradley-Terry"]
    return row_table(rows, columns, "rankings that disagree", notes)
