"""`nlgauge metrics list|show NAME`: what there is, and what it takes."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from nlgauge.cli.common import flag_of
from nlgauge.registry import METRICS, metric_class
from nlgauge.report.deviations import deviation_notes
from nlgauge.report.metrics import describe_metric, describe_option, metric_equation
from nlgauge.report.table import Table

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("metrics", help="the metrics, their options, equations and citations")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="names, and what each compares")
    listing.set_defaults(run=_list)
    show = actions.add_parser("show", help="options with values and defaults, the equation, the citation")
    show.add_argument("name", metavar="NAME", help="as in 'nlgauge metrics list'")
    show.set_defaults(run=_show)
    for action, formats in ((listing, ("text", "json", "markdown")), (show, ("text", "json"))):
        action.add_argument("-f", "--format", choices=formats, default="text", help="(%(default)s)")


def _list(args: argparse.Namespace) -> int:
    described = [describe_metric(metric) for metric in METRICS.values()]
    if args.format == "json":
        print(json.dumps(described, ensure_ascii=False, indent=2))
        return 0
    rows = [[one["name"], one["better"], ", ".join(one["components"]), one["what"]] for one in described]
    sys.stdout.write(Table(["name", "better", "components", "what"], rows).write(args.format))
    return 0


def _show(args: argparse.Namespace) -> int:
    metric = metric_class(args.name)
    described = describe_metric(metric)
    recipe = metric()
    options = [
        {**describe_option(recipe, name, about), "flag": flag_of(name)} for name, about in metric.options().items()
    ]
    if args.format == "json":
        record = {**described, "options": options, "equation": metric_equation(metric), "citation": metric.citation}
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return 0
    print(f"{metric.name}: {described['what']}")
    lower = f"; lower is better: {', '.join(described['distances'])}" if described["distances"] else ""
    components = f"components: {', '.join(recipe.components)} (reported: {recipe.main}){lower}"
    print(f"{described['better']} is better; {components}")
    equation = metric_equation(metric)
    print("\n" + "\n\n".join([equation, *deviation_notes([equation])]) + "\n")
    for option in options:
        print(f"{option['flag']}  {option['help']}")
        print(f"    {option['values']} (default: {option['default']})")
    print(f"\nfor one metric of several: --metric {metric.name}:{options[0]['name']}=VALUE,...\n")
    print(metric.citation.strip())
    return 0
