"""How an encoder is trained to bring languages together, and what a training leaves behind.

The objective is in print (D9.2); optimiser, rate and batch are not, because the appendix is missing (D9.8): the
defaults are ours.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nlgauge.errors import RecipeError

__all__ = ["HELD", "JointAligned", "JointEpoch", "JointOptions"]

HELD = ("target", "source", "both")


@dataclass(frozen=True, kw_only=True)
class JointOptions:
    """Weights and lengths of a training."""

    layer: int | None = None
    """Whose vectors are brought together; None: the last one, as in print."""
    epochs: int = 3
    batch: int = 8
    """Pairs of texts of a step."""
    learning_rate: float = 5e-5
    warm_up: int = 100
    """Steps over which the rate rises to that; it is constant afterwards."""
    hold: str = "target"
    """The side whose words are tied to where they were (Eq. 2): the pivot as in Cao et al., or by the letter of the
    print the other one (D9.2)."""
    hold_weight: float = 1.0
    """Of that term; with 0 nothing keeps all words from falling together."""
    save_every: int = 500
    """Steps between checkpoints; there is one after each epoch too."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.hold not in HELD:
            msg = f"hold must be one of {', '.join(HELD)}, got {self.hold!r}"
            raise RecipeError(msg)
        for name, least in (("epochs", 1), ("batch", 1), ("save_every", 1), ("warm_up", 0), ("seed", 0)):
            if getattr(self, name) < least:
                msg = f"{name} must be {least} or more, got {getattr(self, name)}"
                raise RecipeError(msg)
        for name in ("learning_rate", "hold_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                msg = f"{name} must be 0 or more, got {getattr(self, name)}"
                raise RecipeError(msg)

    def rate(self, step: int) -> float:
        """The learning rate of a step, from 1.

        >>> [JointOptions(learning_rate=1.0, warm_up=4).rate(step) for step in (1, 4, 9)]
        [0.25, 1.0, 1.0]
        """
        return self.learning_rate * min(1.0, step / self.warm_up) if self.warm_up else self.learning_rate

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class JointEpoch(NamedTuple):
    """How it stands after an epoch; epoch 0 is the model as it was."""

    epoch: int
    loss: float
    """Squared distance of linked words, a link (Eq. 1); nan at epoch 0."""
    drift: float
    """Squared distance of the held side's words from where they were, a word (Eq. 2); nan at epoch 0."""
    linked: float
    """Mean cosine of words that translate each other, in pairs of texts kept apart."""
    unlinked: float
    """Mean cosine of words of a text and of its translation that do not."""
    found: float
    """Share of linked words whose nearest word in the translation is the one they are linked with."""


class JointAligned(NamedTuple):
    """A model brought together, and the way to it."""

    folder: Path
    """In the layout of Hugging Face: `model=FOLDER` takes it."""
    weights_digest: str
    curve: tuple[JointEpoch, ...]
    pairs: int
    """Pairs of texts that have a link; a part is kept apart."""
    links: int
    left_out: int
    """Pairs of texts without a link, empty, too long, or whose words the tokenizer does not keep apart."""
    ended: Literal["epochs", "diverged"]
    """Why it ended; a diverged one is that of its last checkpoint."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values; what has no loss has None."""
        rows = [
            {name: None if value != value else value for name, value in point._asdict().items()}
            for point in self.curve
        ]
        counts = {"pairs": self.pairs, "links": self.links, "left_out": self.left_out}
        return {"weights": self.weights_digest, **counts, "ended": self.ended, "epochs": rows}
