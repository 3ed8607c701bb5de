"""The torch engine (extra `nlgauge[torch]`): any Hugging Face encoder in float32, and on CUDA in half precision.

Half precision (fp16, bf16) needs CUDA: weights and vectors are half as large there, and vectors are returned as
float32. nlgauge's tests run without a GPU, so they cover this code but not CUDA itself. Language models and training
use the functions for device, precision, copies and quiet loading too.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import DEFAULT_PRECISION, check_ids
from nlgauge.errors import ModelError, RecipeError, UnsupportedModelError
from nlgauge.io.packages import require
from nlgauge.io.store.hub import file_names, weight_files
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.text.tokenizer import TextTokenizer, has_published_space, token_limit
from nlgauge.text.xlm_tokenizer import MERGES, VOCABULARY, XlmTokenizer

#: torch's names of precisions.
_DTYPES = {DEFAULT_PRECISION: "float32", "fp16": "float16", "bf16": "bfloat16"}

#: Paths of the blocks in families that normalise after each block. Their lower layers do not change if upper ones are
#: removed; other families always run completely, because a final normalisation may follow.
_BLOCKS = {
    "bert": "encoder.layer",
    "roberta": "encoder.layer",
    "xlm-roberta": "encoder.layer",
    "camembert": "encoder.layer",
    "electra": "encoder.layer",
    "mpnet": "encoder.layer",
    "distilbert": "transformer.layer",
}

#: Families with a final normalisation of the last layer, which transformers returns before it up to release 4 and
#: after it since release 5; here it is always after it.
_FINAL_NORM = frozenset({"modernbert"})


def choose_device(torch: Any, name: str, precision: str = DEFAULT_PRECISION) -> Any:
    """The torch device of a name, checked against the precision; `auto` is CUDA if available."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, number = name.partition(":")
    if kind not in {"cpu", "cuda"} or (colon and not number.isdecimal()):
        msg = f"device must be auto, cpu, cuda or cuda:NUMBER, got {name!r}"
        raise RecipeError(msg)
    if kind == "cuda" and not torch.cuda.is_available():
        msg = f"device {name!r} is not available: torch found no CUDA device; use device 'cpu' (--device cpu)"
        raise RecipeError(msg)
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        msg = f"device {name!r} is not available: torch found {count} CUDA device(s), numbered from 0"
        raise RecipeError(msg)
    if kind == "cpu" and precision != DEFAULT_PRECISION:
        problem = "the device is the CPU" if torch.cuda.is_available() else "torch found none"
        fix = f"use precision {DEFAULT_PRECISION!r}" + (" or device 'cuda'" if torch.cuda.is_available() else "")
        msg = f"precision {precision!r} needs a CUDA device, but {problem}; {fix}"
        raise RecipeError(msg)
    return torch.device(name)


def engine_label(torch: Any, device: Any, precision: str) -> str:
    """Engine, version, precision and kind of device for signatures."""
    return f"torch-{torch.__version__.partition('+')[0]}-{precision}-{device.type}"


def in_precision(torch: Any, transformers: Any, precision: str) -> dict[str, Any]:
    """The keyword with which transformers loads weights in a precision."""
    major, minor = transformers.__version__.split(".")[:2]
    # Renamed in transformers 4.56: the new name fails in older versions, the old one warns in newer ones.
    name = "dtype" if (int(major), int(minor)) >= (4, 56) else "torch_dtype"
    return {name: getattr(torch, _DTYPES[precision])}


def to_device(torch: Any, ids: NDArray[np.int64], device: Any) -> Any:
    """Copy token ids to the device; to CUDA asynchronously from pinned memory."""
    batch = torch.from_numpy(ids)
    return batch.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else batch.to(device)


def to_host(torch: Any, arrays: Sequence[Any], device: Any) -> list[NDArray[np.float32]]:
    """Copy arrays from the device as float32; from CUDA in parallel, and converted afterwards."""
    if device.type != "cuda":
        return [array.float().cpu().numpy() for array in arrays]
    pinned = [torch.empty(array.shape, dtype=array.dtype, pin_memory=True) for array in arrays]
    for buffer, array in zip(pinned, arrays, strict=True):
        buffer.copy_(array, non_blocking=True)
    torch.cuda.synchronize(device)
    # Copied to normal memory, because vectors live long and pinned memory is scarce.
    return [buffer.to(torch.float32, copy=True).numpy() for buffer in pinned]


