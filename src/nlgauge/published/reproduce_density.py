"""Our values of the simulated languages, beside those in print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nlgauge.data.table import select_known
from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.published.data import or_missing
from nlgauge.published.density import LINEAR, Fitter, flow_fitter, simulate_density
from nlgauge.published.papers.zhao_2022 import DensityRow, DensityTable
from nlgauge.published.rankings.table import RankingOptions
from nlgauge.published.results import ReproducedCell, ReproducedRow, Reproduction

__all__ = ["reproduce_density"]

_RUNS = 10


def reproduce_density(
    table: DensityTable, *, rows: str | Iterable[str] | None = None, options: RankingOptions | None = None
) -> Reproduction:
    """The table; of the options, the seed and the number of draws (runs, ten in the paper) are meant."""
    chosen = options or RankingOptions()
    if replace(chosen, draws=None, seed=RankingOptions.seed) != RankingOptions():
        msg = f"{table.id} draws its words: it takes draws and seed, and no other option of rankings"
        raise RecipeError(msg)
    names = select_known(rows, [row.name for row in table.rows], f"{table.id}: row")
    table = replace(table, rows=tuple(row for row in table.rows if row.name in names))
    missing: dict[str, None] = {}
    made = tuple(_row(table, row, chosen, missing) for row in table.rows)
    count = chosen.draws or _RUNS
    notes = (f"ours: {count} run{'s' * (count != 1)} from seed {chosen.seed}",)
    return Reproduction(table, "", table.columns, made, tuple(missing), notes)


def _row(table: DensityTable, row: DensityRow, options: RankingOptions, missing: dict[str, None]) -> ReproducedRow:
    labels = [column.label for column in table.columns]
    ours: dict[str, float] = {}
    reason = row.note
    fit = _fitter(row, missing)
    if fit is not None:
        spread = []
        for label, setup in zip(labels, table.setups, strict=True):
            with or_missing(f"value of {row.name}, {label}", missing):
                found = table.scale * simulate_density(setup, fit, runs=options.draws or _RUNS, seed=options.seed)
                ours[label] = float(found.mean())
                spread.append(float(found.std(ddof=1)) if len(found) > 1 else 0.0)
        spread_note = (
            f"deviation over runs up to {np.max(spread):.1f}" if spread else "not computed: see what is missing"
        )
        reason = "; ".join(filter(None, [spread_note, row.note]))
    elif row.computed:
        reason = "not computed: see what is missing"
    cells = {label: ReproducedCell(row.published.get(label), ours.get(label)) for label in labels}
    return ReproducedRow(row.name, cells, "", reason)


def _fitter(row: DensityRow, missing: dict[str, None]) -> Fitter | None:
    """How the row's method is fitted; None, and why, where it is not."""
    if not row.computed:
        return None
    if row.key in LINEAR:
        return LINEAR[row.key]
    try:
        return flow_fitter()
    except MissingExtraError as error:
        missing[f"{row.name}: {error}"] = None
        return None
