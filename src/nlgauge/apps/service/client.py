"""A service from Python: the calls of the library, computed elsewhere.

client = nlgauge.Client("http://127.0.0.1:8765")
client.score(hyps, refs, metric="bertscore")          -> Score, as nlgauge.score
client.score_systems({"a": ..., "b": ...}, refs)      -> ScoreTable
client.matrix(texts), client.rank(candidates), ...    -> ScoreMatrix, Ranking, ...
job = client.submit_score(...)                        -> a job to watch
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from nlgauge.apps.service import exchange
from nlgauge.apps.service import requests as calls
from nlgauge.apps.service.exchange import TOO_LARGE, Ask, JobState, Retries
from nlgauge.apps.service.requests import Call, Job
from nlgauge.core.corpus import References
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.scoring import AnyMetric, Metrics, one_metric
from nlgauge.errors import ServiceError
from nlgauge.io.packages import require

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from nlgauge.core.keywords import CompareKeywords, ExplainKeywords, PairKeywords, ScoreKeywords
    from nlgauge.core.matrix import ScoreMatrix
    from nlgauge.core.rank import Ranking
    from nlgauge.studies.compare.comparison import SystemComparison
    from nlgauge.studies.compare.settings import CompareSettings
    from nlgauge.studies.compare.sources import Scores
    from nlgauge.studies.discourse import Discourse
    from nlgauge.studies.explain.corpus import CorpusSummary
    from nlgauge.studies.explain.explanation import Explanation, Explanations
    from nlgauge.studies.sensitivity.results import Sensitivity
    from nlgauge.studies.stress.suite import StressTest

Answer = TypeVar("Answer")


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
        timeout: float = 90.0,
        retries: int = 5,
        transport: Any = None,
    ) -> None:
        self._package = require("httpx2", "service")
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
        metric: AnyMetric | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        **options: Unpack[ScoreKeywords],
    ) -> Score:
        """Score the outputs of one system: `nlgauge.score`."""
        chosen = one_metric(metric, function="score")
        given = {"ref_streams": ref_streams, "sources": sources, **options}
        return self._run(calls.score_call({"": hyps}, refs, chosen, given))[0]

    def score_systems(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        metric: Metrics | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        **options: Unpack[ScoreKeywords],
    ) -> ScoreTable:
        """Score several systems with one or more metrics: `nlgauge.score_systems`."""
        given = {"ref_streams": ref_streams, "sources": sources, **options}
        return self._run(calls.score_call(systems, refs, metric, given))

    def compare_systems(
        self, scores: Scores, *, settings: CompareSettings | None = None, **options: Unpack[CompareKeywords]
    ) -> SystemComparison:
        """Which system is better: `nlgauge.compare_systems`, which takes scores, and so computes here."""
        from nlgauge.studies.compare.systems import compare_systems  # imported where it is needed: scoring does not

        return compare_systems(scores, settings=settings, **options)

    def matrix(
        self,
        a: Iterable[str],
        b: Iterable[str] | None = None,
        metric: AnyMetric | None = None,
        **options: Unpack[PairKeywords],
    ) -> ScoreMatrix:
        """Score every text of `a` against every text of `b`: `nlgauge.matrix`."""
        return self._run(calls.matrix_call(a, b, metric, options))

    def rank(
        self,
        candidates: Iterable[Iterable[str]],
        refs: References | None = None,
        metric: AnyMetric | None = None,
        *,
        sources: Iterable[str] | None = None,
        **options: Unpack[PairKeywords],
    ) -> Ranking:
        """Order the candidates of each segment, the best first: `nlgauge.rank`."""
        return self._run(calls.rank_call(candidates, refs, metric, sources, options))

    def explain_pair(
        self,
        hyp: str,
        ref: str | Sequence[str] | None = None,
        metric: AnyMetric | None = None,
        *,
        source: str | None = None,
        **options: Unpack[ExplainKeywords],
    ) -> Explanation:
        """Explain the score of one hypothesis: `nlgauge.explain_pair`."""
        return self._send(calls.explain_ask(hyp, ref, metric, source, options))

    def explain_pairs(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        metric: AnyMetric | None = None,
        *,
        sources: Iterable[str] | None = None,
        **options: Unpack[ExplainKeywords],
    ) -> Explanations:
        """Explain many pairs, with the idf of all of them: `nlgauge.explain_pairs`."""
        found: Explanations = self._run(calls.explain_pairs_call(hyps, refs, metric, sources, options))
        return found

    def explain_corpus(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        metric: AnyMetric | None = None,
        *,
        sources: Iterable[str] | None = None,
        **options: Any,
    ) -> CorpusSummary:
        """Which words carry the score: `nlgauge.explain_corpus`."""
        found: CorpusSummary = self._run(calls.explain_corpus_call(hyps, refs, metric, sources, options))
        return found

    def discourse(
        self,
        systems: Mapping[str, Iterable[str]] | Iterable[str],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        **options: Any,
    ) -> Discourse:
        """What documents are like beside their references: `nlgauge.discourse`, but for `vectors`, a file."""
        found: Discourse = self._run(calls.discourse_call(systems, refs, ref_streams, options))
        return found

    def stress(
        self,
        texts: Sequence[str],
        refs: References | None = None,
        metric: Metrics | None = None,
        **options: Any,
    ) -> StressTest:
        """Can metrics be fooled: `nlgauge.studies.stress.stress`, with its options; texts are perturbed here."""
        from nlgauge.studies.stress.suite import stress

        return stress(texts, refs, metric, scorer=self.score_systems, **options)

    def sensitivity(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        metric: Metrics = ("moverscore", "bertscore:idf=refs"),
        **options: Any,
    ) -> Sensitivity:
        """How far preprocessing moves scores: `preset=`, `lang=`, `alpha=`, `resamples=`, `seed=`."""
        found: Sensitivity = self.submit_sensitivity(systems, refs, metric=metric, **options).wait()
        return found

    def submit_score(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        metric: Metrics | None = None,
        **options: Any,
    ) -> Job:
        """`score_systems` as a job, to be watched or cancelled."""
        return self._submit(calls.score_call(systems, refs, metric, options))

    def submit_sensitivity(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        metric: Metrics = ("moverscore", "bertscore:idf=refs"),
        **options: Any,
    ) -> Job:
        """`sensitivity` as a job."""
        return self._submit(calls.sensitivity_call(systems, refs, metric, options))

    def submit_compare(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        metric: Metrics | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Job:
        """Score and compare systems at the service, as a job, for its report; `settings` of the comparison."""
        return self._submit(calls.compare_call(systems, refs, metric, options, settings or {}))

    def submit_matrix(
        self,
        a: Iterable[str],
        b: Iterable[str] | None = None,
        metric: AnyMetric | None = None,
        **options: Unpack[PairKeywords],
    ) -> Job:
        """`matrix` as a job."""
        return self._submit(calls.matrix_call(a, b, metric, options))

    def submit_rank(
        self,
        candidates: Iterable[Iterable[str]],
        refs: References | None = None,
        metric: AnyMetric | None = None,
        *,
        sources: Iterable[str] | None = None,
        **options: Unpack[PairKeywords],
    ) -> Job:
        """`rank` as a job."""
        return self._submit(calls.rank_call(candidates, refs, metric, sources, options))

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

    def _run(self, call: Call[Answer]) -> Answer:
        """At once; what is too much or takes too long for that becomes a job, which is waited for."""
        fits = call.fits(self._limits)
        if fits is None:
            self._limits = self.describe()["limits"]
            fits = call.fits(self._limits)
        if fits:
            try:
                return self._send(call.ask())
            except ServiceError as error:
                if error.status != TOO_LARGE:
                    raise
        found: Answer = self._submit(call).wait()
        return found

    def _submit(self, call: Call[Any]) -> Job:
        return Job(self, self._send(exchange.submit_ask(call.kind, call.body)))

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
