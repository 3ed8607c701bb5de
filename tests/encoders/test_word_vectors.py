"""Word vectors as a table."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from nlgauge.encoders.engines.static import load_word_vectors
from nlgauge.errors import FileFormatError


def test_words_are_found_as_they_are_or_in_lower_case(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("cat 1 0\nUS 0 1\n", encoding="utf-8")
    vectors = load_word_vectors(file)
    assert len(vectors) == 2
    result = {word: None if (v := vectors(word)) is None else v.tolist() for word in ["cat", "Cat", "US", "us"]}
    assert result == {"cat": [1, 0], "Cat": [1, 0], "US": [0, 1], "us": None}


def test_a_packed_file_is_another_one_with_the_same_vectors(tmp_path: Path) -> None:
    plain, packed = tmp_path / "deps.words", tmp_path / "deps.words.bz2"
    plain.write_bytes(b"cat 1 0\n")
    packed.write_bytes(bz2.compress(b"cat 1 0\n"))
    first, other = load_word_vectors(plain), load_word_vectors(packed)
    assert first("cat").tolist() == other("cat").tolist() == [1, 0]
    assert first.label.startswith("file[")
    assert first.label != other.label


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"no such file of word vectors: .*glove\.txt"):
        load_word_vectors(tmp_path / "glove.txt")


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_bytes(b"\xef\xbb\xbfcat 1 0\nsat 0 1\n")
    vectors = load_word_vectors(file)
    result = vectors("cat")
    assert result is not None
    assert result.tolist() == [1, 0]
    file.write_bytes(b"\xef\xbb\xbf2 2\ncat 1 0\nsat 0 1\n")  # with the first line of word2vec
    assert len(load_word_vectors(file)) == 2
