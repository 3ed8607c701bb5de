"""Models that stay in memory between calls, because a program that scores in a loop must not load each time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["LoadedModels", "release_models"]

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
            found = self._models[key]
            while len(self._models) > self._most:
                self._models.popitem(last=False)
            return found

    def clear(self) -> None:
        """Let all of them go; one that is in use lives on until its user is done."""
        with self._lock:
            self._models.clear()


def release_models() -> None:
    """Let go of every model that is kept in memory; the next call loads what it needs again."""
    for models in _all:
        models.clear()
