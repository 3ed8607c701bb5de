"""JSON Schemas of all results, made from their classes and shipped in `src/nlgauge/core/schemas`.

python -m docs.write_schemas            writes the files
python -m docs.write_schemas --check    ends with 1 where one is not up to date
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import nlgauge
from nlgauge.core.result import Result
from nlgauge.io.formats import json_text

FOLDER = Path(nlgauge.__file__).parent / "core" / "schemas"

#: Rooms whose modules define results.
_ROOMS = ("core", "data", "studies", "report")


def result_classes() -> list[type[Result]]:
    """All results that are written as JSON."""
    for room in _ROOMS:
        package = importlib.import_module(f"nlgauge.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return sorted(
        (kind for kind in _subclasses(Result) if kind.format and kind.__module__.startswith("nlgauge.")),
        key=lambda kind: kind.format,
    )


def _subclasses(kind: type[Result]) -> Iterator[type[Result]]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def files() -> dict[str, str]:
    """The text of each file, by its name."""
    return {f"{kind.format}.json": json_text(kind.schema()) for kind in result_classes()}


def main(arguments: Sequence[str]) -> int:
    """Write the files, or check them."""
    wanted = files()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    if "--check" in arguments:
        stale = [name for name in sorted({*wanted, *there}) if wanted.get(name) != there.get(name)]
        for name in stale:
            print(f"{name} is not up to date: python -m docs.write_schemas")
        return int(bool(stale))
    FOLDER.mkdir(exist_ok=True)
    for name in set(there) - set(wanted):
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
