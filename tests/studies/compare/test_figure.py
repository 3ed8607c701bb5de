"""The figure of a comparison: every system is on it, with its interval, whatever it is called."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from tests.studies.compare.made_scores import uneven

from nlgauge.studies.compare.systems import compare_systems


def size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG, from its header."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def test_filled_points_are_those_not_significantly_worse_than_the_best() -> None:
    """The caption says so; a system can be so without being in the first rank cluster, and the other way round."""
    result = compare_systems([uneven()], permutations=1000)
    for panel in result.figure().axes:
        points = [line for line in panel.lines if line.get_marker() == "o"]
        filled = [line.get_markerfacecolor() != "white" for line in points]
        assert filled == [True, False, True, False]
        dashed = [line.get_ydata()[0] for line in panel.lines if line.get_linestyle() == "--"]
        assert dashed == [2.5], "below the third of four systems, from the top"


def texts(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_names_values_and_a_caption_are_on_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    scores = {
        f"a-very-long-name-of-a-system-number-{index:02}": rng.normal(index, 1, 30).tolist() for index in range(14)
    }
    result = compare_systems({"chrf": scores, "wer$": scores}, resamples=100, permutations=200)
    result.save_figure(tmp_path / "out.svg")
    drawn = texts(tmp_path / "out.svg")
    assert drawn.count("<!-- a-very-long-name") == 28
    assert "95 % intervals" in drawn
    assert "30 segments" in drawn
    result.save_figure(tmp_path / "out.png")
    assert size(tmp_path / "out.png")[0] <= 11 * 150


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_points_have_no_intervals_and_ties_a_frame(tmp_path: Path, count: int) -> None:
    result = compare_systems({"chrf": {"a": [1.0] * count, "b": [1.0] * count}})
    result.save_figure(tmp_path / "out.png")
    assert size(tmp_path / "out.png")[1] > 100


def test_the_same_comparison_gives_the_same_bytes(tmp_path: Path) -> None:
    result = compare_systems({"chrf": {"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 2.0, 1.0, 3.0]}})
    for name in ("one.png", "two.png"):
        result.save_figure(tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
