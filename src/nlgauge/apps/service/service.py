"""A running service: its parts, how they start and stop, and how concurrent requests share batches.

Small requests that arrive together are prepared one by one, their texts encoded together, and then compared one by
one. A batch of the encoder holds texts of one length and no padding, so a text's vectors are the same bits in any
batch: a request gets the bytes that it would get alone.

Larger work (jobs) runs in threads of its own and hands over its batches one at a time, between those of the small
requests. So neither waits for the other to end.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.apps.operations import operations
from nlgauge.apps.service.calls import Caller, ScoreCall, collected_warnings, request_model
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.jobs import JobRunner, JobStore
from nlgauge.apps.service.policy import Policy, estimated_seconds
from nlgauge.apps.service.settings import Monitor, Settings, log
from nlgauge.core.compare import compare, planned_encodings
from nlgauge.core.pipeline import finish
from nlgauge.core.prepare import Prepared
from nlgauge.core.score import Score
from nlgauge.encoders.base import Encoder, encode_texts, portions
from nlgauge.encoders.run_context import current_run, run_context
from nlgauge.errors import NlgaugeError
from nlgauge.text.tokenizer import Tokens

Vectors: TypeAlias = list[NDArray[np.float32]]

#: Models that stay loaded. A request for another one makes room for it.
_MOST_MODELS = 4

#: Small requests that are computed together at most.
_MOST_TOGETHER = 64


class SlowError(Exception):
    """A small request is none: its pairs take longer than others should wait."""


def deadline(seconds: float, error: Exception, clock: Callable[[], float] = time.monotonic) -> Callable[[], None]:
    """Raises the error when it is called after that time."""
    until = clock() + seconds

    def look() -> None:
        if clock() > until:
            raise error

    return look


@dataclass(eq=False)
class _Waiting:
    """A small request on its way."""

    call: ScoreCall
    future: Future[list[Score]] = field(default_factory=Future)


@dataclass(eq=False)
class _Batch:
    """A batch of larger work on its way."""

    encoder: Encoder
    ids: NDArray[np.int64]
    layers: tuple[int, ...]
    future: Future[Vectors] = field(default_factory=Future)


class InferenceThread:
    """Owns the models of a service and computes with them; other threads ask it to."""

    def __init__(
        self,
        *,
        wait: float,
        waiting: int,
        batch_tokens: int,
        on_batch: Callable[[int], None],
        longest: float = math.inf,
    ) -> None:
        self._wait = wait
        self._longest = longest
        self._most_waiting = waiting
        self._batch_tokens = batch_tokens
        self._on_batch = on_batch
        self._requests: deque[_Waiting] = deque()
        self._batches: deque[_Batch] = deque()
        self._something = threading.Condition()
        self._stopping = False
        self._last_together = 1
        self._models: OrderedDict[Hashable, Encoder] = OrderedDict()
        self._loading = threading.RLock()
        self._thread = threading.Thread(target=self._run, name="nlgauge-inference", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float | None = None) -> None:
        """Finish what waits, within the time if there is one, then end."""
        with self._something:
            self._stopping = True
            self._something.notify_all()
        self._thread.join(seconds)

    @property
    def alive(self) -> bool:
        """Whether it computes."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """Small requests that wait."""
        return len(self._requests)

    def submit(self, call: ScoreCall) -> Future[list[Score]]:
        """Score a small request in the company of others."""
        with self._something:
            if self._stopping:
                raise ProblemError(503, "the service is about to stop", kind="stopping", retry_after=5)
            if len(self._requests) >= self._most_waiting:
                raise ProblemError(429, f"{len(self._requests)} requests wait already", kind="busy", retry_after=1)
            waiting = _Waiting(call)
            self._requests.append(waiting)
            self._something.notify()
        return waiting.future

    def encoder(self, key: Hashable, load: Callable[[], Encoder]) -> Encoder:
        """The model, loaded once; the one that was not used for longest makes room for another."""
        with self._loading:
            if key not in self._models:
                self._models[key] = load()
            self._models.move_to_end(key)
            while len(self._models) > _MOST_MODELS:
                self._models.popitem(last=False)
            return self._models[key]

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> Vectors:
        """A batch of larger work, run when its turn comes."""
        if threading.current_thread() is self._thread:
            return encoder.encode(ids, layers)
        current_run().before_batch(ids.size)
        batch = _Batch(encoder, ids, layers)
        with self._something:
            if self._stopping:
                raise ProblemError(503, "the service is about to stop", kind="stopping", retry_after=5)
            self._batches.append(batch)
            self._something.notify()
        return batch.future.result()

    def _run(self) -> None:
        while True:
            with self._something:
                while not (self._requests or self._batches or self._stopping):
                    self._something.wait()
                if self._stopping and not (self._requests or self._batches):
                    return
            chosen = self._gather() if self._requests else []
            try:
                if chosen:
                    self._on_batch(len(chosen))
                    _score_together(self, chosen, self._batch_tokens, self._longest)
            except Exception as error:  # nothing that happens to some requests may end the thread
                for waiting in chosen:
                    if not waiting.future.done():
                        waiting.future.set_exception(error)
            if self._batches:
                batch = self._batches.popleft()
                try:
                    batch.future.set_result(batch.encoder.encode(batch.ids, batch.layers))
                except Exception as error:  # whoever waits for it is told
                    batch.future.set_exception(error)
                del batch  # else its vectors stay until the next one

    def _gather(self) -> list[_Waiting]:
        """Requests to compute together. Only where others were there a moment ago is it worth to wait for more."""
        until = time.monotonic() + self._wait
        expected = min(self._last_together, _MOST_TOGETHER)
        with self._something:
            while len(self._requests) < expected and not self._stopping and not self._batches:
                rest = until - time.monotonic()
                if rest <= 0:
                    break
                self._something.wait(rest)
            chosen = [self._requests.popleft() for _ in range(min(len(self._requests), _MOST_TOGETHER))]
        self._last_together = len(chosen)
        return chosen


def _score_together(thread: InferenceThread, chosen: Sequence[_Waiting], batch_tokens: int, longest: float) -> None:
    """Prepare each, encode all, compare and finish each; what fails fails alone."""
    prepared: dict[_Waiting, Prepared] = {}
    with run_context(encoder_pool=thread):
        for waiting in chosen:
            if waiting.future.set_running_or_notify_cancel():
                try:
                    with collected_warnings(waiting.call.warnings):
                        prepared[waiting] = waiting.call.prepare()
                except Exception as error:  # whoever waits for it is told
                    waiting.future.set_exception(error)
        try:
            known = _encode_all(list(prepared.values()), batch_tokens)
        except Exception as error:  # a model that cannot run
            for waiting in prepared:
                waiting.future.set_exception(error)
            return
    with run_context(encoder_pool=_KnownVectors(thread, known)):
        for waiting, ready in prepared.items():
            try:
                if estimated_seconds(ready) > longest:  # one pair may take minutes: not in the thread that all share
                    waiting.future.set_exception(SlowError())
                    continue
                # By the time of the processor: a busy machine makes no request larger.
                check = deadline(longest, SlowError(), time.thread_time)
                with run_context(check=check), collected_warnings(waiting.call.warnings):
                    waiting.future.set_result(finish(ready, compare(ready)))
            except Exception as error:  # whoever waits for it is told
                waiting.future.set_exception(error)


_Key: TypeAlias = tuple[int, tuple[int, ...], bytes]


def _encode_all(prepared: Sequence[Prepared], batch_tokens: int) -> dict[_Key, Vectors]:
    """Vectors of all texts of all requests, each text once."""
    wanted: dict[tuple[int, tuple[int, ...]], tuple[Encoder, dict[bytes, Tokens]]] = {}
    for run in prepared:
        for encoder, layers, tokens in planned_encodings(run):
            if layers:
                _, distinct = wanted.setdefault((id(encoder), layers), (encoder, {}))
                distinct.update((_ids_key(part.tokens.ids), part.tokens) for part in portions(tokens))
    known: dict[_Key, Vectors] = {}
    for (_, layers), (encoder, distinct) in wanted.items():
        encoded = encode_texts(encoder, list(distinct.values()), layers, batch_tokens=batch_tokens)
        for key, text in zip(distinct, encoded, strict=True):
            known[id(encoder), layers, key] = [text.layers[layer] for layer in layers]
    return known


def _ids_key(ids: NDArray[np.integer]) -> bytes:
    return np.asarray(ids, dtype=np.int64).tobytes()


class _KnownVectors:
    """A host that has the vectors already."""

    def __init__(self, thread: InferenceThread, known: dict[_Key, Vectors]) -> None:
        self._thread = thread
        self._known = known

    def encoder(self, key: Hashable, load: Callable[[], Encoder]) -> Encoder:
        """That of the thread."""
        return self._thread.encoder(key, load)

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> Vectors:
        """What was encoded before; a further model of a metric is asked now."""
        rows = [self._known.get((id(encoder), layers, row.tobytes())) for row in ids]
        if any(row is None for row in rows):
            return encoder.encode(ids, layers)
        return [np.stack([row[place] for row in rows if row is not None]) for place in range(len(layers))]


Answer = TypeVar("Answer")

#: A request is small, and shares batches with others, up to so many texts times metrics, and characters.
_SMALL_TEXTS = 64
_SMALL_CHARACTERS = 12_000

#: Seconds of computing for which the pairs of a small request may keep the others waiting.
_SMALL_SECONDS = 1.0

#: A request is refused before it starts where the estimate is so many times what is allowed. An estimate may be wrong
#: by such a factor; what takes too long after all is ended when its time is up.
_ESTIMATE_MARGIN = 2.0

#: Larger requests that are answered at once run in so many threads.
_LARGER = 2


class Service:
    """What the endpoints work with."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.monitor = Monitor()
        self.policy = Policy(settings.models)
        self.caller = Caller(settings, self.policy)
        self.stopping = threading.Event()
        self.ready = False
        self.streams = 0
        self._larger_waiting = 0
        self._slots = asyncio.Semaphore(_LARGER)

    def start(self) -> None:
        """Open the store, start the threads, load the models."""
        settings = self.settings
        self.store = JobStore(settings.folder, instance=settings.instance)
        self.inference = InferenceThread(
            wait=settings.batch_wait,
            waiting=settings.limits.waiting,
            batch_tokens=settings.batch_tokens,
            longest=_SMALL_SECONDS,
            on_batch=self.monitor.together.observe,
        )
        self.inference.start()
        self.jobs = JobRunner(self.store, self.inference, self.caller, self.monitor, settings.limits)
        for model in settings.preload:
            self._preload(model)
        self.jobs.start()
        self.ready = True

    def stop(self) -> None:
        """Take nothing new; let what is under way end, or mark it as interrupted; then let go of everything."""
        self.ready = False
        self.stopping.set()
        self.jobs.stop(self.settings.stop_seconds / 2)
        self.inference.stop(self.settings.stop_seconds / 2)
        self.store.close()

    async def score(self, call: ScoreCall, *, texts: int, characters: int) -> list[Score]:
        """Score a request, a small one together with others."""
        if texts * len(call.recipes) <= _SMALL_TEXTS and characters <= _SMALL_CHARACTERS:
            before = list(call.warnings)
            try:
                scores = await asyncio.wrap_future(self.inference.submit(call))
            except SlowError:
                call.warnings[:] = before
                scores = await self.in_thread(lambda: self.score_here(call))
        else:
            scores = await self.in_thread(lambda: self.score_here(call))
        self.monitor.segments.inc(len(call.corpus) * len(call.corpus.systems))
        return scores

    async def in_thread(self, work: Callable[[], Answer]) -> Answer:
        """Run larger work in a thread of its own; what it encodes takes turns with the small requests."""
        if self.stopping.is_set():
            raise ProblemError(503, "the service is about to stop", kind="stopping", retry_after=5)
        if self._larger_waiting >= self.settings.limits.waiting:
            raise ProblemError(429, f"{self._larger_waiting} requests wait already", kind="busy", retry_after=5)
        self._larger_waiting += 1
        try:
            async with self._slots:
                future: Future[Answer] = Future()
                # Not of a pool, whose threads Python waits for at its end, however long a text keeps them.
                threading.Thread(target=self._fulfil, args=[future, work], daemon=True).start()
                return await asyncio.wrap_future(future)
        finally:
            self._larger_waiting -= 1

    def _fulfil(self, future: Future[Answer], work: Callable[[], Answer]) -> None:
        seconds = self.settings.limits.seconds
        more = "post it to /v1/jobs, where work may take longer, or send shorter texts"
        too_slow = ProblemError(413, f"not done after {seconds:g} seconds; {more}", kind="too-slow")
        if future.set_running_or_notify_cancel():
            try:
                with run_context(check=deadline(seconds, too_slow), encoder_pool=self.inference):
                    future.set_result(work())
            except BaseException as error:  # whoever waits for it is told
                future.set_exception(error)

    def score_here(self, call: ScoreCall) -> list[Score]:
        """Score a request in the thread at hand, that of larger work; not where it would take far too long."""
        with collected_warnings(call.warnings):
            prepared = call.prepare()
            seconds, most = estimated_seconds(prepared), self.settings.limits.seconds
            if seconds > _ESTIMATE_MARGIN * most:
                msg = (
                    f"this request is estimated to take about {seconds:,.0f} seconds, and at most {most:g} are "
                    "allowed; post it to /v1/jobs/score or /v1/jobs/compare, where work may take longer, or send "
                    "fewer or shorter texts"
                )
                raise ProblemError(413, msg, kind="too-slow")
            return finish(prepared, compare(prepared))

    def _preload(self, model: str) -> None:
        """Load a model and score with it, so that the first request does not wait for what is done once."""
        texts = {"hyps": ["a"], "refs": ["a"], "options": {"model": model}}
        pair = request_model(operations()["score"]).model_validate(texts)
        try:
            with run_context(encoder_pool=self.inference):
                self.score_here(self.caller.score(pair, []))
        except (NlgaugeError, OSError) as error:
            log.warning("model not loaded", extra={"fields": {"model": model, "reason": str(error)}})
