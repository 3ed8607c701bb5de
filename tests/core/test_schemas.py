"""The JSON Schemas that are shipped."""

from __future__ import annotations

import json

import pytest
from docs.write_schemas import FOLDER, document_classes, files, frozen_classes, main, result_classes
from tests.extras import LazyModule

jsonschema = LazyModule("jsonschema")


def test_schemas_are_those_of_the_classes() -> None:
    assert main(["--check"]) == 0, "run: python -m docs.write_schemas"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.json")))
def test_each_file_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads((FOLDER / name).read_text(encoding="utf-8")))


def test_no_two_classes_share_a_format() -> None:
    names = [kind.format for kind in (*result_classes(), *document_classes())]
    names += [kind.FORMAT for kind in frozen_classes()]
    assert len(names) == len(set(names)) == len(files())
