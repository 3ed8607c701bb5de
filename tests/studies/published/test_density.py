"""The simulated languages: what a rigid motion is, and what is none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.published.density import (
    BINS,
    LINEAR,
    PrecisionCurve,
    Setup,
    draw,
    fit_once,
    map_space,
    network_fitter,
    precision_curve,
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
    result = reproduce(table, rows=["centred rotation"], rankings=RankingOptions(draws=1))
    (centred,) = result.rows
    for label in ("t=1", "t=10", "k=5", "eps=5"):
        assert centred.cells[label].ours == 100
    assert centred.cells["bent t=3"].ours < 50  # type: ignore[operator]
    assert "ten runs" not in result.render()  # the heading does not contradict what was drawn
    assert "note: ours: 1 run from seed" in result.render()
    with pytest.raises(RecipeError, match="accepts only the ranking options draws and seed"):
        reproduce(table, rankings=RankingOptions(ties="drop"))
    with pytest.raises(RecipeError, match="a simulation of languages; leave out --model"):
        reproduce(table, model="minilm")


@pytest.mark.torch
def test_a_flow_beats_a_rotation_on_bent_clouds() -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    setup = Setup(1, 50, kind="bent")
    (flow,), (rotation,) = (
        simulate_density(setup, fit, runs=1) for fit in (network_fitter("Real-NVP"), LINEAR["centred rotation"])
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


def test_correlation_of_a_curve_by_hand() -> None:
    assert PrecisionCurve((1, 2, 3), (0.6, 0.4, 0.2)).correlation == pytest.approx(1)
    assert PrecisionCurve((1, 2, 3), (1.0, 0.0, 1.0)).correlation == pytest.approx(0)
    assert PrecisionCurve((1, 2, 3), (1.0, 1.0, 1.0)).correlation == 0


def test_bins_of_figure_2_are_the_published_ones() -> None:
    """Chapter 10, Figure 2: k in {5, 10, ..., 100}, eps in {0, .2, ..., 5}."""
    assert (BINS["occurrences"][:2], BINS["occurrences"][-1], len(BINS["occurrences"])) == ((5, 10), 100, 20)
    assert (BINS["shift"][:2], BINS["shift"][-1], len(BINS["shift"])) == ((0, 0.2), 5, 26)


def test_distance_of_domains_matters_only_for_spaces_that_differ() -> None:
    """The paper on its Figure 2 (b): Rotation correlates highly with the distance in non-isomorphic spaces only."""
    bins, rotation = (0.0, 2.5, 5.0), LINEAR["Rotation"]
    same, other = (precision_curve(Setup(steps, 20), rotation, across="shift", bins=bins, runs=3) for steps in (1, 5))
    assert (same.shares, same.correlation) == ((1.0, 1.0, 1.0), 0)
    assert other.correlation > 0.8


def test_columns_of_one_training_set_share_a_map() -> None:
    fitted = []

    def fit(source: np.ndarray, target: np.ndarray) -> object:
        fitted.append(len(source))
        return LINEAR["centred rotation"](source, target)

    shared = fit_once(fit)  # type: ignore[arg-type]
    for setup in (Setup(2, 5), Setup(2, 5, shift=3), Setup(3, 5)):
        simulate_density(setup, shared, runs=2)
    assert len(fitted) == 4


def test_figures_2_and_3_have_tables_and_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    module = sys.modules["nlgauge.studies.published.density"]
    monkeypatch.setattr(module, "BINS", {"occurrences": (5, 20), "shift": (0, 5)})
    curves = reproduce(
        find_paper_table("density-figure2"), rows=["Rotation", "centred rotation"], rankings=RankingOptions(draws=1)
    )
    rotation, centred = curves.rows
    assert [cell.ours for cell in centred.cells.values()][:2] == [0, 0]
    assert rotation.cells["eps, bent t=1"].ours == pytest.approx(1)  # two bins
    panels = [ax.get_title(loc="left") for ax in curves.figure().axes]
    assert panels[:6] == list(curves.columns)
    spaces = reproduce(find_paper_table("density-figure3"), rows=["Rotation"], rankings=RankingOptions(draws=1))
    assert spaces.figure().axes[0].get_title(loc="left").startswith("Rotation: P@1 ")


@pytest.mark.torch
def test_bootstrapping_has_the_published_rounds() -> None:
    """Algorithm 1: n = 10 in the simulation; without a constraint nothing changes between rounds."""
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    seen = []
    module = sys.modules["nlgauge.studies.published.density"]

    def fit(source: np.ndarray, target: np.ndarray, *, options: object) -> object:
        seen.append(options)
        raise InputError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "NETWORKS", {"MUSE": fit})
        for constraint in ("none", "graph"):
            with pytest.raises(InputError, match="enough"):
                network_fitter("MUSE", constraint)(np.zeros((200, 2)), np.zeros((200, 2)))
    assert [(options.constraint, options.rounds) for options in seen] == [("none", 1), ("graph", 10)]  # type: ignore[attr-defined]


@pytest.mark.torch
def test_unsupervised_methods_bring_densities_together_without_pairs() -> None:
    """The rows of both sides are shuffled apart, and the energy distance to the target falls."""
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    from nlgauge.studies.alignment.training_loop import energy_distance

    setup = Setup(1, 10, kind="bent")
    fit = network_fitter("GAN-Real-NVP")
    space = map_space(setup, lambda x, y: fit(x, np.random.default_rng(0).permutation(y)))
    drawn = draw(setup, seed=0)
    start = drawn.test_source + drawn.target.mean(axis=0) - drawn.source.mean(axis=0)
    before, after = (energy_distance(rows, space.target) for rows in (start, space.moved))  # type: ignore[arg-type]
    assert after < 0.8 * before  # .60 measured; 1 without training
