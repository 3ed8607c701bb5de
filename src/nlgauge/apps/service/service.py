"""The running service: start and stop of its parts, and shared batches of concurrent requests.

Small requests that arrive together are prepared one by one, encoded together, and compared one by one. A batch of the
encoder has texts of one length and no padding, so vectors of a text are bit-identical in any batch, and a request
gets the same answer as alone.

Larger requests and jobs run in their own threads. Their batches are computed between those of small requests, so
neither waits for the other to end.
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
from nlgauge.apps.service.calls import Caller, ScoreCall, capture_warnings, request_model
from nlgauge.apps.service.jobs import JobRunner, JobStore
from nlgauge.apps.service.policy import Policy, estimated_seconds
from nlgauge.apps.service.problems import ProblemError
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

#: Models that stay loaded. The least recently used is replaced.
_MOST_MODELS = 4

#: Largest number of small requests that are computed together.
_MOST_TOGETHER = 64


class SlowError(Exception):
    """A small request takes longer than others should wait for it."""


def deadline(seconds: float, error: Exception, clock: Callable[[], float] = time.monotonic) -> Callable[[], None]:
    """A function that raises the error if it is called after that time."""
    until = clock() + seconds

    def check() -> None:
        if clock() > until:
            raise error

    return check


@dataclass(eq=False)
class _Waiting:
    """A small request that waits for its result."""

    call: ScoreCall
    future: Future[list[Score]] = field(default_factory=Future)


@dataclass(eq=False)
class _Batch:
    """A batch of a larger request or job that waits for its vectors."""

    encoder: Encoder
    ids: NDArray[np.int64]
    layers: tuple[int, ...]
    future: Future[Vectors] = field(default_factory=Future)


class InferenceThread:
    """The thread that has the models of a service and computes with them for other threads."""

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
        self._changed = threading.Condition()
        self._stopping = False
        self._last_together = 1
        self._models: OrderedDict[Hashable, Encoder] = OrderedDict()
        self._loading = threading.RLock()
        self._thread = threading.Thread(target=self._run, name="nlgauge-inference", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float | None = None) -> None:
        """Finish waiting requests, within the given time, then end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """Number of small requests that wait."""
        return len(self._requests)

    def submit(self, call: ScoreCall) -> Future[list[Score]]:
        """Score a small request together with others."""
        with self._changed:
            if self._stopping:
                raise ProblemError(503, "the service is stopping", kind="stopping", retry_after=5)
            if len(self._requests) >= self._most_waiting:
                raise ProblemError(
                    429, f"{len(self._requests)} requests are waiting already", kind="busy", retry_after=1
                )
            waiting = _Waiting(call)
            self._requests.append(waiting)
            self._changed.notify()
        return waiting.future

    def encoder(self, key: Hashable, load: Callable[[], Encoder]) -> Encoder:
        """The model, loaded once; the least recently used is dropped if there are too many."""
        with self._loading:
            if key not in self._models:
                self._models[key] = load()
            self._models.move_to_end(key)
            while len(self._models) > _MOST_MODELS:
                self._models.popitem(last=False)
            return self._models[key]

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> Vectors:
        """Encode a batch of a larger request or job when its turn comes."""
        if threading.current_thread() is self._thread:
            return encoder.encode(ids, layers)
        current_run().before_batch(ids.size)
        batch = _Batch(encoder, ids, layers)
        with self._changed:
            if self._stopping:
                raise ProblemError(503, "the service is stopping", kind="stopping", retry_after=5)
            self._batches.append(batch)
            self._changed.notify()
        return batch.future.result()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._requests or self._batches or self._stopping):
                    self._changed.wait()
                if self._stopping and not (self._requests or self._batches):
                    return
            chosen = self._gather() if self._requests else []
            try:
                if chosen:
                    self._on_batch(len(chosen))
                    _score_together(self, chosen, self._batch_tokens, self._longest)
            except Exception as error:  # an error in some requests must not end the thread
                for waiting in chosen:
                    if not waiting.future.done():
                        waiting.future.set_exception(error)
            if self._batches:
                batch = self._batches.popleft()
                try:
                    batch.future.set_result(batch.encoder.encode(batch.ids, batch.layers))
                except Exception as error:  # raised where the result is awaited
                    batch.future.set_exception(error)
                del batch  # otherwise its vectors stay in memory until the next one

    def _gather(self) -> list[_Waiting]:
        """Requests to compute together. Waiting for more is worthwhile only if there were several before."""
        until = time.monotonic() + self._wait
        expected = min(self._last_together, _MOST_TOGETHER)
        with self._changed:
            while len(self._requests) < expected and not self._stopping and not self._batches:
                remaining = until - time.monotonic()
                if remaining <= 0:
                    break
                self._changed.wait(remaining)
            chosen = [self._requests.popleft() for _ in range(min(len(self._requests), _MOST_TOGETHER))]
        self._last_together = len(chosen)
        return chosen


