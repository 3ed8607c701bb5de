"""Requests to a service and its answers, without input or output: bodies, waits, errors, and results.

An exchange is a generator. It yields its next step: a request to send (`Ask`), seconds to wait, or work for this
machine (a function that receives a way to run further exchanges). The generator receives the response or error, and
returns its result. The two clients in `client.py` run exchanges.
"""

from __future__ import annotations

import inspect
import json
import random
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from nlgauge import errors
from nlgauge.core.corpus import as_texts, make_corpus
from nlgauge.core.metric import Metric
from nlgauge.core.operations import LISTS, Operation
from nlgauge.core.scoring import AnyMetric, metric_list, single_metric
from nlgauge.errors import NlgaugeError, NlgaugeWarning, RecipeError, ServiceError, user_stacklevel

#: Status of requests that are too large for an immediate answer, but may be submitted as jobs.
TOO_LARGE = 413

#: Status codes after which a request is sent again.
BUSY = (429, 503)

#: Seconds before a request is sent again: the first time, and at most.
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0

#: Largest request in bytes that is sent without asking for the limits of the service.
_SURELY_BYTES = 200_000

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Ask:
    """An HTTP request."""

    method: str
    path: str
    body: bytes | None = None
    again: bool = True
    """Whether it may be sent again if it may have arrived."""


#: The steps that an exchange yields.
Step: TypeAlias = Ask | float | Callable[[Callable[["Exchange[Any]"], Any]], Any]

Exchange: TypeAlias = Generator[Step, Any, Answer]


def delay(attempt: int, retry_after: str | None = None) -> float:
    """Seconds to wait after attempt 0, 1, ...: twice as long each time, or as long as the service asks for.

    A part is random, to spread clients over time.
    """
    wait = min(_LONGEST_WAIT, _FIRST_WAIT * float(2**attempt)) * (0.75 + random.random() / 2)
    if retry_after is not None and retry_after.isdigit():
        wait = max(wait, min(_LONGEST_WAIT, float(retry_after)))
    return wait


def content_of(status: int, content: bytes) -> bytes:
    """The content of an answer; raises its error."""
    if status < 300:
        return content
    try:
        record = json.loads(content)
    except ValueError:
        record = {}
    raise problem_error(record if isinstance(record, dict) else {}, status)


def problem_error(problem: Mapping[str, Any], status: int | None = None) -> NlgaugeError:
    """The error in an answer; errors of the library keep their class."""
    detail = problem.get("detail") or problem.get("title") or "the service gave no reason"
    kind = getattr(errors, str(problem.get("error", "")), None)
    if isinstance(kind, type) and issubclass(kind, NlgaugeError) and kind is not ServiceError:
        return kind(detail)
    where = f" (status {status})" if status is not None else ""
    return ServiceError(f"the service refused the request{where}: {detail}", status=status)


def read_result(operation: Operation, record: dict[str, Any]) -> Any:
    """The result of an operation, as its function returns it; warnings of the service are repeated here."""
    record.pop("nlgauge")
    for text in record.pop("warnings"):
        warnings.warn(text, NlgaugeWarning, stacklevel=user_stacklevel())
    return operation.result_class.from_dict(record)


class Call:
    """A call of an operation as the body of a request, with texts checked as in the library."""

    def __init__(self, operation: Operation, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        self.operation = operation
        signature = inspect.signature(operation.call)
        arguments = dict(signature.bind(*args, **keywords).arguments)
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments |= arguments.pop(name, {})
        texts = {name: arguments.pop(name, None) for name in [*(i.name for i in operation.inputs), "ref_streams"]}
        body = {name: value for name, value in _checked(operation, texts).items() if value is not None}
        if list(body.get("systems", ())) == [""]:
            body["hyps"] = body.pop("systems")[""]
        if (metric := arguments.pop("metric", None)) is not None:
            if operation.metric == "one":
                body["metric"] = _recipe_text(single_metric(metric, function=operation.method)[0])
            else:
                body["metric"] = [_recipe_text(chosen) for chosen in metric_list(metric)]
        try:
            self.body = json.dumps(body | _options(operation, arguments), allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            msg = f"cannot send an option to the service: {error}; options are strings, numbers, True or False"
            raise RecipeError(msg) from error

    def fits(self, limits: Mapping[str, float] | None) -> bool | None:
        """Whether to ask for an immediate answer; None: this depends on the limits of the service."""
        if not self.operation.at_once or len(self.body) <= _SURELY_BYTES:
            return self.operation.at_once
        return None if limits is None else len(self.body) <= limits["body_bytes"]


def _checked(operation: Operation, texts: Mapping[str, Any]) -> dict[str, Any]:
    """Texts as lists."""
    first = operation.inputs[0]
    value = texts[first.name]
    present = [(entry.name, texts[entry.name]) for entry in operation.inputs if texts[entry.name] is not None]
    if operation.inputs == LISTS:
        return {name: as_texts(value, name) for name, value in present}
    if first.shape == "text":
        return {name: value if isinstance(value, str) else list(value) for name, value in present}
    checked: dict[str, Any] = {}
    systems = value
    if first.shape == "groups":
        from nlgauge.core.rank import as_candidates, as_segments  # not needed for scoring

        checked["candidates"] = [list(group) for group in as_candidates(value)]
        systems = {"": [group[0] for group in checked["candidates"]]}
        others = {name: texts[name] for name in ("refs", "sources") if texts.get(name) is not None}
        texts = {**texts, **{name: as_segments(items, name, len(systems[""])) for name, items in others.items()}}
    elif first.shape == "texts" or (operation.metric == "none" and not isinstance(value, Mapping)):
        systems = {"": value}
    corpus = make_corpus(
        systems, texts["refs"], ref_streams=texts["ref_streams"], sources=texts.get("sources"), alone=True
    )
    if first.shape == "systems":
        checked["systems"] = {name: list(outputs) for name, outputs in corpus.systems.items()}
    elif first.shape == "texts":
        checked[first.name] = list(corpus.systems[""])
    checked["refs"] = [list(group) for group in corpus.references] if all(corpus.references) else None
    checked["sources"] = None if corpus.sources is None else list(corpus.sources)
    return checked


def _recipe_text(metric: AnyMetric) -> str:
    """A recipe as text: `bertscore:layer=4` for `BERTScore(layer=4)`."""
    if not isinstance(metric, Metric):
        return str(metric)
    known = metric.options()
    options = ",".join(f"{name}={known[name].kind.show(value)}" for name, value in metric.given.items())
    return f"{metric.name}:{options}" if options else metric.name


def _options(operation: Operation, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of operation and run as fields of a request; options of the metric go into `options`."""
    own = {name: entry for group in operation.option_sets for name, entry in group.options().items()}
    fields: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in options.items():
        if name in operation.request_options:
            fields[name] = value
        elif name in own:
            if value is not None:
                cause = "is a file" if own[name].kind.names_file else "has no effect without a file"
                msg = (
                    f"{name} {cause}, and a service reads no files; leave it out, or call "
                    f"nlgauge.{operation.method}(), which computes on this machine"
                )
                raise RecipeError(msg)
        elif name != "progress":
            others[name] = value
    return fields | ({"options": others} if others else {})
