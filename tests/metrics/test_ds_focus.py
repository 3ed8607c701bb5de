"""DS-Focus: documents computed by hand, every deviation (D6.1 to D6.4, D6.12), and unusual texts."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.annotated_texts import text_of, write_conllu, write_vectors

import nlgauge
from nlgauge.encoders.load import load_encoder

#: Lengths 5, 13 and 2; in unit length (.6, .8), (12/13, 5/13) and (0, 1).
VECTORS = {"cat": [3.0, 4.0], "cats": [12.0, 5.0], "mat": [0.0, 2.0], "dog": [1.0, 0.0], "saw": [1.0, 1.0]}

#: Two nouns: three cats and a mat; the second cat is plural.
HYPOTHESIS = "cat:N saw:V cats=cat:N | mat:N saw:V cat:N"
#: One cat, one mat, a dog.
REFERENCE = "cat:N saw:V mat:N | dog:N saw:V"
DOGS = "dog:N saw:V | dog:N saw:V"
NO_NOUN = "saw:V saw:V"


@pytest.fixture
def hand_made(tmp_path: Path) -> dict[str, str]:
    """Options that read the documents above with the vectors above."""
    documents = HYPOTHESIS, REFERENCE, DOGS, NO_NOUN
    return {
        "model": write_vectors(tmp_path / "vectors.txt", VECTORS),
        "annotator": write_conllu(tmp_path / "documents.conllu", *documents),
        "sentences": "annotator",
    }


def values(options: dict[str, Any], hypothesis: str = HYPOTHESIS, **more: Any) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NoFocusWarning)
        score = nlgauge.score([text_of(hypothesis)], [text_of(REFERENCE)], metric="ds-focus", **options, **more)
    return {name: float(value[0]) for name, value in score.segments.items()}


def test_released_profile_computed_by_hand(hand_made: dict[str, str]) -> None:
    # "cats" is lost, so cat is mentioned twice: F_cat - F_cat = (.6, .8), squared 1; F_mat - F_mat = 0.
    # 2 foci in the hypothesis, 3 in the reference.
    assert values(hand_made) == pytest.approx({"precision": 1 / 2, "recall": 1 / 3, "f": (1 / 2 + 1 / 3) / 2})


def test_paper_profile_computed_by_hand(hand_made: dict[str, str]) -> None:
    # F_cat = (3, 4) + (12, 5) + (3, 4) against (3, 4): the difference is (15, 9); mat is the same.
    distance = np.sqrt(15**2 + 9**2)
    actual = values(hand_made, profile="paper")
    assert actual == pytest.approx({"precision": distance / 2, "recall": distance / 3, "f": distance * 5 / 12})


def test_corrected_profile_computed_by_hand(hand_made: dict[str, str]) -> None:
    # Unit vectors: the difference is (.6 + 12/13, .8 + 5/13). The dog, which the hypothesis lacks, is 1 from the
    # origin. Three foci in all.
    distance = np.hypot(0.6 + 12 / 13, 0.8 + 5 / 13)
    expected = (distance + 0 + 1) / 3
    actual = values(hand_made, profile="corrected")
    assert actual == pytest.approx({"precision": expected, "recall": expected, "f": expected})


def test_norm_or_squared_norm(hand_made: dict[str, str]) -> None:
    """D6.1: three mentions against one differ by twice the vector, 2 or squared 4."""
    options = {"mentions": "lemma", "lengths": "unit"} | hand_made
    three = values(options, "cat:N saw:V cats=cat:N | mat:N saw:V cat:N", distance="norm")
    squared = values(options, "cat:N saw:V cats=cat:N | mat:N saw:V cat:N")
    assert 2 * squared["precision"] == pytest.approx((2 * three["precision"]) ** 2)


def test_the_layer_at_two_thirds_and_the_last_piece(tmp_path: Path) -> None:
    """D6.2 and D6.3: the vector of a word is its last piece's, of a model that looks at all tokens."""
    texts = ["the antidisestablishmentarian slept", "an antidisestablishmentarian ran"]
    shorts = [text.replace("arian ", "arian:N ") for text in texts]
    annotator = write_conllu(tmp_path / "two.conllu", *shorts)
    encoder = load_encoder("minilm")
    vectors = []
    for text in texts:
        (tokens,) = encoder.tokenizer.encode([text])
        (layer,) = encoder.encode(tokens.ids[None].astype(np.int64), (4,))  # 4 of 6 layers
        word = np.flatnonzero(tokens.words == 1)
        assert len(word) > 3, "the word is in pieces"
        vectors.append([row / np.linalg.norm(row) for row in (layer[0, word[-1]], layer[0, word].mean(axis=0))])
    score = nlgauge.score(texts[:1], texts[1:], metric="ds-focus", annotator=annotator, sentences="annotator")
    assert score.signature.recipe["layer"] == "4"
    last, mean = (np.sum((first - other) ** 2) for first, other in zip(*vectors, strict=True))
    assert score.precision[0] == pytest.approx(last, abs=1e-6)
    options = {"annotator": annotator, "sentences": "annotator", "subwords": "average"}
    averaged = nlgauge.score(texts[:1], texts[1:], metric="ds-focus", **options)
    assert averaged.precision[0] == pytest.approx(mean, abs=1e-6)
    assert averaged.signature.recipe["profile"] == "released*"


