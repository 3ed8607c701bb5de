"""YiSi-0 and YiSi-1, against the released program and by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.errors import TooLongError
from nlgauge.metrics.yisi import common_substring, yisi

#: The example texts of the released program (github.com/chikiulo/yisi, MIT licence: test/test_hyp.en, test_ref.en),
#: and what it prints for them with lexsim-type=lcs, reflexweight-type=learn, ngram-size=3 and alpha=0.8
#: (test/ref/test_hyp.sntyisi0 of commit fd07bfc).
EXAMPLES = [
    (
        "A Republican strategy to confront the re - election of Obama",
        "A Republican strategy to counter the re - election of Obama",
        0.894586,
    ),
    (
        "The leaders of the Republicans justify their policy with the need to combat the fraud .",
        "Republican leaders justified their policy by the need to combat electoral fraud .",
        0.733148,
    ),
    (
        "The latter , the brennan Center for a myth , as it confirms that the electoral fraud in the United States "
        "is less than the number of people killed by lightning .",
        "However , the Brennan Centre considers this a myth , stating that electoral fraud is rarer in the United "
        "States than the number of people killed by lightning .",
        0.753002,
    ),
    (
        "The lawyers of the Republicans have recorded in 10 years in the United States , moreover , only 300 cases "
        "of electoral fraud .",
        "Indeed , Republican lawyers identified only 300 cases of electoral fraud in the United States in a decade .",
        0.655633,
    ),
    (
        "One thing is for sure : these new provisions will adversely affect the turnout .",
        "One thing is certain : these new provisions will have a negative impact on voter turn - out .",
        0.57693,
    ),
    (
        "In this sense , some of these measures are undermining the democratic system of the United States .",
        "In this sense , the measures will partially undermine the American democratic system .",
        0.672231,
    ),
    (
        "In contrast to Canada are the States responsible for the conduct of the elections in the individual "
        "States .",
        "Unlike in Canada , the American States are responsible for the organisation of federal elections in the "
        "United States .",
        0.614407,
    ),
    (
        "In this sense , the majority of American governments since 2009 announced new laws , the procedures for the "
        "registration or complicate the ballot box .",
        "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
        "registration or voting process more difficult .",
        0.58164,
    ),
    (
        "This phenomenon has gained importance after the elections in November 2010 , in which 675 new Republican "
        "representatives in 26 states could be recorded .",
        "This phenomenon gained momentum following the November 2010 elections , which saw 675 new Republican "
        "representatives added in 26 States .",
        0.595404,
    ),
    (
        "As a result , 180 bills introduced in 2011 alone , the limit the exercise of the right to vote in "
        "41 states .",
        "As a result , 180 bills restricting the exercise of the right to vote in 41 States were introduced in 2011 "
        "alone .",
        0.855247,
    ),
]


def test_yisi0_is_that_of_the_released_program() -> None:
    hyps, refs, expected = zip(*EXAMPLES, strict=True)
    score = nlgauge.score(list(hyps), list(refs), "yisi0:n=3,alpha=0.8,tokenize=none")
    np.testing.assert_allclose(score.segments["yisi"], expected, atol=5.1e-7)
    assert score.system_score == pytest.approx(np.mean(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("word", "other", "length"), [("a", "a", 1), ("ab", "ba", 1), ("abcab", "cabc", 3), ("x", "y", 0), ("", "a", 0)]
)
def test_common_substring_by_hand(word: str, other: str, length: int) -> None:
    assert common_substring(word, other) == common_substring(other, word) == length


def test_ngrams_of_two_by_hand() -> None:
    """Words ab|cd with weights 1, 2, 1 and 1, 1; the bigrams of x are (0, 1) and (1, 2), that of y is (0, 1).

    Row 0-1: (1 * 1 + 2 * .5) / 3, row 1-2: (2 * .2 + 1 * 0) / 3, so P = (2 + .4) / 6 and R = max(1.5, .2) / 2.
    """
    similarity = np.array([[1.0, 0.3], [0.2, 0.5], [0.1, 0.0]])
    score, p, r = yisi(similarity, np.array([1.0, 2.0, 1.0]), np.ones(2), n=2, alpha=0.7)
    assert (p, r) == (pytest.approx(0.4), pytest.approx(0.75))
    assert score == pytest.approx(0.4 * 0.75 / (0.7 * 0.4 + 0.3 * 0.75))


def test_text_shorter_than_n_is_one_ngram() -> None:
    texts = ["the cat"], ["a black cat sat there"]
    scores = [nlgauge.score(*texts, f"yisi0:n={n},idf=none").system_score for n in (2, 5)]
    assert scores[0] == scores[1]


def test_rare_words_weigh_more() -> None:
    """Of 2 references, "cat" is in both (log 2) and "sat" in one (log 2.5); "ox" is in none (log 4).

    "sat" shares "at" with "cat": 2 * 2 / 6.
    """
    score = nlgauge.score(["cat ox", "cat"], ["cat sat", "cat"], "yisi0:n=1,alpha=0.5,tokenize=none")
    common, one, none = math.log(2), math.log(2.5), math.log(4)
    assert score.segments["precision"][0] == pytest.approx(common / (common + none))
    assert score.segments["recall"][0] == pytest.approx((common + one * 2 / 3) / (common + one))


def test_best_reference_counts() -> None:
    score = nlgauge.score(["a cat"], [["a dog ran", "a cat"]], "yisi0:idf=none")
    assert score.system_score == 1.0


def test_yisi1_is_bertscore_of_tokens_without_idf() -> None:
    """With n = 1 and alpha = 1/2, PR / (P/2 + R/2) is the F of BERTScore; static vectors have no special tokens."""
    ours = nlgauge.score(HYPS, REFS, "yisi1:idf=none,alpha=0.5,layer=4")
    theirs = nlgauge.score(HYPS, REFS, "bertscore:layer=4")
    # special tokens can be matched in BERTScore, so its scores are no lower
    assert (theirs.segments["f1"] >= ours.segments["yisi"] - 1e-6).all()
    np.testing.assert_allclose(ours.segments["yisi"], theirs.segments["f1"], atol=0.02)


def test_yisi1_of_word_vectors_by_hand(tmp_path: Path) -> None:
    """cat and kit have the cosine .6, ox is opposite to cat (0 instead of -1).

    Both references have cat (log 2), one has ox (log 2.5); kit is in none (log 4).
    """
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0\nkit 0.6 0.8\nox -1 0\n", encoding="utf-8")
    score = nlgauge.score(["kit", "ox"], ["cat ox", "cat"], f"yisi1:model={path},alpha=0.5")
    assert score.segments["precision"].tolist() == [pytest.approx(0.6), 0.0]
    common, one = math.log(2), math.log(2.5)
    assert score.segments["recall"].tolist() == [pytest.approx(0.6 * common / (common + one)), 0.0]
    assert score.segments["yisi"][1] == 0.0


def test_alignment_of_single_tokens() -> None:
    score = nlgauge.score(["a cat sat"], ["the cat sat"], "yisi1", alignments=True)
    assert score.alignments is not None
    alignment = score.alignments[0]
    assert alignment is not None
    assert alignment.hypothesis_match.tolist() == [0, 1, 2]


def test_documents_whose_similarities_do_not_fit_in_memory_are_refused() -> None:
    text = "word " * 10_000
    with pytest.raises(TooLongError, match=r"YiSi-0 of 10000 x 10000 .*split the texts into segments"):
        nlgauge.score([text], [text], "yisi0:tokenize=none")