@contextmanager
def thread_count(torch: Any, count: int) -> Iterator[None]:
    """Set torch's thread count inside the block; it belongs to the process, so it is restored."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Switch off transformers' progress bars and its reports about unused weights (pooler, output head)."""
    logging = transformers.utils.logging
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()


def refuse_adapter(folder: Path, *, model: str) -> None:
    """Raise UnsupportedModelError for a folder with an adapter, which transformers may add to the weights."""
    if (folder / "adapter_config.json").is_file():
        msg = (
            f"model {model!r} has an adapter (adapter_config.json), which its digest does not cover; "
            "merge it into the weights, or remove the file"
        )
        raise UnsupportedModelError(msg)


class Network(NamedTuple):
    """A model and its encoder, which are the same unless the model has a decoder."""

    whole: Any
    encoder: Any


def load_network(torch: Any, transformers: Any, files: ModelFiles, *, precision: str = DEFAULT_PRECISION) -> Network:
    """Load a network; raises ModelError for weights that are missing or have another shape."""
    refuse_adapter(files.path, model=files.name)
    if any(name.endswith(".onnx") for name in weight_files(file_names(files.path))):
        msg = f"engine 'torch' cannot read the ONNX weights of model {files.name!r}; use engine 'onnx'"
        raise UnsupportedModelError(msg)
    try:
        with quiet(transformers):
            whole, report = transformers.AutoModel.from_pretrained(
                files.path,
                local_files_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported by name below
                **in_precision(torch, transformers, precision),
            )
    except Exception as error:  # readers of files can raise any exception
        msg = f"transformers cannot load model {files.name!r}: {error}"
        raise ModelError(msg) from error
    # By structure, because the config.json of an extracted encoder does not tell.
    encoder = whole.encoder if hasattr(whole, "encoder") and hasattr(whole, "decoder") else whole
    _require_weights(files.name, whole, encoder, report)
    return Network(whole, encoder)


def _require_weights(name: str, whole: Any, encoder: Any, report: dict[str, Any]) -> None:
    """Raise ModelError for weights that transformers would initialise randomly, except an unused pooler."""
    used = {id(parameter) for parameter in encoder.parameters()}
    parameters = {name: id(parameter) for name, parameter in whole.named_parameters()}
    wrong = [*report["missing_keys"], *(entry[0] for entry in report["mismatched_keys"])]
    wrong = sorted(weight for weight in wrong if parameters.get(weight) in used and "pooler" not in weight.split("."))
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        msg = (
            f"the weights of model {name!r} do not match its config.json ({encoder.config.model_type!r}): "
            f"missing or of another shape: {', '.join(wrong[:3])}{more}"
        )
        raise ModelError(msg)


def padding_id(network: Any) -> int:
    """The padding token of a batch; some families derive positions from it."""
    stated = getattr(network.config, "pad_token_id", None)
    return stated if isinstance(stated, int) and stated >= 0 else 0


