"""A service from Python: the calls of the library, computed elsewhere.

client = nlgauge.Client("http://127.0.0.1:8765")
client.score(hyps, refs, metric="bertscore")          -> Score, as nlgauge.score
client.score_systems({"a": ..., "b": ...}, refs)      -> list of Score
client.matrix(texts), client.rank(candidates), ...    -> ScoreMatrix, Ranking, ...
job = client.submit("score", {"a": ...}, refs)        -> a job to watch

A client has a method for every operation, those of installed packages included, with the name, the arguments and the
result of the library's function. Each method is written once, as an exchange (`exchange.py`): `Client` carries it out
and waits, `AsyncClient` returns what can be awaited.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload

from nlgauge.apps.operations import operations
from nlgauge.apps.service.exchange import (
    TOO_LARGE,
    Ask,
    Call,
    Exchange,
    Reply,
    Retries,
    problem_error,
    read,
    read_result,
    send,
)
from nlgauge.core.corpus import References
from nlgauge.core.operations import Operation
from nlgauge.core.score import Score
from nlgauge.core.scoring import AnyMetric, Metrics, one_metric
from nlgauge.errors import ServiceError
from nlgauge.io.packages import require

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from nlgauge.core import matrix, rank, scoring
    from nlgauge.core.keywords import CompareKeywords, ScoreKeywords
    from nlgauge.studies import discourse
    from nlgauge.studies.compare import systems
    from nlgauge.studies.compare.comparison import SystemComparison
    from nlgauge.studies.compare.settings import CompareSettings
    from nlgauge.studies.compare.system_scores import Scores
    from nlgauge.studies.explain import corpus, pairs
    from nlgauge.studies.sensitivity import measure
    from nlgauge.studies.stress.suite import StressTest

P = ParamSpec("P")
R = TypeVar("R")

#: Seconds between two looks at a job: at first, and at most.
FIRST_LOOK, LAST_LOOK = 0.1, 2.0


class _Waits:
    """What waits for answers."""


class _Awaits:
    """What is awaited."""


class _Method(Generic[P, R]):
    """A method that is written as an exchange; it returns the result, or an awaitable of it."""

    def __init__(self, function: Callable[..., Exchange[R]]) -> None:
        self._function = function

    @overload
    def __get__(self, instance: None, owner: Any) -> Callable[Concatenate[Any, P], Any]: ...
    @overload
    def __get__(self, instance: _Waits, owner: Any) -> Callable[P, R]: ...
    @overload
    def __get__(self, instance: _Awaits, owner: Any) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._function if instance is None else _carried_out(instance, self._function)


class _JobMethod(_Method[P, Any]):
    """The same where the result is a job."""

    @overload
    def __get__(self, instance: None, owner: Any) -> Callable[Concatenate[Any, P], Any]: ...
    @overload
    def __get__(self, instance: _Waits, owner: Any) -> Callable[P, Job]: ...
    @overload
    def __get__(self, instance: _Awaits, owner: Any) -> Callable[P, Coroutine[Any, Any, AsyncJob]]: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        return super().__get__(instance, owner)


def _carried_out(instance: Any, function: Callable[..., Exchange[Any]]) -> Callable[..., Any]:
    exchange = MethodType(function, instance)

    @functools.wraps(exchange)
    def method(*args: Any, **keywords: Any) -> Any:
        return instance._carry_out(exchange(*args, **keywords))

    return method


def _method(function: Callable[Concatenate[Any, P], Exchange[R]]) -> _Method[P, R]:
    return _Method(function)


def _job_method(function: Callable[Concatenate[Any, P], Exchange[Any]]) -> _JobMethod[P]:
    return _JobMethod(function)


if TYPE_CHECKING:

    def _remote(function: Callable[P, R]) -> _Method[P, R]:
        """The method of an operation, as type checkers and editors see it."""


class JobState(NamedTuple):
    """A job, as the service last told of it."""

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
        """Whether it stays in this state."""
        return self.state not in {"queued", "running"}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> JobState:
        """From JSON."""
        names = ("id", "kind", "state", "problem")
        return cls(**{name: record[name] for name in names}, **record["progress"])

    def check(self) -> None:
        """Raise what the job failed with."""
        if self.state == "failed":
            raise problem_error(self.problem or {})
        if self.state != "done":
            msg = f"job {self.id} has no result: it is {self.state}"
            raise ServiceError(msg)


class _JobCalls:
    """What can be done with a job."""

    def __init__(self, client: _Calls, state: JobState) -> None:
        self._client = client
        self.state = state
        """As the service last told of it."""

    @property
    def id(self) -> str:
        """Its name at the service."""
        return self.state.id

    @_method
    def refresh(self) -> Exchange[JobState]:
        """Ask how far it is."""
        return self._update(Ask("GET", f"/v1/jobs/{self.id}"))

    @_method
    def cancel(self) -> Exchange[JobState]:
        """Cancel it; one that is running stops a moment later."""
        return self._update(Ask("POST", f"/v1/jobs/{self.id}/cancel", b"{}"))

    @_method
    def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Exchange[Any]:
        """Wait for its end and return its result, as the library has it. `watch` is shown each state on the way."""
        until = None if timeout is None else time.monotonic() + timeout
        look = FIRST_LOOK
        while not self.state.ended:
            if until is not None and time.monotonic() > until:
                msg = f"job {self.id} is {self.state.state} after {timeout:g} seconds; it goes on"
                raise ServiceError(msg)
            yield look
            look = min(LAST_LOOK, look * 1.5)
            yield from self._update(Ask("GET", f"/v1/jobs/{self.id}"))
            if watch is not None:
                watch(self.state)
        return (yield from self._result())

    @_method
    def result(self) -> Exchange[Any]:
        """The result of a job that is done; else an error that says why there is none."""
        return self._result()

    @_method
    def download(self, form: str) -> Exchange[bytes]:
        """The result as it is kept: json, tsv, segments, pairs or html, as far as the kind of job has it."""
        self.state.check()
        return (yield from self._client._send(Ask("GET", f"/v1/jobs/{self.id}/result?format={form}")))

    @_method
    def remove(self) -> Exchange[None]:
        """Remove it and its result from the service."""
        yield from self._client._send(Ask("DELETE", f"/v1/jobs/{self.id}"))

    def _update(self, ask: Ask) -> Exchange[JobState]:
        self.state = yield from self._client._read(ask, JobState.read)
        return self.state

    def _result(self) -> Exchange[Any]:
        self.state.check()
        operation = operations().get(self.state.kind)
        reader = dict if operation is None else functools.partial(read_result, operation)
        return (yield from self._client._read(Ask("GET", f"/v1/jobs/{self.id}/result"), reader))

    def _carry_out(self, exchange: Exchange[Any]) -> Any:
        return self._client._carry_out(exchange)


class Job(_JobCalls, _Waits):
    """A job of a service, asked and waited for."""


class AsyncJob(_JobCalls, _Awaits):
    """The same, awaited."""


class _Calls(ABC):
    """The calls of both clients."""

    _job: type[_JobCalls]

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
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = getattr(self._package, type(self).__name__)(
            base_url=url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )
        self._url = url
        self._retries = Retries(retries)
        self._limits: Mapping[str, float] | None = None

    if TYPE_CHECKING:
        score_systems = _remote(scoring.score_systems)
        compare = _remote(systems.compare)
        rank = _remote(rank.rank)
        matrix = _remote(matrix.matrix)
        explain_pair = _remote(pairs.explain_pair)
        explain_pairs = _remote(pairs.explain_pairs)
        explain_corpus = _remote(corpus.explain_corpus)
        discourse = _remote(discourse.discourse)
        sensitivity = _remote(measure.sensitivity)
    else:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """The method of an operation."""
            for operation in operations().values():
                if operation.method == name and not name.startswith("_"):
                    return _operation_method(self, operation)
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)

        def __dir__(self) -> list[str]:
            return [*super().__dir__(), *(operation.method for operation in operations().values())]

    @_method
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
        chosen = one_metric(metric, function="score")
        texts = {"ref_streams": ref_streams, "sources": sources}
        scores = yield from self._run(operations()["score"], ({"": hyps}, refs, chosen), texts | dict(options))
        score: Score = scores[0]
        return score

    @_method
    def compare_systems(
        self, /, scores: Scores, *, settings: CompareSettings | None = None, **options: Unpack[CompareKeywords]
    ) -> Exchange[SystemComparison]:
        """Which system is better: `nlgauge.compare_systems`, which takes scores, and so computes here."""
        from nlgauge.studies.compare.systems import compare_systems  # imported where it is needed: scoring does not

        comparison: SystemComparison = yield lambda _: compare_systems(scores, settings=settings, **options)
        return comparison

    @_method
    def stress(
        self, /, texts: Sequence[str], refs: References | None = None, metric: Metrics | None = None, **options: Any
    ) -> Exchange[StressTest]:
        """Can metrics be fooled: `nlgauge.studies.stress.stress`, with its options; texts are perturbed here."""
        from nlgauge.studies.stress.suite import stress

        def work(carry_out: Callable[[Exchange[Any]], Any]) -> StressTest:
            def scorer(*args: Any, **keywords: Any) -> Any:
                return carry_out(self._run(operations()["score"], args, keywords))

            return stress(texts, refs, metric, scorer=scorer, **options)

        test: StressTest = yield work
        return test

    @_job_method
    def submit(self, operation: str, /, *args: Any, **options: Any) -> Exchange[Any]:
        """An operation as a job, to be watched or cancelled; arguments are those of its method."""
        known = operations()
        if operation not in known:
            msg = f"there is no operation {operation!r}; there are: {', '.join(known)}"
            raise ServiceError(msg)
        return (yield from self._submit(Call(known[operation], args, options)))

    @_job_method
    def job(self, name: str) -> Exchange[Any]:
        """A job that was submitted before."""
        return self._job(self, (yield from self._read(Ask("GET", f"/v1/jobs/{name}"), JobState.read)))

    @_method
    def describe(self) -> Exchange[dict[str, Any]]:
        """Version, engine and limits of the service."""
        return self._read(Ask("GET", "/v1"), dict)

    @_method
    def metrics(self) -> Exchange[list[dict[str, Any]]]:
        """The metrics of the service, with their options."""
        return self._read(Ask("GET", "/v1/metrics"), list)

    @_method
    def models(self) -> Exchange[list[dict[str, Any]]]:
        """The models that are known, and which of them the service offers."""
        return self._read(Ask("GET", "/v1/models"), list)

    def _run(self, operation: Operation, args: Sequence[Any], keywords: Mapping[str, Any]) -> Exchange[Any]:
        """At once; what is too much or takes too long for that becomes a job, which is waited for."""
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

    def _submit(self, call: Call) -> Exchange[_JobCalls]:
        """It is not sent again where it may have arrived."""
        ask = Ask("POST", f"/v1/jobs/{call.operation.name}", call.body, again=False)
        return self._job(self, (yield from self._read(ask, JobState.read)))

    def _read(self, ask: Ask, reader: Callable[[Any], R]) -> Exchange[R]:
        return read(ask, (yield from self._send(ask)), reader)

    def _send(self, ask: Ask) -> Exchange[bytes]:
        return send(ask, self._url, self._retries)

    def _lost(self, error: Exception) -> Reply:
        return Reply(error=error, connected=not isinstance(error, self._package.ConnectError))

    @abstractmethod
    def _carry_out(self, exchange: Exchange[Any]) -> Any:
        """Send what the exchange asks for, and return what it ends with."""


def _operation_method(client: _Calls, operation: Operation) -> Callable[..., Any]:
    """The library's function by its name, documentation and arguments, computed by the service."""

    def method(*args: Any, **keywords: Any) -> Any:
        return client._carry_out(client._run(operation, args, keywords))

    method.__name__ = method.__qualname__ = operation.method
    method.__doc__ = operation.call.__doc__
    method.__signature__ = inspect.signature(operation.call)  # type: ignore[attr-defined]  # as inspect reads it
    return method


