"""The comparison of systems: ranking, pairs, diagnostics of the scores, and notes in sentences."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nlgauge.core.corpus import References
from nlgauge.core.score import Score
from nlgauge.core.scoring import Metrics, score_systems
from nlgauge.core.signature import Signature
from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import InputError, SignatureError
from nlgauge.io.numbers import format_level
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.stats.numeric import orient
from nlgauge.stats.resampling import FEW, Interval, unit_numbers
from nlgauge.studies.calibrate.curves import HumanAgreement, human_agreement, load_curves
from nlgauge.studies.compare.comparison import (
    CompareSettings,
    Diagnostics,
    MetricComparison,
    PairRow,
    RankingDisagreement,
    ScoredComparison,
    SystemComparison,
    SystemRow,
)
from nlgauge.studies.compare.paired_tests import (
    LEAST_FOR_A_VERDICT,
    LEAST_UNITS,
    NARROW,
    Sample,
    bootstrap_scores,
    pair_rows,
    score_intervals,
    smallest_p,
    strength_draws,
    strength_intervals,
)
from nlgauge.studies.compare.rankings import (
    Wins,
    condorcet_winner,
    count_wins,
    different_top3,
    different_winner,
    disagreement_rate,
    mean_scores,
    median_scores,
    round_ties,
    wins_with_ties,
)
from nlgauge.studies.compare.sentences import metric_decimals
from nlgauge.studies.compare.strengths import (
    BradleyTerry,
    bradley_terry,
    bt_probabilities,
    elo,
    elo_probabilities,
    skills,
    trueskill_probabilities,
)
from nlgauge.studies.compare.system_scores import Matrix, Scores, SystemScores, score_tables

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import CompareKeywords, CompareTextsKeywords


def outlier_share(values: Matrix) -> float:
    """Share of values more than 1.5 interquartile ranges below the first or above the third quartile.

    >>> outlier_share(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    0.2
    """
    low, high = np.percentile(values, [25, 75])
    reach = 1.5 * (high - low)
    return float(((values < low - reach) | (values > high + reach)).mean())


def diagnose(table: SystemScores, wins: Wins) -> Diagnostics:
    """The diagnostics of the tool of Peyrard et al. (2021), and the share of ties."""
    from scipy.stats import rankdata

    n, k = table.n, table.k
    comparisons = n * k * (k - 1)
    ranks = rankdata(-table.oriented, axis=1).std(axis=0, ddof=1).tolist() if n > 1 < k else ()
    return Diagnostics(
        outliers=outlier_share(table.values),
        ties=float(wins.ties.sum() / comparisons) if comparisons else 0.0,
        instance_deviation=float(table.values.std(axis=1, ddof=1).mean()) if k > 1 else None,
        difficulty_deviation=float(table.values.mean(axis=1).std(ddof=1)) if n > 1 else None,
        rank_deviations=dict(zip(table.systems, ranks, strict=False)),
    )


#: Names listed before "and N more".
_NAMES = 5
#: Share of ties from which on they are mentioned.
_MANY_TIES = 0.25


def warnings_of(metric: MetricComparison, sample: Sample, settings: CompareSettings) -> tuple[str, ...]:
    """Notes that limit the verdict by one metric."""
    if len(metric.systems) < 2:
        return ()
    return (
        *_size(metric, sample, settings),
        *own_idf_notes(metric.signature),
        *_opposed(metric, settings),
        *_contradictions(metric, sample, settings),
        *_copies(sample),
        *_ranking(settings),
    )


def notes(metric: MetricComparison, sample: Sample, settings: CompareSettings) -> tuple[str, ...]:
    """Notes on the numbers behind the comparison by one metric."""
    if len(metric.systems) < 2:
        return ("one system: nothing to compare",)
    return (*_details(metric, sample, settings), *_strengths(metric, settings), *_winners(metric))


def own_idf_notes(signature: str) -> list[str]:
    """Warn of metrics that count idf on each system's own output, and name a recipe that does not."""
    try:
        members = Signature.parse(signature).members
    except SignatureError:  # scores of another tool
        return []
    metrics = dict.fromkeys(member.metric for member in members if member.recipe.get("idf", "").startswith("both["))
    return [
        f"{metric} counts idf on each system's own output, so the same output of two systems can get different "
        f"scores; to avoid this, add idf=refs to the recipe: {metric}:idf=refs"
        for metric in metrics
    ]


def _size(metric: MetricComparison, sample: Sample, settings: CompareSettings) -> list[str]:
    unit = f"{'document' if metric.documents is not None else 'segment'}{'s' * (sample.units != 1)}"
    sentences = []
    if sample.units < LEAST_UNITS:
        sentences.append(
            f"{sample.units} {unit}: too few. Intervals need at least {LEAST_UNITS}; below {LEAST_FOR_A_VERDICT} no "
            "difference is called significant"
        )
    elif sample.units < LEAST_FOR_A_VERDICT:
        sentences.append(f"{sample.units} {unit}: below {LEAST_FOR_A_VERDICT} no difference is called significant")
    drawn = settings.test in ("bootstrap", "randomisation") and settings.correction == "holm"
    enough = sample.units >= LEAST_FOR_A_VERDICT
    least = smallest_p(settings, units=sample.units, differing=metric.n) if drawn and enough else 0.0
    if least * len(metric.pairs) >= settings.alpha:
        sentences.append(
            f"{settings.score_draws} draws cannot show a difference after Holm's correction for {len(metric.pairs)} "
            "pairs; use more permutations, or test t"
        )
    return sentences


def _details(metric: MetricComparison, sample: Sample, settings: CompareSettings) -> list[str]:
    sentences = []
    if LEAST_UNITS <= sample.units < FEW:
        sentences.append(NARROW)
    if sample.table.counts is not None:
        others = ["effect", *(name for name in settings.tests if name not in ("bootstrap", "randomisation"))]
        sentences.append(f"{', '.join(others)}: of segment scores, not of the corpus score")
        turned = [row for row in metric.pairs if row.effect is not None and row.effect * row.difference < 0]
        if turned:
            named = join_names([f"{row.first} and {row.second}" for row in turned])
            sentences.append(f"segments and corpus score favour different systems (see effect): {named}")
    elif metric.documents is not None:
        others = [name for name in settings.tests if name in ("wilcoxon", "sign", "sign-ties-in", "mood")]
        if others:
            sentences.append(f"{', '.join(others)}: treat instances of a document as independent")
    if settings.ratings and not settings.shuffles:
        sentences.append("Elo and TrueSkill depend on the order of systems and instances; use shuffles")
    return sentences


def _ranking(settings: CompareSettings) -> list[str]:
    sentences = []
    if settings.ranking == "median":
        sentences.append(
            "ranked by the median; scores, intervals, tests and clusters are of the mean (or corpus score)"
        )
    if settings.ranking == "bt" and settings.test not in ("sign", "sign-ties-in", "wilcoxon"):
        sentences.append(f"ranked by Bradley-Terry, but test {settings.test} compares scores; use test sign")
    return sentences


def _opposed(metric: MetricComparison, settings: CompareSettings) -> list[str]:
    """Pairs whose test and scores favour different systems; neither is called better."""
    pairs = [row for row in metric.pairs if row.opposed]
    sentences = []
    for row in pairs[:_NAMES]:
        other = row.second if row.favoured == row.first else row.first
        scores = f"the score of {other} is better" if row.difference else "their scores are equal"
        sentences.append(
            f"test {settings.test} favours {row.favoured} over {other} (p = {row.p_adjusted:.2g}), but {scores}: "
            "neither is called better"
        )
    if len(pairs) > _NAMES:
        sentences.append(f"test and score are opposed for {len(pairs) - _NAMES} more pairs; none has a verdict")
    return sentences


#: What tests compare, if not the mean of the differences between two systems.
_USES = {
    "wilcoxon": "it ranks the differences",
    "sign": "it counts wins",
    "sign-ties-in": "it counts wins",
    "mood": "it compares medians",
}


def _contradictions(metric: MetricComparison, sample: Sample, settings: CompareSettings) -> list[str]:
    """Pairs whose interval and test contradict each other, where both have the same level."""
    if sample.units < LEAST_FOR_A_VERDICT or not np.isclose(settings.level, 1 - settings.alpha):
        return []
    excluded, included = [], []
    for row in metric.pairs:
        if row.low is None or row.high is None or row.p_value is None or row.opposed:
            continue
        has_zero = row.low <= 0 <= row.high
        if has_zero and row.significant:
            included.append(f"{row.first} and {row.second}")
        elif not has_zero and row.p_value >= settings.alpha:
            excluded.append(f"{row.first} and {row.second}")
    reason = (
        f"{_USES[settings.test]}, the interval is of the mean" if settings.test in _USES else "a borderline result"
    )
    if sample.table.counts is not None and settings.test not in ("bootstrap", "randomisation"):
        reason = "it uses scores of segments, the interval the corpus score"
    return [
        f"{join_names(pairs)}: the {format_level(settings.level)} interval {where} 0, but test {settings.test} finds "
        f"{what} difference; the test decides ({reason})"
        for pairs, where, what in (
            (excluded, "excludes", "no significant"),
            (included, "includes", "a significant"),
        )
        if pairs
    ]


def _copies(sample: Sample) -> list[str]:
    """Systems with the same scores everywhere: a file twice, or two names for one system."""
    groups: dict[bytes, list[str]] = {}
    for name, column in zip(sample.table.systems, sample.table.values.T, strict=True):
        groups.setdefault((column + 0.0).tobytes(), []).append(name)
    return [
        f"{join_names(group)} have the same score on every instance" for group in groups.values() if len(group) > 1
    ]


def _strengths(metric: MetricComparison, settings: CompareSettings) -> list[str]:
    sentences = []
    if metric.diagnostics.ties == 1:
        return ["all systems tie on every instance"]
    if metric.diagnostics.ties > _MANY_TIES:
        sentences.append(f"{metric.diagnostics.ties:.0%} of comparisons tie; ties count by policy {settings.ties}")
    if not metric.connected:
        sentences.append(
            "some systems never won against a group of others, so Bradley-Terry strengths have no finite size; their "
            "order is valid"
        )
    for what, names in (
        ("never won an instance", [row.system for row in metric.systems if row.never_won]),
        ("never lost an instance", [row.system for row in metric.systems if row.never_lost]),
    ):
        if names:
            sentences.append(f"{join_names(names)} {what}")
    return sentences


def _winners(metric: MetricComparison) -> list[str]:
    sentences = []
    strengths = {row.system: row.bradley_terry for row in metric.systems}
    if metric.condorcet is not None and strengths[metric.condorcet] < strengths[metric.bt_winner]:
        sentences.append(
            f"{metric.condorcet} beats every other system on more instances than it loses, but "
            f"{metric.bt_winner} has the highest Bradley-Terry strength"
        )
    ranks = {row.system: row.rank for row in metric.systems}
    if ranks[metric.bt_winner] > 1 and metric.diagnostics.ties < 1:
        sentences.append(f"{metric.winner} is first, but {metric.bt_winner} has the highest Bradley-Terry strength")
    return sentences


def join_names(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES} more"


def compare(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    metric: Metrics | None = None,
    *,
    sources: Iterable[str] | None = None,
    **options: Unpack[CompareTextsKeywords],
) -> ScoredComparison:
    """Score systems on the same segments and compare them: `score_systems` and `compare_systems` in one call.

    `metric` is one or several; `options` are those of `nlgauge.score` and the fields of `CompareSettings`.

    >>> texts = {"a": ["The cat sat.", "It rained."], "b": ["A cat sits.", "It is rain."]}
    >>> compare(texts, ["The cat sat.", "It rained."], "chrf").comparison.winners
    {'chrf': 'a'}
    """
    if not isinstance(systems, Mapping):
        msg = (
            f"compare() takes the systems as {{name: texts}}, then the references, got a {type(systems).__name__}; "
            "for two lists of outputs: compare({'a': a, 'b': b}, refs)"
        )
        raise InputError(msg)
    keywords: dict[str, Any] = dict(options)
    settings = CompareSettings.of(
        {name: keywords.pop(name) for name in CompareSettings.options() if name in keywords}
    )
    scores = score_systems(systems, refs, metric, sources=sources, **keywords)
    return compare_scores(scores, settings)


def compare_scores(scores: Iterable[Score], settings: CompareSettings) -> ScoredComparison:
    """Compare scores of systems; the result has both."""
    all_scores = tuple(scores)
    return ScoredComparison(compare_systems(all_scores, settings=settings), all_scores)


def compare_systems(
    scores: Scores, *, settings: CompareSettings | None = None, **options: Unpack[CompareKeywords]
) -> SystemComparison:
    """Compare systems by each metric: which one is better, and is the difference significant?

    `scores` are results of `nlgauge.score_systems`, tables (`SystemScores`), or plain numbers: by metric and system
    the score of each instance, higher is better. `options` are the fields of `CompareSettings`.

    >>> comparison = compare_systems({"bleu": {"a": [1.0, 5.0, 11.0, 12.0, 17.0], "b": [2.0, 6.0, 7.0, 13.0, 18.0]}})
    >>> comparison.metric("bleu").pair("a", "b").wins
    1
    """
    settings = (settings or CompareSettings()).with_options(**options)
    tables = score_tables(scores)
    # One BLAS thread, so that the last bits do not depend on the number of processors.
    with one_blas_thread:
        samples = [Sample.of(table) for table in tables]
        draws: list[Matrix | None] = [None] * len(samples)
        if min(sample.units for sample in samples) > 1:
            # The same ones for intervals and, where one is asked for, the bootstrap test.
            draws[:] = bootstrap_scores(samples, resamples=settings.score_draws, seed=settings.seed)
        metrics = tuple(_compare(sample, drawn, settings) for sample, drawn in zip(samples, draws, strict=True))
    unit = "instance" if tables[0].documents is None else "document"
    signature = settings.signature(unit, _documents_digest(tables))
    return SystemComparison(metrics, _disagreements(metrics), settings, signature)


def _documents_digest(tables: list[SystemScores]) -> str:
    """Digest of which instances share a document, whatever their names; empty without documents."""
    digests = {
        short_digest(text_digest(" ".join(map(str, unit_numbers(table.documents, table.n)))))
        for table in tables
        if table.documents is not None
    }
    return "+".join(sorted(digests))


def _compare(sample: Sample, draws: Matrix | None, settings: CompareSettings) -> MetricComparison:
    table = sample.table
    wins = count_wins(table.oriented, tolerance=settings.tie_tolerance)
    strengths = bradley_terry(wins_with_ties(wins, settings.ties))
    values = {"mean": sample.observed, "median": median_scores(table.oriented), "bt": strengths.strengths}
    # Of equal values the earlier column comes first.
    ranking = round_ties(values[settings.ranking])
    order = np.argsort(-ranking, kind="stable")
    ratings = _rate(table, wins, strengths, settings)
    rows = _with_probabilities(pair_rows(sample, draws, settings), ratings.probabilities)
    pairs = _in_order(rows, [table.systems[i] for i in order])
    systems = _system_rows(sample, draws, wins, strengths, settings, ratings)
    ranked = _ranked([systems[i] for i in order], ranking[order], pairs)
    condorcet = condorcet_winner(wins.strict)
    metric = MetricComparison(
        metric=table.metric,
        signature=table.signature,
        higher_is_better=table.higher_is_better,
        n=table.n,
        documents=None if table.documents is None else sample.units,
        systems=ranked,
        pairs=pairs,
        win_matrix=(wins.strict / table.n)[np.ix_(order, order)],
        condorcet=None if condorcet is None else table.systems[condorcet],
        bt_winner=next(table.systems[i] for i in order if strengths.strengths[i] == strengths.strengths.max()),
        connected=strengths.connected,
        notes=(),
        diagnostics=diagnose(table, wins),
    )
    warnings = warnings_of(metric, sample, settings)
    agreement = pair_agreement(metric, metric.pairs[0], settings) if metric.pairs else None
    every_note = (*warnings, *notes(metric, sample, settings))
    return replace(metric, notes=every_note, warning_count=len(warnings), human_agreement=agreement)


def pair_agreement(metric: MetricComparison, pair: PairRow, settings: CompareSettings) -> HumanAgreement | None:
    """How often human raters preferred the same one of two systems that differ as much; None without a curve."""
    return human_agreement(
        load_curves(settings.curves),
        metric=metric.metric,
        signature=metric.signature,
        first=pair.first,
        second=pair.second,
        difference=pair.difference,
        segments=metric.n,
        decimals=metric_decimals(metric),
    )


class _Ratings(NamedTuple):
    """Elo and TrueSkill where they are asked for, and the probability that a system beats another under each."""

    elo: Matrix | None
    trueskill: Matrix | None
    probabilities: dict[str, Matrix]


def _rate(table: SystemScores, wins: Wins, strengths: BradleyTerry, settings: CompareSettings) -> _Ratings:
    counted = wins_with_ties(wins, settings.ties)
    games = counted + counted.T
    alone = np.divide(counted, games, out=np.full(games.shape, 0.5), where=games > 0)
    probabilities = {"pair": alone, "BT": bt_probabilities(strengths.strengths)}
    if not settings.ratings:
        return _Ratings(None, None, probabilities)
    options: dict[str, Any] = {"ties": settings.ties, "tolerance": settings.tie_tolerance}
    options |= {"shuffles": settings.shuffles, "seed": settings.seed}
    ratings, levels = elo(table.oriented, **options), skills(table.oriented, **options)
    probabilities |= {"Elo": elo_probabilities(ratings), "TrueSkill": trueskill_probabilities(levels)}
    return _Ratings(ratings, levels.means, probabilities)


def _system_rows(
    sample: Sample,
    draws: Matrix | None,
    wins: Wins,
    strengths: BradleyTerry,
    settings: CompareSettings,
    ratings: _Ratings,
) -> list[SystemRow]:
    """Rows in the order of the table's columns, without ranks and clusters."""
    table = sample.table
    intervals = score_intervals(sample, draws, settings)
    bt_intervals: list[Interval | None] = [None] * table.k
    if sample.units >= LEAST_UNITS and table.k > 1:
        resampled = strength_draws(table, settings)
        clustered = table.documents is not None
        bt_intervals = strength_intervals(strengths.strengths, resampled, sample.units, settings, clustered=clustered)
    scores = orient(sample.observed, higher_is_better=table.higher_is_better)
    won, lost = wins.strict.sum(axis=1), wins.strict.sum(axis=0)
    means, medians = mean_scores(table.values), median_scores(table.values)
    return [
        SystemRow(
            system=name,
            score=float(scores[i]),
            interval=intervals[i],
            mean=float(means[i]),
            median=float(medians[i]),
            bradley_terry=float(strengths.strengths[i]),
            bt_interval=bt_intervals[i],
            elo=None if ratings.elo is None else float(ratings.elo[i]),
            trueskill=None if ratings.trueskill is None else float(ratings.trueskill[i]),
            rank=0,
            cluster=0,
            worse_than_best=False,
            wins=int(won[i]),
            ties=int(wins.ties[i].sum()),
            losses=int(lost[i]),
            never_won=bool(won[i] == 0 < lost[i]),
            never_lost=bool(lost[i] == 0 < won[i]),
            outliers=outlier_share(table.values[:, i]),
        )
        for i, name in enumerate(table.systems)
    ]


def _with_probabilities(pairs: Iterable[PairRow], probabilities: Mapping[str, Matrix]) -> list[PairRow]:
    """Pairs in the order of `itertools.combinations`, with P(first beats second) of each rating."""
    rows = list(pairs)
    count = len(next(iter(probabilities.values())))
    return [
        replace(row, probability={name: float(matrix[i, j]) for name, matrix in probabilities.items()})
        for row, (i, j) in zip(rows, itertools.combinations(range(count), 2), strict=True)
    ]


def _in_order(pairs: Sequence[PairRow], systems: Sequence[str]) -> tuple[PairRow, ...]:
    """All pairs in the order of the ranking, the better ranked system first."""
    by_names = {(row.first, row.second): row for row in pairs} | {(row.second, row.first): row for row in pairs}
    ordered = ((by_names[names], names[0]) for names in itertools.combinations(systems, 2))
    return tuple(row if row.first == first else row.turned() for row, first in ordered)


def _ranked(systems: list[SystemRow], values: Matrix, pairs: tuple[PairRow, ...]) -> tuple[SystemRow, ...]:
    """Ranks, WMT's rank clusters, and which systems are significantly worse than the best one.

    A new cluster starts only where every system above is significantly better than every system below.
    """
    names = [row.system for row in systems]
    beats = {(row.better, row.first if row.better == row.second else row.second) for row in pairs if row.better}
    ranked: list[SystemRow] = []
    cluster, reach = 1, 0
    for i, row in enumerate(systems):
        if i > reach:
            cluster += 1
        # The cluster goes on at least to the last system that this one does not beat.
        reach = max(reach, i, *(j for j in range(i + 1, len(names)) if (row.system, names[j]) not in beats))
        rank = ranked[-1].rank if i and values[i] == values[i - 1] else i + 1
        ranked.append(replace(row, rank=rank, cluster=cluster))
    best = [row.system for row in ranked if row.rank == 1]
    return tuple(replace(row, worse_than_best=any((name, row.system) in beats for name in best)) for row in ranked)


def _disagreements(metrics: tuple[MetricComparison, ...]) -> tuple[RankingDisagreement, ...]:
    """Compare the rankings by score and by Bradley-Terry of each metric, and the scores of each two metrics."""
    systems = [row.system for row in metrics[0].systems]
    if len(systems) < 2:
        return ()
    rankings: dict[str, Matrix] = {}
    for metric in metrics:
        rows = {row.system: row for row in metric.systems}
        sign = 1 if metric.higher_is_better else -1
        rankings[f"{metric.metric} mean"] = round_ties(np.array([sign * rows[name].score for name in systems]))
        rankings[f"{metric.metric} BT"] = round_ties(np.array([rows[name].bradley_terry for name in systems]))
    names = [metric.metric for metric in metrics]
    pairs = [(f"{name} mean", f"{name} BT") for name in names]
    pairs += [(f"{first} mean", f"{other} mean") for first, other in itertools.combinations(names, 2)]
    disagreements = []
    for first, second in pairs:
        values = rankings[first], rankings[second]
        share, places = disagreement_rate(*values), _ties_broken_alike(*values)
        share_of_pairs = None if np.isnan(share) else share
        disagreements.append(
            RankingDisagreement(first, second, share_of_pairs, different_winner(*places), different_top3(*places))
        )
    return tuple(disagreements)


def _ties_broken_alike(first: Matrix, second: Matrix) -> tuple[Matrix, Matrix]:
    """Places in two rankings; systems that tie in one are in the order of the other."""
    columns = np.arange(first.size)
    orders = np.lexsort((columns, -second, -first)), np.lexsort((columns, -first, -second))
    places = [-np.argsort(order).astype(np.float64) for order in orders]
    return places[0], places[1]
