"""Layers by hand, and how many parameters the published network has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="torch is not installed")

from nlp_capsule import EURLEX, CapsuleConfig, CapsuleNetwork, count_parameters, new_network  # noqa: E402
from nlp_capsule.array_routing import adaptive_kde_routing, squash  # noqa: E402
from nlp_capsule.layers import Compression, FeatureMaps, PrimaryCapsules, Proposals  # noqa: E402

from nlgauge.errors import InputError, RecipeError  # noqa: E402

SMALL = CapsuleConfig(vocabulary=11, labels=5, words=6, dimensions=10, filters=3, capsule=4, compressed=7)
TEXTS = torch.tensor([[2, 3, 4, 0, 0, 0], [5, 6, 7, 8, 9, 10], [1, 1, 2, 2, 3, 0]])


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("relu", [False, True])
def test_a_filter_sees_all_words_and_slides_along_dimensions(relu: bool) -> None:
    """D7.2: m_i = f(sum of W o X) over columns i to i + k, in steps of two."""
    layer = FeatureMaps(6, 10, filters=3, widths=(2, 4), relu=relu)
    x = numbers(2, 6, 10)
    result = layer(torch.from_numpy(x)).detach().numpy()
    columns = []
    for value, width in zip(layer.maps, (2, 4), strict=True):
        weight, bias = value.weight.detach().numpy(), value.bias.detach().numpy()
        for start in range(0, 10 - width + 1, 2):
            columns.append(np.einsum("fwk,bwk->bf", weight, x[:, :, start : start + width]) + bias)
    expected = np.stack(columns, axis=2)
    assert expected.shape[2] == layer.columns == 5 + 4
    np.testing.assert_allclose(result, np.maximum(expected, 0) if relu else expected, atol=1e-5)
    assert (expected < 0).any()


def test_columns_of_the_published_sizes() -> None:
    """446 columns of 32 filters: the 14,272 that stand in the released code as a number."""
    layer = FeatureMaps(1, 300, filters=32, widths=(2, 4, 8), relu=False)
    assert layer.columns * 32 == 14_272


def test_released_capsules_read_their_components_from_neighbouring_columns() -> None:
    """D7.1, D7.15, D7.16: all filters are mixed, squashed with .5 over the width, and read in the order of memory."""
    layer = PrimaryCapsules(3, 4, released=True, constant=0.5)
    x = numbers(2, 3, 5)
    result = layer(torch.from_numpy(x)).detach().numpy()
    weight, bias = layer.mix.weight.detach().numpy()[:, :, 0], layer.mix.bias.detach().numpy()
    mixed = (np.einsum("of,bfc->boc", weight, x) + bias[:, None]).reshape(2, 4, 3, 5)
    squashed = np.moveaxis(squash(np.moveaxis(mixed, 1, -1), constant=0.5), -1, 1)
    np.testing.assert_allclose(result, squashed.reshape(2, 15, 4), atol=1e-6)


def test_printed_capsules_are_a_number_times_one_vector() -> None:
    """D7.15: p_i = g(m_i w), so all capsules lie on one line, and squash has the constant 1."""
    layer = PrimaryCapsules(3, 4, released=False, constant=1.0)
    x = numbers(2, 3, 5)
    result = layer(torch.from_numpy(x)).detach().numpy()
    expected = squash(x.reshape(2, 15, 1) * layer.line.detach().numpy())
    np.testing.assert_allclose(result, expected, atol=1e-6)
    assert np.linalg.matrix_rank(result.reshape(-1, 4), tol=1e-5) == 1


def test_compression_is_a_weighted_sum_of_all_capsules() -> None:
    layer = Compression(9, 2)
    x = numbers(3, 9, 4)
    expected = np.einsum("nm,bnd->bmd", layer.weights.detach().numpy(), x)
    np.testing.assert_allclose(layer(torch.from_numpy(x)).detach().numpy(), expected, atol=1e-5)


def test_proposals_for_some_outputs_are_those_among_all() -> None:
    layer = Proposals(6, 8, 4)
    x = torch.from_numpy(numbers(3, 6, 4))
    everything = layer(x)
    assert everything.shape == (3, 6, 8, 4)
    by_hand = layer.weights[5, 2] @ x[1, 2]
    torch.testing.assert_close(everything[1, 2, 5], by_hand)
    chosen = torch.tensor([[7, 0], [1, 1], [3, 7]])
    some = layer(x, chosen)
    for index, labels in enumerate(chosen):
        torch.testing.assert_close(some[index], everything[index][:, labels])


@pytest.mark.parametrize("profile", ["released", "paper"])
def test_the_network_is_its_layers_and_nlgauge_s_routing(profile: str) -> None:
    network = new_network(replace(SMALL, profile=profile))
    routed = network(TEXTS)
    proposals = network.proposals(network.condense(TEXTS)).detach().double().numpy()
    for index, proposal in enumerate(proposals):
        expected = adaptive_kde_routing(proposal, update=profile)  # type: ignore[arg-type]
        np.testing.assert_allclose(routed.poses[index].detach(), expected.poses, atol=1e-5)


@pytest.mark.parametrize("routing", ["adaptive", "kde", "dynamic"])
def test_a_text_has_the_same_poses_alone_and_in_a_batch(routing: str) -> None:
    network = new_network(replace(SMALL, routing=routing))
    together = network(TEXTS).poses
    for index in range(len(TEXTS)):
        torch.testing.assert_close(network(TEXTS[index : index + 1]).poses[0], together[index], atol=1e-6, rtol=1e-5)


def test_first_weights_depend_on_the_seed_alone() -> None:
    def weights(seed: int) -> list[np.ndarray]:
        return [parameter.detach().numpy() for parameter in new_network(SMALL, seed=seed).parameters()]

    first = weights(3)
    torch.manual_seed(99)
    assert all(np.array_equal(a, b) for a, b in zip(first, weights(3), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, weights(4), strict=True))


def test_parameters_at_the_size_of_eur_lex() -> None:
    """D7.17: ten times what is in print, 14.06 M; each layer by the shapes of the released code."""
    counts = count_parameters(EURLEX)
    assert counts == {
        "table": 30_002 * 300,
        "features": 500 * 32 * (2 + 4 + 8) + 3 * 32,
        "primary": 32 * 512 + 512,
        "compression": 14_272 * 128,
        "proposals": 128 * 3_956 * 16 * 16,
        "all": 140_698_616,
    }
    made = CapsuleNetwork(SMALL)
    assert count_parameters(SMALL)["all"] == sum(parameter.numel() for parameter in made.parameters())


def test_word_vectors_may_be_given() -> None:
    vectors = numbers(11, 10)
    network = new_network(SMALL, vectors=vectors)
    assert np.array_equal(network.table.weight.detach().numpy(), vectors)
    with pytest.raises(InputError, match=r"\(11, 10\), got \(11, 9\)"):
        new_network(SMALL, vectors=vectors[:, :9])


def test_settings_that_make_no_network_are_refused() -> None:
    with pytest.raises(RecipeError, match="labels must be 1 or more, got 0"):
        replace(SMALL, labels=0)
    with pytest.raises(RecipeError, match="released, paper, got 'print'"):
        replace(SMALL, profile="print")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="between 1 and the 10 dimensions"):
        CapsuleNetwork(replace(SMALL, widths=(2, 11)))
    with pytest.raises(InputError, match="rows of 6 word numbers"):
        new_network(SMALL)(TEXTS[:, :5])
