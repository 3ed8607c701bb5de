"""What maps by a network share: a wider side is reduced first, the file says so, and the digest names it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.vectors.network_maps import FlowMap, NetworkMap, Reduction, TanhNetwork
from nlgauge.vectors.remap import Origin, Side
from nlgauge.vectors.transforms import load_map

ZERO = np.zeros(2, np.float32)
STEP = Reduction(np.ones(3, np.float32), np.eye(3, 2, dtype=np.float32))


def flow(side: Side | None) -> FlowMap:
    reductions = {} if side is None else {side: STEP}
    return FlowMap(np.eye(2, dtype=np.float32), ZERO, ZERO + 5, 1.0, (), (), Origin(method="flow"), reductions)


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_wider_side_is_reduced_and_the_file_holds_it(side: Side, tmp_path: Path) -> None:
    made = flow(side)
    made.save(tmp_path / "map.npz")
    again = load_map(tmp_path / "map.npz")
    assert isinstance(again, NetworkMap)
    assert again.digest == made.digest != flow(None).digest
    assert (again.width_of(side), again.inner_width) == (3, 2)
    expected = [[5.0, 6.0]] if side == "source" else [[0.0, 1.0]]
    assert again.apply([[1.0, 2.0, 7.0]], side=side).tolist() == expected
    with pytest.raises(InputError, match="flow is for vectors of width 3"):
        again.apply([[1.0, 2.0]], side=side)


def test_a_network_and_an_unknown_side() -> None:
    layer = (np.eye(2, dtype=np.float32), ZERO)
    network = TanhNetwork((layer,), ZERO, ZERO, 1.0, 1.0, Origin(), {"source": STEP})
    np.testing.assert_allclose(network.apply([[1.0, 2.0, 7.0]]), np.tanh([[0.0, 1.0]]), atol=1e-6)
    with pytest.raises(RecipeError, match="side must be 'source' or 'target', got 'left'"):
        network.apply([[1.0, 2.0, 7.0]], side="left")  # type: ignore[arg-type]
