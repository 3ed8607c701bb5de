"""How a flow is fitted, and what a fit leaves behind. Nothing of it is in print (D10.1): the defaults are ours."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from nlgauge.errors import RecipeError
from nlgauge.transforms.network_map import NetworkMap

__all__ = ["CONSTRAINTS", "FCNN_HIDDEN", "VALIDATIONS", "Ended", "Epoch", "Fitted", "FlowOptions"]

CONSTRAINTS = ("none", "graph", "cross-correlation", "procrustes")
VALIDATIONS = ("semantic", "structural", "error")

#: Width inside of a plain network, through which everything must go; that of a flow adds to a rotation.
FCNN_HIDDEN = 128

Ended: TypeAlias = Literal["epochs", "patience", "diverged"]


@dataclass(frozen=True)
class FlowOptions:
    """Sizes, weights and lengths of a fit."""

    couplings: int = 2
    """Layers of each of the two flows, 2 or more, for each moves one half; a vector goes through both flows."""
    hidden: int = 32
    """Width inside a layer; what applying costs grows with it."""
    epochs: int = 20
    batch: int = 256
    learning_rate: float = 1e-3
    likelihood: float = 0.1
    """Weight of the negative log-likelihood beside the squared error, both per entry of a vector."""
    constraint: str = "none"
    constraint_weight: float = 1.0
    rounds: int = 1
    """Of bootstrapping (Algorithm 1): pairs of words are found anew at the start of each."""
    validation: str = "semantic"
    """What good states are told by; `error`, the squared error of pairs kept apart, needs parallel text."""
    patience: int = 5
    """Epochs without a better criterion after which the fit ends."""
    critic_steps: int = 5
    penalty: float = 10.0
    """Weight of the critic's gradient penalty (WGAN-GP)."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, known in (
            ("constraint", self.constraint, CONSTRAINTS),
            ("validation", self.validation, VALIDATIONS),
        ):
            if value not in known:
                msg = f"{name} must be one of {', '.join(known)}, got {value!r}"
                raise RecipeError(msg)
        if self.couplings < 2:
            msg = f"couplings must be 2 or more, so that each half is moved, got {self.couplings}"
            raise RecipeError(msg)
        for name in ("hidden", "epochs", "batch", "rounds", "patience", "critic_steps"):
            if getattr(self, name) < 1:
                msg = f"{name} must be 1 or more, got {getattr(self, name)}"
                raise RecipeError(msg)
        if self.seed < 0:
            msg = f"seed must be 0 or more, got {self.seed}"
            raise RecipeError(msg)
        for name in ("learning_rate", "likelihood", "constraint_weight", "penalty"):
            if not 0 <= getattr(self, name) < float("inf"):
                msg = f"{name} must be 0 or more, got {getattr(self, name)}"
                raise RecipeError(msg)

    def check_method(self, method: str) -> None:
        """Refuse what a fit of that method has no pairs for, before anything is encoded."""
        if method == "flow" and self.rounds != 1:
            told = "rounds belong to fits without parallel text, which find pairs anew in each"
            msg = f"{told}; got rounds={self.rounds}"
            raise RecipeError(msg)
        if method == "gan-flow" and self.validation == "error":
            msg = "validation 'error' needs pairs that are known; take semantic or structural"
            raise RecipeError(msg)
        if method == "gan-flow" and self.rounds > 1 and self.constraint == "none":
            msg = "rounds find pairs for a constraint, and there is none; choose one, or rounds=1"
            raise RecipeError(msg)

    @property
    def total_epochs(self) -> int:
        """Of all rounds."""
        return self.epochs * self.rounds

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class Epoch(NamedTuple):
    """A point of the curves; epoch 0 is the start, before anything was learned (of a flow, the centred rotation)."""

    epoch: int
    round: int
    loss: float
    """Mean over batches; nan at epoch 0."""
    criterion: float
    """What the best state is chosen by: higher is better."""


Kind = TypeVar("Kind", bound=NetworkMap)


@dataclass(frozen=True)
class Fitted(Generic[Kind]):
    """A map by a network, and the way to it."""

    map: Kind
    curve: tuple[Epoch, ...]
    best: int
    """The epoch whose state was kept."""
    ended: Ended
    """Why the fit ended; a diverged one is that of its last good state."""

    def as_dict(self) -> dict[str, Any]:
        """The curves as plain values; what has no loss has None."""
        rows = [point._asdict() | {"loss": None if point.loss != point.loss else point.loss} for point in self.curve]
        return {"digest": self.map.digest, "best_epoch": self.best, "ended": self.ended, "epochs": rows}
