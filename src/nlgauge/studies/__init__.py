"""Studies: which system is better, how far a metric can be trusted, and why a text scored low."""

import importlib
from types import ModuleType

_MODULES = (
    "alignment",
    "compare",
    "discourse",
    "explain",
    "factors",
    "learned",
    "meta",
    "paired_evaluation",
    "paired_measures",
    "published",
    "sensitivity",
    "stress",
)


def __getattr__(name: str) -> ModuleType:
    # `nlgauge.studies.compare` works after `import nlgauge`, and none is loaded before it is used.
    if name in _MODULES:
        return importlib.import_module(f"nlgauge.studies.{name}")
    msg = f"module 'nlgauge.studies' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
