"""`--format markdown` of every command that prints tables: pipe tables that GitHub takes, numbers to the right."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.annotated_texts import annotated, conllu
from tests.apps.cli.conftest import Run

JUDGED = """segment\tsystem\thypothesis\treference\thuman
1\ta\tThe ferry was cancelled.\tThe ferry was called off.\t0.9
2\ta\tBread.\tThe bread is the best.\t0.2
3\ta\tNobody wrote.\tShe wrote letters.\t0.3
1\tb\tA storm.\tThe ferry was called off.\t0.1
2\tb\tThe bread is best.\tThe bread is the best.\t0.95
3\tb\tShe wrote letters to him.\tShe wrote letters.\t0.8
"""
DATA = ("--data", "custom", "--at", "own.tsv", "--set", "references=reference", "human=human", "system=system")
TEXTS = ("a.txt", "b.txt", "--refs", "ref.txt")

#: Each with a column of numbers that must be there, or None where the table is of words.
COMMANDS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "score": (("score", *TEXTS, "-m", "chrf", "--confidence"), "chrf"),
    "score by segment": (("score", *TEXTS, "-m", "chrf", "--segments"), "chrf"),
    "compare": (("compare", *TEXTS, "-m", "chrf", "--resamples", "100", "--all"), "score"),
    "rank": (("rank", "a.txt", "b.txt", "ref2.txt", "-m", "chrf"), "utility"),
    "explain pair": (("explain", "pair", "--hyp-text", "A | cat", "--ref-text", "The cat.", "-q"), "similarity"),
    "explain factors": (
        ("explain", "factors", "--table", "own.tsv", "--metric-column", "human", "--factor", "segment"),
        "coefficient",
    ),
    "explain evaluate": (("explain", "evaluate", "--gold", "tags", "--scores", "values"), "AUC"),
    "discourse": (("study", "discourse", "d.txt", "--annotator", "d.conllu", "--sentences", "annotator"), "mean"),
    "stress": (("study", "stress", "a.txt", "-m", "chrf", "--perturbations", "typo", "casing"), "fall"),
    "stress --triples": (("study", "stress", "--triples", "t.tsv", "-m", "chrf"), "B wins"),
    "meta": (("study", "meta", *DATA, "-m", "chrf", "--resamples", "100", "-q"), "und"),
    "tune-layer": (("study", "tune-layer", *DATA, "-q"), "und"),
    "sensitivity": (("study", "sensitivity", *TEXTS, "--study", "mine.toml", "-q"), "CV %"),
    "reproduce list": (("study", "reproduce", "list"), None),
    "list": (("list",), None),
    "data list": (("data", "list"), None),
}


class PipeTable(NamedTuple):
    header: list[str]
    right: list[bool]
    rows: list[list[str]]


def cells(line: str) -> list[str]:
    assert line.startswith("| ")
    assert line.endswith(" |")
    return re.split(r"(?<!\\) \| ", line[2:-2])


def pipe_tables(text: str) -> list[PipeTable]:
    """The tables of a Markdown text; a line that is no row of one must not look like it."""
    result = []
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if not lines[0].startswith("|"):
            assert not any(line.startswith("|") for line in lines), "a table begins after a blank line"
            continue
        marks = lines[1].strip("|").split("|")
        assert set(marks) <= {"---", "--:"}
        table = PipeTable(cells(lines[0]), [mark == "--:" for mark in marks], [cells(line) for line in lines[2:]])
        assert {len(row) for row in (table.header, table.right, *table.rows)} == {len(marks)}
        result.append(table)
    return result


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "own.tsv").write_text(JUDGED, encoding="utf-8")
    (folder / "tags").write_text("0 1 0\n1 0\n", encoding="utf-8")
    (folder / "values").write_text("0.1 0.9 0.2\n0.3 0.1\n", encoding="utf-8")
    (folder / "t.tsv").write_text("anchor\tparaphrase\tlookalike\na cat sat\ta kitten rested\tsat a cat\n")
    (folder / "mine.toml").write_text(
        'metric = ["bertscore"]\n[[sweep]]\nmultiref = ["best-f", "mean"]\n', encoding="utf-8"
    )
    parsed = "cat:N dog:N . | cat:N cat:N bird:N ."
    (folder / "d.conllu").write_text(conllu(parsed), encoding="utf-8")
    (folder / "d.txt").write_text(f"{annotated(parsed).text}\n", encoding="utf-8")
    return folder


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", COMMANDS)
def test_tables_are_pipe_tables(run: Run, name: str) -> None:
    words, column = COMMANDS[name]
    done = run(*words, "--format", "markdown")
    assert done.status == 0, done.err
    tables = pipe_tables(done.out)
    assert tables
    for table in tables:
        for index, right in enumerate(table.right):
            numbers = [re.fullmatch(r"(\*\*)?(-|&lt;)?[\d.]*(\*\*)?", row[index]) is not None for row in table.rows]
            assert all(numbers) or not right
    if column is not None:
        (index, table) = next((item.header.index(column), item) for item in tables if column in item.header)
        assert table.right[index]
        assert table.rows


@pytest.mark.usefixtures("files")
def test_marked_numbers_are_bold_in_markdown(run: Run) -> None:
    tuned = run(*COMMANDS["tune-layer"][0], "--format", "markdown").out
    best = [row[0] for row in pipe_tables(tuned)[0].rows if row[-1].startswith("**")]
    assert f"bold: best layer: {best[0]} " in tuned
    agreed = run(*COMMANDS["meta"][0], "--format", "markdown").out
    assert "\nsignature of chrf: chrf\\|" in agreed


@pytest.mark.skipif(os.name == "nt", reason="no file there has such a name")
def test_a_name_with_a_pipe_stays_in_its_cell(run: Run, files: Path) -> None:
    (files / "a|b_c.txt").write_text((files / "a.txt").read_text(encoding="utf-8"), encoding="utf-8")
    words = ("study", "sensitivity", "a|b_c.txt", "b.txt", "--refs", "ref.txt", "--study", "mine.toml", "-q")
    tables = pipe_tables(run(*words, "--format", "markdown").out)
    assert [row[0] for row in tables[1].rows] == [r"a\|b\_c", "b", "average"]


@pytest.mark.usefixtures("files")
def test_the_texts_of_a_pair_are_a_list(run: Run) -> None:
    out = run(*COMMANDS["explain pair"][0], "--format", "markdown").out
    assert "\n- hypothesis: A \\| cat\n- reference:  The cat .\n\n|" in out
    assert "\nsignature: bertscore\\|minilm-L4" in out
