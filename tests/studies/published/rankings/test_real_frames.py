"""The frames of TAC and of two dialogue sets: values of the released code on them, and where print differs.

Unless said otherwise, expected values were made with the released code (github.com/epfl-dlab/BT-eval) on the same
frames.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.cards import load, recognise
from nlgauge.studies.meta.evaluation import evaluate
from nlgauge.studies.meta.questions import Significance
from nlgauge.studies.meta.row_scores import ScoredJudgements, released_rows
from nlgauge.studies.paired_evaluation import (
    MECHANISMS,
    FrameSet,
    RankingOptions,
    average,
    measure_pairs,
    rank_frame,
)
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.rankings import RankingRun
from nlgauge.studies.published.reproduce import Request, reproduce
from nlgauge.studies.published.runs import Reproduction

SETS = ("TAC08", "TAC09", "TAC11", "TC", "PC")


@pytest.fixture(scope="module")
def frames(data_folder: Path) -> list[FrameSet]:
    if "tac08-scores" not in recognise(data_folder):
        pytest.skip("NLGAUGE_DATA does not hold the score frames")
    table = PAPER_TABLES["bt-table1"]
    run = RankingRun(Request(table=table, at=str(data_folder)))
    result = run.find_frames()
    assert [item.label for item in result] == list(SETS)
    assert len(run.missing) == 1
    return result


@pytest.fixture(scope="module")
def measured(frames: list[FrameSet]) -> dict[str, dict[tuple[str, str], list[float]]]:
    """By data set: disagreement, other winner, other top 3 of each pair of mechanisms, over 13 metrics."""
    result = {}
    for item in frames:
        by_frame = [
            measure_pairs(rank_frame(frame.oriented, MECHANISMS[:4], RankingOptions()))
            for frame in item.frames.values()
        ]
        result[item.label] = {pair: average([each[pair] for each in by_frame]).tolist() for pair in by_frame[0]}
    return result


def ours(result: Reproduction, row: str) -> list[float]:
    (actual,) = [item for item in result.rows if item.name == row]
    return [cell.ours for cell in actual.cells.values()]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (
            ("mean", "BT"),
            {
                "TAC08": (0.0344, 0.0000, 0.1538),
                "TAC09": (0.0439, 0.0000, 0.3077),
                "TAC11": (0.0337, 0.3846, 0.6154),
                "TC": (0.2178, 0.3846, 0.7692),
                "PC": (0.1667, 0.6154, 0.0000),
            },
        ),
        (
            # The released code sorts with numpy's default, whose order of ties depends on the processor; with a
            # stable order TopicalChat has another top 3 in .4615 of the setups, not in .6154.
            ("mean", "median"),
            {
                "TAC08": (0.0743, 0.3846, 0.7692),
                "TAC09": (0.0850, 0.0000, 0.3846),
                "TAC11": (0.0667, 0.2308, 0.6154),
                "TC": (0.1448, 0.2308, 0.4615),
                "PC": (0.0569, 0.3077, 0.3077),
            },
        ),
        (
            ("median", "BT"),
            {
                "TAC08": (0.0745, 0.3846, 0.7692),
                "TAC09": (0.0824, 0.0000, 0.3846),
                "TAC11": (0.0728, 0.5385, 0.5385),
                "TC": (0.1308, 0.1538, 0.7692),
                "PC": (0.1630, 0.6923, 0.3077),
            },
        ),
        (
            ("mean", "Elo"),
            {
                "TAC08": (0.1140, 0.6923, 0.8462),
                "TAC09": (0.1273, 0.0000, 0.6923),
                "TAC11": (0.0859, 0.9231, 0.9231),
                "TC": (0.3538, 0.4615, 0.9231),
                "PC": (0.1795, 0.6154, 0.0769),
            },
        ),
    ],
)
def test_disagreement_per_data_set(
    measured: dict[str, dict[tuple[str, str], list[float]]],
    pair: tuple[str, str],
    expected: dict[str, tuple[float, float, float]],
) -> None:
    for label, values in expected.items():
        assert measured[label][pair] == pytest.approx(values, abs=1.2e-4), label


def test_disagreement_over_all_65_setups(frames: list[FrameSet], data_folder: Path) -> None:
    assert sum(len(frame.frames) for frame in frames) == 65
    result = reproduce(PAPER_TABLES["bt-table4"], at=data_folder)
    assert ours(result, "mean vs BT") == pytest.approx([9.93, 27.69, 36.92], abs=0.006)
    assert ours(result, "median vs BT") == pytest.approx([10.28, 35.38, 55.38], abs=0.012)
    assert ours(result, "mean vs Elo") == pytest.approx([17.21, 53.85, 69.23], abs=0.006)
    assert ours(result, "BT vs Elo")[0] == pytest.approx(12.34, abs=0.006)


def test_trueskill_on_the_dialogue_sets(frames: list[FrameSet], data_folder: Path) -> None:
    del frames
    expected = {
        "topicalchat-scores": ([20.00, 38.46, 69.23], [18.74, 46.15, 61.54]),
        "personachat-scores": ([17.95, 38.46, 30.77], [11.54, 38.46, 30.77]),
    }
    for name, (mean, strength) in expected.items():
        result = reproduce(PAPER_TABLES["bt-table4"], at=data_folder, data=name)
        assert ours(result, "mean vs TrueSkill") == pytest.approx(mean, abs=0.006)
        assert ours(result, "BT vs TrueSkill") == pytest.approx(strength, abs=0.006)


def test_a_frame_in_detail(frames: list[FrameSet]) -> None:
    """TopicalChat under MoverScore, the example of the released tool: 60 x 5, no ties."""
    (chat,) = [frame for frame in frames if frame.label == "TC"]
    result = rank_frame(chat.frames["MoverScore"].oriented, MECHANISMS, RankingOptions())
    expected = {
        "mean": (0.50789, 0.51162, 0.50467, 0.50262, 0.51356),
        "median": (0.50207, 0.49785, 0.49822, 0.49414, 0.50619),
        "BT": (0.248284, 0.143581, 0.164772, 0.149666, 0.293696),
        "Elo": (1563.706, 1419.050, 1456.484, 1536.930, 1523.830),
        "TrueSkill": (27.2500, 23.9139, 24.3778, 24.8776, 26.2358),
    }
    for name, values in expected.items():
        assert result[name] == pytest.approx(np.array(values), rel=2e-5), name


def test_ties(frames: list[FrameSet], data_folder: Path) -> None:
    """Disagreement of mean and BT by tie policy, and ties that hide in last bits (docs/findings)."""
    del frames
    result = reproduce(PAPER_TABLES["bt-ties"], at=data_folder)
    columns = result.columns
    by_row = {row.name: dict(zip(columns, ours(result, row.name), strict=True)) for row in result.rows}
    for row, expected in {
        "all frames": (9.93, 12.41, 10.39, 7.63, 7.63),
        "PC": (16.67, 35.90, 16.67, 14.10, 14.10),
    }.items():
        actual = [by_row[row][name] for name in ("second", "reversed", "second 1e-9", "drop", "half")]
        assert actual == pytest.approx(expected, abs=0.006), row
    assert by_row["TC"]["second 1e-9"] == pytest.approx(24.09, abs=0.006)
    # Counted twice, by this code and by comparing repr() of rounded and unrounded scores.
    assert [by_row["TAC, ROUGE and ROUGE-WE"][name] for name in ("exact ties", "hidden ties")] == [4518, 750]
    assert [by_row["dialogue"][name] for name in ("exact ties", "hidden ties")] == [1470, 257]


def test_what_tests_find(frames: list[FrameSet], data_folder: Path) -> None:
    """All 56,927 pairs of systems on all rows."""
    del frames
    result = reproduce(PAPER_TABLES["bt-figure6"], at=data_folder, rankings=RankingOptions(full=True))
    assert any("56,927 pairs" in note for note in result.notes)
    shares = {row.name: row.cells[row.name].ours for row in result.rows}
    expected = {"t": 0.6161, "Mood": 0.3750, "sign": 0.5560, "Wilcoxon": 0.6241, "sign, ties out": 0.5534}
    assert shares == pytest.approx(expected, abs=6e-5)


def test_table_3_is_reproduced_within_the_error_of_the_draws(frames: list[FrameSet], data_folder: Path) -> None:
    """Shares of pairs are within .03 of print on TAC, but for the two columns that print exchanges (D7)."""
    del frames
    result = reproduce(PAPER_TABLES["bt-table3"], at=data_folder)
    for row in result.rows:
        if not row.name.startswith("TAC"):
            continue
        cells = row.cells
        labels = ("Mean/BT", "Med/BT", "Mean/Med")
        printed = [cells[label].published for label in labels]
        if row.name == "TAC08 ROUGE-WE":
            assert cells["Mean/BT"].difference == pytest.approx(-0.06, abs=0.02)
            printed[:2] = printed[1::-1]
        assert [cells[label].ours for label in labels] == pytest.approx(printed, abs=0.03), row.name


@pytest.mark.parametrize(
    ("data", "level", "metric", "expected"),
    [
        ("tac08-scores", "topic", "ROUGE_2", (0.5470, 0.5342, 0.3955)),
        ("tac08-scores", "topic", "BERTScore", (0.5521, 0.5170, 0.3833)),
        ("tac08-scores", "topic", "MoverScore", (0.5237, 0.4846, 0.3587)),
        ("tac08-scores", "topic", "S3_pyr", (0.5853, 0.5562, 0.4135)),
        ("tac09-scores", "topic", "ROUGE_2", (0.6633, 0.6040, 0.4647)),
        ("tac09-scores", "topic", "BERTScore", (0.6795, 0.6294, 0.4815)),
        ("tac09-scores", "topic", "MoverScore", (0.6636, 0.5989, 0.4551)),
        ("tac11-scores", "topic", "ROUGE_2", (0.6438, 0.5579, 0.4280)),
        ("tac11-scores", "topic", "BERTScore", (0.6326, 0.5806, 0.4423)),
        ("tac11-scores", "topic", "MoverScore", (0.6599, 0.5761, 0.4354)),
        ("tac08-scores", "system", "ROUGE_2", (0.8650, 0.8677, 0.6951)),
        ("tac09-scores", "system", "ROUGE_2", (0.8721, 0.9437, 0.8106)),
        ("tac11-scores", "system", "ROUGE_2", (0.9489, 0.8583, 0.6901)),
    ],
)
def test_metrics_beside_the_pyramid_scores(
    frames: list[FrameSet], data_folder: Path, data: str, level: str, metric: str, expected: tuple[float, ...]
) -> None:
    """Pearson, Spearman, Kendall; expected values by scipy on the same frames."""
    del frames
    table = load(data, data_folder)
    scores = ScoredJudgements(table, (released_rows(table, metric),))
    result = [
        evaluate(scores, level=level, agreement=agreement, significance=Significance(test="none")).averages[metric]
        for agreement in ("pearson", "spearman", "kendall")
    ]
    assert result == pytest.approx(expected, abs=6e-5)
