"""Score systems only until it is certain which one is better.

Segments (or whole documents) are scored in random order, in growing blocks, for all metrics at once. A pair of
systems that is decided by a metric stays decided; a metric, and a system, is scored further only while a pair needs
it. A segment gets the score that it has in a run of all segments: idf is counted on all texts, and metrics whose
scores depend on other segments in another way are refused.

Nothing is written before the end, so an interrupted run leaves nothing behind. With `cache=` the next run encodes no
text again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.core.compare import compare as compare_segments
from nlgauge.core.corpus import SEGMENT_NAMES, Corpus, References, TextNames, WholeCorpus, make_corpus
from nlgauge.core.metric import Metric, base_metrics, needs_no_reference
from nlgauge.core.pipeline import finish
from nlgauge.core.prepare import prepare
from nlgauge.core.run_options import Progress
from nlgauge.core.score import Score
from nlgauge.core.scoring import Call, Metrics, metric_list, resolve_call
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.stats.numeric import orient
from nlgauge.stats.resampling import unit_numbers
from nlgauge.studies.compare.early_comparison import (
    TOO_FEW,
    EarlyComparison,
    MetricVerdicts,
    PairVerdict,
    SystemSoFar,
)
from nlgauge.studies.compare.paired_tests import LEAST_FOR_A_VERDICT
from nlgauge.studies.compare.stopping import Decision, Order, StopRule, look
from nlgauge.studies.compare.systems import own_idf_notes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import UntilCertainKeywords

#: Segments that a note names.
_NAMED = 5


def compare_until_certain(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    metric: Metrics | None = None,
    *,
    sources: Iterable[str] | None = None,
    documents: Sequence[str] | None = None,
    **options: Unpack[UntilCertainKeywords],
) -> EarlyComparison:
    """Compare systems on as many segments as a certain verdict needs.

    Arguments are those of `nlgauge.compare`. `documents` names the document of each segment; then whole documents are
    drawn. `options` are those of `nlgauge.score` and the fields of `StopRule`. The probability of any wrong verdict
    by a metric is at most `alpha`, for all pairs of systems together.

    >>> texts = [f"Sentence number {n} is here." for n in range(200)]
    >>> systems = {"good": texts, "bad": [text.replace("number", "no.") for text in texts]}
    >>> result = compare_until_certain(systems, texts, "chrf")
    >>> result.verdicts[0].partition(":")[0], result.metric().pairs[0].used
    ('good is better than bad (chrF)', 'stopped after 50 of 200 segments')
    """
    keywords: dict[str, Any] = dict(options)
    rule = StopRule.take(keywords)
    call = resolve_call(metric_list(metric), keywords)
    return call_until_certain(call, systems, refs, rule, sources=sources, documents=documents)


def call_until_certain(
    call: Call,
    systems: Mapping[str, Iterable[str]],
    refs: References | None,
    rule: StopRule,
    *,
    sources: Iterable[str] | None = None,
    documents: Sequence[str] | None = None,
    names: TextNames = SEGMENT_NAMES,
) -> EarlyComparison:
    """`compare_until_certain` for parsed metrics and options; `names` are the names of segments in messages."""
    check_metrics(call.recipes)
    corpus = make_corpus(systems, refs, sources=sources, alone=needs_no_reference(call.recipes))
    _check_systems(corpus, rule)
    order = Order(len(corpus), rule, documents)
    pairs = list(itertools.combinations(corpus.systems, 2))
    if rule.goal == "not-worse":
        pairs = [(second, first) for first, second in pairs]
    blocks = _Blocks.of(call, replace(corpus, names=names), order)
    states = [_State(dict.fromkeys(pairs), {name: [] for name in corpus.systems}) for _ in call.recipes]
    used = 0
    with Progress(len(corpus), show=call.run.progress, what="comparing", unit="segment") as advance:
        for count in order.looks():
            open_metrics = [number for number, state in enumerate(states) if state.open]
            if not open_metrics:
                break
            stop = int(order.sizes[:count].sum())
            needed = {name for number in open_metrics for pair in states[number].open for name in pair}
            blocks.score(used, stop, [name for name in corpus.systems if name in needed], open_metrics, states)
            for number in open_metrics:
                states[number].look(order, rule, count)
            advance(stop - used)
            used = stop
    return _result(states, blocks, rule, documents)


def check_metrics(recipes: Sequence[Metric]) -> None:
    """Refuse metrics by which the score of a segment depends on which other segments are scored with it."""
    for recipe in base_metrics(recipes):
        reason, fix = "", "use another metric"
        if isinstance(recipe, VectorMetric) and recipe.group > 1:
            reason = f"{recipe.name} scores segments in groups (transforms={recipe.given['transforms']})"
            fix = "leave out the transform"
        elif recipe.whole_corpus and not (isinstance(recipe, VectorMetric) and recipe.counts_idf):
            reason, fix = recipe.describe_dependence()
        if reason:
            msg = f"cannot stop early by {recipe.name}: {reason}; {fix}, or compare on all segments"
            raise RecipeError(msg)


def _check_systems(corpus: Corpus, rule: StopRule) -> None:
    count = len(corpus.systems)
    if count < 2:
        msg = f"a comparison needs two systems, got {count}; add another one"
        raise InputError(msg)
    if rule.goal == "not-worse" and count > 2:
        msg = f"goal 'not-worse' compares two systems, the base and the new one, got {count}"
        raise InputError(msg)


@dataclass
class _State:
    """What one metric knows so far."""

    pairs: dict[tuple[str, str], Decision | None]
    scores: dict[str, list[float]]
    """Main scores by system, in the order of the segments; higher is better."""
    sample: Score | None = None
    """A score of the first block, which has the signature."""
    notes: dict[str, dict[int, None]] = field(default_factory=dict)
    """Segments by note."""

    @property
    def open(self) -> list[tuple[str, str]]:
        """Pairs without a decision."""
        return [pair for pair, decision in self.pairs.items() if decision is None]

    def look(self, order: Order, rule: StopRule, count: int) -> None:
        """Decide the open pairs where that is possible."""
        for first, second in self.open:
            differences = np.array(self.scores[first]) - np.array(self.scores[second])
            self.pairs[first, second] = look(
                order.totals(differences), order.sizes[:count], rule, units=len(order.units), pairs=len(self.pairs)
            )


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The texts in the order drawn, ready to be scored in parts."""

    call: Call
    corpus: Corpus
    segments: Sequence[int]
    """Segments in the order drawn."""
    whole: WholeCorpus

    @classmethod
    def of(cls, call: Call, corpus: Corpus, order: Order) -> _Blocks:
        """Count idf on all texts."""
        counting = [
            recipe for recipe in base_metrics(call.recipes) if isinstance(recipe, VectorMetric) and recipe.counts_idf
        ]
        counted: dict[Any, dict[str, Any]] = {}
        if counting:
            for metric in prepare(counting, corpus, call.run, warn=False).compared.values():
                key = metric.metric.encoding, metric.metric.against
                counted.setdefault(key, {}).update(metric.tokenized.memo)
        return cls(call, corpus, order.segments, WholeCorpus(corpus.reference_count, counted))

    def score(
        self, start: int, stop: int, systems: Sequence[str], metrics: Sequence[int], states: Sequence[_State]
    ) -> None:
        """Score segments number `start` to `stop` of the order, and add the scores to the states."""
        current_run().check()
        segments = self.segments[start:stop]
        names = self.corpus.names
        part = replace(
            self.corpus.take(segments),
            systems={name: [self.corpus.systems[name][index] for index in segments] for name in systems},
            whole=self.whole,
            names=TextNames(names.unit, lambda index: _name(names, segments[index])),
        )

        def check_signature(number: int, signature: Signature) -> None:
            self.call.check_signature(metrics[number], signature)

        recipes = [self.call.recipes[number] for number in metrics]
        options = replace(self.call.run, progress=False, alignments=False)
        # Languages and the like are warned of once; notes of texts are in the result.
        first = start == 0
        prepared = prepare(recipes, part, options, check_signature=check_signature, warn=first)
        scores = finish(prepared, compare_segments(prepared), warn=first)
        for number, score in zip(np.repeat(metrics, len(systems)).tolist(), scores, strict=True):
            _add(states[number], score, segments)


