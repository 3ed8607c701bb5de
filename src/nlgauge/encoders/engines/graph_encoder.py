"""Base class of the engines that run a graph: they differ in how a graph becomes a session and runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge._startup import is_out_of_memory
from nlgauge.encoders.base import DEFAULT_PRECISION, check_ids
from nlgauge.encoders.graphs.builder import Graph, GraphBuilder
from nlgauge.encoders.graphs.families import encoder_graph, family_of
from nlgauge.encoders.graphs.weights import CheckpointWeights, stored_graph
from nlgauge.encoders.int8.plan import Plan
from nlgauge.encoders.int8.weights import QuantisedBuilder, QuantisedWeights
from nlgauge.errors import ModelError
from nlgauge.io.storage import short_digest
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.text.tokenizer import TextTokenizer

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
    copies_weights: ClassVar[bool]
    """Whether a session that has started holds weights of its own."""

    def __init__(self, files: ModelFiles, *, threads: int, plan: Plan | None = None) -> None:
        """`plan` says which products are of eight bits; without one all are float32."""
        self._files = files
        self._plan = plan
        self._threads = threads
        self._sessions: dict[tuple[int, ...], Run] = {}
        self._lock = threading.Lock()
        self.model = files.name
        self.weights_digest = files.weights_digest
        self.config_digest = files.config_digest
        self.digest = files.digest
        self.family = family_of(files.config, model=self.model, engine=self.name)
        size = self.family.dimensions(files.config)
        self._rows = size.vocabulary
        self.layers = size.layers
        self.hidden_size = size.hidden
        self.tokenizer = TextTokenizer.from_folder(
            files.path, positions=size.positions, digest=files.tokenizer_digest
        )

    @property
    @abstractmethod
    def library(self) -> str:
        """The engine's library and its version, as signatures name it."""

    @cached_property
    def engine(self) -> str:
        """Engine, version and precision."""
        precision = DEFAULT_PRECISION if self._plan is None else self._plan.signed(self.name)
        return f"{self.library}-{precision}"

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's config.json."""
        return self._files.config

    def weight(self, name: str) -> NDArray[np.float32]:
        """A weight of the checkpoint, by its name there."""
        return self._checkpoint.read(name)

    def session(self, graph: Graph) -> Run:
        """A graph of the model's family with the model's weights, ready to run."""
        values = self._weights.take(graph.parameters)
        try:
            run = self._session(graph, values)
        except Exception as error:  # the engines have exceptions of their own
            self._check_unchanged()  # weights that were being written are the likelier reason
            raise self._failure(error, "start") from error
        # Not before: mapped weights are read from their file while the session starts.
        self._check_unchanged()
        return run

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors of each layer asked for, for texts of one length."""
        with self._lock:
            if layers not in self._sessions:
                self._sessions[layers] = self.session(self._graph(layers))
        check_ids(ids, self._rows, model=self.model)
        try:
            return self._sessions[layers](ids)
        except Exception as error:  # the engines have exceptions of their own
            raise self._failure(error, "run") from error

    def _failure(self, error: Exception, step: str) -> Exception:
        if is_out_of_memory(error):
            return MemoryError(f"not enough memory to {step} model {self.model!r}")
        return ModelError(f"{self.title} cannot {step} model {self.model!r}: {error}")

    @abstractmethod
    def _session(self, graph: Graph, values: dict[str, NDArray[Any]]) -> Run:
        """A graph with its parameters, ready to run."""

    def _check_unchanged(self) -> None:
        """Weights are read when layers are first asked for, which can be long after the digests were taken."""
        now = ModelFiles(self._files.name, self._files.path, self._files.card)
        if (now.weights_digest, now.config_digest) != (self.weights_digest, self.config_digest):
            msg = (
                f"the files of model {self.model!r} in {str(self._files.path)!r} were replaced while the model was "
                "in use; load it again: call release_models(), or restart the service"
            )
            raise ModelError(msg)

    def _graph(self, layers: tuple[int, ...]) -> Graph:
        kind = "_".join(map(str, layers)) + ("-inputs" if self.as_inputs else "")
        if self._plan is not None:
            kind += f"-int8-{short_digest(self._plan.digest)}"

        def make() -> Graph:
            build = GraphBuilder() if self._plan is None else QuantisedBuilder(self._plan, fused=not self.as_inputs)
            return encoder_graph(self.family, self.config, layers, as_inputs=self.as_inputs, build=build)

        return stored_graph(self.config, kind, key=self.weights_digest, make=make)

    @cached_property
    def _checkpoint(self) -> CheckpointWeights:
        return CheckpointWeights(
            self._files.path, self.family, model=self.model, engine=self.name, mapped=self.copies_weights
        )

    @cached_property
    def _weights(self) -> CheckpointWeights | QuantisedWeights:
        return self._checkpoint if self._plan is None else QuantisedWeights(self._checkpoint, self._plan)
