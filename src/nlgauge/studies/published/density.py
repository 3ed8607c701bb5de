"""Recompute the simulation in chapter 10 of W. Zhao's dissertation: words of two languages in a plane.

One language is transformed, and methods estimate the transformation; the key of a row is such a method.

    words        20, means uniform in [-5, 5]^2; k occurrences each, drawn around the mean with a deviation of 1
    test         the same number, around means shifted by eps: another domain
    as written   the other language is the first, alternately rotated and shifted t times. That is one rigid motion
                 for any t, which the centred rotation finds exactly (D10.9)
    bent         our variant: each step also bends the plane, y <- y + sin(x) and x <- x + sin(y), so the difference
                 grows with each step, and no rotation is exact
    unpaired     MUSE and GAN-Real-NVP start from the identity between the means and see no pairs; with a constraint
                 they have ten rounds of bootstrapping (Algorithm 1), each with new pairs by CSLS

P@1 is the share of test occurrences whose nearest occurrence in the other language belongs to the same word. Figure 2
correlates its mean over runs with k and with eps (`figure2`), Figure 3 shows both languages under each map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError, MissingExtraError, RecipeError
from nlgauge.io.canvas import WIDEST, finish_figure, legend_entries, new_panels, panel_grid, series_styles
from nlgauge.io.packages import require
from nlgauge.stats.correlation import correlate
from nlgauge.studies.alignment.adversarial_fit import fit_adversarial, fit_gan_flow
from nlgauge.studies.alignment.flow_fit import fit_fcnn, fit_flow
from nlgauge.studies.alignment.training_loop import FlowOptions
from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NOT_COMPUTED, ReproducedRow, Reproduction, Run
from nlgauge.studies.published.tables import TableRow
from nlgauge.vectors.remap import fit_remapping

#: Number of runs of a simulation of languages, as in the paper.
_RUNS = 10


def compute_density(request: Request) -> Reproduction:
    """Recompute the table; uses only the ranking options `seed` and `draws` (the number of runs)."""
    run, options = Run(request), request.rankings
    if replace(options, draws=None, seed=RankingOptions.seed) != RankingOptions():
        msg = f"{run.table.id} accepts only the ranking options draws and seed"
        raise RecipeError(msg)
    count = options.draws or _RUNS
    run.notes[f"ours: {count} run{'s' * (count != 1)} from seed {options.seed}"] = None
    if run.table.experiment == "figure2":
        return _compute_correlations(run, count)
    spaces: dict[str, MappedSpace] = {}
    rows = [_density_row(run, row, count, spaces) for row in run.table.rows]
    return replace(run.result(rows), drawing=partial(_draw_spaces, run.table.title, spaces))


def _density_row(run: Run, row: TableRow, count: int, spaces: dict[str, MappedSpace]) -> ReproducedRow:
    """Compute a row; the first run of the first column is added to `spaces`."""
    fit = _find_fitter(run, row)
    if fit is None:
        return run.row(row, {}, NOT_COMPUTED if row.computed else row.note)
    fit = fit_once(fit)
    ours: dict[str, float] = {}
    spread: dict[str, float] = {}
    for column in run.table.questions:
        with run.or_missing(f"value of {row.name}, {column.label}"):
            setup, seed = Setup(**column.setup), run.request.rankings.seed
            shares = run.table.scale * simulate_density(setup, fit, runs=count, seed=seed)
            ours[column.label] = float(shares.mean())
            spread[column.label] = float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
            if row.name not in spaces:
                spaces[row.name] = map_space(setup, fit, seed=seed)
    deviation = f"standard deviation over runs up to {max(spread.values()):.1f}" if spread and count > 1 else ""
    reasons = [deviation if ours else NOT_COMPUTED, row.note]
    return run.row(row, ours, "; ".join(filter(None, reasons)))


def _find_fitter(run: Run, row: TableRow) -> Fitter | None:
    """Function that fits the row's method; None if it cannot be computed, with a note if a package is missing."""
    if not row.computed:
        return None
    if row.key[0] in LINEAR:
        return LINEAR[row.key[0]]
    try:
        return network_fitter(*row.key)
    except MissingExtraError as error:
        run.missing[f"{row.name}: {error}"] = None
        return None


