"""`nlgauge.rank`: of several candidates for each segment, which is best?

Against references or sources that is the candidate with the best score (best of n). Without them it is the one that
is nearest to all the others: each candidate's mean score with the others in the place of references (minimum Bayes
risk, Kumar and Byrne, NAACL 2004; with neural metrics Freitag et al., TACL 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.composite import CompositeMetric, leaves
from nlgauge.core.corpus import Corpus, References, checked_list, checked_texts, make_corpus
from nlgauge.core.metric import Metric
from nlgauge.core.notes import TextNames, count_fields
from nlgauge.core.pair_scores import PairComparer
from nlgauge.core.pair_texts import Block, PairPlan, prepare_pairs
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.prepare import SignatureCheck, prepare_composite
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import one_metric, resolved_call
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.formats import html_table


@dataclass(frozen=True, repr=False, eq=False)
class Ranking:
    """Candidates of each segment, in the order of their utility."""

    metric: str
    main: str
    higher_is_better: bool
    """Of the metric; a distance is better when it is lower, and so is its mean."""
    against: str
    """What candidates were compared with: candidates, references or sources."""
    signature: Signature
    """Of the scores behind the utilities; its counts are of pairs."""
    counts: Mapping[str, int]
    candidates: tuple[tuple[str, ...], ...]
    utilities: tuple[NDArray[np.float64], ...]
    """By segment, a number per candidate: the mean score against the others, or the score against the references.

    nan for a candidate that has no others.
    """

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def orders(self) -> list[list[int]]:
        """By segment, the numbers of the candidates, the best first; of equals the one that was given first."""
        sign = -1 if self.higher_is_better else 1
        return [np.argsort(sign * values, kind="stable").tolist() for values in self.utilities]

    @property
    def best(self) -> list[int]:
        """By segment, the number of the best candidate."""
        return [order[0] for order in self.orders]

    @property
    def chosen(self) -> list[str]:
        """By segment, the best candidate."""
        return [texts[at] for texts, at in zip(self.candidates, self.best, strict=True)]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One plain record per segment; None stands for a utility that is not defined."""
        for segment, (texts, values, order) in enumerate(
            zip(self.candidates, self.utilities, self.orders, strict=True)
        ):
            utilities = [None if math.isnan(value) else value for value in values.tolist()]
            yield {
                "segment": segment,
                "best": order[0],
                "chosen": texts[order[0]],
                "order": order,
                "utilities": utilities,
            }

    def to_dict(self, *, candidates: bool = False) -> dict[str, Any]:
        """Everything as plain Python values, ready for JSON; the candidates that were not chosen where asked for."""
        return {
            "metric": self.metric,
            "main": self.main,
            "higher_is_better": self.higher_is_better,
            "against": self.against,
            "signature": str(self.signature),
            "counts": dict(self.counts),
            "segments": list(self.rows()),
            **({"candidates": [list(group) for group in self.candidates]} if candidates else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Ranking:
        """A ranking from what `to_dict(candidates=True)` made of it; JSON between the two changes nothing."""
        try:
            return cls(
                **{name: record[name] for name in ("metric", "main", "higher_is_better", "against", "counts")},
                signature=Signature.parse(record["signature"]),
                candidates=tuple(map(tuple, record["candidates"])),
                utilities=tuple(np.array(row["utilities"], dtype=np.float64) for row in record["segments"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"the dict is not one of Ranking.to_dict(candidates=True): {error!r}"
            raise InputError(msg) from error

    def _repr_html_(self) -> str:
        shown = [[row["segment"], row["chosen"], row["utilities"][row["best"]]] for row in self.rows()]
        return html_table(["segment", "chosen", "utility"], shown, notes=[f"signature: {self.signature}"])

    def __repr__(self) -> str:
        count = len(self)
        return (
            f"<{self.metric}: best of {count} segment{'s' * (count != 1)} against {self.against} | {self.signature}>"
        )


def rank(
    candidates: Iterable[Iterable[str]],
    refs: References | None = None,
    *,
    metric: str | Metric | Signature | None = None,
    sources: Iterable[str] | None = None,
    **options: Any,
) -> Ranking:
    """Order the candidates of each segment, the best first.

    Without `refs` and `sources` the utility of a candidate is its mean score (main component) with each other
    candidate of the segment as the reference: minimum Bayes risk. A candidate is no reference of itself, but of
    another that says the same. With them it is the candidate's score. Of equal utilities the candidate that was given
    first wins.

    Each text is encoded once for all segments. Idf that is counted on the texts at hand counts every candidate (and
    every reference) once.

    Args:
        candidates: By segment, texts to choose from; their number may vary.
        refs: By segment, a reference or a list of them, for a metric that compares with references.
        metric: As `nlgauge.score` has it. Default: BERTScore.
        sources: By segment, what was translated, for a metric that compares with it.
        options: As `nlgauge.score` has them, but for `alignments`.

    >>> rank([["It rains.", "A cat sat.", "The cat sat."]]).chosen
    ['The cat sat.']
    """
    recipes, run, check = resolved_call(one_metric(metric, options, function="rank"), options)
    groups = checked_candidates(candidates)
    if refs is None and sources is None:
        if isinstance(recipes[0], CompositeMetric):
            return _joined(recipes[0], groups, run, check)
        return _by_each_other(recipes[0], groups, run, check)
    return _by_references(recipes[0], groups, refs, sources, run, check)


def _joined(
    recipe: CompositeMetric, groups: tuple[tuple[str, ...], ...], run: RunOptions, check: SignatureCheck
) -> Ranking:
    """Utilities of the members, joined: standardising is linear, so that it may come before or after a mean."""
    found = [_by_each_other(member, groups, run, lambda number, signature: None) for member in recipe.recipes]
    one = prepare_composite(recipe, (), [Signature(member.metric, member.signature.recipe) for member in found])
    check(0, one.signature)
    utilities = tuple(
        recipe.combine([member.utilities[segment] for member in found], one.resolved).segments[recipe.main]
        for segment in range(len(groups))
    )
    # Which pairs they are is not known here: the count is that of the member with most.
    kinds = dict.fromkeys(kind for member in found for kind in member.counts)
    counts = {kind: max(member.counts.get(kind, 0) for member in found) for kind in kinds}
    signature = Signature(recipe.name, one.signature.recipe, count_fields(counts))
    return replace(
        found[0],
        metric=recipe.name,
        main=recipe.main,
        higher_is_better=recipe.higher_is_better,
        signature=signature,
        counts=counts,
        utilities=utilities,
    )


def checked_candidates(candidates: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Candidates by segment, of which each has at least one."""
    groups = checked_list(candidates, "candidates", "a list with a list of candidates per segment")
    if not groups:
        msg = "candidates: the list is empty, so there is nothing to rank"
        raise InputError(msg)
    found = []
    for segment, group in enumerate(groups):
        found.append(tuple(checked_texts(group, f"candidates[{segment}]")))
        if not found[-1]:
            msg = f"candidates[{segment}]: the list is empty; a segment needs at least one candidate"
            raise InputError(msg)
    return tuple(found)


def _by_each_other(
    recipe: Metric, groups: tuple[tuple[str, ...], ...], run: RunOptions, check: SignatureCheck
) -> Ranking:
    texts = [text for group in groups for text in group]
    ends = list(accumulate(map(len, groups)))
    spans = [range(end - len(group), end) for end, group in zip(ends, groups, strict=True)]
    name = _names(groups).name
    plan = PairPlan(texts, texts, [Block(span, span, others=True) for span in spans], name, name, same=True)
    comparer = PairComparer(prepare_pairs(recipe, plan, run, check))
    utilities = [np.full(len(group), np.nan) for group in groups]
    for segment, scores in _by_block(comparer, recipe.main, spans):
        utilities[segment] = _mean_of_others(scores)
    found = comparer.finish()
    return Ranking(
        recipe.name,
        recipe.main,
        recipe.higher_is_better,
        "candidates",
        found.signature,
        found.counts,
        groups,
        tuple(utilities),
    )


def _names(groups: Sequence[Sequence[str]]) -> TextNames:
    """How messages call the candidates of all segments in one list."""
    places = [(segment, at) for segment, group in enumerate(groups) for at in range(len(group))]
    return TextNames("candidate", lambda number: "candidates[{}][{}]".format(*places[number]))


def _by_block(comparer: PairComparer, main: str, spans: Sequence[range]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Scores of all candidates of a segment against each other, when all of its parts are there."""
    number, scores = 0, np.empty((0, 0))
    for part in comparer:
        block = part.tile.block
        if not len(scores) or block != number:
            if len(scores):
                yield number, scores
            number, scores = block, np.full((len(spans[block]), len(spans[block])), np.nan)
        if part.scores:
            first = spans[block].start
            rows, columns = (np.asarray(places) - first for places in (part.tile.rows, part.tile.columns))
            scores[np.ix_(rows, columns)] = part.scores[main]
    if len(scores):
        yield number, scores


def _mean_of_others(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of rows without the diagonal, by exact sums: candidates that say the same get the same bits."""
    count = len(scores)
    if count < 2:
        return np.full(count, np.nan)
    others = scores[~np.eye(count, dtype=bool)].reshape(count, count - 1)
    return np.array([math.fsum(row) / (count - 1) for row in others.tolist()])


def _by_references(
    recipe: Metric,
    groups: tuple[tuple[str, ...], ...],
    refs: References | None,
    sources: Iterable[str] | None,
    run: RunOptions,
    check: SignatureCheck,
) -> Ranking:
    if run.alignments:
        msg = "alignments are not kept for candidates; leave alignments= out, and give a pair to nlgauge.score"
        raise RecipeError(msg)
    members = leaves([recipe])
    against = "source" if any(getattr(one, "against", "refs") == "source" for one in members) else "refs"
    for one in members:
        if isinstance(one, VectorMetric) and one.against == "source" and one.counts_idf:
            msg = f"idf={one.idf_choice!r} is not counted on sources of candidates; use idf='none' or idf=FILE"
            raise RecipeError(msg)
    checked = make_corpus({"": [group[0] for group in groups]}, refs, sources=sources)
    where = [segment for segment, group in enumerate(groups) for _ in group]
    corpus = Corpus(
        {"": [text for group in groups for text in group]},
        [checked.references[segment] for segment in where],
        # Each reference is a document once, however many candidates there are.
        {None: [text for group in checked.references for text in group]},
        None if checked.sources is None else [checked.sources[segment] for segment in where],
    )
    (found,) = run_metrics([recipe], corpus, run, check_signature=check, names=_names(groups))
    ends = list(accumulate(map(len, groups)))
    utilities = np.split(found.segments[found.main], ends[:-1])
    return Ranking(
        recipe.name,
        recipe.main,
        recipe.higher_is_better,
        "sources" if against == "source" else "references",
        found.signature,
        found.counts,
        groups,
        tuple(utilities),
    )
