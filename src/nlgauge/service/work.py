"""What each kind of job does. It calls the library, says how far it is, and stops when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nlgauge.compare import CompareSettings, compare_systems
from nlgauge.engine.comparisons import Comparisons
from nlgauge.engine.windows import ranges
from nlgauge.errors import RecipeError
from nlgauge.registry import with_options
from nlgauge.scores import Score
from nlgauge.sensitivity.presets import preset
from nlgauge.sensitivity.run import StudyOptions, run_study, systems_table
from nlgauge.service.answers import comparison_results, score_results
from nlgauge.service.calls import Caller, ScoreCall
from nlgauge.service.said import collected_warnings
from nlgauge.service.schemas import CompareRequest, ScoreRequest
from nlgauge.service.study_answers import sensitivity_results
from nlgauge.service.study_schemas import SensitivityRequest

__all__ = ["KINDS", "JobContext", "compare_settings"]

#: Texts of systems that are compared before a job says how far it is.
_STEP = 512


class JobContext(Protocol):
    """What a job is given to work with."""

    caller: Caller

    def advance(self, done: int, total: int | None, unit: str) -> None:
        """Say how far the job is; raises where it is to stop."""


def _score(request: bytes, context: JobContext) -> dict[str, bytes]:
    call = context.caller.score(ScoreRequest.model_validate_json(request))
    return score_results(_scores(call, context), call.warnings)


def _compare(request: bytes, context: JobContext) -> dict[str, bytes]:
    asked = CompareRequest.model_validate_json(request)
    call = context.caller.score(asked)
    scores = _scores(call, context)
    with collected_warnings(call.warnings):
        comparison = compare_systems(scores, settings=compare_settings(asked))
        return comparison_results(comparison, scores, call.corpus, call.warnings)


def compare_settings(asked: CompareRequest) -> CompareSettings:
    """How a request wants systems compared."""
    names = ("test", "correction", "alpha", "level", "resamples", "permutations", "seed", "ranking")
    given = {name: getattr(asked, name) for name in names}
    return CompareSettings(**given, smallest_difference=asked.smallest_difference)


def _scores(call: ScoreCall, context: JobContext) -> list[Score]:
    """Step by step, so that progress is seen and a stop is soon."""
    context.advance(0, len(call.corpus), "segments")
    prepared = call.prepare()
    parts = []
    for part in ranges(prepared, _STEP):
        parts.append(call.compare(prepared, part))
        context.advance(part.stop, len(prepared), "segments")
    return call.finish(prepared, Comparisons.join(parts))


def _sensitivity(request: bytes, context: JobContext) -> dict[str, bytes]:
    asked = SensitivityRequest.model_validate_json(request)
    for metric in asked.metrics:
        if "|" in metric:
            msg = f"a study varies the options of a recipe: give NAME:option=value, not the signature {metric!r}"
            raise RecipeError(msg)
    _, run, _, said = context.caller.recipes(asked)
    warnings = list(said)
    with collected_warnings(warnings):
        shared = {name: str(value) for name, value in asked.options.items()}
        metrics = [with_options(metric, shared) for metric in asked.metrics]
        study = preset(asked.preset, metrics, loading=run.loading)
        table = systems_table(asked.outputs(), asked.refs, sources=asked.sources, lang=asked.lang)
        options = StudyOptions(alpha=asked.alpha, resamples=asked.resamples, seed=asked.seed, lang=asked.lang)
        found = run_study(study, table, options=options, run=run)
    return sensitivity_results(found, warnings)


#: From a kind of job to what it does: a request in, results by format out.
KINDS: dict[str, Callable[[bytes, JobContext], dict[str, bytes]]] = {
    "score": _score,
    "compare": _compare,
    "sensitivity": _sensitivity,
}
