"""The word aligner: against the equations, NLTK's IBM model 1, planted translations, and eflomal."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from scipy.special import digamma

from nlgauge.errors import InputError
from nlgauge.studies.alignment.evaluation import link_f1
from nlgauge.studies.alignment.word_aligner import (
    AlignerOptions,
    Links,
    align_words,
    fit_direction,
    format_links,
    read_alignments,
    symmetrise,
)

SOURCE = [text.split() for text in ("das haus ist klein", "das buch", "ein haus", "das ist ein buch", "klein")]
TARGET = [text.split() for text in ("the house is small", "the book", "a house", "this is a book", "small one")]

Pair = tuple[Sequence[str], Sequence[str]]


def by_the_equations(
    texts: list[Pair], *, tension: float, no_origin: float, prior: float
) -> dict[tuple[str, str], float]:
    """Two rounds of EM, written cell by cell; the given word of none is empty."""

    def delta(i: int, m: int, n: int) -> list[float]:
        places = [math.exp(-tension * abs(i / m - j / n)) for j in range(1, n + 1)]
        return [no_origin, *((1 - no_origin) * place / sum(places) for place in places)]

    table: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for _ in range(2):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        for given, words in texts:
            for i, word in enumerate(words, 1):
                chances = delta(i, len(words), len(given))
                cells = [(left, word) for left in ("", *given)]
                masses = [table[cell] * chance for cell, chance in zip(cells, chances, strict=True)]
                for cell, mass in zip(cells, masses, strict=True):
                    counts[cell] += mass / sum(masses)
        totals: dict[str, float] = defaultdict(float)
        for (left, _), count in counts.items():
            totals[left] += count + prior
        table = {cell: math.exp(digamma(count + prior) - digamma(totals[cell[0]])) for cell, count in counts.items()}
    return table


def test_two_rounds_are_those_of_the_equations() -> None:
    options = AlignerOptions(rounds=2, tension=3.0, no_origin=0.1, prior=0.05)
    fitted = fit_direction(SOURCE, TARGET, options=options).table
    expected = by_the_equations(list(zip(SOURCE, TARGET, strict=True)), tension=3.0, no_origin=0.1, prior=0.05)
    ours = {
        (fitted.given_words[given] or "", fitted.words[word]): chance
        for given, word, chance in zip(fitted.given, fitted.word, fitted.probability, strict=True)
    }
    assert ours == pytest.approx(expected, rel=1e-9)


def test_without_diagonal_and_prior_it_is_ibm_model_1() -> None:
    """Of texts with two words, where none is as probable as each of both; NLTK has the probabilities."""
    translate = pytest.importorskip("nltk.translate")
    texts = [("das haus", "the house"), ("das buch", "the book"), ("ein buch", "a book"), ("ein haus", "a house")]
    pairs = [(left.split(), right.split()) for left, right in texts]
    options = AlignerOptions(rounds=5, tension=0.0, no_origin=1 / 3, prior=0.0)
    fitted = fit_direction([left for left, _ in pairs], [right for _, right in pairs], options=options).table
    # NLTK generates the words from the `mots`.
    model = translate.IBMModel1([translate.AlignedSent(right, left) for left, right in pairs], 5)
    for given, word, chance in zip(fitted.given, fitted.word, fitted.probability, strict=True):
        assert chance == pytest.approx(
            model.translation_table[fitted.words[word]][fitted.given_words[given]], abs=1e-9
        )


def planted(count: int, *, swaps: float) -> tuple[list[list[str]], list[list[str]], list[Links]]:
    """Texts of 60 words with one translation each, of which neighbours are sometimes exchanged."""
    chance = random.Random(0)
    source, target, links = [], [], []
    for _ in range(count):
        numbers = [chance.randrange(60) for _ in range(chance.randrange(3, 12))]
        order = list(range(len(numbers)))
        for i in range(len(order) - 1):
            if chance.random() < swaps:
                order[i], order[i + 1] = order[i + 1], order[i]
        source.append([f"s{number}" for number in numbers])
        target.append([f"t{numbers[place]}" for place in order])
        links.append(tuple(sorted((place, j) for j, place in enumerate(order))))
    return source, target, links


def test_planted_translations_are_linked() -> None:
    source, target, links = planted(400, swaps=0.3)
    assert link_f1(align_words(source, target), links) > 0.97


def test_links_agree_with_nltk_s_ibm_model_2() -> None:
    """NLTK's places are free, ours on the diagonal; what both know are the translations."""
    translate = pytest.importorskip("nltk.translate")
    source, target, _ = planted(150, swaps=0.3)
    texts = [translate.AlignedSent(right, left) for left, right in zip(source, target, strict=True)]
    translate.IBMModel2(texts, 5)
    theirs = [tuple((j, i) for i, j in text.alignment if j is not None) for text in texts]
    ours = [tuple((j, i) for i, j in enumerate(row) if j >= 0) for row in fit_direction(source, target).origins]
    assert link_f1(ours, theirs) > 0.9


