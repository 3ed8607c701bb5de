"""Routing of torch batches equals routing of arrays, instance by instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="torch is not installed")

from nlp_capsule import array_routing as arrays  # noqa: E402
from nlp_capsule import routing  # noqa: E402

from nlgauge.errors import InputError, RecipeError  # noqa: E402

#: As in nlgauge, and with the options that have another rule.
CASES = [
    ("kde_routing", {}),
    ("kde_routing", {"iterations": 5, "step": 0.5, "update": "paper"}),
    ("adaptive_kde_routing", {}),
    ("adaptive_kde_routing", {"epsilon": 1e-3}),
    ("adaptive_kde_routing", {"update": "paper", "epsilon": 0.01}),
    ("dynamic_routing", {}),
    ("dynamic_routing", {"leaky": False, "iterations": 2}),
]


def proposals(*shape: int, scale: float = 1.0) -> Any:
    chance = np.random.default_rng(list(shape))
    # Instances of different lengths, so that they settle at different times.
    spread = np.linspace(0.2, 2.0, shape[0]).reshape(-1, 1, 1, 1)
    return torch.from_numpy(chance.normal(size=shape) * spread * scale / np.sqrt(shape[-1]))


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("shape", [(5, 6, 4, 3), (4, 30, 2, 16), (3, 8, 9, 2)])
def test_a_batch_is_routed_as_its_arrays_are_one_by_one(
    name: str, options: dict[str, Any], shape: tuple[int]
) -> None:
    u = proposals(*shape)
    result = getattr(routing, name)(u, **options)
    for index, item in enumerate(u):
        expected = getattr(arrays, name)(item.numpy(), **options)
        np.testing.assert_allclose(result.poses[index], expected.poses, atol=1e-6)
        np.testing.assert_allclose(result.activations[index], expected.activations, atol=1e-6)
        np.testing.assert_allclose(result.coefficients[index], expected.coefficients, atol=1e-6)
        np.testing.assert_allclose(result.agreement[index], expected.agreement[-1], atol=1e-6)
        assert result.rounds[index] == expected.rounds


def test_instances_of_one_batch_stop_on_their_own() -> None:
    """D7.6: in single precision too, neighbours move nothing."""
    u = proposals(12, 20, 5, 8, scale=3.0).float()
    together = routing.adaptive_kde_routing(u, epsilon=1e-3)
    assert len(set(together.rounds.tolist())) > 2
    for index in range(len(u)):
        alone = routing.adaptive_kde_routing(u[index : index + 1], epsilon=1e-3)
        assert alone.rounds[0] == together.rounds[index]
        torch.testing.assert_close(alone.poses[0], together.poses[index], atol=1e-6, rtol=1e-5)


def test_squash_is_nlgauge_s() -> None:
    values = np.random.default_rng(0).normal(size=(7, 5))
    for constant in (0.5, 1.0):
        result = routing.squash(torch.from_numpy(values), constant=constant)
        np.testing.assert_allclose(result, arrays.squash(values, constant=constant), atol=1e-6)
    assert routing.squash(torch.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("route", [routing.kde_routing, routing.adaptive_kde_routing, routing.dynamic_routing])
def test_filling_is_routed_nowhere(route: Callable[..., Any]) -> None:
    """An instance with fewer outputs is routed as if the places after them were not there."""
    u = proposals(3, 6, 5, 4)
    weights = torch.ones(3, 5)
    weights[1, 3:] = 0
    result = route(u, weights=weights)
    short = route(u[1:2, :, :3])
    torch.testing.assert_close(result.poses[1, :3], short.poses[0])
    torch.testing.assert_close(result.coefficients[1, :, :3], short.coefficients[0])
    assert result.activations[1, 3:].tolist() == [0, 0]
    assert not result.coefficients[1, :, 3:].any()
    torch.testing.assert_close(result.poses[0], route(u[:1]).poses[0])


def test_drawn_outputs_weigh_lambda_in_the_agreement() -> None:
    """D7.7 by hand: after one round shares are alike, and kernels of drawn outputs count half."""
    u = torch.zeros(1, 2, 2, 1, dtype=torch.float64)
    u[0, :, 1, 0] = torch.tensor([1.0, 0.0])
    whole = routing.kde_routing(u, iterations=1)
    halved = routing.kde_routing(u, iterations=1, weights=torch.tensor([[1.0, 0.5]]))
    pose = 0.5 * 0.5 / (0.5 + 0.25)
    kernels = 0.5 * (1 - (1 / 1.5 - pose) ** 2) + 0.5 * (1 - pose**2)
    assert float(whole.agreement) == pytest.approx(np.log(1 + kernels))
    assert float(halved.agreement) == pytest.approx(np.log(1 + 0.5 * kernels))
    torch.testing.assert_close(whole.poses, halved.poses)
    # In the second round what was drawn has gained half as much.
    u = torch.tensor([[[[1.0], [0.2]], [[0.9], [0.5]]]], dtype=torch.float64)
    first = routing.kde_routing(u, iterations=1, update="paper")
    second = routing.kde_routing(u, iterations=2, update="paper", weights=torch.tensor([[1.0, 0.5]])).coefficients
    kernel = 1 - (u - first.poses.unsqueeze(1)).abs().squeeze(-1)
    logits = (first.coefficients + kernel * torch.tensor([1.0, 0.5])).exp()
    torch.testing.assert_close(second, logits / (1 + logits.sum(dim=2, keepdim=True)))


@pytest.mark.parametrize("update", ["released", "paper"])
def test_gradients_flow_and_are_finite(update: str) -> None:
    u = proposals(3, 6, 4, 5)
    u[0] = 0  # nothing at all is proposed
    u.requires_grad_()
    weights = torch.ones(3, 4)
    weights[2, 2:] = 0
    routed = routing.adaptive_kde_routing(u, update=update, weights=weights)
    routed.activations.sum().backward()
    assert u.grad.isfinite().all()
    assert u.grad[1].abs().sum() > 0
    assert not u.grad[2, :, 2:].any()


def test_gradients_are_those_of_differences() -> None:
    u = proposals(1, 4, 3, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: routing.kde_routing(x).poses, (u,))
    assert torch.autograd.gradcheck(lambda x: routing.dynamic_routing(x).poses, (u,))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: routing.kde_routing(torch.zeros(2, 3, 1)), InputError, r"\(batch, inputs, outputs, width\)"),
        (lambda: routing.kde_routing(torch.full((1, 1, 2, 1), torch.nan)), InputError, "has training diverged"),
        (lambda: routing.kde_routing(torch.zeros(1, 1, 2, 1), weights=torch.ones(1, 3)), InputError, r"\(1, 2\)"),
        (lambda: routing.kde_routing(torch.zeros(1, 1, 2, 1), weights=torch.zeros(1, 2)), InputError, "above 0"),
        (lambda: routing.kde_routing(torch.zeros(1, 1, 2, 1), iterations=0), RecipeError, "1 or more"),
        (lambda: routing.dynamic_routing(torch.zeros(1, 1, 2, 1), iterations=0), RecipeError, "1 or more"),
        (lambda: routing.adaptive_kde_routing(torch.zeros(1, 1, 2, 1), epsilon=0), RecipeError, "above 0"),
        (lambda: routing.kde_routing(torch.zeros(1, 1, 2, 1), update="print"), RecipeError, "released or paper"),
        (lambda: routing.kde_routing(torch.zeros(1, 1, 2, 1), step=0), RecipeError, "above 0"),
        (lambda: routing.squash(torch.zeros(1), constant=0), RecipeError, "above 0"),
    ],
)
def test_what_cannot_be_routed_is_refused(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
