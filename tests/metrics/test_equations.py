"""A metric's file is short, and at least half of its lines are in the functions that hold its equations.

Counted are lines with code in `represent`, `compare`, `finish` and the functions they are made of, against all lines
with code but for the module's docstring, imports, and what is declared: options with their checks, profiles,
constants, the citation.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nlgauge.metrics
from nlgauge.core.metric import Metric
from nlgauge.core.registry import built_in_metrics

FOLDER = Path(nlgauge.metrics.__file__).parent
EQUATIONS = {"represent", "compare", "finish"}

#: Functions that these are made of, by file.
MADE_OF = {
    "moverscore": {"cloud", "ngrams", "costs", "move", "lengths"},
    "sentsim": {"_compute_part", "flow_links", "wmdo"},
}

#: What an option means for other options and for the run, which is declared as options are.
CHECKS = {"unused", "unused_by", "check", "check_recipe", "layers", "prepare", "run_text_models"}


#: Lines of code that a metric's file may have.
MOST_LINES = 160


def lines_of(node: ast.stmt) -> set[int]:
    assert node.end_lineno is not None
    return set(range(node.lineno, node.end_lineno + 1))


def declarations(tree: ast.Module) -> list[ast.stmt]:
    """Imports, constants of the module, and attributes of classes, which are options."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
    declared = [node for body in (tree.body, *(made.body for made in classes)) for node in body]
    return [
        *(node for node in declared if isinstance(node, kinds)),
        *(node for node in declared if isinstance(node, ast.FunctionDef) and node.name in CHECKS),
    ]


def share_of_equations(path: Path) -> float:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    names = EQUATIONS | MADE_OF.get(path.stem, set())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    framing = lines_of(tree.body[0]).union(*map(lines_of, declarations(tree)))
    code = {
        number for number, line in enumerate(source.splitlines(), 1) if line.strip(" #") and line.strip()[0] != "#"
    }
    code -= framing
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name in names]
    return len(code & set().union(*map(lines_of, functions))) / len(code)


@pytest.mark.parametrize("metric", ["bertscore", "moverscore", "baryscore", "sentsim", "xmoverscore"])
def test_half_of_a_metrics_file_is_its_equations(metric: str) -> None:
    assert share_of_equations(FOLDER / f"{metric}.py") >= 0.5


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_metrics_file_is_short(path: Path) -> None:
    """Docstrings, comments and blank lines are not counted."""
    source = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
        for number in lines_of(node.body[0])
    }
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    assert sum(bool(line) and line[0] != "#" and i not in docstrings for i, line in lines) <= MOST_LINES


def depth(metric: type[Metric]) -> int:
    """Classes from `Metric` to a metric, both counted."""
    if metric is Metric:
        return 1
    return 1 + max(depth(base) for base in metric.__bases__ if issubclass(base, Metric))


@pytest.mark.parametrize("metric", built_in_metrics().values(), ids=list(built_in_metrics()))
def test_metrics_are_composed_rather_than_inherited(metric: type[Metric]) -> None:
    assert depth(metric) <= 4
