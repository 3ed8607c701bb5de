"""Layer vectors on disk: no second encoding, damage detected, two processes, a bound that holds."""

from __future__ import annotations

import multiprocessing
import os
import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import nlgauge
from nlgauge.encoders.base import EncodedText, encode_texts
from nlgauge.encoders.cache import EmbeddingCache
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError, NlgaugeWarning, RecipeError
from nlgauge.text.tokenizer import Tokens

HYPS = ["The cat sat on the mat.", "A dog barked.", "Nobody knew the answer to it.", "Rain."]
REFS = ["The cat was on the mat.", "The dog barked at me.", "No one knew.", "Snow and rain."]


class Tokenizer:
    """What the key wants to know of a tokenizer."""

    digest, limit = "t", 512


class Counting:
    """An engine whose vectors are its token ids, and which counts the texts it was given."""

    model, digest, engine, layers, hidden_size = "ids", "w", "fake-1", 2, 4
    tokenizer = Tokenizer()

    def __init__(self) -> None:
        self.texts = 0

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        self.texts += len(ids)
        return [np.repeat(ids[..., None], 4, axis=-1).astype(np.float32) + layer for layer in layers]


def text(*ids: int) -> Tokens:
    return Tokens(np.array(ids, np.int32), np.zeros(len(ids), np.bool_), np.arange(len(ids), dtype=np.int32))


def encode(
    engine: Counting, texts: list[Tokens], cache: EmbeddingCache, layers: tuple[int, ...] = (1, 2)
) -> list[EncodedText]:
    return encode_texts(engine, texts, layers, batch_tokens=100, cache=cache)  # type: ignore[arg-type]


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.vec"))


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in entries(folder))


def test_a_second_run_makes_no_encoder_call_and_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = ["bertscore", "moverscore"]
    systems = {"a": HYPS, "b": REFS[::-1]}
    without = nlgauge.score_systems(systems, REFS, metric=metrics)
    first = nlgauge.score_systems(systems, REFS, metric=metrics, cache=str(tmp_path))
    encoder = load_encoder("minilm")

    def refuse(*_: object) -> None:
        raise AssertionError("the model was called")

    monkeypatch.setattr(encoder, "encode", refuse)
    second = nlgauge.score_systems(systems, REFS, metric=metrics, cache=str(tmp_path))
    assert [score.to_dict() for score in without] == [score.to_dict() for score in first]
    assert [score.to_dict() for score in first] == [score.to_dict() for score in second]
    with pytest.raises(AssertionError):  # the guard is in the way of a run without the cache
        nlgauge.score(HYPS, REFS)


def test_only_what_is_new_is_encoded(tmp_path: Path) -> None:
    engine, cache = Counting(), EmbeddingCache(tmp_path)
    encode(engine, [text(1, 2), text(3, 4)], cache)
    assert engine.texts == 2
    again = encode(engine, [text(3, 4), text(5, 6), text(1, 2)], EmbeddingCache(tmp_path))
    assert engine.texts == 3
    assert [item.layers[2][:, 0].tolist() for item in again] == [[5, 6], [7, 8], [3, 4]]
    encode(engine, [text(1, 2)], cache, layers=(2,))  # a subset of the layers is there too
    assert engine.texts == 3
    encode(engine, [text(1, 2)], cache, layers=(0, 1))
    assert engine.texts == 4


@pytest.mark.parametrize(
    ("of", "changed"),
    [
        ("encoder", {"digest": "v"}),
        ("encoder", {"engine": "fake-2"}),
        ("tokenizer", {"limit": 128}),
        ("tokenizer", {"digest": "other"}),
    ],
    ids=str,
)
def test_another_model_tokenizer_length_or_engine_is_another_entry(
    tmp_path: Path, of: str, changed: dict[str, object]
) -> None:
    cache = EmbeddingCache(tmp_path)
    encode(Counting(), [text(1, 2)], cache)
    other = Counting()
    other.tokenizer = Tokenizer()
    for name, value in changed.items():
        setattr(other.tokenizer if of == "tokenizer" else other, name, value)
    encode(other, [text(1, 2)], cache)
    assert other.texts == 1


