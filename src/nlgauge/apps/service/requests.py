"""Calls of the library as requests of a client, and jobs as a client sees them: waited for, or awaited.

Texts are checked as the library checks them, before they are sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nlgauge.apps.service import exchange
from nlgauge.apps.service.exchange import (
    RESULTS,
    Ask,
    JobState,
    as_json,
    read_explanation,
    read_matrix,
    read_ranking,
    read_scores,
)
from nlgauge.core.corpus import Corpus, References, checked_texts, make_corpus
from nlgauge.core.metric import Metric
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.scoring import AnyMetric, Metrics, chosen_metrics, one_metric
from nlgauge.errors import RecipeError, ServiceError

if TYPE_CHECKING:
    from nlgauge.apps.service.async_client import AsyncClient
    from nlgauge.apps.service.client import Client
    from nlgauge.core.matrix import ScoreMatrix
    from nlgauge.core.rank import Ranking
    from nlgauge.studies.explain.explanation import Explanation


Answer = TypeVar("Answer")

#: Up to so many texts, characters and pairs a request is sent without asking what the service takes.
_SURELY_TEXTS = 200
_SURELY_CHARACTERS = 200_000
_SURELY_PAIRS = 2_000

#: Fields of requests that the library takes as options: of a run, ...
_OF_RUN = ("long", "empty")

#: ... of a study, ...
_OF_STUDY = ("preset", "lang", "alpha", "resamples", "seed")

#: ... of an explanation, and of a summary of many.
_OF_WORDS = ("words", "pieces", "side", "component", "samples", "seed")
_OF_EXPLANATION = (*_OF_WORDS, "shapley", "leave_one_out", "beside")
_OF_SUMMARY = (*_OF_WORDS, "annotator", "method", "level", "resamples")


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """A request that may be answered at once, or become a job."""

    kind: str
    """Of the job; what is answered at once has the same name."""
    body: Mapping[str, Any]
    read: Callable[[bytes], Answer]
    texts: Sequence[str]
    pairs: int = 0
    at_once: bool = True
    """Whether there is an answer without a job."""

    def ask(self) -> Ask[Answer]:
        """The request for an answer at once."""
        return Ask("POST", f"/v1/{self.kind}", self.read, as_json(self.body))

    def fits(self, limits: Mapping[str, float] | None) -> bool | None:
        """Whether it is small enough for that; None: only the service's limits can tell."""
        if not self.at_once:
            return False
        few = len(self.texts) <= _SURELY_TEXTS and self.pairs <= _SURELY_PAIRS
        if few and sum(map(len, self.texts)) <= _SURELY_CHARACTERS:
            return True
        if limits is None:
            return None
        if len(self.texts) > limits["texts"] or self.pairs > limits.get("pairs", self.pairs):
            return False
        return len(as_json(self.body)) <= limits["body_bytes"]


def score_call(
    systems: Mapping[str, Iterable[str]], refs: References | None, metric: Metrics | None, options: Mapping[str, Any]
) -> Call[ScoreTable]:
    """What `nlgauge.score_systems` takes."""
    body, texts = _score_body(systems, refs, metric, options)
    return Call("score", body, read_scores, texts)


