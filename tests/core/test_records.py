"""Fields of results as plain values, back again, and as a JSON Schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.extras import LazyModule

from nlgauge.core.kinds import Int
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.core.signature import Signature
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.table import Table

jsonschema = LazyModule("jsonschema")


class Row(NamedTuple):
    system: str
    score: float
    low: float | None = None


@dataclass(frozen=True, kw_only=True)
class Settings(OptionSet):
    resamples: int = option(1000, Int(1), help="resamples")


@dataclass(frozen=True, eq=False)
class Sample(Result):
    format = "nlgauge-sample-1"
    computed = ("best",)
    unwritten = ("cache",)

    signature: Signature
    rows: tuple[Row, ...]
    matrix: NDArray[np.float64]
    counts: Mapping[str, int]
    level: Literal["segment", "system"]
    names: Sequence[str]
    settings: Settings
    pair: tuple[str, int] = ("", 0)
    either: int | str = 0
    cache: object = None

    @property
    def best(self) -> str:
        return max(self.rows, key=lambda row: row.score).system

    def tables(self, form: str = "text") -> list[Table]:
        return [Table(["system", "score"], [[row.system, row.score] for row in self.rows])]


def sample() -> Sample:
    return Sample(
        Signature.parse("chrf|order:6"),
        (Row("a", 0.5, 0.25), Row("b", math.nan)),
        np.array([[0.5, np.nan]]),
        {"empty": 1},
        "segment",
        ("x", "y"),
        Settings(resamples=200),
        ("z", 3),
        "all",
        cache=object(),
    )


def test_a_result_round_trips_through_json() -> None:
    record = json.loads(json.dumps(sample().to_dict(), allow_nan=False))
    again = Sample.from_dict(record)
    assert again.to_dict() == sample().to_dict()
    assert again.rows[0] == Row("a", 0.5, 0.25)
    assert math.isnan(again.rows[1].score)
    assert again.rows[1].low is None
    assert np.array_equal(again.matrix, [[0.5, np.nan]], equal_nan=True)
    assert again.settings == Settings(resamples=200)
    assert again.signature == sample().signature
    assert again.cache is None, "what is not written is not read"


def test_json_has_the_fields_and_the_computed_properties_and_nothing_else() -> None:
    names = [
        "format",
        "signature",
        "short_signature",
        "rows",
        "matrix",
        "counts",
        "level",
        "names",
        "settings",
        "pair",
        "either",
        "best",
    ]
    assert list(sample().to_dict()) == names
    assert sample().to_dict()["rows"][1] == {"system": "b", "score": None, "low": None}


def test_json_is_what_the_schema_says() -> None:
    schema = Sample.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    record = json.loads(sample().render("json"))
    jsonschema.validate(record, schema)
    for change in ({"level": "word"}, {"format": "nlgauge-sample-2"}, {"counts": {"empty": "one"}}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(record | change, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({name: value for name, value in record.items() if name != "rows"}, schema)


def test_json_of_another_format_is_refused_by_name() -> None:
    with pytest.raises(FileFormatError, match="'nlgauge-sample-1', got 'nlgauge-other-1'"):
        Sample.from_dict(sample().to_dict() | {"format": "nlgauge-other-1"})
    with pytest.raises(InputError, match=r"expected a dict of Sample\.to_dict\(\): KeyError\('rows'\)"):
        Sample.from_dict({name: value for name, value in sample().to_dict().items() if name != "rows"})


def test_one_table_gives_every_format() -> None:
    result = Sample(sample().signature, (Row("a, b", 0.5),), np.zeros((1, 1)), {}, "system", (), Settings())
    assert result.render("tsv", decimals=1) == "system\tscore\na, b\t0.5\n"
    assert result.render("csv", decimals=1) == 'system,score\n"a, b",0.5\n'
    assert "| a, b | 0.5 |" in result.render("markdown", decimals=1)
    assert r"a, b & 0.5 \\" in result.render("latex", decimals=1)
    assert "<td>a, b</td><td>0.5000</td>" in result._repr_html_()


def test_a_result_must_know_its_tables() -> None:
    @dataclass(frozen=True)
    class Bare(Result):
        format = "nlgauge-bare-1"

    with pytest.raises(TypeError, match="tables"):
        Bare()  # type: ignore[abstract]
