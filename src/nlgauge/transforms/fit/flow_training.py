"""One fit of a flow under way: its layers, optimisers, critics and draws, an epoch at a time."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.transforms.fit.flow_arithmetic import new_layers, new_network
from nlgauge.transforms.fit.flow_losses import (
    Mapped,
    best_rotation,
    constraint_loss,
    criterion,
    critic_loss,
    judged,
    mapped,
    unit_rows,
)
from nlgauge.transforms.fit.flow_options import FlowOptions
from nlgauge.transforms.fit.neighbours import csls_pairs

__all__ = ["FlowTraining"]

#: Words of each critic's two inner layers.
_CRITIC_WIDTH = 1024

#: Longest gradient that is followed as it is: one odd batch should not undo an epoch.
_LONGEST_GRADIENT = 5.0


class FlowTraining:
    """Paired rows (`adversarial` False), or rows of two languages on their own."""

    def __init__(
        self, torch: Any, x: NDArray[np.float32], y: NDArray[np.float32], options: FlowOptions, *, adversarial: bool
    ) -> None:
        self.torch, self._options, self._adversarial = torch, options, adversarial
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y)
        self._chance = torch.Generator().manual_seed(options.seed)
        sizes = {"couplings": options.couplings, "hidden": options.hidden, "generator": self._chance}
        self.source = new_layers(torch, x.shape[1], **sizes)
        self.target = new_layers(torch, x.shape[1], **sizes)
        optimiser = torch.optim.RMSprop if adversarial else torch.optim.Adam
        self._optimisers = [optimiser(self._parameters(), lr=options.learning_rate)]
        self._critics: list[list[Any]] = []
        if adversarial:
            widths = (x.shape[1], _CRITIC_WIDTH, _CRITIC_WIDTH, 1)
            self._critics = [new_network(torch, widths, generator=self._chance) for _ in range(2)]
            self._optimisers += [optimiser(critic, lr=options.learning_rate) for critic in self._critics]
        self._watched = (self._x, y)
        self._best: Any = None
        self._pairs: Any = None
        self._rotation: Any = None
        self._hold_rotation()

    def watch(self, x: NDArray[np.float32], y: NDArray[np.float32]) -> None:
        """Rows that the criterion is computed on."""
        self._watched = (self.torch.from_numpy(x), y)

    def criterion(self) -> float:
        """Of the state as it is; minus infinity where numbers are not finite."""
        return criterion(self._options.validation, self._moved(self._watched[0]), self._watched[1])

    def begin_round(self) -> None:
        """Find pairs for the constraint under the map so far (Algorithm 1); parallel text has its own."""
        if self._adversarial and self._options.constraint != "none":
            found, _ = csls_pairs(unit_rows(self._moved(self._watched[0])), unit_rows(self._watched[1]))
            self._pairs = self.torch.from_numpy(np.stack([found.source, found.target]))
            self._hold_rotation()

    def _hold_rotation(self) -> None:
        """What the constraint procrustes stays near: the rotation of all pairs there are."""
        if self._options.constraint != "procrustes" or (self._adversarial and self._pairs is None):
            return
        x, y = (self._x, self._y) if self._pairs is None else (self._x[self._pairs[0]], self._y[self._pairs[1]])
        self._rotation = best_rotation(self.torch, x, y)

    def epoch(self) -> float:
        """Go once through the source's rows; the mean loss of the batches, which is not finite if one was not."""
        torch, losses = self.torch, []
        order = torch.randperm(len(self._x), generator=self._chance)
        for rows in order.split(self._options.batch):
            if len(rows) < 2:
                continue  # a correlation needs two
            loss = self._adversarial_loss(rows) if self._adversarial else self._paired_loss(rows)
            losses.append(float(loss.detach()))
            if not np.isfinite(losses[-1]):
                break
            self._optimisers[0].zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._parameters(), _LONGEST_GRADIENT)
            self._optimisers[0].step()
        return float(np.mean(losses))

    def _paired_loss(self, rows: Any) -> Any:
        x, y = self._x[rows], self._y[rows]
        both = Mapped(self.torch, self.source, self.target, x, y)
        loss = both.squared_error() + self._options.likelihood * both.unlikelihood()
        return loss + self._constraint(x, both.x_as_y, y)

    def _adversarial_loss(self, rows: Any) -> Any:
        torch, options = self.torch, self._options
        for _ in range(options.critic_steps):
            self._teach_critics()
        both = Mapped(torch, self.source, self.target, self._x[rows], self._y[self._drawn(self._y, len(rows))])
        on_target, on_source = self._critics
        loss = -judged(torch, on_target, both.x_as_y).mean() - judged(torch, on_source, both.y_as_x).mean()
        loss = loss + options.likelihood * both.unlikelihood()
        if self._pairs is None or self._pairs.shape[1] < 2:
            return loss
        chosen = self._pairs[:, self._drawn(self._pairs[0], options.batch)]
        x, y = self._x[chosen[0]], self._y[chosen[1]]
        return loss + self._constraint(x, mapped(torch, self.source, self.target, x), y)

    def _teach_critics(self) -> None:
        torch, options = self.torch, self._options
        x, y = (side[self._drawn(side, options.batch)] for side in (self._x, self._y))
        with torch.no_grad():
            both = Mapped(torch, self.source, self.target, x, y)
        made = (both.x_as_y, both.y_as_x)
        for critic, optimiser, real, own in zip(self._critics, self._optimisers[1:], (y, x), made, strict=True):
            loss = critic_loss(torch, critic, real, own, penalty=options.penalty, generator=self._chance)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _constraint(self, x: Any, moved: Any, y: Any) -> Any:
        if self._options.constraint == "none":
            return 0.0
        loss = constraint_loss(self.torch, self._options.constraint, x, moved, y, rotation=self._rotation)
        return self._options.constraint_weight * loss

    def _drawn(self, side: Any, count: int) -> Any:
        return self.torch.randint(len(side), (min(count, len(side)),), generator=self._chance)

    def _moved(self, rows: Any) -> NDArray[np.float32]:
        with self.torch.no_grad():
            return np.asarray(mapped(self.torch, self.source, self.target, rows).numpy(), dtype=np.float32)

    def _parameters(self) -> list[Any]:
        return [tensor for layer in (*self.source, *self.target) for tensor in layer.values()]

    def keep_best(self, *, new: bool) -> None:
        """Remember the layers as they are, unless a better state is remembered."""
        if new or self._best is None:
            self._best = [tensor.detach().clone() for tensor in self._parameters()]

    def restore_best(self) -> None:
        """Put the remembered layers back."""
        with self.torch.no_grad():
            for tensor, best in zip(self._parameters(), self._best, strict=True):
                tensor.copy_(best)

    def state(self) -> dict[str, Any]:
        """All that the next epoch depends on."""
        return {
            "parameters": [tensor.detach().clone() for tensor in self._parameters()],
            "critics": [[tensor.detach().clone() for tensor in critic] for critic in self._critics],
            "optimisers": [copy.deepcopy(optimiser.state_dict()) for optimiser in self._optimisers],
            "chance": self._chance.get_state(),
            "best": self._best,
            "pairs": self._pairs,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        with self.torch.no_grad():
            for tensor, kept in zip(self._parameters(), state["parameters"], strict=True):
                tensor.copy_(kept)
            for critic, values in zip(self._critics, state["critics"], strict=True):
                for tensor, kept in zip(critic, values, strict=True):
                    tensor.copy_(kept)
        for optimiser, kept in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)
        self._chance.set_state(state["chance"])
        self._best, self._pairs = state["best"], state["pairs"]
        self._hold_rotation()
