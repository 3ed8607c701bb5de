"""Metrics next to metrics and human scores: correlations, separation of good and bad outputs, disagreements.

    result = relate_metrics(scored, agreement=("kendall",), pair=("bertscore", "bleu"))

    matrices       correlation of each score, human or of a metric, with each other one
    separations    scores of outputs that are good, and bad, by human score: the best and the worst share (`quality`)
    disagreements  outputs whose ranks by two scores differ most; rank 1 is the best, equal scores share a mean rank
    points         the scores themselves, for scatter plots and histograms

A point is a judged row, at level `topic` too, where correlations are means over topics; at level `system` it is a
system. Scores are oriented: those of distances are negated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.core.short_signature import format_signature
from nlgauge.errors import InputError, NlgaugeError, RecipeError, did_you_mean
from nlgauge.io.numbers import format_count
from nlgauge.io.table import LINE, Cell, Formatted, Table
from nlgauge.stats.correlation import correlate, roc_auc
from nlgauge.stats.numeric import Vector
from nlgauge.studies.meta.levels import AGGREGATES, Matrix, grouped_level
from nlgauge.studies.meta.questions import CORRELATIONS, LEVELS, Judgements, Question, check_question, judgements
from nlgauge.studies.meta.row_scores import ScoredJudgements

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import BetweenKeywords
    from nlgauge.data.judgements import JudgementTable

#: Name of the human scores among those of metrics.
HUMAN = "human"

#: Language pair of the mean over language pairs.
AVERAGE = "average"

PARTS = ("matrix", "scatter", "distribution", "disagreements")


@dataclass(frozen=True, kw_only=True)
class BetweenOptions(OptionSet):
    """What is correlated, and which part is shown."""

    called: ClassVar[str] = "metrics next to metrics"

    level: str = option("segment", Choice(*LEVELS), help="level at which scores are compared")
    agreement: tuple[str, ...] = option(
        ("pearson",), Many(Choice(*CORRELATIONS), least=1), help="correlations of the matrices"
    )
    criterion: str | None = option(None, Text("a criterion"), help="human rating", unset="set by the data set")
    aggregate: str = option("mean", Choice(*AGGREGATES), help="how segment scores become a system score")
    show: str = option("matrix", Choice(*PARTS), help="part drawn by --plot and written as TSV or CSV")
    pair: tuple[str, ...] = option(
        (),
        Many(Text("a metric or human"), most=2),
        help="two scores for the scatter plot and disagreements; 'human' is the human score",
        unset="each metric with human",
        metavar="NAME",
    )
    quality: float = option(
        0.25, Float(above=0, below=0.5), help="share of outputs that count as good, and as bad", metavar="SHARE"
    )
    most: int = option(5, Int(1), help="disagreements listed per direction", limit=1000)


class CorrelationMatrix(NamedTuple):
    """Correlations of scores with each other; nan if undefined."""

    langpair: str
    agreement: str
    names: tuple[str, ...]
    values: NDArray[np.float64]
    points: int
    """Points behind the values; language pairs for their average."""


class Separation(NamedTuple):
    """Scores of a metric for bad and good outputs."""

    langpair: str
    metric: str
    size: int
    """Bad outputs, and about as many good ones."""
    bad: float
    good: float
    """Mean scores."""
    effect: float
    """Difference of the means in standard deviations within the groups; nan without spread."""
    auc: float
    """Chance that a good output scores above a bad one."""


class Disagreement(NamedTuple):
    """An output that `higher` ranks better than `lower` does."""

    langpair: str
    higher: str
    lower: str
    system: str
    segment: str
    ranks: Mapping[str, float]
    """By `higher`, `lower` and the human score; 1 is the best."""
    hypothesis: str
    reference: str

    @property
    def difference(self) -> float:
        """How many places better it is by `higher`."""
        return self.ranks[self.lower] - self.ranks[self.higher]


class RelatedScores(NamedTuple):
    """Scores of the judged points of one language pair, higher is better."""

    langpair: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    scores: Mapping[str, NDArray[np.float64]]
    """By name; the human score is the first."""


@dataclass(frozen=True, eq=False, repr=False)
class MetricRelations(Result):
    """Correlations between metrics and human scores, score distributions, and disagreements in rank."""

    format = "nlgauge-between-1"
    decimals = 3
    line = LINE

    data: str
    criterion: str
    matrices: tuple[CorrelationMatrix, ...]
    separations: tuple[Separation, ...]
    disagreements: tuple[Disagreement, ...]
    points: tuple[RelatedScores, ...]
    signatures: Mapping[str, str]
    """By metric, of the first language pair."""
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        names = ", ".join(self.names)
        return f"<MetricRelations {self.data}: {names}; {len(self.points)} language pairs>"

    @property
    def unit(self) -> str:
        """What a point is."""
        return "system" if self.options["level"] == "system" else "judged output"

    @property
    def within(self) -> str:
        """How correlations at level `topic` are averaged, for captions."""
        return " within topics, averaged over topics" if self.options["level"] == "topic" else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The human score, then the metrics."""
        return tuple(dict.fromkeys(name for part in self.points for name in part.scores))

    def matrix(self, langpair: str | None = None, agreement: str | None = None) -> CorrelationMatrix:
        """The matrix of a language pair (by default the average, or the only one)."""
        for matrix in reversed(self.matrices) if langpair is None else self.matrices:
            if langpair in (None, matrix.langpair) and agreement in (None, matrix.agreement):
                return matrix
        msg = f"{self.data} has no matrix of {agreement or 'correlations'} for {langpair!r}"
        raise RecipeError(msg)

    def tables(self, form: str = "text") -> list[Table]:
        """All parts; in TSV and CSV only the part that is shown (`show`), in full."""
        if form in ("tsv", "csv"):
            return [_LONG_TABLES[self.options["show"]](self)]
        tables = [_matrix_table(self, matrix) for matrix in self.matrices]
        tables += [_separation_table(self)] if self.separations else []
        tables += list(_disagreement_tables(self))
        signatures = [f"signature of {name}: {format_signature(text)}" for name, text in self.signatures.items()]
        last = tables[-1]
        tables[-1] = Table(last.columns, last.rows, last.caption, [*last.notes, *self.notes, *signatures])
        return tables

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """The result as one text; TSV and CSV always have six decimals."""
        return super().render(form, decimals=6 if form in ("tsv", "csv") else decimals)

    def figure(self, show: str | None = None) -> Any:
        """Draw a part: matrix, scatter, distribution; by default the one that is shown."""
        from nlgauge.studies.meta.between_figures import draw_relations

        return draw_relations(self, show or self.options["show"])


