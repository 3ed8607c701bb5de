"""How far metrics fall under perturbations, against numbers computed one by one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.studies.stress.test_triples import Tagger

import nlgauge
from nlgauge.core.signature import Signature
from nlgauge.errors import DataWarning, InputError, RecipeError
from nlgauge.studies.stress.perturbations import PERTURBATIONS, perturb
from nlgauge.studies.stress.suite import StressTest, stress

TEXTS = ["The ferry was late because of the storm.", "It was hot.", "Nobody came."]
OTHERS = ["Because of the storm the ferry came late.", "The day was warm.", "No one came."]


def test_a_fall_is_the_score_before_minus_after() -> None:
    result = stress(TEXTS, metric=["chrf"], perturbations=["negation"], paraphrases=OTHERS)
    (perturbed,) = perturb(TEXTS, [PERTURBATIONS["negation"]])
    assert perturbed.changed == (True, True, False)
    after = nlgauge.score(perturbed.texts, TEXTS, metric="chrf").segments["chrf"]
    paraphrase = nlgauge.score(OTHERS, TEXTS, metric="chrf").segments["chrf"]
    unrelated = nlgauge.score([*TEXTS[1:], TEXTS[0]], TEXTS, metric="chrf").segments["chrf"]
    (metric,) = result.metrics
    (fall,) = metric.perturbations
    assert fall.changed == 2
    assert fall.fall == pytest.approx(float(np.mean(100 - after[:2])), abs=1e-9)
    assert fall.way_to_unrelated == pytest.approx(fall.fall / (100 - float(unrelated.mean())), abs=1e-9)
    assert fall.below_paraphrase == float(np.mean(after[:2] < paraphrase[:2]))
    assert metric.paraphrase is not None
    assert metric.paraphrase.fall == pytest.approx(100 - float(paraphrase.mean()), abs=1e-9)
    assert result.unchanged == 1


def test_references_take_the_place_of_the_texts() -> None:
    result = stress(TEXTS, OTHERS, "chrf", perturbations=["casing"])
    before = nlgauge.score(TEXTS, OTHERS, metric="chrf").segments["chrf"]
    after = nlgauge.score([text.lower() for text in TEXTS], OTHERS, metric="chrf").segments["chrf"]
    (fall,) = result.metrics[0].perturbations
    assert fall.fall == pytest.approx(float((before - after).mean()), abs=1e-9)
    assert result.metrics[0].original == pytest.approx(float(before.mean()), abs=1e-9)
    assert "against:references" in str(result.signature)


def test_a_perturbation_that_changes_nothing_has_no_fall() -> None:
    result = stress(["ok", "no"], metric=["chrf"], perturbations=["number", "shuffle"])
    assert [
        (fall.changed, fall.fall, fall.way_to_unrelated, fall.interval) for fall in result.metrics[0].perturbations
    ] == [(0, None, None, None)] * 2
    assert result.unchanged == 2
    assert "no perturbation could change 2 of them" in " ".join(result.render().split())


def test_one_text_has_neither_interval_nor_an_unrelated_one() -> None:
    result = stress(["It was hot."], metric=["chrf"], perturbations=["negation"], paraphrases=["The day was warm."])
    (fall,) = result.metrics[0].perturbations
    assert (fall.changed, fall.interval, fall.way_to_unrelated, fall.below_paraphrase) == (1, None, None, None)
    assert result.metrics[0].unrelated is None
    assert "negation" in result.render("tsv")


def test_signature_contains_all_settings() -> None:
    first = stress(TEXTS, metric=["chrf"], perturbations=["typo"]).signature
    for other in (
        stress(TEXTS, metric=["chrf"], perturbations=["typo"], seed=1),
        stress(TEXTS[::-1], metric=["chrf"], perturbations=["typo"]),
        stress(TEXTS, metric=["chrf"], perturbations=["typo"], paraphrases=OTHERS),
        stress(TEXTS, metric=["chrf"], perturbations=["casing"]),
        stress(TEXTS, metric=["chrf"], perturbations=["typo"], annotator=Tagger()),
    ):
        assert other.signature != first


def test_the_signature_is_read_back_whatever_the_texts_are_called() -> None:
    result = stress(TEXTS, metric=["chrf"], perturbations=["typo"], name="a|b 100%.txt")
    assert Signature.parse(str(result.signature)) == result.signature
    assert result.signature.recipe["texts"].startswith("a|b 100%.txt[3,")
    assert (result.against, result.level) == ("the texts themselves", 0.95)
    plain = str(stress(TEXTS, TEXTS, "chrf", perturbations=["typo"], name="a.txt").signature)
    assert plain.startswith("stress|texts:a.txt[3,")
    assert plain.endswith(
        "|against:references|perturbations:typo|seed:12345|lang:en|annotator:none|paraphrases:none"
        "|interval:0.95|resamples:1000"
    )


def test_options_are_checked() -> None:
    with pytest.raises(
        RecipeError, match=r"perturbations does not accept 'typos'; choose from negation, .*did you mean 'typo'"
    ):
        stress(TEXTS, ["chrf"], perturbations=["typos"])
    with pytest.raises(RecipeError, match="level must be a number above 0, below 1, got 1"):
        stress(TEXTS, ["chrf"], level=1)


def test_an_annotator_finds_nouns() -> None:
    texts = ["the cat saw the dog", "a man wrote a letter"]
    result = stress(texts, metric=["chrf"], perturbations=["noun-order"], annotator=Tagger())
    assert result.metrics[0].perturbations[0].changed == 2


def test_a_text_that_the_annotator_refuses_keeps_its_nouns_and_is_counted() -> None:
    with pytest.warns(
        DataWarning, match=r"1 of 3 texts \(number 2\) could not be annotated; their nouns and names are not changed"
    ):
        result = stress(
            ["the cat saw the dog", "unknown", "a man wrote a letter"],
            metric="chrf",
            perturbations=["noun-order", "casing"],
            annotator=Tagger(),
        )
    assert [fall.changed for fall in result.metrics[0].perturbations] == [2, 3]


def test_paraphrases_must_be_as_many_as_texts() -> None:
    with pytest.raises(InputError, match="each text needs a paraphrase, got 3 texts and 1 paraphrases"):
        stress(TEXTS, metric=["chrf"], paraphrases=["a"])


def test_one_text_for_a_list_and_what_is_no_text_are_refused() -> None:
    with pytest.raises(InputError, match="texts: expected a list of strings"):
        stress("It was hot.", metric=["chrf"])
    with pytest.raises(InputError, match=r"texts\[1\]: expected a string, got None"):
        stress(["It was hot.", None], metric=["chrf"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="paraphrases: expected a list of strings"):
        stress(["It was hot."], metric=["chrf"], paraphrases="x")


@pytest.fixture(scope="module")
def test_of_all() -> StressTest:
    return stress(TEXTS, metric=["chrf", "rouge1"], paraphrases=OTHERS)


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["text", "tsv", "latex", "markdown", "json"])
def test_every_format(test_of_all: StressTest, form: str) -> None:
    result = test_of_all.render(form)
    assert "negation" in result
    if form == "json":
        assert json.loads(result)["metrics"][0]["perturbations"][0]["changed"] == 2


def test_score_drops_are_drawn(test_of_all: StressTest, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    test_of_all.save_figure(tmp_path / "s.svg")
    assert (tmp_path / "s.svg").read_text(encoding="utf-8").startswith("<?xml")
