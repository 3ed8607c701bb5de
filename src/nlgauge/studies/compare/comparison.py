"""Settings and results of a comparison of systems.

Settings are every choice that can change a verdict. Results are systems, pairs of systems, metrics and rankings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, get_args

from nlgauge._version import __version__
from nlgauge.core.kinds import Choice, Flag, Float, Int, Many
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.core.score import Score
from nlgauge.core.short_signature import format_signature
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.io.canvas import COLOURS, WIDEST, finish_figure, new_panels, shorten
from nlgauge.io.paper_table import HasPaperTable, PaperKeywords, PaperTable
from nlgauge.io.table import Cell, Table
from nlgauge.stats.numeric import LEAST_RESAMPLES
from nlgauge.stats.resampling import Interval
from nlgauge.studies.calibrate.curves import CurvesChoice, HumanAgreement
from nlgauge.studies.compare.sentences import plain_verdicts, title_of
from nlgauge.studies.compare.system_scores import Matrix
from nlgauge.studies.compare.tables import FOR_PROGRAMS, comparison_paper_table, comparison_tables, ranking_table

if TYPE_CHECKING:
    from typing_extensions import Unpack

TiePolicy: TypeAlias = Literal["half", "second", "drop"]
TestName: TypeAlias = Literal["bootstrap", "randomisation", "t", "wilcoxon", "sign", "sign-ties-in", "mood"]
RankBy: TypeAlias = Literal["mean", "median", "bt"]

#: Tests between two systems, by the names that settings, signatures and results have for them.
TESTS: tuple[TestName, ...] = get_args(TestName)


@dataclass(frozen=True, kw_only=True)
class CompareSettings(OptionSet):
    """Settings of a comparison; `signature` has all that can change a verdict."""

    called: ClassVar[str] = "settings of a comparison"

    test: TestName = option(
        "bootstrap",
        Choice(*TESTS),
        help="test that decides whether two systems differ",
    )
    tests_shown: tuple[TestName, ...] = option(
        ("bootstrap", "t", "wilcoxon", "sign"),
        Many(Choice(*TESTS)),
        help="further tests whose p values are reported, uncorrected",
        signed=False,
        hidden=True,
    )
    correction: Literal["holm", "none"] = option(
        "holm", Choice("holm", "none"), help="correction for the number of pairs of systems", hidden=True
    )
    alpha: float = option(0.05, Float(above=0, below=1), help="significance level", metavar="P")
    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(
        1000, Int(LEAST_RESAMPLES), help="bootstrap resamples for intervals of strengths", hidden=True, limit=10_000
    )
    # As many for tests as for intervals of scores and differences, so that the two do not contradict each other.
    permutations: int = option(
        10_000,
        Int(LEAST_RESAMPLES),
        help="draws for tests, and for intervals of scores and differences",
        hidden=True,
        limit=20_000,
    )
    seed: int = seed_option()
    ties: TiePolicy = option(
        "half",
        Choice(*get_args(TiePolicy)),
        help="a tied segment counts as half a win for each system, a win for the second, or not at all",
        hidden=True,
    )
    tie_tolerance: float = option(
        1e-9, Float(0), help="scores tie if they differ by at most this share of the larger one", hidden=True, limit=1
    )
    ranking: RankBy = option("mean", Choice(*get_args(RankBy)), help="statistic that ranks systems", hidden=True)
    smallest_difference: float = option(
        0.0, Float(0), help="smaller differences are never called significant", hidden=True, limit=1e6
    )
    curves: str = option(
        "wmt",
        CurvesChoice(),
        help="agreement curves for what human raters would prefer: wmt, summeval, tac, none, or FILE",
        signed=False,
        hidden=True,
    )
    ratings: bool = option(False, Flag(), help="report Elo and TrueSkill as well", signed=False, hidden=True)
    shuffles: int = option(
        0,
        Int(0),
        help="random orders of games to average Elo and TrueSkill over; 0 keeps the order of systems and segments",
        needs="ratings",
        hidden=True,
        limit=1000,
    )

    @property
    def tests(self) -> tuple[TestName, ...]:
        """The test that decides, then the others that are shown."""
        return (self.test, *(name for name in dict.fromkeys(self.tests_shown) if name != self.test))

    @property
    def score_draws(self) -> int:
        """Bootstrap resamples of scores, for intervals and, where it is asked for, the test."""
        return max(self.resamples, self.permutations)

    def signature(self, unit: str = "instance", documents: str = "") -> str:
        """All settings in one line; `unit` is what is resampled: an instance, or a document, with a digest of which.

        >>> CompareSettings(ties="drop").signature()[:54]
        'compare|test:bootstrap|correction:holm|alpha:0.05|leve'
        """
        drawn = {"unit": unit} | ({"documents": documents} if documents else {})
        return str(Signature("compare", self.signed() | drawn | {"nlgauge": __version__}))


@dataclass(frozen=True)
class SystemRow:
    """One system under one metric."""

    system: str
    score: float
    """The system's score: the mean over instances, or the score of the whole corpus (BLEU, chrF)."""
    interval: Interval | None
    """Confidence interval of the score; None for fewer than four instances (or documents)."""
    mean: float
    median: float
    bradley_terry: float
    """Strength; the strengths of all systems sum to 1."""
    bt_interval: Interval | None
    elo: float | None
    trueskill: float | None
    """Mean of the skill."""
    rank: int
    """From 1; systems whose values are equal share the better one."""
    cluster: int
    """From 1, as in WMT: every system of a cluster is significantly better than every system of later clusters."""
    worse_than_best: bool
    """Significantly worse than the first system, or than one of those that share the first rank."""
    wins: int
    """Over all other systems and all instances."""
    ties: int
    losses: int
    never_won: bool
    never_lost: bool
    outliers: float
    """Share of the system's scores that lie more than 1.5 interquartile ranges outside of the middle half."""


