"""Windows of long texts: which there are, and which of them each token is taken from."""

from __future__ import annotations

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import any_text

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import RecipeError
from nlgauge.testing import HashEncoder
from nlgauge.text.windows import CUT, Reading, TextWindow, Windows


@st.composite
def long_texts(draw: st.DrawFn) -> tuple[Windows, int]:
    """Windows, and the length of a text that does not fit into one, special tokens included."""
    frame = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    content = draw(st.integers(1, 30))
    size = content + sum(frame)
    return Windows(size, draw(st.integers(1, content)), frame), size + draw(st.integers(1, 150))


def from_edge(windows: Windows, window: TextWindow, place: int) -> int:
    """How many tokens of the text stand between a token and the nearer edge of a window; -1 where it is not in it."""
    head, tail = windows.frame
    inside = window.places[head : len(window.places) - tail].tolist()
    return min(inside.index(place), len(inside) - 1 - inside.index(place)) if place in inside else -1


@given(long_texts())
def test_each_token_is_taken_from_the_window_where_it_stands_farthest_from_an_edge(case: tuple[Windows, int]) -> None:
    windows, length = case
    head, tail = windows.frame
    result = windows.cut(length)
    owner = np.full(length, -1)
    for number, window in enumerate(result):
        assert (owner[window.rows_in_text] == -1).all()
        owner[window.rows_in_text] = number
        assert window.places[window.used_rows].tolist() == list(range(length))[window.rows_in_text]
    for place in range(head, length - tail):
        distances = [from_edge(windows, window, place) for window in result]
        assert owner[place] == distances.index(max(distances)), "not the farthest, or not the first of equals"
    assert set(owner[:head]) <= {0}
    assert set(owner[length - tail :]) <= {len(result) - 1}


@given(long_texts())
def test_windows_are_of_one_length_framed_alike_and_begin_every_stride(case: tuple[Windows, int]) -> None:
    windows, length = case
    head, tail = windows.frame
    result = windows.cut(length)
    for window in result:
        assert len(window.places) == windows.size
        assert window.places[:head].tolist() == list(range(head))
        assert window.places[windows.size - tail :].tolist() == list(range(length - tail, length))
        inside = window.places[head : windows.size - tail]
        assert (np.diff(inside) == 1).all()
    starts = windows.starts(length - head - tail).tolist()
    assert starts[:-1] == [windows.stride * number for number in range(len(starts) - 1)]
    assert starts[-1] - starts[-2] <= windows.stride
    assert starts[-1] + windows.content == length - head - tail


def test_windows_worked_out_by_hand() -> None:
    """Eleven tokens, three of them special; a window holds six of the text's eight, and the next begins two later.

    Token 3 (from 0) of the text is third from an edge of the first window and second from one of the other, token 4
    the other way round.
    """
    first, last = Windows(size=9, stride=2, frame=(2, 1)).cut(11)
    assert first.places.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 10]
    assert last.places.tolist() == [0, 1, 4, 5, 6, 7, 8, 9, 10]
    assert (first.used_rows, first.rows_in_text) == (slice(0, 6), slice(0, 6))
    assert (last.used_rows, last.rows_in_text) == (slice(4, 9), slice(6, 11))


def whole(text: str) -> tokenizers.Encoding:
    """The text as a tokenizer without any limit has it."""
    backend = tokenizers.Tokenizer.from_str(load_encoder("minilm").tokenizer._backend.to_str())
    backend.no_truncation()
    return backend.encode(text)


def test_a_whole_text_is_what_the_tokenizer_gives_without_a_limit() -> None:
    text = "Unputdownable [SEP] letters, naïvely.  " * 300
    tokens = load_encoder("minilm").tokenizer.encode([f"  {text}"], whole=True)[0]
    expected = whole(text.strip())
    assert tokens.ids.tolist() == expected.ids
    assert tokens.words.tolist() == [-1 if word is None else word for word in expected.word_ids]
    assert tokens.cut == 0
    there = tokens.offsets[:, 1] > 0
    assert (tokens.offsets[there] - 2).tolist() == [list(item) for item in np.array(expected.offsets)[there]]


@given(any_text)
def test_a_text_that_fits_is_the_same_whole(text: str) -> None:
    tokenizer = load_encoder("minilm").tokenizer
    first, other = tokenizer.encode([text])[0], tokenizer.encode([text], whole=True)[0]
    assert first.ids.tolist() == other.ids.tolist()
    assert first.offsets.tolist() == other.offsets.tolist()
    assert other.in_windows(Windows(512, 255, (1, 1))).windows is None


def test_special_tokens_spelt_out_at_the_end_of_a_text_stay_in_the_text() -> None:
    tokenizer = load_encoder("minilm").tokenizer
    tokens = tokenizer.encode(["bread " * 600 + "[SEP] [SEP]"], whole=True)[0]
    last = Windows(512, 255, tokenizer.frame).cut(len(tokens))[-1]
    assert tokenizer.frame == (1, 1)
    assert tokenizer.token_strings(tokens.take(last.places))[-4:] == ("bread", "[SEP]", "[SEP]", "[SEP]")


def test_recipe_options_set_windows() -> None:
    tokenizer = HashEncoder(limit=20).tokenizer

    def made(*reading: int | str | None) -> Windows | None:
        return Reading(*reading).windows(tokenizer, limit=20, model="hash")

    assert made() is None
    assert made("model") == Windows(20, 9, (1, 1))
    assert made(11) == Windows(11, 4, (1, 1))
    assert made(3) == Windows(3, 1, (1, 1))
    assert made(11, 9) == Windows(11, 9, (1, 1))
    assert Reading("model").windows(tokenizer, limit=1_000_000, model="muse") is None
    assert Reading(512, 100).up_to(256) == Reading(256)
    assert Reading(128, 100).up_to(256) == Reading(128, 100)
    assert CUT.up_to(1) == CUT


@pytest.mark.parametrize(
    ("reading", "says"),
    [
        (Reading(2), "window must be 3 to 20 for model 'hash', special tokens included, got 2"),
        (Reading(21), "window must be 3 to 20 .*got 21"),
        (Reading(10, 9), "stride must be 1 to 8 for a window of 10 tokens, got 9"),
    ],
)
def test_impossible_windows_are_refused(reading: Reading, says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        reading.windows(HashEncoder(limit=20).tokenizer, limit=20, model="hash")
