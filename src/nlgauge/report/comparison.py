"""Reports of a comparison of systems, as text, JSON, TSV, LaTeX or Markdown.

    text, Markdown  the gate's sentence, where one was asked for; a verdict in words per metric; then for each metric
                    the ranking, the pairs of systems and the win matrix; where rankings disagree; a legend; how
                    systems were compared
    LaTeX           the same as booktabs tabulars
    JSON            everything: {"nlgauge", ["gate"], "metrics", "disagreements", "settings", "signature",
                    ["verdicts"], ["runs"]}; numbers in full
    TSV             one table: ranking, pairs, wins or disagreements of all metrics; or that of verdicts, or of runs

A star (bold in LaTeX and Markdown) means a significant difference; the legend says by which test. A table that is
`named` is for files: it has the metric in each row, and nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from nlgauge._version import __version__
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.formats import json_text
from nlgauge.io.table import Cell, Marked, Probability, Table, counted, escape_markdown, visible
from nlgauge.report.verdicts import metric_verdict, on_the_winner, plain, test_name

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.compare.comparison import (
        Diagnostics,
        GateResult,
        MetricComparison,
        PairRow,
        SystemComparison,
        SystemRow,
    )
    from nlgauge.studies.compare.repeated_runs import RunComparison
    from nlgauge.studies.compare.settings import CompareSettings
    from nlgauge.studies.compare.verdicts import PositionCheck, VerdictComparison

#: Systems of a win matrix that a page is wide enough for.
_WIDEST_MATRIX = 16


def ranking_table(
    metrics: Sequence[MetricComparison],
    *,
    named: bool = False,
    budgets: Mapping[str, Mapping[str, str | float]] | None = None,
) -> Table:
    """Systems, best first, with intervals, Bradley-Terry strengths and clusters."""
    rated = any(row.elo is not None for found in metrics for row in found.systems)
    columns = ["rank", "system", "score", "low", "high", "median", "BT", "BT low", "BT high"]
    columns += ["Elo", "TrueSkill"] * rated + ["wins", "ties", "losses", "cluster"]
    spent = list(dict.fromkeys(name for budget in (budgets or {}).values() for name in budget))
    rows = []
    for found in metrics:
        for row in found.systems:
            cells = [*_ranking_cells(row, rated=rated), *((budgets or {}).get(row.system, {}).get(n) for n in spent)]
            rows.append([found.metric, *cells, found.signature] if named else cells)
    columns += spent
    if named:
        return Table(["metric", *columns, "signature"], rows)
    (found,) = metrics
    return Table(columns, rows, _caption(found), _ranking_notes(found))


def _ranking_cells(row: SystemRow, *, rated: bool) -> list[Cell]:
    return [
        row.rank,
        row.system,
        row.score,
        *ends(row.interval),
        row.median,
        row.bradley_terry,
        *ends(row.bt_interval),
        *([row.elo, row.trueskill] if rated else []),
        *(row.wins, row.ties, row.losses, row.cluster),
    ]


def ends(interval: Interval | None) -> list[Cell]:
    """Of an interval, in two cells; empty where there is none."""
    return [None, None] if interval is None else [interval.low, interval.high]


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


def pairs_table(
    metrics: Sequence[MetricComparison], settings: CompareSettings, *, named: bool = False, most: int | None = None
) -> Table:
    """Every pair of systems: difference, test, instances won; the first `most` pairs of a metric."""
    others = [name for name in settings.tests if name != settings.test] if named else []
    columns = ["first", "second", "difference", "low", "high", "effect", "wins", "ties", "losses", "p"]
    columns += ["p Holm"] * (settings.correction == "holm") + ["detectable", *(f"p {name}" for name in others)]
    rows: list[list[Cell]] = []
    for found in metrics:
        for row in found.pairs[:most]:
            cells = _pair_cells(row, settings, others)
            if named:
                cells = [
                    found.metric,
                    *(cell.value if isinstance(cell, Marked) else cell for cell in cells),
                    row.better,
                ]
            rows.append(cells)
    if named:
        return Table(["metric", *columns, "better"], rows)
    (found,) = metrics
    notes = []
    if most is not None and len(found.pairs) > most:
        notes.append(f"{most} of {len(found.pairs)} pairs; all of them: --format tsv --table pairs, or json")
    return Table(columns, rows, f"{found.metric}, pairs", notes)


def _pair_cells(row: PairRow, settings: CompareSettings, others: Sequence[str]) -> list[Cell]:
    return [
        *(row.first, row.second, Marked(row.difference) if row.significant else row.difference),
        *(row.low, row.high, row.effect, row.wins, row.ties, row.losses, p_cell(row.p_value)),
        *([p_cell(row.p_adjusted)] if settings.correction == "holm" else []),
        row.detectable,
        *(p_cell(row.p.get(name)) for name in others),
    ]


def p_cell(p: float | None) -> Cell:
    """A p value in a table; empty where nothing was tested."""
    return None if p is None else Probability(p)


def wins_table(found: MetricComparison) -> Table:
    """Share of instances on which the system of the row beats that of the column."""
    systems = [row.system for row in found.systems]
    caption = f"{found.metric}, share of instances on which the row beats the column"
    if len(systems) > _WIDEST_MATRIX:
        note = f"{len(systems)} systems; --format tsv --table wins, or json"
        return Table(["system"], [], f"{caption}: too wide for a page", [note])
    rows: list[list[Cell]] = []
    for at, name in enumerate(systems):
        shares: list[Cell] = [
            None if at == other else float(found.win_matrix[at, other]) for other in range(len(systems))
        ]
        rows.append([at + 1, name, *shares])
    return Table(["", "system", *(str(number) for number in range(1, len(systems) + 1))], rows, caption)


def win_rows_table(metrics: Sequence[MetricComparison]) -> Table:
    """The win matrix as rows."""
    rows: list[list[Cell]] = []
    for found in metrics:
        names = [row.system for row in found.systems]
        rows += [
            [found.metric, one, other, float(found.win_matrix[i, j])]
            for i, one in enumerate(names)
            for j, other in enumerate(names)
            if i != j
        ]
    return Table(["metric", "system", "other", "share"], rows)


def disagreement_table(comparison: SystemComparison, *, all_rows: bool = True) -> Table:
    """Where two rankings of the same systems disagree; without `all_rows` only those that do."""
    rows: list[list[Cell]] = [
        [row.first, row.second, row.share_of_pairs, _yes(row.different_winner), _yes(row.different_top3)]
        for row in comparison.disagreements
        if all_rows or row.share_of_pairs
    ]
    columns = ["ranking", "other ranking", "share of pairs", "another winner", "another top 3"]
    notes = ["share of pairs: of systems that the two rankings order differently; BT: Bradley-Terry"]
    return Table(columns, rows, "rankings that disagree", notes)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def verdict_table(found: Sequence[tuple[str, VerdictComparison]], *, named: bool = False) -> Table:
    """Systems by the Bradley-Terry strength that verdicts give them; each comparison with the name of its judge."""
    columns = ["rank", "system", "BT", "BT low", "BT high", "wins", "ties", "losses"]
    rows: list[list[Cell]] = []
    for name, comparison in found:
        for row in comparison.systems:
            cells = [row.rank, row.system, row.bradley_terry, *ends(row.bt_interval), row.wins, row.ties, row.losses]
            rows.append([name, *cells] if named else cells)
    if named:
        return Table(["metric", *columns], rows)
    ((name, comparison),) = found
    judge, digest, _ = name.partition("|")
    caption = f"{judge}: {counted(comparison.verdicts, 'verdict')} on {counted(comparison.instances, 'instance')}"
    notes = [_position(comparison.position), *comparison.notes]
    notes += [f"verdicts: {name}"] * bool(digest) + [f"signature: {comparison.signature}"]
    return Table(columns, rows, caption, notes)


def _position(check: PositionCheck) -> str:
    share = "" if check.share_first is None else f" ({check.share_first:.0%} of those decided)"
    first = counted(check.first, "verdict")
    said = f"position: {first} for the output shown first{share}, {check.second} for the second"
    if check.swapped:
        said += f"; {check.agreed} of {check.swapped} pairs judged in both orders got the same verdict"
    return f"{said}; p = {check.p_value:.4g}"


def run_table(found: Sequence[RunComparison], *, named: bool = False) -> Table:
    """Systems over their runs, best mean first, with what was spent on them."""
    spent = list(dict.fromkeys(name for one in found for row in one.systems for name in row.budget))
    columns = ["system", "runs", "mean", "low", "high", "deviation", "lowest", "median", "highest", *spent]
    rows: list[list[Cell]] = []
    for one in found:
        for row in one.systems:
            cells: list[Cell] = [row.system, row.runs, row.mean, *ends(row.interval), row.deviation]
            cells += [row.lowest, row.median, row.highest, *(row.budget.get(name) for name in spent)]
            rows.append([one.metric, *cells] if named else cells)
    if named:
        return Table(["metric", *columns], rows)
    (one,) = found
    caption = f"{one.metric}, over runs{'' if one.higher_is_better else ' (distance: lower is better)'}"
    return Table(columns, rows, caption, [*one.notes, f"low, high: {100 * one.level:.10g} % t interval over runs"])


def run_pairs_table(found: Sequence[RunComparison], *, named: bool = False) -> Table:
    """Every pair of systems over their runs."""
    columns = ["first", "second", "difference", "low", "high", "P(first better)", "p", "p Holm"]
    rows: list[list[Cell]] = []
    for one in found:
        for row in one.pairs:
            marked = Marked(row.difference) if row.significant and not named else row.difference
            cells: list[Cell] = [row.first, row.second, marked, row.low, row.high]
            cells += [row.probability, p_cell(row.p_value), p_cell(row.p_adjusted)]
            rows.append([one.metric, *cells, row.better] if named else cells)
    if named:
        return Table(["metric", *columns, "better"], rows)
    (one,) = found
    notes = [
        f"with a star, or bold: permutation test of runs, p < {one.alpha:g}, corrected for all pairs by Holm",
        "P(first better): that a run of the first system beats a run of the second",
        f"signature: {one.signature}",
    ]
    return Table(columns, rows, f"{one.metric}, pairs over runs", notes)


CompareFormat = Literal["text", "json", "tsv", "latex", "markdown"]
TableName = Literal["ranking", "pairs", "wins", "disagreements"]

#: Pairs of systems that a table for people has at most; 21 systems have 210.
_MOST_PAIRS = 200


@dataclass(frozen=True)
class Compared:
    """All that one call of `nlgauge compare` found."""

    comparison: SystemComparison | None = None
    """By scores."""
    verdicts: Sequence[tuple[str, VerdictComparison]] = ()
    """By the verdicts of a file, with its name."""
    runs: Sequence[RunComparison] = ()
    """Several runs of each system, a comparison per metric."""
    gate: GateResult | None = None
    budgets: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)
    """What was spent on each system."""


def render_comparison(
    found: Compared,
    *,
    format: CompareFormat = "text",  # noqa: A002 - as the flag is called
    table: TableName = "ranking",
    width: int = 4,
) -> str:
    """The comparison as one string that ends with a newline; `table` chooses what TSV holds."""
    if format not in get_args(CompareFormat) or table not in get_args(TableName):
        what, value, names = (
            ("table", table, get_args(TableName))
            if format in get_args(CompareFormat)
            else ("format", format, get_args(CompareFormat))
        )
        msg = f"{what} must be one of {', '.join(names)}, got {value!r}"
        raise RecipeError(msg)
    if found.comparison is None and not found.verdicts and not found.runs:
        msg = "nothing to report: no comparison was made"
        raise InputError(msg)
    if format == "json":
        return json_text(_record(found))
    if format == "tsv":
        return _tsv_table(found, table).to_tsv(width=width)
    write = {"text": Table.to_text, "latex": Table.to_latex, "markdown": Table.to_markdown}[format]
    blocks = [write(one, width=width) for one in _tables(found)]
    if found.comparison is not None:
        blocks.insert(0, _lines(_verdicts(found.comparison), format))
        blocks.append(_lines(legend(found.comparison), format))
        blocks += [_lines([text], format) for text in _closing(found.comparison)]
    for text in gate_lines(found):
        state, colon, sentence = _lines([text], format).partition(":")
        blocks.insert(0, f"**{state}**{colon}{sentence}" if format == "markdown" else f"{state}{colon}{sentence}")
    return "\n".join(blocks)


def gate_lines(found: Compared) -> tuple[str, ...]:
    """The decision of the gate and its reason; nothing without a gate."""
    if found.gate is None:
        return ()
    return (f"gate {found.gate.result}: {found.gate.sentence}",)


def further_tables(found: Compared) -> list[Table]:
    """What a page shows beside a comparison by scores: verdicts of judges, and what was spent on systems."""
    tables = [verdict_table([one]) for one in found.verdicts]
    spent = list(dict.fromkeys(name for budget in found.budgets.values() for name in budget))
    rows: list[list[Cell]] = [
        [system, *(budget.get(name) for name in spent)] for system, budget in found.budgets.items()
    ]
    return [*tables, *([Table(["system", *spent], rows, "budgets")] if rows else [])]


def _verdicts(comparison: SystemComparison) -> list[str]:
    """Who is better by each metric, in words."""
    agreed = on_the_winner(comparison)
    sentences = [metric_verdict(found, comparison.settings) for found in comparison.metrics]
    return [plain(said) for said in [*sentences, *([] if agreed is None else [agreed])]]


def _closing(comparison: SystemComparison) -> list[str]:
    """How systems were compared; and that rankings agree, where there is no table of how they do not."""
    rows = comparison.disagreements
    agree = ["all rankings agree: by score and by Bradley-Terry strength, under every metric"]
    agreed = rows and not any(row.share_of_pairs for row in rows)
    return [*(agree if agreed else []), f"comparison: {comparison.signature}"]


def _lines(texts: Sequence[str], form: CompareFormat) -> str:
    """A block of lines: paragraphs in Markdown, comments in LaTeX."""
    if form == "markdown":
        return "\n".join(f"{escape_markdown(text)}\n" for text in texts)
    return "".join(f"{'% ' * (form == 'latex')}{visible(text)}\n" for text in texts)


def _tables(found: Compared) -> Iterator[Table]:
    if found.comparison is not None:
        comparison = found.comparison
        for metric in comparison.metrics:
            yield ranking_table([metric], budgets=found.budgets)
            if len(metric.systems) > 1:
                yield pairs_table([metric], comparison.settings, most=_MOST_PAIRS)
            if len(metric.systems) > 2:  # two are in the row of their pair
                yield wins_table(metric)
        if any(row.share_of_pairs for row in comparison.disagreements):
            yield disagreement_table(comparison, all_rows=False)
    for one in found.verdicts:
        yield verdict_table([one])
    for runs in found.runs:
        yield run_table([runs])
        if runs.pairs:
            yield run_pairs_table([runs])


def _tsv_table(found: Compared, name: TableName) -> Table:
    comparison = found.comparison
    if comparison is None:
        if found.runs:
            return (run_pairs_table if name == "pairs" else run_table)(found.runs, named=True)
        return verdict_table(found.verdicts, named=True)
    if name == "pairs":
        return pairs_table(comparison.metrics, comparison.settings, named=True)
    if name == "wins":
        return win_rows_table(comparison.metrics)
    if name == "disagreements":
        return disagreement_table(comparison)
    return ranking_table(comparison.metrics, named=True, budgets=found.budgets)


def render_gate_not_run(reason: str) -> str:
    """The JSON record of a gate that could not run."""
    return json_text({"nlgauge": __version__, "gate": {"result": "not-run", "sentence": reason}})


def _record(found: Compared) -> dict[str, Any]:
    record: dict[str, Any] = {"nlgauge": __version__}
    if found.gate is not None:
        record["gate"] = found.gate.to_dict()
    if found.comparison is not None:
        record |= found.comparison.to_dict()
    if found.budgets:
        record["budgets"] = {system: dict(budget) for system, budget in found.budgets.items()}
    if found.verdicts:
        record["verdicts"] = [{"name": name} | one.to_dict() for name, one in found.verdicts]
    if found.runs:
        record["runs"] = [one.to_dict() for one in found.runs]
    return record