def relate_metrics(scored: ScoredJudgements, **options: Unpack[BetweenKeywords]) -> MetricRelations:
    """Compare metrics with each other and with human scores; options are `BetweenOptions`."""
    settings = BetweenOptions.of(dict(options))
    table = scored.table
    if HUMAN in scored.names:
        msg = f"a metric is called {HUMAN!r}, the name of the human scores; rename it"
        raise InputError(msg)
    known = (HUMAN, *scored.names)
    if len(settings.pair) not in (0, 2) or len(set(settings.pair)) < len(settings.pair):
        msg = f"pair needs two different names, got {', '.join(settings.pair)}"
        raise RecipeError(msg)
    for name in settings.pair:
        if name not in known:
            msg = f"pair names {name!r}{did_you_mean(name, known)}; the scores are {', '.join(known)}"
            raise RecipeError(msg)
    questions = [
        Question(level=settings.level, agreement=kind, criterion=settings.criterion, aggregate=settings.aggregate)
        for kind in settings.agreement
    ]
    check_question(questions[0], table)
    notes = list(table.notes)
    matrices: list[CorrelationMatrix] = []
    separations: list[Separation] = []
    points: list[RelatedScores] = []
    disagreements: list[Disagreement] = []
    for langpair in table.langpairs:
        gold = judgements(questions[0], table, langpair)
        scores = _scores(scored, gold, langpair, notes)
        matrices += [_matrix(scores, gold, kind) for kind in settings.agreement]
        part, rows = _points(table, gold, scores)
        points.append(part)
        separations += _separations(part, settings.quality, notes)
        disagreements += _disagreements(table, part, rows, settings)
    if len(table.langpairs) > 1:
        by_kind = ([matrix for matrix in matrices if matrix.agreement == kind] for kind in settings.agreement)
        matrices += [_average(group) for group in by_kind]
    signatures = {metric.name: next(iter(metric.signatures.values()), "") for metric in scored.metrics}
    return MetricRelations(
        table.name,
        settings.criterion or table.default_criterion or "official system scores",
        tuple(matrices),
        tuple(separations),
        tuple(disagreements),
        tuple(points),
        {name: text for name, text in signatures.items() if text},
        tuple(notes),
        asdict(settings),
    )


def _scores(scored: ScoredJudgements, gold: Judgements, langpair: str, notes: list[str]) -> dict[str, Matrix]:
    """Human scores, and those of metrics that have a score for each judged output."""
    judged = ~np.isnan(gold.human)
    scores = {HUMAN: gold.human}
    for metric in scored.metrics:
        try:
            if langpair in metric.failed:
                raise metric.failed[langpair]
            values = gold.scores(metric)
            missing = int((~np.isfinite(values[judged])).sum())
            problem = f"{format_count(missing, 'judged output')} without a score" if missing else ""
        except NlgaugeError as error:
            problem = str(error)
        if problem:
            notes.append(f"{langpair}: {metric.name} left out: {problem}")
        else:
            scores[metric.name] = np.where(judged, values, np.nan)
    return scores