def _reply(response: Any) -> Reply:
    return Reply(response.status_code, response.content, response.headers.get("retry-after"))


class Client(_Calls, _Waits):
    """A service that is asked and waited for. It is closed by `close()`, or used in a `with`.

    Args:
        url: Address of the service.
        api_key: Where the service wants one.
        timeout: Seconds for an answer; a job may take longer, because it is asked about again and again.
        retries: How often to ask again where the service is busy (429, 503) or cannot be reached.
        transport: What sends requests, for tests; as httpx2 has it.
    """

    _job = Job

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _carry_out(self, exchange: Exchange[Any]) -> Any:
        reply: Any = None
        while True:
            try:
                step = exchange.send(reply)
            except StopIteration as end:
                return end.value
            if isinstance(step, Ask):
                reply = self._request(step)
            elif callable(step):
                reply = step(self._carry_out)
            else:
                time.sleep(step)

    def _request(self, ask: Ask) -> Reply:
        try:
            return _reply(self._http.request(ask.method, ask.path, content=ask.body, headers=ask.headers))
        except self._package.TransportError as error:
            return self._lost(error)


class AsyncClient(_Calls, _Awaits):
    """A service that is asked and awaited; arguments as of `nlgauge.Client`. Closed by `close()` or `async with`."""

    _job = AsyncJob

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _carry_out(self, exchange: Exchange[Any]) -> Any:
        loop = asyncio.get_running_loop()
        reply: Any = None
        while True:
            try:
                step = exchange.send(reply)
            except StopIteration as end:
                return end.value
            if isinstance(step, Ask):
                reply = await self._request(step)
            elif callable(step):

                def from_thread(inner: Exchange[Any]) -> Any:
                    return asyncio.run_coroutine_threadsafe(self._carry_out(inner), loop).result()

                reply = await asyncio.to_thread(step, from_thread)
            else:
                await asyncio.sleep(step)

    async def _request(self, ask: Ask) -> Reply:
        try:
            return _reply(await self._http.request(ask.method, ask.path, content=ask.body, headers=ask.headers))
        except self._package.TransportError as error:
            return self._lost(error)
