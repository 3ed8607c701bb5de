"""The torch engine (extra `nlgauge[torch]`): any Hugging Face encoder in float32, and on CUDA in half precision.

Half precision (fp16, bf16) is for CUDA: weights and vectors are half as large there, and vectors come back as
float32. Tests of nlgauge run without a GPU: they cover the choices made here, and not what a CUDA device does.
Language models and training use the functions for device, precision, copies and a quiet transformers library, too.
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
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.text.tokenizer import TextTokenizer, has_published_space, token_limit

#: Precisions by the name that torch gives them.
_DTYPES = {DEFAULT_PRECISION: "float32", "fp16": "float16", "bf16": "bfloat16"}

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


def choose_device(torch: Any, name: str, precision: str = DEFAULT_PRECISION) -> Any:
    """The torch device of a name, if the precision is for it; `auto` is CUDA where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, number = name.partition(":")
    if kind not in {"cpu", "cuda"} or (colon and not number.isdecimal()):
        msg = f"device must be auto, cpu, cuda or cuda:NUMBER, got {name!r}"
        raise RecipeError(msg)
    if kind == "cuda" and not torch.cuda.is_available():
        msg = f"device {name!r} was asked for, but torch sees no CUDA device; use device 'cpu' (--device cpu)"
        raise RecipeError(msg)
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        msg = f"device {name!r} was asked for, but torch sees {count} CUDA device(s), numbered from 0"
        raise RecipeError(msg)
    if kind == "cpu" and precision != DEFAULT_PRECISION:
        why = "" if torch.cuda.is_available() else ", and torch sees no CUDA device"
        fix = f"use precision {DEFAULT_PRECISION!r}" + (" or device 'cuda'" if torch.cuda.is_available() else "")
        msg = f"half precision is for CUDA: precision {precision!r} was asked for on the CPU{why}; {fix}"
        raise RecipeError(msg)
    return torch.device(name)


def engine_label(torch: Any, device: Any, precision: str) -> str:
    """Engine, version, precision and kind of device, as a signature shows them."""
    return f"torch-{torch.__version__.partition('+')[0]}-{precision}-{device.type}"


def in_precision(torch: Any, transformers: Any, precision: str) -> dict[str, Any]:
    """The keyword that makes transformers load weights in that precision, whatever the file has."""
    major, minor = transformers.__version__.split(".")[:2]
    # Renamed in transformers 4.56; the other spelling is an error before and a warning after.
    name = "dtype" if (int(major), int(minor)) >= (4, 56) else "torch_dtype"
    return {name: getattr(torch, _DTYPES[precision])}


def to_device(torch: Any, ids: NDArray[np.int64], device: Any) -> Any:
    """Token ids on the device; on the way to CUDA from pinned memory, which need not be waited for."""
    batch = torch.from_numpy(ids)
    return batch.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else batch.to(device)


def to_host(torch: Any, arrays: Sequence[Any], device: Any) -> list[NDArray[np.float32]]:
    """Arrays of a device as float32; from CUDA all copies run at once, in the precision that they have there."""
    if device.type != "cuda":
        return [array.float().cpu().numpy() for array in arrays]
    pinned = [torch.empty(array.shape, dtype=array.dtype, pin_memory=True) for array in arrays]
    for place, array in zip(pinned, arrays, strict=True):
        place.copy_(array, non_blocking=True)
    torch.cuda.synchronize(device)
    # A copy that is not pinned: vectors live as long as their window, and pinned memory is scarce.
    return [place.to(torch.float32, copy=True).numpy() for place in pinned]


@contextmanager
def thread_count(torch: Any, count: int) -> Iterator[None]:
    """Torch has one thread count per process, and it is the caller's."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """No bar for reading a file, and no report of weights that are not needed (pooler, output head)."""
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
    """Refuse a folder with an adapter: transformers adds it to the weights where another package is installed."""
    if (folder / "adapter_config.json").is_file():
        msg = (
            f"model {model!r} comes with an adapter (adapter_config.json), which no digest covers; "
            "merge it into the weights, or remove the file"
        )
        raise UnsupportedModelError(msg)


class Network(NamedTuple):
    """A model, and the part of it that encodes: another one where there is a decoder."""

    whole: Any
    encoder: Any


def load_network(torch: Any, transformers: Any, files: ModelFiles, *, precision: str = DEFAULT_PRECISION) -> Network:
    """Read it; weights that are missing or of another shape are refused by name."""
    refuse_adapter(files.path, model=files.name)
    try:
        with quiet(transformers):
            whole, report = transformers.AutoModel.from_pretrained(
                files.path,
                local_files_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported by name below
                **in_precision(torch, transformers, precision),
            )
    except Exception as error:  # whatever the reader of a file raises
        msg = f"transformers cannot load model {files.name!r}: {error}"
        raise ModelError(msg) from error
    # By structure: config.json of an encoder cut out of such a model does not say what it was.
    encoder = whole.encoder if hasattr(whole, "encoder") and hasattr(whole, "decoder") else whole
    _require_weights(files.name, whole, encoder, report)
    return Network(whole, encoder)


def _require_weights(name: str, whole: Any, encoder: Any, report: dict[str, Any]) -> None:
    """Refuse weights that transformers would replace by random numbers; only a pooler is never used."""
    used = {id(parameter) for parameter in encoder.parameters()}
    parameters = {name: id(parameter) for name, parameter in whole.named_parameters()}
    lost = [*report["missing_keys"], *(entry[0] for entry in report["mismatched_keys"])]
    lost = sorted(weight for weight in lost if parameters.get(weight) in used and "pooler" not in weight.split("."))
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        msg = (
            f"the weights of model {name!r} do not fit its config.json ({encoder.config.model_type!r}): "
            f"missing or of another shape: {', '.join(lost[:3])}{more}"
        )
        raise ModelError(msg)


def padding_id(network: Any) -> int:
    """The token that fills short texts of a batch; families that number positions by it need their own."""
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
        # A call cuts the network short and sets torch's thread count, so calls take turns.
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
            vectors = to_host(self._torch, [states[layer] for layer in layers], self._device)
        if self._precision != DEFAULT_PRECISION and not all(np.isfinite(array).all() for array in vectors):
            msg = (
                f"vectors of model {self.model!r} are too large for {self._precision}; "
                "use precision 'fp32', or 'bf16', which holds larger numbers than 'fp16'"
            )
            raise ModelError(msg)
        return vectors

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

    def _check_layers(self) -> None:
        """Run the whole network once.

        transformers 5 collects vectors with hooks that it installs in the first call, on the blocks it then
        finds; so the first call must not be one that runs only some of them.
        """
        count = len(self._run(np.zeros((1, 1), dtype=np.int64))) - 1
        if count != self.layers:
            msg = f"model {self.model!r} states {self.layers} layers in config.json, but gives vectors of {count}"
            raise UnsupportedModelError(msg)

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
