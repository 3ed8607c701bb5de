"""Engines by name, and models loaded on them, which stay in memory because a program may score in a loop.

A package can bring another engine by an entry point of the group `nlgauge.engines` whose name is the engine's and
whose object is an `Engine`. Then `--engine NAME` takes it, and signatures that start with its `signed` lead to it.
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


def _load_built_in(engine: str, files: ModelFiles, threads: int, device: str, precision: str) -> Encoder:
    """Imports are here because an engine takes a moment to load, and most runs need one."""
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
    """The engine of that name, or an error that lists what there is."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _plugins():
        return _from_plugin(name)
    msg = f"unknown engine {name!r}; there are: {', '.join(engine_names())}"
    raise RecipeError(msg)


def engines_with(precision: str) -> tuple[str, ...]:
    """The engines that a caller can choose and that compute in that precision."""
    names = []
    for name in engine_names():
        with contextlib.suppress(RecipeError):  # a package that does not load has no precision
            names += [name] if precision in find_engine(name).precisions else []
    return tuple(names)


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


Model = TypeVar("Model")

_all: list[LoadedModels[Any]] = []


class LoadedModels(Generic[Model]):
    """The models used last, at most `most` of them; threads may share one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._models: OrderedDict[Hashable, Model] = OrderedDict()
        self._lock = threading.RLock()
        _all.append(self)

    def __len__(self) -> int:
        return len(self._models)

    def get(self, key: Hashable, load: Callable[[], Model]) -> Model:
        """The model of that key, loaded if it is not here; threads that ask for it at once share one."""
        with self._lock:
            if key not in self._models:
                self._models[key] = load()
            self._models.move_to_end(key)
            model = self._models[key]
            while len(self._models) > self._most:
                self._models.popitem(last=False)
            return model

    def clear(self) -> None:
        """Let all of them go; one that is in use lives on until its user is done."""
        with self._lock:
            self._models.clear()


def release_models() -> None:
    """Let go of every model that is kept in memory; the next call loads what it needs again."""
    for models in _all:
        models.clear()


#: Encoders kept for the next call: two, because some metrics have two models.
_loaded: LoadedModels[Encoder] = LoadedModels(2)

#: More threads than any machine has processors are a slip of the keyboard, and would stall it.
_MOST_THREADS = 1024

#: By encoder: the model that its config.json names, which need not be what its folder is called.
_stated: WeakKeyDictionary[Encoder, str] = WeakKeyDictionary()

#: Encoders that a program made itself, by the name it gave them.
_added: dict[str, Encoder] = {}


def add_encoder(name: str, encoder: Encoder) -> None:
    """Make an encoder of one's own known under a name, for `model=name`; the name of a known model is refused."""
    if find_card(name) is not None:
        msg = f"{name!r} is the name of a model that nlgauge knows; choose another one"
        raise RecipeError(msg)
    if encoder.model != name:
        msg = f"the encoder's model must be {name!r}, as signatures will say, got {encoder.model!r}"
        raise RecipeError(msg)
    _added[name] = encoder


def is_added(name: str) -> bool:
    """Whether a name is that of an encoder that was added, which brings its own engine."""
    return name in _added


def remove_encoder(name: str) -> None:
    """Forget an encoder that was added."""
    _added.pop(name, None)


def default_threads() -> int:
    """The processors this process may use."""
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
    """The model, loaded; the two used last stay in memory until `release_models()` lets them go.

    A model is loaded again when one of its files has changed. Some models (`muse`, files of word vectors) bring
    their own engine, whichever is asked for. A precision that the engine does not have is an error.
    """
    check_precision(precision)
    if model in _added:
        if precision != DEFAULT_PRECISION:
            msg = (
                f"the encoder {model!r} was added by a program and computes as it does: precision {precision!r} "
                "cannot be asked of it; leave the precision out"
            )
            raise RecipeError(msg)
        return _added[model]
    check_length(model)
    pool = current_run().encoder_pool
    if pool is None:
        return _load(model, engine, precision, threads, device, progress)
    # A pool answers for the files of its models, so nobody looks at them again for every call.
    key = (model, engine, precision, threads, device)
    return pool.encoder(key, lambda: _load(model, engine, precision, threads, device, progress))


def _load(model: str, engine: str, precision: str, threads: int | None, device: str, progress: bool) -> Encoder:
    asked = find_engine(engine)
    if not asked.chosen:
        msg = f"engine {engine!r} comes with its models and is not chosen; leave the engine out"
        raise RecipeError(msg)
    if threads is not None and not (isinstance(threads, int) and 1 <= threads <= _MOST_THREADS):
        msg = f"threads must be a whole number, at least 1 and at most {_MOST_THREADS}, got {threads!r}"
        raise RecipeError(msg)
    if asked.only_cpu and device not in {"auto", "cpu"}:
        msg = f"engine {engine!r} computes on the CPU; for device {device!r} use engine 'torch'"
        raise RecipeError(msg)
    used = _engine_of(model, asked)
    _check_precision(used, precision, model=model)
    files, state = _find(model, progress=progress)
    count = threads or default_threads()
    # The name is part of the key: the same folder asked for by path and by name signs differently.
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


def stated_name(encoder: Encoder) -> str:
    """The model that the config.json of a loaded encoder names (`_name_or_path`); empty where it names none."""
    return _stated.get(encoder, "")


def _noted(encoder: Encoder, files: ModelFiles) -> Encoder:
    with contextlib.suppress(ModelError, TypeError):  # no config.json; an encoder that cannot be a key
        _stated[encoder] = str(files.config.get("_name_or_path") or "")
    return encoder


def _engine_of(model: str, asked: Engine) -> Engine:
    """The engine that the model brings, or else the one asked for."""
    card = find_card(model)
    if card is None and Path(model).is_file():
        return find_engine("static")
    return find_engine(card.engine) if card is not None and card.engine else asked


def _check_precision(used: Engine, precision: str, *, model: str) -> None:
    """Nothing is computed in another precision than the one asked for."""
    if precision in used.precisions:
        return
    known = f"engine {used.name!r} computes in {', '.join(used.precisions)}, not in {precision!r}"
    if not used.chosen:
        msg = f"model {model!r} brings its own engine: {known}; leave the precision out, or take another model"
        raise RecipeError(msg)
    others = [repr(name) for name in engines_with(precision)]
    fix = f"use engine {' or '.join(others)}" if others else "no engine here does"
    msg = f"{known}; {fix}"
    raise RecipeError(msg)


def _find(model: str, *, progress: bool) -> tuple[ModelFiles, str]:
    """The model's files, and a digest of their state."""
    card = find_card(model)
    if card is None and Path(model).is_file():
        path = Path(model)
        return ModelFiles(path.name, path), f"{path.resolve()} {file_digest(path)}"
    if card is not None and card.kind != "encoder":
        kind = f"{'an' if card.kind[0] in 'aeiou' else 'a'} {card.kind}"
        msg = (
            f"model {model!r} is {kind}, which gives no vectors; "
            f"take an encoder, such as {', '.join(encoder_names())}"
        )
        raise UnsupportedModelError(msg)
    files = resolve(model, progress=progress)
    return files, files.state
