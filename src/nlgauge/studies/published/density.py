"""Languages simulated as in chapter 10 of W. Zhao's dissertation (`nlgauge.studies.alignment`), beside print."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.studies.alignment.simulated_languages import LINEAR, Fitter, Setup, flow_fitter, simulate_density
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.published.options import Request
from nlgauge.studies.published.runs import NOT_COMPUTED, ReproducedRow, Reproduction, cells_of, or_missing
from nlgauge.studies.published.tables import TableRow

#: As in the paper.
_RUNS = 10


def compute_density(request: Request) -> Reproduction:
    """The table; of the options of rankings, the seed and the number of draws (runs) are meant."""
    table, options = request.table, request.rankings
    if replace(options, draws=None, seed=RankingOptions.seed) != RankingOptions():
        msg = f"{table.id} draws its words: it takes draws and seed, and no other option of rankings"
        raise RecipeError(msg)
    missing: dict[str, None] = {}
    rows = tuple(_row(request, row, missing) for row in table.rows)
    count = options.draws or _RUNS
    notes = (f"ours: {count} run{'s' * (count != 1)} from seed {options.seed}",)
    return Reproduction.of(table, "", table.columns, rows, missing=missing, notes=notes)


def _row(request: Request, row: TableRow, missing: dict[str, None]) -> ReproducedRow:
    table, options = request.table, request.rankings
    ours: dict[str, float] = {}
    spread = []
    fit = _fitter(row, missing)
    for column in table.questions:
        if fit is None:
            break
        with or_missing(f"value of {row.name}, {column.label}", missing):
            setup = Setup(**column.setup)
            shares = table.scale * simulate_density(setup, fit, runs=options.draws or _RUNS, seed=options.seed)
            ours[column.label] = float(shares.mean())
            spread.append(float(shares.std(ddof=1)) if len(shares) > 1 else 0.0)
    reason = row.note
    if fit is not None:
        deviation = f"deviation over runs up to {np.max(spread):.1f}" if spread else NOT_COMPUTED
        reason = "; ".join(filter(None, [deviation, row.note]))
    elif row.computed:
        reason = NOT_COMPUTED
    return ReproducedRow(row.name, cells_of(row, table.columns, ours), "", reason)


def _fitter(row: TableRow, missing: dict[str, None]) -> Fitter | None:
    """How the row's method is fitted; None, and why, where it is not."""
    if not row.computed:
        return None
    if row.key[0] in LINEAR:
        return LINEAR[row.key[0]]
    try:
        return flow_fitter()
    except MissingExtraError as error:
        missing[f"{row.name}: {error}"] = None
        return None
