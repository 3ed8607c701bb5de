"""Functions that later layers give to the core, which imports none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_explainers: list[Callable[..., Any]] = []


def register_explainer(explain: Callable[..., Any]) -> None:
    """Register the function behind `Score.explain`: it takes a score, the index of a segment and options."""
    _explainers[:] = [explain]


def explain_segment(score: Any, segment: int, **options: Any) -> Any:
    """Call the registered explainer."""
    return _explainers[0](score, segment, **options)