def _matrix(scores: Mapping[str, Matrix], gold: Judgements, kind: str) -> CorrelationMatrix:
    judged = ~np.isnan(gold.human)
    values = np.eye(len(scores))
    for (i, first), (j, second) in combinations(enumerate(scores.values()), 2):
        if gold.question.level == "topic":
            result: Any = grouped_level(first, second, kind=kind, undefined="nan")
        else:
            result = correlate(first[judged], second[judged], kind=kind, undefined="nan")
        values[i, j] = values[j, i] = result.value
    for i, matrix in enumerate(scores.values()):
        if np.ptp(matrix[judged]) == 0:
            values[i, i] = np.nan
    return CorrelationMatrix(gold.langpair, kind, tuple(scores), values, int(judged.sum()))


def _average(matrices: Sequence[CorrelationMatrix]) -> CorrelationMatrix:
    """Unweighted mean over language pairs, of the scores that all of them have."""
    names = [name for name in matrices[0].names if all(name in matrix.names for matrix in matrices)]
    parts = []
    for matrix in matrices:
        index = [matrix.names.index(name) for name in names]
        parts.append(matrix.values[np.ix_(index, index)])
    return CorrelationMatrix(AVERAGE, matrices[0].agreement, tuple(names), np.mean(parts, axis=0), len(matrices))


def _points(
    table: JudgementTable, gold: Judgements, scores: Mapping[str, Matrix]
) -> tuple[RelatedScores, NDArray[np.intp] | None]:
    """Scores as lists, and the row of each point; systems have none."""
    judged = ~np.isnan(gold.human)
    values = {name: np.ascontiguousarray(matrix[judged]) for name, matrix in scores.items()}
    if gold.question.whole:
        names = tuple(name for (_, name), keep in zip(gold.systems, judged[0], strict=True) if keep)
        return RelatedScores(gold.langpair, names, ("",) * len(names), values), None
    rows = gold.rows
    if gold.positions is None:
        rows = rows[judged[0]]
    else:
        places = np.full(gold.shape, -1, dtype=np.intp)
        places[gold.positions] = rows
        rows = places[judged]
    systems, segments = ([column[row] for row in rows] for column in (table.system, table.segment))
    return RelatedScores(gold.langpair, tuple(systems), tuple(segments), values), rows


def quality_groups(human: Vector, share: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Masks of bad and good outputs; None if the two would overlap. Outputs with equal human scores stay together."""
    ordered = np.sort(human)
    size = max(1, int(share * human.size))
    low, high = ordered[size - 1], ordered[-size]
    return None if low >= high else (human <= low, human >= high)


def _separations(part: RelatedScores, share: float, notes: list[str]) -> Iterator[Separation]:
    groups = quality_groups(part.scores[HUMAN], share)
    if groups is None:
        notes.append(f"{part.langpair}: human scores have too few different values to form good and bad outputs")
        return
    for name, values in part.scores.items():
        if name == HUMAN:
            continue
        bad, good = (values[mask] for mask in groups)
        within = math.sqrt((bad.var() * bad.size + good.var() * good.size) / (bad.size + good.size))
        effect = float((good.mean() - bad.mean()) / within) if within > 0 else math.nan
        labels = np.repeat([0.0, 1.0], [bad.size, good.size])
        auc = roc_auc(np.concatenate([bad, good]), labels)
        yield Separation(part.langpair, name, bad.size, float(bad.mean()), float(good.mean()), effect, auc)


def ranks_of(values: Vector) -> Vector:
    """Ranks from the best, 1; equal scores share their mean rank.

    >>> ranks_of(np.array([0.9, 0.1, 0.5, 0.5])).tolist()
    [1.0, 4.0, 2.5, 2.5]
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(-values), dtype=np.float64)


def compared_pairs(names: Sequence[str], pair: Sequence[str]) -> list[tuple[str, str]]:
    """The chosen two scores, or each metric with the human score."""
    if pair:
        return [(pair[0], pair[1])] if set(pair) <= set(names) else []
    return [(name, HUMAN) for name in names if name != HUMAN]


def _disagreements(
    table: JudgementTable, part: RelatedScores, rows: NDArray[np.intp] | None, settings: BetweenOptions
) -> Iterator[Disagreement]:
    ranks = {name: ranks_of(values) for name, values in part.scores.items()}
    for pair in compared_pairs(tuple(part.scores), settings.pair):
        for higher, lower in (pair, pair[::-1]):
            gain = ranks[lower] - ranks[higher]
            for point in np.argsort(-gain, kind="stable")[: settings.most].tolist():
                if gain[point] <= 0:
                    break
                row = None if rows is None else int(rows[point])
                references = () if row is None else table.references[row]
                yield Disagreement(
                    part.langpair,
                    higher,
                    lower,
                    part.systems[point],
                    part.segments[point],
                    {name: float(ranks[name][point]) for name in dict.fromkeys((higher, lower, HUMAN))},
                    "" if row is None else table.hypothesis[row],
                    references[0] if references else "",
                )


_COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _matrix_table(result: MetricRelations, matrix: CorrelationMatrix) -> Table:
    rows: list[list[Cell]] = [
        [name, *(_finite(float(value)) for value in line)]
        for name, line in zip(matrix.names, matrix.values, strict=True)
    ]
    over = format_count(matrix.points, "language pair" if matrix.langpair == AVERAGE else result.unit)
    caption = f"{result.data}, {matrix.langpair}: {_COEFFICIENTS[matrix.agreement]} of scores{result.within}, {over}"
    return Table(["", *matrix.names], rows, caption)


def _separation_table(result: MetricRelations) -> Table:
    rows: list[list[Cell]] = [
        [row.langpair, row.metric, row.size, row.bad, row.good, _finite(row.effect), row.auc]
        for row in result.separations
    ]
    share = result.options["quality"]
    notes = [
        f"bad, good: mean score of the {share:.0%} of outputs with the lowest and with the highest human score (all "
        "ties at the border included)",
        "effect: difference in standard deviations; auc: chance that a good one scores above a bad one",
    ]
    columns = ["langpair", "metric", "n", "bad", "good", "effect", "auc"]
    return Table(columns, rows, f"{result.data}: scores of good and bad outputs by {result.criterion}", notes)


def _rank(value: float) -> Formatted:
    return Formatted(f"{value:g}")


def _disagreement_tables(result: MetricRelations) -> Iterator[Table]:
    """A table per pair of scores."""
    groups: dict[frozenset[str], list[Disagreement]] = {}
    for entry in result.disagreements:
        groups.setdefault(frozenset((entry.higher, entry.lower)), []).append(entry)
    for entries in groups.values():
        first = entries[0]
        names = list(dict.fromkeys((first.higher, first.lower, HUMAN)))
        rows: list[list[Cell]] = []
        for entry in entries:
            texts = " / ".join(text for text in (entry.hypothesis, entry.reference) if text)
            place = [entry.langpair, entry.segment, entry.system]
            ranks = [_rank(entry.ranks[name]) for name in names]
            rows.append([f"{entry.higher} > {entry.lower}", *place, *ranks, _rank(entry.difference), texts])
        ranked = [f"rank {name}" for name in names]
        columns = ["better by", "langpair", "segment", "system", *ranked, "difference", "output / reference"]
        title = f"{result.data}: largest differences of rank between {first.higher} and {first.lower} (1 is the best)"
        kept = [i for i, name in enumerate(columns) if name != "system" or any(row[i] for row in rows)]
        yield Table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows], title)


def _long_matrix(result: MetricRelations) -> Table:
    rows: list[list[Cell]] = [
        [
            result.data,
            matrix.langpair,
            matrix.agreement,
            first,
            second,
            _finite(float(matrix.values[i, j])),
            matrix.points,
        ]
        for matrix in result.matrices
        for i, first in enumerate(matrix.names)
        for j, second in enumerate(matrix.names)
    ]
    return Table(["data", "langpair", "agreement", "first", "second", "value", "count"], rows)


def _long_points(result: MetricRelations) -> Table:
    names = result.names
    rows: list[list[Cell]] = []
    for part in result.points:
        for number, (system, segment) in enumerate(zip(part.systems, part.segments, strict=True)):
            values = [float(part.scores[name][number]) if name in part.scores else None for name in names]
            rows.append([part.langpair, system, segment, *values])
    return Table(["langpair", "system", "segment", *names], rows)


def _long_separations(result: MetricRelations) -> Table:
    table = _separation_table(result)
    return Table(table.columns, table.rows)


def _long_disagreements(result: MetricRelations) -> Table:
    columns = ["langpair", "better by", "worse by", "segment", "system", "rank better", "rank worse", "difference"]
    rows: list[list[Cell]] = []
    for entry in result.disagreements:
        ranks = [entry.ranks[entry.higher], entry.ranks[entry.lower], entry.difference]
        place = [entry.langpair, entry.higher, entry.lower, entry.segment, entry.system]
        rows.append([*place, *ranks, entry.ranks[HUMAN], entry.hypothesis, entry.reference])
    return Table([*columns, f"rank {HUMAN}", "hypothesis", "reference"], rows)


_LONG_TABLES = {
    "matrix": _long_matrix,
    "scatter": _long_points,
    "distribution": _long_separations,
    "disagreements": _long_disagreements,
}
