"""Argument checks that need no texts, and messages that name flags instead of keywords."""

from __future__ import annotations

import argparse
import os
import re
import warnings
from collections.abc import Iterable, Sequence

from nlgauge.apps.cli.common import metric_options
from nlgauge.apps.cli.flags import check_options, flag_of, set_option
from nlgauge.apps.cli.outputs import check_outputs
from nlgauge.core.composite import leaves
from nlgauge.core.registry import METRICS, metric_name
from nlgauge.core.scoring import check_overridden, recipes_and_run
from nlgauge.errors import NlgaugeWarning, RecipeError


def check_arguments(args: argparse.Namespace) -> None:
    """Refuse arguments that are invalid in every command, and replace texts by the values of declared options."""
    check_options(args)
    if getattr(args, "metric", None) and any("|" in text for text in args.metric):
        _split_options_of_signatures(args)
    check_outputs(args)


def _split_options_of_signatures(args: argparse.Namespace) -> None:
    """`-m SIGNATURE rescale=FILE`: a signature has the digest of a file, and the command gives its path."""
    options = [text for text in args.metric if re.match(r"[a-z_]+=", text)]
    args.signature_options = dict(text.split("=", 1) for text in options)
    set_option(args, "metric", tuple(text for text in args.metric if text not in options))


def check_metrics(metrics: Sequence[str], args: argparse.Namespace, *, command: str) -> None:
    """Refuse metrics that are files or are not known, and flags that none of them reads."""
    for text in metrics:
        if metric_name(text).casefold() not in METRICS and os.path.exists(text):
            others = [one for one in metrics if one != text]
            msg = (
                f"--metric took {text!r}, which is a file; put the systems first: "
                f"nlgauge {command} {text} ... --metric {' '.join(others) or 'NAME'}"
            )
            raise RecipeError(msg)
    options = metric_options(args)
    recipes, _ = recipes_and_run(metrics, options)
    check_overridden(metrics, options)
    if any(getattr(recipe, "against", "refs") == "source" for recipe in leaves(recipes)):
        return
    for recipe in leaves(recipes):
        if getattr(recipe, "src_lang", ""):
            msg = f"src_lang is read by metrics that compare with the source (against=source), not by {recipe.name}"
            raise RecipeError(msg)
    names = ", ".join(dict.fromkeys(recipe.name for recipe in recipes))
    if getattr(args, "source", None) and args.refs:
        msg = f"--source is not read: {names} {'compares' if len(recipes) == 1 else 'compare'} with references"
        warnings.warn(msg, NlgaugeWarning, stacklevel=2)


def _any_of(names: Iterable[str]) -> str:
    """A pattern of names that stand alone: not inside a recipe, a signature or quotes."""
    return rf"(?<![\w:,=\-'|])({'|'.join(sorted(names, key=len, reverse=True))})"


def in_flags(message: str, flags: Iterable[str]) -> str:
    """A message of the library with flags in the place of Python's keywords, and without Python's quotes.

    >>> in_flags("remove the segment, or score it 0 (empty='zero')", ["empty"])
    'remove the segment, or score it 0 (--empty zero)'
    >>> in_flags("score these pairs 0 (unknown='zero')", ["empty"])
    'score these pairs 0 (unknown=zero)'
    """
    names = set(flags)
    options = _any_of({name for metric in METRICS.values() for name in metric.options()} - names)
    if names:
        pattern = _any_of(names)

        def flag(match: re.Match[str]) -> str:
            value = match[2] if match.lastindex == 2 else ""
            return f"{flag_of(match[1])} {value}".rstrip()

        message = re.sub(pattern + r"='([^']*)'", flag, message)
        message = re.sub(pattern + r"=(FILE|PATH)\b", flag, message)
        message = re.sub(pattern + r"=(?=[\s;,.)]|$)", flag, message)
        message = re.sub(rf"^{pattern}(?= must )", flag, message)
    return re.sub(options + r"='([^']*)'", r"\1=\2", message)
