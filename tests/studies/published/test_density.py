"""The simulated languages: what a rigid motion is, and what is none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.published.density import (
    LINEAR,
    Setup,
    draw,
    flow_fitter,
    precision_of,
    simulate_density,
)
from nlgauge.studies.published.load import find_paper_table
from nlgauge.studies.published.reproduce import reproduce


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_as_written_the_centred_rotation_is_exact(steps: int) -> None:
    """D10.9: rotations and translations in turn are one rigid motion."""
    result = simulate_density(Setup(steps, 10), LINEAR["centred rotation"], runs=3)
    assert result.tolist() == [1.0] * 3
    if steps > 1:
        assert simulate_density(Setup(steps, 10), LINEAR["Rotation"], runs=3).mean() < 0.6


def test_distances_are_kept_as_written_and_not_when_bent() -> None:
    written, bent = (draw(Setup(4, 5, kind=kind), seed=1) for kind in ("as written", "bent"))
    for drawn, kept in ((written, True), (bent, False)):
        before, after = (np.linalg.norm(rows[:-1] - rows[1:], axis=1) for rows in (drawn.source, drawn.target))
        assert np.allclose(before, after) == kept
    assert simulate_density(Setup(2, 10, kind="bent"), LINEAR["centred rotation"], runs=3).mean() < 0.6


def test_precision_by_hand() -> None:
    moved = np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 9.0]], np.float32)
    target = np.array([[0.1, 0.0], [8.0, 8.0], [5.2, 5.0]])
    assert precision_of(moved, target) == pytest.approx(1 / 3)
    assert precision_of(moved, target, occurrences=3) == 1


def test_the_table_without_a_flow() -> None:
    table = find_paper_table("density-simulation")
    result = reproduce(table, rows=["centred rotation", "GAN-Real-NVP"], rankings=RankingOptions(draws=1))
    centred, gan = result.rows
    for label in ("t=1", "t=10", "k=5", "eps=5"):
        assert centred.cells[label].ours == 100
    assert centred.cells["bent t=3"].ours < 50  # type: ignore[operator]
    assert (gan.cells["t=5"].published, gan.cells["t=5"].ours) == (51.3, None)
    assert "ten runs" not in result.render()  # the heading does not contradict what was drawn
    assert "note: ours: 1 run from seed" in result.render()
    with pytest.raises(RecipeError, match="accepts only the ranking options draws and seed"):
        reproduce(table, rankings=RankingOptions(ties="drop"))
    with pytest.raises(RecipeError, match="a simulation of languages; leave out --model"):
        reproduce(table, model="minilm")


@pytest.mark.torch
def test_a_flow_finds_what_is_bent() -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    setup = Setup(1, 50, kind="bent")
    (flow,), (rotation,) = (
        simulate_density(setup, fit, runs=1) for fit in (flow_fitter(), LINEAR["centred rotation"])
    )
    assert flow > 1.5 * rotation


def test_setup_that_cannot_be_simulated_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    table = find_paper_table("density-simulation")
    row = next(row for row in table.rows if row.computed and row.key[0] in LINEAR)
    module = sys.modules["nlgauge.studies.published.density"]
    simulated = module.simulate_density

    def failing(setup: object, *args: object, **options: object) -> object:
        if setup == Setup(**table.questions[0].setup):
            raise InputError("no words are left")
        return simulated(setup, *args, **options)

    monkeypatch.setattr(module, "simulate_density", failing)
    result = reproduce(table, rows=row.name, rankings=RankingOptions(draws=1))
    first, *others = [cell.ours for cell in result.rows[0].cells.values()]
    assert first is None
    assert None not in others
    assert result.missing == (f"value of {row.name}, {table.columns[0].label}: no words are left",)