def compare_call(
    systems: Mapping[str, Iterable[str]],
    refs: References | None,
    metric: Metrics | None,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Call[Any]:
    """The same, and how systems are to be compared."""
    body, texts = _score_body(systems, refs, metric, options)
    return Call("compare", body | dict(settings), RESULTS["compare"], texts, at_once=False)


def sensitivity_call(
    systems: Mapping[str, Iterable[str]], refs: References | None, metric: Metrics | None, options: Mapping[str, Any]
) -> Call[Any]:
    """The same, and what is to be varied."""
    beside, others = _split(options, _OF_STUDY)
    body, texts = _score_body(systems, refs, metric, others)
    return Call("sensitivity", body | beside, RESULTS["sensitivity"], texts, at_once=False)


def matrix_call(
    a: Iterable[str], b: Iterable[str] | None, metric: AnyMetric | None, options: Mapping[str, Any]
) -> Call[ScoreMatrix]:
    """What `nlgauge.matrix` takes."""
    body = _recipe_body(metric, options, _OF_RUN, function="matrix")
    rows = checked_texts(a, "a")
    columns = None if b is None else checked_texts(b, "b")
    body |= {"a": rows} | ({} if columns is None else {"b": columns})
    pairs = len(rows) * len(rows if columns is None else columns)
    return Call("matrix", body, read_matrix, [*rows, *(columns or ())], pairs)


def rank_call(
    candidates: Iterable[Iterable[str]],
    refs: References | None,
    metric: AnyMetric | None,
    sources: Iterable[str] | None,
    options: Mapping[str, Any],
) -> Call[Ranking]:
    """What `nlgauge.rank` takes."""
    from nlgauge.core.rank import checked_candidates  # scoring has no need of it

    body = _recipe_body(metric, options, _OF_RUN, function="rank")
    groups = checked_candidates(candidates)
    body["candidates"] = [list(group) for group in groups]
    texts = [text for group in groups for text in group]
    pairs = sum(len(group) * (len(group) - 1) for group in groups)
    if refs is not None or sources is not None:
        corpus = make_corpus({"": [group[0] for group in groups]}, refs, sources=sources)
        body |= _references(corpus)
        texts += _texts(corpus, outputs=False)
        pairs = sum(len(group) * len(of) for group, of in zip(groups, corpus.references, strict=True))
    return Call("rank", body, read_ranking, texts, pairs)


def explain_ask(
    hyp: str,
    ref: str | Sequence[str] | None,
    metric: AnyMetric | None,
    source: str | None,
    options: Mapping[str, Any],
) -> Ask[Explanation]:
    """What `nlgauge.explain_pair` takes; it is never a job."""
    body = _recipe_body(metric, options, (*_OF_RUN, *_OF_EXPLANATION), function="explain_pair")
    body["hyp"] = hyp
    body |= {} if ref is None else {"ref": ref if isinstance(ref, str) else list(ref)}
    body |= {} if source is None else {"source": source}
    return Ask("POST", "/v1/explain", read_explanation, as_json(body))


def explain_pairs_call(
    hyps: Iterable[str],
    refs: References | None,
    metric: AnyMetric | None,
    sources: Iterable[str] | None,
    options: Mapping[str, Any],
) -> Call[Any]:
    """What `nlgauge.explain_pairs` takes."""
    body = _recipe_body(metric, options, (*_OF_RUN, *_OF_EXPLANATION), function="explain_pairs")
    return _segments_call("explain-pairs", body, make_corpus({"": hyps}, refs, sources=sources))


def explain_corpus_call(
    hyps: Iterable[str],
    refs: References | None,
    metric: AnyMetric | None,
    sources: Iterable[str] | None,
    options: Mapping[str, Any],
) -> Call[Any]:
    """What `nlgauge.explain_corpus` takes."""
    # Said by the method, there as here.
    options = {name: value for name, value in options.items() if name not in ("shapley", "leave_one_out")}
    body = _recipe_body(metric, options, (*_OF_RUN, *_OF_SUMMARY), function="explain_corpus")
    return _segments_call("explain-corpus", body, make_corpus({"": hyps}, refs, sources=sources))


def discourse_call(
    systems: Mapping[str, Iterable[str]] | Iterable[str],
    refs: References | None,
    ref_streams: Iterable[Iterable[str]] | None,
    options: Mapping[str, Any],
) -> Call[Any]:
    """What `nlgauge.discourse` takes, but for a file of word vectors."""
    if options.get("vectors") is not None:
        msg = (
            "vectors is a file of this machine, and a service reads no files; leave it out, or call "
            "nlgauge.discourse(), which computes features of entities here"
        )
        raise RecipeError(msg)
    named = systems if isinstance(systems, Mapping) else {"": systems}
    corpus = make_corpus(named, refs, ref_streams=ref_streams, alone=True)
    body = {
        "systems": {name: list(texts) for name, texts in corpus.systems.items()},
        **_references(corpus),
        **{name: value for name, value in options.items() if value is not None},
    }
    return Call("discourse", body, RESULTS["discourse"], _texts(corpus), at_once=False)


def _segments_call(kind: str, body: dict[str, Any], corpus: Corpus) -> Call[Any]:
    body = body | {"hyps": list(corpus.systems[""]), **_references(corpus)}
    return Call(kind, body, RESULTS[kind], _texts(corpus), at_once=False)


def _score_body(
    systems: Mapping[str, Iterable[str]], refs: References | None, metric: Metrics | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    given = {name: value for name, value in options.items() if name != "progress"}
    texts = {name: given.pop(name, None) for name in ("ref_streams", "sources")}
    corpus = make_corpus(systems, refs, **texts)
    body, others = _split(given, (*_OF_RUN, "alignments"))
    body["metric"] = [_recipe_text(one) for one in chosen_metrics(metric)]
    if list(corpus.systems) == [""]:
        body["hyps"] = list(corpus.systems[""])
    else:
        body["systems"] = {name: list(outputs) for name, outputs in corpus.systems.items()}
    body |= _references(corpus) | ({"options": others} if others else {})
    return body, _texts(corpus)


def _recipe_body(
    metric: AnyMetric | None, options: Mapping[str, Any], fields: Sequence[str], *, function: str
) -> dict[str, Any]:
    """The part of a request that says what with: a metric, fields of the request, options of the metric."""
    (chosen,) = one_metric(metric, function=function)
    body, others = _split({name: value for name, value in options.items() if name != "progress"}, fields)
    return body | {"metric": _recipe_text(chosen)} | ({"options": others} if others else {})


def _split(options: Mapping[str, Any], fields: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options that are fields of a request, and the others."""
    own = {name: value for name, value in options.items() if name in fields}
    return own, {name: value for name, value in options.items() if name not in fields}


def _references(corpus: Corpus) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if all(corpus.references):
        found["refs"] = [list(group) for group in corpus.references]
    if corpus.sources is not None:
        found["sources"] = list(corpus.sources)
    return found


def _texts(corpus: Corpus, *, outputs: bool = True) -> list[str]:
    found = [text for texts in corpus.systems.values() for text in texts] if outputs else []
    return [*found, *(text for group in corpus.references for text in group), *(corpus.sources or ())]


def _recipe_text(metric: AnyMetric) -> str:
    """A recipe as text: `bertscore:layer=4` for `BERTScore(layer=4)`."""
    if not isinstance(metric, Metric):
        return str(metric)
    known = metric.options()
    given = ",".join(f"{name}={known[name].kind.show(value)}" for name, value in metric.given.items())
    return f"{metric.name}:{given}" if given else metric.name


#: Seconds between two looks at a job: at first, and at most.
FIRST_LOOK, LAST_LOOK = 0.1, 2.0


class _Known:
    """What is known of a job without asking."""

    def __init__(self, state: JobState) -> None:
        self.state = state
        """As the service last told of it."""

    @property
    def id(self) -> str:
        """Its name at the service."""
        return self.state.id

    def _state_ask(self) -> Ask[JobState]:
        return exchange.get_ask(f"/v1/jobs/{self.id}", JobState.read)

    def _result_ask(self) -> Ask[Any]:
        self.state.check()
        return exchange.get_ask(f"/v1/jobs/{self.id}/result", RESULTS[self.state.kind])

    def _download_ask(self, form: str) -> Ask[bytes]:
        self.state.check()
        return exchange.get_ask(f"/v1/jobs/{self.id}/result?format={form}", bytes)

    def _check_time(self, until: float | None, timeout: float | None) -> None:
        if until is not None and time.monotonic() > until:
            msg = f"job {self.id} is {self.state.state} after {timeout:g} seconds; it goes on"
            raise ServiceError(msg)


class Job(_Known):
    """A job of a service."""

    def __init__(self, client: Client, state: JobState) -> None:
        super().__init__(state)
        self._client = client

    def refresh(self) -> JobState:
        """Ask how far it is."""
        self.state = self._client._send(self._state_ask())
        return self.state

    def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Any:
        """Wait for its end and return its result, as the library has it. `watch` is shown each state on the way."""
        until = None if timeout is None else time.monotonic() + timeout
        look = FIRST_LOOK
        while not self.state.ended:
            self._check_time(until, timeout)
            time.sleep(look)
            look = min(LAST_LOOK, look * 1.5)
            self.refresh()
            if watch is not None:
                watch(self.state)
        return self.result()

    def result(self) -> Any:
        """The result of a job that is done; else an error that says why there is none."""
        return self._client._send(self._result_ask())

    def download(self, form: str) -> bytes:
        """The result as it is kept: json, tsv, segments, pairs or html, as far as the kind of job has it."""
        return self._client._send(self._download_ask(form))

    def cancel(self) -> JobState:
        """Cancel it; one that is running stops a moment later."""
        self.state = self._client._send(exchange.cancel_ask(self.id))
        return self.state

    def remove(self) -> None:
        """Remove it and its result from the service."""
        self._client._send(exchange.remove_ask(self.id))


class AsyncJob(_Known):
    """The same, awaited."""

    def __init__(self, client: AsyncClient, state: JobState) -> None:
        super().__init__(state)
        self._client = client

    async def refresh(self) -> JobState:
        """Ask how far it is."""
        self.state = await self._client._send(self._state_ask())
        return self.state

    async def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Any:
        """Wait for its end and return its result, as the library has it. `watch` is shown each state on the way."""
        until = None if timeout is None else time.monotonic() + timeout
        look = FIRST_LOOK
        while not self.state.ended:
            self._check_time(until, timeout)
            await asyncio.sleep(look)
            look = min(LAST_LOOK, look * 1.5)
            await self.refresh()
            if watch is not None:
                watch(self.state)
        return await self.result()

    async def result(self) -> Any:
        """The result of a job that is done; else an error that says why there is none."""
        return await self._client._send(self._result_ask())

    async def download(self, form: str) -> bytes:
        """The result as it is kept: json, tsv, segments, pairs or html, as far as the kind of job has it."""
        return await self._client._send(self._download_ask(form))

    async def cancel(self) -> JobState:
        """Cancel it; one that is running stops a moment later."""
        self.state = await self._client._send(exchange.cancel_ask(self.id))
        return self.state

    async def remove(self) -> None:
        """Remove it and its result from the service."""
        await self._client._send(exchange.remove_ask(self.id))
