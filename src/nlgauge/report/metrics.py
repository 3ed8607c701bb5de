"""Descriptions of metrics as plain data, for the command line, the service and the documentation."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from nlgauge.core.options import BY_PROFILE, Option

if TYPE_CHECKING:
    from nlgauge.core.metric import Metric


def describe_metric(metric: type[Metric]) -> dict[str, Any]:
    """Name, one sentence, components, and which way is better."""
    recipe = metric()  # what some metrics compute depends on their options
    return {
        "name": metric.name,
        "what": (inspect.getdoc(metric) or "").partition("\n")[0].rstrip("."),
        "components": list(recipe.components),
        "main": recipe.main,
        "better": "higher" if recipe.higher_is_better else "lower",
        "distances": [name for name in recipe.components if name in recipe.distances],
    }


def describe_option(recipe: Metric, name: str, about: Option) -> dict[str, Any]:
    """What an option takes, and its default in a recipe that sets nothing."""
    resolved = getattr(recipe, name)
    default = about.kind.show(resolved) if about.default == "" and resolved else about.default_text
    if about.default is BY_PROFILE:
        default = f"{about.kind.show(resolved)} (the profile's)"
    return {"name": name, "default": default, "values": about.values, "help": about.help}


def metric_equation(metric: type[Metric]) -> str:
    """The indented blocks of the docstring of the metric's module, each with the paragraph before it."""
    paragraphs = (inspect.getdoc(inspect.getmodule(metric)) or "").split("\n\n")
    shown: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        if paragraph.startswith("    "):
            before = paragraphs[number - 1] if number else ""
            if before and before not in shown:
                shown.append(before)
            shown.append(paragraph)
    return "\n\n".join(shown or paragraphs[:1])
