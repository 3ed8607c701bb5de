"""Request models of the service, made from declared options.

Every option of the library is offered within its limit, but for those that name files, folders or output: a request
never reaches the server's disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, StrictBool, StrictInt, create_model

from nlgauge.core.kinds import Choice, Flag, Float, Folder, InputFile, Int, Kind, Many, OutputFile
from nlgauge.core.options import Option, OptionSet

Model = TypeVar("Model", bound=BaseModel)

#: Kinds that a request cannot have.
_REFUSED = (InputFile, OutputFile, Folder)

_LONGEST_TEXT = 200
_LONGEST_LIST = 100


def with_options(options: type[OptionSet]) -> Callable[[type[Model]], type[Model]]:
    """A decorator that adds a field to a request model for each option that a request may set."""

    def extend(model: type[Model]) -> type[Model]:
        fields: dict[str, Any] = {
            entry.name: _field(entry) for entry in options.options().values() if is_offered(entry)
        }
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
        )

    return extend


def is_offered(entry: Option) -> bool:
    """Whether a request may set an option."""
    kind = entry.kind.kind if isinstance(entry.kind, Many) else entry.kind
    return not isinstance(kind, _REFUSED)


def requested(request: BaseModel, options: type[OptionSet]) -> dict[str, Any]:
    """The options that a request sets."""
    names = [name for name, entry in options.options().items() if is_offered(entry)]
    return {name: getattr(request, name) for name in names if name in request.model_fields_set}


def _field(entry: Option) -> tuple[Any, Any]:
    kind, limits = _type_of(entry.kind, entry.limit)
    optional = kind | None if entry.default is None else kind
    default = list(entry.default) if isinstance(entry.default, tuple) else entry.default
    text = entry.help[0].upper() + entry.help[1:] + "."
    return optional, Field(default, description=text, **limits)


def _type_of(kind: Kind, limit: float | None) -> tuple[Any, dict[str, Any]]:
    if isinstance(kind, Choice):
        return Literal[kind.words], {}
    if isinstance(kind, Flag):
        return StrictBool, {}
    if isinstance(kind, Int):
        most = kind.most if limit is None else int(limit)
        return StrictInt, {"ge": kind.least} | ({} if most is None else {"le": most})
    if isinstance(kind, Float):
        ends = {"ge": kind.low, "gt": kind.above, "lt": kind.below, "le": math.inf if limit is None else limit}
        return float, {name: value for name, value in ends.items() if math.isfinite(value)}
    if isinstance(kind, Many):
        inner, _ = _type_of(kind.kind, limit)
        return list[inner], {"max_length": _LONGEST_LIST}  # type: ignore[valid-type]  # made at run time
    return str, {"max_length": _LONGEST_TEXT}
