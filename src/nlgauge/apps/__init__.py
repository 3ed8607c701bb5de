"""Applications: command line, service, cluster runs and drop-in replacements."""

import importlib
from types import ModuleType

_MODULES = ("cli", "cluster", "compat", "service")


def __getattr__(name: str) -> ModuleType:
    # `nlgauge.apps.compat` works after `import nlgauge`, and none is loaded before it is used.
    if name in _MODULES:
        return importlib.import_module(f"nlgauge.apps.{name}")
    msg = f"module 'nlgauge.apps' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
