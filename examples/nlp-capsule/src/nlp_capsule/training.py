"""Training and use of the networks, the same to the last bit for the same seed on the same machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nlgauge.errors import InputError, RecipeError
from nlp_capsule.losses import LOSSES
from nlp_capsule.network import CapsuleConfig, CapsuleNetwork
from nlp_capsule.partial import CandidateNetwork, choose_outputs

__all__ = [
    "TrainingPlan",
    "new_candidates",
    "new_network",
    "run_epochs",
    "score_candidates",
    "score_labels",
    "train",
    "train_candidates",
]


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """How long, how fast, and with what a network is trained."""

    epochs: int = 30
    batch: int = 256
    learning_rate: float = 1e-3
    decay: float = 0.95
    """From epoch `decay_from` on (counted from 0) the learning rate is multiplied by this before every epoch."""
    decay_from: int = 20
    loss: str = "bce"
    """A name in `losses.LOSSES`."""
    negatives: int | None = None
    """Labels drawn beside a text's own (partial routing); None for all labels."""
    negative_weight: float = 1.0
    """Lambda, what a drawn label weighs in the agreement (D7.7)."""
    unknown: float = 0.0
    """Share of the words of a text that an epoch takes for unknown ones; 0 as released."""
    seed: int = 0
    report: Callable[[int, float], None] = field(default=lambda epoch, loss: None, repr=False)
    """Called after every epoch with its number, from 1, and its mean loss."""

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            msg = f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}"
            raise RecipeError(msg)
        if not 0 <= self.unknown < 1:
            msg = f"unknown must lie between 0 and 1, got {self.unknown!r}"
            raise RecipeError(msg)
        if self.epochs < 1 or self.batch < 1 or not self.learning_rate > 0:
            msg = f"epochs, batch and learning rate must be above 0, got {self!r}"
            raise RecipeError(msg)


def new_network(
    config: CapsuleConfig, *, seed: int = 0, vectors: NDArray[np.float32] | None = None
) -> CapsuleNetwork:
    """A network whose first weights depend on `seed` alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return CapsuleNetwork(config, vectors)


def new_candidates(vocabulary: int, labels: int, *, dimensions: int = 300, seed: int = 0) -> CandidateNetwork:
    """A network that proposes labels, whose first weights depend on `seed` alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return CandidateNetwork(vocabulary, labels, dimensions=dimensions)


def train(
    network: CapsuleNetwork, texts: NDArray[np.int64], owned: Sequence[Collection[int]], plan: TrainingPlan
) -> list[float]:
    """Train on texts (rows of word numbers) and the labels of each; the mean loss of every epoch."""
    labels = network.config.labels
    negatives = labels if plan.negatives is None else plan.negatives
    loss_of = LOSSES[plan.loss]

    def step(chosen: NDArray[np.int64], epoch: int) -> Tensor:
        outputs = choose_outputs(
            [owned[i] for i in chosen],
            labels=labels,
            negatives=negatives,
            instances=chosen.tolist(),
            seed=(plan.seed, epoch),
            negative_weight=plan.negative_weight,
        )
        inputs = _partly_unknown(texts[chosen], chosen, plan, epoch)
        routed = network(torch.from_numpy(inputs), outputs.labels, outputs.weights)
        return loss_of(routed.activations, outputs.targets, outputs.weights)

    _check_lengths(len(texts), len(owned))
    return run_epochs(network, len(texts), plan, step)


def train_candidates(
    network: CandidateNetwork, texts: NDArray[np.int64], owned: Sequence[Collection[int]], plan: TrainingPlan
) -> list[float]:
    """Train the network that proposes labels, by binary cross-entropy over all of them."""
    labels = network.last.out_features
    targets = torch.zeros(len(owned), labels)
    for row, own in zip(targets, owned, strict=True):
        row[list(own)] = 1

    def step(chosen: NDArray[np.int64], epoch: int) -> Tensor:
        logits = network(torch.from_numpy(texts[chosen]))
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, targets[torch.from_numpy(chosen)])

    _check_lengths(len(texts), len(owned))
    return run_epochs(network, len(texts), plan, step)


@torch.no_grad()
def score_labels(
    network: CapsuleNetwork, texts: NDArray[np.int64], *, candidates: CandidateNetwork | None = None,
    count: int = 200, batch: int = 256,
) -> NDArray[np.float64]:  # fmt: skip
    """(texts, labels): how long the pose of each label is.

    With `candidates`, each text is routed to its `count` likeliest labels only, and the others score -inf.
    """
    scores = np.full((len(texts), network.config.labels), -np.inf)
    for rows in _batches(np.arange(len(texts)), batch):
        inputs = torch.from_numpy(texts[rows])
        labels = None if candidates is None else candidates.candidates(inputs, count)
        activations = network(inputs, labels).activations.double().numpy()
        if labels is None:
            scores[rows] = activations
        else:
            np.put_along_axis(block := scores[rows], labels.numpy(), activations, axis=1)
            scores[rows] = block
    return scores


@torch.no_grad()
def score_candidates(network: CandidateNetwork, texts: NDArray[np.int64], *, batch: int = 256) -> NDArray[np.float64]:
    """(texts, labels): logits of the network that proposes labels."""
    rows = [network(torch.from_numpy(texts[i : i + batch])) for i in range(0, len(texts), batch)]
    scores: NDArray[np.float64] = torch.cat(rows).double().numpy()
    return scores


def run_epochs(
    network: torch.nn.Module, instances: int, plan: TrainingPlan, step: Callable[[NDArray[np.int64], int], Tensor]
) -> list[float]:
    """Adam over batches of instances; `step` gives the loss of the instances named, in the epoch of that number."""
    optimiser = torch.optim.Adam(network.parameters(), lr=plan.learning_rate)
    losses = []
    for epoch in range(plan.epochs):
        optimiser.param_groups[0]["lr"] = plan.learning_rate * plan.decay ** max(0, epoch + 1 - plan.decay_from)
        order = np.random.default_rng([plan.seed, epoch]).permutation(instances)
        total = 0.0
        for chosen in _batches(order, plan.batch):
            optimiser.zero_grad()
            loss = step(chosen, epoch)
            if not bool(torch.isfinite(loss.detach())):
                msg = f"the training diverged in epoch {epoch + 1}: its loss is not finite; lower the learning rate"
                raise InputError(msg)
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(chosen)
        losses.append(total / instances)
        plan.report(epoch + 1, losses[-1])
    return losses


def _partly_unknown(
    texts: NDArray[np.int64], instances: NDArray[np.int64], plan: TrainingPlan, epoch: int
) -> NDArray[np.int64]:
    """Some words of each text as the unknown one, drawn by the text's own number; padding stays."""
    if not plan.unknown:
        return texts
    draws = [np.random.default_rng([plan.seed, epoch, i, 1]).random(texts.shape[1]) for i in instances.tolist()]
    return np.where((np.stack(draws) < plan.unknown) & (texts > 0), 1, texts)


def _check_lengths(texts: int, owned: int) -> None:
    if texts != owned or not texts:
        msg = f"as many texts as sets of labels are needed, at least one; got {texts} and {owned}"
        raise InputError(msg)


def _batches(order: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]
