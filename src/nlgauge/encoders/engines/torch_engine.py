"""The torch engine (extra `nlgauge[torch]`): any Hugging Face encoder in float32, and on CUDA in half precision."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import check_ids
from nlgauge.encoders.engines.torch_network import load_network
from nlgauge.encoders.engines.torch_support import (
    choose_device,
    engine_label,
    quiet,
    thread_count,
    to_device,
    to_host,
)
from nlgauge.encoders.precision import DEFAULT_PRECISION
from nlgauge.errors import MissingExtraError, ModelError, UnsupportedModelError
from nlgauge.models.resolve import ModelFiles
from nlgauge.telemetry import import_silenced
from nlgauge.text import TextTokenizer
from nlgauge.text.tokenizer import has_published_space, token_limit

__all__ = ["TorchEncoder"]

#: Where the blocks of families that normalise after each block are. Their lower layers do not change when
#: the upper ones are cut off; other families run whole, because a final normalisation may follow.
_BLOCKS = {
    "bert": "encoder.layer",
    "roberta": "encoder.layer",
    "xlm-roberta": "encoder.layer",
    "camembert": "encoder.layer",
    "electra": "encoder.layer",
    "mpnet": "encoder.layer",
    "distilbert": "transformer.layer",
}


#: Families whose last layer is normalised once more; transformers returns it before that up to release 4, after it
#: since release 5, and it is the same layer here.
_FINAL_NORM = frozenset({"modernbert"})


class TorchEncoder:
    """A Hugging Face model in evaluation mode."""

    cacheable = True

    def __init__(self, files: ModelFiles, *, threads: int, device: str, precision: str = DEFAULT_PRECISION) -> None:
        try:
            import torch

            transformers = import_silenced("transformers")
        except ImportError as error:
            msg = "engine 'torch' needs torch and transformers: pip install 'nlgauge[torch]'"
            raise MissingExtraError(msg) from error
        self._torch = torch
        self._transformers = transformers
        self._threads = threads
        self._device = choose_device(torch, device, precision)
        self._precision = precision
        # A call cuts the network short and sets torch's thread count, so calls take turns.
        self._lock = threading.Lock()
        self.model = files.name
        self.weights_digest = files.weights_digest
        self.config_digest = files.config_digest
        self.digest = files.digest
        self._files = files
        self._network = self._load()
        self.layers = self._size("num_hidden_layers")
        self.hidden_size = self._size("hidden_size")
        self._check_layers()
        self.tokenizer = self._load_tokenizer()

    @property
    def network(self) -> Any:
        """The network itself, on its device; not to be changed: encoders are shared."""
        return self._network

    @cached_property
    def engine(self) -> str:
        """Engine, version, precision and kind of device."""
        return engine_label(self._torch, self._device, self._precision)

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors of each layer asked for, for texts of one length."""
        rows = getattr(self._network.config, "vocab_size", None)
        if isinstance(rows, int):
            check_ids(ids, rows, model=self.model)
        with self._lock, _only_first_blocks(self._network, max(layers)):
            states = self._run(ids)
            found = to_host(self._torch, [states[layer] for layer in layers], self._device)
        if self._precision != DEFAULT_PRECISION:
            self._refuse_overflow(found)
        return found

    def _run(self, ids: NDArray[np.int64]) -> Any:
        """Vectors of layer 0 and of each block that the network has at the moment."""
        torch = self._torch
        batch = to_device(torch, ids, self._device)
        with (
            thread_count(torch, self._threads),
            torch.inference_mode(),
            # The caller's autocast would make this another precision than the signature says.
            torch.autocast(self._device.type, enabled=False),
        ):
            output = self._network(input_ids=batch, attention_mask=torch.ones_like(batch), output_hidden_states=True)
        if self._network.config.model_type in _FINAL_NORM:
            return (*output.hidden_states[:-1], output.last_hidden_state)
        return output.hidden_states

    def _refuse_overflow(self, found: list[NDArray[np.float32]]) -> None:
        if not all(np.isfinite(vectors).all() for vectors in found):
            msg = (
                f"vectors of model {self.model!r} are too large for {self._precision}; "
                "use precision 'fp32', or 'bf16', which holds larger numbers than 'fp16'"
            )
            raise ModelError(msg)

    def _check_layers(self) -> None:
        """Run the whole network once.

        transformers 5 collects vectors with hooks that it installs in the first call, on the blocks it then
        finds; so the first call must not be one that runs only some of them.
        """
        found = len(self._run(np.zeros((1, 1), dtype=np.int64))) - 1
        if found != self.layers:
            msg = f"model {self.model!r} states {self.layers} layers in config.json, but gives vectors of {found}"
            raise UnsupportedModelError(msg)

    def _load(self) -> Any:
        loaded = load_network(self._torch, self._transformers, self._files, precision=self._precision)
        return loaded.encoder.eval().to(self._device)

    def _size(self, name: str) -> int:
        size = getattr(self._network.config, name, None)
        if not isinstance(size, int):
            msg = f"model {self.model!r} states no {name} in config.json, and is not an encoder that nlgauge can use"
            raise UnsupportedModelError(msg)
        return size

    def _load_tokenizer(self) -> TextTokenizer:
        folder = self._files.path
        positions = _position_capacity(self._network)
        if (folder / "tokenizer.json").is_file():
            digest = self._files.tokenizer_digest
            return TextTokenizer.from_folder(folder, positions=positions, digest=digest)
        try:
            with quiet(self._transformers):
                converted = self._transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            backend = type(converted.backend_tokenizer).from_str(converted.backend_tokenizer.to_str())
        except Exception as error:  # whatever the converter of this family raises
            msg = f"model {self.model!r} has no tokenizer.json, and transformers cannot make one: {error}"
            raise ModelError(msg) from error
        # What ran is named, not the vocabulary: what transformers makes of it also depends on other files.
        digest = hashlib.sha256(backend.to_str().encode()).hexdigest()
        limit = token_limit(folder, positions=positions)
        return TextTokenizer(backend, limit=limit, digest=digest, published_space=has_published_space(folder))


@contextmanager
def _only_first_blocks(network: Any, top: int) -> Iterator[None]:
    """Run only the blocks up to the highest layer asked for, where that leaves the lower ones unchanged."""
    path, _, name = _BLOCKS.get(network.config.model_type, "").rpartition(".")
    if not name:
        yield
        return
    holder = network.get_submodule(path)
    blocks = getattr(holder, name)
    setattr(holder, name, blocks[:top])
    try:
        yield
    finally:
        setattr(holder, name, blocks)


def _position_capacity(network: Any) -> int | None:
    """How many tokens the model's position table holds; None for a model without one.

    Families that number positions from after the padding index (RoBERTa and its many relatives) mark that
    index on the table.
    """
    rows = getattr(network.config, "max_position_embeddings", None)
    if rows is None or rows < 1:
        return None
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings) - int(module.padding_idx) - 1
    return int(rows)
