"""Argument checks that need no texts, and messages that name flags instead of keywords."""

from __future__ import annotations

import argparse
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cache

from nlgauge.apps.cli.common import COMMON_OPTIONS, metric_options
from nlgauge.apps.cli.flags import flag_of, given_options, read_options
from nlgauge.apps.cli.outputs import check_outputs
from nlgauge.core.composite import leaves
from nlgauge.core.registry import METRICS, metric_name
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import check_overridden, recipes_and_run
from nlgauge.errors import NlgaugeWarning, RecipeError

#: Arguments that name a model or a language; an empty one is an unset variable of the shell.
_NAMES = (
    "model",
    "source_model",
    "target_model",
    "lang",
    "source_lang",
    "target_lang",
    "option_model",
    "option_lang",
)

#: Whole numbers, by argument: the least and the greatest that are taken.
_NUMBERS = {
    "width": (0, 17),
    "resamples": (100, None),
    "seed": (0, None),
    "sentences": (0, None),
}


#: Keywords of the library that are flags of some commands, and no options of a run.
_OF_COMMANDS = ("annotator", "level", "method", "released", "translations", "word_vectors")


def check_arguments(args: argparse.Namespace) -> None:
    """Refuse arguments that are invalid in every command, and replace texts by the values of declared options."""
    for name in _NAMES:
        if getattr(args, name, None) == "":
            flag = flag_of(name.removeprefix("option_"))
            msg = f"{flag} is empty; leave it out for the default (is a variable of the shell unset?)"
            raise RecipeError(msg)
    for name, (least, most) in _NUMBERS.items():
        value = getattr(args, name, None)
        if isinstance(value, int) and (value < least or (most is not None and value > most)):
            wanted = f"{least} or more" if most is None else f"a number of decimals from {least} to {most}"
            msg = f"{flag_of(name)} must be {wanted}, got {value}"
            raise RecipeError(msg)
    for options in dict.fromkeys(getattr(args, "declared", {}).values()):
        values = read_options(args, options)
        for name in given_options(args, options):
            setattr(args, name, getattr(values, name))
    if getattr(args, "metric", None):
        args.metric = [pasted_signature(text) for text in args.metric]
        _set_options_of_signatures(args)
    check_outputs(args)


def _set_options_of_signatures(args: argparse.Namespace) -> None:
    """`-m SIGNATURE rescale=FILE`: a signature has the digest of a file, and the command gives its path."""
    if not isinstance(args.metric, list) or not any("|" in text for text in args.metric):
        return
    for text in [text for text in args.metric if re.match(r"[a-z_]+=", text)]:
        name, _, value = text.partition("=")
        setattr(args, f"option_{name}", value)
        args.metric.remove(text)


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


def pasted_signature(text: str) -> str:
    """A signature without the words that `nlgauge score` prints before it.

    >>> pasted_signature("signature of a.txt: bertscore|layer:4")
    'bertscore|layer:4'
    """
    return re.sub(r"^\s*(% )?signature( of .+)?:\s+", "", text)


def _any_of(names: Iterable[str]) -> str:
    """A pattern of names that stand alone: not inside a recipe, a signature or quotes."""
    return rf"(?<![\w:,=\-'|])({'|'.join(sorted(names, key=len, reverse=True))})"


@cache
def _keywords() -> tuple[str, str]:
    """Patterns of the keywords that are flags, and of other options of metrics."""
    flags = {*COMMON_OPTIONS, *RunOptions.options(), *_OF_COMMANDS}
    options = {name for metric in METRICS.values() for name in metric.options()}
    return _any_of(flags), _any_of(options - flags)


def in_flags(message: str) -> str:
    """A message of the library with flags in the place of Python's keywords, and without Python's quotes.

    >>> in_flags("remove the segment, or score it 0 (empty='zero')")
    'remove the segment, or score it 0 (--empty zero)'
    >>> in_flags("score these pairs 0 (unknown='zero')")
    'score these pairs 0 (unknown=zero)'
    """
    flags, options = _keywords()

    def flag(match: re.Match[str]) -> str:
        value = match[2] if match.lastindex == 2 else ""
        return f"{flag_of(match[1])} {value}".rstrip()

    message = re.sub(flags + r"='([^']*)'", flag, message)
    message = re.sub(flags + r"=(FILE|PATH)\b", flag, message)
    message = re.sub(flags + r"=(?=[\s;,.)]|$)", flag, message)
    message = re.sub(options + r"='([^']*)'", r"\1=\2", message)
    return re.sub(rf"^{flags}(?= must )", flag, message)
