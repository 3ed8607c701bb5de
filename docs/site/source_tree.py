"""Append the list of source files, with the first sentence of each module docstring, to the page on architecture."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a test reads the tree without Sphinx
    from sphinx.application import Sphinx

SOURCE = Path(__file__).resolve().parents[2] / "src" / "nlgauge"


def summary(path: Path) -> str:
    """First sentence of a module's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"\.(?:\s|$)", paragraph, maxsplit=1)[0]


def escape(text: str) -> str:
    """Escape all Markdown except backticks."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_\[\]<>$#|~])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def folders(folder: Path) -> list[Path]:
    """Packages inside a package."""
    return sorted(child for child in folder.iterdir() if (child / "__init__.py").is_file())


def items(folder: Path, depth: int = 0) -> Iterator[str]:
    """Nested list of a folder: its files, then its folders with their files."""
    indent = "  " * depth
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield f"{indent}- `{path.name}`: {escape(summary(path))}"
    for path in folders(folder):
        yield f"{indent}- `{path.name}/`: {escape(summary(path / '__init__.py'))}"
        yield from items(path, depth + 1)


def tree() -> Iterator[str]:
    """Lines of the list: files at the top, then a heading and a list for each room."""
    yield from (
        f"- `{path.name}`: {escape(summary(path))}" for path in sorted(SOURCE.glob("*.py")) if path.stem != "__init__"
    )
    for room in folders(SOURCE):
        yield from ("", f"### `{room.name}/`", "", f"{escape(summary(room / '__init__.py'))}.", "", *items(room))


def add_tree(app: Sphinx, name: str, source: list[str]) -> None:
    if name == "architecture":
        source[0] += "\n" + "\n".join(tree()) + "\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_tree)
