"""Learned metrics: scores by frozen weights, as any metric is used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.learned_files import member_of, save_learned

import nlgauge
import nlgauge.testing
from nlgauge.core.signature import Signature
from nlgauge.errors import ExtrapolationWarning, FileFormatError, InputError, RecipeError
from nlgauge.metrics import parts
from nlgauge.metrics.parts.learned_weights import SHIPPED, load_weights, recipe_of_member
from nlgauge.testing import HYPOTHESES, REFERENCES

#: Members that need neither a model nor an extra; both are distances.
TEXT_MEMBERS = ("eed", "character")


@pytest.fixture
def learned(tmp_path: Path) -> str:
    """EED with mean 50, deviation 10 and weight .4; CharacTER with mean 40, deviation 20 and weight -.1."""
    members = [
        member_of("eed", weight=0.4, mean=50.0, deviation=10.0),
        member_of("character", weight=-0.1, mean=40.0, deviation=20.0),
    ]
    return save_learned(tmp_path / "learned.json", members, intercept=3.0)


def test_score_is_the_weighted_sum_of_standardised_members_with_distances_negated(learned: str) -> None:
    eed, character = (nlgauge.score(HYPOTHESES, REFERENCES, metric=name).segments[name] for name in TEXT_MEMBERS)
    score = nlgauge.score(HYPOTHESES, REFERENCES, metric=learned)
    expected = 3 - 0.4 * (eed - 50) / 10 + 0.1 * (character - 40) / 20
    assert score.segments["score"].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    assert score.higher_is_better
    assert score.system_score == pytest.approx(float(np.mean(expected)), abs=1e-12)


def test_score_of_a_pair_depends_neither_on_other_pairs_nor_on_their_order(learned: str) -> None:
    whole = nlgauge.score(HYPOTHESES, REFERENCES, metric=learned).segments["score"]
    turned = nlgauge.score(HYPOTHESES[::-1], REFERENCES[::-1], metric=learned).segments["score"]
    assert whole.tolist() == turned[::-1].tolist()
    single = [
        nlgauge.score([h], [r], metric=learned).system_score for h, r in zip(HYPOTHESES, REFERENCES, strict=True)
    ]
    assert whole.tolist() == single
    running = nlgauge.Accumulator(learned)
    for start in range(0, len(HYPOTHESES), 3):
        running.update(HYPOTHESES[start : start + 3], REFERENCES[start : start + 3])
    assert running.compute().segments["score"].tolist() == whole.tolist()


def test_segments_outside_the_training_range_are_counted_and_warned_of(tmp_path: Path) -> None:
    low, high = (nlgauge.score(["a cat"], [text], metric="eed").system_score for text in ("a cat", "a cat sat"))
    member = member_of("eed")._replace(low=low, high=high)
    path = save_learned(tmp_path / "narrow.json", [member, "character"])
    inside = nlgauge.score(["a cat", "a cat"], ["a cat", "a cat sat"], metric=path)
    assert "outside" not in inside.counts
    message = r"1 segment \(index 1\): a score of a member of learned is outside the range of the training data"
    with pytest.warns(ExtrapolationWarning, match=message):
        score = nlgauge.score(["a cat", "rain"], ["a cat", "the ferry left"], metric=path)
    assert (score.counts["outside"], score.notes["outside"]) == (1, (1,))
    assert score.signature.run["outside"] == "1"
    matrix = nlgauge.matrix(["a cat", "rain"], ["a cat", "the ferry left"], path)
    assert matrix.counts["outside"] == 3
    assert matrix.signature.run["outside"] == "3"


def test_signature_has_the_digest_of_the_file_and_reproduces_the_score(learned: str, tmp_path: Path) -> None:
    first = nlgauge.score(HYPOTHESES, REFERENCES, metric=learned)
    assert first.signature.recipe["fit"] == f"file[{load_weights(learned).digest[:12]}]"
    assert first.signature.recipe["members"] == "eed+character"
    again = nlgauge.score(HYPOTHESES, REFERENCES, metric=str(first.signature), fit=learned)
    assert str(again.signature) == str(first.signature)
    assert again.segments["score"].tolist() == first.segments["score"].tolist()
    other = save_learned(tmp_path / "other.json", list(TEXT_MEMBERS))
    with pytest.raises(nlgauge.errors.SignatureError, match="fit: asked file"):
        nlgauge.score(HYPOTHESES, REFERENCES, metric=str(first.signature), fit=other)


def test_another_recipe_of_a_member_is_refused(tmp_path: Path) -> None:
    member = member_of("eed")
    path = save_learned(tmp_path / "x.json", [member._replace(fields={"case": "lower"}), "character"])
    with pytest.raises(InputError, match=r"was trained with another eed \(case: lower there, mixed here\)"):
        nlgauge.score(["a"], ["a"], metric=path)


def test_explanation_has_the_contribution_of_each_member(learned: str) -> None:
    hyp, ref = "a cat sat", "the cat sat"
    eed, character = (nlgauge.score([hyp], [ref], metric=name).system_score for name in TEXT_MEMBERS)
    explanation = nlgauge.explain_pair(hyp, ref, metric=learned)
    first, second = explanation.members or ()
    assert first == ("eed", eed, pytest.approx(-0.4 * (eed - 50) / 10, abs=1e-12))
    assert second == ("character", character, pytest.approx(0.1 * (character - 40) / 20, abs=1e-12))
    assert 3 + first.contribution + second.contribution == pytest.approx(explanation.score, abs=1e-12)
    assert "the contributions and the intercept 3.0000 sum to the score" in explanation.render()
    assert explanation.to_dict()["members"][0]["member"] == "eed"
    plain = nlgauge.explain_pair(hyp, ref, metric="eed")
    assert plain.members is None
    assert "members" not in plain.to_dict()
    masked = nlgauge.explain_pair(hyp, ref, metric=learned, shapley=True).attribution(kind="shapley")
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        empty = nlgauge.score([""], [ref], metric=learned).system_score
    assert sum(masked.values) == pytest.approx(explanation.score - empty, abs=1e-9)
    score = nlgauge.score([ref, hyp], [ref, ref], metric=learned)
    assert score.explain(1).members == explanation.members


def test_learned_metric_in_a_matrix_and_in_a_ranking(learned: str) -> None:
    matrix = nlgauge.matrix(HYPOTHESES[:2], REFERENCES[:2], learned)
    for row in range(2):
        for column in range(2):
            pair = nlgauge.score([HYPOTHESES[row]], [REFERENCES[column]], metric=learned)
            assert matrix.scores[row, column] == pair.segments["score"][0]
    assert matrix.signature.recipe == pair.signature.recipe
    candidates = [["It rains.", "A cat sat.", "The cat sat."]]
    ranked = nlgauge.rank(candidates, metric=learned)
    means = [
        np.mean([nlgauge.score([x], [y], metric=learned).system_score for y in candidates[0] if y != x])
        for x in candidates[0]
    ]
    assert ranked.utilities[0].tolist() == pytest.approx(means, abs=1e-9)


def test_members_share_one_encoding_with_metrics_of_the_call(tmp_path: Path) -> None:
    with nlgauge.testing.hash_encoder("hash", layers=6):
        members = ["bertscore:model=hash,layer=3", "eed"]
        path = save_learned(tmp_path / "hash.json", members)
        both = nlgauge.score_systems({"": HYPOTHESES}, REFERENCES, metric=[members[0], path])
        alone = nlgauge.score(HYPOTHESES, REFERENCES, metric=path)
    assert [score.metric for score in both] == ["bertscore", "learned"]
    assert np.array_equal(both[1].segments["score"], alone.segments["score"])


def test_changed_file_is_refused(learned: str) -> None:
    path = Path(learned)
    path.write_text(path.read_text().replace('"mean": 50.0', '"mean": 51.0'))
    with pytest.raises(FileFormatError, match="its digest does not match its numbers"):
        load_weights(learned)
    path.write_text(path.read_text().replace('"deviation": 10.0', '"deviation": 0.0'))
    with pytest.raises(FileFormatError, match="must be finite, with a deviation above 0"):
        load_weights(learned)


def test_fields_of_a_member_are_those_that_change_its_values() -> None:
    first = Signature.parse("moverscore|idf:both[0123abcd0123]|refs:1|engine:onnxruntime-1.31.1-fp32")
    second = Signature.parse("moverscore|idf:both[ffffffffffff]|refs:2|engine:onnxruntime-1.99.0-fp32")
    assert recipe_of_member(first) == recipe_of_member(second) == {"idf": "both"}
    frozen = Signature.parse("moverscore|idf:file[0123abcd0123]")
    assert recipe_of_member(frozen) == {"idf": "file[0123abcd0123]"}
    low = Signature.parse("moverscore|idf:none|engine:onnxruntime-1.31.1-int8@ab")
    assert recipe_of_member(low)["precision"].startswith("int8")


def test_notes_of_members_are_notes_of_the_learned_metric(learned: str) -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        score = nlgauge.score(["", "a cat"], ["a cat", "a cat"], metric=learned)
    assert score.counts["empty"] == 1
    assert score.signature.run["empty"] == "1"


def test_unsupported_explanations_are_refused(tmp_path: Path) -> None:
    with nlgauge.testing.hash_encoder("hash", layers=6):
        sources = ["xmoverscore:model=hash,src_lang=de,idf=none", "eed"]
        score = nlgauge.score(["a cat"], ["a cat"], metric="xmoverscore:model=hash,against=refs,idf=none")
        member = member_of("eed")._replace(recipe=sources[0], fields=recipe_of_member(score.signature))
        path = save_learned(tmp_path / "s.json", [member, "eed"])
        with pytest.raises(RecipeError, match="does not compare with references; explain its members separately"):
            nlgauge.explain_pair("a cat", "a cat", source="eine Katze", metric=path)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_weights_are_proven_on_all_ratings_of_wmt15(name: str) -> None:
    path = Path(parts.__file__).with_name(f"learned_{name.replace('-', '_')}.json")
    weights = load_weights(name)
    assert (weights.training.data, weights.training.rows) == ("wmt15", 2000)
    assert weights.validation.proven
    assert weights.digest == json.loads(path.read_text(encoding="utf-8"))["digest"]
    assert path.stat().st_size < 50_000
    models = {member.fields["weights"] for member in weights.members if "weights" in member.fields}
    assert len(models) == {"mt-en-minilm": 1, "mt-en-mpnet": 2}[name]