class TorchEncoder:
    """A Hugging Face model in evaluation mode."""

    cacheable = True

    def __init__(self, files: ModelFiles, *, threads: int, device: str, precision: str = DEFAULT_PRECISION) -> None:
        self._torch = torch = require("torch", "torch")
        self._transformers = require("transformers", "torch")
        self._threads = threads
        self._device = choose_device(torch, device, precision)
        self._precision = precision
        # A call removes layers and sets torch's thread count, so calls are serialised.
        self._lock = threading.Lock()
        self.model = files.name
        self.weights_digest = files.weights_digest
        self.config_digest = files.config_digest
        self.digest = files.digest
        self._files = files
        loaded = load_network(torch, self._transformers, files, precision=precision)
        self._network = loaded.encoder.eval().to(self._device)
        self.layers = self._size("num_hidden_layers")
        self.hidden_size = self._size("hidden_size")
        self._check_layers()
        self.tokenizer = self._load_tokenizer()

    @property
    def network(self) -> Any:
        """The network on its device; do not change it, because encoders are shared."""
        return self._network

    @cached_property
    def engine(self) -> str:
        """Engine, version, precision and kind of device."""
        return engine_label(self._torch, self._device, self._precision)

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors of each requested layer, for texts of one length."""
        rows = getattr(self._network.config, "vocab_size", None)
        if isinstance(rows, int):
            check_ids(ids, rows, model=self.model)
        with self._lock, _only_first_blocks(self._network, max(layers)):
            states = self._run(ids)
            vectors = to_host(self._torch, [states[layer] for layer in layers], self._device)
        if self._precision != DEFAULT_PRECISION and not all(np.isfinite(array).all() for array in vectors):
            msg = (
                f"vectors of model {self.model!r} are too large for {self._precision}; "
                "use precision 'fp32', or 'bf16', which has a larger range than 'fp16'"
            )
            raise ModelError(msg)
        return vectors

    def _run(self, ids: NDArray[np.int64]) -> Any:
        """Vectors of layer 0 and of each block in the network."""
        torch = self._torch
        batch = to_device(torch, ids, self._device)
        with (
            thread_count(torch, self._threads),
            torch.inference_mode(),
            # The caller's autocast would change the precision, which is part of the signature.
            torch.autocast(self._device.type, enabled=False),
        ):
            output = self._network(input_ids=batch, attention_mask=torch.ones_like(batch), output_hidden_states=True)
        if self._network.config.model_type in _FINAL_NORM:
            return (*output.hidden_states[:-1], output.last_hidden_state)
        return output.hidden_states

    def _check_layers(self) -> None:
        """Run the whole network once, and check the number of layers.

        In its first call, transformers 5 installs hooks on the present blocks, so the first call must run all of
        them.
        """
        count = len(self._run(np.zeros((1, 1), dtype=np.int64))) - 1
        if count != self.layers:
            msg = f"model {self.model!r} has {self.layers} layers in config.json, but returns vectors of {count}"
            raise UnsupportedModelError(msg)

    def _size(self, name: str) -> int:
        size = getattr(self._network.config, name, None)
        if not isinstance(size, int):
            msg = f"model {self.model!r} has no {name} in config.json, so nlgauge cannot use it as an encoder"
            raise UnsupportedModelError(msg)
        return size

    def _load_tokenizer(self) -> TextTokenizer:
        folder = self._files.path
        positions = _position_capacity(self._network)
        if (folder / "tokenizer.json").is_file():
            digest = self._files.tokenizer_digest
            return TextTokenizer.from_folder(folder, positions=positions, digest=digest)
        if self._network.config.model_type == "xlm" and all(
            (folder / name).is_file() for name in (VOCABULARY, MERGES)
        ):
            return XlmTokenizer.read(folder, positions=positions)
        try:
            with quiet(self._transformers):
                converted = self._transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            backend = type(converted.backend_tokenizer).from_str(converted.backend_tokenizer.to_str())
        except Exception as error:  # converters can raise any exception
            msg = f"model {self.model!r} has no tokenizer.json, and transformers cannot create one: {error}"
            raise ModelError(msg) from error
        # The digest is that of the converted tokenizer, which depends on more files than the vocabulary.
        digest = hashlib.sha256(backend.to_str().encode()).hexdigest()
        limit = token_limit(folder, positions=positions)
        return TextTokenizer(backend, limit=limit, digest=digest, published_space=has_published_space(folder))


@contextmanager
def _only_first_blocks(network: Any, top: int) -> Iterator[None]:
    """Remove the blocks above the highest requested layer, in families where lower layers do not change."""
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
    """Number of tokens that the model's position table allows; None for a model without one.

    In families that number positions from after the padding index (RoBERTa and its relatives), the table has that
    index.
    """
    rows = getattr(network.config, "max_position_embeddings", None)
    if rows is None or rows < 1:
        return None
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings) - int(module.padding_idx) - 1
    return int(rows)
