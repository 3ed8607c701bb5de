"""What the engines that run a graph have in common: they differ in how a graph becomes a session and runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import check_ids
from nlgauge.encoders.engines.checkpoint_weights import CheckpointWeights
from nlgauge.encoders.engines.graphs.builder import Graph
from nlgauge.encoders.engines.graphs.families import encoder_graph, family_of
from nlgauge.encoders.engines.graphs.stored import stored_graph
from nlgauge.errors import ModelError
from nlgauge.models.resolve import ModelFiles
from nlgauge.text import TextTokenizer

__all__ = ["GraphEncoder", "Run"]

#: From token ids (batch, length) to the vectors of each layer of a graph.
Run = Callable[[NDArray[np.int64]], list[NDArray[np.float32]]]


class GraphEncoder(ABC):
    """A model's weights with one session per set of layers, so a graph stops at the highest layer asked for."""

    cacheable = True

    name: ClassVar[str]
    """As a caller chooses it."""
    title: ClassVar[str]
    """As its makers write it."""
    as_inputs: ClassVar[bool]
    """Whether the engine wants a graph's parameters as inputs; else as external initializers."""

    def __init__(self, files: ModelFiles, *, threads: int) -> None:
        self._files = files
        self._threads = threads
        self._sessions: dict[tuple[int, ...], Run] = {}
        self._lock = threading.Lock()
        self.model = files.name
        self.weights_digest = files.weights_digest
        self.config_digest = files.config_digest
        self.digest = files.digest
        self._family = family_of(files.config, model=self.model, engine=self.name)
        size = self._family.dimensions(files.config)
        self._rows = size.vocabulary
        self.layers = size.layers
        self.hidden_size = size.hidden
        self.tokenizer = TextTokenizer.from_folder(
            files.path, positions=size.positions, digest=files.tokenizer_digest
        )

    @property
    @abstractmethod
    def engine(self) -> str:
        """Engine, version and precision."""

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors of each layer asked for, for texts of one length."""
        with self._lock:
            if layers not in self._sessions:
                self._sessions[layers] = self._start(layers)
        check_ids(ids, self._rows, model=self.model)
        try:
            return self._sessions[layers](ids)
        except Exception as error:  # the engines have exceptions of their own
            msg = f"{self.title} cannot run model {self.model!r}: {error}"
            raise ModelError(msg) from error

    @abstractmethod
    def _session(self, graph: Graph, values: dict[str, NDArray[np.float32]]) -> Run:
        """A graph with its parameters, ready to run."""

    def _start(self, layers: tuple[int, ...]) -> Run:
        graph = self._graph(layers)
        values = self._weights.take(graph.parameters)
        try:
            return self._session(graph, values)
        except Exception as error:  # the engines have exceptions of their own
            msg = f"{self.title} cannot start model {self.model!r}: {error}"
            raise ModelError(msg) from error

    def _graph(self, layers: tuple[int, ...]) -> Graph:
        config: dict[str, Any] = self._files.config
        kind = "_".join(map(str, layers)) + ("-inputs" if self.as_inputs else "")
        return stored_graph(
            config,
            kind,
            key=self.weights_digest,
            make=lambda: encoder_graph(self._family, config, layers, as_inputs=self.as_inputs),
        )

    @cached_property
    def _weights(self) -> CheckpointWeights:
        return CheckpointWeights(self._files.path, self._family, model=self.model, engine=self.name)
