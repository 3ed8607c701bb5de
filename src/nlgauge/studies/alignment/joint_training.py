"""JOINT-ALIGN: train an encoder so that translated words of parallel texts have similar vectors. Needs torch.

A re-mapping transforms vectors; this changes the model itself, for all languages at once. The objective is that of
Zhao, Eger, Bjerva, Augenstein (2021), after Cao et al. (2020):

    L = sum over linked words of ||f(i, s) - f(j, t)||^2                   align translations              (Eq. 1)
    R = sum over words of the held side of ||f(i, t) - f_0(i, t)||^2       preserve that side              (Eq. 2)

and L + R is minimised (Eq. 3). f_0 is the original model. Texts of a batch are padded and masked, and dropout is off,
so f equals the output for a single text. Word vectors are products with a weight matrix, so no sum depends on the
order of threads. Same seed, same bytes on one machine with the same number of threads; a stopped training resumes
from its last checkpoint, with the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.engines.torch_engine import load_network, padding_id, thread_count
from nlgauge.encoders.load import default_threads, load_encoder
from nlgauge.errors import (
    ConvergenceWarning,
    InputError,
    ModelError,
    RecipeError,
    UnsupportedModelError,
    user_stacklevel,
)
from nlgauge.io.packages import require
from nlgauge.io.store.resolve import ModelFiles, resolve
from nlgauge.studies.alignment.from_texts import check_layer
from nlgauge.studies.alignment.joint_texts import (
    Bitext,
    JointEpoch,
    JointFolder,
    JointOptions,
    JointReport,
    LinkedPair,
    Side,
    batches_of_epoch,
    linked_pairs,
    pairs_digest,
)
from nlgauge.vectors.cloud import unit_rows


class Sums(NamedTuple):
    """Both loss terms of one or more batches, and the number of links and words in these sums."""

    linked: Any
    drift: Any
    links: int
    words: int


class Nearness(NamedTuple):
    """Sums and counts of cosines between words of texts and of their translations."""

    linked: float
    unlinked: float
    found: int
    links: int
    others: int

    @classmethod
    def sum(cls, parts: Iterable[Nearness]) -> Nearness:
        """Sum all parts."""
        linked, unlinked, nearest, links, others = map(sum, zip(*parts, strict=True))
        return cls(linked, unlinked, nearest, links, others)


class Batch(NamedTuple):
    """One side of some pairs, as tensors."""

    ids: Any
    mask: Any
    shares: Any
    """Pairs x words x tokens: weight of a token in a word."""


def _sides(pairs: Sequence[LinkedPair]) -> tuple[list[Side], list[Side]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


@dataclass(frozen=True)
class WordVectors:
    """Computes word vectors with a network: layer, device and padding token."""

    torch: Any
    layer: int
    device: Any
    padding: int

    def batch(self, sides: Sequence[Side]) -> Batch:
        """Build tensors of one side, padded to the longest text."""
        longest, most = max(len(side.ids) for side in sides), max(side.size for side in sides)
        ids = np.full((len(sides), longest), self.padding, dtype=np.int64)
        words = np.full((len(sides), longest), -1, dtype=np.int64)
        mask = np.zeros((len(sides), longest), dtype=np.int64)
        for row, side in enumerate(sides):
            ids[row, : len(side.ids)], words[row, : len(side.ids)], mask[row, : len(side.ids)] = *side, 1
        shares = (words[:, None, :] == np.arange(most)[None, :, None]).astype(np.float32)
        shares /= np.maximum(shares.sum(axis=2, keepdims=True), 1)
        return Batch(*(self.torch.from_numpy(array).to(self.device) for array in (ids, mask, shares)))

    def of(self, network: Any, batch: Batch) -> Any:
        """Word vectors, pairs x words x width; zero rows for texts with fewer words."""
        output = network(input_ids=batch.ids, attention_mask=batch.mask, output_hidden_states=True)
        # The last layer's vectors are the model's output: some families normalise once more (ModernBERT).
        last = self.layer == network.config.num_hidden_layers
        states = output.last_hidden_state if last else output.hidden_states[self.layer]
        return self.torch.bmm(batch.shares, states)

    def losses(self, network: Any, first: Any, pairs: Sequence[LinkedPair], *, held: str) -> Sums:
        """Compute both terms for some pairs of texts; `first` is the original model."""
        batches = [self.batch(sides) for sides in _sides(pairs)]
        vectors = [self.of(network, batch) for batch in batches]
        rows = np.repeat(np.arange(len(pairs)), [len(pair.links) for pair in pairs])
        links = np.concatenate([pair.links for pair in pairs])
        x, y = (side[rows, links[:, column]] for column, side in enumerate(vectors))
        linked = ((x - y) ** 2).sum()
        drift, words = linked.new_zeros(()), 0
        for column, name in enumerate(("source", "target")):
            if held in (name, "both"):
                with self.torch.no_grad():
                    before = self.of(first, batches[column])
                drift = drift + ((vectors[column] - before) ** 2).sum()
                words += sum(side.size for side in _sides(pairs)[column])
        return Sums(linked, drift, len(links), words)

    def nearness(self, network: Any, pairs: Sequence[LinkedPair]) -> Nearness:
        """Compute cosines for some pairs of texts with the current model."""
        with self.torch.no_grad():
            vectors = [self.of(network, self.batch(sides)).cpu().numpy() for sides in _sides(pairs)]
        return Nearness.sum(
            _of_pair(left[: pair.source.size], right[: pair.target.size], pair.links)
            for pair, left, right in zip(pairs, *vectors, strict=True)
        )


def _of_pair(x: NDArray[np.float32], y: NDArray[np.float32], links: NDArray[np.int64]) -> Nearness:
    x, y = (unit_rows(rows, pairwise=True) for rows in (x, y))
    cosine = x.astype(np.float64) @ y.T.astype(np.float64)
    together = np.zeros(cosine.shape, dtype=bool)
    together[links[:, 0], links[:, 1]] = True
    apart = ~together[links[:, 0]]  # linked words only: others may have translations without a link
    linked = float(cosine[links[:, 0], links[:, 1]].sum())
    unlinked = float(cosine[links[:, 0]][apart].sum())
    nearest = int(together[links[:, 0], cosine[links[:, 0]].argmax(axis=1)].sum())
    return Nearness(linked, unlinked, nearest, len(links), int(apart.sum()))


#: Maximum number of held-out pairs (a tenth of all) for the training curve.
_HELD_OUT_SHARE, _MOST_HELD_OUT = 0.1, 500


class JointTraining:
    """State of a training."""

    def __init__(
        self,
        torch: Any,
        encoder: Any,
        files: ModelFiles,
        pairs: list[LinkedPair],
        options: JointOptions,
        folder: JointFolder,
    ) -> None:
        self._torch, self._transformers, self._options = torch, require("transformers", "torch"), options
        self._files, self._first, self._pairs = files, encoder.network, pairs
        device = next(encoder.network.parameters()).device
        self._words = WordVectors(torch, int(options.layer or 0), device, padding_id(encoder.network))
        self._folder = folder
        folder.open()
        order = np.random.default_rng(options.seed).permutation(len(pairs))
        apart = min(_MOST_HELD_OUT, max(2, int(len(pairs) * _HELD_OUT_SHARE)))
        self._held_out = [pairs[i] for i in order[:apart]]
        self._trained_on = [pairs[i] for i in np.sort(order[apart:])]
        self.steps = len(self._batches(1))
        self._inputs = self._digest(encoder.digest)
        self._step, self._sums, self._curve = 0, [0.0, 0.0, 0.0, 0.0], list[JointEpoch]()
        self._begin(self._folder.latest())

    def _digest(self, model: str) -> str:
        """Digest of the inputs of a training; number of epochs and checkpoint interval may change."""
        inputs = self._options.to_dict() | {"model": model, "pairs": pairs_digest(self._pairs)}
        inputs = {name: value for name, value in inputs.items() if name not in {"epochs", "save_every"}}
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    def _begin(self, checkpoint: Path | None) -> None:
        """Start from a checkpoint or from the original model."""
        torch = self._torch
        files = self._files if checkpoint is None else ModelFiles(self._files.name, checkpoint)
        state = None if checkpoint is None else self._folder.read_state(torch, checkpoint, self._inputs)
        loaded = load_network(torch, self._transformers, files)
        if loaded.whole is not loaded.encoder:
            msg = f"model {self._files.name!r} has a decoder, and its encoder cannot be saved alone; use an encoder"
            raise UnsupportedModelError(msg)
        self._network = loaded.encoder.eval().to(self._words.device)
        self._optimiser = torch.optim.Adam(self._network.parameters(), lr=self._options.learning_rate)
        if state is None:
            self._curve = [self._point(0, math.nan, math.nan)]
            if not all(math.isfinite(value) for value in self._curve[0][3:]):
                msg = f"the vectors of model {self._files.name!r} are not finite; download the model again"
                raise ModelError(msg)
            return
        self._optimiser.load_state_dict(state["optimiser"])
        self._step, self._sums = int(state["step"]), list(state["sums"])
        self._curve = [JointEpoch(*point) for point in state["curve"]]

    def run(self, advance: Callable[[int], None]) -> Literal["epochs", "diverged"]:
        """Train up to the last epoch."""
        options = self._options
        if self._step > options.epochs * self.steps:
            msg = f"{self._step // self.steps} epochs are finished, but epochs={options.epochs}; set more epochs"
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
        """Run one step; return whether its loss is finite."""
        options, step = self._options, self._step + 1
        sums = self._words.losses(self._network, self._first, pairs, held=options.hold)
        # Sums as in the paper, averaged over pairs of a step: Adam is invariant to a common factor.
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
        """Finish an epoch and write a checkpoint when due; return whether the model is still finite."""
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
        """Whether weights and resulting vectors are finite."""
        if not all(bool(self._torch.isfinite(tensor).all()) for tensor in self._network.parameters()):
            return False
        part = self._held_out[: self._options.batch]
        return math.isfinite(self._words.nearness(self._network, part).linked)

    def _diverged(self) -> Literal["diverged"]:
        """Return to the last checkpoint with a warning."""
        latest, advice = self._folder.latest(), "a lower learning rate may help"
        problem = f"training diverged after {self._step} steps: values are not finite"
        if latest is None:
            msg = f"{problem}, and no checkpoint exists, so nothing was written; {advice}"
            raise InputError(msg)
        self._begin(latest)
        warnings.warn(
            f"{problem}; the result is checkpoint {latest.name}; {advice}",
            ConvergenceWarning,
            stacklevel=user_stacklevel(),
        )
        return "diverged"

    def finish(self, left_out: int, ended: str) -> JointReport:
        """Write the model and the report."""
        inputs = self._files.name, self._files.weights_digest, self._options, self._inputs
        links = sum(len(pair.links) for pair in self._pairs)
        report = JointReport(*inputs, len(self._pairs), links, left_out, ended, tuple(self._curve))
        self._folder.save_model(self._transformers, self._network, report)
        folder = self._folder.path
        return replace(report, folder=folder, weights_digest=resolve(folder).weights_digest)

    def _batches(self, epoch: int) -> list[Any]:
        lengths = [len(pair.source.ids) + len(pair.target.ids) for pair in self._trained_on]
        return list(batches_of_epoch(lengths, batch=self._options.batch, seed=self._options.seed, epoch=epoch))

    def _point(self, epoch: int, loss: float, drift: float) -> JointEpoch:
        size = self._options.batch
        parts = (self._held_out[start : start + size] for start in range(0, len(self._held_out), size))
        total = Nearness.sum(self._words.nearness(self._network, part) for part in parts)
        unlinked = total.unlinked / total.others if total.others else 0.0
        return JointEpoch(epoch, loss, drift, total.linked / total.links, unlinked, total.found / total.links)


#: Minimum number of pairs of texts with a link; the paper has 100,000.
FEWEST_PAIRS = 20


def train_joint_alignment(
    model: str,
    bitexts: Sequence[Bitext],
    folder: Path,
    *,
    options: JointOptions | None = None,
    threads: int | None = None,
    device: str = "auto",
    reading: Callable[[int], None] | None = None,
    advance: Callable[[int], None] | None = None,
    start: Callable[[int], None] | None = None,
) -> JointReport:
    """Train on all parallel texts together and write the model to a folder.

    A folder with a checkpoint of the same training is resumed. Without links, mutual nearest neighbours under the
    original model are linked; `reading` receives the number of pairs read for this, `start` the total number of
    steps, and `advance` the number of finished ones.
    """
    chosen = options or JointOptions()
    torch = require("torch", "torch")
    encoder: Any = load_encoder(model, engine="torch", threads=threads, device=device)
    if not hasattr(encoder, "network"):
        msg = f"model {model!r} has its own engine and cannot be trained; use a Hugging Face encoder"
        raise UnsupportedModelError(msg)
    files = resolve(model)
    output = JointFolder(Path(folder), files)  # check permissions before reading all texts
    chosen = replace(chosen, layer=check_layer(encoder, encoder.layers if chosen.layer is None else chosen.layer))
    pairs, left_out = linked_pairs(encoder, bitexts, layer=int(chosen.layer or 0), advance=reading)
    if len(pairs) < FEWEST_PAIRS:
        msg = (
            f"{len(pairs)} pairs of texts have a link between words ({left_out} were dropped), too few for training; "
            f"provide at least {FEWEST_PAIRS} pairs of lines that are translations"
        )
        raise InputError(msg)
    with thread_count(torch, threads or default_threads()):
        training = JointTraining(torch, encoder, files, pairs, chosen, output)
        if start is not None:
            start(training.steps * chosen.epochs)
        ended = training.run(advance or (lambda _: None))
        return training.finish(left_out, ended)
