"""Match the densities of two languages without pairs: GAN-Real-NVP. Needs torch.

    gan-flow    two flows (`flow_fit.py`) that start as the identity or as a rotation, with a critic per side

    critic      E h(y) - E h(f(x)), and a gradient penalty for a slope of h other than 1      Eq. 3
    likelihood  as in `flow_fit.py`; both sides and both directions (dual form)               Eq. 3
    pairs       in rounds (Algorithm 1): words paired by CSLS under the current map, for a constraint    Eq. 4, 5

Equations are those of the dissertation, chapter 10, which gives no schedule (D10.1). A Wasserstein distance is only
as good as its critic, so the critics learn at a constant rate, five steps per step of the flow, and Adam has no first
moment. The rate of the flow falls to 0 in each round, and the map is the moving average of its states: without both,
it circles around the match. The criterion `density` sees the match, which the cosines of words do not in a plane.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.io.packages import require
from nlgauge.studies.alignment.flow_fit import (
    LONGEST_GRADIENT,
    FlowLayers,
    Mapped,
    Rows,
    best_rotation,
    constraint_loss,
    finish_flow,
    mapped,
    new_layers,
    new_network,
    run_network,
    start_of,
)
from nlgauge.studies.alignment.training_loop import (
    GAN_DEFAULTS,
    FitRun,
    Fitted,
    FlowOptions,
    criterion,
    one_thread,
)
from nlgauge.studies.alignment.word_spaces import Pairs, csls_pairs, same_width
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.network_maps import FlowMap

#: Number of most frequent words for the criterion.
_WATCHED = 2000

#: Width of each critic's two inner layers: twice that of the vectors, within these.
_CRITIC_WIDTHS = (64, 1024)

#: Moments of Adam: the critics change, so older gradients mislead.
_MOMENTS = (0.0, 0.9)


class GanFlowTraining(FlowLayers):
    """Training on unpaired rows of two languages."""

    def __init__(self, torch: Any, x: Rows, y: Rows, options: FlowOptions) -> None:
        super().__init__(torch, options.seed)
        self._options, width = options, x.shape[1]
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y)
        sizes = {"couplings": options.couplings, "hidden": options.hidden, "generator": self.chance}
        self._learned = [new_layers(torch, width, **sizes) for _ in range(2)]
        learned = [tensor for side in self._learned for layer in side for tensor in layer.values()]
        self.source, self.target = (
            [{name: tensor.detach().clone() for name, tensor in layer.items()} for layer in side]
            for side in self._learned
        )
        self.parameters = [tensor for layer in (*self.source, *self.target) for tensor in layer.values()]
        inner = min(max(2 * width, _CRITIC_WIDTHS[0]), _CRITIC_WIDTHS[1])
        self._critics = [new_network(torch, (width, inner, inner, 1), generator=self.chance) for _ in range(2)]
        self._flow = learned
        rates = (options.learning_rate, options.critic_rate, options.critic_rate)
        self.optimisers = [
            torch.optim.Adam(tensors, lr=rate, betas=_MOMENTS)
            for tensors, rate in zip((learned, *self._critics), rates, strict=True)
        ]
        self.helpers = [*learned, *(tensor for critic in self._critics for tensor in critic)]
        self._watched = self._x[:_WATCHED], y[:_WATCHED]
        self._pairs: Any = None
        self._rotation: Any = None
        self._done = 0  # steps in this round

    def criterion(self) -> float:
        """Criterion of the averaged map; minus infinity where numbers are not finite."""
        return criterion(self._options.validation, self._moved(), self._watched[1])

    def begin_round(self) -> None:
        """Start the schedule again, and find pairs for the constraint under the current map (Algorithm 1)."""
        self._done = 0
        if self._options.constraint != "none":
            pairs, _ = csls_pairs(*(unit_rows(rows, pairwise=True) for rows in (self._moved(), self._watched[1])))
            self._pairs = self.torch.from_numpy(np.stack(pairs))
            self._hold_rotation()

    def _hold_rotation(self) -> None:
        """Set the target of the constraint procrustes: the rotation of all pairs."""
        if self._options.constraint == "procrustes" and self._pairs is not None:
            self._rotation = best_rotation(self.torch, self._x[self._pairs[0]], self._y[self._pairs[1]])

    def epoch(self) -> float:
        """Run one epoch; return the mean loss of batches, not finite if one of them is not."""
        losses, batch = [], self._options.batch
        parts = self.torch.randperm(len(self._x), generator=self.chance).split(batch)
        for rows in parts:
            if len(rows) < 2:
                continue  # a correlation needs two rows
            for _ in range(self._options.critic_steps):
                self._teach_critics()
            loss = self._loss(rows)
            losses.append(float(loss.detach()))
            if not np.isfinite(losses[-1]):
                break
            left = 1 - self._done / (len(parts) * self._options.epochs)
            self.optimisers[0].param_groups[0]["lr"] = self._options.learning_rate * left
            self.follow(loss, self.optimisers[0], longest_gradient=LONGEST_GRADIENT)
            self._done += 1
            self._average()
        return float(np.mean(losses))

    def _average(self) -> None:
        """Move the map towards the learned flows; the first steps count less, because they are far away."""
        share = 1 - min(self._options.averaging, self._done / (self._done + 10))
        with self.torch.no_grad():
            for mean, tensor in zip(self.parameters, self._flow, strict=True):
                mean.lerp_(tensor, share)

    def _loss(self, rows: Any) -> Any:
        torch, options = self.torch, self._options
        both = Mapped(torch, *self._learned, self._x[rows], self._y[self._drawn(self._y, len(rows))])
        on_target, on_source = self._critics
        loss = -judged(torch, on_target, both.x_as_y).mean() - judged(torch, on_source, both.y_as_x).mean()
        loss = loss + options.likelihood * both.unlikelihood()
        if self._pairs is None or self._pairs.shape[1] < 2:
            return loss
        chosen = self._pairs[:, self._drawn(self._pairs[0], options.batch)]
        x, y = self._x[chosen[0]], self._y[chosen[1]]
        moved = mapped(torch, *self._learned, x)
        held = constraint_loss(torch, options.constraint, x, moved, y, rotation=self._rotation)
        return loss + options.constraint_weight * held

    def _teach_critics(self) -> None:
        torch, options = self.torch, self._options
        x, y = (side[self._drawn(side, options.batch)] for side in (self._x, self._y))
        with torch.no_grad():
            both = Mapped(torch, *self._learned, x, y)
        made = (both.x_as_y, both.y_as_x)
        for critic, optimiser, real, own in zip(self._critics, self.optimisers[1:], (y, x), made, strict=True):
            loss = critic_loss(torch, critic, real, own, penalty=options.penalty, generator=self.chance)
            self.follow(loss, optimiser)

    def _drawn(self, side: Any, count: int) -> Any:
        return self.torch.randint(len(side), (min(count, len(side)),), generator=self.chance)

    def _moved(self) -> Rows:
        """The watched rows under the averaged map."""
        with self.torch.no_grad():
            rows = mapped(self.torch, self.source, self.target, self._watched[0])
        return np.asarray(rows.numpy(), dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """State that the next epoch depends on, including the pairs of the round."""
        return super().state() | {"pairs": self._pairs, "done": self._done}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        super().restore(state)
        self._pairs, self._done = state["pairs"], state["done"]
        self._hold_rotation()


def fit_gan_flow(
    source: ArrayLike,
    target: ArrayLike,
    pairs: Pairs | None = None,
    *,
    options: FlowOptions | None = None,
    run: FitRun | None = None,
) -> Fitted[FlowMap]:
    """Fit to rows of two languages, most frequent words first.

    The flow starts as the rotation of `pairs`, such as those of `learn_alignment`; without pairs as the identity
    between the means. With a constraint, each round uses the pairs under the current map.
    """
    chosen = options or FlowOptions(**GAN_DEFAULTS)
    chosen.check_method("gan-flow")
    x, y = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    for name, rows in (("source", x), ("target", y)):
        if not np.isfinite(rows).all():
            msg = f"the {name} vectors are not finite"
            raise InputError(msg)
    x, y, reductions = same_width(x, y)
    start = start_of(x, y, pairs, reductions)
    torch = require("torch", "torch")
    with one_thread(torch):
        training = GanFlowTraining(torch, start.x, start.y, chosen)
        return finish_flow(training, start, chosen, run or FitRun(), "gan-flow", 0 if pairs is None else len(pairs))


def critic_loss(torch: Any, critic: list[Any], real: Any, made: Any, *, penalty: float, generator: Any) -> Any:
    """Critic loss: generated rows low, real rows high, a slope of 1 in between (Gulrajani et al. 2017)."""
    share = torch.rand(len(real), 1, generator=generator)
    between = (share * real + (1 - share) * made).requires_grad_(True)
    (slope,) = torch.autograd.grad(judged(torch, critic, between).sum(), between, create_graph=True)
    gap = judged(torch, critic, made).mean() - judged(torch, critic, real).mean()
    return gap + penalty * ((slope.norm(dim=1) - 1) ** 2).mean()


def judged(torch: Any, critic: list[Any], rows: Any) -> Any:
    """Critic value of each row."""
    return run_network(critic, rows, torch.nn.functional.leaky_relu, last=False)
