"""Results as flat tables: pandas, polars, DuckDB and pyarrow read the same numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
import pytest
from tests.extras import LazyModule

import nlgauge
from nlgauge.core.result import Result
from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.report.metrics import MetricList

duckdb = LazyModule("duckdb")
jsonschema = LazyModule("jsonschema")
polars = LazyModule("polars")
pa = LazyModule("pyarrow")

SYSTEMS = {"a": ["A cat sat.", "It rains."], "b": ["One cat.", "Rain is near."]}
REFS = ["The cat sat.", "Rain is expected."]


@pytest.fixture(scope="module")
def scores() -> nlgauge.ScoreTable:
    return nlgauge.score_systems(SYSTEMS, REFS, metric=["rouge1", "chrf"])


RESULTS: dict[str, Callable[[], Result]] = {
    "Score": lambda: nlgauge.score(SYSTEMS["a"], REFS, metric="bleu"),
    "ScoreTable": lambda: nlgauge.score_systems(SYSTEMS, REFS, metric=["rouge1", "chrf"]),
    "with alignments": lambda: nlgauge.score_systems(SYSTEMS, REFS, alignments=True),
    "ScoreMatrix": lambda: nlgauge.matrix(SYSTEMS["a"], REFS, metric="rouge1"),
    "Ranking": lambda: nlgauge.rank([["A cat.", "One cat."], ["It rains."]], metric="chrf"),
}


def test_a_table_can_be_read_like_a_list(scores: nlgauge.ScoreTable) -> None:
    assert [(score.metric, score.system) for score in scores] == [
        ("rouge1", "a"),
        ("rouge1", "b"),
        ("chrf", "a"),
        ("chrf", "b"),
    ]
    assert len(scores) == 4
    assert scores[-1] is scores.scores[3]
    assert isinstance(scores[1:3], nlgauge.ScoreTable)
    assert list(scores[1:3]) == [scores[1], scores[2]]
    assert scores[1] in scores
    assert scores.index(scores[2]) == 2
    assert next(reversed(scores)) is scores[3]
    assert repr(scores) == "<ScoreTable: 4 of rouge1, chrf, 2 segments>"
    assert repr(scores[4:]) == "<ScoreTable: 0 of no metric>"


@pytest.mark.parametrize("name", RESULTS)
def test_json_is_read_back_and_is_of_its_schema(name: str) -> None:
    result = RESULTS[name]()
    record = json.loads(json.dumps(result.to_dict()))
    assert type(result).from_dict(record).to_dict() == result.to_dict()
    jsonschema.validate(record, type(result).schema())
    jsonschema.validate(json.loads(result.render("json")), type(result).schema())


def test_pandas_has_a_row_per_segment(scores: nlgauge.ScoreTable) -> None:
    frame = scores.to_frame()
    assert list(frame) == ["system", "metric", "segment", "precision", "recall", "f1", "chrf", "best_reference"]
    assert frame["segment"].tolist() == [0, 1] * 4
    assert frame["chrf"].tolist()[4:] == [*scores[2].chrf, *scores[3].chrf]
    assert np.isnan(frame["chrf"].tolist()[:4]).all()


def test_arrow_has_null_where_a_metric_lacks_a_component(scores: nlgauge.ScoreTable) -> None:
    table = pa.table(scores)
    assert table.column("chrf").to_pylist() == [None] * 4 + [*scores[2].chrf, *scores[3].chrf]
    assert table.schema.field("best_reference").type == pa.int64()
    signatures = json.loads(table.schema.metadata[b"signatures"])
    assert signatures == [str(score.signature) for score in scores]
    assert pa.table(scores[0]).schema.metadata[b"signature"].decode() == str(scores[0].signature)


@pytest.mark.parametrize("name", RESULTS)
def test_polars_and_pandas_read_the_same(name: str) -> None:
    result = RESULTS[name]()
    frame = polars.DataFrame(result)
    expected = result.to_frame()
    assert frame.columns == list(expected)
    for column in frame:
        ours = column.fill_null(np.nan) if column.dtype.is_numeric() else column
        np.testing.assert_array_equal(ours.to_numpy(), expected[column.name].to_numpy())


def test_duckdb_reads_a_variable(scores: nlgauge.ScoreTable) -> None:
    rows = duckdb.sql("select system, avg(chrf) from scores where metric = 'chrf' group by system order by system")
    assert rows.fetchall() == [("a", pytest.approx(scores[2].mean)), ("b", pytest.approx(scores[3].mean))]
    matrix = nlgauge.matrix(SYSTEMS["a"], REFS, metric="chrf")
    best = duckdb.sql("select hypothesis, max(chrf) from matrix group by hypothesis order by hypothesis").fetchall()
    assert [value for _, value in best] == matrix.scores.max(axis=1).tolist()


def test_two_recipes_of_a_metric_are_told_apart() -> None:
    scores = nlgauge.score_systems({"a": ["a b"]}, ["a c"], metric=["chrf", "chrf:words=2"])
    assert scores.flat_columns()["metric"] == ["chrf (words:0)", "chrf (words:2)"]


def test_ranking_has_a_row_per_candidate() -> None:
    ranking = nlgauge.rank([["A cat.", "One cat.", "The cat."], ["It rains."]], metric="chrf")
    frame = ranking.to_frame()
    assert frame["rank"].tolist() == [1, 2, 3, 1]
    assert frame["text"].tolist()[0] == ranking.chosen[0]
    assert pa.table(ranking).column("utility").to_pylist()[3] is None


def test_a_missing_package_is_named(scores: nlgauge.ScoreTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"nlgauge\[cluster\]"):
        scores.__arrow_c_stream__()


def test_a_result_without_columns_says_so() -> None:
    with pytest.raises(RecipeError, match="MetricList has no flat table"):
        MetricList(()).to_frame()


def test_csv_has_the_cells_of_tsv(scores: nlgauge.ScoreTable) -> None:
    rows = [line.split("\t") for line in scores.render("tsv", segments=True).splitlines()]
    assert [line.split(",") for line in scores.render("csv", segments=True).splitlines()] == rows
    assert scores[0].render("csv").startswith("system,metric,better,precision,recall,f1,signature\na,rouge1,higher,")
