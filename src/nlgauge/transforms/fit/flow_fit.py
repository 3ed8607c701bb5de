"""Flows fitted to words of two languages: with parallel text (Real-NVP), or without (GAN-Real-NVP). Needs torch.

    with      squared error of paired words both ways, and the likelihood of both sides
    without   a critic on either side that tells made rows from real ones, and the likelihood; the rotation to start
              from is that of unsupervised self-learning. In rounds (Algorithm 1), pairs of words by CSLS under the
              map so far hold the flow by a constraint.

The fit starts as the centred rotation, and the state with the best criterion is kept, the start included. Where the
numbers stop being finite the fit ends with that state and says so. One thread computes: same seed, same bytes. Of two
widths the larger is brought to the smaller (`widths.py`), and the map holds that step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.blas import one_blas_thread
from nlgauge.errors import InputError
from nlgauge.transforms.fit.flow_arithmetic import couplings_of, load_torch, one_thread
from nlgauge.transforms.fit.flow_options import Fitted, FlowOptions
from nlgauge.transforms.fit.flow_training import FlowTraining
from nlgauge.transforms.fit.neighbours import Pairs
from nlgauge.transforms.fit.procrustes import procrustes, row_pairs
from nlgauge.transforms.fit.training_loop import noted, split_pairs, train
from nlgauge.transforms.fit.widths import same_width
from nlgauge.transforms.flow import FlowMap
from nlgauge.transforms.network_map import Reduction
from nlgauge.transforms.origin import Origin, Side

__all__ = ["fit_flow", "fit_gan_flow"]

#: Fewest pairs to fit to; and words without pairs that the criterion looks at, the most frequent ones.
_FEWEST_PAIRS, _WATCHED = 20, 2000


class _Start(NamedTuple):
    """The centred rotation, and both sides as the flows see them."""

    rotation: NDArray[np.float32]
    source_mean: NDArray[np.float32]
    target_mean: NDArray[np.float32]
    scale: float
    x: NDArray[np.float32]
    y: NDArray[np.float32]
    reductions: Mapping[Side, Reduction]


def fit_flow(
    source: ArrayLike,
    target: ArrayLike,
    *,
    options: FlowOptions | None = None,
    origin: Origin | None = None,
    state: Path | None = None,
    advance: Callable[[int], None] | None = None,
) -> Fitted[FlowMap]:
    """Fit to paired rows. A tenth is kept apart, and the criterion on it decides when to stop and what to keep.

    `state`: a file that keeps what is done after each epoch, so that an interrupted fit goes on; `advance` is told of
    each epoch.
    """
    chosen = options or FlowOptions()
    chosen.check_method("flow")
    x, y, reductions = same_width(source, target)
    x, y = row_pairs(x, y)
    if len(x) < max(_FEWEST_PAIRS, x.shape[1]):
        msg = f"{len(x)} pairs are too few for a flow of width {x.shape[1]}; give {max(_FEWEST_PAIRS, x.shape[1])}"
        raise InputError(msg)
    kept, held_out = split_pairs(len(x), chosen.seed)
    start = _start(x, y, Pairs(kept, kept), reductions)
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
) -> Fitted[FlowMap]:
    """Fit to rows of two languages, most frequent words first, of which `pairs` are a guess (of `learn_alignment`).

    The guess gives the rotation to start from. With a constraint, each round takes the pairs that the map then has.
    """
    chosen = options or FlowOptions(learning_rate=5e-5)
    chosen.check_method("gan-flow")
    x, y = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    for name, rows in (("source", x), ("target", y)):
        if not np.isfinite(rows).all():
            msg = f"the {name} vectors are not finite"
            raise InputError(msg)
    x, y, reductions = same_width(x, y)
    start = _start(x, y, pairs, reductions)
    torch = load_torch()
    with one_thread(torch):
        training = FlowTraining(torch, start.x, start.y, chosen, adversarial=True)
        training.watch(start.x[:_WATCHED], start.y[:_WATCHED])
        made = (origin or Origin())._replace(method="gan-flow", pairs=len(pairs))
        return _run(training, start, chosen, made, state, advance)


def _start(
    x: NDArray[np.float64], y: NDArray[np.float64], pairs: Pairs, reductions: Mapping[Side, Reduction]
) -> _Start:
    """Means and rotation of the pairs; one number brings the entries of both sides to a size of 1."""
    means = [rows[side].mean(axis=0) for rows, side in ((x, pairs.source), (y, pairs.target))]
    with one_blas_thread:
        rotation = procrustes(x[pairs.source] - means[0], y[pairs.target] - means[1])
        scale = math.sqrt((np.square(x - means[0]).mean() + np.square(y - means[1]).mean()) / 2) or 1.0
        turned = ((x - means[0]) / scale) @ rotation
    arrays = [part.astype(np.float32) for part in (rotation, *means)]
    sides = turned.astype(np.float32), ((y - means[1]) / scale).astype(np.float32)
    return _Start(arrays[0], arrays[1], arrays[2], scale, *sides, reductions)


def _run(
    training: FlowTraining,
    start: _Start,
    options: FlowOptions,
    origin: Origin,
    state: Path | None,
    advance: Callable[[int], None] | None,
) -> Fitted[FlowMap]:
    trained = train(
        training,
        options,
        method=origin.method,
        inputs=(start.x, start.y, start.rotation),
        state=state,
        advance=advance,
    )
    flow = FlowMap(
        start.rotation,
        start.source_mean,
        start.target_mean,
        start.scale,
        couplings_of(training.source),
        couplings_of(training.target),
        noted(origin, trained, options.seed),
        start.reductions,
    )
    return Fitted(flow, *trained)
