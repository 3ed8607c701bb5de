"""A running service: its parts, and how they start and stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from nlgauge.apps.operations import operations
from nlgauge.apps.service.calls import Caller, ScoreCall, collected_warnings
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.inference import InferenceThread, SlowError, deadline
from nlgauge.apps.service.jobs import JobRunner, JobStore
from nlgauge.apps.service.policy import Policy, estimated_seconds
from nlgauge.apps.service.request_models import request_model
from nlgauge.apps.service.settings import Monitor, Settings, log
from nlgauge.core.compare import compare
from nlgauge.core.finish import finish
from nlgauge.core.score import Score
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import NlgaugeError

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
        if future.set_running_or_notify_cancel():
            try:
                with run_context(check=deadline(self.settings.limits.seconds, _too_slow)):
                    future.set_result(self._hosted(work))
            except BaseException as error:  # whoever waits for it is told
                future.set_exception(error)

    def _hosted(self, work: Callable[[], Answer]) -> Answer:
        with run_context(encoder_pool=self.inference):
            return work()

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
            self._hosted(lambda: self.score_here(self.caller.score(pair, [])))
        except (NlgaugeError, OSError) as error:
            log.warning("model not loaded", extra={"fields": {"model": model, "reason": str(error)}})


def _too_slow(seconds: float) -> ProblemError:
    msg = (
        f"not done after {seconds:g} seconds; post it to /v1/jobs, where work may take longer, or send shorter texts"
    )
    return ProblemError(413, msg, kind="too-slow")
