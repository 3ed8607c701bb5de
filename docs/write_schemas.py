"""Generate the JSON Schemas of results, frozen tables and other files in `src/nlgauge/core/schemas`.

python -m docs.write_schemas            write the files
python -m docs.write_schemas --check    exit with status 1 if a file is not up to date
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from docs.generated import write_or_check

import nlgauge
from nlgauge.core.result import Document, Result, schema_of, schema_of_document
from nlgauge.io.storage import FrozenTable, json_text

FOLDER = Path(nlgauge.__file__).parent / "core" / "schemas"

#: Packages with classes that are written as JSON.
_ROOMS = ("apps.cluster", "core", "data", "metrics", "report", "studies", "text")

Kind = TypeVar("Kind", bound=type)


def result_classes() -> list[type[Result]]:
    """All results that are written as JSON."""
    _import_rooms()
    return sorted((kind for kind in _subclasses(Result) if kind.format), key=lambda kind: kind.format)


def frozen_classes() -> list[type[FrozenTable]]:
    """All tables frozen in a JSON file, without results."""
    _import_rooms()
    return [kind for kind in _subclasses(FrozenTable) if not issubclass(kind, Result)]


def document_classes() -> list[type[Document]]:
    """All other classes that are written as JSON files."""
    _import_rooms()
    return list(_subclasses(Document))


def _import_rooms() -> None:
    importlib.import_module("nlgauge.encoders.int8")  # only this module: others need engines that may be missing
    for room in _ROOMS:
        package = importlib.import_module(f"nlgauge.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def _subclasses(kind: Kind) -> Iterator[Kind]:
    for below in kind.__subclasses__():
        if below.__module__.startswith("nlgauge."):
            yield below
        yield from _subclasses(below)


def schema_of_table(kind: type[FrozenTable]) -> dict[str, Any]:
    """JSON Schema of a frozen table's file."""
    schema = schema_of_document(kind, kind.FORMAT, record=kind.RECORD, digest=schema_of(str))
    return schema | {"required": [*schema["required"], "digest"]}


def files() -> dict[str, str]:
    """Text of each file by name."""
    schemas = {kind.format: kind.schema() for kind in result_classes()}
    schemas |= {kind.FORMAT.replace("/", "-"): schema_of_table(kind) for kind in frozen_classes()}
    schemas |= {kind.format.replace("/", "-"): kind.schema() for kind in document_classes()}
    return {f"{name}.json": json_text(schema) for name, schema in schemas.items()}


def main(arguments: Sequence[str]) -> int:
    """Write the files, or check them."""
    texts = {FOLDER / name: text for name, text in files().items()}
    return write_or_check(arguments, texts, "python -m docs.write_schemas", existing=FOLDER.glob("*.json"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
