"""Base of results: frozen dataclasses with tables and, if useful, a figure.

All output follows from these: text, TSV, CSV, LaTeX, Markdown, JSON, notebooks, answers of the service, `to_dict` and
`from_dict`, and the JSON Schema.

    @dataclass(frozen=True)
    class Ranking(Result):
        format = "nlgauge-ranking-1"
        metric: str
        utilities: tuple[NDArray[np.float64], ...]

        def tables(self, form: str = "text") -> list[Table]:
            return [Table(["segment", "utility"], ...)]

JSON and its schema follow the types of the fields: text, numbers, arrays, signatures, options, other dataclasses and
named tuples, and lists or mappings of them. Types with `to_dict` and `from_dict`, such as results, use these. An
undefined (nan) or infinite number is null in JSON, and null is read as nan.
"""

from __future__ import annotations

import math
import types
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.core.options import OptionSet
from nlgauge.core.short_signature import shorten_text
from nlgauge.core.signature import Signature
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.packages import require
from nlgauge.io.storage import json_text

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

    from nlgauge.io.table import Table


#: Output formats of every result.
FORMATS = ("text", "json", "tsv", "csv", "latex", "markdown")


class Result(ABC):
    """Base of the results of the library's functions."""

    format: ClassVar[str] = ""
    """The name and version of its JSON, such as `nlgauge-ranking-1`."""
    decimals: ClassVar[int] = 4
    """Decimals in printed tables."""
    line: ClassVar[int | None] = None
    """Line length at which texts in tables are wrapped."""
    computed: ClassVar[tuple[str, ...]] = ()
    """Properties that are written to JSON with the fields; they are not read back."""
    unwritten: ClassVar[tuple[str, ...]] = ()
    """Fields that JSON leaves out; they need a default."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Fields that JSON leaves out if they are None."""
    further: ClassVar[tuple[str, ...]] = ()
    """Names of further tables, which `tables` and `render` accept as a format; they are written as TSV."""
    record: ClassVar[type | None] = None
    """The type that describes the JSON if its keys are not the fields of the class."""
    keys: ClassVar[Mapping[str, str]] = {}
    """JSON keys of fields whose key is not a possible name."""

    @abstractmethod
    def tables(self, form: str = "text") -> Sequence[Table]:
        """The result as tables; `form` is text, tsv, csv, latex, markdown, html or one of `further`."""

    def figure(self) -> Any:
        """The result as a matplotlib figure."""
        msg = f"{type(self).__name__} has no figure"
        raise RecipeError(msg)

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """The result as text in a format, with a newline at its end."""
        if form == "json":
            return json_text({"nlgauge": __version__, **self.to_dict()})
        width = self.decimals if decimals is None else decimals
        syntax = "tsv" if form in self.further else form
        return "\n".join(table.write(syntax, width=width, line=self.line) for table in self.tables(form))

    def save_figure(self, path: str | Path) -> None:
        """Write the figure as .png, .svg or .pdf (extra `nlgauge[plot]`)."""
        from nlgauge.io.canvas import check_figure, save_figure

        check_figure(Path(path))
        save_figure(self.figure(), Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; the same input gives the same bytes."""
        return {"format": self.format, **fields_to_plain(self)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Make a result of the dict that `to_dict` returns, also after it was written as JSON."""
        name = record.get("format") if isinstance(record, Mapping) else None
        if name != cls.format:
            msg = f"the format of a {cls.__name__} must be {cls.format!r}, got {name!r}"
            raise FileFormatError(msg)
        try:
            result: Self = from_fields(cls, record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"expected a dict of {cls.__name__}.to_dict(): {error!r}"
            raise InputError(msg) from error
        return result

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of `to_dict` and of JSON files."""
        head = {"nlgauge": schema_of(str), "warnings": schema_of(list[str])}
        return schema_of_document(cls, cls.format, record=cls.record, **head)

    def flat_columns(self) -> Mapping[str, Any]:
        """The result as one flat table: lists or arrays of equal length by column."""
        msg = f"{type(self).__name__} has no flat table; use render() or tables()"
        raise RecipeError(msg)

    def metadata(self) -> dict[str, str]:
        """Metadata of an Arrow table: format, version and, if there is one, the signature."""
        signature = getattr(self, "signature", None)
        head = {"nlgauge": __version__, "format": self.format}
        return head if signature is None else head | {"signature": str(signature)}

    def to_frame(self) -> pd.DataFrame:
        """The columns as a pandas frame (extra `nlgauge[plot]`)."""
        frame: pd.DataFrame = require("pandas", "plot").DataFrame(dict(self.flat_columns()))
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns for polars, DuckDB, pyarrow and others that read Arrow (extra `nlgauge[cluster]`)."""
        pyarrow = require("pyarrow", "cluster")
        # An undefined number (nan) is null.
        arrays = {name: pyarrow.array(values, from_pandas=True) for name, values in self.flat_columns().items()}
        return pyarrow.table(arrays, metadata=self.metadata()).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return "".join(table.write("html", width=self.decimals) for table in self.tables("html"))


class ComponentsResult(Result):
    """Base of results with an array per component, each also an attribute (`score.f1`).

    Arrays and mappings are read-only, because the result has a signature.
    """

    components_in: ClassVar[str]
    """The field with the arrays."""
    mappings: ClassVar[tuple[str, ...]]
    """The fields that are mappings."""

    def __post_init__(self) -> None:
        arrays = getattr(self, self.components_in)
        object.__setattr__(self, self.components_in, {name: read_only(values) for name, values in arrays.items()})
        for name in self.mappings:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getstate__(self) -> dict[str, Any]:
        # Read-only views of mappings cannot be pickled, but dicts can.
        return self.__dict__ | {name: dict(getattr(self, name)) for name in self.mappings}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.isidentifier, getattr(self, self.components_in))})

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        # Only called for names that are not fields.
        arrays: Mapping[str, NDArray[np.float64]] = self.__dict__.get(self.components_in, {})
        if name in arrays:
            return arrays[name]
        label = self.__dict__.get("metric", type(self).__name__)
        msg = f"{label} has no component {name!r}; components: {', '.join(arrays)}"
        raise AttributeError(msg)


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """A read-only view; the array itself stays writable for its owner."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


_SIMPLE = {str: "string", int: "integer", bool: "boolean"}
_UNIONS = (Union, types.UnionType)


def to_plain(value: Any) -> Any:
    """Convert a value to plain values for JSON.

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
    """The fields of a record, the properties that are written with them, and the short form of a signature."""
    kind = value.__class__
    optional = getattr(kind, "optional", ())
    plain: dict[str, Any] = {}
    for name in _json_names(kind):
        entry = getattr(value, name)
        if entry is not None or name not in optional:
            plain[_key(kind, name)] = to_plain(entry)
        if name == "signature" and entry is not None:
            plain["short_signature"] = shorten_text(str(entry))
    return plain


