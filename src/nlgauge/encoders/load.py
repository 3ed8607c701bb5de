"""Engines by name, and loaded models, which stay in memory for the next call.

A package can add an engine by an entry point of the group `nlgauge.engines`, with the engine's name and an `Engine`
as its object. Then `--engine NAME` uses it, and signatures whose engine starts with its `signed` are resolved to it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from nlgauge.encoders.base import DEFAULT_PRECISION, INT8, TORCH_PRECISIONS, Encoder, check_precision
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import ModelError, RecipeError, UnsupportedModelError
from nlgauge.io.progress import log
from nlgauge.io.storage import file_digest
from nlgauge.io.store.catalog import encoder_names, find_card
from nlgauge.io.store.resolve import ModelFiles, check_length, resolve

#: Entry point group of engines.
GROUP = "nlgauge.engines"


@dataclass(frozen=True)
class Engine:
    """An inference engine, which makes encoders from model files."""

    name: str
    signed: str
    """The part before the first hyphen of an encoder's `engine`, and of that field in signatures."""
    load: Callable[[ModelFiles, int, str, str], Encoder]
    """Called with the files, the number of threads, the device and the precision."""
    chosen: bool = True
    """Whether the caller chooses it; otherwise it belongs to the model."""
    only_cpu: bool = True
    precisions: tuple[str, ...] = (DEFAULT_PRECISION,)
    """Supported precisions; `load` is never called with another one."""


def _load_built_in(engine: str, files: ModelFiles, threads: int, device: str, precision: str) -> Encoder:
    """Load a model on a built-in engine; imports are local, because most runs need one engine only."""
    if engine == "static":
        from nlgauge.encoders.engines.static import StaticEncoder

        return StaticEncoder(files.path)
    if engine == "muse":
        from nlgauge.encoders.engines.muse import MuseEncoder

        return MuseEncoder(files, threads=threads)
    if engine == "torch":
        from nlgauge.encoders.engines.torch_engine import TorchEncoder

        return TorchEncoder(files, threads=threads, device=device, precision=precision)
    from nlgauge.encoders.engines.graph_engines import OnnxEncoder, OpenVinoEncoder
    from nlgauge.encoders.int8 import plan_of

    kind = OnnxEncoder if engine == "onnx" else OpenVinoEncoder
    return kind(files, threads=threads, plan=plan_of(files) if precision == INT8 else None)


_BUILT_IN = {
    engine.name: engine
    for engine in (
        Engine("onnx", "onnxruntime", partial(_load_built_in, "onnx"), precisions=(DEFAULT_PRECISION, INT8)),
        Engine("openvino", "openvino", partial(_load_built_in, "openvino"), precisions=(DEFAULT_PRECISION, INT8)),
        Engine("torch", "torch", partial(_load_built_in, "torch"), only_cpu=False, precisions=TORCH_PRECISIONS),
        Engine("muse", "numpy", partial(_load_built_in, "muse"), chosen=False),
        Engine("static", "static", partial(_load_built_in, "static"), chosen=False),
    )
}


def engine_names() -> tuple[str, ...]:
    """The engines that a caller can choose."""
    own = [name for name, engine in _BUILT_IN.items() if engine.chosen]
    return (*own, *sorted(_plugins().keys() - _BUILT_IN.keys()))


