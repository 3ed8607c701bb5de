"""What docs/all-pairs.md shows is what a reader gets."""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
from pathlib import Path

from tests.docs.tutorial_runner import difference

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "all-pairs.md").read_text(encoding="utf-8")


def test_examples_print_what_the_page_shows() -> None:
    shown = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", PAGE, re.S)
    assert len(shown) == 2
    names: dict[str, object] = {}
    for code, expected in shown:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        problem = difference(textwrap.dedent(expected), printed.getvalue())
        assert not problem, problem
