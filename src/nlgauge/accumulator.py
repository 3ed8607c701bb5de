"""Scores that come a batch at a time: training loops, streams, shards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nlgauge.corpus.checks import make_corpus
from nlgauge.corpus.texts import Corpus, References
from nlgauge.engine.run import run_metrics
from nlgauge.errors import InputError
from nlgauge.recipes.composite import leaves
from nlgauge.recipes.metric import Metric, looks_alone
from nlgauge.recipes.signature import Signature
from nlgauge.recipes.vector_metric import VectorMetric
from nlgauge.scores import Score
from nlgauge.scoring import one_metric, resolved_call

__all__ = ["Accumulator"]


class Accumulator:
    """A score that grows: `update` with texts, `compute` the score of all of them, `reset` to begin again.

    `compute` gives what `nlgauge.score` gives for all texts in one call, bit for bit. Recipes that do not look at the
    corpus score each batch as it comes, and keep numbers; the others (`idf=refs`, SentSim with `bounds=corpus`,
    batches of `position-norm`) keep the texts and score them in `compute`. Options are those of `nlgauge.score`.

    >>> import nlgauge
    >>> running = nlgauge.Accumulator("bertscore")
    >>> for text in ("A cat sat.", "A dog ran."):
    ...     running.update([text], [text])
    >>> len(running.compute())
    2
    """

    def __init__(self, metric: str | Metric | Signature | None = None, **options: Any) -> None:
        chosen = one_metric(metric, options, function="Accumulator")
        self._recipes, self._run, self._check = resolved_call(chosen, options)
        self.keeps_texts = any(_looks_at_corpus(recipe) for recipe in leaves(self._recipes))
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
    if recipe.whole_corpus:
        return True
    return isinstance(recipe, VectorMetric) and (recipe.counts_idf or recipe.uses_neighbours)