def _compute_correlations(run: Run, count: int) -> Reproduction:
    """Compute Figure 2; the setup of a column has `across`, the parameter that its correlation is with."""
    rows, curves = [], {}
    for row in run.table.rows:
        fitter = _find_fitter(run, row)
        if fitter is None:
            rows.append(run.row(row, {}, NOT_COMPUTED))
            continue
        fit, ours = fit_once(fitter), dict[str, float]()
        for column in run.table.questions:
            with run.or_missing(f"value of {row.name}, {column.label}"):
                setup = {name: value for name, value in column.setup.items() if name != "across"}
                curve = precision_curve(
                    Setup(**setup),
                    fit,
                    across=column.setup["across"],
                    runs=count,
                    seed=run.request.rankings.seed,
                )
                curves[row.name, column.label] = curve
                ours[column.label] = curve.correlation
        rows.append(run.row(row, ours, row.note if ours else NOT_COMPUTED))
    return replace(run.result(rows), drawing=partial(_draw_curves, run.table.title, curves))


Matrix = NDArray[np.float64]
Fitter = Callable[[Matrix, Matrix], Callable[[Matrix], NDArray[np.float32]]]

WORDS = 20
_REACH = 5.0


class Setup(NamedTuple):
    """Setup of a simulation."""

    steps: int = 5
    """t: number of transformation steps."""
    occurrences: int = 100
    """k: occurrences per word."""
    shift: float = 0.0
    """eps: distance between the words of the test and those of training."""
    kind: Literal["as written", "bent"] = "as written"


class Drawn(NamedTuple):
    """Occurrences of both languages, row by row; the first two for fitting."""

    source: Matrix
    target: Matrix
    test_source: Matrix
    test_target: Matrix


def draw(setup: Setup, *, seed: int) -> Drawn:
    """Draw the data of one run."""
    chance = np.random.default_rng(seed)
    means = chance.uniform(-_REACH, _REACH, (WORDS, 2))
    moves = [(chance.uniform(0, 2 * np.pi), chance.uniform(-_REACH, _REACH, 2)) for _ in range(setup.steps)]
    around = np.repeat(means, setup.occurrences, axis=0)
    source = around + chance.normal(size=around.shape)
    test = around + setup.shift + chance.normal(size=around.shape)
    return Drawn(source, _transform(source, moves, setup), test, _transform(test, moves, setup))


def _transform(rows: Matrix, moves: list[tuple[float, Matrix]], setup: Setup) -> Matrix:
    """Apply t steps: alternately a rotation and a translation; a bent step has both and a wave on each axis."""
    for number, (angle, shift) in enumerate(moves):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        if setup.kind == "bent":
            rows = rows @ turn
            rows = rows + np.stack([np.zeros(len(rows)), np.sin(rows[:, 0])], axis=1)
            rows = rows + np.stack([np.sin(rows[:, 1]), np.zeros(len(rows))], axis=1) + shift
        else:
            rows = rows @ turn if number % 2 == 0 else rows + shift
    return rows


def precision_of(moved: NDArray[np.float32], target: Matrix, occurrences: int = 1) -> float:
    """P@1 of words by Euclidean distance: in a plane, cosines do not separate words."""
    x, y = moved.astype(np.float64), target.astype(np.float64)
    words = np.arange(len(y)) // occurrences
    squares, right = np.square(y).sum(axis=1), 0
    for start in range(0, len(x), 500):
        part = x[start : start + 500]
        distance = squares - 2 * (
            part @ y.T
        )  # without the square of the row, which is the same for all its candidates
        right += int((words[distance.argmin(axis=1)] == words[start : start + len(part)]).sum())
    return right / len(x)


