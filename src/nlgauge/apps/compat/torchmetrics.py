"""Any metric of nlgauge as a `torchmetrics.Metric`: update, compute, reset, and gathering from all processes.

    metric = TextScore("bertscore", model="minilm")
    metric.update(["A cat sat."], ["The cat sat."])
    metric.compute()                                      {"precision": tensor, "recall": tensor, "f1": tensor}

Results are in the order of updates; with several processes, those of process 0 come first. A sampler that deals out
segments in turn (`DistributedSampler`) changes that order and repeats some segments to fill the last round: pass the
positions of a batch's segments with `positions` to get each segment once, in the original order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nlgauge.apps.compat import check_lengths, reference_groups
from nlgauge.core.corpus import as_texts
from nlgauge.core.score import Score
from nlgauge.core.scoring import Accumulator, resolve_call, score, single_metric
from nlgauge.errors import InputError, MissingExtraError

__all__ = ["TextScore"]

try:
    from torchmetrics import Metric
except ImportError:  # the module can be imported without it, but a metric cannot be created
    Metric = object

#: Keywords of torchmetrics; all others are options of `nlgauge.score`.
_THEIRS = {
    *("compute_on_cpu", "compute_with_cache", "sync_on_compute", "process_group"),
    *("dist_sync_fn", "dist_sync_on_step", "distributed_available_fn"),
}


class TextScore(Metric):  # type: ignore[misc]  # torchmetrics need not be here
    """Scores of texts as a torchmetrics metric; options are those of `nlgauge.score`.

    `compute` returns a tensor per component with a number per segment, or with `average=True` the system's score. The
    full result, with its signature, is available as `metric.result` until `reset`.
    """

    is_differentiable = False
    full_state_update = False

    def __init__(self, metric: str = "bertscore", *, average: bool = False, **options: Any) -> None:
        if Metric is object:
            msg = "the package torchmetrics is not installed; run: pip install torchmetrics"
            raise MissingExtraError(msg)
        super().__init__(**{name: options.pop(name) for name in _THEIRS & options.keys()})
        self._metric, self._options, self._average = metric, options, average
        # Raise errors for unknown options now, not after the first batch.
        recipes, *_ = resolve_call(single_metric(metric, function="TextScore"), options)
        self._higher_is_better = recipes[0].higher_is_better
        self.result: Score | None = None
        # Lines of JSON, a number per byte: torchmetrics gathers, moves and saves them as any other state. Floats,
        # because a process without a segment sends an empty tensor of the metric's own type.
        self.add_state("records", default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool:
        """Whether higher is better for the main component; used by trackers and callbacks."""
        return self._higher_is_better

    def reset(self) -> None:
        """Remove all segments and the result."""
        super().reset()
        self.result = None

    def update(
        self,
        preds: Sequence[str] | str,
        target: Sequence[Any] | str | None = None,
        *,
        sources: Sequence[str] | None = None,
        positions: Sequence[int] | None = None,
    ) -> None:
        """Add segments; a target is a text or a list of texts. Source-based metrics need no target."""
        import torch

        preds = as_texts([preds] if isinstance(preds, str) else preds, "preds")
        if target is not None:
            target = reference_groups([target] if isinstance(target, str) else target, "target")
            check_lengths("preds", preds, "target", target)
        if sources is not None:
            sources = as_texts([sources] if isinstance(sources, str) else sources, "sources")
            check_lengths("preds", preds, "sources", sources)
        if positions is not None and len(positions) != len(preds):
            msg = f"preds and positions must have the same length, got {len(preds)} and {len(positions)}"
            raise InputError(msg)
        if not preds:
            return
        running = Accumulator(self._metric, **self._options)
        record: dict[str, Any]
        if running.keeps_texts or positions is not None:
            running.check(preds, target, sources=sources)
            record = {"preds": preds, "target": target, "sources": sources}
            record["positions"] = None if positions is None else [int(position) for position in positions]
        else:
            running.update(preds, target, sources=sources)
            record = {"score": running.compute().to_dict()}
        line = json.dumps(record).encode() + b"\n"
        self.records.append(torch.tensor(list(line), dtype=self.dtype, device=self.device))

    def compute(self) -> dict[str, Any]:
        """Compute a tensor per component."""
        import torch

        self.result = result = self._join(self._gather())
        if self._average:
            return {name: torch.tensor(value, device=self.device) for name, value in result.system_scores.items()}
        return {
            name: torch.tensor(values, dtype=torch.float32, device=self.device)
            for name, values in result.segments.items()
        }

    def _gather(self) -> list[dict[str, Any]]:
        """Decode the records of all processes: a list of tensors, or one tensor joined by torchmetrics."""
        import torch

        parts = self.records if isinstance(self.records, list) else [self.records]
        text = b"".join(part.to(torch.uint8).cpu().numpy().tobytes() for part in parts)
        return [json.loads(line) for line in text.splitlines()]

    def _join(self, records: Sequence[dict[str, Any]]) -> Score:
        if not records:
            msg = "nothing to compute: call update() with texts first"
            raise InputError(msg)
        merged = ["score" in record for record in records]
        if all(merged):
            return Score.merge([Score.from_dict(record["score"]) for record in records])
        if any(merged) or len({record["positions"] is None for record in records}) > 1:
            msg = "positions must be passed in every update() or in none"
            raise InputError(msg)
        rows = [row for record in records for row in _rows(record)]
        if records[0]["positions"] is not None:
            rows = [row for _, row in sorted({row[0]: row for row in reversed(rows)}.items())]
        _, preds, target, sources = zip(*rows, strict=True)
        return score(
            preds,
            None if target[0] is None else target,
            sources=None if sources[0] is None else sources,
            metric=self._metric,
            **self._options,
        )


def _rows(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Position, prediction, target and source of each segment of a record."""
    nothing = [None] * len(record["preds"])
    columns = (record[name] or nothing for name in ("positions", "preds", "target", "sources"))
    return list(zip(*columns, strict=True))
