"""The examples of docs/compare.md run, and print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
from pathlib import Path

from tests.docs.tutorial_runner import difference

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")

#: A block of Python, and the indented lines after it.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n\n((?:    [^\n]*\n)+)", re.DOTALL | re.MULTILINE)


def test_examples_print_what_the_page_says() -> None:
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == PAGE.count("```python") > 0
    names: dict[str, object] = {}
    for code, expected in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        problem = difference(textwrap.dedent(expected), printed.getvalue())
        assert not problem, problem


def test_the_signature_is_that_of_the_defaults() -> None:
    from nlgauge.studies.compare.comparison import CompareSettings

    assert f"    {CompareSettings().signature()}\n" in PAGE
