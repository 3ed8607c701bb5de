"""CSLS and what is counted with it, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.alignment import word_spaces
from nlgauge.studies.alignment.word_spaces import Pairs, csls, csls_pairs, induction_precision

#: A hub, target 0, is the nearest of both source words by cosine; CSLS gives the second word its own neighbour.
SOURCE = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)
TARGET = np.array([[0.96, 0.28], [0.0, 1.0]], dtype=np.float32)


@pytest.fixture
def _one_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_spaces, "NEIGHBOURS", 1)


@pytest.mark.usefixtures("_one_neighbour")
def test_csls_by_hand() -> None:
    """Cosines .96 0 / .8 .8; with one neighbour r is .96 .8 of rows and .96 .8 of columns."""
    cosines = SOURCE @ TARGET.T
    np.testing.assert_allclose(cosines, [[0.96, 0.0], [0.8, 0.8]], atol=1e-6)
    by_hand = [[1.92 - 0.96 - 0.96, 0 - 0.96 - 0.8], [1.6 - 0.8 - 0.96, 1.6 - 0.8 - 0.8]]
    np.testing.assert_allclose(csls(cosines), by_hand, atol=1e-6)


@pytest.mark.usefixtures("_one_neighbour")
def test_pairs_are_mutual_and_their_cosine_is_the_criterion() -> None:
    pairs, mean = csls_pairs(SOURCE, TARGET)
    assert (pairs.source.tolist(), pairs.target.tolist()) == ([0, 1], [0, 1])
    assert mean == pytest.approx(0.88)


@pytest.mark.usefixtures("_one_neighbour")
def test_precision_counts_source_words_once() -> None:
    """Word 0 has two translations, one of which is found; of word 1 only a wrong one is in the gold."""
    gold = Pairs(np.array([0, 0, 1]), np.array([0, 1, 0]))
    assert induction_precision(SOURCE, TARGET, gold) == 0.5
    with pytest.raises(InputError, match="needs gold pairs"):
        induction_precision(SOURCE, TARGET, Pairs(np.empty(0, np.intp), np.empty(0, np.intp)))


def test_csls_finds_what_a_hub_hides() -> None:
    source = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=np.float32)
    hub = np.full(3, 3**-0.5)
    own = np.array([0.55, 0.0, -0.8352])
    target = np.array([hub, own], dtype=np.float32)
    gold = Pairs(np.array([0]), np.array([1]))
    assert induction_precision(source, target, gold, by="cosine") == 0
    assert induction_precision(source, target, gold, by="csls") == 1
