"""Match the densities of two languages without pairs: GAN-Real-NVP and MUSE's rotation. Needs torch.

    gan-flow    two flows (`flow_fit.py`) that start as the identity or as a rotation, with a critic per side
    adversarial a rotation and a discriminator of mapped and target rows (Conneau et al. 2018): cross-entropy with
                smoothed labels, W <- (1 + b) W - b W W' W after each step, and at the end the nearest rotation

    critic      E h(y) - E h(f(x)), and a gradient penalty for a slope of h other than 1      Eq. 3
    likelihood  as in `flow_fit.py`; both sides and both directions (dual form)               Eq. 3
    pairs       in rounds (Algorithm 1): words paired by CSLS under the current map, for a constraint    Eq. 4, 5

Equations are those of the dissertation, chapter 10, which gives no schedule (D10.1). A Wasserstein distance is only
as good as its critic, so the critics learn at a constant rate, five steps per step of the flow, and Adam has no first
moment. The rate of the flow falls to 0 in each round, and the map is the moving average of its states: without both,
it circles around the match. The criterion `density` sees the match, which the cosines of words do not in a plane.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import InputError
from nlgauge.io.packages import require
from nlgauge.studies.alignment.flow_fit import (
    LONGEST_GRADIENT,
    FlowLayers,
    Mapped,
    Rows,
    Start,
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
    Training,
    one_thread,
    train,
)
from nlgauge.studies.alignment.word_spaces import Pairs, csls_pairs, reduction_steps, same_width
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.network_maps import FlowMap
from nlgauge.vectors.remap import Operation, Origin, Remapping

#: Number of most frequent words for the criterion.
_WATCHED = 2000

#: Width of each critic's two inner layers: twice that of the vectors, within these.
_CRITIC_WIDTHS = (64, 1024)

#: Moments of Adam: the critics change, so older gradients mislead.
_MOMENTS = (0.0, 0.9)


#: Share of labels that MUSE's discriminator is told wrong, and the pull of its rotation towards orthogonality.
_SMOOTHING, _ORTHOGONALITY = 0.1, 0.01


class AdversarialTraining(Training):
    """Training on unpaired rows of two languages: schedule, average and rounds."""

    _flow: list[Any]
    """Learned tensors of the map; `parameters` are their moving average."""
    _critics: list[list[Any]]

    def __init__(self, torch: Any, x: Rows, y: Rows, options: FlowOptions) -> None:
        super().__init__(torch, options)
        self._options = options
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y)
        self._watched = self._x[:_WATCHED], y[:_WATCHED]
        self._pairs: Any = None
        self._rotation: Any = None
        self._done = 0  # steps in this round

    def _set_learned(self, learned: list[Any], critics: int) -> None:
        """Create the critics and the optimisers."""
        torch, options, width = self.torch, self._options, self._x.shape[1]
        inner = min(max(2 * width, _CRITIC_WIDTHS[0]), _CRITIC_WIDTHS[1])
        widths = (width, inner, inner, 1)
        self._critics = [new_network(torch, widths, generator=self.chance) for _ in range(critics)]
        self._flow = learned
        rates = (options.learning_rate, *[options.critic_rate] * critics)
        self.optimisers = [
            torch.optim.Adam(tensors, lr=rate, betas=_MOMENTS)
            for tensors, rate in zip((learned, *self._critics), rates, strict=True)
        ]
        self.helpers = [*learned, *(tensor for critic in self._critics for tensor in critic)]

    @abstractmethod
    def _loss(self, rows: Any) -> Any:
        """Loss of the map on a batch of source rows, without the constraint."""

    @abstractmethod
    def _teach_critics(self) -> None:
        """Run one step of the critics."""

    @abstractmethod
    def _move(self, rows: Any, *, averaged: bool) -> Any:
        """Map source rows."""

    def _after_step(self) -> None:
        """Correct the learned tensors after a step."""

    def watched(self) -> tuple[Rows, Rows]:
        """Frequent words under the averaged map."""
        return self._moved(), self._watched[1]

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
            loss = self._loss(rows) + self._constraint()
            losses.append(float(loss.detach()))
            if not np.isfinite(losses[-1]):
                break
            left = 1 - self._done / (len(parts) * self._options.epochs)
            self.optimisers[0].param_groups[0]["lr"] = self._options.learning_rate * left
            self.follow(loss, self.optimisers[0], longest_gradient=LONGEST_GRADIENT)
            self._done += 1
            self._after_step()
            self._average()
        return float(np.mean(losses))

    def _average(self) -> None:
        """Move the map towards the learned flows; the first steps count less, because they are far away."""
        share = 1 - min(self._options.averaging, self._done / (self._done + 10))
        with self.torch.no_grad():
            for mean, tensor in zip(self.parameters, self._flow, strict=True):
                mean.lerp_(tensor, share)

    def _constraint(self) -> Any:
        if self._pairs is None or self._pairs.shape[1] < 2:
            return 0.0
        chosen = self._pairs[:, self._drawn(self._pairs[0], self._options.batch)]
        x, y = self._x[chosen[0]], self._y[chosen[1]]
        moved = self._move(x, averaged=False)
        loss = constraint_loss(self.torch, self._options.constraint, x, moved, y, rotation=self._rotation)
        return self._options.constraint_weight * loss

    def _batches(self) -> list[Any]:
        return [side[self._drawn(side, self._options.batch)] for side in (self._x, self._y)]

    def _drawn(self, side: Any, count: int) -> Any:
        return self.torch.randint(len(side), (min(count, len(side)),), generator=self.chance)

    def _moved(self) -> Rows:
        """The watched rows under the averaged map."""
        with self.torch.no_grad():
            rows = self._move(self._watched[0], averaged=True)
        return np.asarray(rows.numpy(), dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """State that the next epoch depends on, including the pairs of the round."""
        return super().state() | {"pairs": self._pairs, "done": self._done}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        super().restore(state)
        self._pairs, self._done = state["pairs"], state["done"]
        self._hold_rotation()


class GanFlowTraining(AdversarialTraining, FlowLayers):
    """Training of two flows with a critic per side."""

    def __init__(self, torch: Any, x: Rows, y: Rows, options: FlowOptions) -> None:
        super().__init__(torch, x, y, options)
        sizes = {"couplings": options.couplings, "hidden": options.hidden, "generator": self.chance}
        self._learned = [new_layers(torch, x.shape[1], **sizes) for _ in range(2)]
        self.source, self.target = (
            [{name: tensor.detach().clone() for name, tensor in layer.items()} for layer in side]
            for side in self._learned
        )
        self.parameters = [tensor for layer in (*self.source, *self.target) for tensor in layer.values()]
        learned = [tensor for side in self._learned for layer in side for tensor in layer.values()]
        self._set_learned(learned, critics=2)

    def _loss(self, rows: Any) -> Any:
        torch = self.torch
        both = Mapped(
            torch, self._learned[0], self._learned[1], self._x[rows], self._y[self._drawn(self._y, len(rows))]
        )
        on_target, on_source = self._critics
        loss = -judged(torch, on_target, both.x_as_y).mean() - judged(torch, on_source, both.y_as_x).mean()
        return loss + self._options.likelihood * both.unlikelihood()

    def _teach_critics(self) -> None:
        torch, (x, y) = self.torch, self._batches()
        with torch.no_grad():
            both = Mapped(torch, self._learned[0], self._learned[1], x, y)
        made = (both.x_as_y, both.y_as_x)
        for critic, optimiser, real, own in zip(self._critics, self.optimisers[1:], (y, x), made, strict=True):
            loss = critic_loss(torch, critic, real, own, penalty=self._options.penalty, generator=self.chance)
            self.follow(loss, optimiser)

    def _move(self, rows: Any, *, averaged: bool) -> Any:
        source, target = (self.source, self.target) if averaged else self._learned
        return mapped(self.torch, source, target, rows)


class RotationTraining(AdversarialTraining):
    """Training of a rotation with MUSE's discriminator."""

    def __init__(self, torch: Any, x: Rows, y: Rows, options: FlowOptions) -> None:
        super().__init__(torch, x, y, options)
        self.parameters = [torch.eye(x.shape[1])]
        self._set_learned([torch.eye(x.shape[1]).requires_grad_(True)], critics=1)

    def _loss(self, rows: Any) -> Any:
        return self._entropy(self._x[rows], self._y[self._drawn(self._y, len(rows))], mapped_as=1 - _SMOOTHING)

    def _teach_critics(self) -> None:
        self.follow(self._entropy(*self._batches(), mapped_as=_SMOOTHING), self.optimisers[1])

    def _entropy(self, x: Any, y: Any, *, mapped_as: float) -> Any:
        """Cross-entropy of the discriminator if mapped rows have this label, and target rows the opposite."""
        cross_entropy = self.torch.nn.functional.binary_cross_entropy_with_logits
        values = [judged(self.torch, self._critics[0], rows) for rows in (self._move(x, averaged=False), y)]
        labels = (mapped_as, 1 - mapped_as)
        return sum(
            cross_entropy(value, self.torch.full_like(value, label))
            for value, label in zip(values, labels, strict=True)
        )

    def _after_step(self) -> None:
        with self.torch.no_grad():
            (turn,) = self._flow
            turn.copy_((1 + _ORTHOGONALITY) * turn - _ORTHOGONALITY * turn @ turn.T @ turn)

    def _move(self, rows: Any, *, averaged: bool) -> Any:
        return rows @ (self.parameters if averaged else self._flow)[0]


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
    start = _unpaired_start(source, target, pairs)
    torch = require("torch", "torch")
    with one_thread(torch):
        training = GanFlowTraining(torch, start.x, start.y, chosen)
        return finish_flow(training, start, chosen, run or FitRun(), "gan-flow", 0 if pairs is None else len(pairs))


