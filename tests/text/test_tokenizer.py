"""The tokenizer: limits switched off, cuts marked, white space around a text ignored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tests.encoders.byte_level_models import CONFIG, write_byte_level_tokenizer

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError, ModelError, RecipeError
from nlgauge.io.store.resolve import resolve
from nlgauge.text.tokenizer import TextTokenizer, token_limit


@pytest.mark.parametrize("model", ["minilm", "mpnet"])
def test_the_stored_truncation_and_padding_to_128_are_off(model: str) -> None:
    tokenizer = load_encoder(model).tokenizer
    short, long, over = tokenizer.encode(["bread", "bread " * 300, "bread " * 700])
    assert tokenizer.limit == 512
    assert (len(short), short.cut) == (3, 0)
    assert (len(long), long.cut) == (302, 0)
    assert (len(over), over.cut) == (512, 190)
    assert over.is_special.tolist() == [True, *[False] * 510, True]


def test_tokens_of_a_text() -> None:
    tokenizer = load_encoder("minilm").tokenizer
    first, padded, empty = tokenizer.encode(["The cat's bread", "  The cat's bread\n", " \t"])
    assert tokenizer.token_strings(first) == ("[CLS]", "the", "cat", "'", "s", "bread", "[SEP]")
    assert np.array_equal(first.ids, padded.ids)
    assert empty.empty
    assert not first.empty


def test_a_special_token_spelt_out_in_a_text_is_special() -> None:
    """bert-score weighs by id, so [SEP] in a text weighs 0 there as well; [UNK] does not frame a text."""
    tokens = load_encoder("minilm").tokenizer.encode(["bread [SEP] wages [UNK]"])[0]
    assert tokens.is_special.tolist() == [True, False, True, False, False, True]


def test_half_a_surrogate_pair_is_named() -> None:
    with pytest.raises(InputError, match=r"text 1 is not valid Unicode: .*surrogate"):
        load_encoder("minilm").tokenizer.encode(["fine", "bad \ud83d"])


def test_the_limit_is_the_smallest_stated(tmp_path: Path) -> None:
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"model_max_length": 1000000000000000019884624838656}))
    assert token_limit(tmp_path, positions=512) == 512
    config.write_text(json.dumps({"model_max_length": 128}))
    assert token_limit(tmp_path, positions=512) == 128
    config.unlink()
    with pytest.raises(ModelError, match="maximum length"):
        token_limit(tmp_path, positions=None)


def test_a_folder_without_tokenizer_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        TextTokenizer.from_folder(tmp_path, positions=512, digest="")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"cannot read tokenizer\.json"):
        TextTokenizer.from_folder(tmp_path, positions=512, digest="")


@pytest.mark.parametrize("content", ["{broken", "[]", '{"model_max_length": "many"}'])
def test_a_damaged_tokenizer_config_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer_config\.json"):
        token_limit(tmp_path, positions=512)


def test_a_limit_without_room_for_text_is_refused() -> None:
    backend = tokenizers.Tokenizer.from_file(str(resolve("minilm").path / "tokenizer.json"))
    with pytest.raises(ModelError, match="leaves no room"):
        TextTokenizer(backend, limit=2, digest="")


def byte_level() -> tokenizers.Tokenizer:
    """GPT-2's kind: bytes, with the space before a word as part of it."""
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {
        piece: number for number, piece in enumerate([*sorted(alphabet), "un", "\u0120t", "he", "\u0120the"])
    }
    merges = [("u", "n"), ("\u0120", "t"), ("h", "e"), ("\u0120t", "he")]
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.decoder = tokenizers.decoders.ByteLevel()
    return backend


def sentence_piece() -> tokenizers.Tokenizer:
    """XLM-R's kind: a unigram model over text whose spaces became a visible mark."""
    pieces = [("<unk>", 0.0), ("\u2581the", -1.0), ("\u2581", -5.0), ("un", -2.0), ("\u2581t", -6.0), ("he", -6.0)]
    pieces += [(letter, -8.0) for letter in "abcdefghijklmnopqrstuvwxyz."]
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=0))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    backend.decoder = tokenizers.decoders.Metaspace()
    return backend


