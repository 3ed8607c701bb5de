"""The layer of a model that agrees best with human judgements, by BERTScore's F without idf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.run_options import RunOptions
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError
from nlgauge.io.formats import HtmlCell, html_table
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.studies.meta.questions import Question, answer, check_question
from nlgauge.studies.meta.score_table import score_table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import RunKeywords


@dataclass(frozen=True, eq=False)
class LayerTuning:
    """Agreement by layer (rows, from 0) and language pair."""

    model: str
    data: str
    agreement: str
    langpairs: tuple[str, ...]
    values: NDArray[np.float64]

    @property
    def averages(self) -> NDArray[np.float64]:
        """Unweighted mean over language pairs, by layer."""
        means: NDArray[np.float64] = self.values.mean(axis=1)
        return means

    @property
    def best(self) -> int:
        """The layer with the highest average."""
        if np.isnan(self.averages).all():
            msg = f"no layer of {self.model!r} has a correlation with people on every language pair of {self.data}"
            raise InputError(msg)
        return int(np.nanargmax(self.averages))

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = [
            [layer, *values, average]
            for layer, (values, average) in enumerate(zip(self.values.tolist(), self.averages.tolist(), strict=True))
        ]
        caption = f"{self.data}: {self.agreement} by layer of {self.model}"
        notes = [] if np.isnan(self.averages).all() else [f"best layer: {self.best}"]
        return html_table(["layer", *self.langpairs, "average"], rows, caption=caption, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "model": self.model,
            "data": self.data,
            "agreement": self.agreement,
            "best": self.best,
            "layers": [
                {
                    "layer": layer,
                    "average": float(self.averages[layer]),
                    **dict(zip(self.langpairs, row, strict=True)),
                }
                for layer, row in enumerate(self.values.tolist())
            ],
        }


def tune_layer(
    table: JudgementTable,
    *,
    model: str = "minilm",
    agreement: str = "pearson",
    run: RunOptions | None = None,
    **options: Unpack[RunKeywords],
) -> LayerTuning:
    """Score a table at every layer of a model on one encoding of its texts.

    Options are those of a run, as keywords or in one object (`run`).
    """
    question = Question(agreement=agreement)
    check_question(question, table)  # a data set without judgements of segments is an error before the work
    if not all(table.references):
        msg = f"layers are tuned on outputs beside references, and {table.name} has none"
        raise InputError(msg)
    running = RunOptions.of(options) if run is None else run.with_options(**options)
    top = load_encoder(model, **running.loading).layers
    metrics = [BERTScore(model=model, layer=layer) for layer in range(top + 1)]
    scored = score_table(table, metrics, run=running)
    found = [answer(question, table, metric) for metric in scored.metrics]
    values = [[row[pair].value for pair in table.langpairs] for row in found]
    return LayerTuning(model, table.name, agreement, table.langpairs, np.array(values))