def fit_adversarial(
    source: ArrayLike,
    target: ArrayLike,
    pairs: Pairs | None = None,
    *,
    options: FlowOptions | None = None,
    run: FitRun | None = None,
) -> Fitted[Remapping]:
    """Fit MUSE's rotation to rows of two languages, most frequent words first; arguments as in `fit_gan_flow`.

    The rotation is between centred rows: x -> (x - mean of the source) W + mean of the target.
    """
    chosen, run = options or FlowOptions(**GAN_DEFAULTS), run or FitRun()
    chosen.check_method("adversarial")
    start = _unpaired_start(source, target, pairs)
    torch = require("torch", "torch")
    with one_thread(torch):
        training = RotationTraining(torch, start.x, start.y, chosen)

        def build(origin: Origin) -> Remapping:
            with one_blas_thread:
                left, _, right = np.linalg.svd(training.parameters[0].numpy().astype(np.float64))
                turn = start.rotation.astype(np.float64) @ (left @ right)
            operations = (
                *reduction_steps(dict(start.reductions)),
                Operation("shift", -start.source_mean[None].astype(np.float64)),
                Operation("linear", turn),
                Operation("shift", start.target_mean[None].astype(np.float64)),
            )
            return Remapping(operations, origin)

        inputs = (start.x, start.y, start.rotation)
        trained = train(training, chosen, run, method="adversarial", inputs=inputs, build=build)
    origin = run.origin_of("adversarial", 0 if pairs is None else len(pairs), trained, chosen.seed)
    return Fitted(build(origin), *trained)


def _unpaired_start(source: ArrayLike, target: ArrayLike, pairs: Pairs | None) -> Start:
    """Check both sides, reduce them to one width, and normalise them."""
    x, y = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    for name, rows in (("source", x), ("target", y)):
        if not np.isfinite(rows).all():
            msg = f"the {name} vectors are not finite"
            raise InputError(msg)
    x, y, reductions = same_width(x, y)
    return start_of(x, y, pairs, reductions)


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
