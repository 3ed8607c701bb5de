"""Dataclasses from TOML files of the package: tables of models and data sets.

The loader is strict: an unknown key, a missing key and a value of another type are errors that name the file and the
entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from nlgauge.errors import FileFormatError
from nlgauge.io.storage import toml_content

T = TypeVar("T")


def read_entries(path: Path) -> dict[str, Any]:
    """The entries of a TOML file by name."""
    try:
        return toml_content(path.read_text(encoding="utf-8"))
    except ValueError as error:  # TOML errors are ValueErrors
        msg = f"{path.name} is not valid TOML: {error}"
        raise FileFormatError(msg) from error


def read_records(path: Path, record: type[T]) -> dict[str, T]:
    """Read one record per table of a file; the table's name is the field `name`."""
    return {
        name: build_record(record, values, where=f"{path.name}: {name}", name=name)
        for name, values in read_entries(path).items()
    }


def build_record(record: type[T], values: Any, *, where: str, **preset: Any) -> T:
    """Create a dataclass from a table; `preset` fields must not be keys of the table."""
    _check_type(values, dict, where)
    types, required = _fields_of(record)  # type: ignore[arg-type]
    converted = {}
    for name, value in values.items():
        if name not in types or name in preset:
            keys = ", ".join(name for name in types if name not in preset)
            msg = f"{where}: unknown key {name!r}; known keys: {keys}"
            raise FileFormatError(msg)
        # A fast path: most values need no conversion, and files have many.
        converted[name] = value if type(value) is types[name] else _convert(value, types[name], f"{where}: {name}")
    for name in required:
        if name not in values and name not in preset:
            msg = f"{where}: missing key {name!r}"
            raise FileFormatError(msg)
    return record(**preset, **converted)


@cache  # evaluating annotations is slow, and a file has many records of one type
def _fields_of(record: Any) -> tuple[dict[str, Any], list[str]]:
    """Types of the fields by name, and names of the fields without a default."""
    types, members = get_type_hints(record), fields(record)
    required = [field.name for field in members if field.default is MISSING and field.default_factory is MISSING]
    return {field.name: types[field.name] for field in members}, required


def _convert(value: Any, hint: Any, where: str) -> Any:
    """Convert a TOML value to the type of a field: lists to tuples, tables to records."""
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (member,) = (member for member in members if member is not NoneType)  # TOML has no null
        return _convert(value, member, where)
    if origin is tuple:
        if type(value) is list and {*map(type, value)} == {members[0]}:
            return tuple(value)
        _check_type(value, list, where)
        return tuple([_convert(item, members[0], f"{where}[{index}]") for index, item in enumerate(value)])
    if origin is Mapping:
        if type(value) is dict and {*map(type, value.values())} == {members[1]}:
            return value
        _check_type(value, dict, where)
        return {key: _convert(item, members[1], f"{where}.{key}") for key, item in value.items()}
    if is_dataclass(hint):
        return build_record(hint, value, where=where)  # type: ignore[arg-type]
    if origin is Literal:
        if value not in members:
            msg = f"{where} must be one of {', '.join(map(repr, members))}, got {value!r}"
            raise FileFormatError(msg)
    elif hint is Any:
        return tuple(value) if isinstance(value, list) else value
    else:
        _check_type(value, hint, where)
    return value


def _check_type(value: Any, expected: type, where: str) -> None:
    if type(value) is not expected:  # for isinstance, true is a number
        names = {dict: "a table", list: "a list", str: "a text", int: "a whole number", bool: "true or false"}
        msg = f"{where} must be {names.get(expected, expected.__name__)}, got {value!r}"
        raise FileFormatError(msg)
