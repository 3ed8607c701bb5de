"""Load a model on an engine, once."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path

from nlgauge.encoders.base import Encoder
from nlgauge.errors import RecipeError, UnsupportedModelError
from nlgauge.files.digests import file_digest
from nlgauge.models.catalog import CARDS, find_card
from nlgauge.models.resolve import resolve

__all__ = ["ENGINES", "default_threads", "load_encoder"]

ENGINES = ("onnx", "torch")

#: Loaded encoders kept for the next call; a program that scores in a loop must not load each time.
_KEEP = 2
_loaded: OrderedDict[tuple[str, str, str, int, str], Encoder] = OrderedDict()

#: More threads than any machine has processors are a slip of the keyboard, and would stall it.
_MOST_THREADS = 1024
_lock = threading.Lock()


def default_threads() -> int:
    """The processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def load_encoder(
    model: str,
    *,
    engine: str = "onnx",
    threads: int | None = None,
    device: str = "auto",
    progress: bool = False,
) -> Encoder:
    """The model, loaded; the last few stay in memory."""
    if engine not in ENGINES:
        msg = f"unknown engine {engine!r}; there are: {', '.join(ENGINES)}"
        raise RecipeError(msg)
    if threads is not None and not (isinstance(threads, int) and 1 <= threads <= _MOST_THREADS):
        msg = f"threads must be a whole number, at least 1 and at most {_MOST_THREADS}, got {threads!r}"
        raise RecipeError(msg)
    if engine == "onnx" and device not in {"auto", "cpu"}:
        msg = f"engine 'onnx' computes on the CPU; for device {device!r} use engine 'torch'"
        raise RecipeError(msg)
    if model == "muse":
        return _multilingual(threads or default_threads())
    if Path(model).is_file():
        return _word_vectors(Path(model))
    card = find_card(model)
    if card is not None and card.kind != "encoder":
        encoders = ", ".join(name for name, known in CARDS.items() if known.kind == "encoder")
        msg = f"model {model!r} is a {card.kind}, which gives no vectors; take an encoder, such as {encoders} or muse"
        raise UnsupportedModelError(msg)
    files = resolve(model, progress=progress)
    # The name is part of the key: the same folder asked for by path and by name signs differently.
    where = str(files.path.resolve())
    key = (files.name, where + files.weights_digest, engine, threads or default_threads(), device)
    with _lock:
        if key in _loaded:
            _loaded.move_to_end(key)
            return _loaded[key]
        encoder: Encoder
        if engine == "onnx":
            from nlgauge.encoders.engines.onnx_engine import OnnxEncoder

            encoder = OnnxEncoder(files, threads=key[3])
        else:
            from nlgauge.encoders.engines.torch_engine import TorchEncoder

            encoder = TorchEncoder(files, threads=key[3], device=device)
        return _keep(key, encoder)


def _word_vectors(path: Path) -> Encoder:
    """A file of word vectors needs no engine."""
    from nlgauge.encoders.engines.static import StaticEncoder

    key = (path.name, str(path.resolve()) + file_digest(path), "static", 0, "")
    with _lock:
        return _loaded[key] if key in _loaded else _keep(key, StaticEncoder(path))


def _multilingual(threads: int) -> Encoder:
    """The embedded multilingual model comes as a package, with an engine of its own."""
    from nlgauge.encoders.engines.muse import MuseEncoder

    key = ("muse", "", "numpy", threads, "")
    with _lock:
        return _loaded[key] if key in _loaded else _keep(key, MuseEncoder(threads=threads))


def _keep(key: tuple[str, str, str, int, str], encoder: Encoder) -> Encoder:
    _loaded[key] = encoder
    while len(_loaded) > _KEEP:
        _loaded.popitem(last=False)
    return encoder
