"""Discourse features of documents beside references, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.annotated_texts import annotated, conllu

import nlgauge
from nlgauge.errors import InputError, NoNounWarning, RecipeError
from nlgauge.studies.discourse import ENTITY_FEATURES, FEATURES, Separation, separate, text_features

#: cat 3 mentions in sentences 1 and 2, dog 2 in 1 and 3, bird 1.
A = "cat:N dog:N . | cat:N cat:N bird:N . | dog:N ."
#: cat 2 mentions, in sentences 1 and 2.
B = "cat:N . | cat:N ."
#: No noun comes again.
C = "sun:N . | sea:N ."
NO_NOUN = "it rain:V ."


def text(short: str) -> str:
    return annotated(short).text


@pytest.fixture
def annotation(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "parses.conllu"
    path.write_text(conllu(A, B, C, NO_NOUN), encoding="utf-8")
    return {"annotator": str(path), "sentences": "annotator"}


def test_features_of_a_text() -> None:
    # FREQ (3 + 2) / 2; the graph has 1-2 by cat and 1-3 by dog: (1 + 1/2) / 9; LC 2/3, RC 5/3.
    expected = {"freq": 2.5, "conn-u": 1.5 / 9, "conn-w": 1.5 / 9, "lc": 2 / 3, "rc": 5 / 3}
    expected |= {"sentences": 3, "foci": 3, "repeated": 2}
    assert text_features(annotated(A)) == pytest.approx(expected)
    assert tuple(expected) == FEATURES


def test_hypotheses_beside_references(annotation: dict[str, str]) -> None:
    result = nlgauge.discourse({"a": [text(A), text(C)], "b": [text(B), text(C)]}, [text(B), text(A)], **annotation)
    assert list(result.systems) == ["a", "b"]
    assert result.mean("a", "freq") == pytest.approx((2.5 + 0) / 2)
    assert result.reference_mean("freq") == pytest.approx((2 + 2.5) / 2)
    # a: 2.5 beside 2, 0 beside 2.5. b: equal texts, which are left out, and 0 beside 2.5.
    assert result.separations["a"]["freq"] == Separation(0.5, 0.0, 0.5, 2, 0)
    assert result.separations["b"]["freq"] == Separation(0.0, 0.0, 1.0, 1, 1)
    assert str(result.settings).startswith("discourse|annotator:conllu[")


def test_discriminativeness_counts_as_equation_4_and_table_11_the_other_way_round() -> None:
    # D6.10: Eq. 4 counts R(ref) < R(hyp); "D > 0" of Table 11 is R(ref) > R(hyp).
    result = separate([(3.0, 1.0), (2.0, 1.0), (1.0, 1.0), (0.0, 1.0)])
    assert result is not None
    assert result.hypothesis_higher == 0.5
    assert result.equal == result.reference_higher == 0.25
    assert separate([]) is None


def test_several_references_are_all_paired(annotation: dict[str, str]) -> None:
    result = nlgauge.discourse([text(A)], [[text(B), text(C)]], **annotation)
    assert result.separations[""]["freq"] == Separation(1.0, 0.0, 0.0, 2, 0)
    assert result.reference_mean("freq") == 1


def test_features_without_references(annotation: dict[str, str]) -> None:
    result = nlgauge.discourse([text(A)], **annotation)
    assert result.references is None
    assert result.separations == {"": {}}
    assert result.reference_mean("freq") is None
    assert result.to_dict()["systems"][""]["features"]["rc"]["mean"] == pytest.approx(5 / 3)


def test_documents_without_a_noun_are_counted(annotation: dict[str, str]) -> None:
    with pytest.warns(NoNounWarning, match=r"1 document \(index 1\)"):
        result = nlgauge.discourse([text(A), text(NO_NOUN)], **annotation)
    assert result.systems[""].no_noun == (1,)
    assert result.references_without_noun == ()
    with pytest.warns(NoNounWarning, match=r"1 document \(index 1\)"):
        beside = nlgauge.discourse([text(A)] * 2, [text(A), text(NO_NOUN)], **annotation)
    assert beside.to_dict()["references_without_noun"] == [1]
    assert result.systems[""].features["freq"].documents.tolist() == [2.5, 0]


def test_an_empty_document_counts_as_one_without_a_noun(annotation: dict[str, str]) -> None:
    with pytest.warns(NoNounWarning):
        result = nlgauge.discourse([text(A), ""], **annotation)
    assert result.systems[""].features["sentences"].documents.tolist() == [3, 0]


def test_entities_need_vectors(annotation: dict[str, str], tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("sun 1 0\nsea 0.95 0.1\n", encoding="utf-8")
    result = nlgauge.discourse([text(C)], vectors=vectors, **annotation)
    assert result.features == (*FEATURES, *ENTITY_FEATURES)
    # sun and sea are one entity, mentioned twice, in both sentences.
    assert result.mean("", "freq") == 0
    assert result.mean("", "freq-entity") == 2
    assert result.mean("", "conn-u-entity") == 1 / 4
    assert "threshold:0.8" in str(result.settings)


def test_errors_name_the_document(annotation: dict[str, str]) -> None:
    with pytest.raises(InputError, match="refs: 1 entry for 2 hypotheses"):
        nlgauge.discourse([text(A), text(B)], [text(A)], **annotation)
    with pytest.raises(InputError, match="does not contain the document 'nobody wrote this'"):
        nlgauge.discourse(["nobody wrote this"], **annotation)
    with pytest.raises(RecipeError, match="threshold must be a number from -1, below 1, got 2"):
        nlgauge.discourse([text(A)], threshold=2, **annotation)
