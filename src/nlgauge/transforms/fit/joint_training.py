"""One joint alignment under way: the network, its optimiser, its steps and its checkpoints."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nlgauge.encoders.engines.torch_network import load_network, padding_id
from nlgauge.errors import (
    ConvergenceWarning,
    InputError,
    ModelError,
    RecipeError,
    UnsupportedModelError,
    user_stacklevel,
)
from nlgauge.models.resolve import ModelFiles, resolve
from nlgauge.telemetry import import_silenced
from nlgauge.transforms.fit.joint_folder import JointFolder
from nlgauge.transforms.fit.joint_loss import Nearness, batch_losses, nearness
from nlgauge.transforms.fit.joint_options import JointAligned, JointEpoch, JointOptions
from nlgauge.transforms.fit.joint_texts import LinkedPair, batches_of_epoch, pairs_digest

__all__ = ["JointTraining"]

#: Pairs kept apart, that nearness is computed on: a tenth, and no more than these.
_HELD_OUT_SHARE, _MOST_HELD_OUT = 0.1, 500


class JointTraining:
    """One training under way."""

    def __init__(
        self,
        torch: Any,
        encoder: Any,
        files: ModelFiles,
        pairs: list[LinkedPair],
        options: JointOptions,
        folder: JointFolder,
    ) -> None:
        self._torch, self._transformers, self._options = torch, import_silenced("transformers"), options
        self._files, self._first, self._pairs = files, encoder.network, pairs
        self._how = {
            "layer": options.layer,
            "device": next(encoder.network.parameters()).device,
            "padding": padding_id(encoder.network),
        }
        self._folder = folder
        folder.open()
        order = np.random.default_rng(options.seed).permutation(len(pairs))
        apart = min(_MOST_HELD_OUT, max(2, int(len(pairs) * _HELD_OUT_SHARE)))
        self._held_out = [pairs[at] for at in order[:apart]]
        self._trained_on = [pairs[at] for at in np.sort(order[apart:])]
        self.steps = len(self._batches(1))
        self._inputs = self._digest(encoder.digest)
        self._step, self._sums, self._curve = 0, [0.0, 0.0, 0.0, 0.0], list[JointEpoch]()
        self._begin(self._folder.latest())

    def _digest(self, model: str) -> str:
        """Names what a training depends on; how long it runs and how often it saves may change on the way."""
        told = self._options.as_dict() | {"model": model, "pairs": pairs_digest(self._pairs)}
        told = {name: value for name, value in told.items() if name not in {"epochs", "save_every"}}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def _begin(self, checkpoint: Path | None) -> None:
        """From a checkpoint, or from the model as it is."""
        torch = self._torch
        files = self._files if checkpoint is None else ModelFiles(self._files.name, checkpoint)
        state = None if checkpoint is None else self._folder.read_state(torch, checkpoint, self._inputs)
        loaded = load_network(torch, self._transformers, files)
        if loaded.whole is not loaded.encoder:
            msg = f"model {self._files.name!r} has a decoder, and its encoder alone has no layout to be saved in"
            raise UnsupportedModelError(msg)
        self._network = loaded.encoder.eval().to(self._how["device"])
        self._optimiser = torch.optim.Adam(self._network.parameters(), lr=self._options.learning_rate)
        if state is None:
            self._curve = [self._point(0, math.nan, math.nan)]
            if not all(math.isfinite(value) for value in self._curve[0][3:]):
                msg = f"the vectors of model {self._files.name!r} are not finite; fetch the model again"
                raise ModelError(msg)
            return
        self._optimiser.load_state_dict(state["optimiser"])
        self._step, self._sums = int(state["step"]), list(state["sums"])
        self._curve = [JointEpoch(*point) for point in state["curve"]]

    def run(self, advance: Callable[[int], None]) -> Literal["epochs", "diverged"]:
        """Go on to the last epoch."""
        options = self._options
        if self._step > options.epochs * self.steps:
            msg = f"{self._step // self.steps} epochs are done already, and {options.epochs} were asked for"
            raise RecipeError(msg)
        advance(self._step)
        while self._step < options.epochs * self.steps:
            epoch, first = divmod(self._step, self.steps)
            for rows in self._batches(epoch + 1)[first:]:
                if not self._learn([self._trained_on[row] for row in rows]) or not self._kept():
                    return self._diverged()
                advance(1)
        return "epochs"

    def _learn(self, pairs: list[LinkedPair]) -> bool:
        """One step; whether its loss was a number."""
        options, step = self._options, self._step + 1
        sums = batch_losses(
            self._torch,
            self._network,
            self._first,
            pairs,
            held=options.hold,
            **self._how,
        )
        # Sums as in print, of which a step takes the mean over pairs: Adam does not see a common factor.
        loss = (sums.linked + options.hold_weight * sums.drift) / len(pairs)
        if not math.isfinite(float(loss.detach())):
            return False
        for group in self._optimiser.param_groups:
            group["lr"] = options.rate(step)
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        self._step = step
        seen = (float(sums.linked.detach()), float(sums.drift.detach()), sums.links, sums.words)
        self._sums = [total + own for total, own in zip(self._sums, seen, strict=True)]
        return True

    def _kept(self) -> bool:
        """Close an epoch and write a checkpoint where one is due; whether the model is still one."""
        ends = self._step % self.steps == 0
        if not (ends or self._step % self._options.save_every == 0):
            return True
        if not self._is_finite():
            return False
        if ends:
            linked, drift, links, words = self._sums
            self._curve.append(self._point(len(self._curve), linked / links, drift / words))
            self._sums = [0.0, 0.0, 0.0, 0.0]
        state = {
            "inputs": self._inputs,
            "step": self._step,
            "sums": self._sums,
            "curve": [list(point) for point in self._curve],
            "optimiser": self._optimiser.state_dict(),
        }
        self._folder.save_checkpoint(self._torch, self._transformers, self._network, state, self._step)
        return True

    def _is_finite(self) -> bool:
        """Whether weights, and vectors that are made with them, are numbers."""
        if not all(bool(self._torch.isfinite(tensor).all()) for tensor in self._network.parameters()):
            return False
        part = self._held_out[: self._options.batch]
        return math.isfinite(nearness(self._torch, self._network, part, **self._how).linked)

    def _diverged(self) -> Literal["diverged"]:
        """Back to the last checkpoint."""
        latest, advice = self._folder.latest(), "a lower learning rate may help"
        where = f"the training diverged after {self._step} steps: its numbers are not finite"
        if latest is None:
            msg = f"{where}, and there is no checkpoint yet, so nothing was written; {advice}"
            raise InputError(msg)
        self._begin(latest)
        warnings.warn(f"{where}; kept is {latest.name}; {advice}", ConvergenceWarning, stacklevel=user_stacklevel())
        return "diverged"

    def finish(self, left_out: int, ended: Literal["epochs", "diverged"]) -> JointAligned:
        """Write the model, and say how it went."""
        links = sum(len(pair.links) for pair in self._pairs)
        made = JointAligned(self._folder.path, "", tuple(self._curve), len(self._pairs), links, left_out, ended)
        told = {
            "method": "joint-align",
            "model": self._files.name,
            "model_weights": self._files.weights_digest,
            "options": self._options.as_dict(),
            "inputs": self._inputs,
        }
        report = told | {name: value for name, value in made.as_dict().items() if name != "weights"}
        self._folder.save_model(self._transformers, self._network, report)
        return made._replace(weights_digest=resolve(self._folder.path).weights_digest)

    def _batches(self, epoch: int) -> list[Any]:
        lengths = [len(pair.source.ids) + len(pair.target.ids) for pair in self._trained_on]
        return list(batches_of_epoch(lengths, batch=self._options.batch, seed=self._options.seed, epoch=epoch))

    def _point(self, epoch: int, loss: float, drift: float) -> JointEpoch:
        total = Nearness()
        for start in range(0, len(self._held_out), self._options.batch):
            part = self._held_out[start : start + self._options.batch]
            total += nearness(self._torch, self._network, part, **self._how)
        unlinked = total.unlinked / total.others if total.others else 0.0
        return JointEpoch(epoch, loss, drift, total.linked / total.links, unlinked, total.found / total.links)