@dataclass(frozen=True)
class PairRow:
    """Two systems under one metric; `first` comes before `second` in the ranking."""

    first: str
    second: str
    difference: float
    """Difference of the scores, with the sign that makes a better first system positive."""
    low: float | None
    """Lower end of the interval of the difference; None for fewer than four instances."""
    high: float | None
    effect: float | None
    """Cohen's d_z: mean paired difference over its standard deviation; None where there is no deviation.

    It uses segment scores, and may have another sign than the difference of corpus scores (BLEU, chrF).
    """
    wins: int
    """Instances on which the first is better."""
    ties: int
    losses: int
    p: Mapping[str, float]
    """Two-sided, by name of the test, uncorrected; empty for fewer than two instances."""
    p_value: float | None
    """p value of the test that decides."""
    p_adjusted: float | None
    """p value corrected for the number of pairs."""
    significant: bool
    better: str | None
    """The system that is significantly better."""
    detectable: float | None
    """Smallest true difference that is detected with 80 % power; None without any spread."""
    favoured: str | None = None
    """System that the test's statistic favours, significant or not; None for neither."""
    opposed: bool = False
    """Whether the test is significant in favour of the system with the worse score; then there is no verdict."""
    median_difference: float | None = None
    """Median of the first minus median of the second over instances, above 0 if the first is better."""
    paired_median: float | None = None
    """Median of the paired differences, which is not the difference of the medians."""
    probability: Mapping[str, float] = field(default_factory=dict)
    """That the first beats the second: `pair` by the wins of the two alone, `BT`, `Elo`, `TrueSkill` by ratings."""

    @property
    def decisions(self) -> dict[str, str | None]:
        """The system that mean (or corpus score), median and Bradley-Terry on the two prefer; None for neither."""
        values = {"mean": self.difference, "median": self.median_difference or 0.0, "BT": self.wins - self.losses}
        return {
            name: self.first if value > 0 else self.second if value < 0 else None for name, value in values.items()
        }

    def turned(self) -> PairRow:
        """The pair with its systems swapped."""
        turned = ("effect", "median_difference", "paired_median")
        low, high, effect, median, paired = (
            None if value is None else -value
            for value in (self.high, self.low, *(getattr(self, name) for name in turned))
        )
        return replace(
            self,
            first=self.second,
            second=self.first,
            difference=-self.difference,
            low=low,
            high=high,
            effect=effect,
            wins=self.losses,
            losses=self.wins,
            median_difference=median,
            paired_median=paired,
            probability={name: 1 - value for name, value in self.probability.items()},
        )


