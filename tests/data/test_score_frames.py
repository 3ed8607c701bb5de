"""Frames of scores: a CSV per metric, read to released scores without texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.meta.score_judgements import score_judgements


def write_frame(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    """Three topics, two systems, two metrics, and what people gave."""
    folder = tmp_path / "compare"
    write_frame(folder / "tac/TAC/08/ROUGE_1.csv", "M0,M1", "0.5,0.25", "0.125,1e-3", "0.3,0.30000000000000004")
    write_frame(folder / "tac/TAC/08/JS_1.csv", "M0,M1", "-0.5,-0.25", "0.0,-0.6", "-0.1,-0.2")
    write_frame(folder / "tac_pyramid/TAC_pyr/08.csv", "M0,M1", "1,2", "3,4", "5,6.5")
    return tmp_path


def test_a_row_is_a_system_on_a_line(frames: Path) -> None:
    table = load("tac08-scores", frames)
    assert (table.segment, table.system) == (("0", "0", "1", "1", "2", "2"), ("M0", "M1") * 3)
    assert table.released["ROUGE_1"].tolist() == [0.5, 0.25, 0.125, 0.001, 0.3, 0.30000000000000004]
    assert table.released["JS_1"].tolist() == [-0.5, -0.25, 0.0, -0.6, -0.1, -0.2]
    assert table.gold().tolist() == [1, 2, 3, 4, 5, 6.5]
    assert table.distances == frozenset(), "JS is negated in the file"


def test_frames_without_human_scores_have_no_gold(tmp_path: Path) -> None:
    write_frame(tmp_path / "dialogue/Dialogue/tc/BLEU.csv", "M0,M1", "0.5,0.25")
    table = load("topicalchat-scores", tmp_path)
    assert table.criteria == ()
    assert table.default_criterion is None


def test_there_are_no_texts_to_score(frames: Path) -> None:
    with pytest.raises(InputError, match="tac08-scores has none"):
        score_judgements(load("tac08-scores", frames), ["chrf"])


@pytest.mark.parametrize(
    ("file", "lines", "said"),
    [
        ("tac/TAC/08/JS_1.csv", ("M0,M1", "1,2"), "ROUGE_1 has 3 lines, but JS_1 has 1"),
        ("tac/TAC/08/ROUGE_1.csv", ("M0,M2", "1,2", "1,2", "1,2"), r"the systems \['M0', 'M2'\], but JS_1"),
        ("tac/TAC/08/ROUGE_1.csv", ("M0,M1", "1,x", "1,2", "1,2"), "line 2, column 'M1': expected a number"),
        ("tac/TAC/08/ROUGE_1.csv", ("M0,M1", "1", "1,2", "1,2"), "line 2: expected 2"),
        ("tac_pyramid/TAC_pyr/08.csv", ("M0,M1", "1,2"), "human scores has 1 lines, but JS_1 has 3"),
    ],
)
def test_inconsistent_frames_are_errors(frames: Path, file: str, lines: tuple[str, ...], said: str) -> None:
    write_frame(frames / "compare" / file, *lines)
    with pytest.raises(FileFormatError, match=said):
        load("tac08-scores", frames)


def test_missing_files_are_named(frames: Path) -> None:
    with pytest.raises(InputError, match=r"no file named like 'tac/TAC/09/ROUGE_1.csv'; give"):
        load("tac09-scores", frames)
    (frames / "compare/tac_pyramid/TAC_pyr/08.csv").unlink()
    with pytest.raises(InputError, match=r"no file 'tac_pyramid/TAC_pyr/08\.csv' in this folder"):
        load("tac08-scores", frames)


def test_frames_of_needs_a_full_grid(frames: Path) -> None:
    from nlgauge.studies.paired_evaluation import frames_of

    table: JudgementTable = load("tac08-scores", frames)
    assert frames_of(table)["ROUGE_1"].values.tolist() == [[0.5, 0.25], [0.125, 0.001], [0.3, 0.30000000000000004]]
    with pytest.raises(InputError, match="expected one row for each of 3 segments x 2 systems, got 5 rows"):
        frames_of(table.take(range(5)))
