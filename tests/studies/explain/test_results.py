"""Results of explanations, factors, reproductions and data checks: to JSON and back, under their schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.extras import LazyModule

from nlgauge.core.result import FORMATS, Result
from nlgauge.data.cards import DataChecks, check
from nlgauge.errors import InputError
from nlgauge.studies.explain.corpus import CorpusSummary, ErrorAgreements, GroupShare, evaluate_errors
from nlgauge.studies.explain.pairs import explain_pair, explain_pairs
from nlgauge.studies.factors.surrogate import FactorStudy, fit_surrogates
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import reproduce

jsonschema = LazyModule("jsonschema")

TEXTS = ["A cat sat.", "A dog ran."], [["The cat sat.", "Cats sat."], ["The dog ran.", "Dogs ran."]]


def _study() -> FactorStudy:
    return fit_surrogates({"m": [1.0, 2.0, 4.0, 3.0]}, {"LEX": [1.0, 2.0, 3.0, 4.0]}, data="made")


def _summary() -> CorpusSummary:
    share = GroupShare("NOUN", 3, 1.0, 1.0, None, None, 0.5)
    return CorpusSummary(
        "bertscore", "precision", "linear", "hypothesis", 1, 0, (share,), (share,), "made", "bertscore|layer:4", 0.95
    )


def _agreements() -> ErrorAgreements:
    result = evaluate_errors([[1, 0], [0, 1, 0]], [[0.9, 0.1], [0.3, 0.2, 0.1]])
    return ErrorAgreements((replace(result, scores="made", langpair="de-en"),))


RESULTS: dict[str, Callable[[Path], Result]] = {
    "aligned": lambda _: explain_pair("A cat sat.", TEXTS[1][0], metric="bertscore", shapley=True, beside=True),
    "not aligned": lambda _: explain_pair("A cat sat.", TEXTS[1][0], metric="bleu"),
    "pairs": lambda _: explain_pairs(*TEXTS, metric="moverscore"),
    "summary": lambda _: _summary(),
    "errors": lambda _: _agreements(),
    "errors of one metric": lambda _: _agreements().results[0],
    "factors": lambda _: _study(),
    "surrogate": lambda _: _study().surrogates[0],
    "names": lambda _: reproduce(PAPER_TABLES["repro-table10"], model="none"),
    "rankings": lambda _: reproduce(PAPER_TABLES["bt-figure2"]),
    "check": lambda folder: DataChecks((check("paws", folder),)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_json_and_back(tmp_path: Path, name: str) -> None:
    result = RESULTS[name](tmp_path)
    record = json.loads(result.render("json"))
    jsonschema.validate(record, result.schema())
    again = type(result).from_dict(record)
    assert again.to_dict() == result.to_dict()
    for form in FORMATS:
        assert again.render(form) == result.render(form)
    assert again._repr_html_() == result._repr_html_()


def test_explanations_are_a_sequence() -> None:
    result = explain_pairs(*TEXTS, metric="chrf")
    assert len(result) == 2
    assert [item.hypothesis.text for item in result] == TEXTS[0]
    assert result[1] in result
    assert [item.hypothesis.text for item in result[1:]] == TEXTS[0][1:]


def test_figures_of_what_json_leaves_out_are_refused() -> None:
    study = FactorStudy.from_dict(_study().to_dict())
    with pytest.raises(InputError, match="contains no scores of pairs; compute it again"):
        study.fit_figure()
    table = reproduce(PAPER_TABLES["bt-figure2"])
    with pytest.raises(InputError, match="reproduce it again to draw one"):
        type(table).from_dict(table.to_dict()).figure()
