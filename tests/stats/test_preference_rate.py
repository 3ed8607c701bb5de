"""How often one of two candidates is preferred."""

from __future__ import annotations

import pytest

from nlgauge.errors import InputError
from nlgauge.stats.raters import preference


def test_by_hand() -> None:
    """Differences -.25, .5, 0, .25: two of four for the first, one tie, .125 on average."""
    found = preference([0.25, 1.0, 0.5, 0.75], [0.5, 0.5, 0.5, 0.5])
    assert found == (0.5, 0.25, 0.125, 4)


def test_a_distance_is_turned_round() -> None:
    similarity = preference([0.1, 0.2, 0.9], [0.3, 0.1, 0.2])
    distance = preference([-0.1, -0.2, -0.9], [-0.3, -0.1, -0.2], higher_is_better=False)
    assert similarity == distance


def test_every_source_needs_both() -> None:
    with pytest.raises(InputError, match="got 2 and 1"):
        preference([1.0, 2.0], [1.0])
