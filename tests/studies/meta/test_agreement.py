"""Tables of agreement: what they rest on, what is marked, and why nothing is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from nlgauge.core.signature import Signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.studies.meta.evaluation import Agreements, AgreementTable, evaluate
from nlgauge.studies.meta.questions import Significance
from nlgauge.studies.meta.row_scores import ScoredJudgements, given_rows


def found(segments: int, systems: int = 1, **question: Any) -> AgreementTable:
    rng = np.random.default_rng(3)
    count = segments * systems
    human = rng.random(count)
    table = JudgementTable(
        name="made",
        segment=tuple(str(index % segments) for index in range(count)),
        system=tuple(f"s{index // segments}" for index in range(count)),
        langpair=("en",) * count,
        hypothesis=("h",) * count,
        references=(("r",),) * count,
        human={"people": human},
        default_criterion="people",
    )
    noise = rng.random(count)
    metrics = (
        given_rows(table, "close", human + 0.01 * noise, signature=Signature("close", {"layer": "1"})),
        given_rows(table, "noise", noise),
    )
    question.setdefault("significance", Significance(resamples=100))
    return evaluate(ScoredJudgements(table, metrics), **question)


def test_the_last_row_counts_the_judgements() -> None:
    result = found(12)
    assert result.counts == {"en": 12}
    text = result.render()
    assert any(line.split() == ["n", "(judgements)", "12"] for line in text.splitlines())
    assert any(line.split() == ["n", "(systems)", "3"] for line in found(4, 3, level="system").render().splitlines())


@pytest.mark.parametrize(
    ("question", "few"),
    [
        ({"segments": 2}, "2 judged outputs"),
        ({"segments": 9}, "9 judged outputs"),
        ({"segments": 12, "systems": 2, "level": "system"}, "2 systems"),
        ({"segments": 3, "systems": 12, "level": "topic"}, "3 topics"),
        ({"segments": 1, "systems": 5, "level": "topic", "agreement": "acc-eq"}, "1 topic"),
    ],
)
def test_few_items_have_a_note_instead_of_star_and_interval(question: dict[str, Any], few: str) -> None:
    result = found(**question)
    for row in result.cells.values():
        cell = row["en"]
        assert (cell.unbeaten, cell.rank) == (False, None)
        assert np.isnan([cell.low, cell.high]).all()
    assert f"en: {few}, too few for an interval or significance test (minimum: 10)" in result.notes
    text = result.render()
    assert "*" not in text
    assert f"{few}, too few" in text
    assert json.loads(Agreements((result,)).render("json"))["tables"][0]["notes"] == list(result.notes)


def test_ten_items_are_tested() -> None:
    result = found(10)
    assert result.cells["close"]["en"].unbeaten
    assert np.isfinite(result.cells["close"]["en"].low)
    assert not result.notes


def test_the_note_explains_the_mark_that_is_printed() -> None:
    result = found(20)
    assert "\n* no other metric is significantly better" in result.render()
    latex = result.render("latex")
    assert r"\textbf{" in latex
    assert "\n% bold: no other metric is significantly better" in latex
    assert "*" not in latex


def test_table_without_marks_has_the_reason() -> None:
    untested = found(12, 3, level="system", agreement="spa")
    assert "no metric is marked: there is no significance test for soft pairwise" in untested.render()
    unasked = found(12, significance=Significance(test="none"))
    assert "no metric is marked: significance testing is off (test=none)" in unasked.render()


def test_a_notebook_shows_the_table_in_html_and_a_shell_one_line() -> None:
    result = found(20)
    assert repr(result).startswith("<AgreementTable made: pearson with people, segment level: close 1.000, noise")
    assert "\n" not in repr(result)
    shown = result._repr_html_()
    assert "<td>close</td>" in shown
    assert "* no other metric is significantly better" in shown


@pytest.mark.parametrize("output_format", ["text", "latex"])
def test_signatures_stand_once_below_the_tables_of_a_call(output_format: str) -> None:
    results = Agreements((found(20), found(20, agreement="spearman")))
    lines = [line for line in results.render(output_format).splitlines() if "signature of" in line]
    assert lines
    assert len(lines) == len(set(lines))
