"""The files of systems in a command: `NAME=FILE` for texts, saved runs, or several runs of a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nlgauge.core.metric import Metric
from nlgauge.errors import RecipeError
from nlgauge.io.textfiles import split_name


@dataclass(frozen=True)
class SystemFiles:
    """Files by the names of their systems (`NAME=FILE`), or without one."""

    specs: list[str]
    names: list[str | None]
    runs: bool

    @classmethod
    def of(cls, arguments: Sequence[str], *, runs: bool) -> SystemFiles:
        """Split the arguments into names and files."""
        pairs = [(name or None, spec) for name, spec in map(split_name, arguments)]
        names = [name for name, _ in pairs]
        for name in names:
            if name is not None and names.count(name) > 1 and not runs:
                msg = f"system {name!r} is given twice; use --runs if the files are runs (seeds) of one system"
                raise RecipeError(msg)
        if runs and None in names:
            msg = (
                "--runs needs NAME=FILE for every file, and files with the same NAME are runs of one system, such as "
                "base=seed1.txt base=seed2.txt new=seed3.txt new=seed4.txt"
            )
            raise RecipeError(msg)
        return cls([spec for _, spec in pairs], names, runs)

    @property
    def saved(self) -> bool:
        """Whether the files are saved runs; a mixture is refused."""
        json = [spec for spec in self.specs if spec.lower().endswith(".json")]
        if json and len(json) < len(self.specs):
            other = next(spec for spec in self.specs if spec not in json)
            msg = (
                f"{json[0]!r} is a saved run and {other!r} is a text file; compare saved runs or text files, not "
                f"both. To save a run: nlgauge score {other} --refs REF -o {Path(other).stem}.json"
            )
            raise RecipeError(msg)
        return bool(json)

    def renamed(self, labels: Sequence[str]) -> dict[str, str]:
        """Names of systems by label; runs of a system are numbered."""
        names: dict[str, str] = {}
        for index, (label, name) in enumerate(zip(labels, self.names, strict=True)):
            number = self.names[: index + 1].count(name)
            names[label] = label if name is None else f"{name} run {number}" if self.runs else name
        if len(set(names.values())) < len(names):
            twice = next(name for name in names.values() if list(names.values()).count(name) > 1)
            msg = f"two systems are called {twice!r}; give one of them another name: NAME=FILE"
            raise RecipeError(msg)
        return names

    def runs_of(self, systems: Sequence[str]) -> dict[str, str]:
        """System of each run."""
        return {run: name for run, name in zip(systems, self.names, strict=True) if self.runs and name is not None}


def check_twice(metrics: Sequence[str], recipes: Sequence[Metric]) -> None:
    """Refuse the same recipe twice; two recipes of a metric are two columns."""
    for index, (metric, recipe) in enumerate(zip(metrics, recipes, strict=True)):
        if recipe in recipes[:index]:
            other = metrics[recipes.index(recipe)]
            same = "is given twice" if other == metric else f"is the same recipe as {other!r}"
            msg = f"--metric: {metric!r} {same}; leave one out"
            raise RecipeError(msg)
