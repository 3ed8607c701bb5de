"""Append the tree of source files, with the first line of each module docstring, to the page on architecture."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

SOURCE = Path(__file__).resolve().parents[2] / "src" / "nlgauge"


def summary(path: Path) -> str:
    """The first line of the module's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def tree(folder: Path = SOURCE, depth: int = 0) -> Iterator[str]:
    """Lines of the tree: files first, then folders with their files."""
    indent = "    " * depth
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield f"{indent}{path.name:<{max(28 - len(indent), 12)}}{summary(path)}"
    for path in sorted(child for child in folder.iterdir() if (child / "__init__.py").is_file()):
        name = f"{path.name}/"
        yield f"{indent}{name:<{max(28 - len(indent), 12)}}{summary(path / '__init__.py')}".rstrip()
        yield from tree(path, depth + 1)


def add_tree(app: Sphinx, name: str, source: list[str]) -> None:
    if name == "architecture":
        source[0] += "```text\n" + "\n".join(tree()) + "\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_tree)
