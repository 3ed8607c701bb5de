"""The base of results: a frozen dataclass that knows its tables and, where one makes sense, its figure.

Everything that shows or stores a result follows from these: text, TSV, CSV, LaTeX, Markdown, JSON, notebooks, the
answers of the service, `to_dict` and `from_dict`, and the JSON Schema.

    @dataclass(frozen=True)
    class Ranking(Result):
        format = "nlgauge-ranking-1"
        metric: str
        utilities: tuple[NDArray[np.float64], ...]

        def tables(self, form: str = "text") -> list[Table]:
            return [Table(["segment", "utility"], ...)]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.core.records import fields_to_plain, from_fields, schema_of, schema_of_document
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.formats import json_text
from nlgauge.io.packages import require

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

    from nlgauge.io.table import Table

#: Formats that every result can be written in.
FORMATS = ("text", "json", "tsv", "csv", "latex", "markdown")


class Result(ABC):
    """Base of frozen dataclasses that a function of the library returns."""

    format: ClassVar[str] = ""
    """The name and version of its JSON, such as `nlgauge-ranking-1`."""
    decimals: ClassVar[int] = 4
    """Decimals in tables for people."""
    line: ClassVar[int | None] = None
    """Letters of a line at which texts of tables are wrapped."""
    computed: ClassVar[tuple[str, ...]] = ()
    """Properties that JSON has next to the fields; they are not read back."""
    unwritten: ClassVar[tuple[str, ...]] = ()
    """Fields that JSON leaves out; they need a default."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Fields that JSON leaves out where they are None."""
    further: ClassVar[tuple[str, ...]] = ()
    """Names of further tables, which `tables` and `render` take like a format; they are written as TSV."""
    record: ClassVar[type | None] = None
    """The type that describes the JSON, where that does not have the fields of the class."""
    keys: ClassVar[Mapping[str, str]] = {}
    """Keys in JSON of fields that cannot have that name."""

    @abstractmethod
    def tables(self, form: str = "text") -> Sequence[Table]:
        """The result as tables; `form` is text, tsv, csv, latex, markdown, html or one of `further`."""

    def figure(self) -> Any:
        """The result as a matplotlib figure."""
        msg = f"there is no figure of {type(self).__name__}"
        raise RecipeError(msg)

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """The result as one text that ends with a newline."""
        if form == "json":
            return json_text({"nlgauge": __version__, **self.to_dict()})
        width = self.decimals if decimals is None else decimals
        written = "tsv" if form in self.further else form
        return "\n".join(table.write(written, width=width, line=self.line) for table in self.tables(form))

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
        """A result from what `to_dict` made of it; JSON between the two changes nothing."""
        name = record.get("format") if isinstance(record, Mapping) else None
        if name != cls.format:
            msg = f"the format of a {cls.__name__} must be {cls.format!r}, got {name!r}"
            raise FileFormatError(msg)
        try:
            result: Self = from_fields(cls, record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"the dict is not one of {cls.__name__}.to_dict(): {error!r}"
            raise InputError(msg) from error
        return result

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of `to_dict`, and of JSON files, which name the version of nlgauge too."""
        head = {"nlgauge": schema_of(str), "warnings": schema_of(list[str])}
        return schema_of_document(cls, cls.format, record=cls.record, **head)

    def flat_columns(self) -> Mapping[str, Any]:
        """The result as one flat table for programs: lists or arrays of one length, by the name of their column."""
        msg = f"{type(self).__name__} has no flat table; its tables are those of render() and tables()"
        raise RecipeError(msg)

    def metadata(self) -> dict[str, str]:
        """What an Arrow table has next to the columns: format, version and, where there is one, the signature."""
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
        # A number that is not defined (nan) is null.
        arrays = {name: pyarrow.array(values, from_pandas=True) for name, values in self.flat_columns().items()}
        return pyarrow.table(arrays, metadata=self.metadata()).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return "".join(table.write("html", width=self.decimals) for table in self.tables("html"))


class ComponentsResult(Result):
    """Base of results with an array per component, each of which is an attribute, too (`score.f1`).

    Arrays and mappings cannot be changed: a result is signed.
    """

    components_in: ClassVar[str]
    """The field that has the arrays."""
    mappings: ClassVar[tuple[str, ...]]
    """All fields that are mappings."""

    def __post_init__(self) -> None:
        arrays = getattr(self, self.components_in)
        object.__setattr__(self, self.components_in, {name: read_only(values) for name, values in arrays.items()})
        for name in self.mappings:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getstate__(self) -> dict[str, Any]:
        # The read-only views of mappings do not pickle; their content does.
        return self.__dict__ | {name: dict(getattr(self, name)) for name in self.mappings}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.isidentifier, getattr(self, self.components_in))})

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        # Only called for names that are not fields: a component, or an honest error.
        arrays: Mapping[str, NDArray[np.float64]] = self.__dict__.get(self.components_in, {})
        if name in arrays:
            return arrays[name]
        msg = f"{self.__dict__.get('metric', type(self).__name__)} has no component {name!r}; it has {list(arrays)}"
        raise AttributeError(msg)


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to, so that the array of whoever computed it stays as it is."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