@pytest.mark.parametrize("backend", [byte_level(), sentence_piece()], ids=["byte-level", "sentencepiece"])
def test_words_start_where_the_tokenizer_says(backend: tokenizers.Tokenizer) -> None:
    tokenizer = TextTokenizer(backend, limit=64, digest="")
    (tokens,) = tokenizer.encode(["the unbt the"])
    surfaces = tokenizer.surfaces(tokens)
    starts = [text for text, start in zip(surfaces, tokens.starts_word, strict=True) if start]
    assert len(starts) == 3
    assert starts[0] == starts[2] == "the", "stop words and punctuation are compared without the space's mark"
    assert len(surfaces) > 3, "a word of several pieces is among them"
    assert "".join(surfaces).replace(" ", "") == "theunbtthe"


@pytest.mark.parametrize(
    ("text", "unknown", "only"),
    [
        ("The cat.", 0, False),
        ("The cat 🐈.", 1, False),
        ("🐈 🐟", 2, True),
        ("🐈, 🐟!", 2, True),
        ("🐈 3", 1, False),
        ("!?", 0, False),
        ("", 0, False),
        ("a" * 101, 1, True),
    ],
)
@pytest.mark.parametrize("model", ["minilm", "mpnet"])
def test_unknown_tokens_are_counted(model: str, text: str, unknown: int, only: bool) -> None:
    (tokens,) = load_encoder(model).tokenizer.encode([text])
    assert (tokens.unknown, tokens.only_unknown) == (unknown, only)


def test_a_mark_of_white_space_says_nothing_beside_unknown_pieces() -> None:
    known, unknown, mixed = load_encoder("muse").tokenizer.encode(["รถไฟมาสาย", "ሰላም ነው!", "ሰላም word"])
    assert (known.unknown, known.only_unknown) == (0, False)
    assert unknown.unknown > 0
    assert unknown.only_unknown
    assert mixed.unknown > 0
    assert not mixed.only_unknown


def test_truncated_tokens_are_not_counted_as_unknown() -> None:
    (tokens,) = load_encoder("minilm").tokenizer.encode(["🐈 🐟 cat 🐈"])
    assert tokens.unknown == 3
    assert (tokens.cut_to(5).unknown, tokens.cut_to(5).only_unknown) == (2, False)
    assert tokens.cut_to(4).only_unknown
    assert tokens.take(np.array([0, 3, 5])).unknown == 0


def test_tokenizers_differ_in_what_they_put_for_the_unknown() -> None:
    pieces = [("<unk>", 0.0), ("\u2581", -1.0), ("a", -1.0)]
    unigram = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0))
    bytes_only = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1}, []))
    result = [TextTokenizer(backend, limit=9, digest="") for backend in (unigram, bytes_only)]
    assert result[0].unknown_token is not None
    assert result[0].unknown_token.id == 0
    assert [tokens.unknown for tokens in result[0].encode(["aa", "az"])] == [0, 1]
    assert result[1].unknown_token is None
    assert not result[1].encode(["ab"])[0].only_unknown


# --- a space before each text --------------------------------------------------------------------------


def byte_level(folder: Path, *, model_type: str = "roberta", **options: Any) -> TextTokenizer:
    """A byte-level BPE in a model's folder without weights."""
    (folder / "config.json").write_text(json.dumps(CONFIG | {"model_type": model_type}), encoding="utf-8")
    write_byte_level_tokenizer(folder, **options)
    return TextTokenizer.from_folder(folder, positions=128, digest="0" * 64)


