"""Flags of `nlgauge explain` that would not be read are refused, with the flag that is missing."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from nlgauge.cli.common import flag_of, metric_options
from nlgauge.errors import RecipeError
from nlgauge.explain.explanation import Explanation
from nlgauge.recipes.metric import looks_alone
from nlgauge.scoring import recipes_and_run

__all__ = ["check_evaluate", "check_left_out", "check_pair", "check_source_side"]


def check_pair(args: argparse.Namespace) -> None:
    """Refuse texts that the metric does not read, and flags of a figure without one."""
    if not args.ref_text and args.source_text is None:
        msg = "nlgauge explain pair needs a text to compare with: --ref-text TEXT or --source-text TEXT"
        raise RecipeError(msg)
    if args.plot_kind is not None and not args.plot:
        msg = "--plot-kind belongs to --plot FILE, which was not given"
        raise RecipeError(msg)
    (recipe,), _ = recipes_and_run(args.metric, metric_options(args))
    with_source = getattr(recipe, "against", "refs") == "source"
    if args.source_text is not None and not with_source:
        fix = "leave it out" if args.ref_text else "give --ref-text TEXT instead"
        if "against" in recipe.options():
            fix += ", or give it alone with --against source" if args.ref_text else ", or add --against source"
        reads = "reads the hypothesis alone" if looks_alone([recipe]) else "compares with references"
        msg = f"--source-text is not read: {recipe.name} {reads}; {fix}"
        raise RecipeError(msg)
    if args.ref_text and with_source:
        msg = f"--ref-text is not read: {recipe.name} compares with the source; leave it out, or add --against refs"
        raise RecipeError(msg)
    other = "reference" if with_source else "source"
    if args.side == other:
        own = "source" if with_source else "reference"
        msg = f"--side {other} has no words here: {recipe.name} compares with the {own}; --side {own}"
        raise RecipeError(msg)


def check_left_out(args: argparse.Namespace, found: Explanation) -> None:
    """Refuse flags on words that are left out where none were, which is known once the pair is explained.

    Shapley values come by themselves where the score is no sum over words.
    """
    if not (found.hypothesis_words and found.reference_words):
        return
    kinds = {one.kind for one in found.attributions}
    if "shapley" not in kinds:
        _refuse(args, ("samples", "seed"), "to --shapley, which was not given")
    if not kinds & {"shapley", "leave-one-out"}:
        _refuse(args, ("side", "component"), "to --shapley or --leave-one-out; neither was given")


def check_evaluate(args: argparse.Namespace) -> None:
    """Refuse what does not go with scores of a file, tags of a file, or the method."""
    if args.gold is not None:
        _refuse(args, ("at", "langpairs", "set", "limit", "side"), "to --data NAME; with --gold FILE leave it out")
    if args.scores is not None:
        computed = ("metric", "method", "pieces", "component", "samples", "seed")
        _refuse(args, computed, "to scores that are computed; with --scores FILE leave it out")
        for name in metric_options(args):
            msg = f"{flag_of(name)} belongs to scores that are computed; with --scores FILE leave it out"
            raise RecipeError(msg)
        return
    if args.lower_is_error:
        _refuse(args, ("lower_is_error",), "to --scores FILE, which was not given")
    if args.method != "shapley":
        _refuse(args, ("samples", "seed"), "to --method shapley")
    if args.method in (None, "match"):
        _refuse(args, ("component",), "to --method leave-one-out or shapley")
    else:
        _refuse(args, ("pieces",), "to --method match")


def check_source_side(args: argparse.Namespace, metrics: Sequence[str]) -> None:
    """Refuse to evaluate words of the source by metrics that do not read it."""
    recipes, _ = recipes_and_run(metrics, metric_options(args))
    names = [recipe.name for recipe in recipes if getattr(recipe, "against", "refs") != "source"]
    if names and args.side not in (None, "hypothesis"):
        msg = f"--side {args.side} is of the source, which {names[0]} does not read; add --against source"
        raise RecipeError(msg)


def _refuse(args: argparse.Namespace, names: Sequence[str], where: str) -> None:
    """Refuse the first of the flags that was given."""
    for name in names:
        if getattr(args, name) not in (None, [], False):
            msg = f"{flag_of(name)} belongs {where}"
            raise RecipeError(msg)
