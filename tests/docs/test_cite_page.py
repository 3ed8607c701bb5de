"""docs/cite.md cites what nlgauge and its metrics say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

from tests.extras import LazyModule

import nlgauge
from docs import make_citations
from nlgauge.core.registry import built_in_metrics

yaml = LazyModule("yaml")

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"```bibtex\n(.*?)\n```", PAGE, re.S)


def test_entries_are_those_of_the_metrics() -> None:
    assert make_citations.main(["--check"]) == 0, "run: python -m docs.make_citations"
    entries = re.findall(r"```bibtex\n(.*?)\n```", make_citations.PAGE.read_text(encoding="utf-8"), re.S)
    missing = [name for name, metric in built_in_metrics().items() if metric.citation.strip() not in entries]
    assert missing == []


def test_the_library_is_cited_as_its_citation_file_says() -> None:
    messages = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    fields = dict(re.findall(r"^  (\w+) += \{+(.*?)\}+,?$", ENTRIES[0], re.M))
    assert fields == {
        "title": messages["title"],
        "author": messages["authors"][0]["name"],
        "version": messages["version"],
        "license": messages["license"],
        "url": messages["repository-code"],
    }
    assert messages["version"] == nlgauge.__version__


def test_the_sentence_for_a_paper_has_the_numbers_of_the_example() -> None:
    read = {name: (ROOT / "examples" / f"{name}.txt").read_text().splitlines() for name in ("system-a", "reference")}
    result = nlgauge.score(read["system-a"], read["reference"])
    low, high = (f"{end:.3f}" for end in (result.interval().low, result.interval().high))
    assert f"of {result.system_score:.3f} (95 % interval {low} to {high}, {len(result)} segments)" in PAGE
    assert f"nlgauge {nlgauge.__version__}" in PAGE
