"""DiscoScore: both measures in one result, and what they share."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.apps.cli import main
from nlgauge.core.score import join_notes
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.sensitivity.measure import systems_table

HYPS = [
    "The ferry was cancelled because of the storm. Passengers waited for the ferry all night.",
    "A dog barked at the postman. The postman ran. The dog was happy.",
    "Voters stayed at home. Turnout was low.",
]
REFS = [
    "A storm stopped the ferry. The ferry left in the morning, and passengers slept.",
    "The postman was chased by a dog.",
    "The weather was fine.",
]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    warnings.simplefilter("ignore", nlgauge.errors.NoFocusWarning)


@pytest.mark.parametrize("options", ["", ",profile=corrected", ",focus=entity,measure=f,adjacency=weighted,layer=3"])
def test_components_are_the_two_metrics(options: str) -> None:
    """D6.13: on one encoder, which the paper has two of."""
    recipes = [f"{name}{options.replace(',', ':', 1)}" for name in ("discoscore", "ds-sent", "ds-focus")]
    # An option of the other measure is none of this one.
    recipes = [recipes[0], recipes[1].replace(",measure=f", ""), recipes[2].replace(",adjacency=weighted", "")]
    both, sent, focus = nlgauge.score_systems({"": HYPS}, REFS, metric=recipes)
    assert np.array_equal(both.ds_sent, sent.score)
    assert np.array_equal(both.ds_focus, focus.segments[focus.main])
    assert both.notes == join_notes([sent.notes, focus.notes])


def test_each_component_has_its_orientation() -> None:
    score = nlgauge.score(HYPS, REFS, metric="discoscore")
    assert score.main == "ds_sent"
    assert score.higher_is_better
    assert score.distances == ("ds_focus",)
    assert score.to_dict()["distances"] == ["ds_focus"]
    table = systems_table({"a": HYPS, "b": REFS}, REFS)
    (scores,) = score_judgements(table, ["discoscore"]).metrics
    assert scores.component("ds_sent").higher_is_better
    distance = scores.component("ds_focus")
    assert not distance.higher_is_better
    assert np.array_equal(distance.oriented, -distance.values), "a distance is turned round, never made absolute"


def test_outputs_show_orientation_of_each_component(capsys: pytest.CaptureFixture[str]) -> None:
    score = nlgauge.score(HYPS, REFS, metric="discoscore")
    assert score.render().startswith("discoscore (lower is better: ds_focus)")
    header, row = score.render("tsv").splitlines()
    assert dict(zip(header.split("\t"), row.split("\t"), strict=True))["better"] == "higher, lower: ds_focus"
    assert main(["show", "discoscore"]) == 0
    assert "(reported: ds_sent); lower is better: ds_focus" in capsys.readouterr().out
    assert main(["show", "ds-focus"]) == 0
    assert "\nlower is better; components: precision, recall, f (reported: precision)\n" in capsys.readouterr().out


def test_an_explanation_says_which_component_words_contribute_to() -> None:
    explanation = nlgauge.explain_pair(HYPS[0], REFS[0], metric="discoscore")
    assert "contributions are to ds_focus, where lower is better" in explanation.notes
    assert sum(explanation.attribution(of="cost").values) == pytest.approx(explanation.scores["ds_focus"])


def test_the_released_thresholds_differ() -> None:
    """D6.5"""
    recipe = nlgauge.metrics.DiscoScore(focus="entity")
    assert (recipe.foci.threshold, recipe.sent.threshold) == (0.8, 0.5)
    chosen = nlgauge.metrics.DiscoScore(focus="entity", threshold=0.7, sent_threshold=0.6)
    assert (chosen.foci.threshold, chosen.sent.threshold) == (0.7, 0.6)


def test_a_signature_leads_back_to_the_recipe() -> None:
    for recipe in (
        "discoscore",
        "discoscore:focus=entity,sent_threshold=0.6,min_mentions=2",
        "discoscore:start_token=left-out",
    ):
        first = nlgauge.score(HYPS, REFS, metric=recipe)
        again = nlgauge.score(HYPS, REFS, metric=str(first.signature))
        assert again.signature == first.signature
        assert np.array_equal(again.ds_focus, first.ds_focus)
    assert first.signature.recipe["profile"] == "released*"


RECIPES = [
    name + ":" + ",".join([f"profile={profile}", *more])
    for profile in ("released", "paper", "corrected")
    for name, more in (
        ("ds-focus", []),
        ("ds-focus", ["focus=entity", "threshold=0.3"]),
        ("ds-focus", ["min_mentions=2", "measure=f"]),
        ("ds-sent", []),
        ("ds-sent", ["focus=entity", "threshold=0.3", "adjacency=weighted"]),
        ("ds-sent", ["match=optimal"]),
    )
]


def test_bits_do_not_depend_on_other_recipes() -> None:
    together = nlgauge.score_systems({"a": HYPS, "b": REFS}, REFS, metric=RECIPES)
    alone = [
        score for recipe in RECIPES for score in nlgauge.score_systems({"a": HYPS, "b": REFS}, REFS, metric=[recipe])
    ]
    for first, other in zip(together, alone, strict=True):
        assert first.signature == other.signature
        assert all(np.array_equal(values, other.segments[name]) for name, values in first.segments.items())


@pytest.mark.heavy
@pytest.mark.parametrize("contract", nlgauge.testing.CONTRACTS)
@pytest.mark.parametrize("recipe", ["discoscore", "discoscore:profile=corrected,focus=entity,threshold=0.3"])
def test_discoscore_keeps_contracts(contract: str, recipe: str) -> None:
    name, _, options = recipe.partition(":")
    with nlgauge.testing.hash_encoder() as model:
        given = dict(pair.split("=") for pair in options.split(",") if pair)
        made = nlgauge.metrics.DiscoScore.from_options(given | {"model": model})
        assert made.name == name
        nlgauge.testing.CONTRACTS[contract](made)


@pytest.mark.heavy
@pytest.mark.parametrize("contract", nlgauge.testing.CONTRACTS)
@pytest.mark.parametrize("profile", ["released", "paper", "corrected"])
def test_ds_focus_keeps_contracts(contract: str, profile: str) -> None:
    with nlgauge.testing.hash_encoder() as model:
        nlgauge.testing.CONTRACTS[contract](nlgauge.metrics.DSFocus(model=model, profile=profile))


class TestFocusFrequency:
    """DS-Focus of an encoder that gives every mention the same vector."""

    def test_focus_frequency_computed_by_hand(self) -> None:
        # As released, a word with a full stop behind it is lost. So the first has the ferry twice against once, and
        # no other focus; the second has the postman once against once, and two dogs against none.
        score = nlgauge.score(HYPS, REFS, metric="focus-frequency")
        assert score.precision.tolist() == [1, 0, 0]
        # By lemma: ferry 2 and 2, storm and passenger once each, and the night at the origin; also the morning.
        corrected = nlgauge.score(HYPS, REFS, metric="focus-frequency:profile=corrected")
        assert corrected.precision[0] == pytest.approx((0 + 0 + 0 + 1 + 1) / 5)
        # dog 2 and 1, postman 2 and 1.
        assert corrected.precision[1] == pytest.approx((1 + 1) / 2)
        assert score.notes.get("no_focus", ()) == (2,)
        assert not score.higher_is_better

    def test_focus_frequency_is_ds_focus_with_constant_vectors(self, tmp_path: Path) -> None:
        words = {word.strip(".,").lower() for text in (*HYPS, *REFS) for word in text.split()}
        model = tmp_path / "equal.txt"
        model.write_text("".join(f"{word} 3 4\n" for word in sorted(words)), encoding="utf-8")
        for profile in ("released", "corrected"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", nlgauge.errors.UnknownWordWarning)
                focus = nlgauge.score(HYPS, REFS, metric=f"ds-focus:profile={profile}", model=str(model))
            count = nlgauge.score(HYPS, REFS, metric=f"focus-frequency:profile={profile}")
            for name in ("precision", "recall", "f"):
                np.testing.assert_allclose(count.segments[name], focus.segments[name], atol=1e-6)
