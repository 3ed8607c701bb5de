"""What everything that runs on torch needs: device, thread count, and a quiet transformers library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nlgauge.errors import RecipeError, UnsupportedModelError

__all__ = ["choose_device", "engine_label", "in_float32", "quiet", "refuse_adapter", "thread_count"]


def choose_device(torch: Any, name: str) -> Any:
    """The torch device of a name; `auto` is CUDA where there is one."""
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
    return torch.device(name)


def engine_label(torch: Any, device: Any) -> str:
    """Engine, version, precision and kind of device, as a signature shows them."""
    return f"torch-{torch.__version__.partition('+')[0]}-fp32-{device.type}"


def in_float32(torch: Any, transformers: Any) -> dict[str, Any]:
    """The keyword that makes transformers load weights in float32."""
    major, minor = transformers.__version__.split(".")[:2]
    # Renamed in transformers 4.56; the other spelling is an error before and a warning after.
    name = "dtype" if (int(major), int(minor)) >= (4, 56) else "torch_dtype"
    return {name: torch.float32}


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
