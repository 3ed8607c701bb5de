"""Scores of different segments merged to one, and scores that come a batch at a time.

Merged scores are those of one call with all segments. The `Accumulator` merges batches of training loops, streams and
shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.core.corpus import Corpus, References, make_corpus
from nlgauge.core.metric import Metric, TextMetric, base_metrics, looks_alone
from nlgauge.core.notes import run_fields
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.registry import recipe_from_signature
from nlgauge.core.score import Score, SegmentNotes, count_notes, join_notes
from nlgauge.core.scoring import AnyMetric, one_metric, resolved_call
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords
    from nlgauge.stats.corpus_counts import CorpusCounts


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
    best, alignments, counts = (_of_all(scores, name) for name in ("best_reference", "alignments", "statistics"))
    statistics = None
    if counts is not None:
        statistics = replace(counts[0], counts=np.concatenate([part.counts for part in counts]))
    return replace(
        first,
        segments={name: np.concatenate([score.segments[name] for score in scores]) for name in first.segments},
        signature=_signature(scores, notes),
        notes=notes,
        best_reference=None if best is None else np.concatenate(best),
        alignments=None if alignments is None else tuple(chain(*alignments)),
        corpus=_corpus(first, statistics),
        statistics=statistics,
        origin=None,
    )


def _of_all(scores: Sequence[Score], name: str) -> list[Any] | None:
    """A field of each score, where all have it."""
    values = [getattr(score, name) for score in scores]
    return None if any(value is None for value in values) else values


def _check(first: Score, other: Score, number: int) -> None:
    if first.system != other.system:
        msg = f"scores[{number}] is of system {other.system!r}, and scores[0] of {first.system!r}; merge each system"
        raise InputError(msg)
    counts = {**first.notes, **other.notes, **count_notes({})}
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
    moved = [
        {name: tuple(segment + start for segment in segments) for name, segments in score.notes.items()}
        for start, score in zip(starts, scores, strict=False)
    ]
    return join_notes(moved)


def _signature(scores: Sequence[Score], notes: SegmentNotes) -> Signature:
    first = scores[0].signature
    counts = {score.signature.recipe.get("refs") for score in scores}
    recipe = dict(first.recipe) | ({"refs": "var"} if len(counts) > 1 else {})
    run = run_fields(notes) | {key: text for key, text in first.run.items() if key not in count_notes(notes)}
    left_out = sum(int(score.signature.run.get("errors", "0")) for score in scores)
    return Signature(first.metric, recipe, run | ({"errors": str(left_out)} if left_out else {}))


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


class Accumulator:
    """A score that grows: `update` with texts, `compute` the score of all of them, `reset` to begin again.

    `compute` gives what `nlgauge.score` gives for all texts in one call, bit for bit. Recipes that do not look at the
    corpus score each batch as it comes, and keep numbers; the others (`idf=refs`, SentSim with `bounds=corpus`,
    `transforms=position-norm`) keep the texts and score them in `compute`. Options are those of `nlgauge.score`.

    >>> import nlgauge
    >>> running = nlgauge.Accumulator("bertscore")
    >>> for text in ("A cat sat.", "A dog ran."):
    ...     running.update([text], [text])
    >>> len(running.compute())
    2
    """

    def __init__(self, metric: AnyMetric | None = None, **options: Unpack[ScoreKeywords]) -> None:
        chosen = one_metric(metric, function="Accumulator")
        self._recipes, self._run, self._check = resolved_call(chosen, options)
        self.keeps_texts = any(_looks_at_corpus(recipe) for recipe in base_metrics(self._recipes))
        """Whether the recipe looks at the whole corpus, so that texts are scored in `compute`."""
        self._texts: list[Corpus] = []
        self._scores: list[Score] = []

    def __len__(self) -> int:
        return sum(map(len, self._scores)) + sum(map(len, self._texts))

    def update(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
    ) -> None:
        """Add segments; arguments are those of `nlgauge.score`. Texts that are refused leave all as it was."""
        corpus = self.check(hyps, refs, ref_streams=ref_streams, sources=sources)
        if self._texts and (corpus.sources is None) != (self._texts[0].sources is None):
            msg = "sources must be given in every update() or in none"
            raise InputError(msg)
        if self.keeps_texts:
            self._texts.append(corpus)
        else:
            self._scores += run_metrics(self._recipes, corpus, self._run, check_signature=self._check)

    def check(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
    ) -> Corpus:
        """The texts as `update` would add them; what it would refuse is refused."""
        alone = looks_alone(self._recipes)
        return make_corpus({"": hyps}, refs, ref_streams=ref_streams, sources=sources, alone=alone)

    def merge(self, other: Accumulator) -> None:
        """Add what another one of the same recipe has seen, such as that of another process."""
        if other is self:
            msg = "an Accumulator cannot take in itself: every segment would count twice"
            raise InputError(msg)
        if (self._recipes, self.keeps_texts) != (other._recipes, other.keeps_texts):
            msg = "an Accumulator takes in one of the same recipe; this one has another"
            raise InputError(msg)
        self._texts += other._texts
        self._scores += other._scores

    def compute(self) -> Score:
        """The score of all segments so far."""
        if not len(self):
            msg = "there is nothing to compute yet: call update() with texts first"
            raise InputError(msg)
        if not self.keeps_texts:
            # Batches that have been joined need not be joined again.
            self._scores = [Score.merge(self._scores)]
            return self._scores[0]
        sources = None if self._texts[0].sources is None else [s for one in self._texts for s in one.sources or ()]
        corpus = Corpus(
            {"": [text for one in self._texts for text in one.systems[""]]},
            [group for one in self._texts for group in one.references],
            sources=sources,
        )
        return run_metrics(self._recipes, corpus, self._run, check_signature=self._check)[0]

    def reset(self) -> None:
        """Forget all segments; the model stays in memory."""
        self._texts, self._scores = [], []


def _looks_at_corpus(recipe: Metric) -> bool:
    """Whether the score of a segment depends on the others."""
    return recipe.whole_corpus or recipe.group > 1 or (isinstance(recipe, VectorMetric) and recipe.counts_idf)
