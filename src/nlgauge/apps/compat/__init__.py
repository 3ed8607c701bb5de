"""Drop-in replacements: interfaces of other packages, computed by nlgauge; and scores of batches of columns.

Each module needs its package only where it is the package's own interface (`torchmetrics`, `pandas`); the drop-ins of
bert-score and evaluate need neither of the two. `BatchScorer` is for `datasets.Dataset.map(..., batched=True)` and
the like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

from nlgauge.core.corpus import checked_list, checked_texts
from nlgauge.core.scoring import Accumulator
from nlgauge.errors import InputError, RecipeError

__all__ = ["BatchScorer"]


def reference_groups(values: Any, name: str) -> list[list[str]]:
    """The references of each segment, from a text or a list of texts per segment.

    >>> reference_groups(["a", ("b", "c")], "refs")
    [['a'], ['b', 'c']]
    """
    groups = []
    for index, group in enumerate(checked_list(values, name, "a list with a text, or a list of texts, per segment")):
        if group is None or isinstance(group, float):  # the nan of a missing value
            msg = f"{name}[{index}]: expected a text or a list of texts, got {group!r}; use '' for an empty text"
            raise InputError(msg)
        texts = [group] if isinstance(group, str) else checked_texts(group, f"{name}[{index}]")
        if not texts:
            msg = f"{name}[{index}]: the list is empty; a segment needs at least one reference"
            raise InputError(msg)
        groups.append(texts)
    return groups


def check_lengths(first: str, texts: Sized, second: str, others: list[Any]) -> None:
    """Refuse lists that do not go together; references by stream instead of by segment are a common slip."""
    if len(texts) == len(others):
        return
    msg = f"{first} and {second} must go together, got {len(texts)} and {len(others)}"
    groups = bool(others) and all(isinstance(group, list | tuple) for group in others)
    if groups and len(texts) == 1 and all(len(group) == 1 for group in others):
        msg += f"; several {second} of one segment are a list in the list: [[...]]"
    elif groups and all(len(group) == len(texts) for group in others):
        msg += f"; each entry of {second} holds {len(texts)} texts: give the references of one segment after another"
    raise InputError(msg)


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
        score = running.compute()
        prefix = score.metric if self.prefix is None else self.prefix
        return {f"{prefix}_{name}": values.tolist() for name, values in score.segments.items()}