def test_a_fitted_tension_follows_the_order_of_words() -> None:
    """In texts of one order it rises; in texts of random order it falls to its least value."""
    source, target, _ = planted(300, swaps=0.0)
    options = AlignerOptions(fit_tension=True)
    assert fit_direction(source, target, options=options).tension > 4
    shuffled = [random.Random(n).sample(words, len(words)) for n, words in enumerate(target)]
    assert fit_direction(source, shuffled, options=options).tension < 1
    assert fit_direction(source, target).tension == 4


def test_ways_to_join_both_directions() -> None:
    """By hand: 2-1 is next to 1-1 and links the free word 2; 4-4 links two free words; 1-0 links none."""
    forward, backward = {(0, 0), (1, 1), (2, 1), (4, 4)}, {(0, 0), (1, 1), (1, 0)}
    assert symmetrise(forward, backward, way="intersection") == ((0, 0), (1, 1))
    assert symmetrise(forward, backward, way="union") == ((0, 0), (1, 0), (1, 1), (2, 1), (4, 4))
    assert symmetrise(forward, backward, way="grow-diag-final-and") == ((0, 0), (1, 1), (2, 1), (4, 4))
    assert symmetrise(backward, forward, way="grow-diag-final-and") == ((0, 0), (1, 1), (2, 1), (4, 4))


def test_empty_texts_and_different_numbers_of_texts() -> None:
    assert align_words([[], ["a"], ["b"]], [["x"], [], ["y"]]) == [(), (), ((0, 0),)]
    assert align_words([], []) == []
    with pytest.raises(InputError, match="got 1 and 2"):
        align_words([["a"]], [["x"], ["y"]])


def test_the_same_links_in_every_call_and_for_other_names() -> None:
    source, target, _ = planted(60, swaps=0.5)
    links = align_words(source, target)
    numbers = [[int(word[1:]) for word in words] for words in target]
    assert links == align_words(source, target) == align_words(source, numbers)
    swapped = align_words(target, source, options=AlignerOptions(symmetrise="intersection"))
    straight = align_words(source, target, options=AlignerOptions(symmetrise="intersection"))
    assert [tuple(sorted((i, j) for j, i in pairs)) for pairs in swapped] == straight


def test_links_agree_with_eflomal(data_folder: Path, tmp_path: Path) -> None:
    """2,000 pairs of newstest2018 de-en; measured: .71. Needs a compiler, so it is no dependency of the tests."""
    eflomal = pytest.importorskip("eflomal", reason="eflomal is not installed (pip install eflomal)")
    folder = data_folder / "wmt18"
    names = ("source/newstest2018-deen-src.de", "references/newstest2018-deen-ref.en")
    sides = [(folder / name).read_text(encoding="utf-8").lower().splitlines()[:2000] for name in names]
    paths = [tmp_path / "forward", tmp_path / "backward"]
    lines = [[f"{line}\n" for line in side] for side in sides]
    eflomal.Aligner().align(*lines, links_filename_fwd=str(paths[0]), links_filename_rev=str(paths[1]), quiet=True)
    both = zip(*map(read_alignments, paths), strict=True)
    theirs = [symmetrise(set(forth), set(back), way="grow-diag-final-and") for forth, back in both]
    ours = align_words(*([line.split() for line in side] for side in sides))
    assert format_links(ours).count("\n") == 2000
    assert link_f1(ours, theirs) > 0.6
