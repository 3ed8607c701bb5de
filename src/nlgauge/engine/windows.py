"""A window: a range of segments with all their texts, and what a metric makes of each of them.

Its vectors are dropped before the next window starts, so memory does not grow with the corpus.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from nlgauge.corpus.texts import Corpus
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import EncodedText
from nlgauge.recipes.metric import CloudMetric, WindowTexts
from nlgauge.scores import SegmentNotes
from nlgauge.transforms.base import POSITION_BATCH, VectorSteps
from nlgauge.transforms.remap import Side

__all__ = ["AnyCloudMetric", "Forms", "Job", "distinct_corpora", "texts_of", "windows"]

AnyCloudMetric: TypeAlias = CloudMetric[Any, Any]


@dataclass(frozen=True, eq=False)
class Job:
    """A metric with all that is known before the first text is encoded."""

    metric: AnyCloudMetric
    tokenized: TokenizedCorpus
    """As the metric sees it: with references, or with sources in their place."""
    state: Any
    steps: VectorSteps | None
    notes: Mapping[str, SegmentNotes]
    counted_empty: Mapping[tuple[str, int], Sequence[str | None]] = field(default_factory=dict)
    """By system and segment, for each reference the side of the pair that is scored as if it were empty."""

    @property
    def corpus(self) -> Corpus:
        """The texts."""
        return self.tokenized.corpus


def texts_of(corpora: Sequence[Corpus], at: int) -> Iterator[str]:
    """All texts of a segment; the corpora differ in what they compare with."""
    for hypotheses in corpora[0].systems.values():
        yield hypotheses[at]
    for corpus in corpora:
        yield from corpus.references[at]


def windows(jobs: Sequence[Job], budget: int) -> Iterator[range]:
    """Ranges of segments whose distinct texts have at most `budget` tokens (or a single segment).

    Where a metric looks at neighbours, a window holds whole batches of them.
    """
    corpora = distinct_corpora(jobs)
    tokens = jobs[0].tokenized.tokens
    stride = POSITION_BATCH if any(job.steps is not None and job.steps.by_neighbours for job in jobs) else 1
    count = len(corpora[0])
    start, seen, size = 0, set[str](), 0
    for at in range(0, count, stride):
        here = {text for place in range(at, min(at + stride, count)) for text in texts_of(corpora, place)}
        new = here - seen
        cost = sum(len(tokens[text]) for text in new)
        if at > start and size + cost > budget:
            yield range(start, at)
            start, seen, size = at, set(), 0
            new = here
            cost = sum(len(tokens[text]) for text in new)
        seen |= new
        size += cost
    yield range(start, count)


def distinct_corpora(jobs: Sequence[Job]) -> list[Corpus]:
    """The corpora of the jobs, each once."""
    return list({id(job.corpus): job.corpus for job in jobs}.values())


class Forms:
    """What a metric makes of the texts of a window, each once per side."""

    def __init__(self, job: Job, window: range, encoded: Mapping[str, EncodedText]) -> None:
        self._job = job
        self._window = window
        self._encoded = encoded
        self._made: dict[Hashable, Any] = {}
        self._batches: dict[tuple[str | None, int], list[EncodedText]] = {}
        corpus = job.corpus
        hypotheses = dict.fromkeys(texts[at] for at in window for texts in corpus.systems.values())
        others = dict.fromkeys(text for at in window for text in corpus.references[at])
        if job.counted_empty:
            hypotheses[""] = others[""] = None
        job.metric.read(WindowTexts(encoded, list(hypotheses), list(others)), job.state)

    def hypothesis(self, system: str, at: int) -> Any:
        """Of a system's output."""
        return self._of(self._job.corpus.systems[system][at], system, at)

    def references(self, at: int) -> list[Any]:
        """Of all that the output is compared with."""
        return [self._of(text, None, at) for text in self._job.corpus.references[at]]

    def empty(self, system: str | None) -> Any:
        """Of a text without a token, in the place of a system's output (None: of a reference)."""
        role = self._job.metric.side(system)
        if ("", role) not in self._made:
            self._made["", role] = self._job.metric.represent(self._encoded[""], self._job.state, role)
        return self._made["", role]

    def _of(self, text: str, system: str | None, at: int) -> Any:
        job = self._job
        side = job.metric.side(system)
        steps = job.steps
        key: Hashable = (text, side)
        if steps is not None:
            across = system is None and job.corpus.across
            key = (system, at, text) if steps.by_neighbours else (text, side, across)
        if key not in self._made:
            encoded = self._encoded[text]
            if steps is not None and steps.by_neighbours:
                encoded = self._among_neighbours(steps, system, at)
            elif steps is not None:
                encoded = steps.apply(encoded, "source" if across else "target")
            self._made[key] = job.metric.represent(encoded, job.state, side)
        return self._made[key]

    def _among_neighbours(self, steps: VectorSteps, system: str | None, at: int) -> EncodedText:
        first = at - at % POSITION_BATCH
        if (system, first) not in self._batches:
            corpus = self._job.corpus
            places = range(first, min(first + POSITION_BATCH, len(corpus)))
            texts = [corpus.references[p][0] if system is None else corpus.systems[system][p] for p in places]
            side: Side = "source" if system is None and corpus.across else "target"
            self._batches[system, first] = steps.apply_together([self._encoded[text] for text in texts], side)
        return self._batches[system, first][at - first]
