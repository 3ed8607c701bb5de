"""Results of studies: JSON reads back to the same result, is what the schema describes, and every format has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.annotated_texts import annotated, conllu
from tests.learned_files import rated

import nlgauge
from nlgauge.core.result import FORMATS, Result
from nlgauge.core.signature import Signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.studies.learned import learn_metric
from nlgauge.studies.meta.between import MetricRelations, relate_metrics
from nlgauge.studies.meta.evaluation import Agreements, evaluate
from nlgauge.studies.meta.raters import rater_agreement
from nlgauge.studies.meta.row_scores import ScoredJudgements, given_rows
from nlgauge.studies.meta.score_judgements import tune_layer
from nlgauge.studies.sensitivity import sensitivity
from nlgauge.studies.stress import Triple, Triples, score_triples, stress

TEXTS = ["The ferry was late because of the storm.", "It was hot.", "Nobody came."]
OTHERS = ["Because of the storm the ferry came late.", "The day was warm.", "No one came."]
DOCUMENTS = ["cat:N dog:N . | cat:N .", "sun:N . | sea:N .", "it rain:V ."]


def table() -> JudgementTable:
    return JudgementTable(
        name="made",
        segment=("0", "1", "2"),
        system=("a",) * 3,
        langpair=("de-en",) * 3,
        hypothesis=tuple(OTHERS),
        references=tuple((text,) for text in TEXTS),
        human={"people": np.array([3.0, 1.0, 2.0])},
        default_criterion="people",
    )


def agreements(_: Path) -> Agreements:
    noise = np.random.default_rng(1).normal(size=3)
    scores = (
        given_rows(table(), "m", noise, signature=Signature("m", {"layer": "1"})),
        given_rows(table(), "constant", np.ones(3)),
    )
    scored = ScoredJudgements(table(), scores)
    return Agreements(tuple(evaluate(scored, agreement=name, undefined="nan") for name in ("pearson", "kendall")))


def relations(_: Path) -> MetricRelations:
    scores = (given_rows(table(), "m", np.array([0.1, 0.3, 0.2])), given_rows(table(), "constant", np.ones(3)))
    return relate_metrics(ScoredJudgements(table(), scores))


def documents(folder: Path) -> Result:
    (folder / "parses.conllu").write_text(conllu(*DOCUMENTS), encoding="utf-8")
    texts = [annotated(document).text for document in DOCUMENTS]
    return nlgauge.discourse(
        {"a": texts, "b": texts[::-1]}, texts, annotator=str(folder / "parses.conllu"), sentences="annotator"
    )


def learned(folder: Path) -> Result:
    return learn_metric(rated(folder), ["eed", "character"])


RESULTS: dict[str, Callable[[Path], Result]] = {
    "stress": lambda _: stress(TEXTS, metric=["chrf", "rouge1"], paraphrases=OTHERS),
    "stress of one text": lambda _: stress(TEXTS[:1], metric=["chrf"], perturbations=["typo", "number"]),
    "triples": lambda _: score_triples(
        Triples("a|b", (Triple("a cat sat", "a kitten sat", "sat cat a"),) * 3), ["chrf"]
    ),
    "discourse": documents,
    "learned": learned,
    "agreements": agreements,
    "agreement": lambda folder: agreements(folder).agreements[0],
    "relations": relations,
    "raters": lambda _: rater_agreement({"a": [1, 2, None], "b": [1, 1, 2], "c": [2, 2, 2]}, resamples=100),
    "layers": lambda _: tune_layer(table()),
    "sensitivity": lambda _: sensitivity({"a": TEXTS, "b": OTHERS}, TEXTS, "moverscore", preset="punctuation"),
}


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NlgaugeWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_json_reads_back_and_fits_the_schema(name: str, tmp_path: Path) -> None:
    result = RESULTS[name](tmp_path)
    record = json.loads(result.render("json"))
    read = type(result).from_dict(record)
    assert read.to_dict() == result.to_dict()
    for form in FORMATS:
        assert read.render(form) == result.render(form)
    check_schema(type(result).schema(), record)


def check_schema(schema: dict[str, Any], record: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(schema).validate(record)


def test_json_of_several_agreements_has_a_list_of_tables(tmp_path: Path) -> None:
    record = json.loads(agreements(tmp_path).render("json"))
    assert list(record) == ["nlgauge", "format", "tables"]
    assert [item["agreement"] for item in record["tables"]] == ["pearson", "kendall"]
    assert record["tables"][0]["metrics"][1]["by_langpair"]["de-en"]["value"] is None
