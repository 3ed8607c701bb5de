"""Checks of a request before anything is computed for it: sizes, options, and recipes that the service allows."""

from __future__ import annotations

from collections.abc import Callable

from nlgauge.apps.service.calls import Caller
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.policy import Policy
from nlgauge.apps.service.request_models import OperationRequest
from nlgauge.apps.service.settings import Limits
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError

#: Characters times samples of one explanation: Shapley values take a scoring for each word of each sample.
_MOST_SAMPLED = 100_000


def check_request(request: OperationRequest, caller: Caller, policy: Policy, limits: Limits, *, job: bool) -> int:
    """Refuse what is too large or not allowed; the number of characters of all texts."""
    characters = _check_size(request, limits, job=job)
    _check_pairs(request, limits, job=job)
    if request.operation.name in _SPECIAL:
        _SPECIAL[request.operation.name](request, limits)
    _check_options(request, policy)
    if request.metrics:
        caller.recipes(request)
    return characters


def _check_size(request: OperationRequest, limits: Limits, *, job: bool) -> int:
    if "systems" in request.inputs:
        both = [getattr(request, name) for name in ("hyps", "systems")]
        if both.count(None) != 1:
            raise ProblemError(422, "give either 'hyps' (one system) or 'systems' (by name)", kind="form")
    if len(request.metrics) > limits.recipes:
        msg = f"{len(request.metrics)} metrics in one request, and at most {limits.recipes} are taken"
        raise ProblemError(413, msg, kind="too-many-metrics")
    places = list(request.places())
    name = "job_texts" if job else "texts"
    most = getattr(limits, name)
    if len(places) > most:
        hint = "" if job else f"post it to /v1/jobs, where {limits.job_texts:,} are, or "
        more = f"use fewer systems or segments, or start the service with {Limits.flag_of(name)} N"
        msg = f"{len(places):,} texts in one request, and at most {most:,} are taken; {hint}{more}"
        raise ProblemError(413, msg, kind="too-many-texts")
    place, longest = max(((place, len(text)) for place, text in places), key=lambda pair: pair[1], default=("", 0))
    if longest > limits.text_characters:
        msg = f"{place}: a text has {longest} characters, and at most {limits.text_characters} are taken"
        raise ProblemError(413, msg, kind="text-too-long")
    return sum(len(text) for _, text in places)


def _check_pairs(request: OperationRequest, limits: Limits, *, job: bool) -> None:
    pairs, most = request.operation.count_pairs(request.inputs), limits.job_pairs if job else limits.pairs
    if pairs > most:
        hint = "" if job else f"; post it to /v1/jobs, where {limits.job_pairs} are"
        msg = f"{pairs} pairs of texts in one request, and at most {most} are compared{hint}"
        raise ProblemError(413, msg, kind="too-many-pairs")


def _check_options(request: OperationRequest, policy: Policy) -> None:
    """Refuse values that the library would refuse later, and what is set in the wrong place."""
    known = RunOptions.options()
    for name in request.metric_options:
        if name in known and known[name].local:
            msg = f"{name} is decided by the service, not by a request; leave it out"
            raise RecipeError(msg)
        if name in type(request).model_fields:
            own = f"{request.metrics[0]}:{name}=VALUE"
            msg = f"{name} is also a field of this request, next to 'options'; set the metric's own as {own}"
            raise RecipeError(msg)
    chosen = request.chosen
    for options in request.operation.option_sets:
        values = {name: value for name, value in chosen.items() if name in options.options()}
        policy.check_values(options.options(), options.of(values))


def _check_systems(request: OperationRequest, limits: Limits) -> None:
    """Every two systems are tested."""
    systems = len(request.inputs["systems"])
    if systems > limits.systems:
        msg = f"{systems} systems in one comparison, and at most {limits.systems} are taken"
        raise ProblemError(413, msg, kind="too-many-systems")


def _check_pair(request: OperationRequest, limits: Limits) -> None:
    characters = sum(len(text) for _, text in request.operation.places(request.inputs))
    most = limits.explained_characters
    if characters > most:
        msg = f"the texts have {characters} characters, and an explanation is made of at most {most}"
        raise ProblemError(413, msg, kind="text-too-long")
    samples = request.chosen.get("samples", request.operation.request_options["samples"].default)
    if request.chosen.get("shapley") is not False and characters * samples > _MOST_SAMPLED:
        msg = f"{characters} characters with {samples} samples; the product must be at most {_MOST_SAMPLED}"
        raise ProblemError(413, msg, kind="too-many-samples")


def _check_explained(request: OperationRequest, limits: Limits) -> None:
    characters, most = sum(len(text) for _, text in request.places()), limits.job_explained_characters
    if characters > most:
        msg = f"the texts have {characters} characters, and a job explains at most {most}"
        raise ProblemError(413, msg, kind="text-too-long")


#: Limits of single operations.
_SPECIAL: dict[str, Callable[[OperationRequest, Limits], None]] = {
    "compare": _check_systems,
    "explain": _check_pair,
    "explain-pairs": _check_explained,
    "explain-corpus": _check_explained,
}
