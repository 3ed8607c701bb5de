"""`nlgauge align fit --method flow`, `gan-flow` and `fcnn`: maps that training finds, with their curves."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.cli.common import run_options
from nlgauge.cli.outputs import saving, write_output
from nlgauge.engine.progress import Progress
from nlgauge.errors import RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.plots import check_figure, plot_curves
from nlgauge.recipes.run_options import RunOptions
from nlgauge.transforms.fit.flow_options import CONSTRAINTS, FCNN_HIDDEN, VALIDATIONS, Fitted, FlowOptions
from nlgauge.transforms.fit.neighbours import Pairs
from nlgauge.transforms.fit.unsupervised import Unsupervised
from nlgauge.transforms.fit.vocabulary import Vocabulary
from nlgauge.transforms.origin import Origin

__all__ = ["NETWORK_METHODS", "add_network_options", "check_network_options", "fit_gan", "fit_network"]

NETWORK_METHODS = ("flow", "gan-flow", "fcnn")

#: Fields of the options that are flags, and what `--help` says of them.
_NUMBERS: dict[str, tuple[Any, str]] = {
    "epochs": (int, "in each round (20)"),
    "rounds": (int, "of bootstrapping; gan-flow with a constraint (3)"),
    "patience": (int, "epochs without a better criterion (5)"),
    "batch": (int, "pairs of a step (256)"),
    "couplings": (int, "layers of each of the two flows (2)"),
    "hidden": (int, "width inside a layer (32; fcnn 128)"),
    "learning_rate": (float, "(1e-3; gan-flow 5e-5)"),
    "likelihood": (float, "weight of the likelihood (0.1)"),
    "constraint_weight": (float, "(1)"),
}
_FILES = ("state", "curves", "plot")


def add_network_options(fit: argparse.ArgumentParser) -> None:
    """Flags of training, all without a default: what is not given is that of the method."""
    group = fit.add_argument_group("with --method flow, gan-flow (--unsupervised) or fcnn; needs nlgauge[torch]")
    group.add_argument("--constraint", choices=CONSTRAINTS, help="on paired words (none)")
    group.add_argument("--validation", choices=VALIDATIONS, help="what chooses the state that is kept (semantic)")
    for name, (kind, text) in _NUMBERS.items():
        metavar = "N" if kind is int else "X"
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=text)
    group.add_argument("--state", metavar="FILE", help="keeps what is done, so that an interrupted fit goes on")
    group.add_argument("--curves", metavar="FILE", help="loss and criterion of each epoch, as JSON")
    group.add_argument("--plot", metavar="FILE", help="the same as a figure (.png, .svg, .pdf)")


def check_network_options(args: argparse.Namespace) -> None:
    """Refuse methods for the other kind of texts, and options that a method has no use of."""
    if args.unsupervised and args.method not in {None, "gan-flow"}:
        msg = f"--method has no meaning with --unsupervised unless it is gan-flow, got {args.method}"
        raise RecipeError(msg)
    if args.parallel and args.method == "gan-flow":
        msg = "--method gan-flow is for texts that are not parallel; give --unsupervised, or take --method flow"
        raise RecipeError(msg)
    given = [name for name in (*_NUMBERS, "constraint", "validation", *_FILES) if getattr(args, name) is not None]
    useless = given if args.method not in NETWORK_METHODS else []
    if args.method == "fcnn":
        own = {"epochs", "patience", "batch", "hidden", "learning_rate", "validation", *_FILES}
        useless = [name for name in given if name not in own]
    if useless:
        msg = f"--{useless[0].replace('_', '-')} has no meaning with this method; leave it out"
        raise RecipeError(msg)
    if args.plot:
        check_figure(Path(args.plot))
    if args.method in NETWORK_METHODS:
        flow_options(args).check_method(args.method)


def flow_options(args: argparse.Namespace) -> FlowOptions:
    """The options that were given, and the method's own."""
    names = {field.name for field in fields(FlowOptions)}
    given = {name: value for name, value in vars(args).items() if name in names and value is not None}
    if args.method == "gan-flow":
        constrained = given.get("constraint", "none") != "none"
        given = {"learning_rate": 5e-5, "rounds": 3 if constrained else 1} | given
    if args.method == "fcnn":
        given = {"hidden": FCNN_HIDDEN} | given
    return FlowOptions(**given)


def fit_network(
    args: argparse.Namespace, x: NDArray[np.float32], z: NDArray[np.float32], what: str, origin: Origin
) -> int:
    """Fit to paired words, and write the map."""
    options, show = flow_options(args), RunOptions.of(run_options(args)).progress
    # Here, so that the other methods do without torch.
    from nlgauge.transforms.fit.fcnn_fit import fit_fcnn
    from nlgauge.transforms.fit.flow_fit import fit_flow

    fit: Callable[..., Fitted[Any]] = fit_fcnn if args.method == "fcnn" else fit_flow
    state = Path(args.state) if args.state else None
    with Progress(options.total_epochs, show=show, what=f"fitting {args.method}", unit="epoch") as advance:
        fitted = fit(x, z, options=options, origin=origin, state=state, advance=advance)
    return _keep(args, fitted, what)


def fit_gan(
    args: argparse.Namespace, source: Vocabulary, target: Vocabulary, found: Unsupervised, origin: Origin
) -> int:
    """Fit to words of two languages from the rotation that was found, and write the map."""
    from nlgauge.transforms.fit.flow_fit import fit_gan_flow

    options, show = flow_options(args), RunOptions.of(run_options(args)).progress
    best = max(found.attempts, key=lambda attempt: attempt.criterion).pairs
    state = Path(args.state) if args.state else None
    with Progress(options.total_epochs, show=show, what="fitting gan-flow", unit="epoch") as advance:
        fitted = fit_gan_flow(
            source.vectors,
            target.vectors,
            Pairs(best.source, best.target),
            options=options,
            origin=origin,
            state=state,
            advance=advance,
        )
    return _keep(args, fitted, f"{len(found.pairs)} pairs of words found")


def _keep(args: argparse.Namespace, fitted: Fitted[Any], what: str) -> int:
    with saving(args.output) as path:
        fitted.map.save(path)
    if args.curves:
        write_output(args.curves, json.dumps(fitted.as_dict(), indent=2) + "\n")
    if args.plot:
        with saving(args.plot) as path:
            plot_curves(fitted, path)
    first, best = fitted.curve[0], next(point for point in fitted.curve if point.epoch == fitted.best)
    way = f", epoch {fitted.best} of {fitted.curve[-1].epoch} ({fitted.ended}), "
    way += f"criterion {first.criterion:.4f} to {best.criterion:.4f}"
    _say(args, what, way, fitted.map.digest)
    return 0


def _say(args: argparse.Namespace, what: str, way: str, digest: str) -> None:
    if not args.quiet:
        print(f"{args.output}: {args.method} of {what}{way}, {short_digest(digest)}", file=sys.stderr)
