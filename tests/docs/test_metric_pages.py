"""Each page of docs/metrics has all sections, and its output and signatures are those of a run."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from docs.make_citations import headings
from docs.make_figures import BOAT, FIGURES, GRIDS, IMAGES, KANU, SENTSIM_WMD
from docs.make_metric_pages import DOCS, INDEX, PAGES, Run, made, metrics_of, pages_in_order

import nlgauge
from nlgauge.apps.cli import parser_for
from nlgauge.core.registry import built_in_metrics
from nlgauge.core.signature import VERSION_FIELDS, Signature
from nlgauge.studies.sensitivity.study import load_study

HEADINGS = ("Equation", "Example", "Options", "Limits", "Where paper and code disagree", "How to cite")
COMMAND = re.compile(r"^    (nlgauge (?:[^\n]*\\\n)*[^\n]*)\n", re.MULTILINE)
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]*)\)")
FIGURE = re.compile(r"-?\d+\.\d+")

#: Digest of numbers that another processor rounds otherwise (docs/signature.md, what is promised).
MACHINES_OWN = ("range",)

NAMES = sorted(page.stem for page in PAGES.glob("*.md"))


@cache
def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@cache
def run(name: str) -> Run:
    """The example of a page, run once for all tests."""
    return Run.of(page(name))


def shown(name: str, kind: str) -> str:
    """The text block behind a marker."""
    (result,) = re.findall(rf"<!-- {kind} -->\n```text\n(.*?)```\n.*?<!-- end -->", page(name), re.S)
    return result


def section(name: str, heading: str) -> str:
    return page(name).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_every_metric_has_a_page() -> None:
    assert sorted(metric for name in NAMES for metric in metrics_of(page(name))) == sorted(built_in_metrics())


def test_every_page_is_in_the_table_of_contents() -> None:
    assert sorted(path.stem for path in pages_in_order()) == NAMES
    assert made(INDEX.read_text(encoding="utf-8"), None) == INDEX.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_all_its_parts(name: str) -> None:
    for heading in HEADINGS:
        assert section(name, heading).strip(), heading
    metrics = [built_in_metrics()[metric] for metric in metrics_of(page(name))]
    profiled = any(metric.profiles for metric in metrics)
    assert bool(section(name, "Profiles").strip()) == profiled
    assert section(name, "Equation").count("$$") >= 2
    assert "nlgauge.score" in section(name, "Example")
    linked = set(re.findall(r"\[([^\]]*)\]\(\.\./citations\.md#", section(name, "How to cite")))
    assert linked == {heading for heading in headings() if set(heading.split(", ")) & set(metrics_of(page(name)))}
    assert "](../options.md#" in section(name, "Options")


@pytest.mark.parametrize("name", NAMES)
def test_generated_blocks_are_up_to_date(name: str) -> None:
    assert made(page(name), None) == page(name), f"run: python -m docs.make_metric_pages {name}"


@pytest.mark.parametrize("name", NAMES)
def test_profiles_are_named(name: str) -> None:
    for metric in metrics_of(page(name)):
        for profile in getattr(built_in_metrics()[metric], "profiles", {}):
            assert f"`{profile}`" in section(name, "Profiles") or f"profile={profile}" in page(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoFocusWarning")
def test_the_example_prints_what_is_shown(name: str) -> None:
    printed, expected = run(name).printed, shown(name, "output")
    assert FIGURE.sub("#", printed) == FIGURE.sub("#", expected)
    result = [float(text) for text in FIGURE.findall(printed)]
    assert result
    # Rounded to four decimals, figures that agree to six may differ by one in the last.
    assert result == pytest.approx([float(text) for text in FIGURE.findall(expected)], abs=1.01e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_is_that_of_the_example(name: str) -> None:
    lines = shown(name, "signature").splitlines()
    assert len(lines) == len(run(name).signatures)
    for line, signature in zip(lines, run(name).signatures, strict=True):
        differing = Signature.parse(line).difference(signature)
        assert [item for item in differing if item.field not in (*VERSION_FIELDS, *MACHINES_OWN)] == []


@pytest.mark.parametrize(
    "path", [INDEX, DOCS / "signature.md", *sorted(PAGES.glob("*.md"))], ids=lambda path: path.stem
)
def test_commands_of_a_page_parse(path: Path) -> None:
    commands = COMMAND.findall(path.read_text(encoding="utf-8"))
    assert commands
    for command in commands:
        words = shlex.split(command.replace("\\\n", " "))[1:]
        assert parser_for(words).parse_args(words).run, command


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_there_small_and_described(name: str) -> None:
    for alt, target in IMAGE.findall(page(name)):
        path = (PAGES / target).resolve()
        assert path.is_file(), target
        assert path.stat().st_size < 300_000, target
        assert len(alt.split()) > 5, target


def test_every_picture_of_the_site_is_made_by_the_script_and_shown() -> None:
    files = {path.name for path in IMAGES.iterdir()}
    assert files == {figure.path.name for figure in FIGURES.values()}
    root = DOCS.parent
    texts = [*DOCS.rglob("*.md"), root / "README.md", root / "benchmarks" / "README.md"]
    named = {Path(target).name for text in texts for _, target in IMAGE.findall(text.read_text(encoding="utf-8"))}
    assert files <= named


def test_commands_of_pictures_are_understood(tmp_path: Path) -> None:
    for words in (figure.command for figure in FIGURES.values() if figure.command):
        assert parser_for(words).parse_args([*words, "--plot", "figure.png", "--output", "out", "--quiet"]).run
    (tmp_path / "grids.toml").write_text(GRIDS, encoding="utf-8")
    assert len(load_study(tmp_path / "grids.toml").sweeps) == 4


def test_pictures_are_of_the_texts_of_their_page() -> None:
    for figure in FIGURES.values():
        if figure.name.startswith("metric-") and figure.command:
            (name,) = (item for item in NAMES if f"/{figure.path.name})" in page(item))
            for text in (text for text in figure.command if " " in text):
                assert text in section(name, "Example"), (figure.name, text)


def test_the_flow_drawn_for_sentsim_is_that_of_its_word_mover() -> None:
    shown_wmd = re.findall(r"wmd (\S+)  A guy", shown("sentsim", "output"))
    result = nlgauge.score([f"{BOAT}."], sources=[KANU], metric=SENTSIM_WMD)
    assert result.score[0] == pytest.approx(float(*shown_wmd), abs=1e-4)
