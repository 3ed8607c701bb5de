"""One published table under one model: what is missing, how a row is computed, and why ours differs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nlgauge.published.data import NO_MODEL, find_model
from nlgauge.published.results import ReproducedCell, ReproducedRow, agrees
from nlgauge.published.table import Column, Mean, PaperTable, TableRow, with_options
from nlgauge.recipes.run_options import RunOptions

__all__ = ["NEEDS_VECTORS", "PublishedRun", "Value", "Values"]

#: Why a row of entities is not computed.
NEEDS_VECTORS = "needs word vectors (--vectors FILE)"


class Value(NamedTuple):
    """One value of ours; a name where a table prints names (the best setting of a language pair)."""

    value: float | str
    signature: str
    identical: bool = False
    """The released scores are those of the column that the row names as possibly identical."""
    settings: str = ""
    """How many settings of a study were run, where print has another number of them."""


#: By name of the row and label of the column.
Values = Mapping[tuple[str, str], Value]


class PublishedRun:
    """A table, the model at hand and the options of a run; gathers what is missing."""

    def __init__(
        self,
        table: PaperTable,
        at: str | os.PathLike[str] | None,
        model: str,
        layer: int | None,
        options: RunOptions,
        vectors: str | None = None,
    ) -> None:
        self.table, self.at, self.model, self.layer, self.options = table, at, model, layer, options
        self.vectors = vectors
        self.missing: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self._depth: int | None = None
        self._no_model = model == NO_MODEL

    def model_is_here(self) -> bool:
        """Whether the model can be loaded; looked up once, and listed as missing where it cannot."""
        if self._depth is None and not self._no_model:
            encoder = find_model(self.table, self.model, self.options, self.missing)
            self._no_model = encoder is None
            self._depth = None if encoder is None else encoder.layers
        return not self._no_model

    def computes(self, row: TableRow) -> bool:
        """Whether there is a way to compute a row under the model and with the word vectors at hand."""
        own = row.model is None or row.model.matches(self.model)
        without = row.word_vectors == "needed" and self.vectors is None
        return row.computed and not without and (own or not row.own_model_only)

    def recipe(self, row: TableRow, langpair: str = "") -> str:
        """What a row is computed with under the model at hand, without the model itself."""
        text = row.recipe
        if row.model is not None and not row.model.matches(self.model):
            text = row.recipe_for_other_models or row.recipe
        depth = self._depth
        if depth is not None:
            text = re.sub(r"top-(\d+)", lambda match: str(max(0, depth - int(match[1]))), text)
        vectors = f"vectors={self.vectors}" if row.word_vectors and self.vectors is not None else ""
        return with_options(text, ",".join(filter(None, (row.exceptions.get(langpair, ""), vectors))))

    def row(self, row: TableRow, kept: Sequence[Column | Mean], values: Values) -> ReproducedRow:
        """A row with its averages and the reason why it differs."""
        ours = {column.label: values[row.name, column.label] for column in kept if (row.name, column.label) in values}
        shown: dict[str, float | str] = {label: one.value for label, one in ours.items()}
        for column in kept:
            if isinstance(column, Mean):
                numbers = [value for label in column.over if isinstance(value := shown.get(label), float | int)]
                if len(numbers) == len(column.over):
                    shown[column.label] = float(np.mean(numbers))
        cells = {
            column.label: ReproducedCell(
                row.published.get(column.label), shown.get(column.label), self.table.absolute or row.absolute
            )
            for column in kept
        }
        recipe = f"released: {row.released}" if row.released else ""
        if row.recipe and self.computes(row):
            recipe = self.recipe(row)
        signatures = {label: one.signature for label, one in ours.items()}
        return ReproducedRow(row.name, cells, recipe, self._reason(row, cells, list(ours.values())), signatures)

    def _reason(self, row: TableRow, cells: Mapping[str, ReproducedCell], ours: Sequence[Value]) -> str:
        if not row.computed and row.note:
            return row.note
        if not self.computes(row) and row.word_vectors == "needed" and self.vectors is None:
            return f"only shown: {NEEDS_VECTORS}"
        if not self.computes(row) and row.model is not None:
            return f"only shown: with --model {row.model.name} it would be computed"
        if not row.computed or not ours:
            unwanted = row.model is not None and self.model == NO_MODEL
            return "not computed: --model none" if unwanted else "not computed: see what is missing"
        same = agrees(cells.values(), self.table.decimals)
        other_model = row.model is not None and not row.model.matches(self.model)
        identical = all(one.identical for one in ours)
        settings = " or ".join(dict.fromkeys(one.settings for one in ours if one.settings))
        # What another model made is not the published score, even where the decimals agree.
        reasons = [same.replace("as published", "same decimals as in print") if other_model else same] if same else []
        if identical:
            reasons.append(f"value for value the scores of {row.identical_released_column}")
        if row.model is not None and other_model:
            reasons.append(f"another model: {self.model} (published: {row.model.name})")
        if settings:
            reasons.append(settings)
        if row.word_vectors:
            given = self.vectors is not None
            reasons.append("entities by other word vectors" if given else "entities by layer 0 of the encoder")
        if row.note and (identical or settings or not same):
            reasons.append(row.note)
        return "; ".join(reasons)