#: Methods that need no torch, by name in the table.
LINEAR: Mapping[str, Fitter] = {
    "Rotation": lambda source, target: fit_remapping(source, target, method="clp").apply,
    "centred rotation": lambda source, target: fit_remapping(source, target, method="centred").apply,
    "least squares": lambda source, target: fit_remapping(source, target, method="lsq").apply,
}


#: Methods that need torch, by name in the table; the last two see no pairs.
NETWORKS: Mapping[str, Callable[..., Any]] = {
    "FCNN": fit_fcnn,
    "Real-NVP": fit_flow,
    "MUSE": fit_adversarial,
    "GAN-Real-NVP": fit_gan_flow,
}

#: n of Algorithm 1 in the simulation, and epochs: in each round, and without rounds.
_ROUNDS, _EPOCHS_OF_ROUND, _EPOCHS = 10, 5, 30


def network_fitter(name: str, constraint: str = "none", *, seed: int = 0) -> Fitter:
    """Build a function that fits a method; needs torch."""
    require("torch", "torch")

    def fit(source: Matrix, target: Matrix) -> Callable[[Matrix], NDArray[np.float32]]:
        options = _network_options(name, constraint, len(source))
        return NETWORKS[name](source, target, options=replace(options, seed=seed)).map.apply  # type: ignore[no-any-return]

    return fit


