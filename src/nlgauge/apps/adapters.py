"""Functions, options and results that stand in for those of the library where an operation needs one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nlgauge.core.annotation import annotator_option, sentences_option
from nlgauge.core.corpus import References
from nlgauge.core.kinds import Choice, Float, InputFile, Int, Pattern
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.registry import with_options
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.scoring import Metrics, chosen_metrics, score_systems
from nlgauge.errors import RecipeError
from nlgauge.studies.compare.settings import CompareSettings
from nlgauge.studies.explain.corpus import METHODS
from nlgauge.studies.sensitivity.measure import run_study, systems_table
from nlgauge.studies.sensitivity.results import Sensitivity
from nlgauge.studies.sensitivity.variants import DEFAULT_METRICS, PRESETS, StudyOptions, preset


@dataclass(frozen=True, kw_only=True)
class SummaryOptions(OptionSet):
    """Options of `explain_corpus` that an explanation of one pair does not have."""

    called: ClassVar[str] = "options of a summary"

    method: str = option("linear", Choice(*METHODS), help="summands of the score, or what it loses without a word")
    annotator: str = annotator_option()
    level: float = option(0.95, Float(above=0, below=1), help="confidence level")
    resamples: int = option(1000, Int(100), help="draws of texts for intervals", limit=10_000)


@dataclass(frozen=True, kw_only=True)
class DiscourseOptions(OptionSet):
    """Options of `discourse`."""

    called: ClassVar[str] = "options of discourse features"

    annotator: str = annotator_option()
    sentences: str = sentences_option()
    vectors: str | None = option(None, InputFile("a file of word vectors"), help="word vectors, for entities")
    threshold: float = option(
        0.8, Float(-1, below=1), help="cosine from which two nouns are one entity; needs word vectors"
    )


@dataclass(frozen=True, kw_only=True)
class SensitivityOptions(OptionSet):
    """Options of a study of preprocessing on outputs of systems."""

    called: ClassVar[str] = "options of a study"

    preset: str = option("all", Choice(*PRESETS), help="what is varied")
    # A plain code: names of lists of stop words are made of it.
    lang: str = option(
        "en",
        Pattern(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}", "a language code such as en or pt-BR"),
        help="language of the texts, for lists of stop words",
    )
    alpha: float = option(0.05, Float(above=0, below=1), help="significance level")
    resamples: int = option(1000, Int(100), help="draws of the test of rankings", limit=10_000)
    seed: int = seed_option()


def sensitivity(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    metric: Metrics = DEFAULT_METRICS,
    *,
    sources: Iterable[str] | None = None,
    **options: Any,
) -> Sensitivity:
    """How far preprocessing moves scores: `preset=`, `lang=`, `alpha=`, `resamples=`, `seed=`."""
    own = {name: options.pop(name) for name in SensitivityOptions.options() if name in options}
    study = SensitivityOptions.of(own)
    run = RunOptions.of({name: options.pop(name) for name in RunOptions.options() if name in options})
    metrics = [str(name) for name in chosen_metrics(metric)]
    for name in metrics:
        if "|" in name:
            msg = f"a study varies the options of a recipe: give NAME:option=value, not the signature {name!r}"
            raise RecipeError(msg)
    shared = {name: str(value) for name, value in options.items()}
    recipes = [with_options(name, shared) for name in metrics]
    table = systems_table(systems, refs, sources=sources, lang=study.lang)
    measured = StudyOptions(alpha=study.alpha, resamples=study.resamples, seed=study.seed, lang=study.lang)
    return run_study(preset(study.preset, recipes, loading=run.loading), table, options=measured, run=run)


@dataclass(frozen=True)
class Comparison:
    """Who is better, the scores behind it, and what was found in words."""

    comparison: Any
    scores: Sequence[Score]
    verdicts: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        scores = [score.to_dict() for score in self.scores]
        return {"comparison": self.comparison.to_dict(), "scores": scores, "verdicts": list(self.verdicts)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Any:
        """The record itself: a comparison is not read back."""
        return dict(record)


def compared(scores: Sequence[Score], **settings: Any) -> Comparison:
    """Scores of systems, compared."""
    from nlgauge.report.verdicts import comparison_verdicts, plain
    from nlgauge.studies.compare.systems import compare_systems

    comparison = compare_systems(scores, settings=CompareSettings.of(settings))
    return Comparison(comparison, scores, [plain(sentence) for sentence in comparison_verdicts(comparison)])


def compare(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    metric: Metrics | None = None,
    *,
    sources: Iterable[str] | None = None,
    **options: Any,
) -> Comparison:
    """Score systems and compare them; options are those of `score_systems` and `compare_systems`."""
    settings = {name: options.pop(name) for name in CompareSettings.options() if name in options}
    return compared(score_systems(systems, refs, metric, sources=sources, **options), **settings)


def tsv(result: Any) -> str:
    """The main table of a result, with all digits."""
    from nlgauge.report import comparison, explanation, scores, sensitivity, studies

    if hasattr(result, "render"):
        return str(result.render("tsv", decimals=17))
    name = type(result[0] if isinstance(result, list) else result).__name__
    if name == "Score":
        return scores.render(result, format="tsv", width=17)
    if name == "Comparison":
        return comparison.render_comparison(comparison.Compared(result.comparison), format="tsv", width=17)
    if name == "Sensitivity":
        return sensitivity.sensitivity_report(result, format="tsv")
    if name == "Explanation":
        several = result if isinstance(result, list) else [result]
        tables = [explanation._table(item, side) for item in several for side in ("hypothesis", "reference")]
        return "\n".join(table.write("tsv", width=17) for table in tables)
    if name == "CorpusSummary":
        return studies.render_corpus(result, format="tsv", width=17)
    return studies.render_discourse(result, format="tsv", width=17)


def further_tables(name: str, result: Any) -> dict[str, str]:
    """Tables that an operation has next to the main one, by name."""
    from nlgauge.report import comparison, scores, studies

    if name == "score":
        return {"segments": scores.render(result, format="tsv", segments=True, width=17)}
    if name == "compare":
        table = comparison.Compared(result.comparison)
        pairs = comparison.render_comparison(table, format="tsv", table="pairs", width=17)
        return {"pairs": pairs, "segments": scores.render(result.scores, format="tsv", segments=True, width=17)}
    if name == "discourse":
        return {"segments": studies.render_discourse(result, format="tsv", segments=True, width=17)}
    return {}


def record(result: Any, *, matrix: bool = False) -> dict[str, Any]:
    """A result as plain values; `matrix` is for explanations."""
    name = type(result).__name__
    more = {"matrix": matrix} if name == "Explanation" else {"segments": True} if name == "Discourse" else {}
    values: dict[str, Any] = result.to_dict(**more)
    return values