def _name(names: TextNames, index: int) -> str:
    """The name of a segment of the whole test set."""
    return f"{names.unit} {index}" if names.name is str else names.name(index)


def _add(state: _State, score: Score, segments: Sequence[int]) -> None:
    values = score.segments[score.main]
    if not np.isfinite(values).all():
        index = segments[int(np.flatnonzero(~np.isfinite(values))[0])]
        msg = (
            f"{score.metric} of {score.system!r} is not a finite number for segment {index}; leave out the segment, "
            "or use another metric"
        )
        raise InputError(msg)
    state.scores[score.system or ""] += orient(values, higher_is_better=score.higher_is_better).tolist()
    state.sample = state.sample or score
    for note, numbers in score.notes.items():
        state.notes.setdefault(note, {}).update(dict.fromkeys(segments[number] for number in numbers))


def _result(
    states: Sequence[_State], blocks: _Blocks, rule: StopRule, documents: Sequence[str] | None
) -> EarlyComparison:
    corpus = blocks.corpus
    numbers = None if documents is None else unit_numbers(documents, len(corpus))
    digest = "" if numbers is None else short_digest(text_digest(" ".join(map(str, numbers))))
    signature = rule.signature(
        pairs=len(states[0].pairs), unit="segment" if numbers is None else "document", documents=digest
    )
    outputs = [max(len(state.scores[name]) for state in states) for name in corpus.systems]
    samples = [state.sample for state in states if state.sample is not None]
    names = [sample.metric for sample in samples]
    labels = [
        name if names.count(name) == 1 else f"{name} ({names[: index + 1].count(name)})"
        for index, name in enumerate(names)
    ]
    return EarlyComparison(
        metrics=tuple(
            _verdicts(label, state, sample, blocks, rule, by_document=documents is not None)
            for label, state, sample in zip(labels, states, samples, strict=True)
        ),
        rule=rule,
        segments=len(corpus),
        documents=None if numbers is None else int(numbers.max()) + 1,
        scored=sum(outputs) / (len(corpus) * len(outputs)),
        signature=signature,
    )


