"""`load` of Hugging Face's `evaluate`, by nlgauge: change the import line.

    from nlgauge.compat import evaluate                            (was: import evaluate)
    bertscore = evaluate.load("bertscore")
    bertscore.compute(predictions=..., references=..., model_type="minilm")

`bertscore` has the keys and options of the original: lists under `precision`, `recall` and `f1`, and `hashcode`,
which is the signature. Every other metric of nlgauge loads by its name, and its options are those of `nlgauge.score`;
it has the system's `score`, a list per component (`scores` where that is called score too) and `hashcode`. Nothing is
fetched when a metric is loaded, and no code of others is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nlgauge.compat import bert_score
from nlgauge.errors import InputError, RecipeError
from nlgauge.registry import metric_class
from nlgauge.scoring import score

__all__ = ["EvaluationModule", "load"]


class EvaluationModule:
    """A metric that is fed one at a time, in batches or at once, and computed at the end.

    >>> bertscore = load("bertscore")
    >>> bertscore.add(prediction="A cat sat.", reference="A cat sat.")
    >>> found = bertscore.compute(model_type="minilm")
    >>> sorted(found), round(found["f1"][0], 3)
    (['f1', 'hashcode', 'precision', 'recall'], 1.0)
    """

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        metric_class(name)  # an unknown name is an error here, not after hours of generating
        self.name = name
        self._options = dict(options or {})
        self._predictions: list[str] = []
        self._references: list[Any] = []
        self._sources: list[str] = []

    def __len__(self) -> int:
        return len(self._predictions)

    def add(self, *, prediction: str | None = None, reference: Any = None, source: str | None = None) -> None:
        """Add a segment; a reference is a text, or a list of texts."""
        if prediction is None:
            msg = "add() needs prediction="
            raise InputError(msg)
        sources = None if source is None else [source]
        self.add_batch(
            predictions=[prediction], references=None if reference is None else [reference], sources=sources
        )

    def add_batch(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[Any] | None = None,
        sources: Sequence[str] | None = None,
    ) -> None:
        """Add segments; what does not go together leaves all as it was."""
        predictions = _texts("predictions", predictions or ())
        given = {"references": references, "sources": sources}
        for name, values in given.items():
            if values is not None and len(values) != len(predictions):
                msg = f"predictions and {name} must go together, got {len(predictions)} and {len(values)}"
                raise InputError(msg)
        for name, values, known in (
            ("references", references, self._references),
            ("sources", sources, self._sources),
        ):
            if self._predictions and (values is None) != (not known):
                msg = f"{name} must be given with every prediction or with none"
                raise InputError(msg)
        self._predictions += predictions
        self._references += [one if isinstance(one, str) else list(one) for one in references or ()]
        self._sources += sources or ()

    def compute(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[Any] | None = None,
        sources: Sequence[str] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The scores of all that was added, and of what is given here; the metric is empty afterwards."""
        if predictions is not None:
            self.add_batch(predictions=predictions, references=references, sources=sources)
        if not self._predictions:
            msg = "there is nothing to compute: give predictions= and references=, or add() them first"
            raise InputError(msg)
        try:
            return self._computed(self._options | options)
        finally:
            self._predictions, self._references, self._sources = [], [], []

    def _computed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        if self.name == "bertscore":
            parts, signature = bert_score.score(self._predictions, self._references, return_hash=True, **options)
            names = ("precision", "recall", "f1")
            return {name: np.asarray(part).tolist() for name, part in zip(names, parts, strict=True)} | {
                "hashcode": signature
            }
        found = score(
            self._predictions, self._references or None, sources=self._sources or None, metric=self.name, **options
        )
        lists = {("scores" if name == "score" else name): v.tolist() for name, v in found.segments.items()}
        return {"score": found.system_score, **lists, "hashcode": str(found.signature)}


def load(
    path: str,
    config_name: str | None = None,
    module_type: str | None = None,
    process_id: int = 0,
    num_process: int = 1,
    **options: Any,
) -> EvaluationModule:
    """A metric by name, as `evaluate.load` gives it; options become defaults of `compute`.

    Where several processes feed one metric, use `nlgauge.Accumulator` with `merge`, or the metric for torchmetrics.
    """
    if module_type not in {None, "metric"}:
        msg = (
            f"module_type must be 'metric', got {module_type!r}: nlgauge has no comparisons and measurements by name"
        )
        raise RecipeError(msg)
    if num_process != 1 or process_id != 0:
        msg = f"num_process must be 1, got {num_process}; join processes with nlgauge.Accumulator.merge"
        raise RecipeError(msg)
    for name in ("cache_dir", "experiment_id", "keep_in_memory", "download_config", "download_mode", "revision"):
        options.pop(name, None)  # where evaluate keeps what it fetched; nothing is fetched here
    return EvaluationModule(path, options)


def _texts(name: str, values: Sequence[str]) -> list[str]:
    if isinstance(values, str):
        msg = f"{name} must be a list of texts, got one text"
        raise InputError(msg)
    return list(values)
