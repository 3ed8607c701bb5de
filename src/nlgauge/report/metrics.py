"""Descriptions of metrics and their options, for the command line, the service and the documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from nlgauge.core.metric import Metric
from nlgauge.core.options import BY_PROFILE, Option
from nlgauge.core.result import Result
from nlgauge.io.table import Cell, Table

#: Sections of a metric's docstring that `nlgauge show` prints.
SHOWN_SECTIONS = ("What it computes", "Profiles and deviations")


class MetricSummary(NamedTuple):
    """A metric in one line."""

    name: str
    what: str
    components: tuple[str, ...]
    main: str
    better: str
    """higher or lower"""
    distances: tuple[str, ...]
    """Components that are better when they are lower, next to a main one that is not."""


class OptionSummary(NamedTuple):
    """An option of a metric: what it takes, and its default in a recipe that sets nothing."""

    name: str
    default: str
    values: str
    help: str


@dataclass(frozen=True)
class MetricList(Result):
    """The metrics, a line each."""

    format = "nlgauge-metrics-1"

    metrics: tuple[MetricSummary, ...]

    @classmethod
    def of(cls, metrics: Iterable[type[Metric]]) -> MetricList:
        """Describe metrics."""
        return cls(tuple(map(describe_metric, metrics)))

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric."""
        rows: list[list[Cell]] = [[m.name, m.better, ", ".join(m.components), m.what] for m in self.metrics]
        return [Table(["name", "better", "components", "what"], rows)]


@dataclass(frozen=True)
class MetricDescription(Result):
    """A metric with its options, equation and citation."""

    format = "nlgauge-metric-1"

    metric: MetricSummary
    options: tuple[OptionSummary, ...]
    equation: str
    citation: str

    @classmethod
    def of(cls, metric: type[Metric]) -> MetricDescription:
        """Describe a metric."""
        recipe = metric()
        options = tuple(describe_option(recipe, name, about) for name, about in metric.options().items())
        return cls(describe_metric(metric), options, metric_equation(metric), metric.citation.strip())

    def tables(self, form: str = "text") -> list[Table]:
        """A row per option."""
        rows: list[list[Cell]] = [list(entry) for entry in self.options]
        return [Table(["option", "default", "values", "meaning"], rows, self.metric.name)]

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """Text also has the equation and the citation."""
        if form != "text":
            return super().render(form, decimals=decimals)
        metric = self.metric
        lower = f"; lower is better: {', '.join(metric.distances)}" if metric.distances else ""
        lines = [
            f"{metric.name}: {metric.what}",
            f"{metric.better} is better; components: {', '.join(metric.components)} (reported: {metric.main}){lower}",
            "",
            self.equation,
            "",
        ]
        for entry in self.options:
            lines += [f"{entry.name}  {entry.help}", f"    {entry.values} (default: {entry.default})"]
        how = f"set an option: --metric {metric.name}:{self.options[0].name}=VALUE,..."
        return "\n".join([*lines, "", how, "", self.citation, ""])


def _without_numbers(text: str) -> str:
    """The text without numbers of deviations in parentheses; lines break where they did.

    >>> _without_numbers("scores (D6.8, D6.9). Paper and code disagree (D6.1\\nto D6.4); (D16: keys)")
    'scores. Paper and code disagree;\\n(keys)'
    """
    text = re.sub(r"\bD\d+(\.\d+)?: ", "", text)
    numbers = r"\s\(D\d+(?:\.\d+)?(?:(?:, |\sto )D\d+(?:\.\d+)?)*\)"
    text = re.sub(rf"(?={numbers})[^)]*\n[^)]*\)(\S*)\s", r"\1\n", text)
    return re.sub(numbers, "", text)


def describe_metric(metric: type[Metric]) -> MetricSummary:
    """Name, one sentence, components, and which way is better."""
    recipe = metric()  # what some metrics compute depends on their options
    return MetricSummary(
        metric.name,
        (inspect.getdoc(metric) or "").partition("\n")[0].rstrip("."),
        tuple(recipe.components),
        recipe.main,
        "higher" if recipe.higher_is_better else "lower",
        tuple(name for name in recipe.components if name in recipe.distances),
    )


def describe_option(recipe: Metric, name: str, about: Option) -> OptionSummary:
    """What an option takes, and its default in a recipe that sets nothing."""
    resolved = getattr(recipe, name)
    default = about.kind.show(resolved) if about.default == "" and resolved else about.default_text
    if about.default is BY_PROFILE:
        default = f"{about.kind.show(resolved)} (the profile's)"
    return OptionSummary(name, default, about.values, about.help)


def metric_equation(metric: type[Metric]) -> str:
    """What the metric computes, its profiles and deviations: two sections of its module's docstring."""
    text = inspect.getdoc(inspect.getmodule(metric)) or ""
    _, *parts = re.split(r"^(.+)\n-+\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    shown = [sections[title].strip("\n") for title in SHOWN_SECTIONS if title in sections]
    return _without_numbers("\n\n".join(shown or [text.partition("\n\n")[0]]))
