"""Flows that are fitted: maps that no rotation is, the same bytes again, and what happens when it goes wrong."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nlgauge.errors import ConvergenceWarning, InputError, RecipeError
from nlgauge.studies.alignment.adversarial_fit import fit_gan_flow
from nlgauge.studies.alignment.flow_fit import fit_flow
from nlgauge.studies.alignment.training_loop import FitRun, FlowOptions
from nlgauge.studies.alignment.word_spaces import Pairs
from nlgauge.vectors.network_maps import Coupling, FlowMap
from nlgauge.vectors.remap import fit_remapping

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

SMALL = FlowOptions(couplings=4, hidden=64, epochs=40, batch=128, learning_rate=3e-3, patience=40)


def bent(count: int, width: int = 8, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Points, and the same turned and bent: each entry of one half is moved by a wave of the other half."""
    chance = np.random.default_rng(seed)
    world = np.random.default_rng(99)
    turn, waves = np.linalg.qr(world.normal(size=(width, width)))[0], world.normal(size=(width // 2, width // 2))
    x = chance.normal(size=(count, width))
    y = x @ turn
    y[:, width // 2 :] += 2.5 * np.sin(1.5 * y[:, : width // 2] @ waves)
    return x.astype(np.float32), y.astype(np.float32)


def precision(moved: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    distance = np.linalg.norm(moved[:, None] - target[None], axis=2)
    return float((distance.argmin(axis=1) == np.arange(len(moved))).mean())


def test_a_bent_space_is_found_where_the_centred_rotation_cannot() -> None:
    x, y = bent(4000)
    held_x, held_y = bent(300, seed=1)
    rotation = precision(fit_remapping(x, y, method="centred").apply(held_x), held_y)
    fitted = fit_flow(x, y, options=SMALL)
    flow = precision(fitted.map.apply(held_x), held_y)
    assert rotation < 0.5
    assert flow >= 0.9
    assert fitted.curve[0].criterion < fitted.curve[fitted.best].criterion


def test_it_starts_as_the_centred_rotation_and_is_never_worse_by_the_criterion() -> None:
    x, y = bent(400)
    fitted = fit_flow(x, y, options=FlowOptions(hidden=8, epochs=1, learning_rate=0.0))
    order = np.random.default_rng(0).permutation(400)
    centred = fit_remapping(x[order[40:]], y[order[40:]], method="centred")
    np.testing.assert_allclose(fitted.map.apply(x), centred.apply(x), atol=1e-4)
    assert (fitted.best, [point.epoch for point in fitted.curve]) == (0, [0, 1])


@pytest.mark.parametrize("constraint", ["none", "graph", "cross-correlation", "procrustes"])
def test_the_same_seed_gives_the_same_bytes(constraint: str, tmp_path: Path) -> None:
    x, y = bent(300)
    options = FlowOptions(hidden=16, epochs=3, batch=64, constraint=constraint, seed=4)
    for name in ("one", "two"):
        fit_flow(x, y, options=options).map.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_interrupted_fit_goes_on_to_the_same_end(tmp_path: Path) -> None:
    x, y = bent(300)
    state = tmp_path / "fit.state"
    four, two = (FlowOptions(hidden=16, epochs=epochs, batch=64) for epochs in (4, 2))
    whole = fit_flow(x, y, options=four)
    fit_flow(x, y, options=two, run=FitRun(state=state))
    messages: list[int] = []
    again = fit_flow(x, y, options=four, run=FitRun(state=state, advance=messages.append))
    assert messages == [2, 1, 1]
    assert again.map.digest == whole.map.digest
    assert again.curve[1:] == whole.curve[1:]
    with pytest.raises(InputError, match="state of a fit with other vectors or options"):
        fit_flow(y, x, options=four, run=FitRun(state=state))
    state.write_bytes(b"something else")
    with pytest.raises(InputError, match="is not a state file of a fit"):
        fit_flow(x, y, options=four, run=FitRun(state=state))


def test_a_fit_that_diverges_ends_with_its_last_good_state() -> None:
    x, y = bent(300)
    with pytest.warns(ConvergenceWarning, match=r"diverged in epoch \d+.*the result is that of epoch \d+"):
        fitted = fit_flow(x, y, options=FlowOptions(hidden=16, epochs=5, batch=32, learning_rate=1e30))
    assert fitted.ended == "diverged"
    assert "ended: diverged" in fitted.map.origin.note
    assert np.isfinite(fitted.map.apply(x)).all()


def test_the_volume_is_that_of_autograd() -> None:
    """In four dimensions, log |det| of the way to the latent space against the Jacobian that torch computes."""
    from nlgauge.studies.alignment.flow_fit import couplings_of, forward, new_layers

    chance = torch.Generator().manual_seed(0)
    layers = new_layers(torch, 4, couplings=3, hidden=8, generator=chance)
    for layer in layers:
        for name in ("outer", "outer_bias"):
            layer[name] = torch.randn(layer[name].shape, generator=chance) * 0.3
    points = torch.randn(3, 4, generator=chance)
    latent, result = forward(torch, layers, points)
    for point, log_det in zip(points, result.detach(), strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda row: forward(torch, layers, row[None])[0][0], point)
        assert float(torch.linalg.slogdet(jacobian)[1]) == pytest.approx(float(log_det), abs=1e-5)
    couplings: tuple[Coupling, ...] = couplings_of(layers)
    eye, zero = np.eye(4, dtype=np.float32), np.zeros(4, np.float32)
    to_latent = FlowMap(eye, zero, zero, 1.0, couplings, ())
    np.testing.assert_allclose(to_latent.apply(points.numpy()), latent.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("constraint", ["cross-correlation", "graph"])
def test_without_parallel_text_a_good_guess_is_not_spoilt(constraint: str) -> None:
    """A gentle bend, from the rotation of true pairs: the kept state is at least as good by the criterion."""
    chance = np.random.default_rng(3)
    x = chance.normal(size=(400, 6)) * np.arange(1, 7)
    y = x @ np.linalg.qr(chance.normal(size=(6, 6)))[0] + 1
    y += 0.3 * np.tanh(y)
    pairs = Pairs(np.arange(100), np.arange(100))
    options = FlowOptions(
        hidden=16, epochs=2, rounds=2, batch=64, constraint=constraint, critic_steps=1, learning_rate=5e-4
    )
    fitted = fit_gan_flow(x, y, pairs, options=options)
    assert fitted.map.origin.method == "gan-flow"
    assert [point.round for point in fitted.curve] == [0, 1, 1, 2, 2]
    assert fitted.curve[fitted.best].criterion >= fitted.curve[0].criterion
    assert precision(fitted.map.apply(x), y.astype(np.float32)) > 0.8
    again = fit_gan_flow(x, y, pairs, options=options)
    assert again.map.digest == fitted.map.digest


@pytest.mark.parametrize("stop", [1, 3, 4])
def test_rounds_go_on_from_wherever_they_were_stopped(stop: int, tmp_path: Path) -> None:
    """With an early end of the first round, which leaves a gap; the held rotation is that of the round's pairs."""
    x, y = bent(200)
    pairs, state = Pairs(np.arange(60), np.arange(60)), tmp_path / "fit.state"
    options = FlowOptions(
        hidden=8,
        epochs=3,
        rounds=2,
        patience=1,
        batch=64,
        constraint="procrustes",
        critic_steps=1,
        learning_rate=1e-2,
    )
    whole = fit_gan_flow(x, y, pairs, options=options)
    done = 0

    def interrupt(count: int) -> None:
        nonlocal done
        done += count
        if done >= stop:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        fit_gan_flow(x, y, pairs, options=options, run=FitRun(state=state, advance=interrupt))
    again = fit_gan_flow(x, y, pairs, options=options, run=FitRun(state=state))
    assert again.curve[1:] == whole.curve[1:]
    assert (again.map.digest, again.map.origin) == (whole.map.digest, whole.map.origin)


def test_widths_that_differ_meet_in_the_smaller() -> None:
    x, y = bent(300)
    wider = np.concatenate([y, y[:, :2]], axis=1)
    options = FlowOptions(hidden=8, epochs=1, batch=64, critic_steps=1)
    pairs = Pairs(np.arange(100), np.arange(100))
    for fitted in (fit_flow(x, wider, options=options), fit_gan_flow(x, wider, pairs, options=options)):
        assert (fitted.map.width, fitted.map.width_of("target")) == (8, 10)
        assert fitted.map.apply(x).shape == fitted.map.apply(wider, side="target").shape == (300, 8)


def test_structural_validation() -> None:
    x, y = bent(300)
    fitted = fit_flow(x, y, options=FlowOptions(hidden=16, epochs=2, validation="structural"))
    assert all(point.criterion <= 0 for point in fitted.curve)


def test_validation_by_the_error_of_pairs_kept_apart() -> None:
    x, y = bent(600)
    fitted = fit_flow(x, y, options=FlowOptions(hidden=32, epochs=5, validation="error", learning_rate=3e-3))
    assert fitted.curve[0].criterion < fitted.curve[fitted.best].criterion < 0


def test_flow_refuses_too_few_pairs_and_invalid_options() -> None:
    x, y = bent(300)
    with pytest.raises(InputError, match="10 pairs are too few for a flow of width 8; provide 20"):
        fit_flow(x[:10], y[:10])
    with pytest.raises(RecipeError, match="rounds need a fit without parallel text"):
        fit_flow(x, y, options=FlowOptions(rounds=2))
    with pytest.raises(RecipeError, match="needs known pairs"):
        fit_gan_flow(x, y, Pairs(np.arange(9), np.arange(9)), options=FlowOptions(validation="error"))
    with pytest.raises(RecipeError, match="set constraint= or rounds=1"):
        fit_gan_flow(x, y, Pairs(np.arange(9), np.arange(9)), options=FlowOptions(rounds=2))
    broken = y.copy()
    broken[0, 0] = np.nan
    with pytest.raises(InputError, match="row 0 of the target vectors is not finite"):
        fit_flow(x, broken)
    with pytest.raises(InputError, match="target vectors are not finite"):
        fit_gan_flow(x[1:], broken[[1, 0, 2]], Pairs(np.arange(2), np.arange(2)))
    with pytest.raises(RecipeError, match="constraint must be one of none, graph"):
        FlowOptions(constraint="rope")
    for wrong, why in (
        ({"epochs": 0}, "epochs must be a whole number from 1"),
        ({"couplings": 1}, "couplings must be a whole number from 2"),
        ({"seed": -1}, "seed must be a whole number from 0"),
    ):
        with pytest.raises(RecipeError, match=why):
            FlowOptions(**wrong)  # type: ignore[arg-type]
