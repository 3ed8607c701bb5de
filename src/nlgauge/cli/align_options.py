"""What the actions of `nlgauge align` share: the model, its layer, languages it does not know, parallel texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nlgauge.cli.common import add_run_options, file_label
from nlgauge.encoders import Encoder
from nlgauge.encoders.languages import warn_if_unsupported
from nlgauge.errors import InputError
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.recipes.defaults import default_layer
from nlgauge.transforms.fit.from_texts import check_layer

__all__ = ["add_model", "chosen_layer", "parallel_texts", "warn_of_languages"]


def add_model(parser: Any) -> None:
    """The options of the model, and how to compute."""
    parser.add_argument("--model", default="muse", help="model whose vectors are meant (%(default)s)")
    parser.add_argument("--layer", type=int, metavar="N", help="default: the model's tuned one")
    add_run_options(parser, cache=False)
    parser.add_help_all()


def chosen_layer(layer: int | None, encoder: Encoder) -> int:
    """The layer that was asked for, or the model's own."""
    return check_layer(encoder, default_layer(encoder) if layer is None else layer)


def warn_of_languages(model: str, languages: Iterable[str]) -> None:
    """Say which of the languages the model was not trained on."""
    for language in languages:
        warn_if_unsupported(model, language)


def parallel_texts(specs: Sequence[str], *, most: int = 0) -> tuple[list[str], list[str]]:
    """The texts of two files, which must be as many; the first `most` of them, 0 for all."""
    inputs = Inputs()
    source, target = (inputs.texts(parse_source(spec)) for spec in specs)
    if len(source) != len(target):
        names = " and ".join(file_label(spec) for spec in specs)
        msg = f"parallel texts come in pairs, but {names} have {len(source)} and {len(target)} lines"
        raise InputError(msg)
    most = most or len(source)
    return source[:most], target[:most]
