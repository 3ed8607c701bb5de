"""Let transformers read a .gguf file once instead of three times, and without a bar of its own.

For tokenizer, configuration and weights it parses the file's vocabulary anew, a string at a time, and it makes one
table of names anew for every module of the network. Nothing of that differs from one time to the next. Remembered
while a model loads, SmolLM2-135M is there in 12 instead of 27 seconds on one thread, with the same numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from nlgauge.telemetry import import_silenced

__all__ = ["parse_gguf_once"]

#: What is replaced for a while belongs to all threads.
_lock = threading.Lock()


@contextmanager
def parse_gguf_once() -> Iterator[None]:
    """While this lasts, a .gguf file is parsed once; what a version of the packages does not have is left alone."""
    import gguf

    loader = import_silenced("transformers.modeling_gguf_pytorch_utils")
    places: list[tuple[Any, str, Any]] = [
        (gguf, "GGUFReader", lru_cache(maxsize=1)),
        (gguf, "get_tensor_name_map", lru_cache(maxsize=1)),
        (loader, "tqdm", lambda _: _without_bar),
    ]
    places = [place for place in places if hasattr(place[0], place[1])]
    with _lock:
        before = [(holder, name, getattr(holder, name)) for holder, name, _ in places]
        try:
            for holder, name, replace in places:
                setattr(holder, name, replace(getattr(holder, name)))
            yield
        finally:
            for holder, name, original in before:
                setattr(holder, name, original)


def _without_bar(items: Any, *_: Any, **__: Any) -> Any:
    return items