def test_layer_eight_of_twelve() -> None:
    with nlgauge.testing.hash_encoder(layers=12) as model:
        score = nlgauge.score(["the cat sat"], ["a cat ran"], metric="ds-focus", model=model)
    assert score.signature.recipe["layer"] == "8"
    with (
        nlgauge.testing.hash_encoder() as model,
        pytest.raises(nlgauge.errors.RecipeError, match="layer must be 0 to 2"),
    ):
        nlgauge.score(["the cat sat"], ["a cat ran"], metric="ds-focus", model=model, layer=3)


def test_no_common_focus_is_best_in_released_and_worst_in_corrected(hand_made: dict[str, str]) -> None:
    """D6.4: and it is counted, whatever it gives."""
    same, less, none = REFERENCE, HYPOTHESIS, NO_NOUN
    released = [values(hand_made, item)["precision"] for item in (same, less, none)]
    assert released[0] == released[2] == 0 < released[1]
    corrected = [values(hand_made, item, profile="corrected")["precision"] for item in (same, less, none)]
    assert corrected[0] == 0 < corrected[1] < corrected[2]
    assert corrected[2] == pytest.approx(1), "three foci, each mentioned once, at length 1 from the origin"
    with pytest.warns(
        nlgauge.errors.NoFocusWarning,
        match=r"1 segment \(index 0\): the hypothesis shares no focus.* 0 there, the best value",
    ):
        score = nlgauge.score([text_of(none)], [text_of(REFERENCE)], metric="ds-focus", **hand_made)
    assert score.counts["no_focus"] == 1
    assert score.notes.get("no_focus", ()) == (0,)
    assert score.signature.run["no_focus"] == "1"


def test_ds_focus_is_a_distance_with_precision_as_main_component() -> None:
    recipe = nlgauge.metrics.DSFocus()
    assert not recipe.higher_is_better
    assert recipe.main == "precision"
    assert nlgauge.metrics.DSFocus(measure="f").main == "f"


def test_foci_mentioned_once_can_be_left_out(hand_made: dict[str, str]) -> None:
    """*DS-Focus of Table 6: of the hypothesis the cat is left, of the reference nothing."""
    assert values(hand_made, min_mentions=2)["precision"] == 0
    result = values(hand_made, min_mentions=2, profile="corrected")["precision"]
    assert result == pytest.approx(np.hypot(1.2 + 12 / 13, 1.6 + 5 / 13)), "the cat, three times, from the origin"


