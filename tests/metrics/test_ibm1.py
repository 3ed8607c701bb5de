"""IBM1: the equation by hand, its lexicon as in NLTK, and its need for sources."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.metrics.parts.lexicon import NONE, Cells, Lexicon, Translations
from nlgauge.studies.alignment.lexicon import train_lexicon

PARALLEL = (
    ["Das Haus ist klein.", "das Buch", "ein Haus", "das ist ein Buch"],
    ["The house is small.", "the book", "a house", "this is a book"],
)


def table(given: list[str], words: list[str], rows: list[tuple[str, str, float]]) -> Translations:
    numbered = sorted((given.index(left), words.index(word), chance) for left, word, chance in rows)
    left, right, chances = map(np.array, zip(*numbered, strict=True))
    return Translations(tuple(given), tuple(words), Cells(left, right, chances))


@pytest.fixture
def by_hand(tmp_path: Path) -> str:
    forward = table(
        [NONE, "das", "haus"], ["the", "house"], [("das", "the", 0.6), ("haus", "house", 0.9), (NONE, "the", 0.3)]
    )
    backward = table([NONE, "the", "house"], ["das", "haus"], [("the", "das", 0.8), ("house", "haus", 0.4)])
    Lexicon(forward, backward, pairs=1).save(tmp_path / "lexicon.npz")
    return str(tmp_path / "lexicon.npz")


def ibm1(hypothesis: str, source: str, lexicon: str, more: str = "") -> nlgauge.Score:
    return nlgauge.score([hypothesis], None, f"ibm1:lexicon={lexicon}{more}", sources=[source])


def test_score_is_that_of_the_equation(by_hand: str) -> None:
    """By hand: (.6 + .3 + f) / 3 and (.9 + 2f) / 3 forward; (.8 + 2f) / 3 and (.4 + 2f) / 3 backward; f = .01."""
    score = ibm1("The house!", "das Haus", by_hand, ",floor=0.01")
    forward = (math.log(0.91 / 3) + math.log(0.92 / 3)) / 2
    backward = (math.log(0.82 / 3) + math.log(0.42 / 3)) / 2
    parts = {name: values[0] for name, values in score.segments.items()}
    assert parts == pytest.approx({"ibm1": (forward + backward) / 2, "forward": forward, "backward": backward})


def test_unknown_words_and_lengths(by_hand: str) -> None:
    """By hand: "cat" has the floor, .01; the mean of its logarithm and that of "the" with S = 1."""
    score = ibm1("the cat", "das", by_hand, ",floor=0.01")
    assert score.segments["forward"][0] == pytest.approx((math.log(0.9 / 2) + math.log(0.01)) / 2)
    # Backward: "das" from none (floor), "the" (.8) and the unknown "cat" (floor).
    assert score.segments["backward"][0] == pytest.approx(math.log(0.82 / 3))


def test_a_text_without_words_has_the_floor(by_hand: str) -> None:
    with pytest.warns(UserWarning, match="empty"):
        score = ibm1("", "das Haus", by_hand)
    assert score.segments["forward"][0] == pytest.approx(math.log(1e-7))
    assert score.segments["backward"][0] == pytest.approx(math.log(1e-7))


def test_lexicon_has_the_probabilities_of_nltk() -> None:
    """Texts of unequal length; NLTK generates the words from the `mots`."""
    translate = pytest.importorskip("nltk.translate")
    source, target = ([text.lower().strip(".").replace(".", "").split() for text in texts] for texts in PARALLEL)
    lexicon = train_lexicon(*PARALLEL, rounds=7, least=0.0)
    for left, right, ours in ((source, target, lexicon.forward), (target, source, lexicon.backward)):
        texts = [translate.AlignedSent(words, given) for given, words in zip(left, right, strict=True)]
        model = translate.IBMModel1(texts, 7)
        for given, word, chance in zip(*ours.cells, strict=True):
            name = ours.given_words[given] or None
            assert chance == pytest.approx(model.translation_table[ours.words[word]][name], abs=1e-9)


def test_lexicon_survives_its_file_and_its_digest_is_signed(tmp_path: Path) -> None:
    lexicon = train_lexicon(*PARALLEL)
    lexicon.save(tmp_path / "a.npz")
    again = Lexicon.load(tmp_path / "a.npz")
    assert again.digest == lexicon.digest
    assert (
        again.forward.table(["das", "Zug"], ["the"]).tolist()
        == lexicon.forward.table(["das", "Zug"], ["the"]).tolist()
    )
    score = ibm1("the house", "das haus", str(tmp_path / "a.npz"))
    assert score.signature.recipe["lexicon"] == f"file[{lexicon.digest[:12]}]"
    assert score.signature.recipe["refs"] == "source"
    train_lexicon(*PARALLEL, rounds=6).save(tmp_path / "b.npz")
    with pytest.raises(RecipeError):
        nlgauge.score(["a"], None, str(score.signature), sources=["a"], lexicon=str(tmp_path / "b.npz"))
    same = nlgauge.score(
        ["the house"], None, str(score.signature), sources=["das haus"], lexicon=str(tmp_path / "a.npz")
    )
    assert same.signature == score.signature
    assert same.system_score == score.system_score


def test_missing_lexicon_or_sources_are_refused(by_hand: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="set ibm1:lexicon=FILE"):
        nlgauge.score(["a"], None, "ibm1", sources=["a"])
    with pytest.raises(InputError, match=r"ibm1 needs the source texts; pass them with sources=$"):
        nlgauge.score(["a"], ["b"], f"ibm1:lexicon={by_hand}")
    with pytest.raises(InputError, match="does not exist; make one with 'nlgauge align lexicon"):
        nlgauge.score(["a"], None, f"ibm1:lexicon={tmp_path / 'none.npz'}", sources=["a"])
    (tmp_path / "other.npz").write_text("{}")
    with pytest.raises(FileFormatError, match="is not a lexicon"):
        nlgauge.score(["a"], None, f"ibm1:lexicon={tmp_path / 'other.npz'}", sources=["a"])
    with pytest.raises(InputError, match="no pair with words on both sides"):
        train_lexicon(["a", ""], ["", "b"])
    with pytest.raises(InputError, match="same number of lines, got 2 and 1"):
        train_lexicon(["a", "b"], ["c"])


def test_pairs_and_references_next_to_sources(by_hand: str) -> None:
    recipe = f"ibm1:lexicon={by_hand}"
    expected = ibm1("the house", "das Haus", by_hand).system_score
    assert nlgauge.matrix(["the house"], ["das Haus"], recipe).ibm1[0, 0] == expected
    both = nlgauge.score_systems({"": ["the house"]}, ["a house"], [recipe, "wer"], sources=["das Haus"])
    assert [score.system_score for score in both] == [expected, 50.0]
