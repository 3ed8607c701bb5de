"""Parallel texts as training reads them, without torch: links, words and batches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.alignment.two_languages import bitext

from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.alignment.joint_texts import Bitext, batches_of_epoch, linked_pairs, pairs_digest
from nlgauge.testing import HashEncoder


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder()


def test_links_of_an_aligner_name_words_between_blanks(encoder: HashEncoder) -> None:
    pairs, left_out = linked_pairs(
        encoder,
        [
            Bitext(
                ["one two", "", "three", "six"],
                ["two one", "x", "four five", "seven"],
                [((0, 1), (1, 0)), (), ((0, 1),), ()],
            )
        ],
        layer=1,
    )
    assert [pair.links.tolist() for pair in pairs] == [[[0, 1], [1, 0]], [[0, 1]]]
    assert left_out == 2, "an empty text, and a pair without a link"
    assert [(pair.source.size, pair.target.size) for pair in pairs] == [(2, 2), (1, 2)]
    assert all((pair.source.words >= 0).sum() <= len(pair.source.ids) for pair in pairs)


def test_without_links_mutual_nearest_neighbours(encoder: HashEncoder) -> None:
    """The encoder gives the same word the same vector, so equal words are neighbours."""
    pairs, _ = linked_pairs(encoder, [Bitext(["green house tree"], ["tree green lake"])], layer=0)
    result = {tuple(link) for link in pairs[0].links.tolist()}
    assert {(0, 1), (2, 0)} <= result


def test_languages_are_joined(encoder: HashEncoder) -> None:
    both, _ = linked_pairs(encoder, [bitext(3), bitext(2, seed=1)], layer=1)
    assert len(both) == 5
    assert pairs_digest(both) != pairs_digest(both[:4])


def test_every_pair_comes_once_an_epoch_beside_pairs_of_like_length() -> None:
    lengths = np.random.default_rng(0).integers(5, 100, size=1000).tolist()
    batches = batches_of_epoch(lengths, batch=8, seed=3, epoch=1)
    assert sorted(np.concatenate(batches).tolist()) == list(range(1000))
    spread = np.mean([np.ptp(np.array(lengths)[part]) for part in batches])
    assert spread < 10, "of random eights it is about 74"
    again, other = (batches_of_epoch(lengths, batch=8, seed=3, epoch=epoch) for epoch in (1, 2))
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))
    assert any(set(a) != set(b) for a, b in zip(batches, other, strict=True))


def test_input_errors(encoder: HashEncoder) -> None:
    with pytest.raises(InputError, match="need the same number of lines, got 1 and 2"):
        linked_pairs(encoder, [Bitext(["one"], ["one", "two"])], layer=1)
    with pytest.raises(InputError, match="both sides are the same text"):
        linked_pairs(encoder, [Bitext(["one"], ["one"])], layer=1)
    with pytest.raises(FileFormatError, match=r"links\.txt, line 1: link 0-4"):
        linked_pairs(encoder, [Bitext(["one"], ["two"], [((0, 4),)], "links.txt")], layer=1)