@dataclass(frozen=True)
class Diagnostics:
    """Outliers, ties and spread of a metric's scores."""

    outliers: float
    """Share of all scores that lie more than 1.5 interquartile ranges outside of the middle half."""
    ties: float
    """Share of comparisons (pairs of systems on an instance) that tie."""
    instance_deviation: float | None
    """Mean over instances of the standard deviation between systems."""
    difficulty_deviation: float | None
    """Standard deviation of the instances' means, which pairing removes."""
    rank_deviations: Mapping[str, float]
    """Standard deviation of each system's rank on an instance."""


_Pair = TypeVar("_Pair")


class ComparedSystems(Generic[_Pair]):
    """Base of comparisons by scores, by verdicts and over runs: systems, pairs and the winner."""

    metric: str
    systems: tuple[Any, ...]
    """Best first."""
    pairs: tuple[_Pair, ...]
    """All pairs, in the order of `systems`."""

    @property
    def winner(self) -> str:
        """The system that is ranked first."""
        name: str = self.systems[0].system
        return name

    def pair(self, first: str, second: str) -> _Pair:
        """The row of two systems, in either order."""
        names = [row.system for row in self.systems]
        for row, pair in zip(self.pairs, itertools.combinations(names, 2), strict=False):
            if set(pair) == {first, second}:
                return row
        strange = next((name for name in (first, second) if name not in names), None)
        what = f"no system {strange!r}" if strange else "comparison of a system with itself"
        msg = f"the comparison by {self.metric!r} has {what}; systems: {', '.join(names)}"
        raise InputError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparison(ComparedSystems[PairRow]):
    """All systems under one metric."""

    optional: ClassVar[tuple[str, ...]] = ("human_agreement",)

    metric: str
    signature: str
    higher_is_better: bool
    n: int
    """Instances."""
    documents: int | None
    """Documents that the instances come from, where that is known."""
    systems: tuple[SystemRow, ...]
    """Best first."""
    pairs: tuple[PairRow, ...]
    """All pairs, in the order of `systems`."""
    win_matrix: Matrix
    """Share of instances on which the row's system beats the column's, in the order of `systems`."""
    condorcet: str | None
    """The system that beats every other one on more instances than it loses to it."""
    bt_winner: str
    connected: bool
    """Whether chains of wins connect all systems in both directions; else strengths have no finite maximum."""
    notes: tuple[str, ...]
    diagnostics: Diagnostics
    warning_count: int = 0
    """Notes that limit the verdict; they are the first ones of `notes`."""
    human_agreement: HumanAgreement | None = None
    """How often human raters preferred the same one of two systems that differ as much; of more, the best two."""

    def __repr__(self) -> str:
        count = len(self.systems)
        best = f"{self.winner} {'alone ' * self.separated}ahead"
        return f"<MetricComparison {self.metric}: {count} system{'s' * (count != 1)} on {self.n} instances, {best}>"

    def _repr_html_(self) -> str:
        return ranking_table(self).to_html()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes that limit the verdict."""
        return self.notes[: self.warning_count]

    @property
    def separated(self) -> bool:
        """Whether the first system is significantly better than all others."""
        return sum(row.cluster == 1 for row in self.systems) == 1 < len(self.systems)


@dataclass(frozen=True)
class RankingDisagreement:
    """Two ways to rank the same systems."""

    first: str
    """Such as "bertscore mean" or "bertscore BT"."""
    second: str
    share_of_pairs: float | None
    """Share of the pairs of systems that the two rankings order differently; None if a ranking ties all systems."""
    different_winner: bool
    different_top3: bool


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison(Result, HasPaperTable):
    """Systems compared by one or several metrics."""

    format = "nlgauge-comparison-1"
    further: ClassVar[tuple[str, ...]] = ("pairs", "wins", "disagreements")

    metrics: tuple[MetricComparison, ...]
    disagreements: tuple[RankingDisagreement, ...]
    """Between a metric's rankings by score and by Bradley-Terry, and between rankings of each two metrics."""
    settings: CompareSettings
    signature: str
    """Settings of the comparison; each metric has the signature of its scores."""

    def __repr__(self) -> str:
        metrics = ", ".join(metric.metric for metric in self.metrics)
        return f"<SystemComparison by {metrics} | {format_signature(self.signature)}>"

    def tables(self, form: str = "text", *, all_tables: bool = False, decimals: int | None = None) -> list[Table]:
        """Verdicts, one table of systems and metrics, and a legend; for programs the ranking, or one of `further`.

        With `all_tables` also rankings, pairs and win shares of each metric, and the signature of the comparison.
        """
        return comparison_tables(self, form, all_tables=all_tables, decimals=decimals)

    def render(self, form: str = "text", *, decimals: int | None = None, all_tables: bool = False) -> str:
        """The comparison as one text that ends with a newline; options are those of `tables`."""
        if form == "json" or form in FOR_PROGRAMS:
            return super().render(form, decimals=decimals)
        width = self.decimals if decimals is None else decimals
        tables = self.tables(form, all_tables=all_tables, decimals=decimals)
        return "\n".join(table.write(form, width=width) for table in tables)

    def paper_table(self, **options: Unpack[PaperKeywords]) -> PaperTable:
        """Systems and metrics for a paper: the best system in bold, systems that are not significantly worse marked.

        `to_latex`, `to_markdown` and `to_html` write it; `options` are those of `PaperKeywords`.
        """
        return comparison_paper_table(self, **options)

    def figure(self) -> Any:
        """The rankings by score and by Bradley-Terry strength; the best system is at the top."""
        return _draw_comparison(self)

    def flat_columns(self) -> dict[str, Any]:
        """A row per metric and system, the best first; intervals have a column for each end."""
        rows = [(metric.metric, row) for metric in self.metrics for row in metric.systems]
        columns: dict[str, Any] = {"metric": [metric for metric, _ in rows]}
        for entry in fields(SystemRow):
            values = [getattr(row, entry.name) for _, row in rows]
            if not entry.name.endswith("interval"):
                columns[entry.name] = values
                continue
            for end in ("low", "high"):
                name = entry.name.replace("interval", end)
                columns[name] = [None if value is None else getattr(value, end) for value in values]
        return columns

    @property
    def winners(self) -> dict[str, str]:
        """The first system by each metric."""
        return {metric.metric: metric.winner for metric in self.metrics}

    def metric(self, name: str | None = None) -> MetricComparison:
        """The comparison by a metric; by default the first."""
        if name is None:
            return self.metrics[0]
        for metric in self.metrics:
            if metric.metric == name:
                return metric
        msg = f"no comparison by {name!r}; metrics: {', '.join(metric.metric for metric in self.metrics)}"
        raise InputError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class ScoredComparison(Result, HasPaperTable):
    """Systems scored and compared in one call."""

    format = "nlgauge-scored-comparison-1"
    further = ("pairs", "segments")
    computed = ("verdicts",)

    comparison: SystemComparison
    scores: tuple[Score, ...]

    @property
    def verdicts(self) -> list[str]:
        """The verdict of each metric in a sentence."""
        return plain_verdicts(self.comparison)

    def to_dict(self, *, segments: bool = True) -> dict[str, Any]:
        """Plain values; without `segments` they cannot be read back."""
        record = super().to_dict()
        return record if segments else record | {"scores": [score.to_dict(segments=False) for score in self.scores]}

    def __repr__(self) -> str:
        return repr(self.comparison)

    def tables(self, form: str = "text", *, all_tables: bool = False, decimals: int | None = None) -> list[Table]:
        """Those of the comparison; `segments` has a row per metric, system and segment."""
        if form != "segments":
            return self.comparison.tables(form, all_tables=all_tables, decimals=decimals)
        components = list(dict.fromkeys(name for score in self.scores for name in score.segments))
        rows: list[list[Cell]] = [
            [score.system, score.metric, row["segment"], *map(row.get, components), str(score.signature)]
            for score in self.scores
            for row in score.rows()
        ]
        return [Table(["system", "metric", "segment", *components, "signature"], rows)]

    def render(self, form: str = "text", *, decimals: int | None = None, all_tables: bool = False) -> str:
        """The comparison as one text that ends with a newline; options are those of `tables`."""
        if form in ("json", *self.further):
            return super().render(form, decimals=decimals)
        return self.comparison.render(form, decimals=decimals, all_tables=all_tables)

    def paper_table(self, **options: Unpack[PaperKeywords]) -> PaperTable:
        """That of the comparison."""
        return self.comparison.paper_table(**options)

    def flat_columns(self) -> dict[str, Any]:
        """Those of the comparison."""
        return self.comparison.flat_columns()

    def figure(self) -> Any:
        """That of the comparison."""
        return self.comparison.figure()

    def pair_figure(self, pairs: Sequence[tuple[str, str]] | None = None) -> Any:
        """Histograms and sorted paired differences of pairs of systems; of many pairs those with the best system."""
        from nlgauge.studies.compare.paired_differences import draw_pairs
        from nlgauge.studies.compare.system_scores import system_scores

        return draw_pairs(self.comparison, system_scores(self.scores), pairs)