def test_several_references_are_averaged(hand_made: dict[str, str]) -> None:
    refs = [[text_of(REFERENCE), text_of(DOGS)]]
    score = nlgauge.score([text_of(HYPOTHESIS)], refs, metric="ds-focus", **hand_made)
    assert score.precision[0] == pytest.approx((1 / 2 + 0) / 2)
    assert "no_focus" not in score.counts, "one of the references shares a focus"


class TestEntities:
    """Nouns that are close are one focus, and match the same nouns only."""

    HYP = "cat:N saw:V dog:N | cats:N saw:V"
    REF = "cats:N saw:V cat:N"

    def score(self, tmp_path: Path, **options: Any) -> nlgauge.Score:
        given = {
            "model": write_vectors(tmp_path / "vectors.txt", VECTORS),
            "annotator": write_conllu(tmp_path / "two.conllu", self.HYP, self.REF),
            "sentences": "annotator",
            "metric": "ds-focus",
        }
        return nlgauge.score([text_of(self.HYP)], [text_of(self.REF)], **(given | options))

    def test_entities_by_layer_0(self, tmp_path: Path) -> None:
        # cos(cat, cats) = .6 * 12/13 + .8 * 5/13 = .861; cos(cats, dog) = 12/13 = .923: one entity of all three
        # there, and of two in the reference: they do not match. Above .95 each is alone.
        with pytest.warns(nlgauge.errors.NoFocusWarning):
            joined = self.score(tmp_path, focus="entity", threshold=0.8)
        assert joined.precision[0] == 0
        assert joined.signature.recipe["vectors"] == "layer-0"
        alone = self.score(tmp_path, focus="entity", threshold=0.95)
        assert alone.precision[0] == self.score(tmp_path).precision[0] == 0, "each once in both"

    def test_entities_by_vectors_of_file(self, tmp_path: Path) -> None:
        # Here cat and cats are close, and the dog is far: F = cat + cats on both sides.
        file = write_vectors(tmp_path / "deps.words", {"cat": [1, 0], "cats": [1, 0.1], "dog": [0, 1]})
        result = self.score(tmp_path, focus="entity", vectors=file)
        assert result.precision[0] == pytest.approx(0, abs=1e-12)
        assert "no_focus" not in result.counts
        assert result.signature.recipe["vectors"].startswith("file[")
        assert result.signature.recipe["threshold"] == "0.8"

    def test_options_of_entities_are_refused_without_entities(self) -> None:
        with pytest.raises(
            nlgauge.errors.RecipeError, match=r"threshold=0\.5 has no effect with focus=nn \(only with focus=entity\)"
        ):
            nlgauge.metrics.DSFocus(threshold=0.5)


class TestExplained:
    """An explanation shows which foci matched, and its sums are the score."""

    def test_flow_of_matched_foci(self, hand_made: dict[str, str]) -> None:
        texts = text_of(HYPOTHESIS), text_of(REFERENCE)
        explanation = nlgauge.explain_pair(*texts, metric="ds-focus", **hand_made)
        assert sum(explanation.attribution(of="cost").values) == pytest.approx(explanation.score)
        assert "'cat' to 'cat' 50%" in explanation.sentence

    def test_flow_of_foci_of_one_side(self, hand_made: dict[str, str]) -> None:
        texts = text_of(HYPOTHESIS), text_of(REFERENCE)
        explanation = nlgauge.explain_pair(*texts, metric="ds-focus", profile="corrected", **hand_made)
        assert sum(link.weight * (link.cost or 0) for link in explanation.links) == pytest.approx(explanation.score)
        assert any(link.hypothesis is None and link.cost == pytest.approx(1) for link in explanation.links), "the dog"
        assert "nothing to 'dog'" in explanation.sentence

    def test_no_flow_without_common_focus(self, hand_made: dict[str, str]) -> None:
        texts = text_of(NO_NOUN), text_of(REFERENCE)
        explanation = nlgauge.explain_pair(*texts, metric="ds-focus", shapley=False, **hand_made)
        assert "the texts share no focus" in explanation.notes


