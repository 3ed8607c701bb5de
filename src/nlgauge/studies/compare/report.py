"""Report of a comparison: all results of one `nlgauge compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nlgauge.errors import InputError
from nlgauge.io.table import Cell, Table
from nlgauge.studies.compare.comparison import SystemComparison
from nlgauge.studies.compare.gates import GateResult
from nlgauge.studies.compare.repeated_runs import Budgets, RunComparison, draw_run_budgets
from nlgauge.studies.compare.tables import FOR_PROGRAMS, budget_names, comparison_tables
from nlgauge.studies.compare.verdicts import VerdictComparison


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonReport(SystemComparison):
    """A comparison with gate, budgets, verdicts and runs; `metrics` is empty with only verdicts or runs."""

    format = "nlgauge-comparison-report-1"
    further = (*SystemComparison.further, "budgets")

    gate: GateResult | None = None
    budgets: Budgets = field(default_factory=dict)
    """Cost of each system."""
    verdicts: tuple[VerdictComparison, ...] = ()
    """A comparison per judge."""
    runs: tuple[RunComparison, ...] = ()
    """Several runs of each system, a comparison per metric."""

    def __post_init__(self) -> None:
        if not self.metrics and not self.verdicts and not self.runs:
            msg = "nothing to report: no comparison by scores, verdicts or runs"
            raise InputError(msg)

    def tables(self, form: str = "text", *, all_tables: bool = False, decimals: int | None = None) -> list[Table]:
        """The gate's decision, then the comparison; for programs that by scores, else that of runs or verdicts."""
        if form in FOR_PROGRAMS:
            if self.metrics:
                return comparison_tables(self, form, budgets=self.budgets)
            tables = [result.tables(form)[0] for result in self.runs or self.verdicts]
            return [Table(tables[0].columns, [row for table in tables for row in table.rows])]
        tables = [table for result in (*self.verdicts, *self.runs) for table in result.tables(form)]
        if self.metrics:
            tables = comparison_tables(
                self, form, all_tables=all_tables, decimals=decimals, budgets=self.budgets, further=tables
            )
        return tables if self.gate is None else [self.gate.paragraph(), *tables]

    def figure(self) -> Any:
        """The ranking; of runs their expected best score at equal budget."""
        return draw_run_budgets(self.runs) if self.runs and not self.metrics else super().figure()

    def further_tables(self) -> list[Table]:
        """Further tables of an HTML report: verdicts of judges, and budgets."""
        spent = budget_names(self.budgets.values())
        rows: list[list[Cell]] = [
            [system, *(budget.get(name) for name in spent)] for system, budget in self.budgets.items()
        ]
        tables = [table for result in self.verdicts for table in result.tables()]
        return [*tables, *([Table(["system", *spent], rows, "budgets")] if rows else [])]
