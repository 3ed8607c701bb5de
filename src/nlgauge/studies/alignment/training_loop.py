"""Training loop of all fits: options, criteria, best state, early stopping, resuming, and curves."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.errors import ConvergenceWarning, InputError, RecipeError, user_stacklevel
from nlgauge.io.canvas import COLOURS, finish_figure, new_panels, save_figure
from nlgauge.io.storage import write_atomic
from nlgauge.io.table import Cell, Table
from nlgauge.studies.alignment.word_spaces import csls, csls_pairs
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import Origin, SpaceMap
from nlgauge.vectors.transport import squared_distances

CONSTRAINTS = ("none", "graph", "cross-correlation", "procrustes")
VALIDATIONS = ("semantic", "frequent", "structural", "density", "error", "none")

#: Hidden width of a plain network, which is a bottleneck; in a flow it only adds to a rotation.
FCNN_HIDDEN = 128

#: Methods without pairs.
ADVERSARIAL = ("gan-flow", "adversarial")

#: Their options that differ: its schedule lasts for all epochs, and its criterion may fall on the way.
GAN_DEFAULTS: dict[str, Any] = {"learning_rate": 3e-3, "epochs": 100, "patience": 100}

Ended: TypeAlias = Literal["epochs", "patience", "diverged"]


@dataclass(frozen=True, kw_only=True)
class FlowOptions(OptionSet):
    """Options of a fit."""

    called: ClassVar[str] = "options of a fit"

    constraint: str = option("none", Choice(*CONSTRAINTS), help="constraint on paired words")
    validation: str = option(
        "semantic",
        Choice(*VALIDATIONS),
        help="criterion for the best state, or none for the last; error needs parallel text, frequent others",
    )
    epochs: int = option(20, Int(1), help="epochs in each round", unset="20; gan-flow 100, with a constraint 30")
    rounds: int = option(
        1, Int(1), help="rounds of bootstrapping, each with new word pairs", unset="1; gan-flow with a constraint 3"
    )
    patience: int = option(5, Int(1), help="epochs without improvement before the end", unset="5; gan-flow --epochs")
    batch: int = option(256, Int(1), help="pairs per step")
    # Each coupling transforms one half of a vector, so two transform all of it.
    couplings: int = option(2, Int(2), help="coupling layers of each flow")
    hidden: int = option(
        32, Int(1), help="hidden width of a layer; larger values make the map slower", unset="32; fcnn 128"
    )
    learning_rate: float = option(1e-3, Float(0), help="learning rate", unset="0.001; gan-flow 0.003")
    likelihood: float = option(
        0.1, Float(0), help="weight of the negative log-likelihood compared with the squared error"
    )
    constraint_weight: float = option(1.0, Float(0), help="weight of the constraint")
    critic_steps: int = option(5, Int(1), help="steps of the critic per step of the flow")
    critic_rate: float = option(4e-3, Float(0), help="learning rate of the critics, constant")
    penalty: float = option(0.3, Float(0), help="weight of the critic's gradient penalty (WGAN-GP)")
    averaging: float = option(0.99, Float(0, most=1), help="share of the past in the moving average of gan-flow")
    seed: int = seed_option(0)

    def check_method(self, method: str) -> None:
        """Raise an error for options that a method does not support, before anything is encoded."""
        if method in {"flow", "fcnn"} and self.validation == "frequent":
            msg = "validation 'frequent' needs words in order of frequency, without parallel text; use semantic"
            raise RecipeError(msg)
        if method == "flow" and self.rounds != 1:
            msg = f"rounds need a fit without parallel text, which finds new pairs in each; got rounds={self.rounds}"
            raise RecipeError(msg)
        if method in ADVERSARIAL and self.validation == "error":
            msg = "validation 'error' needs known pairs; use semantic or structural"
            raise RecipeError(msg)
        if method in ADVERSARIAL and self.rounds > 1 and self.constraint == "none":
            msg = "rounds need a constraint; set constraint= or rounds=1"
            raise RecipeError(msg)

    @property
    def total_epochs(self) -> int:
        """Epochs of all rounds."""
        return self.epochs * self.rounds


class Epoch(NamedTuple):
    """Point of the curves; epoch 0 is the start (for a flow, the centred rotation)."""

    epoch: int
    round: int
    loss: float
    """Mean over batches; NaN at epoch 0."""
    criterion: float
    """Criterion for the best state: higher is better."""


Kind = TypeVar("Kind", bound=SpaceMap)


@dataclass(frozen=True)
class Fitted(Generic[Kind]):
    """A trained map, with its training curve."""

    map: Kind
    curve: tuple[Epoch, ...]
    best: int
    """Epoch of the best state, which is the result."""
    ended: Ended
    """Why the fit ended; after divergence the result is the best state before."""


#: Maximum number of held-out pairs (a tenth of all) for the criterion.
_HELD_OUT_SHARE, _MOST_HELD_OUT = 0.1, 2000


class Training(ABC):
    """State of a fit: learned tensors, their optimisers, and the best state so far."""

    parameters: list[Any]
    """Tensors of the map."""
    optimisers: list[Any]

    def __init__(self, torch: Any, options: FlowOptions) -> None:
        self.torch = torch
        self.validation = options.validation
        self.chance = torch.Generator().manual_seed(options.seed)
        self.helpers: list[Any] = []  # learned tensors that are not part of the map
        self._best: Any = None

    @abstractmethod
    def watched(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Rows for the criterion: of the source under the current map, and of the target."""

    def criterion(self) -> float:
        """Criterion of the current state; minus infinity for values that are not finite."""
        return criterion(self.validation, *self.watched())

    @abstractmethod
    def epoch(self) -> float:
        """Run one epoch; return the mean loss, not finite if one batch's is not."""

    def begin_round(self) -> None:  # noqa: B027 - most fits have nothing to do there
        """Start a round of bootstrapping; nothing to do if pairs are known."""

    def follow(self, loss: Any, optimiser: Any, *, longest_gradient: float | None = None) -> None:
        """Run one gradient step."""
        optimiser.zero_grad()
        loss.backward()
        if longest_gradient is not None:
            learned = [tensor for group in optimiser.param_groups for tensor in group["params"]]
            self.torch.nn.utils.clip_grad_norm_(learned, longest_gradient)
        optimiser.step()

    def keep_best(self, *, new: bool) -> None:
        """Save the current map if it is the best so far."""
        if new or self._best is None:
            self._best = _copies(self.parameters)

    def restore_best(self) -> None:
        """Restore the best map."""
        self._put(self.parameters, self._best)

    def state(self) -> dict[str, Any]:
        """State that the next epoch depends on."""
        return {
            "tensors": _copies([*self.parameters, *self.helpers]),
            "optimisers": [copy.deepcopy(optimiser.state_dict()) for optimiser in self.optimisers],
            "chance": self.chance.get_state(),
            "best": self._best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._put([*self.parameters, *self.helpers], state["tensors"])
        for optimiser, saved_state in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved_state)
        self.chance.set_state(state["chance"])
        self._best = state["best"]

    def _put(self, tensors: list[Any], values: list[Any]) -> None:
        with self.torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)


