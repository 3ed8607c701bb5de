"""Results of comparisons as JSON: read back they are the same, and their schema describes them."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from tests.extras import LazyModule

import nlgauge
from nlgauge.core.result import Result
from nlgauge.errors import InputError
from nlgauge.studies.compare import (
    SystemRuns,
    Verdict,
    compare,
    compare_runs,
    compare_systems,
    compare_verdicts,
    gate,
)
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.report import ComparisonReport

jsonschema = LazyModule("jsonschema")
polars = LazyModule("polars")

VALUES = [float(index % 7) for index in range(20)]
SCORES = {"old": VALUES, "new": [value + index % 3 for index, value in enumerate(VALUES)], "same": VALUES}
TEXTS = {"a": ["The cat sat.", "It rained."], "b": ["A cat sits.", "It is rain."]}
REFERENCES = ["The cat sat.", "It rained."]

compared = compare_systems({"chrf": SCORES, "bleu": SCORES}, ratings=True, permutations=200, resamples=100)
# Nobody judges b against c: a share that is not defined.
judged = compare_verdicts(
    [Verdict(str(index), "a", "bc"[index % 2], "first") for index in range(12)], name="j|scores:01"
)
runs = compare_runs(
    [
        SystemRuns("a", np.array([0.7, 0.8, 0.9, 0.75]), {"GPU hours": 12, "parameters": "110M"}),
        SystemRuns("b", np.array([0.1, 0.2])),
    ]
)
passed = gate(compared, base="old", new="new")
scored = compare(TEXTS, REFERENCES, ["chrf", "rouge1"], seed=3, permutations=100)

RESULTS: dict[str, Callable[[], Result]] = {
    "comparison": lambda: compared,
    "one segment": lambda: compare_systems({"chrf": {"a": [1.0], "b": [2.0]}}),
    "verdicts": lambda: judged,
    "runs": lambda: runs,
    "gate": lambda: passed,
    "scored": lambda: scored,
    "report": lambda: ComparisonReport(
        compared.metrics,
        compared.disagreements,
        compared.settings,
        compared.signature,
        gate=passed,
        budgets={"old": {"cost": 1.5, "size": "big"}},
        verdicts=(judged,),
        runs=(runs,),
    ),
    "verdicts alone": lambda: ComparisonReport((), (), CompareSettings(), "", verdicts=(judged,)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_json_is_read_back_and_described_by_its_schema(name: str) -> None:
    result = RESULTS[name]()
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    again = type(result).from_dict(record)
    assert again.to_dict() == result.to_dict()
    assert again.render() == result.render()
    schema = result.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(result.render("json")), schema)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_one_table_for_programs(name: str) -> None:
    result = RESULTS[name]()
    for form in ("tsv", "csv", *result.further):
        if form == "budgets" and name in {"runs", "report"}:  # compared without `best_of`
            with pytest.raises(InputError, match="equal budget"):
                result.tables(form)
            continue
        (table,) = result.tables(form)
        assert len(result.render(form).splitlines()) == 1 + len(table.rows)


def test_scoring_and_comparing_in_one_call_gives_the_same_numbers() -> None:
    scores = nlgauge.score_systems(TEXTS, REFERENCES, metric=["chrf", "rouge1"])
    expected = compare_systems(scores, seed=3, permutations=100)
    assert scored.comparison.to_dict() == expected.to_dict()
    assert [score.to_dict() for score in scored.scores] == [score.to_dict() for score in scores]
    assert scored.render() == expected.render()
    assert scored.render("pairs") == expected.render("pairs")
    assert len(scored.render("segments").splitlines()) == 1 + 2 * 2 * 2
    assert scored.verdicts[-1] == "Both metrics rank a first."
    with pytest.raises(nlgauge.errors.RecipeError, match="unknown keyword 'sed' for chrf"):
        compare(TEXTS, REFERENCES, "chrf", sed=3)


def test_pandas_and_polars_read_a_comparison() -> None:
    texts = {"a": ["The cat sat.", "It rained."] * 3, "b": ["A cat sits.", "It is rain."] * 3}
    result = nlgauge.compare(texts, ["The cat sat.", "It rained."] * 3, "chrf")
    frame = result.to_frame()
    assert list(frame["system"]) == ["a", "b"]
    assert list(frame["score"]) == [row.score for row in result.comparison.metrics[0].systems]
    (first, _) = result.comparison.metrics[0].systems
    assert first.interval is not None
    assert frame["low"][0] == first.interval.low
    assert polars.DataFrame(result.comparison).columns == list(frame.columns)
