"""Drop-in replacements for interfaces of other packages, and scores of batches of columns.

The modules `torchmetrics` and `pandas` need their package; the replacements for bert-score and evaluate do not.
`BatchScorer` is for `datasets.Dataset.map(..., batched=True)` and similar functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

from nlgauge.core.corpus import as_list, as_texts
from nlgauge.core.scoring import Accumulator
from nlgauge.errors import InputError, RecipeError

__all__ = ["BatchScorer"]


def reference_groups(values: Any, name: str) -> list[list[str]]:
    """List the references of each segment, from a text or a list of texts per segment.

    >>> reference_groups(["a", ("b", "c")], "refs")
    [['a'], ['b', 'c']]
    """
    groups = []
    for index, group in enumerate(as_list(values, name, "a list with a text, or a list of texts, per segment")):
        if group is None or isinstance(group, float):  # NaN of a missing value
            msg = f"{name}[{index}]: expected a text or a list of texts, got {group!r}; use '' for an empty text"
            raise InputError(msg)
        texts = [group] if isinstance(group, str) else as_texts(group, f"{name}[{index}]")
        if not texts:
            msg = f"{name}[{index}]: the list is empty; a segment needs at least one reference"
            raise InputError(msg)
        groups.append(texts)
    return groups


def check_lengths(first: str, texts: Sized, second: str, values: list[Any]) -> None:
    """Check that lists have the same length; references by stream instead of by segment are a common mistake."""
    if len(texts) == len(values):
        return
    msg = f"{first} and {second} must have the same length, got {len(texts)} and {len(values)}"
    groups = bool(values) and all(isinstance(group, list | tuple) for group in values)
    if groups and len(texts) == 1 and all(len(group) == 1 for group in values):
        msg += f"; put several {second} of one segment in an inner list: [[...]]"
    elif groups and all(len(group) == len(texts) for group in values):
        msg += f"; each entry of {second} has {len(texts)} texts: pass one list of references per segment"
    raise InputError(msg)


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Computes columns of scores for a batch (a mapping from column names to lists).

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
    """Column of the source texts."""
    metric: str = "bertscore"
    prefix: str | None = None
    """Prefix of the new columns; None: the metric's name."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of `nlgauge.score`."""

    def __post_init__(self) -> None:
        if Accumulator(self.metric, **self.options).keeps_texts:
            msg = (
                f"{self.metric} with these options needs the whole corpus and cannot be computed per batch; use "
                "counts from a file (idf=FILE), or call nlgauge.score on whole columns"
            )
            raise RecipeError(msg)

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[float]]:
        """Compute the new columns of a batch."""
        for name in (self.hyp, self.ref, self.source):
            if name is not None and name not in batch:
                msg = f"the batch has no column {name!r}; its columns are {', '.join(batch)}"
                raise InputError(msg)
        if isinstance(batch[self.hyp], str):  # each character would count as a text
            msg = f"column {self.hyp!r} contains a single text, not a batch; use map(..., batched=True)"
            raise InputError(msg)
        running = Accumulator(self.metric, **self.options)
        running.update(
            list(batch[self.hyp]),
            None if self.ref is None else list(batch[self.ref]),
            sources=None if self.source is None else list(batch[self.source]),
        )
        score = running.compute()
        prefix = score.metric if self.prefix is None else self.prefix
        return {f"{prefix}_{name}": values.tolist() for name, values in score.segments.items()}
