"""A metric's file reads like its equations: at least half of its lines are in the functions that hold them.

Counted are lines with code in `represent`, `cost`, `compare`, `value` and `finish`, against all lines with code but
for the module's docstring, imports, `__all__` and the citation.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nlgauge.metrics

FOLDER = Path(nlgauge.metrics.__file__).parent
EQUATIONS = {"represent", "cost", "compare", "value", "finish"}


def lines_of(node: ast.stmt) -> set[int]:
    assert node.end_lineno is not None
    return set(range(node.lineno, node.end_lineno + 1))


def is_framing(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Assign):
        return getattr(node.targets[0], "id", "") == "__all__"
    return isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "citation"


def share_of_equations(path: Path) -> float:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    framing = lines_of(tree.body[0]).union(*(lines_of(node) for node in nodes if is_framing(node)))
    code = {
        number for number, line in enumerate(source.splitlines(), 1) if line.strip(" #") and line.strip()[0] != "#"
    }
    code -= framing
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name in EQUATIONS]
    return len(code & set().union(*map(lines_of, functions))) / len(code)


@pytest.mark.parametrize("metric", ["bertscore", "moverscore", "baryscore", "sentsim", "xmoverscore"])
def test_half_of_a_metrics_file_is_its_equations(metric: str) -> None:
    assert share_of_equations(FOLDER / f"{metric}.py") >= 0.5
