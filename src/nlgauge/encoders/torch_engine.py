"""The torch engine (extra `nlgauge[torch]`): any Hugging Face encoder, on CPU or CUDA, in float32."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.architectures import position_capacity
from nlgauge.errors import MissingExtraError, ModelError, RecipeError
from nlgauge.store import ModelFiles
from nlgauge.text import TextTokenizer

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


class TorchEncoder:
    """A Hugging Face model in evaluation mode."""

    def __init__(self, files: ModelFiles, *, threads: int, device: str) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            msg = "engine 'torch' needs torch and transformers: pip install 'nlgauge[torch]'"
            raise MissingExtraError(msg) from error
        self._torch = torch
        self._transformers = transformers
        self._threads = threads
        self._device = _device(torch, device)
        self.model = files.name
        self.weights_digest = files.weights_digest
        self._files = files
        self._network = self._load()
        config = self._network.config
        self.layers = int(config.num_hidden_layers)
        self.hidden_size = int(config.hidden_size)
        self.tokenizer = self._load_tokenizer()

    @cached_property
    def engine(self) -> str:
        """Engine, version and kind of device."""
        return f"torch-{self._torch.__version__.partition('+')[0]}-fp32-{self._device.type}"

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors of each layer asked for, for texts of one length."""
        torch = self._torch
        torch.set_num_threads(self._threads)
        batch = torch.from_numpy(ids).to(self._device)
        with torch.inference_mode(), _only_first_blocks(self._network, max(layers)):
            states = self._network(
                input_ids=batch, attention_mask=torch.ones_like(batch), output_hidden_states=True
            ).hidden_states
        return [states[layer].float().cpu().numpy() for layer in layers]

    def _load(self) -> Any:
        try:
            network = self._transformers.AutoModel.from_pretrained(
                self._files.path, dtype=self._torch.float32, local_files_only=True
            )
        except (OSError, ValueError, KeyError) as error:
            msg = f"transformers cannot load model {self.model!r}: {error}"
            raise ModelError(msg) from error
        if getattr(network.config, "is_encoder_decoder", False):
            network = network.get_encoder()
        return network.eval().to(self._device)

    def _load_tokenizer(self) -> TextTokenizer:
        files = self._files
        positions = position_capacity(self._network.config.to_dict())
        if (files.path / "tokenizer.json").is_file():
            return TextTokenizer.from_folder(files.path, positions=positions, digest=files.tokenizer_digest)
        converted = self._transformers.AutoTokenizer.from_pretrained(files.path, local_files_only=True)
        backend = getattr(converted, "backend_tokenizer", None)
        if backend is None:
            msg = f"model {self.model!r} has no tokenizer that the tokenizers library can run"
            raise ModelError(msg)
        digest = hashlib.sha256(backend.to_str().encode()).hexdigest()
        stated = converted.model_max_length
        limit = min(int(value) for value in (stated, positions) if value is not None and value < 1_000_000)
        return TextTokenizer(type(backend).from_str(backend.to_str()), limit=limit, digest=digest)


class _only_first_blocks:  # noqa: N801 - used like a function
    """Run only the blocks up to the highest layer asked for, where that leaves the lower ones unchanged."""

    def __init__(self, network: Any, top: int) -> None:
        self._network = network
        self._top = top
        self._path = _BLOCKS.get(network.config.model_type)

    def __enter__(self) -> None:
        if self._path is None:
            return
        holder, name = self._holder()
        self._all = getattr(holder, name)
        setattr(holder, name, self._all[: self._top])

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            holder, name = self._holder()
            setattr(holder, name, self._all)

    def _holder(self) -> tuple[Any, str]:
        path, _, name = str(self._path).rpartition(".")
        return self._network.get_submodule(path), name


def _device(torch: Any, name: str) -> Any:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.partition(":")[0] not in {"cpu", "cuda"}:
        msg = f"device must be auto, cpu or cuda, got {name!r}"
        raise RecipeError(msg)
    if name.startswith("cuda") and not torch.cuda.is_available():
        msg = f"device {name!r} was asked for, but torch sees no CUDA device; use --device cpu"
        raise RecipeError(msg)
    return torch.device(name)