def _copies(tensors: list[Any]) -> list[Any]:
    return [tensor.detach().clone() for tensor in tensors]


class Trained(NamedTuple):
    """Training curve; the training is in its best state."""

    curve: tuple[Epoch, ...]
    best: int
    ended: Ended


def split_pairs(count: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split pair indices into training and held-out pairs."""
    order = np.random.default_rng(seed).permutation(count)
    apart = min(_MOST_HELD_OUT, max(2, int(count * _HELD_OUT_SHARE)))
    return order[apart:], order[:apart]


def structural_criterion(moved: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """Structural criterion: minus the squared differences of the log singular values of two spaces.

    After Dubossarsky et al. (2020), which the chapter cites without a formula. It is invariant to rotations, so it
    does not measure whether words are close to their translations.
    """
    sizes = [np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) for rows in (moved, target)]
    logs = [
        np.log(np.maximum(size / np.sqrt(len(rows)), 1e-8)) for size, rows in zip(sizes, (moved, target), strict=True)
    ]
    count = min(map(len, logs))
    return -float(((logs[0][:count] - logs[1][:count]) ** 2).sum(dtype=np.float64))


def energy_distance(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    """Energy distance of two samples: 0 only for equal densities (Szekely, Rizzo 2004).

    2 E|x - y| - E|x - x'| - E|y - y'|
    """
    means = [
        np.sqrt(squared_distances(a.astype(np.float64), b.astype(np.float64))).mean()
        for a, b in ((left, right), (left, left), (right, right))
    ]
    return float(2 * means[0] - means[1] - means[2])


def frequent_criterion(moved: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """MUSE's criterion (Conneau et al. 2018): mean cosine of each frequent source word with its translation by CSLS.

    The semantic criterion takes mutual nearest words only (D10.6).
    """
    cosines = unit_rows(moved, pairwise=True) @ unit_rows(target, pairwise=True).T
    return float(cosines[np.arange(len(cosines)), csls(cosines).argmax(axis=1)].mean(dtype=np.float64))


def criterion(kind: str, moved: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """Compute a criterion, higher is better: semantic (mean cosine of mutual nearest words by CSLS), frequent,
    structural, minus the energy distance of two densities, or minus the error of paired rows; 0 for none.
    """
    if not np.isfinite(moved).all():
        return float("-inf")
    if kind == "error":
        return -float(np.square(moved - target).mean(dtype=np.float64))
    if kind == "none":
        return 0.0
    if kind == "frequent":
        return frequent_criterion(moved, target)
    if kind == "density":
        return -energy_distance(moved, target)
    if kind == "structural":
        return structural_criterion(moved, target)
    return csls_pairs(unit_rows(moved, pairwise=True), unit_rows(target, pairwise=True))[1]


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Fix the order of sums, independent of the number of processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


#: Criteria that an observer of a fit receives, whichever of them chooses the best state.
OBSERVED = ("semantic", "structural")


class Observation(NamedTuple):
    """Map after an epoch, and its criteria on the watched rows; epoch 0 is the start."""

    epoch: int
    map: SpaceMap
    criteria: Mapping[str, float]


@dataclass(frozen=True)
class FitRun:
    """Context of a fit: origin of the map, state file, and progress callback."""

    origin: Origin = Origin()
    state: Path | None = None
    """File with the state after each epoch, used to resume an interrupted fit."""
    advance: Callable[[int], None] = lambda _: None
    """Called after each epoch."""
    observe: Callable[[Observation], None] | None = None
    """Receives the map of each epoch, such as `epoch_tasks.EpochFolder`."""

    def origin_of(self, method: str, pairs: int, trained: Trained, seed: int) -> Origin:
        """Origin of the map, with a summary of its fit."""
        way = f"epoch {trained.best} of {trained.curve[-1].epoch}, seed {seed}, ended: {trained.ended}"
        return self.origin._replace(method=method, pairs=pairs, note=f"{self.origin.note}; {way}".removeprefix("; "))


def train(
    training: Training,
    options: FlowOptions,
    run: FitRun,
    *,
    method: str,
    inputs: Iterable[NDArray[Any]],
    build: Callable[[Origin], SpaceMap] | None = None,
) -> Trained:
    """Run all epochs; a state file must have the same options and `inputs`.

    `build` makes the map of the current state, for the observer of the run.
    """
    named = _inputs_digest(inputs, options, method)
    resumed = _resumed(training, run.state, named)
    curve, best = resumed or ([Epoch(0, 0, math.nan, training.criterion())], 0)
    if not math.isfinite(curve[0].criterion):
        msg = "the criterion is not finite at the start; check for vectors that are all equal"
        raise InputError(msg)
    training.keep_best(new=not best and len(curve) == 1)
    if resumed is None:
        _observe(training, run, build, method, 0)
    ended: Ended = "epochs"
    run.advance(len(curve) - 1)
    # By number, not by length: a round that ended early leaves a gap in the curve.
    for number in range(curve[-1].epoch + 1, options.total_epochs + 1):
        turn = (number - 1) // options.epochs
        if (number - 1) % options.epochs == 0:
            training.begin_round()
            ended = "epochs"
        if options.validation != "none" and number - max(best, turn * options.epochs) > options.patience:
            ended = "patience"
            if turn + 1 < options.rounds:
                continue
            break
        loss = training.epoch()
        reached = training.criterion() if math.isfinite(loss) else -math.inf
        if not math.isfinite(reached):
            msg = (
                f"the fit diverged in epoch {number}: values are not finite; the result is that of epoch {best}. "
                "Try a lower learning rate"
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=user_stacklevel())
            ended = "diverged"
            break
        curve.append(Epoch(number, turn + 1, loss, reached))
        if options.validation == "none" or reached > next(point.criterion for point in curve if point.epoch == best):
            best = number
            training.keep_best(new=True)
        _observe(training, run, build, method, number)
        if run.state is not None:
            _save_state(training, run.state, named, curve, best)
        run.advance(1)
    training.restore_best()
    return Trained(tuple(curve), best, ended)


def _observe(
    training: Training, run: FitRun, build: Callable[[Origin], SpaceMap] | None, method: str, epoch: int
) -> None:
    if run.observe is None or build is None:
        return
    note = f"{run.origin.note}; epoch {epoch}".removeprefix("; ")
    rows = training.watched()
    criteria = {kind: criterion(kind, *rows) for kind in OBSERVED}
    run.observe(Observation(epoch, build(run.origin._replace(method=method, note=note)), criteria))


def _inputs_digest(inputs: Iterable[NDArray[Any]], options: FlowOptions, method: str) -> str:
    """Digest of the inputs of a fit; the number of epochs may change between runs."""
    settings = options.to_dict() | {"method": method}
    if options.rounds == 1 and method not in ADVERSARIAL:  # their learning rate depends on the number of epochs
        settings.pop("epochs")
    hashed = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for array in inputs:
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def _save_state(training: Training, path: Path, inputs: str, curve: list[Epoch], best: int) -> None:
    buffer = io.BytesIO()
    content = {"inputs": inputs, "curve": [list(point) for point in curve], "best": best}
    training.torch.save(content | {"training": training.state()}, buffer)
    write_atomic(path, buffer.getvalue())


def _resumed(training: Training, path: Path | None, inputs: str) -> tuple[list[Epoch], int] | None:
    if path is None or not path.exists():
        return None
    try:
        content = training.torch.load(path, weights_only=True)
        stored_inputs = str(content["inputs"])
    except Exception as error:  # pickle and zipfile raise many classes for other kinds of files
        msg = f"{str(path)!r} is not a state file of a fit: {error!r}; choose another name"
        raise InputError(msg) from error
    if stored_inputs != inputs:
        msg = f"{str(path)!r} is the state of a fit with other vectors or options; choose another name, or remove it"
        raise InputError(msg)
    training.restore(content["training"])
    return [Epoch(*point) for point in content["curve"]], int(content["best"])


@dataclass(frozen=True)
class FitCurves(Result):
    """Loss and criterion of a fit by epoch."""

    format = "nlgauge-fit-curves-1"

    digest: str
    """Of the map."""
    best_epoch: int
    ended: str
    """Why the fit ended."""
    epochs: tuple[Epoch, ...]

    @classmethod
    def of(cls, fitted: Fitted[Any]) -> FitCurves:
        """Extract the curves of a fit."""
        return cls(fitted.map.digest, fitted.best, fitted.ended, fitted.curve)

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table with a row per epoch."""
        rows: list[list[Cell]] = [
            [point.epoch, point.round, None if point.loss != point.loss else point.loss, point.criterion]
            for point in self.epochs
        ]
        return [Table(["epoch", "round", "loss", "criterion"], rows)]


def plot_curves(fitted: Fitted[Any], path: Path) -> None:
    """Draw loss and criterion; the epoch of the best state is marked."""
    figure, (loss, criterion) = new_panels(1, 2, width=8.0, height=3.0)
    learned = fitted.curve[1:]
    loss.plot(
        [point.epoch for point in learned], [point.loss for point in learned], "o-", color=COLOURS[0], markersize=3
    )
    epochs = [point.epoch for point in fitted.curve]
    criterion.plot(epochs, [point.criterion for point in fitted.curve], "o-", color=COLOURS[1], markersize=3)
    for ax, title in ((loss, "loss"), (criterion, "criterion")):
        ax.axvline(fitted.best, linestyle="--", color="#999999", linewidth=0.8)
        ax.set_title(title, loc="left", fontsize=9)
        ax.set_xlabel("epoch", fontsize=8)
        ax.tick_params(labelsize=8)
    finish_figure(
        figure,
        title=f"{fitted.map.origin.method}: best state in epoch {fitted.best}",
        caption="Epoch 0: the start (for a flow, the centred rotation). Dashed line: the best state.",
    )
    save_figure(figure, path)
