"""The asynchronous twin of `nlgauge.Client`: the same calls, awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from nlgauge.corpus.texts import References
from nlgauge.errors import ServiceError
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.signature import Signature
from nlgauge.scores import Score
from nlgauge.scoring import one_metric
from nlgauge.service import exchange
from nlgauge.service.client import FIRST_LOOK, LAST_LOOK, http_package
from nlgauge.service.exchange import Ask, JobState, Retries

if TYPE_CHECKING:
    from typing_extensions import Self

    from nlgauge.explain.explanation import Explanation
    from nlgauge.sensitivity.results import Sensitivity

__all__ = ["AsyncClient", "AsyncJob"]

Answer = TypeVar("Answer")


class AsyncClient:
    """A service that is asked and awaited; arguments as of `nlgauge.Client`. Closed by `close()` or `async with`."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        transport: Any = None,
    ) -> None:
        self._package = http_package()
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = self._package.AsyncClient(
            base_url=url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )
        self._url = url
        self._retries = Retries(retries)
        self._limits: Mapping[str, float] | None = None

    async def score(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        *,
        metric: str | Metric | Signature | None = None,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        **options: Any,
    ) -> Score:
        """Score the outputs of one system: `nlgauge.score`, computed by the service."""
        chosen = one_metric(metric, options, function="score")
        given = {"ref_streams": ref_streams, "sources": sources, **options}
        return (await self.score_systems({"": hyps}, refs, metrics=chosen, **given))[0]

    async def score_systems(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        *,
        metrics: Any = None,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        **options: Any,
    ) -> list[Score]:
        """Score several systems with one or more metrics: `nlgauge.score_systems`, computed by the service.

        What is too much for one answer becomes a job, which is waited for.
        """
        given = {"ref_streams": ref_streams, "sources": sources, **options}
        body = exchange.score_body(systems, refs, metrics, given)
        large = exchange.needs_a_job(body, self._limits)
        if large is None:
            self._limits = (await self.describe())["limits"]
            large = exchange.needs_a_job(body, self._limits)
        if not large:
            return await self._send(exchange.score_ask(body))
        found: list[Score] = await (await self._submit("score", body)).wait()
        return found

    async def submit_score(
        self, systems: Mapping[str, Iterable[str]], refs: References | None = None, **options: Any
    ) -> AsyncJob:
        """The same as a job, to be watched or cancelled; takes what `score_systems` takes."""
        body = exchange.score_body(systems, refs, options.pop("metrics", None), options)
        return await self._submit("score", body)

    async def submit_sensitivity(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        *,
        metrics: Any = ("moverscore", "bertscore:idf=refs"),
        **options: Any,
    ) -> AsyncJob:
        """How far preprocessing moves scores, as a job: `preset=`, `lang=`, `alpha=`, `resamples=`, `seed=`."""
        return await self._submit("sensitivity", exchange.sensitivity_body(systems, refs, metrics, options))

    async def sensitivity(
        self, systems: Mapping[str, Iterable[str]], refs: References | None = None, **options: Any
    ) -> Sensitivity:
        """The same, waited for."""
        found: Sensitivity = await (await self.submit_sensitivity(systems, refs, **options)).wait()
        return found

    async def submit_compare(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> AsyncJob:
        """Compare systems at the service, as a job, for its report; `settings` are those of a comparison.

        For `nlgauge.SystemComparison` hand the scores of `score_systems` to `nlgauge.compare_systems`.
        """
        body = exchange.score_body(systems, refs, options.pop("metrics", None), options)
        return await self._submit("compare", body | dict(settings or {}))

    async def explain_pair(
        self,
        hyp: str,
        ref: str | Sequence[str] | None = None,
        *,
        metric: str | Metric | Signature = "bertscore",
        source: str | None = None,
        **options: Any,
    ) -> Explanation:
        """Explain the score of one hypothesis: `nlgauge.explain_pair`, computed by the service."""
        return await self._send(exchange.explain_ask(hyp, ref, metric=metric, source=source, options=options))

    async def job(self, name: str) -> AsyncJob:
        """A job that was submitted before."""
        return AsyncJob(self, await self._send(exchange.get_ask(f"/v1/jobs/{name}", JobState.read)))

    async def describe(self) -> dict[str, Any]:
        """Version, engine and limits of the service."""
        return await self._send(exchange.get_ask("/v1", exchange.read_json))

    async def metrics(self) -> list[dict[str, Any]]:
        """The metrics of the service, with their options."""
        return await self._send(exchange.get_ask("/v1/metrics", exchange.read_json))

    async def models(self) -> list[dict[str, Any]]:
        """The models that are known, and which of them the service offers."""
        return await self._send(exchange.get_ask("/v1/models", exchange.read_json))

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _submit(self, kind: str, body: Mapping[str, Any]) -> AsyncJob:
        return AsyncJob(self, await self._send(exchange.submit_ask(kind, body)))

    async def _send(self, ask: Ask[Answer]) -> Answer:
        attempt = 0
        while True:
            after = None
            try:
                got = await self._http.request(ask.method, ask.path, content=ask.body, headers=ask.headers)
            except self._package.TransportError as error:
                may = ask.again or isinstance(error, self._package.ConnectError)
                if attempt >= self._retries.times or not may:
                    raise exchange.unreachable(self._url, error) from error
            else:
                if got.status_code not in exchange.BUSY or attempt >= self._retries.times:
                    return exchange.answer(ask, got.status_code, got.content)
                after = got.headers.get("retry-after")
            await asyncio.sleep(self._retries.delay(attempt, after))
            attempt += 1


class AsyncJob:
    """A job of a service."""

    def __init__(self, client: AsyncClient, state: JobState) -> None:
        self._client = client
        self.state = state
        """As the service last told of it."""

    @property
    def id(self) -> str:
        """Its name at the service."""
        return self.state.id

    async def refresh(self) -> JobState:
        """Ask how far it is."""
        self.state = await self._client._send(exchange.get_ask(f"/v1/jobs/{self.id}", JobState.read))
        return self.state

    async def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Any:
        """Wait for its end and return its result: scores, or a study. `watch` is shown each state on the way."""
        until = None if timeout is None else time.monotonic() + timeout
        look = FIRST_LOOK
        while not self.state.ended:
            if until is not None and time.monotonic() > until:
                msg = f"job {self.id} is {self.state.state} after {timeout:g} seconds; it goes on"
                raise ServiceError(msg)
            await asyncio.sleep(look)
            look = min(LAST_LOOK, look * 1.5)
            await self.refresh()
            if watch is not None:
                watch(self.state)
        return await self.result()

    async def result(self) -> Any:
        """The result of a job that is done; else an error that says why there is none."""
        self.state.check()
        return await self._client._send(
            exchange.get_ask(f"/v1/jobs/{self.id}/result", exchange.RESULTS[self.state.kind])
        )

    async def download(self, form: str) -> bytes:
        """The result as it is kept: json, tsv, segments, pairs or html, as far as the kind of job has it."""
        self.state.check()
        return await self._client._send(exchange.get_ask(f"/v1/jobs/{self.id}/result?format={form}", bytes))

    async def cancel(self) -> JobState:
        """Cancel it; one that is running stops a moment later."""
        self.state = await self._client._send(exchange.cancel_ask(self.id))
        return self.state

    async def remove(self) -> None:
        """Remove it and its result from the service."""
        await self._client._send(exchange.remove_ask(self.id))
