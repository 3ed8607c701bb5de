"""Agreement by layer: BERTScore's Figure 3 and Table 8, computed for the models of this machine.

The paper prints the best layer of each model, not the values of its figure. A row has these, and the agreement at
every layer of a model that is here: one with a name in nlgauge, or the one that the request names.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.data.cards import load
from nlgauge.errors import InputError
from nlgauge.io.store.catalog import find_card
from nlgauge.io.store.fetch import cached_card
from nlgauge.studies.meta.score_judgements import draw_layers, tune_layer
from nlgauge.studies.published.runs import NOT_COMPUTED, ReproducedRow, Reproduction, Run
from nlgauge.studies.published.tables import PaperTable, TableRow

if TYPE_CHECKING:
    from nlgauge.studies.published.reproduce import Request

#: Columns before those of the layers.
_COUNT, _BEST = "layers", "best"

_NOT_HERE = "not computed: --model NAME computes a row"


def compute_layers(request: Request) -> Reproduction:
    """Recompute the table: rows of available models, or of the one that the request names."""
    run = Run(request)
    path = run.locate(run.table.data[0])
    rows = list(run.table.rows)
    if request.model not in (None, "none") and not any(_model_of(row, request) for row in rows):
        rows.append(TableRow(str(request.model), key=(str(request.model),)))
    computed = []
    for row in rows:
        model = _model_of(row, request)
        ours: dict[str, float] = {}
        if model and path is not None:
            with run.or_missing(f"layers of {model}"):
                data = load(run.table.data[0], path, langpairs=request.langpairs)
                tuning = tune_layer(data, model=model, run=request.run)
                ours = {str(layer.layer): layer.average for layer in tuning.layers}
                ours |= {_COUNT: len(tuning.layers) - 1, _BEST: tuning.best}
        computed.append(run.row(row, ours, "" if ours else _NOT_HERE if path is not None else NOT_COMPUTED))
    used = {label for row in computed for label, cell in row.cells.items() if cell != (None, None, None)}
    columns = [column for column in run.table.columns if column.label in used]
    return run.result(computed, columns, model=request.model or "")


def _model_of(row: TableRow, request: Request) -> str:
    """The model to compute a row with; empty if it is not selected or not on this machine."""
    if request.model is not None:
        own = any(name in {request.model, Path(request.model).name} for name in row.key)
        return request.model if own else ""
    card = find_card(row.key[0]) if row.key else None
    if card is None:
        return ""
    return card.name if cached_card(card) is not None else ""


def draw_published_layers(result: Reproduction, table: PaperTable) -> Any:
    """Draw a line per computed model."""
    if not any(row.has_ours for row in result.rows):
        msg = f"nothing to draw: no value of {result.id} was computed; its table lists the missing inputs"
        raise InputError(msg)
    curves = {row.name: _curve(row) for row in result.rows if row.has_ours}
    caption = f"BERTScore F without idf on {', '.join(result.data)}, average over language pairs."
    return draw_layers(curves, axis="pearson", title=f"{result.id}: {result.title}", caption=caption)


def _curve(row: ReproducedRow) -> list[tuple[int, float]]:
    cells = ((label, cell.ours) for label, cell in row.cells.items() if label.isdecimal())
    return [(int(label), ours) for label, ours in cells if isinstance(ours, float)]