def _verdicts(
    label: str, state: _State, sample: Score, blocks: _Blocks, rule: StopRule, *, by_document: bool
) -> MetricVerdicts:
    sign = 1 if sample.higher_is_better else -1
    signature = sample.signature.recipe_part
    notes = (
        []
        if not sample.corpus
        else [f"{label}: difference, interval and means are of the scores of segments, not of the corpus score"]
    )
    for note, segments in state.notes.items():
        places = ", ".join(_name(blocks.corpus.names, index) for index in sorted(segments)[:_NAMED])
        more = ", ..." if len(segments) > _NAMED else ""
        notes.append(f"{label}: {note}: {len(segments)} of the segments used ({places}{more})")
    return MetricVerdicts(
        metric=label,
        signature=signature,
        higher_is_better=sample.higher_is_better,
        systems=tuple(
            SystemSoFar(name, float(sign * np.mean(scores)), len(scores)) for name, scores in state.scores.items()
        ),
        pairs=tuple(
            _pair(names, decision, len(blocks.corpus), rule, by_document=by_document)
            for names, decision in state.pairs.items()
            if decision is not None
        ),
        notes=(*notes, *own_idf_notes(signature)),
    )


def _pair(
    names: tuple[str, str], decision: Decision, segments: int, rule: StopRule, *, by_document: bool
) -> PairVerdict:
    return PairVerdict(
        *names,
        outcome=decision.outcome,
        decided_by=decision.decided_by,
        difference=decision.difference,
        low=decision.low,
        high=decision.high,
        p_value=decision.p_value,
        segments=decision.segments,
        of_segments=segments,
        documents=decision.units if by_document else None,
        reason=_reason(decision, rule),
    )


def _reason(decision: Decision, rule: StopRule) -> str:
    """Why the comparison of a pair stopped."""
    if decision.decided_by == "nothing":
        if decision.segments < rule.min_segments:
            return TOO_FEW[0]
        return TOO_FEW[1] if decision.units < LEAST_FOR_A_VERDICT else "all segments used, no verdict"
    if decision.decided_by == "test":
        return "all segments used, t test"
    return {
        "better": "interval above 0",
        "worse": "interval below 0" if rule.goal == "difference" else "interval below -margin",
        "equivalent": "interval within the margin",
        "not-worse": "interval above -margin",
    }.get(decision.outcome, "")
