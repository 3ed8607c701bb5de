"""`nlgauge.rank`: choose the best of several candidates for each segment.

With references or sources, it is the candidate with the best score (best of n). Without them, it is the candidate
closest to all others, that is, with the best mean score against the other candidates as references (minimum Bayes
risk: Kumar and Byrne, NAACL 2004; with neural metrics: Freitag et al., TACL 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import References, TextNames, as_list, as_texts, make_corpus
from nlgauge.core.engine import Block
from nlgauge.core.metric import Metric
from nlgauge.core.pairs import Grid, TextPairs, compare_pairs, prepare_pairs
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.prepare import SignatureCheck
from nlgauge.core.pruning import (
    CandidatePairs,
    Elimination,
    PruneOptions,
    Pruning,
    compare_with_pruning,
    refuse_pruning,
)
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import AnyMetric, resolve_call, single_metric
from nlgauge.core.short_signature import format_signature
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import Cell, Marked, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import RankKeywords


class RankedSegment(NamedTuple):
    """The ranked candidates of a segment."""

    segment: int
    best: int
    """The number of the best candidate."""
    chosen: str
    """The best candidate."""
    order: tuple[int, ...]
    """Numbers of the candidates, best first; ties in the given order."""
    utilities: tuple[float, ...]
    """By candidate, its mean score against the others, or its score against the references.

    nan for a single candidate without references.
    """


@dataclass(frozen=True, repr=False, eq=False)
class Ranking(Result):
    """Candidates of each segment, ordered by utility."""

    format = "nlgauge-ranking-1"
    optional = ("pruning",)

    metric: str
    main: str
    higher_is_better: bool
    """As for the metric; for a distance, lower utilities are better."""
    against: str
    """What candidates were compared with: candidates, references or sources."""
    signature: Signature
    """The signature of the scores; its counts are of pairs."""
    counts: Mapping[str, int]
    segments: tuple[RankedSegment, ...]
    candidates: tuple[tuple[str, ...], ...]
    systems: tuple[str, ...] | None = None
    """Names of the candidates, if they come from the same systems in every segment."""
    pruning: Pruning | None = None
    """Rule and cost if candidates were dropped early; their utilities are then means over fewer references."""

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def orders(self) -> list[list[int]]:
        """By segment, the numbers of the candidates, best first."""
        return [list(row.order) for row in self.segments]

    @property
    def utilities(self) -> list[NDArray[np.float64]]:
        """By segment, the utility of each candidate."""
        return [np.array(row.utilities) for row in self.segments]

    @property
    def best(self) -> list[int]:
        """By segment, the number of the best candidate."""
        return [row.best for row in self.segments]

    @property
    def chosen(self) -> list[str]:
        """By segment, the best candidate."""
        return [row.chosen for row in self.segments]

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """Render the ranking; as text, only the best candidate of each segment, one per line."""
        if form != "text":
            return super().render(form, decimals=decimals)
        check_lines(self.candidates)
        return "".join(f"{text}\n" for text in self.chosen)

    def tables(self, form: str = "text") -> list[Table]:
        """A row per candidate, best first; formats for reading have its text, data formats the signature."""
        for_reading = form in ("markdown", "html", "latex")
        better = "higher" if self.higher_is_better else "lower"
        name_columns = [] if self.systems is None else ["system"]
        rows: list[list[Cell]] = []
        for row in self.segments:
            for rank, candidate in enumerate(row.order, start=1):
                value = row.utilities[candidate]
                utility: Cell = None if math.isnan(value) else value
                names: list[Cell] = [] if self.systems is None else [self.systems[candidate]]
                if for_reading:
                    text = self.candidates[row.segment][candidate]
                    mark = Marked(value) if rank == 1 and utility is not None else utility
                    rows.append([row.segment, rank, candidate, *names, text, mark])
                else:
                    fixed: list[Cell] = [self.metric, better, self.against, row.segment, rank, candidate]
                    seen = [] if self.pruning is None else [self.pruning.references[row.segment][candidate]]
                    rows.append([*fixed, *names, utility, *seen, str(self.signature)])
        if not for_reading:
            fixed_columns = ["metric", "better", "against", "segment", "rank", "candidate"]
            seen_columns = [] if self.pruning is None else ["references"]
            return [Table([*fixed_columns, *name_columns, "utility", *seen_columns, "signature"], rows)]
        columns = ["segment", "rank", "candidate", *name_columns, "text", "utility"]
        caption = f"{self.metric} against {self.against}: {better} is better, the best of a segment in bold"
        return [Table(columns, rows, caption, [f"signature: {format_signature(self.signature)}"])]

    def flat_columns(self) -> dict[str, Any]:
        """A row per candidate, best first."""
        rows = [(row, rank, number) for row in self.segments for rank, number in enumerate(row.order, start=1)]
        columns: dict[str, Any] = {
            "segment": [row.segment for row, _, _ in rows],
            "rank": [rank for _, rank, _ in rows],
            "candidate": [number for _, _, number in rows],
            "utility": np.array([row.utilities[number] for row, _, number in rows]),
            "text": [self.candidates[row.segment][number] for row, _, number in rows],
        }
        if self.systems is None:
            return columns
        return {"system": [self.systems[number] for _, _, number in rows], **columns}

    def __repr__(self) -> str:
        count = len(self)
        segments = f"{count} segment{'s' * (count != 1)}"
        return f"<{self.metric}: best of {segments} against {self.against} | {format_signature(self.signature)}>"


def check_lines(candidates: Sequence[Sequence[str]]) -> None:
    """Refuse candidates that contain a line break."""
    for segment, group in enumerate(candidates):
        for number, text in enumerate(group):
            if "\n" in text:
                msg = (
                    f"segment {segment}, candidate {number} contains a line break, but the text format has one "
                    "line per segment; use the format json"
                )
                raise InputError(msg)


def _make_ranking(
    recipe: Metric,
    against: str,
    signature: Signature,
    counts: Mapping[str, int],
    groups: tuple[tuple[str, ...], ...],
    utilities: Sequence[NDArray[np.float64]],
    orders: Sequence[tuple[int, ...]] | None = None,
) -> Ranking:
    sign = -1 if recipe.higher_is_better else 1
    if orders is None:
        orders = [tuple(np.argsort(sign * values, kind="stable").tolist()) for values in utilities]
    segments = [
        RankedSegment(segment, order[0], texts[order[0]], order, tuple(values.tolist()))
        for segment, (texts, values, order) in enumerate(zip(groups, utilities, orders, strict=True))
    ]
    return Ranking(
        recipe.name, recipe.main, recipe.higher_is_better, against, signature, counts, tuple(segments), groups
    )


def count_pairs(candidates: Sequence[Sequence[str]], refs: References | None = None, sources: object = None) -> int:
    """Number of text pairs that `rank` compares."""
    by_each_other = refs is None and sources is None
    others = [len(group) - 1 if by_each_other else 1 for group in candidates]
    for segment, group in enumerate(refs or ()):
        if segment < len(others) and not isinstance(group, str):
            others[segment] = len(list(group))
    return sum(len(group) * count for group, count in zip(candidates, others, strict=True))


def rank(
    candidates: Iterable[Iterable[str]],
    refs: References | None = None,
    metric: AnyMetric | None = None,
    *,
    sources: Iterable[str] | None = None,
    **options: Unpack[RankKeywords],
) -> Ranking:
    """Choose the best candidate of each segment, by score against the references (default: each other).

    With `refs` or `sources`, the utility of a candidate is its score (main component). Without them, it is the mean
    score with each other candidate of the segment as the reference (minimum Bayes risk). A candidate is not its own
    reference, but an equal candidate is. Of equal utilities, the first candidate wins.

    Each text is encoded once for all segments. Idf is counted on every candidate (and every reference) once.

    Args:
        candidates: By segment, texts to choose from; their number may vary.
        refs: By segment, a reference or a list of them, for a metric that compares with references.
        metric: As in `nlgauge.score`. Default: BERTScore.
        sources: By segment, the source text, for a metric that compares with the source.
        options: As in `nlgauge.score`, except `alignments`; `prune=True` drops candidates early that are unlikely to
            be the most similar to the others, with random numbers of `seed` (default: compare all).

    >>> rank([["It rains.", "A cat sat.", "The cat sat."]]).chosen
    ['The cat sat.']
    """
    keywords = dict(options)
    pruning = PruneOptions.take(keywords)
    recipes, run, check = resolve_call(single_metric(metric, function="rank"), keywords)
    groups = as_candidates(candidates)
    if refs is None and sources is None:
        return _rank_by_each_other(recipes[0], groups, run, check, pruning)
    if pruning.prune:
        msg = (
            "prune= works only without refs= and sources=, when candidates are compared with each other; "
            "leave out prune=, or leave out refs= and sources="
        )
        raise RecipeError(msg)
    return _rank_by_references(recipes[0], groups, refs, sources, run, check)


def as_candidates(candidates: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Check candidates by segment; each segment needs at least one."""
    groups = as_list(candidates, "candidates", "a list with a list of candidates per segment")
    if not groups:
        msg = "candidates: the list is empty; pass at least one segment"
        raise InputError(msg)
    checked = []
    for segment, group in enumerate(groups):
        checked.append(tuple(as_texts(group, f"candidates[{segment}]")))
        if not checked[-1]:
            msg = f"candidates[{segment}]: the list is empty; a segment needs at least one candidate"
            raise InputError(msg)
    return tuple(checked)