def _network_options(name: str, constraint: str, points: int) -> FlowOptions:
    # In a plane, half of a vector is one number: many narrow layers. Cosines carry little information, so the
    # criterion is the error of pairs, or the density.
    if name in ("FCNN", "Real-NVP"):
        return FlowOptions(
            couplings=4,
            hidden=64,
            epochs=60,
            batch=min(64, max(16, points // 8)),
            learning_rate=1e-2,
            likelihood=0.0,  # words are clusters, not normally distributed
            validation="error",
            patience=20,
        )
    rounds, epochs = (1, _EPOCHS) if constraint == "none" else (_ROUNDS, _EPOCHS_OF_ROUND)
    return FlowOptions(
        couplings=4,
        hidden=64,
        epochs=epochs,
        rounds=rounds,
        patience=epochs,
        batch=min(256, max(16, points // 8)),
        learning_rate=1e-2 if name == "MUSE" else 3e-3,
        constraint=constraint,
        validation="density",
    )


def fit_once(fit: Fitter) -> Fitter:
    """Wrap a fitter, so that columns with the same training data share one map."""
    maps: dict[bytes, Callable[[Matrix], NDArray[np.float32]]] = {}

    def find_map(source: Matrix, target: Matrix) -> Callable[[Matrix], NDArray[np.float32]]:
        key = source.tobytes() + target.tobytes()
        if key not in maps:
            maps[key] = fit(source, target)
        return maps[key]

    return find_map


def simulate_density(setup: Setup, fit: Fitter, *, runs: int = 10, seed: int = 0) -> NDArray[np.float64]:
    """P@1 of a method in each run."""
    shares = []
    for number in range(runs):
        drawn = draw(setup, seed=seed + number)
        apply = fit(drawn.source, drawn.target)
        shares.append(precision_of(apply(drawn.test_source), drawn.test_target, setup.occurrences))
    return np.array(shares)


#: Bins of Figure 2.
BINS: Mapping[str, tuple[float, ...]] = {
    "occurrences": tuple(range(5, 101, 5)),
    "shift": tuple(step / 5 for step in range(26)),
}


class PrecisionCurve(NamedTuple):
    """P@1 with one parameter of the simulation."""

    bins: tuple[float, ...]
    shares: tuple[float, ...]
    """Means over runs."""

    @property
    def correlation(self) -> float:
        """Absolute Pearson correlation of P@1 with the bins; 0 where P@1 is constant."""
        return 0.0 if len(set(self.shares)) == 1 else abs(correlate(self.shares, self.bins).value)


def precision_curve(
    setup: Setup, fit: Fitter, *, across: str, bins: Sequence[float] = (), runs: int = 10, seed: int = 0
) -> PrecisionCurve:
    """P@1 of a method in each bin of a parameter (`occurrences` or `shift`; by default the bins of Figure 2)."""
    chosen = tuple(bins) or BINS[across]
    setups = [Setup(**setup._asdict() | {across: value}) for value in chosen]
    shares = [simulate_density(varied, fit, runs=runs, seed=seed) for varied in setups]
    return PrecisionCurve(chosen, tuple(float(share.mean()) for share in shares))


class MappedSpace(NamedTuple):
    """Test occurrences of both languages under a map."""

    moved: NDArray[np.float32]
    target: Matrix
    precision: float


def map_space(setup: Setup, fit: Fitter, *, seed: int = 0) -> MappedSpace:
    """Map the test occurrences of one run."""
    drawn = draw(setup, seed=seed)
    moved = fit(drawn.source, drawn.target)(drawn.test_source)
    return MappedSpace(moved, drawn.test_target, precision_of(moved, drawn.test_target, setup.occurrences))


def _draw_spaces(title: str, spaces: Mapping[str, MappedSpace]) -> Any:
    """Draw both languages under each map."""
    _check_computed(title, spaces)
    styles = series_styles(("target", "mapped source"))
    rows, columns = panel_grid(len(spaces), most_columns=4)
    figure, axes = new_panels(rows, columns, width=WIDEST, height=2.6)
    for ax in axes[len(spaces) :]:
        ax.set_visible(False)
    for ax, (name, space) in zip(axes, spaces.items(), strict=False):
        points = (space.target, space.moved.astype(np.float64))
        for style, rows_of_side in zip(styles.values(), points, strict=True):
            ax.scatter(*rows_of_side.T, s=2, color=style.colour, alpha=0.5, linewidths=0)
        ax.set_title(f"{name}: P@1 {100 * space.precision:.1f}", loc="left", fontsize=9)
        ax.tick_params(labelsize=8)
    finish_figure(
        figure,
        title=title,
        caption="Test occurrences of the first run and column. Languages that overlap need not be aligned.",
        legend=(legend_entries(styles, kind="mark"), list(styles)),
    )
    return figure


def _draw_curves(title: str, curves: Mapping[tuple[str, str], PrecisionCurve]) -> Any:
    """Draw P@1 with each parameter; each panel's lines are methods."""
    _check_computed(title, curves)
    methods, labels = (dict.fromkeys(key[place] for key in curves) for place in (0, 1))
    styles = series_styles(methods)
    rows, columns = panel_grid(len(labels), most_columns=3)
    figure, axes = new_panels(rows, columns, width=WIDEST, height=2.8)
    for ax in axes[len(labels) :]:
        ax.set_visible(False)
    for ax, label in zip(axes, labels, strict=False):
        for name, style in styles.items():
            curve = curves.get((name, label))
            if curve is not None:
                ax.plot(*curve, marker=style.mark, markersize=3, linewidth=1, color=style.colour)
        ax.set_ylim(-0.03, 1.03)
        ax.set_title(label, loc="left", fontsize=9)
        ax.set_xlabel(label.partition(",")[0], fontsize=8)
        ax.tick_params(labelsize=8)
    axes[0].set_ylabel("P@1", fontsize=8)
    finish_figure(
        figure,
        title=title,
        caption="Mean P@1 over runs. The table has the absolute correlation of each line with its axis.",
        legend=(legend_entries(styles, kind="mark"), list(styles)),
    )
    return figure


def _check_computed(title: str, values: Mapping[Any, Any]) -> None:
    if not values:
        msg = f"nothing to draw: no value of '{title}' was computed; its table lists the missing inputs"
        raise InputError(msg)
