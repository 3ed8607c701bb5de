"""Joining segments to documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nlgauge
from nlgauge.core.corpus import document_rows, join_documents
from nlgauge.errors import InputError

IDS = ["a", "a", "b"]


def test_join_texts_and_references() -> None:
    assert join_documents(["One.", "Two.", "Three."], IDS) == ["One.\nTwo.", "Three."]
    references = [("1.", "I."), ("2.", "II."), ("3.",)]
    assert join_documents(references, IDS) == [("1.\n2.", "I.\nII."), ("3.",)]
    assert nlgauge.join_documents is join_documents


def test_document_of_white_space_is_empty() -> None:
    assert join_documents(["", " ", "x"], IDS) == ["", "x"]
    assert join_documents(["", "y", "x"], IDS) == ["\ny", "x"], "a line stays where it is"


def test_split_document_is_refused() -> None:
    with pytest.raises(InputError, match="document 'a' is split: segments 0 and 2 belong to it, but not"):
        join_documents(["1", "2", "3"], ["a", "b", "a"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["1"],
            "1 segments, but 3 document ids; give one id per segment .the first .*: document id 'a'",
        ),
        (
            ["1"] * 5,
            "5 segments, but 3 document ids; give one id per segment .the first .*: segment 3",
        ),
        ([], "0 segments, but 3 document ids; give one id per segment .the first .*: document id 'a'"),
    ],
)
def test_unequal_numbers_of_segments_and_ids_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        join_documents(texts, IDS)


def test_unequal_numbers_of_references_in_document_are_refused() -> None:
    with pytest.raises(InputError, match="document 'a': its segments have 1 to 2 references"):
        join_documents([("1", "I"), ("2",), ("3",)], IDS)


@given(st.lists(st.integers(1, 4), max_size=6))
def test_document_rows_cover_all_segments(sizes: list[int]) -> None:
    ids = [str(document) for document, size in enumerate(sizes) for _ in range(size)]
    rows = document_rows(ids)
    assert [row for own in rows.values() for row in own] == list(range(len(ids)))
    assert [len(own) for own in rows.values()] == sizes


def test_joined_documents_can_be_scored() -> None:
    hyps, refs = ["A cat sat.", "It slept.", "Dogs bark."], ["The cat sat.", "It slept.", "A dog barked."]
    joined = nlgauge.score(join_documents(hyps, IDS), join_documents(refs, IDS), metric="chrf")
    plain = nlgauge.score(["A cat sat.\nIt slept.", hyps[2]], ["The cat sat.\nIt slept.", refs[2]], metric="chrf")
    assert joined.segments["chrf"].tolist() == plain.segments["chrf"].tolist()