def _rank_by_each_other(
    recipe: Metric, groups: tuple[tuple[str, ...], ...], run: RunOptions, check: SignatureCheck, pruning: PruneOptions
) -> Ranking:
    for member in recipe.base_metrics:
        if getattr(member, "against", "refs") == "source":
            other = f", or use the metric {member.name}:against=refs and pass references with refs="
            msg = f"{member.name} compares with the source texts; pass them with sources="
            msg += other if "against" in member.options() else ""
            raise InputError(msg)
    texts = [text for group in groups for text in group]
    ends = list(accumulate(map(len, groups)))
    spans = [range(end - len(group), end) for end, group in zip(ends, groups, strict=True)]
    grids = [Grid(span, span, others=True) for span in spans]
    names = _name_candidates(groups)._replace(unit="text")
    if pruning.prune:
        return _rank_with_pruning(recipe, groups, CandidatePairs.of(texts, None, grids, names), run, check, pruning)
    prepared = prepare_pairs(recipe, TextPairs.of(texts, None, grids, names), run, check)
    utilities = [np.full(len(texts), np.nan) for _ in prepared.metrics]
    partial: dict[tuple[int, int], NDArray[np.float64]] = {}

    def add_scores(number: int, block: Block, scores: Mapping[str, NDArray[np.float64]]) -> None:
        """Collect scores of candidates against each other until a segment is complete."""
        span = spans[block.grid]
        own = partial.setdefault((number, block.grid), np.full((len(span), len(span)), np.nan))
        rows, columns = ([place.number - span.start for place in places] for places in (block.rows, block.columns))
        own[np.ix_(rows, columns)] = scores[prepared.metrics[number].metric.main]
        if np.isnan(own).sum() == len(span):  # the diagonal
            add_utilities(number, block.grid)

    def add_utilities(number: int, segment: int) -> None:
        span = spans[segment]
        utilities[number][span.start : span.stop] = _mean_of_others(partial.pop((number, segment)))

    notes = compare_pairs(prepared, add_scores)
    for number, segment in list(partial):  # segments with a nan score
        add_utilities(number, segment)
    # Standardising is linear, so members can be joined before or after the mean.
    joined = prepared.recipes[0].join_values(utilities).get(recipe.main, utilities[0])
    by_segment = np.split(joined, ends[:-1])
    return _make_ranking(recipe, "candidates", notes.signature, notes.counts, groups, by_segment)


