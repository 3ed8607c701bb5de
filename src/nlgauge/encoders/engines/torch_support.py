"""What everything that runs on torch needs: device, precision, copies to and fro, and a quiet transformers library.

Half precision (fp16, bf16) is for CUDA: weights and vectors are half as large there, and vectors come back as
float32. Tests of nlgauge run without a GPU: they cover the choices made here, and not what a CUDA device does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.precision import DEFAULT_PRECISION
from nlgauge.errors import RecipeError, UnsupportedModelError

__all__ = [
    "TORCH_PRECISIONS",
    "choose_device",
    "engine_label",
    "in_precision",
    "quiet",
    "refuse_adapter",
    "thread_count",
    "to_device",
    "to_host",
]

#: Precisions by the name that torch gives them.
_DTYPES = {DEFAULT_PRECISION: "float32", "fp16": "float16", "bf16": "bfloat16"}

TORCH_PRECISIONS = tuple(_DTYPES)


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
