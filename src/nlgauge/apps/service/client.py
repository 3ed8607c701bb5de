"""Python clients of a service: the functions of the library, computed by the service.

client = nlgauge.Client("http://127.0.0.1:8765")
client.score(hyps, refs, metric="bertscore")          -> Score, as nlgauge.score
client.score_systems({"a": ..., "b": ...}, refs)      -> list of Score
client.matrix(texts), client.rank(candidates), ...    -> ScoreMatrix, Ranking, ...
job = client.submit("score", {"a": ...}, refs)        -> a job to watch

A client has a method for every operation, including those of installed packages, with the name, the arguments and the
result of the function in the library. Each method is written once, as an exchange (`exchange.py`): `Client` runs it
and waits, `AsyncClient` returns an awaitable.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload

from nlgauge.apps.operations import operations
from nlgauge.apps.service.exchange import (
    BUSY,
    TOO_LARGE,
    Ask,
    Call,
    Exchange,
    content_of,
    delay,
    problem_error,
    read_result,
)
from nlgauge.core.corpus import References
from nlgauge.core.operations import Operation
from nlgauge.core.score import Score
from nlgauge.core.scoring import AnyMetric, Metrics, single_metric
from nlgauge.errors import ServiceError
from nlgauge.io.packages import require

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from nlgauge.core import pairs as text_pairs
    from nlgauge.core import rank, scoring
    from nlgauge.core.keywords import CompareKeywords, ScoreKeywords
    from nlgauge.studies import discourse
    from nlgauge.studies.compare import systems, until_certain
    from nlgauge.studies.compare.comparison import CompareSettings, SystemComparison
    from nlgauge.studies.compare.system_scores import Scores
    from nlgauge.studies.explain import corpus, pairs
    from nlgauge.studies.sensitivity import measure
    from nlgauge.studies.stress.suite import StressTest

P = ParamSpec("P")
R = TypeVar("R")
J = TypeVar("J", bound="_JobCalls")

#: Seconds between two status requests of a job: at first, and at most.
FIRST_POLL, LONGEST_POLL = 0.1, 2.0


class _Waits:
    """Marks classes whose methods wait for answers."""


class _Awaits:
    """Marks classes whose methods are awaited."""


class _Method(Generic[P, R]):
    """A method that is written as an exchange; a call returns the result, or an awaitable of it."""

    def __init__(self, function: Callable[Concatenate[Any, P], Exchange[R]]) -> None:
        self._function = function

    @overload
    def __get__(self, instance: None, owner: Any) -> Callable[Concatenate[Any, P], Any]: ...
    @overload
    def __get__(self, instance: _Waits, owner: Any) -> Callable[P, R]: ...
    @overload
    def __get__(self, instance: _Awaits, owner: Any) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self._function
        exchange = MethodType(self._function, instance)
        return _as_method(instance, exchange, like=exchange)


def _as_method(
    instance: Any, exchange: Callable[..., Exchange[Any]], *, like: Callable[..., Any]
) -> Callable[..., Any]:
    """A function that runs an exchange, with the name, documentation and arguments of another function."""

    @functools.wraps(like)
    def method(*args: Any, **keywords: Any) -> Any:
        return instance._run_exchange(exchange(*args, **keywords))

    return method


if TYPE_CHECKING:

    def _remote(function: Callable[P, R]) -> _Method[P, R]:
        """The method of an operation for type checkers and editors."""


class JobState(NamedTuple):
    """The last known state of a job."""

    id: str
    kind: str
    state: str
    """queued, running, done, failed, cancelled or interrupted"""
    done: int
    total: int | None
    unit: str
    problem: Mapping[str, Any] | None

    @property
    def ended(self) -> bool:
        """Whether the state is final."""
        return self.state not in {"queued", "running"}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> JobState:
        """Read the state from JSON."""
        names = ("id", "kind", "state", "problem")
        return cls(**{name: record[name] for name in names}, **record["progress"])

    def check(self) -> None:
        """Raise the error of a failed job, or an error if there is no result."""
        if self.state == "failed":
            raise problem_error(self.problem or {})
        if self.state != "done":
            msg = f"job {self.id} has no result: it is {self.state}"
            raise ServiceError(msg)


class _JobCalls:
    """The methods of a job."""

    def __init__(self, client: _Calls[Any], state: JobState) -> None:
        self._client = client
        self.state = state
        """The last known state."""

    @property
    def id(self) -> str:
        """Name of the job."""
        return self.state.id

    @_Method
    def refresh(self) -> Exchange[JobState]:
        """Request the current state."""
        return self._update(Ask("GET", f"/v1/jobs/{self.id}"))

    @_Method
    def cancel(self) -> Exchange[JobState]:
        """Cancel the job; a running job stops a moment later."""
        return self._update(Ask("POST", f"/v1/jobs/{self.id}/cancel", b"{}"))

    @_Method
    def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Exchange[Any]:
        """Wait for the job, and return its result. `watch` is called with each state."""
        until = None if timeout is None else time.monotonic() + timeout
        interval = FIRST_POLL
        while not self.state.ended:
            if until is not None and time.monotonic() > until:
                msg = f"job {self.id} is still {self.state.state} after {timeout:g} seconds, and continues"
                raise ServiceError(msg)
            yield interval
            interval = min(LONGEST_POLL, interval * 1.5)
            yield from self._update(Ask("GET", f"/v1/jobs/{self.id}"))
            if watch is not None:
                watch(self.state)
        return (yield from type(self).result(self))

    @_Method
    def result(self) -> Exchange[Any]:
        """The result of a finished job; raises if there is none."""
        self.state.check()
        operation = operations().get(self.state.kind)
        reader = dict if operation is None else functools.partial(read_result, operation)
        return (yield from self._client._read(Ask("GET", f"/v1/jobs/{self.id}/result"), reader))

    @_Method
    def download(self, form: str) -> Exchange[bytes]:
        """The result in a format of the operation: json, tsv, segments, pairs or html."""
        self.state.check()
        return (yield from self._client._send(Ask("GET", f"/v1/jobs/{self.id}/result?format={form}")))

    @_Method
    def remove(self) -> Exchange[None]:
        """Remove the job and its result from the service."""
        yield from self._client._send(Ask("DELETE", f"/v1/jobs/{self.id}"))

    def _update(self, ask: Ask) -> Exchange[JobState]:
        self.state = yield from self._client._read(ask, JobState.read)
        return self.state

    def _run_exchange(self, exchange: Exchange[Any]) -> Any:
        return self._client._run_exchange(exchange)


class Job(_JobCalls, _Waits):
    """A job of a service; methods wait for answers."""


class AsyncJob(_JobCalls, _Awaits):
    """A job of a service; methods are awaited."""


class _Calls(ABC, Generic[J]):
    """The methods of both clients."""

    _job: type[J]

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        *,
        api_key: str | None = None,
        timeout: float = 90.0,
        retries: int = 5,
        transport: Any = None,
    ) -> None:
        self._package = require("httpx2", "service")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._http = getattr(self._package, type(self).__name__)(
            base_url=url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )
        self._url = url
        self._retries = retries
        self._limits: Mapping[str, float] | None = None

    if TYPE_CHECKING:
        score_systems = _remote(scoring.score_systems)
        compare = _remote(systems.compare)
        compare_until_certain = _remote(until_certain.compare_until_certain)
        rank = _remote(rank.rank)
        matrix = _remote(text_pairs.matrix)
        explain_pair = _remote(pairs.explain_pair)
        explain_pairs = _remote(pairs.explain_pairs)
        explain_corpus = _remote(corpus.explain_corpus)
        discourse = _remote(discourse.discourse)
        sensitivity = _remote(measure.sensitivity)
    else:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """The method of an operation."""
            for operation in operations().values():
                if operation.method == name:
                    return _as_method(self, functools.partial(self._run, operation), like=operation.call)
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)

        def __dir__(self) -> list[str]:
            return [*super().__dir__(), *(operation.method for operation in operations().values())]

    @_Method
    def score(
        self,
        /,
        hyps: Iterable[str],
        refs: References | None = None,
        metric: AnyMetric | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        **options: Unpack[ScoreKeywords],
    ) -> Exchange[Score]:
        """Score the outputs of one system: `nlgauge.score`."""
        chosen = single_metric(metric, function="score")
        texts = {"ref_streams": ref_streams, "sources": sources}
        scores = yield from self._run(operations()["score"], {"": hyps}, refs, chosen, **texts, **options)
        score: Score = scores[0]
        return score

    @_Method
    def compare_systems(
        self, /, scores: Scores, *, settings: CompareSettings | None = None, **options: Unpack[CompareKeywords]
    ) -> Exchange[SystemComparison]:
        """Compare systems by their scores: `nlgauge.compare_systems`, which runs on this machine."""
        from nlgauge.studies.compare.systems import compare_systems  # not needed for scoring

        comparison: SystemComparison = yield lambda _: compare_systems(scores, settings=settings, **options)
        return comparison

    @_Method
    def stress(
        self, /, texts: Sequence[str], refs: References | None = None, metric: Metrics | None = None, **options: Any
    ) -> Exchange[StressTest]:
        """Test metrics on perturbed texts: `nlgauge.studies.stress.stress`, which perturbs texts on this machine."""
        from nlgauge.studies.stress.suite import stress

        def work(run_exchange: Callable[[Exchange[Any]], Any]) -> StressTest:
            def scorer(*args: Any, **keywords: Any) -> Any:
                return run_exchange(self._run(operations()["score"], *args, **keywords))

            return stress(texts, refs, metric, scorer=scorer, **options)

        test: StressTest = yield work
        return test

    @_Method
    def submit(self, operation: str, /, *args: Any, **options: Any) -> Exchange[J]:
        """Submit an operation as a job; the arguments are those of its method."""
        known = operations()
        if operation not in known:
            msg = f"unknown operation {operation!r}; available: {', '.join(known)}"
            raise ServiceError(msg)
        return (yield from self._submit(Call(known[operation], args, options)))

    @_Method
    def job(self, name: str) -> Exchange[J]:
        """A job by its name."""
        return self._job(self, (yield from self._read(Ask("GET", f"/v1/jobs/{name}"), JobState.read)))

    @_Method
    def describe(self) -> Exchange[dict[str, Any]]:
        """Version, backend and limits of the service."""
        return self._read(Ask("GET", "/v1"), dict)

    @_Method
    def metrics(self) -> Exchange[list[dict[str, Any]]]:
        """The metrics of the service, with their options."""
        return self._read(Ask("GET", "/v1/metrics"), list)

    @_Method
    def models(self) -> Exchange[list[dict[str, Any]]]:
        """The models of the library, and which of them the service offers."""
        return self._read(Ask("GET", "/v1/models"), list)

    def _run(self, operation: Operation, /, *args: Any, **keywords: Any) -> Exchange[Any]:
        """Run an operation, as a job if it is too large or slow for an immediate answer."""
        call = Call(operation, args, keywords)
        fits = call.fits(self._limits)
        if fits is None:
            self._limits = (yield from self._read(Ask("GET", "/v1"), dict))["limits"]
            fits = call.fits(self._limits)
        if fits:
            try:
                reader = functools.partial(read_result, operation)
                return (yield from self._read(Ask("POST", f"/v1/{operation.name}", call.body), reader))
            except ServiceError as error:
                if error.status != TOO_LARGE:
                    raise
        job = yield from self._submit(call)
        return (yield from type(job).wait(job))

    def _submit(self, call: Call) -> Exchange[J]:
        """Submit a job. The request is not repeated if it may have arrived."""
        ask = Ask("POST", f"/v1/jobs/{call.operation.name}", call.body, again=False)
        return self._job(self, (yield from self._read(ask, JobState.read)))

    def _read(self, ask: Ask, reader: Callable[[Any], R]) -> Exchange[R]:
        """Send a request, and pass the JSON of its answer to a reader."""
        content = yield from self._send(ask)
        try:
            return reader(json.loads(content))
        except (ValueError, KeyError, TypeError) as error:
            msg = f"cannot read the answer of the service to {ask.method} {ask.path}: {error!r}"
            raise ServiceError(msg) from error

    def _send(self, ask: Ask) -> Exchange[bytes]:
        """The content of the answer; repeats the request if the service is busy or cannot be reached."""
        attempt = 0
        while True:
            reply = yield ask
            last, retry_after = attempt >= self._retries, None
            if isinstance(reply, Exception):
                arrived = not isinstance(reply, self._package.ConnectError)
                if last or (arrived and not ask.again):
                    msg = f"the service at {self._url} does not answer: {reply or type(reply).__name__}"
                    raise ServiceError(msg) from reply
            else:
                if last or reply.status_code not in BUSY:
                    return content_of(reply.status_code, reply.content)
                retry_after = reply.headers.get("retry-after")
            yield delay(attempt, retry_after)
            attempt += 1

    @abstractmethod
    def _run_exchange(self, exchange: Exchange[Any]) -> Any:
        """Run an exchange, and return its result."""


class Client(_Calls[Job], _Waits):
    """A client that waits for answers. Close it with `close()`, or use it in a `with` statement.

    Args:
        url: Address of the service.
        api_key: API key, if the service needs one.
        timeout: Seconds for an answer. Jobs may take longer.
        retries: Repetitions of a request if the service is busy (429, 503) or cannot be reached.
        transport: Transport of httpx2, for tests.
    """

    _job = Job

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run_exchange(self, exchange: Exchange[Any]) -> Any:
        reply: Any = None
        while True:
            try:
                step = exchange.send(reply)
            except StopIteration as end:
                return end.value
            if isinstance(step, Ask):
                try:
                    reply = self._http.request(step.method, step.path, content=step.body)
                except self._package.TransportError as error:
                    reply = error
            elif callable(step):
                reply = step(self._run_exchange)
            else:
                time.sleep(step)


class AsyncClient(_Calls[AsyncJob], _Awaits):
    """A client whose methods are awaited, with the arguments of `nlgauge.Client`. Close it, or use `async with`."""

    _job = AsyncJob

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run_exchange(self, exchange: Exchange[Any]) -> Any:
        loop = asyncio.get_running_loop()
        reply: Any = None
        while True:
            try:
                step = exchange.send(reply)
            except StopIteration as end:
                return end.value
            if isinstance(step, Ask):
                try:
                    reply = await self._http.request(step.method, step.path, content=step.body)
                except self._package.TransportError as error:
                    reply = error
            elif callable(step):

                def from_thread(inner: Exchange[Any]) -> Any:
                    return asyncio.run_coroutine_threadsafe(self._run_exchange(inner), loop).result()

                reply = await asyncio.to_thread(step, from_thread)
            else:
                await asyncio.sleep(step)
