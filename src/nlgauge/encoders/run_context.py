"""The context of a run: cancellation, progress, shared models and one BLAS thread.

    with run_context(check=raise_if_late, encoder_pool=pool):
        nlgauge.score(...)

Functions that score read the context themselves. Threads that they start do not inherit it.

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
        """Return the model of a key, loaded the first time."""

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Return the same bits as `encoder.encode`."""


def _ignore(*_: int) -> None:
    return


@dataclass(frozen=True)
class RunContext:
    """The context of a run."""

    check: Callable[[], None] = _ignore
    """Called between pairs, and within slow ones; an exception ends the run."""
    before_batch: Callable[[int], None] = _ignore
    """Called with the number of tokens before a pool runs a batch; an exception ends the run."""
    advance: Callable[[int], None] = _ignore
    """Called with the number of items that a loop has completed."""
    stage: str = ""
    """Stage of a larger piece of work, shown with the progress."""
    threads: int = 1
    """Threads for the comparison of two long texts."""
    encoder_pool: EncoderPool | None = None
    """None: a run loads its models and encodes its batches itself."""


_DEFAULT = RunContext()

_CONTEXT: ContextVar[RunContext] = ContextVar("nlgauge_run", default=_DEFAULT)


def current_run() -> RunContext:
    """The context of the current run."""
    return _CONTEXT.get()


@contextlib.contextmanager
def run_context(**changes: Any) -> Iterator[None]:
    """Change fields of the current `RunContext` inside the block."""
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
