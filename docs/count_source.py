"""Count the source: files, lines, imports, public names and flags. This report never fails a build.

python -m docs.count_source            print all figures and lists
python -m docs.count_source --write    also write the main figures into docs/architecture.md
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "nlgauge"
PAGE = ROOT / "docs" / "architecture.md"
BLOCK = re.compile(r"(<!-- figures -->\n).*?(<!-- end -->)", re.DOTALL)

SHORT_FILE = 100
LONGEST = 10

#: Flags that are not counted.
_HELP = ("help", "help_all")

_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


@dataclass(frozen=True, kw_only=True)
class Module:
    """A file of the source, parsed."""

    path: Path
    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the table, with its target if it has one."""

    name: str
    value: str
    bar: str = ""


def read_modules(source: Path) -> list[Module]:
    """All modules of a package, with their dotted names."""
    modules = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts).removesuffix(".__init__")
        modules.append(Module(path=path, name=name, text=text, tree=ast.parse(text)))
    return modules


def count_code_lines(module: Module) -> int:
    """Lines that are not blank, not only a comment and not part of a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def imported_names(module: Module) -> Iterator[str]:
    """Dotted names that a module imports anywhere, also inside functions; `from a import b` gives `a.b` and `a`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def find_single_importers(modules: Sequence[Module]) -> dict[str, str]:
    """Modules imported only by one module of the same folder: the importer's file name by path.

    A module imported only by the `__init__` of its folder is public, so it does not count.
    """
    by_name = {module.name: module for module in modules}
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in by_name.keys() & set(imported_names(module)) - {module.name}:
            importers[name].add(module.name)
    single = {}
    for name, module in by_name.items():
        if not module.is_package and len(importers[name]) == 1:
            importer = by_name[next(iter(importers[name]))]
            if importer.path.parent == module.path.parent and not importer.is_package:
                single[relative(module.path)] = importer.path.name
    return single


def function_lengths(modules: Sequence[Module]) -> list[tuple[int, str]]:
    """Length of each function in lines, with its location; longest first."""
    lengths = [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{relative(module.path)}:{node.lineno} {node.name}")
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return sorted(lengths, reverse=True)


def repeated_names(modules: Sequence[Module]) -> dict[str, int]:
    """File names that occur more than twice."""
    counts = Counter(module.path.name for module in modules if not module.is_package)
    return {name: count for name, count in counts.most_common() if count > 2}


def count_flags() -> dict[str, tuple[int, int]]:
    """Number of flags in `--help` and in `--help-all` by command, without `-h`."""
    from nlgauge.apps.cli import build_parser
    from nlgauge.apps.cli.flags import CommandParser, is_shown

    counts = {}

    def visit(parser: CommandParser) -> None:
        flags = [action for action in parser._actions if action.option_strings and action.dest not in _HELP]
        counts[parser.prog] = (
            sum(action.help is not argparse.SUPPRESS for action in flags),
            sum(map(is_shown, flags)),
        )
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for child in dict.fromkeys(action.choices.values()):
                    visit(child)

    visit(build_parser())
    return counts


def relative(path: Path) -> str:
    """Path inside the package."""
    return path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else path.name


def main_figures(modules: Sequence[Module], flags: dict[str, tuple[int, int]]) -> list[Figure]:
    """Figures that docs/architecture.md quotes."""
    import nlgauge

    entries = [path for path in SOURCE.iterdir() if path.name != "__pycache__"]
    short = sum(module.lines < SHORT_FILE for module in modules)
    few, all_flags = (sum(counts) for counts in zip(*flags.values(), strict=True))
    return [
        Figure(name="files (`*.py`)", value=f"{len(modules):,}", bar="at most 260"),
        Figure(name="lines", value=f"{sum(module.lines for module in modules):,}", bar="at most 57,000"),
        Figure(
            name="lines of code, without docstrings, comments and blank lines",
            value=f"{sum(map(count_code_lines, modules)):,}",
        ),
        Figure(name="folders in `src/nlgauge`", value=str(sum(path.is_dir() for path in entries)), bar="at most 11"),
        Figure(name="files in `src/nlgauge`", value=str(sum(path.is_file() for path in entries)), bar="at most 8"),
        Figure(
            name="files that only one file of their folder imports",
            value=str(len(find_single_importers(modules))),
            bar="fewer than 25",
        ),
        Figure(name=f"files of fewer than {SHORT_FILE} lines", value=str(short)),
        Figure(name="public names (`nlgauge.__all__`)", value=str(len(nlgauge.__all__))),
        Figure(name="flags of all commands in `--help`", value=str(few)),
        Figure(name="flags of all commands in `--help-all`", value=str(all_flags)),
    ]


def format_table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = [f"| {figure.name} | {figure.value} | {figure.bar} |".replace("|  |", "| |") for figure in figures]
    return "\n".join(["| figure | now | bar |", "|---|---|---|", *rows, ""])


def format_lists(modules: Sequence[Module], flags: dict[str, tuple[int, int]]) -> str:
    """Files and functions behind the figures."""
    files = sorted(((module.lines, relative(module.path)) for module in modules), reverse=True)
    parts = {
        "Files that only one file of their folder imports": [
            f"{path} <- {importer}" for path, importer in find_single_importers(modules).items()
        ],
        "Longest files": [f"{lines:5} {path}" for lines, path in files[:LONGEST]],
        "Longest functions": [f"{lines:5} {place}" for lines, place in function_lengths(modules)[:LONGEST]],
        "File names that occur more than twice": [
            f"{count:5} {name}" for name, count in repeated_names(modules).items()
        ],
        "Flags by command: --help, --help-all": [
            f"{few:5} {count:5} {command}" for command, (few, count) in flags.items() if count
        ],
    }
    return "\n".join(f"{title}:\n" + "".join(f"  {row}\n" for row in rows) for title, rows in parts.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures, and write them into the page with `--write`."""
    parser = argparse.ArgumentParser(prog="python -m docs.count_source", description="Count the source.")
    parser.add_argument("--write", action="store_true", help="write the main figures into docs/architecture.md")
    args = parser.parse_args(arguments)
    modules = read_modules(SOURCE)
    flags = count_flags()
    table = format_table(main_figures(modules, flags))
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(BLOCK.sub(lambda block: block[1] + table + block[2], page), encoding="utf-8")
    print(table)
    print(format_lists(modules, flags), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
