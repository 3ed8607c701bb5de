"""Routing by agreement: the released layer's numbers, the paper's rules by hand, and what a caller relies on.

`golden/capsule_routing.json` was made by the routing functions of `layer.py` of `andyweizhao/NLP-Capsule` at
7561328, run with torch 2.13 in float64, an instance at a time; proposals are seeded normal numbers of three decimals.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="torch is not installed")

from nlp_capsule.array_routing import (  # noqa: E402
    Routed,
    adaptive_kde_routing,
    dynamic_routing,
    kde_routing,
    squash,
)

from nlgauge.errors import InputError, RecipeError  # noqa: E402

GOLDEN = json.loads((Path(__file__).parent / "golden" / "capsule_routing.json").read_text())
FUNCTIONS: dict[str, Callable[..., Routed]] = {
    "dynamic": dynamic_routing,
    "kde": kde_routing,
    "adaptive": adaptive_kde_routing,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{np.shape(case['proposals'])}")
def test_poses_and_activations_are_those_of_the_released_layer(name: str, case: dict[str, Any]) -> None:
    result = FUNCTIONS[name](case["proposals"])
    np.testing.assert_allclose(result.poses, case[name]["poses"], atol=1e-6)
    np.testing.assert_allclose(result.activations, case[name]["activations"], atol=1e-6)


def test_squash_has_the_constant_of_the_paper_or_of_the_code() -> None:
    """D7.1: a vector of length 5 becomes 25/26 long in print, 25/25.5 in the code."""
    assert np.linalg.norm(squash([3.0, 4.0])) == pytest.approx(25 / 26)
    assert np.linalg.norm(squash([3.0, 4.0], constant=0.5)) == pytest.approx(25 / 25.5)
    assert squash([0.0, 0.0]).tolist() == [0.0, 0.0]


def test_one_round_of_the_released_rule_by_hand() -> None:
    """D7.3, D7.5: two outputs share an input alike, inputs are then shared out, and the pose is squashed."""
    result = kde_routing([[[1.0], [0.0]], [[0.0], [0.0]]], iterations=1)
    assert result.coefficients.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    mean = 0.5  # of the proposals 1 and 0
    pose = mean * mean / (0.5 + mean**2)
    assert result.poses.ravel().tolist() == pytest.approx([pose, 0.0])
    first = 1 - (1 / 1.5 - pose) ** 2  # D7.4: squared distance of squashed vectors
    second = 1 - pose**2
    assert result.agreement == pytest.approx((math.log(0.5 * first + 0.5 * second + 1.0),))


def test_one_round_of_the_printed_rule_by_hand() -> None:
    """D7.3, D7.4, D7.5: a leak beside two outputs, the kernel of the distance itself, no squashing."""
    result = kde_routing([[[0.4], [0.0]], [[0.0], [0.0]]], iterations=1, update="paper")
    share = math.exp(0.5) / (2 * math.exp(0.5) + 1)
    assert result.coefficients.ravel().tolist() == pytest.approx([share] * 4)
    pose = share * 0.4 / 2  # divided by the number of proposals near, not by what they weigh
    assert result.poses.ravel().tolist() == pytest.approx([pose, 0.0])
    kernels = (1 - (0.4 - pose)) + (1 - pose) + 1 + 1
    assert result.agreement == pytest.approx((math.log(share * kernels),))


def test_the_printed_kernel_is_cut_off_where_the_released_one_turns_negative() -> None:
    """D7.4: a proposal far from the pose loses in the code, and only gains nothing in print."""
    proposals = [[[9.0, 0.0], [0.0, 0.1]], [[-9.0, 0.0], [0.0, 0.1]], [[-9.0, 0.0], [0.0, 0.1]]]
    released = kde_routing(proposals, iterations=3)
    assert released.coefficients[0, 0] < released.coefficients[1, 0]
    paper = kde_routing(proposals, iterations=3, update="paper")
    assert paper.coefficients[0, 0] == paper.coefficients[1, 0]


def agreements(update: str, scale: float) -> list[tuple[float, ...]]:
    """Of 200 instances of random sizes, whose proposals are about `scale` long."""
    rng = np.random.default_rng(0)
    result = []
    for _ in range(200):
        inputs, outputs, width = rng.integers(2, 40), rng.integers(2, 8), rng.integers(2, 16)
        proposals = scale * rng.normal(size=(inputs, outputs, width)) / math.sqrt(width)
        result.append(kde_routing(proposals, iterations=8, update=update).agreement)  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize(
    ("update", "scale", "slack"),
    [
        ("paper", 0.3, 1e-12),
        ("paper", 1, 1e-12),
        ("released", 0.3, 1e-4),
        ("released", 1, 1e-4),
        ("released", 2, 1e-12),
    ],
)
def test_agreement_does_not_fall_over_rounds(update: str, scale: float, slack: float) -> None:
    """The released rule may lose some 5e-5 when it has settled."""
    for agreement in agreements(update, scale):
        assert np.diff(agreement).min() >= -slack


def test_agreement_may_fall_or_have_no_logarithm_where_released_kernels_are_negative() -> None:
    """D7.4, D7.12: proposals four times as long as a pose can be."""
    result = agreements("released", 4)
    assert any(np.nanmin(np.diff(agreement), initial=0) < -1 for agreement in result)
    assert any(math.isnan(agreement[0]) for agreement in result)


def test_adaptive_routing_stops_when_the_agreement_has_settled() -> None:
    proposals = GOLDEN[0]["proposals"]
    result = adaptive_kde_routing(proposals)
    changes = np.abs(np.diff((0.0, *result.agreement)))
    assert (changes[:-1] >= 0.05).all()
    assert changes[-1] < 0.05
    assert adaptive_kde_routing(proposals, epsilon=1e-4).rounds > result.rounds
    same = kde_routing(proposals, iterations=result.rounds)
    assert np.array_equal(same.poses, result.poses)


def test_the_first_agreement_may_end_it_by_accident() -> None:
    """The released loop compares the first round with 0: an agreement near 0 stops it before anything was routed."""
    result = adaptive_kde_routing(GOLDEN[2]["proposals"])
    assert result.rounds == 1
    assert abs(result.agreement[0]) < 0.05
    assert np.ptp(result.coefficients) < 1e-12


def test_routing_ends_where_no_proposal_lies_near_a_pose() -> None:
    far = [[[50.0], [9.0]], [[-50.0], [-9.0]]]
    result = adaptive_kde_routing(far, update="paper")
    assert result.rounds == 1
    assert math.isnan(result.agreement[0])
    assert result.poses.ravel().tolist() == [0.0, 0.0]


def test_inputs_in_another_order_give_the_same_poses() -> None:
    proposals = np.array(GOLDEN[1]["proposals"])
    for route in FUNCTIONS.values():
        np.testing.assert_allclose(route(proposals[::-1]).poses, route(proposals).poses, atol=1e-12)


def test_without_a_leak_an_input_goes_somewhere() -> None:
    proposals = GOLDEN[0]["proposals"]
    assert dynamic_routing(proposals, leaky=False).coefficients.sum(axis=1) == pytest.approx(np.ones(6))
    assert (dynamic_routing(proposals).coefficients.sum(axis=1) < 1).all()


@pytest.mark.parametrize(
    ("route", "error", "words"),
    [
        (lambda: kde_routing(np.zeros((2, 3))), InputError, r"\(inputs, outputs, width\)"),
        (lambda: kde_routing(np.zeros((0, 3, 2))), InputError, r"\(0, 3, 2\)"),
        (lambda: dynamic_routing([[[0.0], [math.nan]]]), InputError, "input 0 to output 1"),
        (lambda: kde_routing([[[0.0]]], iterations=0), RecipeError, "1 or more, got 0"),
        (lambda: dynamic_routing([[[0.0]]], iterations=-1), RecipeError, "1 or more, got -1"),
        (lambda: adaptive_kde_routing([[[0.0]]], epsilon=0), RecipeError, "above 0, got 0"),
        (lambda: kde_routing([[[0.0]]], step=math.inf), RecipeError, "above 0, got inf"),
        (lambda: kde_routing([[[0.0]]], update="print"), RecipeError, "released or paper"),  # type: ignore[arg-type]
        (lambda: squash([1.0], constant=0), RecipeError, "above 0, got 0"),
    ],
)
def test_what_cannot_be_routed_is_refused(route: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        route()
