"""The layer of a model that agrees best with human judgements, by BERTScore's F without idf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from nlgauge.core.kinds import Choice, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError
from nlgauge.io.table import Cell, Marked, Table
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.studies.meta.questions import CORRELATIONS, Question, answer, check_question
from nlgauge.studies.meta.score_judgements import score_judgements

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import TuneKeywords


class LayerAgreement(NamedTuple):
    """Agreement of one layer."""

    layer: int
    average: float
    """Unweighted mean over language pairs."""
    by_langpair: Mapping[str, float]


@dataclass(frozen=True)
class LayerTuning(Result):
    """Agreement by layer and language pair."""

    format = "nlgauge-layer-tuning-1"

    model: str
    data: str
    agreement: str
    best: int
    """The layer with the highest average."""
    layers: tuple[LayerAgreement, ...]
    """From layer 0."""

    def tables(self, form: str = "text") -> list[Table]:
        """A row per layer."""
        rows: list[list[Cell]] = []
        for row in self.layers:
            cells: list[Cell] = [
                None if np.isnan(value) else value for value in (*row.by_langpair.values(), row.average)
            ]
            rows.append([row.layer, *cells[:-1], Marked(row.average) if row.layer == self.best else cells[-1]])
        mark = "bold:" if form in ("latex", "markdown") else "*"
        note = f"{mark} best layer: {self.best} (model {self.model}, BERTScore F without idf, {self.agreement})"
        columns = ["layer", *self.layers[0].by_langpair, "average"]
        return [Table(columns, rows, f"{self.data}: agreement by layer", [note])]


@dataclass(frozen=True, kw_only=True)
class TuneOptions(OptionSet):
    """The model whose layers are compared, and by what."""

    called: ClassVar[str] = "options of the choice of a layer"

    model: str = option("minilm", Text("a model"), help="model")
    agreement: str = option("pearson", Choice(*CORRELATIONS), help="correlation with human judgements")


def tune_layer(
    table: JudgementTable, *, run: RunOptions | None = None, **options: Unpack[TuneKeywords]
) -> LayerTuning:
    """Score a table at every layer of a model on one encoding of its texts.

    Options are `TuneOptions` and those of a run, which may also be in one object (`run`).
    """
    given: dict[str, Any] = dict(options)
    own = TuneOptions.take(given)
    question = Question(agreement=own.agreement)
    check_question(question, table)  # a data set without judgements of segments is an error before the work
    if not all(table.references):
        msg = f"layers are tuned on outputs beside references, and {table.name} has none"
        raise InputError(msg)
    running = RunOptions.of(given) if run is None else run.with_options(**given)
    top = load_encoder(own.model, **running.loading).layers
    metrics = [BERTScore(model=own.model, layer=layer) for layer in range(top + 1)]
    scored = score_judgements(table, metrics, run=running)
    layers = []
    for layer, metric in enumerate(scored.metrics):
        values = {pair: one.value for pair, one in answer(question, table, metric).items()}
        layers.append(LayerAgreement(layer, float(np.mean(list(values.values()))), values))
    averages = [row.average for row in layers]
    if np.isnan(averages).all():
        msg = f"no layer of {own.model!r} has a correlation with people on every language pair of {table.name}"
        raise InputError(msg)
    return LayerTuning(own.model, table.name, own.agreement, int(np.nanargmax(averages)), tuple(layers))
