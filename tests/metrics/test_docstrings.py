"""The docstring of a metric's file: the same headings in the same order, and an example that doctest runs."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

import nlgauge.metrics

HEADINGS = ["What it computes", "Worked example", "Profiles and deviations", "Relations", "Citation"]
FILES = sorted(path for path in Path(nlgauge.metrics.__file__).parent.glob("*.py") if path.stem != "__init__")


def sections(path: Path) -> dict[str, str]:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, *parts = re.split(r"^(.+)\n-+\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_sections_of_a_metric(path: Path) -> None:
    result = sections(path)
    assert list(result) == HEADINGS
    assert all(text.strip() for text in result.values())
    examples = doctest.DocTestParser().get_examples(result["Worked example"])
    assert any(example.want for example in examples), "the worked example prints no number"