def find_engine(name: str) -> Engine:
    """The engine with a name; raises RecipeError for an unknown one."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _plugins():
        return _from_plugin(name)
    msg = f"unknown engine {name!r}; engines are: {', '.join(engine_names())}"
    raise RecipeError(msg)


def engines_with(precision: str) -> tuple[str, ...]:
    """The engines that a caller can choose and that support a precision."""
    names = []
    for name in engine_names():
        with contextlib.suppress(RecipeError):  # a plugin that does not load supports no precision
            names += [name] if precision in find_engine(name).precisions else []
    return tuple(names)


def engine_of_signature(text: str) -> Engine | None:
    """The engine of the field `engine` of a signature; None if it is not installed.

    >>> engine_of_signature("onnxruntime-1.31.1-fp32").name
    'onnx'
    """
    signed = text.partition("-")[0]
    for engine in _BUILT_IN.values():
        if engine.signed == signed:
            return engine
    plugins = (_from_plugin(name) for name in _plugins() if name not in _BUILT_IN)
    return next((engine for engine in plugins if engine.signed == signed), None)


@lru_cache(maxsize=1)
def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _from_plugin(name: str) -> Engine:
    try:
        engine = _plugins()[name].load()
    except Exception as error:  # a third-party package can raise any exception
        msg = f"cannot load engine {name!r} from its package: {type(error).__name__}: {error}"
        raise RecipeError(msg) from error
    if not isinstance(engine, Engine) or engine.name != name:
        got = engine.name if isinstance(engine, Engine) else type(engine).__name__
        msg = f"entry point {name!r} of {GROUP} must be an Engine with this name, got {got}"
        raise RecipeError(msg)
    return engine


Model = TypeVar("Model")

_all: list[LoadedModels[Any]] = []


class LoadedModels(Generic[Model]):
    """A cache of the `most` recently used models; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._models: OrderedDict[Hashable, Model] = OrderedDict()
        self._lock = threading.RLock()
        _all.append(self)

    def __len__(self) -> int:
        return len(self._models)

    def get(self, key: Hashable, load: Callable[[], Model]) -> Model:
        """The model of a key, loaded on first use; simultaneous threads share one."""
        with self._lock:
            if key not in self._models:
                self._models[key] = load()
            self._models.move_to_end(key)
            model = self._models[key]
            while len(self._models) > self._most:
                self._models.popitem(last=False)
            return model

    def clear(self) -> None:
        """Release all models; a model in use lives on until its user is done."""
        with self._lock:
            self._models.clear()


def release_models() -> None:
    """Release all models in memory; the next call loads them again."""
    for models in _all:
        models.clear()


#: Encoders kept for the next call: two, because some metrics have two models.
_loaded: LoadedModels[Encoder] = LoadedModels(2)

#: A larger number of threads is a typing error, and would stall the machine.
_MOST_THREADS = 1024

#: By encoder: the model's name in its config.json, which can differ from the name of its folder.
_stated: WeakKeyDictionary[Encoder, str] = WeakKeyDictionary()

#: Encoders of `add_encoder`, by name.
_added: dict[str, Encoder] = {}


def add_encoder(name: str, encoder: Encoder) -> None:
    """Register your own encoder for `model=name`; names of built-in models are refused."""
    if find_card(name) is not None:
        msg = f"{name!r} is already the name of a model in nlgauge; choose another name"
        raise RecipeError(msg)
    if encoder.model != name:
        msg = f"encoder.model must be {name!r}, because signatures contain it, got {encoder.model!r}"
        raise RecipeError(msg)
    _added[name] = encoder


def is_added(name: str) -> bool:
    """Whether an encoder was registered under a name; it has its own engine."""
    return name in _added


def remove_encoder(name: str) -> None:
    """Remove an encoder that was registered with `add_encoder`."""
    _added.pop(name, None)