@pytest.mark.parametrize(
    ("model_type", "tokenizer_class", "spaced"),
    [
        ("roberta", "RobertaTokenizer", True),
        ("roberta", "RobertaTokenizerFast", True),
        ("roberta", None, True),
        ("gpt2", "GPT2Tokenizer", True),
        ("roberta", "PreTrainedTokenizerFast", True),
        ("modernbert", "PreTrainedTokenizerFast", False),
        ("bart", "BartTokenizer", False),
        ("longformer", "LongformerTokenizer", False),
        ("longformer", None, False),
    ],
)
def test_space_is_put_where_bert_score_puts_it(
    tmp_path: Path, model_type: str, tokenizer_class: str | None, spaced: bool
) -> None:
    tokenizer = byte_level(tmp_path, model_type=model_type, tokenizer_class=tokenizer_class)
    (tokens,) = tokenizer.with_prefix_space("auto").encode(["the storm"])
    assert tokenizer.token_strings(tokens)[1].startswith("Ġ") == spaced
    assert tokenizer.with_prefix_space("auto").signed_prefix_space == ("yes" if spaced else "no")


def test_space_is_put_once_and_never_before_an_empty_text(tmp_path: Path) -> None:
    spaced = byte_level(tmp_path).with_prefix_space("yes")
    plain = spaced.with_prefix_space("no")
    assert spaced.with_prefix_space("yes") is spaced
    assert plain.with_prefix_space("yes") is spaced
    first, padded, empty = spaced.encode(["the the", " \tthe the\n", "  "])
    assert spaced.token_strings(first) == ("<s>", "Ġthe", "Ġthe", "</s>")
    assert first.ids.tolist() == padded.ids.tolist()
    assert empty.empty
    assert [ids for ids, _ in spaced.stream_ids(["the the", ""])] == [first.ids.tolist(), empty.ids.tolist()]
    assert plain.token_strings(plain.encode(["the the"])[0])[1:-1][-1:] == ("Ġthe",)
    assert plain.token_strings(plain.encode(["the the"])[0])[1] != "Ġthe"
    assert plain.digest != spaced.digest


def test_space_moves_neither_offsets_nor_words(tmp_path: Path) -> None:
    text = "  The museum's émigrés wrote: 1923!"
    spaced = byte_level(tmp_path).with_prefix_space("yes")
    words = []
    for tokenizer in (spaced, spaced.with_prefix_space("no")):
        (tokens,) = tokenizer.encode([text])
        spans: dict[int, list[str]] = {}
        for word, (start, end) in zip(tokens.words.tolist(), tokens.offsets.tolist(), strict=True):
            if word >= 0 and end > start:
                spans.setdefault(word, []).append(text[start:end])
        assert tokens.offsets[1:-1].max() == len(text)
        # The bytes of a letter such as é have the offsets of the letter.
        words.append({word: "".join(dict.fromkeys(pieces)) for word, pieces in spans.items()})
    assert words[0] == words[1]
    assert words[0][0] == "The"
    assert words[0][1] == "museum"


def test_long_text_is_cut_with_its_space(tmp_path: Path) -> None:
    spaced = byte_level(tmp_path).with_prefix_space("yes")
    text = "the the " * 100
    cut, whole = spaced.encode([text])[0], spaced.encode([text], whole=True)[0]
    assert (len(cut), len(whole), cut.cut) == (128, 202, 74)
    assert whole.ids[:127].tolist() == cut.ids[:127].tolist()
    assert whole.offsets[:127].tolist() == cut.offsets[:127].tolist()


def test_tokenizer_with_a_space_of_its_own_gets_no_second_one(tmp_path: Path) -> None:
    tokenizer = byte_level(tmp_path, own_space=True)
    spaced = tokenizer.with_prefix_space("yes")
    assert spaced.token_strings(spaced.encode(["the the"])[0]) == ("<s>", "Ġthe", "Ġthe", "</s>")
    assert tokenizer.with_prefix_space("auto").signed_prefix_space == "yes"
    assert spaced.digest == tokenizer.digest
    with pytest.raises(RecipeError, match="prefix_space=no is not possible with model 'own'"):
        tokenizer.with_prefix_space("no", model="own")