def from_plain(kind: Any, value: Any) -> Any:
    """Make a value of a type from plain values; raises TypeError, KeyError or ValueError if they do not fit."""
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
    """The JSON Schema (2020-12) of values of a type.

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
    properties: dict[str, Any] = {}
    for name in _json_names(kind):
        properties[_key(kind, name)] = schema_of(hints[name])
        if name == "signature":
            properties["short_signature"] = schema_of(str)
    # Older files have no short signature.
    optional = {"short_signature", *(_key(kind, name) for name in getattr(kind, "optional", ()))}
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
    """Base of classes written as JSON files that are neither results nor frozen tables."""

    format: ClassVar[str] = ""
    """The name and version of the JSON, such as `nlgauge-plan/1`."""
    record: ClassVar[type | None] = None
    """The type that describes the JSON if its keys are not the fields of the class."""

    def to_document(self) -> dict[str, Any]:
        """The fields as plain values, with the format and the version of nlgauge."""
        return {"format": self.format, "nlgauge": __version__, **fields_to_plain(self)}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of a file."""
        return schema_of_document(cls, cls.format, record=cls.record, nlgauge=schema_of(str))


def is_record(kind: Any) -> bool:
    """Whether a type is a dataclass or a named tuple, but not an `OptionSet`."""
    if not isinstance(kind, type) or issubclass(kind, OptionSet):
        return False
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _has_own_form(kind: Any) -> bool:
    """Whether a type has its own `to_dict` and `from_dict`."""
    return isinstance(kind, type) and hasattr(kind, "to_dict") and hasattr(kind, "from_dict")


def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind)) if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]


@cache
def _json_names(kind: type) -> tuple[str, ...]:
    """Fields and properties in JSON: `computed` adds properties, `unwritten` leaves out fields."""
    left_out = getattr(kind, "unwritten", ())
    return (*(name for name in _field_names(kind) if name not in left_out), *getattr(kind, "computed", ()))


def _key(kind: type, name: str) -> str:
    """The JSON key of a field: its name, or the one in `keys`."""
    key: str = getattr(kind, "keys", {}).get(name, name)
    return key


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """Types of the fields and of the computed properties."""
    hints = get_type_hints(kind)
    for name in getattr(kind, "computed", ()):
        hints[name] = get_type_hints(getattr(kind, name).fget)["return"]
    return hints


def from_fields(kind: Any, record: Mapping[str, Any]) -> Any:
    """Make a record of its fields as plain values."""
    hints = _hints(kind)
    return kind(**{name: from_plain(hints[name], record[_key(kind, name)]) for name in _names_to_read(kind, record)})


def _names_to_read(kind: Any, record: Mapping[str, Any]) -> Iterator[str]:
    """Names of the fields to read; fields with a default may be missing."""
    optional = _names_with_default(kind)
    for name in _field_names(kind):
        if _key(kind, name) in record or name not in optional:
            yield name


def _names_with_default(kind: Any) -> set[str]:
    """Names of the fields with a default."""
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
