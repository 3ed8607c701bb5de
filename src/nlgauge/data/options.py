"""Options of a data set: what kind of value each takes, read off the loader that takes it.

flag      bool            true, yes, on or 1; false, no, off or 0
number    int             a whole number
name      str             one name
names     str, several    names between commas; nothing after `=` is none
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from nlgauge.errors import RecipeError

__all__ = ["OptionKind", "check_option", "option_kinds", "parse_option"]

OptionKind: TypeAlias = Literal["flag", "number", "name", "names"]

_FLAGS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def option_kinds(loader: Callable[..., Any]) -> dict[str, OptionKind]:
    """The kind of each keyword of a loader, by name."""
    function = loader.func if isinstance(loader, partial) else loader
    hints = get_type_hints(function)
    return {name: _kind(hints[name]) for name in list(inspect.signature(function).parameters)[1:]}


def _kind(hint: Any) -> OptionKind:
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if bool in kinds:
        return "flag"
    if int in kinds:
        return "number"
    return "names" if any(get_origin(one) is not None for one in kinds) else "name"


def parse_option(name: str, kind: OptionKind, text: str) -> Any:
    """The value that a text such as that of `--set NAME=TEXT` stands for; one that is not understood is refused."""
    if kind == "flag":
        if text.lower() not in _FLAGS:
            msg = f"{name} must be true or false (yes or no, on or off), got {text!r}"
            raise RecipeError(msg)
        return _FLAGS[text.lower()]
    if kind == "number":
        if not (text.isascii() and text.isdigit()):
            msg = f"{name} must be a whole number, got {text!r}"
            raise RecipeError(msg)
        return int(text)
    if kind == "names":
        return tuple(text.split(",")) if text else ()
    if not text or "," in text:
        msg = f"{name} must be one name, got {text!r}"
        raise RecipeError(msg)
    return text


def check_option(name: str, kind: OptionKind, value: Any) -> None:
    """Refuse a value of another kind: the text "no" would count as true."""
    if kind == "flag" and not isinstance(value, bool):
        msg = f"{name} must be True or False, got {value!r}"
        raise RecipeError(msg)
    if kind == "number" and (not isinstance(value, int) or isinstance(value, bool)):
        msg = f"{name} must be a whole number, got {value!r}"
        raise RecipeError(msg)
