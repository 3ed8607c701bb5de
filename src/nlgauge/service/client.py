"""A service from Python: the calls of the library, computed elsewhere.

client = nlgauge.Client("http://127.0.0.1:8765")
client.score(hyps, refs, metric="bertscore")          -> Score, as nlgauge.score
client.score_systems({"a": ..., "b": ...}, refs)      -> list of Score
job = client.submit_score(...)                        -> a job to watch
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from nlgauge.corpus.texts import References
from nlgauge.errors import MissingExtraError, ServiceError
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.signature import Signature
from nlgauge.scores import Score
from nlgauge.scoring import one_metric
from nlgauge.service import exchange
from nlgauge.service.exchange import Ask, JobState, Retries

if TYPE_CHECKING:
    from types import ModuleType

    from typing_extensions import Self

    from nlgauge.explain.explanation import Explanation
    from nlgauge.sensitivity.results import Sensitivity

__all__ = ["FIRST_LOOK", "LAST_LOOK", "Client", "Job", "http_package"]

Answer = TypeVar("Answer")

#: Seconds between two looks at a job: at first, and at most.
FIRST_LOOK, LAST_LOOK = 0.1, 2.0


def http_package() -> ModuleType:
    """The package that speaks HTTP."""
    try:
        import httpx2
    except ImportError as error:
        msg = "nlgauge.Client needs httpx2: pip install 'nlgauge[client]'"
        raise MissingExtraError(msg) from error
    return httpx2


class Client:
    """A service that is asked and waited for. It is closed by `close()`, or used in a `with`.

    Args:
        url: Address of the service.
        api_key: Where the service wants one.
        timeout: Seconds for an answer; a job may take longer, because it is asked about again and again.
        retries: How often to ask again where the service is busy (429, 503) or cannot be reached.
        transport: What sends requests, for tests; as httpx2 has it.
    """

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
        self._http = self._package.Client(
            base_url=url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )
        self._url = url
        self._retries = Retries(retries)
        self._limits: Mapping[str, float] | None = None

    def score(
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
        return self.score_systems({"": hyps}, refs, metrics=chosen, **given)[0]

    def score_systems(
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
            self._limits = self.describe()["limits"]
            large = exchange.needs_a_job(body, self._limits)
        if not large:
            return self._send(exchange.score_ask(body))
        found: list[Score] = self._submit("score", body).wait()
        return found

    def submit_score(
        self, systems: Mapping[str, Iterable[str]], refs: References | None = None, **options: Any
    ) -> Job:
        """The same as a job, to be watched or cancelled; takes what `score_systems` takes."""
        body = exchange.score_body(systems, refs, options.pop("metrics", None), options)
        return self._submit("score", body)

    def submit_sensitivity(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        *,
        metrics: Any = ("moverscore", "bertscore:idf=refs"),
        **options: Any,
    ) -> Job:
        """How far preprocessing moves scores, as a job: `preset=`, `lang=`, `alpha=`, `resamples=`, `seed=`."""
        return self._submit("sensitivity", exchange.sensitivity_body(systems, refs, metrics, options))

    def sensitivity(
        self, systems: Mapping[str, Iterable[str]], refs: References | None = None, **options: Any
    ) -> Sensitivity:
        """The same, waited for."""
        found: Sensitivity = self.submit_sensitivity(systems, refs, **options).wait()
        return found

    def submit_compare(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Job:
        """Compare systems at the service, as a job, for its report; `settings` are those of a comparison.

        For `nlgauge.SystemComparison` hand the scores of `score_systems` to `nlgauge.compare_systems`.
        """
        body = exchange.score_body(systems, refs, options.pop("metrics", None), options)
        return self._submit("compare", body | dict(settings or {}))

    def explain_pair(
        self,
        hyp: str,
        ref: str | Sequence[str] | None = None,
        *,
        metric: str | Metric | Signature = "bertscore",
        source: str | None = None,
        **options: Any,
    ) -> Explanation:
        """Explain the score of one hypothesis: `nlgauge.explain_pair`, computed by the service."""
        return self._send(exchange.explain_ask(hyp, ref, metric=metric, source=source, options=options))

    def job(self, name: str) -> Job:
        """A job that was submitted before."""
        return Job(self, self._send(exchange.get_ask(f"/v1/jobs/{name}", JobState.read)))

    def describe(self) -> dict[str, Any]:
        """Version, engine and limits of the service."""
        return self._send(exchange.get_ask("/v1", exchange.read_json))

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of the service, with their options."""
        return self._send(exchange.get_ask("/v1/metrics", exchange.read_json))

    def models(self) -> list[dict[str, Any]]:
        """The models that are known, and which of them the service offers."""
        return self._send(exchange.get_ask("/v1/models", exchange.read_json))

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, kind: str, body: Mapping[str, Any]) -> Job:
        return Job(self, self._send(exchange.submit_ask(kind, body)))

    def _send(self, ask: Ask[Answer]) -> Answer:
        attempt = 0
        while True:
            after = None
            try:
                got = self._http.request(ask.method, ask.path, content=ask.body, headers=ask.headers)
            except self._package.TransportError as error:
                may = ask.again or isinstance(error, self._package.ConnectError)
                if attempt >= self._retries.times or not may:
                    raise exchange.unreachable(self._url, error) from error
            else:
                if got.status_code not in exchange.BUSY or attempt >= self._retries.times:
                    return exchange.answer(ask, got.status_code, got.content)
                after = got.headers.get("retry-after")
            time.sleep(self._retries.delay(attempt, after))
            attempt += 1


class Job:
    """A job of a service."""

    def __init__(self, client: Client, state: JobState) -> None:
        self._client = client
        self.state = state
        """As the service last told of it."""

    @property
    def id(self) -> str:
        """Its name at the service."""
        return self.state.id

    def refresh(self) -> JobState:
        """Ask how far it is."""
        self.state = self._client._send(exchange.get_ask(f"/v1/jobs/{self.id}", JobState.read))
        return self.state

    def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Any:
        """Wait for its end and return its result: scores, or a study. `watch` is shown each state on the way."""
        until = None if timeout is None else time.monotonic() + timeout
        look = FIRST_LOOK
        while not self.state.ended:
            if until is not None and time.monotonic() > until:
                msg = f"job {self.id} is {self.state.state} after {timeout:g} seconds; it goes on"
                raise ServiceError(msg)
            time.sleep(look)
            look = min(LAST_LOOK, look * 1.5)
            self.refresh()
            if watch is not None:
                watch(self.state)
        return self.result()

    def result(self) -> Any:
        """The result of a job that is done; else an error that says why there is none."""
        self.state.check()
        return self._client._send(exchange.get_ask(f"/v1/jobs/{self.id}/result", exchange.RESULTS[self.state.kind]))

    def download(self, form: str) -> bytes:
        """The result as it is kept: json, tsv, segments, pairs or html, as far as the kind of job has it."""
        self.state.check()
        return self._client._send(exchange.get_ask(f"/v1/jobs/{self.id}/result?format={form}", bytes))

    def cancel(self) -> JobState:
        """Cancel it; one that is running stops a moment later."""
        self.state = self._client._send(exchange.cancel_ask(self.id))
        return self.state

    def remove(self) -> None:
        """Remove it and its result from the service."""
        self._client._send(exchange.remove_ask(self.id))
