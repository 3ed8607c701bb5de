"""Mentions of nouns and their tokens."""

from __future__ import annotations

import numpy as np
from tests.annotated_texts import annotated

from nlgauge.encoders.load import load_encoder
from nlgauge.metrics.parts.foci import Mention, TokenOffsets, find_mentions, sum_runs
from nlgauge.text.annotation import AnnotatedSentence, AnnotatedText, AnnotatedWord

TEXT = annotated("Cats=cat:N run:V | a cat:N saw:V the run:N")


def test_a_mention_is_a_noun_by_its_lemma() -> None:
    assert find_mentions(TEXT, "lemma") == [
        Mention("cat", 0, 0, 4),
        Mention("cat", 1, 11, 14),
        Mention("run", 1, 23, 26),
    ]


def test_the_released_code_finds_words_spelt_as_a_lemma() -> None:
    # "Cats" is spelt as no lemma and lost; the verb "run" is spelt as the noun's and found (D6.2).
    assert find_mentions(TEXT, "surface") == [
        Mention("run", 0, 5, 8),
        Mention("cat", 1, 11, 14),
        Mention("run", 1, 23, 26),
    ]


def test_released_code_misses_word_before_comma() -> None:
    words = (AnnotatedWord(0, 3, "cat", "cat", "NOUN"), AnnotatedWord(3, 4, ",", ",", "PUNCT"))
    text = AnnotatedText("cat, CAT", (AnnotatedSentence(0, 8, (*words, AnnotatedWord(5, 8, "CAT", "cat", "NOUN"))),))
    assert [mention.start for mention in find_mentions(text, "surface")] == [5], "case is no part of a spelling"
    assert [mention.start for mention in find_mentions(text, "lemma")] == [0, 5]


def test_a_mention_is_all_tokens_that_overlap_it() -> None:
    (tokens,) = load_encoder("minilm").tokenizer.encode(["  The enthusiasm's storms"])
    offsets = TokenOffsets.of(tokens)
    assert offsets.starts.tolist() == [2, 6, 16, 17, 19], "the enthusiasm ' s storms, counted with the blanks"
    first, stop = offsets.spans_of([Mention("enthusiasm", 0, 6, 16), Mention("s", 0, 17, 25)])
    assert list(zip(first.tolist(), stop.tolist(), strict=True)) == [(1, 2), (3, 5)]
    assert offsets.rows[0] == 1, "[CLS] stands nowhere"


def test_a_mention_that_was_cut_off_has_no_token() -> None:
    (tokens,) = load_encoder("minilm").tokenizer.encode(["cat dog bird"])
    offsets = TokenOffsets.of(tokens.cut_to(4))
    first, stop = offsets.spans_of([Mention("dog", 0, 4, 7), Mention("bird", 0, 8, 12)])
    assert (stop - first).tolist() == [1, 0]


def test_tokens_belong_to_their_sentence() -> None:
    text = annotated("cat:N saw:V | dog:N ran:V")
    (tokens,) = load_encoder("minilm").tokenizer.encode([text.text])
    assert TokenOffsets.of(tokens).sentences_in(text).tolist() == [0, 0, 1, 1]
    late = AnnotatedText(text.text, (AnnotatedSentence(4, 7, ()), AnnotatedSentence(8, 15, ())))
    assert TokenOffsets.of(tokens).sentences_in(late).tolist() == [0, 0, 1, 1], (
        "what stands before all is in the first"
    )


def test_sum_runs_without_runs() -> None:
    nothing = np.zeros(0, dtype=np.intp)
    assert sum_runs(np.ones((2, 3), dtype=np.float32), nothing, nothing).shape == (0, 3)
