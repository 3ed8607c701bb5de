"""The engines by name: what computes vectors, and how a signature names it.

A package can bring another one by an entry point of the group `nlgauge.engines` whose name is the engine's and whose
object is an `Engine`; then `--engine NAME` takes it, and signatures that start with its `signed` lead back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from nlgauge.encoders.base import DEFAULT_PRECISION, INT8, TORCH_PRECISIONS, Encoder
from nlgauge.errors import RecipeError
from nlgauge.io.store.resolve import ModelFiles

if TYPE_CHECKING:
    from nlgauge.encoders.int8.plan import Plan

#: Entry points of packages that bring an engine.
GROUP = "nlgauge.engines"


@dataclass(frozen=True)
class Engine:
    """How a model's files become an encoder."""

    name: str
    signed: str
    """What stands before the first hyphen of an encoder's `engine`, and so of that field of a signature."""
    load: Callable[[ModelFiles, int, str, str], Encoder]
    """From the files, the number of threads, the device and the precision."""
    chosen: bool = True
    """Whether a caller chooses it; else it comes with the model."""
    only_cpu: bool = True
    precisions: tuple[str, ...] = (DEFAULT_PRECISION,)
    """What it can compute in; `load` is asked for no other."""


def _onnx(files: ModelFiles, threads: int, device: str, precision: str) -> Encoder:
    from nlgauge.encoders.engines.graph_engines import OnnxEncoder

    return OnnxEncoder(files, threads=threads, plan=_plan(files, precision))


def _openvino(files: ModelFiles, threads: int, device: str, precision: str) -> Encoder:
    from nlgauge.encoders.engines.graph_engines import OpenVinoEncoder

    return OpenVinoEncoder(files, threads=threads, plan=_plan(files, precision))


def _plan(files: ModelFiles, precision: str) -> Plan | None:
    """How the model is brought to eight bits, where it is to be."""
    if precision != INT8:
        return None
    from nlgauge.encoders.int8.plan import plan_of

    return plan_of(files)


def _torch(files: ModelFiles, threads: int, device: str, precision: str) -> Encoder:
    from nlgauge.encoders.engines.torch_engine import TorchEncoder

    return TorchEncoder(files, threads=threads, device=device, precision=precision)


def _muse(files: ModelFiles, threads: int, device: str, precision: str) -> Encoder:
    from nlgauge.encoders.engines.muse import MuseEncoder

    return MuseEncoder(files, threads=threads)


def _static(files: ModelFiles, threads: int, device: str, precision: str) -> Encoder:
    from nlgauge.encoders.engines.static import StaticEncoder

    return StaticEncoder(files.path)


_BUILT_IN = {
    engine.name: engine
    for engine in (
        Engine("onnx", "onnxruntime", _onnx, precisions=(DEFAULT_PRECISION, INT8)),
        Engine("openvino", "openvino", _openvino, precisions=(DEFAULT_PRECISION, INT8)),
        Engine("torch", "torch", _torch, only_cpu=False, precisions=TORCH_PRECISIONS),
        Engine("muse", "numpy", _muse, chosen=False),
        Engine("static", "static", _static, chosen=False),
    )
}


def engine_names() -> tuple[str, ...]:
    """The engines that a caller can choose."""
    own = [name for name, engine in _BUILT_IN.items() if engine.chosen]
    return (*own, *sorted(_plugins().keys() - _BUILT_IN.keys()))


def find_engine(name: str) -> Engine:
    """The engine of that name, or an error that lists what there is."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _plugins():
        return _from_plugin(name)
    msg = f"unknown engine {name!r}; there are: {', '.join(engine_names())}"
    raise RecipeError(msg)


def engines_with(precision: str) -> tuple[str, ...]:
    """The engines that a caller can choose and that compute in that precision."""
    return tuple(name for name in engine_names() if precision in _precisions(name))


def engine_of_signature(text: str) -> Engine | None:
    """The engine that the field `engine` of a signature names; None where it is not here.

    >>> engine_of_signature("onnxruntime-1.31.1-fp32").name
    'onnx'
    """
    signed = text.partition("-")[0]
    for engine in _BUILT_IN.values():
        if engine.signed == signed:
            return engine
    brought = (_from_plugin(name) for name in _plugins() if name not in _BUILT_IN)
    return next((engine for engine in brought if engine.signed == signed), None)


def _precisions(name: str) -> tuple[str, ...]:
    try:
        return find_engine(name).precisions
    except RecipeError:  # a package that does not load has none
        return ()


@lru_cache(maxsize=1)
def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _from_plugin(name: str) -> Engine:
    try:
        engine = _plugins()[name].load()
    except Exception as error:  # whatever a package of somebody else raises when it is imported
        msg = f"engine {name!r} cannot be loaded from its package: {type(error).__name__}: {error}"
        raise RecipeError(msg) from error
    if not isinstance(engine, Engine) or engine.name != name:
        got = engine.name if isinstance(engine, Engine) else type(engine).__name__
        msg = f"entry point {name!r} of {GROUP} must be an Engine of that name, got {got}"
        raise RecipeError(msg)
    return engine
