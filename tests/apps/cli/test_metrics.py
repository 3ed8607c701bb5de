"""`nlgauge list` and `nlgauge show`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.annotated_texts import text_of, write_conllu
from tests.apps.cli.conftest import Refusal, Run

import nlgauge
from nlgauge.core.registry import METRICS


def test_list_has_a_line_per_metric(run: Run) -> None:
    result = run("list")
    assert (result.status, result.err) == (0, "")
    rows = result.out.splitlines()[2:]
    assert [row.split()[0] for row in rows] == list(METRICS)
    (bary,) = [row for row in rows if row.startswith("baryscore")]
    assert bary.split()[1] == "lower"
    described = json.loads(run("list", "-f", "json").out)["metrics"]
    assert [item["name"] for item in described] == list(METRICS)
    assert described[1]["components"] == ["precision", "recall", "f1"]


@pytest.mark.parametrize("name", METRICS)
def test_show_has_every_option_the_equation_and_the_citation(run: Run, name: str) -> None:
    result = run("show", name)
    assert (result.status, result.err) == (0, "")
    metric = METRICS[name]
    for option, about in metric.options().items():
        assert f"\n{option}  {about.help}\n" in result.out
        assert about.values in result.out
    assert metric.citation.strip() in result.out
    record = json.loads(run("show", name, "-f", "json").out)
    assert [item["name"] for item in record["options"]] == list(metric.options())
    assert record["equation"] in result.out


def test_defaults_are_those_of_the_metric(run: Run) -> None:
    def default(metric: str, option: str) -> object:
        options = json.loads(run("show", metric, "-f", "json").out)["options"]
        return {item["name"]: item["default"] for item in options}[option]

    assert default("bertscore", "multiref") == "best-f"
    assert default("moverscore", "multiref") == "mean"
    assert default("moverscore", "profile") == "v1"
    assert default("baryscore", "profile") == "corrected"
    assert default("xmoverscore", "model") == "muse"


def test_equations_are_shown(run: Run) -> None:
    assert "P = sum_i idf(x_i) max_j x_i.y_j / sum_i idf(x_i)" in run("show", "bertscore").out
    assert "min_F <C, F>" in run("show", "MoverScore").out


def test_an_unknown_metric_is_refused(refused: Refusal) -> None:
    assert "did you mean 'moverscore'?" in refused(2, "show", "movescore")


@pytest.mark.parametrize("name", METRICS)
def test_equations_have_no_numbers_of_deviations(run: Run, name: str) -> None:
    equation = json.loads(run("show", name, "-f", "json").out)["equation"]
    assert not re.search(r"\bD\d", equation)
    assert not re.search(r" [,.;)]\s|\(\)| $", equation, flags=re.MULTILINE), "no gap is left"
    assert max(map(len, equation.splitlines())) <= 120


@pytest.mark.parametrize("name", ["ds-focus", "ds-sent"])
def test_profile_released_is_shown_to_read_texts_as_given(run: Run, tmp_path: Path, name: str) -> None:
    # The annotations are found by the characters of the text, so "Cats" is not found in lower case.
    short = "Cats=cat:N sat:V | The cat:N ran:V"
    options = f"annotator={write_conllu(tmp_path / 'parses.conllu', short)},sentences=annotator"
    nlgauge.score([text_of(short)], [text_of(short)], metric=f"{name}:profile=released,{options}")
    with pytest.raises(nlgauge.errors.InputError, match="does not contain the document 'cats sat"):
        nlgauge.score([text_of(short)], [text_of(short)], metric=f"{name}:profile=released,{options},lowercase=yes")
    shown = run("show", name).out
    assert "released   lower case" not in shown
    assert "All profiles tag and encode the texts as given" in shown
