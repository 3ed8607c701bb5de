"""SentSim's tables of example sentences: what is published, what it claims, and our values next to it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from nlgauge.errors import RecipeError
from nlgauge.studies.published.examples import scaled_sum
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import StudyInputs, reproduce
from nlgauge.studies.published.runs import Reproduction

TABLE_1, TABLE_6 = PAPER_TABLES["sentsim-table1"], PAPER_TABLES["sentsim-table6"]


def values(result: Reproduction, row: str, kind: str = "ours") -> list[float | None]:
    (cells,) = (item.cells for item in result.rows if item.name == row)
    return [getattr(cell, kind) for cell in cells.values()]


def claims(result: Reproduction) -> list[str]:
    return [note for note in result.notes if note.startswith("claim: ")]


def test_thirty_six_values_are_published() -> None:
    counts = [sum(len(row.published) for row in table.rows) for table in (TABLE_1, TABLE_6)]
    assert counts == [12, 24]


def test_sentences_and_values_are_those_of_the_paper(data_folder: Path) -> None:
    paper = data_folder.parent / "papers" / "sentsim.txt"
    if not paper.is_file():
        pytest.skip("the text of the paper is not beside the data")
    lines = [line.split("\t") for line in paper.read_text(encoding="utf-8").splitlines()]
    for table in (TABLE_1, TABLE_6):
        for label, example in table.examples.items():
            *_, number = label.split()
            text = example.hypothesis + (" (word order shuffled)" if label == "E4 MT2" else "")
            (line,) = (cells for cells in lines if number in cells and text in cells)
            printed = [float(cell) for cell in line[-3:]]
            rows = [row for row in table.rows if label in row.published]
            assert [row.published[label] for row in rows] == printed
            other, mark = (example.source, "SRC") if example.source else (example.reference, "REF")
            assert any(mark in cells and other in cells for cells in lines)


def test_the_printed_sum_is_near_that_of_the_printed_parts() -> None:
    distances = []
    for table in (TABLE_1, TABLE_6):
        for suffix in (", REF-MT", ""):
            rows = {row.name: row.published for row in table.rows}
            for label, total in rows.get(f"SSS + BERTScore{suffix}", {}).items():
                parts = [float(rows[f"{part}{suffix}"][label]) for part in ("BERTScore", "SSS")]
                distances.append(abs(scaled_sum(parts) - float(total)))
                # By hand: the mean of e^A is between 1 and e.
                by_hand = ((math.exp(parts[0]) + math.exp(parts[1])) / 2 - 1) / (math.e - 1)
                assert scaled_sum(parts) == pytest.approx(by_hand)
    assert len(distances) == 12
    assert max(distances) == pytest.approx(0.046, abs=0.0005)


def test_claims_are_checked_on_published_values_without_a_model() -> None:
    result = reproduce(TABLE_1, model="none")
    assert len(claims(result)) == 3
    assert all(note.endswith("; published: holds") for note in claims(result))
    assert {row.reason for row in result.rows} == {"not computed: --model none"}
    # One row only: its claim.
    assert len(claims(reproduce(TABLE_6, model="none", rows="BERTScore"))) == 1


def test_values_are_those_of_other_implementations() -> None:
    result = reproduce(TABLE_1, model="minilm")
    # Mean-pooled vectors by transformers 5.22.2, and bert-score 0.3.13 (layer 4), on the same weights.
    sss, bertscore = [0.9082, 0.8824, 0.8500, 0.9345], [0.9024, 0.8957, 0.9233, 0.9448]
    assert values(result, "SSS, REF-MT") == pytest.approx(sss, abs=1e-4)
    assert values(result, "BERTScore, REF-MT") == pytest.approx(bertscore, abs=1e-4)
    sums = [scaled_sum(parts) for parts in zip(sss, bertscore, strict=True)]
    assert values(result, "SSS + BERTScore, REF-MT") == pytest.approx(sums, abs=1e-4)
    # MT4, a negation, is the nearest to the reference here.
    (claim,) = (note for note in claims(result) if note.startswith("claim: SSS, REF-MT"))
    assert claim.endswith("published: holds; ours (minilm): does not hold")


def test_sentences_with_a_source_are_scored_across_languages_only() -> None:
    result = reproduce(TABLE_6, model="minilm")
    assert values(result, "SSS") == [None] * 8
    assert values(result, "SSS, REF-MT")[6:] == [None] * 2
    assert all(value is not None for value in values(result, "SSS, REF-MT")[:6])
    assert "E4 MT1: minilm does not support zh" in result.missing
    part = reproduce(TABLE_6, model="minilm", langpairs="en", rows="SSS, REF-MT")
    assert part.columns == tuple(TABLE_6.examples)[:6]
    assert values(part, "SSS, REF-MT") == values(result, "SSS, REF-MT")[:6]


def test_options_of_other_tables_are_refused() -> None:
    with pytest.raises(
        RecipeError, match="sentsim-table1 is a table of examples; leave out the options of sensitivity studies"
    ):
        reproduce(TABLE_1, study=StudyInputs(ddof=0))
    with pytest.raises(RecipeError, match="leave out --levels"):
        reproduce(TABLE_1, levels="system")
