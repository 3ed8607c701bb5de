"""Ensembles: the average of standardised scores, as any metric is used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import nlgauge
import nlgauge.testing
from nlgauge.core.metric import SystemResult, TextMetric
from nlgauge.core.registry import METRICS
from nlgauge.core.signature import Signature
from nlgauge.encoders import base
from nlgauge.errors import FileFormatError, InputError, RecipeError, SignatureError
from nlgauge.metrics import parts
from nlgauge.metrics.parts.scales import MemberNorms, Norms, load_norms, recipe_of_member
from nlgauge.studies.ensembles import norms_of_scores
from nlgauge.testing import HYPOTHESES, REFERENCES

_SHIPPED = Path(parts.__file__).with_name("ensemble_norms.json")


@dataclass(frozen=True, kw_only=True)
class Lengths(TextMetric):
    """Difference of lengths in characters: a distance."""

    name: ClassVar[str] = "lengths"
    components: ClassVar[tuple[str, ...]] = ("distance",)
    main: ClassVar[str] = "distance"
    higher_is_better: ClassVar[bool] = False

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        pairs = zip(hypotheses, references, strict=True)
        return SystemResult({"distance": np.array([float(abs(len(h) - len(r[0]))) for h, r in pairs])})


@pytest.fixture
def norms(tmp_path: Path) -> str:
    """Norms by hand: chrF of mean 50 and deviation 10, lengths of mean 4 and deviation 2."""
    score = nlgauge.score(["a cat"], ["a cat"], metric="chrf")
    members = (
        MemberNorms("chrf", recipe_of_member(score.signature), 50.0, 10.0, 100),
        MemberNorms("lengths", {}, 4.0, 2.0, 100),
    )
    Norms(members, "by hand").save(tmp_path / "norms.json")
    return str(tmp_path / "norms.json")


def test_the_score_is_the_average_of_deviations_with_distances_negated(
    norms: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METRICS._all, "lengths", Lengths)
    hyps, refs = ["a cat", "a small cat"], ["a cat", "a cat sat"]
    chrf = nlgauge.score(hyps, refs, metric="chrf").segments["chrf"]
    score = nlgauge.score(hyps, refs, metric="ensemble:chrf+lengths", norms=norms)
    # Lengths differ by 0 and by 2 characters: -(0 - 4) / 2 and -(2 - 4) / 2 deviations.
    expected = [((chrf[0] - 50) / 10 + 2.0) / 2, ((chrf[1] - 50) / 10 + 1.0) / 2]
    assert score.segments["score"].tolist() == pytest.approx(expected, abs=1e-12)
    assert score.higher_is_better
    assert score.system_score == pytest.approx(float(np.mean(expected)), abs=1e-12)


def test_digest_of_norms_depends_on_used_members_only(norms: str, tmp_path: Path) -> None:
    scores = nlgauge.score_systems({"": HYPOTHESES}, REFERENCES, metric=["chrf", "rouge1", "rougel"])
    few, many = tmp_path / "few.json", tmp_path / "many.json"
    norms_of_scores(scores[:2]).save(few)
    norms_of_scores(scores).save(many)
    first, second = (
        nlgauge.score(HYPOTHESES, REFERENCES, metric="ensemble:chrf+rouge1", norms=str(path)) for path in (few, many)
    )
    assert str(first.signature) == str(second.signature)
    other = Norms(tuple(member._replace(mean=member.mean + 1) for member in load_norms(str(few)).members), "moved")
    other.save(tmp_path / "other.json")
    third = nlgauge.score(HYPOTHESES, REFERENCES, metric="ensemble:chrf+rouge1", norms=str(tmp_path / "other.json"))
    assert third.signature.recipe["norms"] != first.signature.recipe["norms"]


def test_signature_reproduces_score(norms: str) -> None:
    metric = "ensemble:bertscore(layer=2)+chrf+xmoverscore(unit=sentence,against=refs)"
    scores = nlgauge.score_systems({"": HYPOTHESES}, REFERENCES, metric=["bertscore:layer=2", "chrf"])
    with pytest.raises(InputError, match=r"no entry for member bertscore with this recipe .*layer: 4 there, 2 here"):
        nlgauge.score(HYPOTHESES, REFERENCES, metric=metric)
    first = nlgauge.score(HYPOTHESES, REFERENCES, metric="ensemble:bertscore+chrf")
    again = nlgauge.score(HYPOTHESES, REFERENCES, metric=str(first.signature))
    assert np.array_equal(first.segments["score"], again.segments["score"])
    assert str(first.signature) == str(again.signature)
    assert first.signature.recipe["members"] == "bertscore+chrf"
    changed = str(first.signature).replace("1.layer:4", "1.layer:3")
    with pytest.raises((SignatureError, InputError)):
        nlgauge.score(HYPOTHESES, REFERENCES, metric=changed)
    assert len(scores) == 2


def test_members_share_one_encoding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with nlgauge.testing.hash_encoder("hash", layers=6):
        members = ["bertscore:model=hash,layer=3", "moverscore:model=hash,idf=none"]
        norms_of_scores(nlgauge.score_systems({"": HYPOTHESES}, REFERENCES, metric=members)).save(tmp_path / "n.json")
        encoded: list[int] = []
        true_encode = base.encode_texts

        def counting(encoder: object, tokens: Sequence[object], *rest: object, **more: object) -> object:
            encoded.append(len(tokens))
            return true_encode(encoder, tokens, *rest, **more)  # type: ignore[arg-type]

        monkeypatch.setattr("nlgauge.core.engine.encode_texts", counting)
        metric = "ensemble:bertscore(layer=3)+moverscore(idf=none)"
        options = {"model": "hash", "norms": str(tmp_path / "n.json")}
        alone = nlgauge.score(HYPOTHESES, REFERENCES, metric=metric, **options)
        assert sum(encoded) == len({*HYPOTHESES, *REFERENCES})
        # A member that is asked for as well is not computed twice, and nothing moves.
        encoded.clear()
        both = nlgauge.score_systems({"": HYPOTHESES}, REFERENCES, metric=[members[0], metric], **options)
        assert sum(encoded) == len({*HYPOTHESES, *REFERENCES})
        encoded.clear()
        matrix = nlgauge.matrix(HYPOTHESES, REFERENCES, metric, **options)
        assert sum(encoded) == len({*HYPOTHESES, *REFERENCES})
    assert np.array_equal(np.diag(matrix.scores), alone.segments["score"])
    assert [score.metric for score in both] == ["bertscore", "ensemble"]
    assert np.array_equal(both[1].segments["score"], alone.segments["score"])


def test_notes_of_members_are_notes_of_the_ensemble() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        score = nlgauge.score(["", "a cat"], ["a cat", "a cat"], metric="ensemble:bertscore+chrf")
    assert score.counts["empty"] == 1
    assert score.signature.run["empty"] == "1"


def test_an_ensemble_in_a_matrix_and_in_a_ranking() -> None:
    metric = "ensemble:bertscore+chrf"
    matrix = nlgauge.matrix(HYPOTHESES[:2], REFERENCES[:2], metric)
    for row in range(2):
        for column in range(2):
            first = nlgauge.score([HYPOTHESES[row]], [REFERENCES[column]], metric=metric)
            assert matrix.scores[row, column] == first.segments["score"][0]
    assert matrix.signature.recipe == first.signature.recipe
    candidates = [["It rains.", "A cat sat.", "The cat sat."]]
    ranked = nlgauge.rank(candidates, metric=metric)
    means = [
        np.mean([nlgauge.score([x], [y], metric=metric).system_score for y in candidates[0] if y != x])
        for x in candidates[0]
    ]
    assert ranked.utilities[0].tolist() == pytest.approx(means, abs=1e-9)
    assert nlgauge.rank(candidates, ["The cat sat down."], metric=metric).chosen == ["The cat sat."]


def test_unsupported_uses_are_refused() -> None:
    with pytest.raises(RecipeError, match="explain its members separately: bertscore, chrf"):
        nlgauge.explain_pair("a cat", "a dog", metric="ensemble:bertscore+chrf")


def test_a_constant_metric_and_missing_scores_have_no_norms() -> None:
    signature = Signature.parse("chrf|chars:6")
    with pytest.raises(InputError, match="all 3 scores of chrf are 2, so it cannot be standardised; leave it out"):
        Norms.of([(signature, np.full(3, 2.0))], data="")
    with pytest.raises(InputError, match="score 1 of chrf is nan"):
        Norms.of([(signature, np.array([1.0, np.nan]))], data="")
    with pytest.raises(InputError, match="at least 2 scores per metric, got 1"):
        Norms.of([(signature, np.array([1.0]))], data="")


def test_a_changed_file_is_refused(norms: str) -> None:
    path = Path(norms)
    path.write_text(path.read_text().replace("50.0", "51.0"))
    with pytest.raises(FileFormatError, match="its digest does not match its numbers"):
        load_norms(norms)
    path.write_text(path.read_text().replace('"deviation": 10.0', '"deviation": 0.0'))
    with pytest.raises(FileFormatError, match="must be a number above 0"):
        load_norms(norms)


def test_norms_do_not_depend_on_digest_of_counted_idf() -> None:
    first = Signature.parse("moverscore|idf:both[0123abcd0123]|refs:1|engine:onnxruntime-1.31.1-fp32")
    second = Signature.parse("moverscore|idf:both[ffffffffffff]|refs:2|engine:onnxruntime-1.99.0-fp32")
    assert recipe_of_member(first) == recipe_of_member(second) == {"idf": "both"}
    frozen = Signature.parse("moverscore|idf:file[0123abcd0123]")
    assert recipe_of_member(frozen) == {"idf": "file[0123abcd0123]"}
    low = Signature.parse("moverscore|idf:none|engine:onnxruntime-1.31.1-int8@ab")
    assert recipe_of_member(low)["precision"].startswith("int8")


def test_shipped_norms_are_complete() -> None:
    table = load_norms("shipped")
    assert {member.metric for member in table.members} >= {
        "bertscore",
        "moverscore",
        "chrf",
        "bleu",
        "rouge1",
        "xmoverscore",
        "baryscore",
    }
    assert all(member.rows == 3795 for member in table.members)
    assert table.digest == json.loads(_SHIPPED.read_text(encoding="utf-8"))["digest"]
    assert len({(member.metric, str(sorted(member.recipe.items()))) for member in table.members}) == len(
        table.members
    )


def test_both_english_models_have_norms_of_the_same_metrics() -> None:
    """So that `model=mpnet` is all that changes from one to the other."""
    by_weights: dict[str, set[str]] = {}
    for member in load_norms("shipped").members:
        kinds = tuple(
            sorted(item for item in member.recipe.items() if item[0] in ("profile", "idf", "n", "unit", "against"))
        )
        by_weights.setdefault(member.recipe.get("weights", ""), set()).add(f"{member.metric} {kinds}")
    english = [by_weight for by_weight in by_weights.values() if any("bertscore" in name for name in by_weight)]
    assert len(english) == 2
    assert english[0] == english[1]
    assert len(english[0]) == 8