def _score_together(thread: InferenceThread, chosen: Sequence[_Waiting], batch_tokens: int, longest: float) -> None:
    """Prepare each, encode all, compare and finish each. An error in one does not affect the others."""
    prepared: dict[_Waiting, Prepared] = {}
    with run_context(encoder_pool=thread):
        for waiting in chosen:
            if waiting.future.set_running_or_notify_cancel():
                try:
                    with capture_warnings(waiting.call.warnings):
                        prepared[waiting] = waiting.call.prepare()
                except Exception as error:  # raised where the result is awaited
                    waiting.future.set_exception(error)
        try:
            vectors = _encode_all(list(prepared.values()), batch_tokens)
        except Exception as error:  # a model that cannot run
            for waiting in prepared:
                waiting.future.set_exception(error)
            return
    with run_context(encoder_pool=_KnownVectors(thread, vectors)):
        for waiting, ready in prepared.items():
            try:
                if estimated_seconds(ready) > longest:  # a single pair may take minutes, too long for a shared thread
                    waiting.future.set_exception(SlowError())
                    continue
                # Processor time, because a request is not larger on a busy machine.
                check = deadline(longest, SlowError(), time.thread_time)
                with run_context(check=check), capture_warnings(waiting.call.warnings):
                    waiting.future.set_result(finish(ready, compare(ready)))
            except Exception as error:  # raised where the result is awaited
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
    vectors: dict[_Key, Vectors] = {}
    for (_, layers), (encoder, distinct) in wanted.items():
        encoded = encode_texts(encoder, list(distinct.values()), layers, batch_tokens=batch_tokens)
        for key, text in zip(distinct, encoded, strict=True):
            vectors[id(encoder), layers, key] = [text.layers[layer] for layer in layers]
    return vectors


def _ids_key(ids: NDArray[np.integer]) -> bytes:
    return np.asarray(ids, dtype=np.int64).tobytes()


class _KnownVectors:
    """An encoder pool with vectors that were computed before."""

    def __init__(self, thread: InferenceThread, vectors: dict[_Key, Vectors]) -> None:
        self._thread = thread
        self._vectors = vectors

    def encoder(self, key: Hashable, load: Callable[[], Encoder]) -> Encoder:
        """The encoder of the thread."""
        return self._thread.encoder(key, load)

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> Vectors:
        """Vectors that were computed before; texts of a metric's further models are encoded now."""
        rows = [self._vectors.get((id(encoder), layers, row.tobytes())) for row in ids]
        if any(row is None for row in rows):
            return encoder.encode(ids, layers)
        return [np.stack([row[place] for row in rows if row is not None]) for place in range(len(layers))]


Answer = TypeVar("Answer")

#: Limits of a small request, which shares batches with others: texts times metrics, and characters.
_SMALL_TEXTS = 64
_SMALL_CHARACTERS = 12_000

#: Longest time in seconds that small requests may wait for the pairs of another one.
_SMALL_SECONDS = 1.0

#: A request is refused in advance if its estimated time exceeds the limit by this factor, the possible error of an
#: estimate. Other requests are stopped at the limit.
_ESTIMATE_MARGIN = 2.0

#: Threads for larger requests that are answered at once.
_LARGER = 2


class Service:
    """The state of the application: models, jobs and limits, used by all endpoints."""

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
        """Accept no more requests, let current work end or mark it as interrupted, and close everything."""
        self.ready = False
        self.stopping.set()
        self.jobs.stop(self.settings.stop_seconds / 2)
        self.inference.stop(self.settings.stop_seconds / 2)
        self.store.close()

    async def score(self, call: ScoreCall, *, texts: int, characters: int) -> list[Score]:
        """Score a request; small requests are computed together."""
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
        """Run larger work in its own thread; its batches take turns with small requests."""
        if self.stopping.is_set():
            raise ProblemError(503, "the service is stopping", kind="stopping", retry_after=5)
        if self._larger_waiting >= self.settings.limits.waiting:
            raise ProblemError(
                429, f"{self._larger_waiting} requests are waiting already", kind="busy", retry_after=5
            )
        self._larger_waiting += 1
        try:
            async with self._slots:
                future: Future[Answer] = Future()
                # Not a pool: Python would wait for its threads at exit, however long a text takes.
                threading.Thread(target=self._fulfil, args=[future, work], daemon=True).start()
                return await asyncio.wrap_future(future)
        finally:
            self._larger_waiting -= 1

    def _fulfil(self, future: Future[Answer], work: Callable[[], Answer]) -> None:
        seconds = self.settings.limits.seconds
        remedy = "submit a job, which may take longer, or send shorter texts"
        too_slow = ProblemError(413, f"not finished after {seconds:g} seconds; {remedy}", kind="too-slow")
        if future.set_running_or_notify_cancel():
            try:
                with run_context(check=deadline(seconds, too_slow), encoder_pool=self.inference):
                    future.set_result(work())
            except BaseException as error:  # raised where the result is awaited
                future.set_exception(error)

    def score_here(self, call: ScoreCall) -> list[Score]:
        """Score a request in the current thread; requests that would take far too long are refused."""
        with capture_warnings(call.warnings):
            prepared = call.prepare()
            seconds, most = estimated_seconds(prepared), self.settings.limits.seconds
            if seconds > _ESTIMATE_MARGIN * most:
                msg = (
                    f"estimated time is {seconds:,.0f} seconds (limit {most:g}); submit a job, which may take longer,"
                    " or send fewer or shorter texts"
                )
                raise ProblemError(413, msg, kind="too-slow")
            return finish(prepared, compare(prepared))

    def _preload(self, model: str) -> None:
        """Load a model and score with it once, to make the first request fast."""
        texts = {"hyps": ["a"], "refs": ["a"], "options": {"model": model}}
        pair = request_model(operations()["score"]).model_validate(texts)
        try:
            with run_context(encoder_pool=self.inference):
                self.score_here(self.caller.score(pair, []))
        except (NlgaugeError, OSError) as error:
            log.warning("model not loaded", extra={"fields": {"model": model, "reason": str(error)}})
