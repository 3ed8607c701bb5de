"""`nlgauge metrics list|show NAME`: what there is, and what it takes."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from typing import Any

from nlgauge.cli.common import flag_of
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.options import BY_PROFILE, Option
from nlgauge.registry import METRICS, metric_class
from nlgauge.report.deviations import deviation_notes
from nlgauge.report.table import Table

__all__ = ["add_commands", "describe_option"]


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("metrics", help="the metrics, their options, equations and citations")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="names, and what each compares")
    listing.set_defaults(run=_list)
    show = actions.add_parser("show", help="options with values and defaults, the equation, the citation")
    show.add_argument("name", metavar="NAME", help="as in 'nlgauge metrics list'")
    show.set_defaults(run=_show)
    for action in (listing, show):
        action.add_argument("-f", "--format", choices=("text", "json"), default="text", help="(%(default)s)")


def _list(args: argparse.Namespace) -> int:
    described = [_described(metric) for metric in METRICS.values()]
    if args.format == "json":
        print(json.dumps(described, ensure_ascii=False, indent=2))
        return 0
    rows = [[one["name"], one["better"], ", ".join(one["components"]), one["what"]] for one in described]
    sys.stdout.write(Table(["name", "better", "components", "what"], rows).to_text())
    return 0


def _show(args: argparse.Namespace) -> int:
    metric = metric_class(args.name)
    described = _described(metric)
    recipe = metric()
    options = [describe_option(recipe, name, about) for name, about in metric.options().items()]
    if args.format == "json":
        record = {**described, "options": options, "equation": _equation(metric), "citation": metric.citation}
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return 0
    print(f"{metric.name}: {described['what']}")
    print(f"{described['better']} is better; components: {', '.join(recipe.components)} (reported: {recipe.main})")
    equation = _equation(metric)
    print("\n" + "\n\n".join([equation, *deviation_notes([equation])]) + "\n")
    for option in options:
        print(f"{option['flag']}  {option['help']}")
        print(f"    {option['values']} (default: {option['default']})")
    print(f"\nfor one metric of several: --metric {metric.name}:{options[0]['name']}=VALUE,...\n")
    print(metric.citation.strip())
    return 0


def _described(metric: type[Metric]) -> dict[str, Any]:
    recipe = metric()  # what some metrics compute depends on their options
    return {
        "name": metric.name,
        "what": (inspect.getdoc(metric) or "").partition("\n")[0].rstrip("."),
        "components": list(recipe.components),
        "main": recipe.main,
        "better": "higher" if recipe.higher_is_better else "lower",
    }


def describe_option(recipe: Metric, name: str, about: Option) -> dict[str, Any]:
    """All that is known about an option: its flag, what it takes, and its default in a recipe that sets nothing."""
    resolved = getattr(recipe, name)
    default = about.kind.show(resolved) if about.default == "" and resolved else about.default_text
    if about.default is BY_PROFILE:
        default = f"{about.kind.show(resolved)} (the profile's)"
    return {
        "name": name,
        "flag": flag_of(name),
        "default": default,
        "values": about.values,
        "help": about.help,
    }


def _equation(metric: type[Metric]) -> str:
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
