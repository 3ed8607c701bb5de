"""Maps on held-out words: a planted rotation is scored right before and after it is undone."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError
from nlgauge.studies.alignment.evaluation import HeldOut, evaluate_map, held_out_words, link_f1
from nlgauge.studies.alignment.word_spaces import AlignmentInputs
from nlgauge.vectors.remap import fit_remapping

LEFT = ["The cat sat on the mat.", "A dog barked.", ""]
RIGHT = ["A cat was sitting on a mat.", "The dog was barking.", "Nobody."]


def test_a_planted_rotation_is_bad_before_and_perfect_after() -> None:
    chance = np.random.default_rng(0)
    turn = np.linalg.qr(chance.normal(size=(12, 12)))[0]
    source = tuple(chance.normal(size=(6, 12)).astype(np.float32) for _ in range(40))
    target = tuple((rows @ turn).astype(np.float32) for rows in source)
    links = tuple(tuple((n, n) for n in range(6)) for _ in source)
    words = HeldOut(source, target, links, gold=True, left_out=0)
    before = evaluate_map(words, None)
    assert max(before[:3]) < 0.2
    result = fit_remapping(np.concatenate(source), np.concatenate(target), method="clp")
    after = evaluate_map(words, result)
    assert after == (1.0, 1.0, 1.0, 1.0, 240, 40)
    assert np.isnan(evaluate_map(words._replace(gold=False), result).alignment_f1)


def test_f1_by_hand() -> None:
    """Two of three links found are right, and two of four gold links were found: 2 * 2 / (3 + 4)."""
    result = [((0, 0), (1, 2)), ((0, 1),)]
    gold = [((0, 0), (1, 1)), ((0, 1), (1, 0))]
    assert link_f1(result, gold) == pytest.approx(4 / 7)
    assert link_f1([()], [()]) == 0


def test_words_of_texts() -> None:
    encoder = load_encoder("minilm")
    links = [((1, 1), (5, 6)), ((1, 1),), ()]
    words = held_out_words(AlignmentInputs(encoder, LEFT, RIGHT, layer=2, alignments=links))
    assert [len(rows) for rows in words.source] == [6, 3]
    assert (words.links, words.left_out, words.gold) == (tuple(links[:2]), 1, True)
    assert evaluate_map(words, None).retrieval == 1
    assert not held_out_words(AlignmentInputs(encoder, LEFT, RIGHT, layer=2)).gold
    with pytest.raises(InputError, match="no words are linked"):
        held_out_words(AlignmentInputs(encoder, LEFT, RIGHT, layer=2, alignments=[(), (), ()]))
    with pytest.raises(InputError, match="1 of 1 pairs of texts have words to compare"):
        held_out_words(AlignmentInputs(encoder, LEFT[:1], RIGHT[:1], layer=2))
