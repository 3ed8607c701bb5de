"""Two widths: the wider side along its principal directions, and nothing where they are alike."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.alignment.word_spaces import reduction_steps, same_width
from nlgauge.vectors.remap import Remapping


@pytest.mark.parametrize("wider", ["source", "target"])
def test_the_wider_side_keeps_its_distances(wider: str) -> None:
    """Five directions hold all there is, so that bringing eight down to five loses nothing."""
    chance = np.random.default_rng(0)
    narrow = chance.normal(size=(50, 5))
    wide = narrow @ np.linalg.qr(chance.normal(size=(8, 8)))[0][:5] + 3
    x, z, steps = same_width(*((wide, narrow) if wider == "source" else (narrow, wide)))
    assert list(steps) == [wider]
    assert x.shape == z.shape == (50, 5)
    moved = x if wider == "source" else z
    assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(np.linalg.norm(narrow[0] - narrow[1]), abs=1e-5)
    again = Remapping(reduction_steps(steps)).apply(wide, side="source" if wider == "source" else "target")
    np.testing.assert_allclose(again, moved, atol=1e-5)


def test_one_width_is_left_alone_and_numbers_must_be_finite() -> None:
    rows = np.ones((3, 2))
    assert same_width(rows, rows)[2] == {}
    with pytest.raises(InputError, match="target vectors are not finite"):
        same_width(rows, np.full((3, 4), np.nan))
    with pytest.raises(InputError, match="cannot find 5 principal directions of 3 rows of width 9"):
        same_width(np.ones((3, 9)), np.ones((3, 5)))