def _rank_with_pruning(
    recipe: Metric,
    groups: tuple[tuple[str, ...], ...],
    pairs: CandidatePairs,
    run: RunOptions,
    check: SignatureCheck,
    options: PruneOptions,
) -> Ranking:
    """Rank as `_rank_by_each_other`, with fewer references for candidates that are unlikely to win."""
    refuse_pruning(recipe)
    sign = 1 if recipe.higher_is_better else -1
    segments = [Elimination(texts, seed=options.seed, sign=sign) for texts in groups]
    pairs = replace(pairs, scored=[segment.scored for segment in segments])
    notes, results, pruning = compare_with_pruning(prepare_pairs(recipe, pairs, run, check), segments, options)
    utilities, orders = [result.utilities for result in results], [result.order for result in results]
    signature = pruning.sign(notes.signature)
    return replace(
        _make_ranking(recipe, "candidates", signature, notes.counts, groups, utilities, orders), pruning=pruning
    )


def _name_candidates(groups: Sequence[Sequence[str]]) -> TextNames:
    """Names in messages of the candidates of all segments, in one list."""
    places = [(segment, index) for segment, group in enumerate(groups) for index in range(len(group))]
    return TextNames("candidate", lambda number: "candidates[{}][{}]".format(*places[number]))


def _mean_of_others(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of rows without the diagonal, by exact sums, so equal candidates get the same bits."""
    count = len(scores)
    if count < 2:
        return np.full(count, np.nan)
    others = scores[~np.eye(count, dtype=bool)].reshape(count, count - 1)
    return np.array([math.fsum(row) / (count - 1) for row in others.tolist()])


def as_segments(items: Iterable[Any], what: str, count: int) -> list[Any]:
    """The items as a list, of as many segments as the candidates have."""
    entries = as_list(items, what, "a list with an entry per segment")
    if len(entries) != count:
        nouns = ["entry" if len(entries) == 1 else "entries", "segment" if count == 1 else "segments"]
        msg = f"{what}: {len(entries)} {nouns[0]} for {count} {nouns[1]}; pass one per segment"
        raise InputError(msg)
    return entries


def _rank_by_references(
    recipe: Metric,
    groups: tuple[tuple[str, ...], ...],
    refs: References | None,
    sources: Iterable[str] | None,
    run: RunOptions,
    check: SignatureCheck,
) -> Ranking:
    if run.alignments:
        msg = "rank() gives no alignments; leave alignments= out, or use nlgauge.score"
        raise RecipeError(msg)
    members = recipe.base_metrics
    against = "source" if any(getattr(member, "against", "refs") == "source" for member in members) else "refs"
    for member in members:
        if isinstance(member, VectorMetric) and member.against == "source" and member.counts_idf:
            choice = member.idf_choice
            msg = f"idf={choice!r} cannot be counted on the sources of candidates; use idf='none' or idf=FILE"
            raise RecipeError(msg)
    refs = None if refs is None else as_segments(refs, "refs", len(groups))
    sources = None if sources is None else as_segments(sources, "sources", len(groups))
    first_candidates = make_corpus({"": [group[0] for group in groups]}, refs, sources=sources)
    segment_of = [segment for segment, group in enumerate(groups) for _ in group]
    corpus = replace(
        first_candidates.take(segment_of),
        systems={"": [text for group in groups for text in group]},
        # Each reference is a document once, however many candidates there are.
        idf_documents={None: [text for group in first_candidates.references for text in group]},
        names=_name_candidates(groups),
    )
    (score,) = run_metrics([recipe], corpus, run, check_signature=check)
    ends = list(accumulate(map(len, groups)))
    utilities = np.split(score.segments[score.main], ends[:-1])
    other_side = "sources" if against == "source" else "references"
    return _make_ranking(recipe, other_side, score.signature, score.counts, groups, utilities)
