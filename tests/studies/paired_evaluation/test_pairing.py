"""Another pairing leaves every score where it is, and changes who wins."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.paired_measures import FIVE_TYPES, THREE_TYPES, draw_pairings


@pytest.mark.parametrize(("systems", "count"), [(THREE_TYPES, 6), (FIVE_TYPES, 120)])
def test_pairing_keeps_marginal_scores(systems: object, count: int) -> None:
    pairings = draw_pairings(systems, RankingOptions())  # type: ignore[arg-type]
    assert len(pairings) == len({pairing.order for pairing in pairings}) == count
    first = pairings[0]
    assert first.order == tuple(range(1, len(first.order) + 1))
    for pairing in pairings:
        assert np.sort(pairing.scores, axis=0).tolist() == np.sort(first.scores, axis=0).tolist()
        # Of two systems, strengths are the shares of wins.
        assert pairing.strengths.tolist() == pytest.approx([pairing.wins, 1 - pairing.wins], abs=1e-4)


def test_pairing_changes_the_winner() -> None:
    """Expected by hand from Table 2: S is ahead on four of five types as given; sorted against B, on one or two."""
    shares = [draw_pairing.wins for draw_pairing in draw_pairings(FIVE_TYPES, RankingOptions())]
    assert shares[0] == pytest.approx(0.8, abs=0.01)
    assert min(shares) < 0.5 < max(shares)


def test_scores_are_those_of_the_types() -> None:
    scores = draw_pairings(FIVE_TYPES, RankingOptions(seed=5))[0].scores.reshape(5, 50, 2).mean(axis=1)
    assert scores[:, 0] == pytest.approx(FIVE_TYPES.first, abs=0.6)
    assert scores[:, 1] == pytest.approx(FIVE_TYPES.second, abs=0.6)
