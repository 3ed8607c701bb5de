"""Calls that work for a host: it keeps their models and runs their batches, and moves no bit."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.run_context import current_run, run_context


class Noting:
    """A host that does what would be done anyway, and remembers."""

    def __init__(self) -> None:
        self.models: dict[Hashable, Encoder] = {}
        self.batches = 0

    def encoder(self, key: Hashable, load: Callable[[], Encoder]) -> Encoder:
        if key not in self.models:
            self.models[key] = load()
        return self.models[key]

    def encode(self, encoder: Encoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        self.batches += 1
        return encoder.encode(ids, layers)


def test_a_hosted_call_gives_the_same_and_asks_its_host() -> None:
    host = Noting()
    with run_context(encoder_pool=host):
        inside = nlgauge.score(HYPS, REFS)
        nlgauge.score(HYPS, REFS, metric="moverscore")
    assert inside.to_dict() == nlgauge.score(HYPS, REFS).to_dict()
    assert [key[0] for key in host.models if isinstance(key, tuple)] == ["minilm"]
    assert host.batches > 2


def test_the_host_is_gone_after_the_block() -> None:
    host = Noting()
    with run_context(encoder_pool=host):
        assert current_run().encoder_pool is host
    assert current_run().encoder_pool is None
    nlgauge.score(HYPS, REFS)
    assert host.batches == 0