def default_threads() -> int:
    """Number of processors available to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def load_encoder(
    model: str,
    *,
    engine: str = "onnx",
    precision: str = DEFAULT_PRECISION,
    threads: int | None = None,
    device: str = "auto",
    progress: bool = False,
) -> Encoder:
    """Load a model; the two most recently used stay in memory until `release_models()`.

    A model is loaded again when one of its files has changed. Some models (`muse`, files of word vectors) have their
    own engine and ignore `engine`. A precision that the engine does not support is an error.
    """
    check_precision(precision)
    if model in _added:
        if precision != DEFAULT_PRECISION:
            msg = (
                f"encoder {model!r} was registered with add_encoder, so precision {precision!r} cannot be chosen; "
                "omit the precision"
            )
            raise RecipeError(msg)
        return _added[model]
    check_length(model)
    pool = current_run().encoder_pool
    if pool is None:
        return _load(model, engine, precision, threads, device, progress)
    # A pool checks the files of its models itself, so they are not checked again at every call.
    key = (model, engine, precision, threads, device)
    return pool.encoder(key, lambda: _load(model, engine, precision, threads, device, progress))


def _load(model: str, engine: str, precision: str, threads: int | None, device: str, progress: bool) -> Encoder:
    requested = find_engine(engine)
    if not requested.chosen:
        msg = f"engine {engine!r} belongs to its models and cannot be chosen; omit the engine"
        raise RecipeError(msg)
    if threads is not None and not (isinstance(threads, int) and 1 <= threads <= _MOST_THREADS):
        msg = f"threads must be a whole number, at least 1 and at most {_MOST_THREADS}, got {threads!r}"
        raise RecipeError(msg)
    if requested.only_cpu and device not in {"auto", "cpu"}:
        msg = (
            f"engine {engine!r} runs on the CPU only, and the device is {device!r}; "
            "engine 'torch' has the devices auto, cpu, cuda and cuda:NUMBER"
        )
        raise RecipeError(msg)
    used = _engine_of(model, requested)
    _check_precision(used, precision, model=model)
    files, state = _find(model, progress=progress)
    count = threads or default_threads()
    # The name is part of the key: the same folder has other signatures by path than by name.
    key = (
        files.name,
        state,
        used.name,
        precision,
        count if used.name != "static" else 0,
        device if used.chosen else "",
    )

    def load() -> Encoder:
        began = time.perf_counter()
        encoder = _noted(used.load(files, count, device, precision), files)
        seconds = time.perf_counter() - began
        log.info("loading model %s from %s (%s): %.1f s", files.name, files.path, encoder.engine, seconds)
        return encoder

    return _loaded.get(key, load)


def configured_name(encoder: Encoder) -> str:
    """The model's name in the config.json of a loaded encoder (`_name_or_path`); empty if there is none."""
    return _stated.get(encoder, "")


def _noted(encoder: Encoder, files: ModelFiles) -> Encoder:
    with contextlib.suppress(ModelError, TypeError):  # no config.json, or an encoder that cannot be a key
        _stated[encoder] = str(files.config.get("_name_or_path") or "")
    return encoder


def _engine_of(model: str, requested: Engine) -> Engine:
    """The model's own engine, or else the requested one."""
    card = find_card(model)
    if card is None and Path(model).is_file():
        return find_engine("static")
    return find_engine(card.engine) if card is not None and card.engine else requested


def _check_precision(used: Engine, precision: str, *, model: str) -> None:
    """Raise RecipeError if the engine does not support a precision."""
    if precision in used.precisions:
        return
    problem = f"engine {used.name!r} supports {', '.join(used.precisions)}, not {precision!r}"
    if not used.chosen:
        msg = f"model {model!r} has its own engine: {problem}; omit the precision, or use another model"
        raise RecipeError(msg)
    others = [repr(name) for name in engines_with(precision)]
    fix = f"use engine {' or '.join(others)}" if others else "no installed engine supports it"
    msg = f"{problem}; {fix}"
    raise RecipeError(msg)


def _find(model: str, *, progress: bool) -> tuple[ModelFiles, str]:
    """The model's files, and a digest of their state."""
    card = find_card(model)
    if card is None and Path(model).is_file():
        path = Path(model)
        return ModelFiles(path.name, path), f"{path.resolve()} {file_digest(path)}"
    if card is not None and card.kind != "encoder":
        kind = f"{'an' if card.kind[0] in 'aeiou' else 'a'} {card.kind}"
        msg = f"model {model!r} is {kind}, not an encoder; use an encoder such as {', '.join(encoder_names())}"
        raise UnsupportedModelError(msg)
    files = resolve(model, progress=progress)
    return files, files.state
