"""All that one call of `nlgauge compare` finds: by scores, by verdicts and over runs, with a gate and budgets."""

from __future__ import annotations

from dataclasses import dataclass, field

from nlgauge.errors import InputError
from nlgauge.io.table import Cell, Table
from nlgauge.studies.compare.comparison import SystemComparison
from nlgauge.studies.compare.quality_gate import GateResult
from nlgauge.studies.compare.repeated_runs import Budgets, RunComparison
from nlgauge.studies.compare.tables import FOR_PROGRAMS, budget_names, comparison_tables
from nlgauge.studies.compare.verdicts import VerdictComparison


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonReport(SystemComparison):
    """A comparison with what else belongs to it; `metrics` is empty where there are only verdicts or runs."""

    format = "nlgauge-comparison-report-1"

    gate: GateResult | None = None
    budgets: Budgets = field(default_factory=dict)
    """What was spent on each system."""
    verdicts: tuple[VerdictComparison, ...] = ()
    """A comparison per judge."""
    runs: tuple[RunComparison, ...] = ()
    """Several runs of each system, a comparison per metric."""

    def __post_init__(self) -> None:
        if not self.metrics and not self.verdicts and not self.runs:
            msg = "nothing to report: no comparison was made"
            raise InputError(msg)

    def tables(self, form: str = "text") -> list[Table]:
        """The gate's decision, then all tables; for programs those by scores, else those of runs or verdicts."""
        if form in FOR_PROGRAMS:
            if self.metrics:
                return comparison_tables(self, form, budgets=self.budgets)
            tables = [result.tables(form)[0] for result in self.runs or self.verdicts]
            return [Table(tables[0].columns, [row for table in tables for row in table.rows])]
        tables = [table for result in (*self.verdicts, *self.runs) for table in result.tables(form)]
        if self.metrics:
            tables = comparison_tables(self, form, budgets=self.budgets, further=tables)
        return tables if self.gate is None else [self.gate.paragraph(), *tables]

    def further_tables(self) -> list[Table]:
        """What a page shows with a comparison by scores: verdicts of judges, and what was spent on systems."""
        spent = budget_names(self.budgets.values())
        rows: list[list[Cell]] = [
            [system, *(budget.get(name) for name in spent)] for system, budget in self.budgets.items()
        ]
        tables = [table for result in self.verdicts for table in result.tables()]
        return [*tables, *([Table(["system", *spent], rows, "budgets")] if rows else [])]
