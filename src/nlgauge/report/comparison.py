r"""A comparison of systems as text, JSON, TSV, LaTeX or Markdown.

    text, Markdown  the gate's sentence, where one was asked for; a verdict in words per metric; then for each metric
                    the ranking, the pairs of systems and the win matrix; where rankings disagree; a legend; how
                    systems were compared
    LaTeX           the same as booktabs tabulars
    JSON            everything: {"nlgauge", ["gate"], "metrics", "disagreements", "settings", "signature",
                    ["verdicts"], ["runs"]}; numbers in full
    TSV             one table: ranking, pairs, wins or disagreements of all metrics; or that of verdicts, or of runs

A star (bold in LaTeX and Markdown) means a significant difference; the legend says by which test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from nlgauge._version import __version__
from nlgauge.compare.gate import GateResult
from nlgauge.compare.results import SystemComparison
from nlgauge.compare.runs import RunComparison
from nlgauge.compare.verdicts import VerdictComparison
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.json_text import json_text
from nlgauge.report.comparison_tables import (
    disagreement_table,
    legend,
    pairs_table,
    ranking_table,
    win_rows_table,
    wins_table,
)
from nlgauge.report.other_comparisons import run_pairs_table, run_table, verdict_table
from nlgauge.report.table import Cell, Table, escape_markdown, visible
from nlgauge.report.verdicts import metric_verdict, on_the_winner, plain

__all__ = [
    "CompareFormat",
    "Compared",
    "TableName",
    "further_tables",
    "gate_lines",
    "render_comparison",
    "render_gate_not_run",
]

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
            yield ranking_table([metric], comparison.settings, budgets=found.budgets)
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
    return ranking_table(comparison.metrics, comparison.settings, named=True, budgets=found.budgets)


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
