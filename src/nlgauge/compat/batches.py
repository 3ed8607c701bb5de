"""Scores of a batch of columns, for `datasets.Dataset.map(..., batched=True)` and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlgauge.accumulator import Accumulator
from nlgauge.errors import InputError, RecipeError

__all__ = ["BatchScorer"]


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """From a batch (columns by name, a list each) to new columns with its scores.

    >>> scorer = BatchScorer(hyp="mt", ref="ref", options={"model": "minilm"})
    >>> columns = scorer({"mt": ["A cat sat."], "ref": ["A cat sat."]})
    >>> list(columns)
    ['bertscore_precision', 'bertscore_recall', 'bertscore_f1']
    """

    hyp: str
    """Column of the hypotheses."""
    ref: str | None = None
    """Column of the references: texts, or lists of texts."""
    source: str | None = None
    """Column of what was translated."""
    metric: str = "bertscore"
    prefix: str | None = None
    """Of the new columns; None: the metric's name."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those of `nlgauge.score`."""

    def __post_init__(self) -> None:
        if Accumulator(self.metric, **self.options).keeps_texts:
            msg = (
                f"{self.metric} looks at the whole corpus here, so a batch has no score of its own; freeze what it "
                "counts (idf=FILE), or call nlgauge.score on whole columns"
            )
            raise RecipeError(msg)

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[float]]:
        """The new columns of a batch."""
        for name in (self.hyp, self.ref, self.source):
            if name is not None and name not in batch:
                msg = f"the batch has no column {name!r}; it has {', '.join(batch)}"
                raise InputError(msg)
        if isinstance(batch[self.hyp], str):  # its letters would be taken for texts
            msg = f"column {self.hyp!r} holds one text, so this is a row and no batch; map(..., batched=True)"
            raise InputError(msg)
        running = Accumulator(self.metric, **self.options)
        running.update(
            list(batch[self.hyp]),
            None if self.ref is None else list(batch[self.ref]),
            sources=None if self.source is None else list(batch[self.source]),
        )
        found = running.compute()
        prefix = found.metric if self.prefix is None else self.prefix
        return {f"{prefix}_{name}": values.tolist() for name, values in found.segments.items()}