@pytest.mark.parametrize("damage", ["flipped", "short", "empty", "swapped", "long"])
def test_a_damaged_entry_is_detected_removed_and_encoded_again(tmp_path: Path, damage: str) -> None:
    engine = Counting()
    expected = encode(engine, [text(1, 2), text(3, 4)], EmbeddingCache(tmp_path), layers=(1,))
    first, other = entries(tmp_path)
    data = first.read_bytes()
    torn = {
        "flipped": data[:-1] + bytes([data[-1] ^ 1]),
        "short": data[: len(data) // 2],
        "empty": b"",
        "swapped": other.read_bytes(),
        "long": data + b"\0",
    }[damage]
    first.write_bytes(torn)
    cache = EmbeddingCache(tmp_path)
    again = encode(engine, [text(1, 2), text(3, 4)], cache, layers=(1,))
    assert engine.texts == 3
    assert cache.damaged == 1
    assert [a.layers[1].tolist() for a in again] == [e.layers[1].tolist() for e in expected]
    assert first.read_bytes() == data


def test_the_bound_holds_and_the_least_recently_used_go_first(tmp_path: Path) -> None:
    engine = Counting()
    entry = 72 + 4 * 4 * 10  # head, and ten tokens of width four
    cache = EmbeddingCache(tmp_path, gigabytes=8 * entry / 1e9)
    texts = [text(*range(start, start + 10)) for start in range(0, 400, 10)]
    encode(engine, texts[:4], cache, layers=(1,))
    for age, path in enumerate(entries(tmp_path)):
        os.utime(path, (age, age))
    encode(engine, texts[:1], cache, layers=(1,))  # used again: the newest now
    assert engine.texts == 4
    for item in texts[4:]:
        encode(engine, [item], cache, layers=(1,))
        encode(engine, texts[:1], cache, layers=(1,))
        assert size(tmp_path) <= 8 * entry
    assert engine.texts == len(texts), "the text in use was never evicted"
    assert len(entries(tmp_path)) >= 6


def test_an_entry_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    encode(Counting(), [text(*range(50))], EmbeddingCache(tmp_path, gigabytes=1e-7))
    assert entries(tmp_path) == []


def test_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    encode(Counting(), [text(1, 2)], EmbeddingCache(tmp_path), layers=(1,))
    left = entries(tmp_path)[0].parent / ".abc.vec.xyz.part"
    left.write_bytes(b"half")
    EmbeddingCache(tmp_path)
    assert left.exists(), "another process may be writing it"
    os.utime(left, (1, 1))
    EmbeddingCache(tmp_path)
    assert not left.exists()
    assert len(entries(tmp_path)) == 1


def _writer(folder: str, seed: int) -> None:
    engine, cache = Counting(), EmbeddingCache(folder)
    order = list(range(150))
    random.Random(seed).shuffle(order)
    for number in order:
        encode(engine, [text(number, number + 1, seed), text(number, 7)], cache, layers=(1,))


@pytest.mark.heavy
def test_two_writers_lose_no_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_writer, args=(str(tmp_path), seed)) for seed in (1000, 2000)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
        assert worker.exitcode == 0
    engine, cache = Counting(), EmbeddingCache(tmp_path)
    for seed in (1000, 2000):
        encode(engine, [text(number, number + 1, seed) for number in range(150)], cache, layers=(1,))
    encode(engine, [text(number, 7) for number in range(150)], cache, layers=(1,))
    assert engine.texts == 0
    assert cache.damaged == 0
    assert not list(tmp_path.rglob("*.part"))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        EmbeddingCache(tmp_path / "file" / "cache")


def test_a_folder_that_cannot_be_written_is_warned_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cache = EmbeddingCache(tmp_path)
    monkeypatch.setattr("nlgauge.encoders.cache.write_atomic", full)
    with pytest.warns(NlgaugeWarning, match="No space left") as caught:
        encode(Counting(), [text(1), text(2), text(3)], cache)
    assert len(caught) == 1


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "4", True])
def test_a_size_is_above_zero(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(RecipeError, match="gigabytes"):
        EmbeddingCache(tmp_path, gigabytes=wrong)  # type: ignore[arg-type]


def _filler(folder: str, seed: int) -> None:
    engine, cache = Counting(), EmbeddingCache(folder, gigabytes=_SMALL / 1e9)
    for number in range(300):
        encode(engine, [text(number, seed, *range(8))], cache, layers=(1,))


#: Room for a hundred entries of ten tokens.
_SMALL = 100 * (72 + 4 * 4 * 10)


@pytest.mark.heavy
def test_two_writers_keep_the_bound_but_for_a_sixteenth(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_filler, args=(str(tmp_path), seed)) for seed in (1000, 2000)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
        assert worker.exitcode == 0
    assert size(tmp_path) <= _SMALL * 17 / 16 + 500
    EmbeddingCache(tmp_path, gigabytes=_SMALL / 1e9)
    assert 0.8 * _SMALL < size(tmp_path) <= _SMALL, "the next process finds it within its bound"
