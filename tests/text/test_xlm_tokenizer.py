"""XLM's tokenizer gives the ids of transformers, recorded by tests/parity/record_model_files.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import GOLDEN
from tests.parity.record_model_files import write_files

from nlgauge.errors import ModelError
from nlgauge.text.xlm_tokenizer import XlmTokenizer

pytest.importorskip("sacremoses", reason="needs the extra lexical: pip install 'nlgauge[lexical]'")


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    record: dict[str, Any] = json.loads((GOLDEN / "xlm_tokens.json").read_text(encoding="utf-8"))
    return record


def read(folder: Path, recorded: dict[str, Any], *, lowercase: bool = True) -> XlmTokenizer:
    write_files(folder, recorded["vocabulary"], recorded["merges"], lowercase=lowercase)
    return XlmTokenizer.read(folder, positions=None)


@pytest.mark.parametrize("lowercase", [True, False])
def test_ids_are_those_of_transformers(tmp_path: Path, recorded: dict[str, Any], lowercase: bool) -> None:
    tokenizer = read(tmp_path, recorded, lowercase=lowercase)
    ids = [tokens.ids.tolist() for tokens in tokenizer.encode(recorded["texts"], whole=True)]
    assert ids == recorded["ids"][str(lowercase)]
    assert [list(row) for row, _ in tokenizer.stream_ids(recorded["texts"], whole=True)] == ids


def test_words_special_tokens_and_unknown_pieces(tmp_path: Path, recorded: dict[str, Any]) -> None:
    tokenizer = read(tmp_path, recorded)
    (tokens,) = tokenizer.encode(["ferries ферри, late"])
    assert tokens.is_special.tolist() == [True] + [False] * (len(tokens) - 2) + [True]
    assert tokens.words.max() == 3, "four words: ferries, ферри, a comma, late"
    assert tokens.unknown >= 5
    assert tokens.ids.max() < len(recorded["vocabulary"]) == tokenizer.vocabulary_size


def test_offsets_are_in_the_original_text(tmp_path: Path, recorded: dict[str, Any]) -> None:
    text = "  The Ferries… “of” Göteborg"
    (tokens,) = read(tmp_path, recorded).encode([text])
    words = {}
    for word, (start, end) in zip(tokens.words.tolist(), tokens.offsets.tolist(), strict=True):
        if word >= 0:
            first, last = words.get(word, (start, end))
            words[word] = (min(first, start), max(last, end))
    assert [text[start:end] for start, end in words.values()] == ["The", "Ferries", "…", "“", "of", "”", "Göteborg"]


def test_digest_covers_vocabulary_and_settings(tmp_path: Path, recorded: dict[str, Any]) -> None:
    digests = {read(tmp_path, recorded, lowercase=lowercase).digest for lowercase in (True, False)}
    less = {**recorded, "merges": recorded["merges"][:-1]}
    assert len(digests | {read(tmp_path, less).digest}) == 3


def test_damaged_files_are_named(tmp_path: Path, recorded: dict[str, Any]) -> None:
    read(tmp_path, recorded)
    (tmp_path / "vocab.json").write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(ModelError, match=r"cannot read vocab\.json and merges\.txt of model"):
        XlmTokenizer.read(tmp_path, positions=None)


def test_rare_symbols_have_ids_of_their_own_above_a_vocabulary_with_gaps(
    tmp_path: Path, recorded: dict[str, Any]
) -> None:
    """With shared ids, byte-pair encoding would merge the wrong symbols."""
    vocabulary = dict(recorded["vocabulary"])
    last = max(vocabulary, key=vocabulary.__getitem__)
    vocabulary[last] += 1000
    tokenizer = read(tmp_path, {**recorded, "vocabulary": vocabulary})
    ids = tokenizer._backend.get_vocab().values()
    assert len(set(ids)) == len(ids) > len(vocabulary)
    assert tokenizer.vocabulary_size == vocabulary[last] + 1
