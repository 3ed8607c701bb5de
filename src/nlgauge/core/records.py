"""Dataclasses as plain values, back again, and as a JSON Schema: all three follow the types of their fields.

A field may hold text, numbers, arrays, signatures, options, other dataclasses and named tuples, and lists or mappings
of them. What has `to_dict` and `from_dict`, as results have, is written and read by them. A number that is not
defined (nan) or infinite is null in JSON, and null is read as nan.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from nlgauge._version import __version__
from nlgauge.core.options import OptionSet
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError

_SIMPLE = {str: "string", int: "integer", bool: "boolean"}
_UNIONS = (Union, types.UnionType)


def to_plain(value: Any) -> Any:
    """The value as JSON has it.

    >>> to_plain({"score": np.array([0.5, np.nan, np.inf]), "n": (1, 2)})
    {'score': [0.5, None, None], 'n': [1, 2]}
    """
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Signature):
        return str(value)
    if isinstance(value, OptionSet) or _has_own_form(type(value)):
        return value.to_dict()
    if is_record(type(value)):
        return fields_to_plain(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    return [to_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def fields_to_plain(value: Any) -> dict[str, Any]:
    """The fields of a record, and the properties that are written with them."""
    kind = value.__class__
    optional = getattr(kind, "optional", ())
    values = {name: getattr(value, name) for name in _written(kind)}
    return {
        _key(kind, name): to_plain(entry)
        for name, entry in values.items()
        if entry is not None or name not in optional
    }


def from_plain(kind: Any, value: Any) -> Any:
    """The value of a type from what `to_plain` made of it; a TypeError, KeyError or ValueError if it is not."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return _from_union(inner, value)
    if origin is Literal:
        return value
    if _is_array(kind):
        return np.array(value, dtype=_number_type(kind))
    if kind is float or kind is np.float64:
        return math.nan if value is None else float(value)
    if kind is Signature:
        return Signature.parse(value)
    if isinstance(kind, type) and issubclass(kind, OptionSet):
        return kind.of(value)
    if _has_own_form(kind):
        return kind.from_dict(value)
    if is_record(kind):
        return from_fields(kind, value)
    if origin is tuple:
        kinds = (inner[0],) * len(value) if inner[-1] is Ellipsis else inner
        return tuple(from_plain(part, entry) for part, entry in zip(kinds, value, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        return {from_plain(inner[0], key): from_plain(inner[1], entry) for key, entry in value.items()}
    if origin is not None and issubclass(origin, Sequence):
        return tuple(from_plain(inner[0], entry) for entry in value)
    return int(value) if kind is int else value


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `to_plain` makes of values of a type.

    >>> schema_of(tuple[int, ...])
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return {"anyOf": [schema_of(part) for part in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if kind is type(None):
        return {"type": "null"}
    if kind is float:
        return {"type": ["number", "null"]}
    if kind is Signature:
        return {"type": "string"}
    if _is_array(kind):
        return {"type": "array"}
    if _has_own_form(kind):
        if hasattr(kind, "schema"):
            return dict(kind.schema())
        return schema_of(kind.record) if hasattr(kind, "record") else {"type": "object"}
    if is_typeddict(kind):
        properties = {name: schema_of(part) for name, part in get_type_hints(kind).items()}
        required = [name for name in properties if name in kind.__required_keys__]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if is_record(kind):
        return schema_of_fields(kind)
    if origin is tuple and inner[-1] is not Ellipsis:
        return {"type": "array", "prefixItems": [schema_of(part) for part in inner], "minItems": len(inner)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1])}
    if origin is not None and issubclass(origin, Sequence | tuple):
        return {"type": "array", "items": schema_of(inner[0])}
    return {"type": "object"} if isinstance(kind, type) and issubclass(kind, OptionSet) else {}


def schema_of_fields(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a record."""
    hints = _hints(kind)
    properties = {_key(kind, name): schema_of(hints[name]) for name in _written(kind)}
    optional = {_key(kind, name) for name in getattr(kind, "optional", ())}
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def schema_of_document(kind: type, name: str, *, record: Any = None, **head: Any) -> dict[str, Any]:
    """The JSON Schema of a file or an answer in the format `name`: `head`, and the record or fields of a class."""
    schema = schema_of_fields(kind) if record is None else schema_of(record)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.__name__,
        "description": (kind.__doc__ or "").partition("\n")[0],
        **schema,
        "properties": {"format": {"const": name}} | head | schema["properties"],
        "required": ["format", *schema["required"]],
    }


class Document:
    """Base of classes that are written as JSON files and are neither results nor frozen tables."""

    format: ClassVar[str] = ""
    """The name and version of the JSON, such as `nlgauge-plan/1`."""
    record: ClassVar[type | None] = None
    """The type that describes the JSON, where that does not have the fields of the class."""

    def to_document(self) -> dict[str, Any]:
        """The fields as plain values, with the format and the version of nlgauge."""
        return {"format": self.format, "nlgauge": __version__, **fields_to_plain(self)}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of a file."""
        return schema_of_document(cls, cls.format, record=cls.record, nlgauge=schema_of(str))


def is_record(kind: Any) -> bool:
    """Whether values of a type have named fields: a dataclass or a named tuple, but not a set of options."""
    if not isinstance(kind, type) or issubclass(kind, OptionSet):
        return False
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _has_own_form(kind: Any) -> bool:
    """Whether a type writes and reads itself."""
    return isinstance(kind, type) and hasattr(kind, "to_dict") and hasattr(kind, "from_dict")


def _names(kind: type) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind)) if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]


