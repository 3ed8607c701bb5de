"""A comparison of systems in words and tables: for people with captions and a legend, for programs in one piece.

    text, Markdown, LaTeX   a verdict in words per metric; then for each metric the ranking, the pairs of systems and
                            the win matrix; where rankings disagree; a legend; how systems were compared
    TSV, CSV                the ranking, pairs, wins or disagreements: one table, the metric in each row

A star (bold in LaTeX and Markdown) means a significant difference; the legend says by which test. Tables for programs
leave nothing out. A verdict is a list of texts. Names of systems and metrics among them have classes of their own, so
that a page can set them apart; joined, they are plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlgauge.core.short_signature import format_signature
from nlgauge.io.table import (
    Cell,
    Marked,
    Paragraphs,
    Probability,
    Table,
    counted,
    decimals_for,
    level_text,
    number,
    p_text,
)

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.compare.comparison import (
        CompareSettings,
        Diagnostics,
        MetricComparison,
        PairRow,
        SystemComparison,
    )
    from nlgauge.studies.compare.repeated_runs import Budgets


class SystemName(str):
    """A system, as its user calls it."""

    __slots__ = ()


class MetricName(str):
    """A metric."""

    __slots__ = ()


class Emphasis(str):
    """Words that a reader must not miss."""

    __slots__ = ()


#: So many names are listed in a sentence; more are counted.
_LISTED = 4

_TESTS = {
    "bootstrap": "paired bootstrap",
    "randomisation": "approximate randomisation",
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test without ties",
    "sign-ties-in": "sign test with ties",
    "mood": "Mood's median test",
}


def plain(sentence: Sequence[str]) -> str:
    """The sentence as text, with the minus sign that programs know.

    >>> plain(["By ", MetricName("m"), " −0.5"])
    'By m -0.5'
    """
    return "".join(part if isinstance(part, SystemName | MetricName) else part.replace("−", "-") for part in sentence)


def test_name(settings: CompareSettings) -> str:
    """The test that decides, in words."""
    return _TESTS[settings.test]


def metric_decimals(found: MetricComparison) -> int:
    """Decimals of everything that is said about a metric."""
    return decimals_for(row.score for row in found.systems)


def metric_verdict(found: MetricComparison, settings: CompareSettings) -> list[str]:
    """What one metric says: one sentence, or two."""
    metric = MetricName(found.metric)
    if len(found.systems) == 1:
        row = found.systems[0]
        said = ["By ", metric, ", ", SystemName(row.system), f" has {number(row.score, metric_decimals(found))}"]
        return [*said, "; there is no other system to compare it with."]
    if len(found.systems) == 2:
        return _of_two(found, found.pairs[0], metric, settings)
    return _of_many(found, metric, settings)


def _of_two(found: MetricComparison, pair: PairRow, metric: MetricName, settings: CompareSettings) -> list[str]:
    decimals = metric_decimals(found)
    row = pair if pair.difference >= 0 else pair.turned()
    numbers = f"difference {number(row.difference, decimals)}{_interval(row, decimals, settings)}"
    numbers += "" if pair.p_adjusted is None else f", {p_text(pair.p_adjusted)}"
    if pair.better is not None:
        worse = pair.second if pair.better == pair.first else pair.first
        return [SystemName(pair.better), " is better than ", SystemName(worse), " by ", metric, f" ({numbers})."]
    said: list[str] = ["By ", metric, " no difference between ", *names([pair.first, pair.second])]
    said.append(f" is shown ({numbers}).")
    if pair.detectable:  # 0 between copies of a system, which never differ
        size = number(pair.detectable, decimals)
        said.append(f" On these segments a difference of {size} would be found in 80 % of cases.")
    return said


def _of_many(found: MetricComparison, metric: MetricName, settings: CompareSettings) -> list[str]:
    first, *others = found.systems
    decimals = metric_decimals(found)
    shared = _first(found)
    if len(shared) > 1:
        place = f" share the first of {len(found.systems)} places ({number(first.score, decimals)})."
        return ["By ", metric, ", ", *names(shared), place]
    beaten = {
        pair.first if pair.better == pair.second else pair.second
        for pair in found.pairs
        if pair.better == first.system
    }
    level = [row.system for row in others if row.system not in beaten]
    said: list[str] = ["By ", metric, ", ", SystemName(first.system), f" comes first of {len(found.systems)} systems"]
    said.append(f" ({number(first.score, decimals)}{_interval(first.interval, decimals, settings)}). ")
    corrected = " after Holm's correction" if settings.correction == "holm" else ""
    tested = f"p < {settings.alpha:g}{corrected} over {len(found.pairs)} pairs"
    if not level:
        said.append(f"It is better than all others ({tested}).")
    elif not beaten:
        said.append(f"No difference from any other system is shown ({tested}).")
    else:
        said += [
            f"It is better than {len(beaten)} of the other {len(others)} ({tested}); no difference is shown from "
        ]
        said += [*names(level), "."]
    return said


def on_the_winner(comparison: SystemComparison) -> list[str] | None:
    """Whether metrics agree on who comes first; None where there is one metric or one system."""
    if len(comparison.metrics) < 2 or len(comparison.metrics[0].systems) < 2:
        return None
    winners: dict[tuple[str, ...], list[str]] = {}
    for found in comparison.metrics:
        winners.setdefault(_first(found), []).append(found.metric)
    if len(winners) == 1:
        who = "Both" if len(comparison.metrics) == 2 else f"All {len(comparison.metrics)}"
        return [f"{who} metrics put ", *names(next(iter(winners))), " first."]
    parts: list[str] = []
    for systems, metrics in winners.items():
        parts += ["; " if parts else "", *names(systems), " by ", *names(metrics)]
    return [Emphasis("The metrics disagree on who comes first: "), *parts, "."]


def plain_verdicts(comparison: SystemComparison) -> list[str]:
    """A sentence or two per metric, and whether metrics agree on who comes first; as text."""
    sentences = [metric_verdict(found, comparison.settings) for found in comparison.metrics]
    agreed = on_the_winner(comparison)
    return [plain(sentence) for sentence in [*sentences, *([] if agreed is None else [agreed])]]


def _first(found: MetricComparison) -> tuple[str, ...]:
    """Systems that share the first place; mostly one."""
    return tuple(row.system for row in found.systems if row.rank == 1)


def names(listed: Sequence[str]) -> list[str]:
    """Names as a list in a sentence.

    >>> "".join(names(["a", "b", "c"])), "".join(names(["a", "b", "c", "d", "e", "f"]))
    ('a, b and c', 'a, b, c, d and 2 more')
    """
    shown: list[str] = [SystemName(name) for name in listed[:_LISTED]]
    if len(listed) > _LISTED:
        shown.append(f"{len(listed) - _LISTED} more")
    first, *others = shown
    parts = [first]
    for at, name in enumerate(others, 2):
        parts += [" and " if at == len(shown) else ", ", name]
    return parts


def _interval(row: PairRow | Interval | None, decimals: int, settings: CompareSettings) -> str:
    if row is None or row.low is None or row.high is None:
        return ""
    return f", {level_text(settings.level)} {number(row.low, decimals)} to {number(row.high, decimals)}"


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
    tables: list[Table] = [Paragraphs(plain_verdicts(comparison))]
    for found in metrics:
        tables.append(ranking_table(found, budgets))
        if len(found.systems) > 1:
            tables.append(pairs_table(found, settings))
        if len(found.systems) > 2:  # two are in the row of their pair
            tables.append(wins_table(found))
    agree = not any(row.share_of_pairs for row in rows)
    tables += [] if agree else [disagreement_table(comparison, all_rows=False)]
    tables += [*further, Paragraphs(legend(comparison))]
    tables += [Paragraphs([_AGREE])] if rows and agree else []
    return [*tables, Paragraphs([f"comparison: {format_signature(comparison.signature)}"])]


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
    caption = f"{found.metric}: {counted(found.n, 'instance')}"
    caption += "" if found.documents is None else f" of {counted(found.documents, 'document')}"
    caption += "" if found.higher_is_better else " (distance: lower is better)"
    notes = [*found.notes, _diagnostics(found.diagnostics)]
    notes += [f"signature: {format_signature(found.signature)}"] if found.signature else []
    return Table([*columns, *spent, *(["signature"] if signed else [])], rows, caption, notes)


def budget_names(budgets: Iterable[Mapping[str, str | float]]) -> list[str]:
    """What was spent on any system, in the order in which it is named."""
    return list(dict.fromkeys(name for budget in budgets for name in budget))


def _diagnostics(of: Diagnostics) -> str:
    """What the scores look like, in a line: what a mean hides, and how much there is to pair."""
    said = f"scores: {100 * of.outliers:.3g} % outliers, {100 * of.ties:.3g} % of comparisons tie"
    spreads = {"systems on an instance": of.instance_deviation, "instances": of.difficulty_deviation}
    known = [f"{value:.3g} between {what}" for what, value in spreads.items() if value is not None]
    return f"{said}; standard deviation {', '.join(known)}" if known else said


def legend(comparison: SystemComparison) -> list[str]:
    """What columns, stars and clusters mean; the same for all metrics, so it is said once."""
    settings, metrics = comparison.settings, comparison.metrics
    decided = f"{test_name(settings)}, p < {settings.alpha:g}"
    decided += ", corrected for all pairs by Holm" if settings.correction == "holm" else ", not corrected"
    if settings.smallest_difference:
        decided += f", difference at least {settings.smallest_difference:g}"
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
