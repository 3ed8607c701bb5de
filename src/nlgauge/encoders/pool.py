"""A shared place for models and batches, for programs with many calls at once.

A call loads its model and runs its own batches. In a service many calls are under way at once: one place keeps their
models, and one thread runs their batches, which may then hold texts of several calls. The functions that score need
not be told; they work for a host while they run inside `hosted`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from nlgauge.encoders.base import Encoder


class EncoderHost(Protocol):
    """Keeps models and runs batches for the calls inside `hosted`."""

    def encoder(self, key: Hashable, load: Callable[[], Encoder]) -> Encoder:
        """The model that was asked for by these words, loaded the first time."""

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """What `encoder.encode` gives, bit for bit."""


_host: ContextVar[EncoderHost | None] = ContextVar("nlgauge_encoder_host", default=None)


def current_host() -> EncoderHost | None:
    """The host of the call at hand; None where it works for itself."""
    return _host.get()


@contextlib.contextmanager
def hosted(host: EncoderHost) -> Iterator[None]:
    """Calls inside work for the host. Threads that they start themselves do not."""
    token = _host.set(host)
    try:
        yield
    finally:
        _host.reset(token)
