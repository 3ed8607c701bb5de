"""What each kind of job does. It calls the library, says how far it is, and stops when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nlgauge.engine.comparisons import Comparisons
from nlgauge.engine.windows import ranges
from nlgauge.errors import RecipeError
from nlgauge.registry import with_options
from nlgauge.sensitivity.presets import preset
from nlgauge.sensitivity.run import StudyOptions, run_study, systems_table
from nlgauge.service.answers import score_results, sensitivity_results
from nlgauge.service.calls import Caller
from nlgauge.service.said import collected_warnings
from nlgauge.service.schemas import ScoreRequest, SensitivityRequest

__all__ = ["KINDS", "JobContext"]

#: Texts of systems that are compared before a job says how far it is.
_STEP = 512


class JobContext(Protocol):
    """What a job is given to work with."""

    caller: Caller

    def advance(self, done: int, total: int | None, unit: str) -> None:
        """Say how far the job is; raises where it is to stop."""


def _score(request: bytes, context: JobContext) -> dict[str, bytes]:
    call = context.caller.score(ScoreRequest.model_validate_json(request))
    context.advance(0, len(call.corpus), "segments")
    prepared = call.prepare()
    parts = []
    for part in ranges(prepared, _STEP):
        parts.append(call.compare(prepared, part))
        context.advance(part.stop, len(prepared), "segments")
    scores = call.finish(prepared, Comparisons.join(parts))
    return score_results(scores, call.warnings)


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
KINDS: dict[str, Callable[[bytes, JobContext], dict[str, bytes]]] = {"score": _score, "sensitivity": _sensitivity}
