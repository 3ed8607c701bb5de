"""Scores of different segments joined to one, as if all had been scored in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.engine.notes import run_fields
from nlgauge.errors import InputError
from nlgauge.recipes.metric import TextMetric
from nlgauge.recipes.signature import Signature
from nlgauge.registry import recipe_from_signature
from nlgauge.scores import Score, SegmentNotes
from nlgauge.stats.corpus_counts import CorpusCounts

__all__ = ["merge_scores"]


def merge_scores(scores: Sequence[Score]) -> Score:
    """All segments of the scores, in the order given; what does not go together is refused."""
    scores = list(scores)
    if not scores:
        msg = "Score.merge needs at least one score, got none"
        raise InputError(msg)
    for number, score in enumerate(scores):
        if not isinstance(score, Score):
            msg = f"scores[{number}]: expected a Score, got {type(score).__name__}"
            raise InputError(msg)
    first = scores[0]
    for number, score in enumerate(scores[1:], start=1):
        _check(first, score, number)
    notes = _notes(scores)
    statistics = _statistics(scores)
    return Score(
        metric=first.metric,
        system=first.system,
        segments={name: np.concatenate([score.segments[name] for score in scores]) for name in first.segments},
        main=first.main,
        higher_is_better=first.higher_is_better,
        signature=_signature(scores, notes),
        notes=notes,
        best_reference=_joined([score.best_reference for score in scores]),
        alignments=_alignments(scores),
        corpus=_corpus(first, statistics),
        distances=first.distances,
        statistics=statistics,
    )


def _check(first: Score, other: Score, number: int) -> None:
    if first.system != other.system:
        msg = f"scores[{number}] is of system {other.system!r}, and scores[0] of {first.system!r}; merge each system"
        raise InputError(msg)
    counts = SegmentNotes.__dataclass_fields__
    differing = [
        one
        for one in first.signature.difference(other.signature)
        if (one.part == "recipe" and (one.field != "refs" or "source" in {one.left, one.right}))
        or (one.part == "run" and one.key not in counts and one.key != "errors")
    ]
    if differing or set(first.segments) != set(other.segments):
        found = "; ".join(f"{one.key}: {one.left} and {one.right}" for one in differing) or "other components"
        msg = (
            f"scores[{number}] was made otherwise than scores[0] ({found}), so that the two are not one score; score "
            "them with one recipe, and with frozen tables where it looks at the corpus (idf=FILE, bounds=FILE)"
        )
        raise InputError(msg)


def _notes(scores: Sequence[Score]) -> SegmentNotes:
    """What is noted of each segment, under its new number."""
    starts = np.cumsum([0, *(len(score) for score in scores)]).tolist()
    return SegmentNotes(
        **{
            kind: tuple(
                at + start for start, score in zip(starts, scores, strict=False) for at in getattr(score.notes, kind)
            )
            for kind in SegmentNotes.__dataclass_fields__
        }
    )


def _signature(scores: Sequence[Score], notes: SegmentNotes) -> Signature:
    first = scores[0].signature
    counts = {score.signature.recipe.get("refs") for score in scores}
    recipe = dict(first.recipe) | ({"refs": "var"} if len(counts) > 1 else {})
    run = run_fields(notes) | {key: text for key, text in first.run.items() if key not in notes.__dict__}
    left_out = sum(int(score.signature.run.get("errors", "0")) for score in scores)
    return Signature(first.metric, recipe, run | ({"errors": str(left_out)} if left_out else {}))


def _joined(arrays: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    there = [array for array in arrays if array is not None]
    return np.concatenate(there) if len(there) == len(arrays) else None


def _alignments(scores: Sequence[Score]) -> tuple[Any, ...] | None:
    there = [score.alignments for score in scores if score.alignments is not None]
    return tuple(one for found in there for one in found) if len(there) == len(scores) else None


def _statistics(scores: Sequence[Score]) -> CorpusCounts | None:
    there = [score.statistics for score in scores if score.statistics is not None]
    if len(there) < len(scores):
        return None
    return CorpusCounts(there[0].formula, np.concatenate([one.counts for one in there]))


def _corpus(first: Score, statistics: CorpusCounts | None) -> Mapping[str, float]:
    """Scores of the whole corpus, where they are no means: from the counts of all segments."""
    if not first.corpus:
        return {}
    metric = first.origin.metric if first.origin is not None else recipe_from_signature(first.signature)
    if statistics is None or not isinstance(metric, TextMetric):
        msg = (
            f"{first.metric} is computed on the whole corpus, and the counts it is made of are not with these "
            "scores, so that they cannot be merged; score the texts in one call"
        )
        raise InputError(msg)
    return metric.corpus_scores(statistics)