STRANGE = {
    "no noun": "it was late",
    "one sentence": "the cat sat on the mat",
    "no full stop": "the cat saw the dog the dog ran the man wrote a letter",
    "upper case": "THE CAT SAT ON THE MAT. THE DOG SAW THE CAT.",
    "dashes": "well-being of a cat-dog - the well - being",
    "only marks": "! ? .",
    "blank lines": "the cat sat.\n\n\nthe dog ran.\n",
}


@pytest.mark.heavy
@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
@pytest.mark.parametrize(
    "metric",
    ["ds-focus", "ds-focus:profile=corrected,focus=entity", "ds-sent", "discoscore:profile=paper", "focus-frequency"],
)
def test_strange_texts_have_a_finite_score(text: str, metric: str) -> None:
    with nlgauge.testing.hash_encoder() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        options = {} if metric == "focus-frequency" else {"model": model, "unknown": "score"}
        score = nlgauge.score([text, "a dog ran"], ["the cat saw a dog", text], metric=metric, **options)
    assert all(np.isfinite(values).all() for values in score.segments.values())


@pytest.mark.parametrize("metric", ["ds-focus", "ds-sent", "discoscore"])
def test_an_empty_document_is_counted(metric: str) -> None:
    with nlgauge.testing.hash_encoder() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NoFocusWarning)
        with pytest.warns(nlgauge.errors.EmptyTextWarning):
            score = nlgauge.score(["", "the cat sat"], ["the cat", ""], metric=metric, model=model)
        with pytest.raises(nlgauge.errors.EmptyPairError, match="segment 0: hypothesis and reference are both empty"):
            nlgauge.score([" "], [""], metric=metric, model=model)
    assert score.counts["empty"] == 2
    assert score.segments[score.main].tolist() == [0, 0]


def test_twenty_thousand_words_are_cut_and_counted() -> None:
    sentence = "the cat saw a dog under the old tree . "
    with nlgauge.testing.hash_encoder() as model, pytest.warns(nlgauge.errors.TruncationWarning):
        score = nlgauge.score([sentence * 2000], [sentence], metric="discoscore", model=model)
    assert score.counts["truncated"] == 1
    assert 0 < score.ds_sent[0] < 1
    assert score.ds_focus[0] > 0


def test_document_without_annotation_is_named(hand_made: dict[str, str]) -> None:
    with pytest.raises(nlgauge.errors.InputError, match="does not contain the document 'dog saw cat'"):
        nlgauge.score(["dog saw cat"], [text_of(REFERENCE)], metric="ds-focus", **hand_made)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoFocusWarning")
def test_the_released_scores_of_newsroom(data_folder: Path) -> None:
    """The 420 scores that came with the code (`AIPHES/DiscoScore`), of another encoder and another tagger."""

    def rows(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (data_folder / name).read_text(encoding="utf-8").splitlines()]

    released = {(row["doc"], row["system"]): row["ds_focus_nn"] for row in rows("disco/newsroom_ds_focus_nn.jsonl")}
    texts = rows("summ/newsroom.jsonl")
    golden = np.array([released[row["doc"], row["system"]] for row in texts])
    score = nlgauge.score(
        [row["hypothesis"] for row in texts], [row["references"] for row in texts], metric="ds-focus", unknown="score"
    )
    assert len(golden) == 420
    assert np.corrcoef(score.precision, golden)[0, 1] >= 0.85
    assert np.sum((score.precision == 0) == (golden == 0)) >= 395
    alike = sum(row["hypothesis"] == row["references"][0] for row in texts)
    assert score.counts["no_focus"] + alike == np.sum(score.precision == 0)
