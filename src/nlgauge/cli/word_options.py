"""How words are made and left out: flags of the commands that explain."""

from __future__ import annotations

import argparse
from typing import Any

from nlgauge.cli.parsing import add_hidden
from nlgauge.text.words import WORD_RULES

__all__ = ["add_word_options", "word_options"]


def add_word_options(parser: argparse.ArgumentParser, *, words: str = "words") -> None:
    """How words are made and left out."""
    add_hidden(
        parser,
        "--words",
        choices=WORD_RULES,
        default=words,
        help="words end at blanks and punctuation (words) or at blanks only (%(default)s)",
    )
    add_hidden(
        parser,
        "--pieces",
        choices=("max", "mean", "first"),
        help="piece that stands for a word: the worst matched (max), the mean, or the first (max)",
    )
    parser.add_argument(
        "--side",
        choices=("hypothesis", "reference", "source"),
        metavar="NAME",
        help="whose words are left out, or evaluated: hypothesis, reference, source (hypothesis)",
    )
    add_hidden(
        parser, "--component", metavar="NAME", help="of the score that words are left out for (default: the main one)"
    )
    add_hidden(parser, "--samples", type=int, metavar="N", help="orders of words that are sampled (25)")
    add_hidden(parser, "--seed", type=int, metavar="N", help="of the sampling (12345)")


def word_options(args: argparse.Namespace) -> dict[str, Any]:
    """The flags of `add_word_options` that were given, as keywords; the library has the other defaults."""
    values = {name: getattr(args, name) for name in ("words", "pieces", "component", "samples", "seed")}
    given = {name: value for name, value in values.items() if value is not None}
    # For the library both are the text that a hypothesis is compared with.
    return given | {"side": "reference" if args.side in ("reference", "source") else "hypothesis"}
