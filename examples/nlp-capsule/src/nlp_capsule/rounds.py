"""Rounds of routing: the loss in training and the agreement of single texts, as in Figure 3 of the paper.

With a fixed number of rounds, the loss says nothing about single texts: the agreement of some still changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlp_capsule.array_routing import adaptive_kde_routing, kde_routing
from nlp_capsule.network import CapsuleNetwork
from nlp_capsule.tasks import Split
from nlp_capsule.text import Vocabulary
from nlp_capsule.training import TrainingPlan, new_network, train

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nlp_capsule.experiments import Sizes

__all__ = ["RoutingRounds", "TextRounds", "compare_rounds", "draw_rounds", "measure_rounds"]

#: Rounds that are measured of each text.
_SHOWN = 10


class TextRounds(NamedTuple):
    """Agreement of one text."""

    agreement: NDArray[np.float64]
    """After every round, if none ends the routing."""
    adaptive: int
    """Rounds of adaptive routing."""


class RoutingRounds(NamedTuple):
    """Losses and agreements under different numbers of rounds."""

    losses: Mapping[str, Sequence[float]]
    """By routing, the mean loss of every epoch."""
    texts: Sequence[TextRounds]
    """Texts of the development set, routed by the network with the most rounds."""
    rounds: int
    """These rounds."""
    epsilon: float

    @property
    def unsettled(self) -> float:
        """Share of texts whose agreement changes by `epsilon` or more in the last of the fixed rounds.

        An undefined agreement (no proposal near a pose) no longer changes.
        """
        changes = [abs(text.agreement[self.rounds - 1] - text.agreement[self.rounds - 2]) for text in self.texts]
        return float(np.mean([change >= self.epsilon for change in changes]))


def compare_rounds(
    split: Split,
    plan: TrainingPlan,
    *,
    sizes: Sizes,
    rounds: Sequence[int] = (2, 3, 5),
    profile: Literal["released", "paper"] = "released",
) -> RoutingRounds:
    """Train with each fixed number of rounds and with adaptive routing."""
    if min(rounds) < 2:
        msg = f"rounds must be 2 or more, got {min(rounds)}; the change of the first round is not defined"
        raise InputError(msg)
    words = Vocabulary.of(split.training.texts, most=sizes.vocabulary)
    training, development = (words.encode(part.texts, length=sizes.words) for part in split[:2])
    config = replace(sizes.config(len(words), len(split.labels)), profile=profile)
    configs = {f"{count} rounds": replace(config, routing="kde", iterations=count) for count in sorted(rounds)}
    losses, networks = {}, []
    for name, chosen in {**configs, "adaptive": config}.items():
        networks.append(new_network(chosen, seed=plan.seed))
        losses[name] = train(networks[-1], training, split.training.owned, plan)
    texts = measure_rounds(networks[-2], development, epsilon=config.epsilon, shown=max(_SHOWN, *rounds))
    return RoutingRounds(losses, texts, max(rounds), config.epsilon)


@torch.no_grad()
def measure_rounds(
    network: CapsuleNetwork, texts: NDArray[np.int64], *, epsilon: float, shown: int = _SHOWN
) -> list[TextRounds]:
    """Agreement of each text after every round, and the rounds of adaptive routing."""
    update = network.config.profile
    measured = []
    for text in texts:
        proposals = network.proposals(network.condense(torch.from_numpy(text[None])))[0].double().numpy()
        agreement = kde_routing(proposals, iterations=shown, update=update).agreement
        adaptive = adaptive_kde_routing(proposals, epsilon=epsilon, update=update).rounds
        measured.append(TextRounds(np.array(agreement), adaptive))
    return measured


def draw_rounds(result: RoutingRounds, *, text: int = 0) -> Figure:
    """Losses by epoch, and the agreement of one text by round."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, losses in result.losses.items():
        left.plot(range(1, len(losses) + 1), losses, marker="o", markersize=3, label=name)
    left.set(title="All texts", xlabel="epoch", ylabel="training loss")
    left.legend()
    agreement, adaptive = result.texts[text]
    right.plot(range(1, len(agreement) + 1), -agreement, marker="o", markersize=3)
    right.axvline(result.rounds, linestyle=":", color="grey", label=f"{result.rounds} rounds")
    if adaptive <= len(agreement):
        right.axvline(adaptive, linestyle="--", color="tab:orange", label=f"adaptive: {adaptive} rounds")
    right.set(title="One text", xlabel="round", ylabel="negative agreement")
    right.legend()
    return figure