@cache
def _written(kind: type) -> tuple[str, ...]:
    """Fields and properties that are in JSON: `computed` adds properties, `unwritten` leaves fields out."""
    left_out = getattr(kind, "unwritten", ())
    return (*(name for name in _names(kind) if name not in left_out), *getattr(kind, "computed", ()))


def _key(kind: type, name: str) -> str:
    """The key of a field in JSON: its name, unless the class has another one in `keys`."""
    key: str = getattr(kind, "keys", {}).get(name, name)
    return key


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """Types of fields, and of the properties that are written."""
    hints = get_type_hints(kind)
    for name in getattr(kind, "computed", ()):
        hints[name] = get_type_hints(getattr(kind, name).fget)["return"]
    return hints


def from_fields(kind: Any, record: Mapping[str, Any]) -> Any:
    """A record from its fields as plain values."""
    hints = _hints(kind)
    return kind(**{name: from_plain(hints[name], record[_key(kind, name)]) for name in _read(kind, record)})


def _read(kind: Any, record: Mapping[str, Any]) -> Iterator[str]:
    """Fields to be read: all that are written; one with a default may be missing."""
    optional = _optional(kind)
    for name in _names(kind):
        if _key(kind, name) in record or name not in optional:
            yield name


def _optional(kind: Any) -> set[str]:
    """Fields with a default."""
    if not is_dataclass(kind):
        return set(kind._field_defaults)
    return {e.name for e in fields(kind) if e.default is not MISSING or e.default_factory is not MISSING}


def _from_union(kinds: Sequence[Any], value: Any) -> Any:
    if value is None and type(None) in kinds:
        return None
    rest = [kind for kind in kinds if kind is not type(None)]
    if len(rest) == 1:
        return from_plain(rest[0], value)
    simple = [kind for kind in rest if isinstance(kind, type) and isinstance(value, kind)]
    if simple:
        return value
    for kind in rest:
        try:
            return from_plain(kind, value)
        except (KeyError, TypeError, ValueError, InputError):
            continue
    msg = f"{value!r} is none of {', '.join(map(str, kinds))}"
    raise TypeError(msg)


def _is_array(kind: Any) -> bool:
    return get_origin(kind) is np.ndarray or kind is np.ndarray


def _number_type(kind: Any) -> Any:
    """The type of the numbers of `NDArray[np.int64]`."""
    parts = get_args(kind)
    return get_args(parts[1])[0] if len(parts) == 2 and isinstance(get_args(parts[1])[0], type) else np.float64
