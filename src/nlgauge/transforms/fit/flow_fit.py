"""Flows fitted to words of two languages: with parallel text (Real-NVP), or without (GAN-Real-NVP). Needs torch.

    with      squared error of paired words both ways, and the likelihood of both sides
    without   a critic on either side that tells made rows from real ones, and the likelihood; the rotation to start
              from is that of unsupervised self-learning. In rounds (Algorithm 1), pairs of words by CSLS under the
              map so far hold the flow by a constraint.

The fit starts as the centred rotation, and the state with the best criterion is kept, the start included. Where the
numbers stop being finite the fit ends with that state and says so. One thread computes: same seed, same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.blas import one_blas_thread
from nlgauge.errors import ConvergenceWarning, InputError, RecipeError, user_stacklevel
from nlgauge.files.atomic import write_atomic
from nlgauge.transforms.fit.flow_arithmetic import couplings_of, load_torch, one_thread
from nlgauge.transforms.fit.flow_options import Epoch, FittedFlow, FlowOptions
from nlgauge.transforms.fit.flow_training import FlowTraining
from nlgauge.transforms.fit.neighbours import Pairs
from nlgauge.transforms.fit.procrustes import procrustes, row_pairs
from nlgauge.transforms.flow import FlowMap
from nlgauge.transforms.origin import Origin

__all__ = ["fit_flow", "fit_gan_flow"]

#: Pairs that are kept apart to tell good states by: a tenth, no more than these, and fewest pairs of all.
_HELD_OUT_SHARE, _MOST_HELD_OUT, _FEWEST_PAIRS = 0.1, 2000, 20


class _Start(NamedTuple):
    """The centred rotation, and both sides as the flows see them."""

    rotation: NDArray[np.float32]
    source_mean: NDArray[np.float32]
    target_mean: NDArray[np.float32]
    scale: float
    x: NDArray[np.float32]
    y: NDArray[np.float32]


def fit_flow(
    source: ArrayLike,
    target: ArrayLike,
    *,
    options: FlowOptions | None = None,
    origin: Origin | None = None,
    state: Path | None = None,
    advance: Callable[[int], None] | None = None,
) -> FittedFlow:
    """Fit to paired rows. A tenth is kept apart, and the criterion on it decides when to stop and what to keep.

    `state`: a file that keeps what is done after each epoch, so that an interrupted fit goes on; `advance` is told of
    each epoch.
    """
    chosen = options or FlowOptions()
    if chosen.rounds != 1:
        msg = (
            f"rounds belong to fits without parallel text, which find pairs anew in each; got rounds={chosen.rounds}"
        )
        raise RecipeError(msg)
    x, y = row_pairs(source, target)
    if len(x) < max(_FEWEST_PAIRS, x.shape[1]):
        msg = f"{len(x)} pairs are too few for a flow of width {x.shape[1]}; give {max(_FEWEST_PAIRS, x.shape[1])}"
        raise InputError(msg)
    order = np.random.default_rng(chosen.seed).permutation(len(x))
    held_out = order[: min(_MOST_HELD_OUT, max(2, int(len(x) * _HELD_OUT_SHARE)))]
    kept = order[len(held_out) :]
    start = _start(x, y, Pairs(kept, kept))
    torch = load_torch()
    with one_thread(torch):
        training = FlowTraining(torch, start.x[kept], start.y[kept], chosen, adversarial=False)
        training.watch(start.x[held_out], start.y[held_out])
        return _run(
            training, start, chosen, (origin or Origin())._replace(method="flow", pairs=len(x)), state, advance
        )


def fit_gan_flow(
    source: ArrayLike,
    target: ArrayLike,
    pairs: Pairs,
    *,
    options: FlowOptions | None = None,
    origin: Origin | None = None,
    state: Path | None = None,
    advance: Callable[[int], None] | None = None,
) -> FittedFlow:
    """Fit to rows of two languages, most frequent words first, of which `pairs` are a guess (of `learn_alignment`).

    The guess gives the rotation to start from. With a constraint, each round takes the pairs that the map then has.
    """
    chosen = options or FlowOptions(learning_rate=5e-5)
    if chosen.validation == "error":
        msg = "validation 'error' needs pairs that are known; take semantic or structural"
        raise RecipeError(msg)
    if chosen.rounds > 1 and chosen.constraint == "none":
        msg = "rounds find pairs for a constraint, and there is none; choose one, or rounds=1"
        raise RecipeError(msg)
    x, y = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    row_pairs(x[:1], y[:1])
    for name, rows in (("source", x), ("target", y)):
        if not np.isfinite(rows).all():
            msg = f"the {name} vectors are not finite"
            raise InputError(msg)
    start = _start(x, y, pairs)
    torch = load_torch()
    with one_thread(torch):
        training = FlowTraining(torch, start.x, start.y, chosen, adversarial=True)
        training.watch(start.x[:_MOST_HELD_OUT], start.y[:_MOST_HELD_OUT])
        made = (origin or Origin())._replace(method="gan-flow", pairs=len(pairs))
        return _run(training, start, chosen, made, state, advance)


def _start(x: NDArray[np.float64], y: NDArray[np.float64], pairs: Pairs) -> _Start:
    """Means and rotation of the pairs; one number brings the entries of both sides to a size of 1."""
    means = [rows[side].mean(axis=0) for rows, side in ((x, pairs.source), (y, pairs.target))]
    with one_blas_thread:
        rotation = procrustes(x[pairs.source] - means[0], y[pairs.target] - means[1])
        scale = math.sqrt((np.square(x - means[0]).mean() + np.square(y - means[1]).mean()) / 2) or 1.0
        turned = ((x - means[0]) / scale) @ rotation
    arrays = [part.astype(np.float32) for part in (rotation, *means)]
    sides = turned.astype(np.float32), ((y - means[1]) / scale).astype(np.float32)
    return _Start(arrays[0], arrays[1], arrays[2], scale, *sides)


def _run(
    training: FlowTraining,
    start: _Start,
    options: FlowOptions,
    origin: Origin,
    state: Path | None,
    advance: Callable[[int], None] | None,
) -> FittedFlow:
    inputs = _inputs_digest(start, options, origin.method)
    curve, best = _resumed(training, state, inputs) or ([Epoch(0, 0, math.nan, training.criterion())], 0)
    if not math.isfinite(curve[0].criterion):
        msg = "the criterion of the centred rotation is not finite: look for vectors that are all alike"
        raise InputError(msg)
    training.keep_best(new=not best and len(curve) == 1)
    ended: Literal["epochs", "patience", "diverged"] = "epochs"
    done = advance or (lambda _: None)
    done(len(curve) - 1)
    for number in range(len(curve), options.total_epochs + 1):
        turn = (number - 1) // options.epochs
        if (number - 1) % options.epochs == 0:
            training.begin_round()
        if number - max(best, turn * options.epochs) > options.patience:
            ended = "patience"
            if turn + 1 < options.rounds:
                continue
            break
        loss = training.epoch()
        reached = training.criterion() if math.isfinite(loss) else -math.inf
        if not math.isfinite(reached):
            _say_diverged(number, best)
            ended = "diverged"
            break
        curve.append(Epoch(number, turn + 1, loss, reached))
        if reached > curve[_place(curve, best)].criterion:
            best = number
            training.keep_best(new=True)
        if state is not None:
            _save_state(training, state, inputs, curve, best)
        done(1)
    training.restore_best()
    note = f"{origin.note}; epoch {best} of {len(curve) - 1}, seed {options.seed}, ended: {ended}".removeprefix("; ")
    flow = FlowMap(
        start.rotation,
        start.source_mean,
        start.target_mean,
        start.scale,
        couplings_of(training.source),
        couplings_of(training.target),
        origin._replace(note=note),
    )
    return FittedFlow(flow, tuple(curve), best, ended)


def _place(curve: list[Epoch], epoch: int) -> int:
    return next(place for place, point in enumerate(curve) if point.epoch == epoch)


def _say_diverged(number: int, best: int) -> None:
    msg = (
        f"the fit diverged in epoch {number}: its numbers are not finite; kept is the state of epoch {best}. A lower "
        "learning rate may help"
    )
    warnings.warn(msg, ConvergenceWarning, stacklevel=user_stacklevel())


def _inputs_digest(start: _Start, options: FlowOptions, method: str) -> str:
    """Names what a fit depends on; how long it runs may change between one run and the next."""
    told = options.as_dict() | {"method": method}
    if options.rounds == 1:
        told.pop("epochs")
    hashed = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for array in (start.x, start.y, start.rotation):
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def _save_state(training: FlowTraining, path: Path, inputs: str, curve: list[Epoch], best: int) -> None:
    buffer = io.BytesIO()
    content = {
        "inputs": inputs,
        "curve": [list(point) for point in curve],
        "best": best,
        "training": training.state(),
    }
    training.torch.save(content, buffer)
    write_atomic(path, buffer.getvalue())


def _resumed(training: FlowTraining, path: Path | None, inputs: str) -> tuple[list[Epoch], int] | None:
    if path is None or not path.exists():
        return None
    try:
        content = training.torch.load(path, weights_only=True)
        found = str(content["inputs"])
    except Exception as error:  # pickle and zipfile raise a dozen classes for another kind of file
        msg = f"{str(path)!r} is not the state of a fit: {error!r}; give another name"
        raise InputError(msg) from error
    if found != inputs:
        msg = f"{str(path)!r} is the state of a fit with other vectors or options; give another name, or remove it"
        raise InputError(msg)
    training.restore(content["training"])
    return [Epoch(*point) for point in content["curve"]], int(content["best"])