#: Inches for a system, and for the margins of a panel.
_ROW, _FRAME = 0.24, 1.0


def _draw_comparison(comparison: SystemComparison) -> Any:
    """Draw a panel per metric for scores and one for strengths; the best system is at the top."""
    metrics = comparison.metrics
    most = max(len(metric.systems) for metric in metrics)
    figure, panels = new_panels(len(metrics), 2, width=min(WIDEST, 9.0), height=_FRAME + _ROW * most)
    for row, metric in enumerate(metrics):
        score, strength = panels[2 * row], panels[2 * row + 1]
        _draw(score, metric, [(system.score, system.interval) for system in metric.systems])
        _draw(strength, metric, [(system.bradley_terry, system.bt_interval) for system in metric.systems])
        better = "" if metric.higher_is_better else " (lower is better)"
        score.set_xlabel(f"{title_of(metric)}{better}", fontsize=8)
        strength.set_xlabel(f"{title_of(metric)}: Bradley-Terry strength", fontsize=8)
        strength.set_yticklabels([])
    settings = comparison.settings
    counted = ", ".join(
        dict.fromkeys(
            f"{metric.n} segments" + ("" if metric.documents is None else f" of {metric.documents} documents")
            for metric in metrics
        )
    )
    clusters = ""
    if any(metric.systems[-1].cluster > 1 for metric in metrics):
        clusters = "Dashed: every system above is significantly better than every system below (rank clusters). "
    caption = (
        f"Lines: {100 * settings.level:.10g} % intervals (at least four segments). Filled: not "
        f"significantly worse than the best (test {settings.test}, alpha {settings.alpha:g}, "
        f"{'Holm' if settings.correction == 'holm' else 'not corrected'}). {clusters}{counted}."
    )
    finish_figure(figure, title="System ranking", caption=caption)
    return figure


def _draw(axes: Any, metric: MetricComparison, values: Sequence[tuple[float, Interval | None]]) -> None:
    places = list(range(len(values)))
    for i, (value, interval) in zip(places, values, strict=True):
        if interval is not None:
            axes.plot([interval.low, interval.high], [i, i], color=COLOURS[0], linewidth=1.4)
        face = "white" if metric.systems[i].worse_than_best else COLOURS[0]
        axes.plot([value], [i], marker="o", markersize=5, color=COLOURS[0], markerfacecolor=face, linestyle="none")
    for i in places[1:]:
        if metric.systems[i].cluster != metric.systems[i - 1].cluster:
            axes.axhline(i - 0.5, color="#888888", linewidth=0.8, linestyle="--")
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_yticks(places, [shorten(row.system) for row in metric.systems], fontsize=8)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a "$" in a name is a "$"
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    ends = [end for value, interval in values for end in ([value] if interval is None else interval[1:3])]
    if math.isclose(min(ends), max(ends)):
        axes.set_xlim(min(ends) - 0.5, max(ends) + 0.5)
