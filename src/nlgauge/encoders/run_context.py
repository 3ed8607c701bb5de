"""What surrounds a run: who may end it, who counts what is done, who keeps its models, and one BLAS thread.

    with run_context(check=raise_if_late, encoder_pool=pool):
        nlgauge.score(...)

Functions that score need not be told. Threads that they start themselves do not work in the context.

Products whose bits must not depend on a thread count are made inside `with one_blas_thread:`. The number of BLAS
threads belongs to the process, so threads of ours that need the limit at the same time share it: the first sets it,
the last takes it back.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from nlgauge.encoders.base import Encoder


class EncoderPool(Protocol):
    """Keeps models and runs batches for all calls of a program, such as a service with many calls at once.

    A batch may then hold texts of several calls.
    """

    def encoder(self, key: Hashable, load: Callable[[], Encoder]) -> Encoder:
        """The model that was asked for by these words, loaded the first time."""

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """What `encoder.encode` gives, bit for bit."""


def _ignore(*_: int) -> None:
    return


@dataclass(frozen=True)
class RunContext:
    """What surrounds a run."""

    check: Callable[[], None] = _ignore
    """Called between two pairs, and within slow ones; what it raises ends the run."""
    before_batch: Callable[[int], None] = _ignore
    """Told the number of tokens before a pool runs a batch; what it raises ends the run."""
    advance: Callable[[int], None] = _ignore
    """Told how many more items a loop is done with."""
    stage: str = ""
    """Place in a larger piece of work; progress bars show it."""
    threads: int = 1
    """Threads that two long texts are shared out to."""
    encoder_pool: EncoderPool | None = None
    """None: a run loads its models and encodes its batches itself."""


_NOTHING = RunContext()

_CONTEXT: ContextVar[RunContext] = ContextVar("nlgauge_run", default=_NOTHING)


def current_run() -> RunContext:
    """The context of the run at hand."""
    return _CONTEXT.get()


@contextlib.contextmanager
def run_context(**changes: Any) -> Iterator[None]:
    """Let runs inside the block work in the current context with changes, given as fields of `RunContext`."""
    token = _CONTEXT.set(replace(_CONTEXT.get(), **changes))
    try:
        yield
    finally:
        _CONTEXT.reset(token)


class _SharedLimit:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._modules = -1
        self._controller: Any = None
        self._limits: list[Any] = []

    def __enter__(self) -> None:
        with self._lock:
            # Looking for BLAS libraries takes milliseconds, and only an import can have brought another one.
            fresh = len(sys.modules) != self._modules
            if fresh:
                from threadpoolctl import ThreadpoolController

                self._controller = ThreadpoolController()
                self._modules = len(sys.modules)
            if fresh or self._users == 0:
                self._clear_control()
                self._limits.append(self._controller.limit(limits=1, user_api="blas"))
                self._clear_control()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            while self._users == 0 and self._limits:
                self._clear_control()
                self._limits.pop().restore_original_limits()
                self._clear_control()

    def _clear_control(self) -> None:
        """Let any thread set the number: threadpoolctl ignores all threads but the first, from its version 3.8 on."""
        for library in self._controller.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


one_blas_thread = _SharedLimit()
