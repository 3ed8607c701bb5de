"""Inverse document frequencies: the formula, the digest, the file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError, InputError, TruncationWarning
from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import Tokens


def document(*ids: int) -> Tokens:
    special = np.array([True, *[False] * len(ids), True])
    words = np.array([-1, *range(len(ids)), -1], dtype=np.int32)
    return Tokens(np.array([1, *ids, 2], dtype=np.int32), special, words)


@pytest.fixture
def table() -> IdfTable:
    return IdfTable.build([document(5, 5, 6), document(6, 7), document()], vocabulary_size=10, tokenizer="t")


def test_the_formula_by_hand(table: IdfTable) -> None:
    """N = 3; token 5 in one document (twice there counts once), 6 in two, 9 in none; specials in all."""
    assert table.weights[5] == pytest.approx(math.log(4 / 2))
    assert table.weights[6] == pytest.approx(math.log(4 / 3))
    assert table.weights[9] == pytest.approx(math.log(4))
    assert table.weights[1] == table.weights[2] == 0


def test_a_saved_table_is_the_same_table(table: IdfTable, tmp_path: Path) -> None:
    path = tmp_path / "idf.json"
    table.save(path)
    loaded = IdfTable.load(path)
    assert np.array_equal(loaded.weights, table.weights)
    assert loaded.digest == table.digest
    assert [entry.name for entry in tmp_path.iterdir()] == ["idf.json"], "no partial file is left"


def test_the_digest_is_of_the_counts(table: IdfTable) -> None:
    same = IdfTable.build([document(6, 7), document(5, 6), document()], vocabulary_size=10, tokenizer="t", source="x")
    other = IdfTable.build([document(6, 7), document(5, 6)], vocabulary_size=10, tokenizer="t")
    assert same.digest == table.digest
    assert len({table.digest, other.digest, IdfTable(3, table.frequency, "another").digest}) == 3


@pytest.mark.parametrize("content", ["", "[]", '{"format": "other"}', '{"format": "nlgauge-idf/1"}', "\xff"])
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "idf.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(FileFormatError, match="idf"):
        IdfTable.load(path)


def test_missing_file_and_foreign_tokenizer(table: IdfTable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="build idf"):
        IdfTable.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="build it again"):
        table.check_tokenizer("other", vocabulary_size=10, path="idf.json")
    with pytest.raises(InputError, match="at least one document"):
        IdfTable.build([], vocabulary_size=3, tokenizer="t")


def test_counting_texts_is_building_from_their_tokens() -> None:
    tokenizer = load_encoder("minilm").tokenizer
    texts = ["The cat, the cat.", "", "unbelievably", "the 𓀀", " padded "] * 3
    size, digest = tokenizer.vocabulary_size, tokenizer.digest
    built = IdfTable.build(tokenizer.encode(texts), vocabulary_size=size, tokenizer=digest)
    counted = IdfTable.count(iter(texts), tokenizer)
    assert counted.documents == 15
    assert counted.digest == built.digest
    with pytest.raises(InputError, match="at least one"):
        IdfTable.count([], tokenizer)


def test_counting_warns_of_truncated_texts() -> None:
    tokenizer = load_encoder("minilm").tokenizer
    with pytest.warns(TruncationWarning, match=r"1 documents \(the first is line 2\)"):
        cut = IdfTable.count(["short", "word " * 600 + "end"], tokenizer)
    whole = IdfTable.count(["short", "word " * 600 + "end"], tokenizer, whole=True)
    (end,) = tokenizer.encode(["end"])[0].ids[1:-1]
    assert (cut.frequency[end], whole.frequency[end]) == (0, 1)


def test_word_vectors_count_known_words_only(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 2\nmat 3 4\n", encoding="utf-8")
    tokenizer = load_encoder(str(path)).tokenizer
    built = IdfTable.build(
        tokenizer.encode(["cat dog", "mat cat"]),
        vocabulary_size=tokenizer.vocabulary_size,
        tokenizer=tokenizer.digest,
    )
    assert IdfTable.count(["cat dog", "mat cat"], tokenizer).digest == built.digest
