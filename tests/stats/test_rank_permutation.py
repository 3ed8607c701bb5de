"""PERM-BOTH for Kendall and Spearman by products of matrices, against correlating every draw."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from tests.stats.made_scores import Array, made_scores, naive_p, signs_of

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import correlate
from nlgauge.stats.permutation import swap_signs
from nlgauge.stats.rank_permutation import permutation_both_of_systems, permutation_both_ranks

KINDS = ("kendall", "spearman")


def coefficient(kind: str, human: Array) -> Callable[[Array], float]:
    return lambda values: correlate(values, human, kind=kind, undefined="nan").value


def slow(scores: Array, statistic: Callable[[Array], float], *, resamples: int, seed: int) -> Array:
    """The definition: every draw of every pair of metrics correlated on its own."""
    size = len(scores)
    p_values = np.full((size, size), np.nan)
    for i in range(size):
        for j in range(size):
            if i != j:
                signs = signs_of(scores[i].size, resamples, seed)
                p_values[i, j] = naive_p(scores[i], scores[j], statistic, signs)
    return p_values


def rounded_scores(rows: int, *, step: float, seed: int = 0) -> tuple[Array, Array]:
    """Scores with many ties, within a metric and between metrics; the last metric is the first on another scale."""
    rng = np.random.default_rng(seed)
    human = np.round(2 * rng.normal(size=rows))
    scores = np.round((human + 2 * rng.normal(size=(3, rows))) / step) * step
    return np.concatenate([scores, scores[:1] * 2 + 1]), human


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "step"), [(9, 2.0), (30, 0.5), (30, 1e-9)])
def test_every_p_value_is_that_of_the_definition(kind: str, rows: int, step: float) -> None:
    scores, human = rounded_scores(rows, step=step)
    result = permutation_both_ranks(scores, human, kind=kind, resamples=60, seed=3)
    r = coefficient(kind, human)
    assert result.correlations == pytest.approx([r(row) for row in scores], abs=1e-14)
    assert np.array_equal(result.p_values, slow(scores, r, resamples=60, seed=3), equal_nan=True)
    assert result.p_values[0, 3] == result.p_values[3, 0] == 1  # the same metric twice


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_means_over_groups_are_those_of_the_definition(kind: str) -> None:
    rng = np.random.default_rng(2)
    groups = rng.permutation(np.repeat([4, 9, 2, 7, 5], [7, 5, 1, 6, 7]))
    human = rng.integers(0, 4, size=groups.size).astype(float)
    human[groups == 7] = 3.0  # says nothing
    scores = np.round(human + rng.normal(size=(3, groups.size)) * 2)
    scores[1, groups == 9] = np.array([1, 1, 1, 1, 2])  # constant in some draws

    def mean(values: Array) -> float:
        parts = [
            correlate(values[groups == g], human[groups == g], kind=kind, undefined="nan").value for g in (4, 5, 9)
        ]
        return float(np.nanmean(parts))

    result = permutation_both_ranks(scores, human, kind=kind, groups=groups, resamples=60, seed=5)
    assert np.array_equal(result.p_values, slow(scores, mean, resamples=60, seed=5), equal_nan=True)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_long_lists_and_small_blocks_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = rounded_scores(40, step=0.5)
    groups = np.arange(40) % 3
    whole = permutation_both_ranks(scores, human, kind=kind, groups=groups, resamples=50).p_values
    monkeypatch.setattr("nlgauge.stats.numeric.BLOCK_CELLS", 90)
    for name, value in (("BLOCK_CELLS", 90), ("MOST_KENDALL", 5), ("_MOST_SPEARMAN", 5)):
        monkeypatch.setattr(f"nlgauge.stats.rank_permutation.{name}", value)
        again = permutation_both_ranks(scores, human, kind=kind, groups=groups, resamples=50).p_values
        assert np.array_equal(whole, again, equal_nan=True)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["pearson", *KINDS])
@pytest.mark.parametrize("join", [np.mean, np.median])
def test_systems_are_those_of_the_definition(kind: str, join: Callable[..., Array]) -> None:
    rng = np.random.default_rng(4)
    quality = np.round(rng.normal(size=6), 1)
    cube = quality[:, None] + rng.normal(size=(3, 6, 9)) * np.array([1.0, 3.0, 6.0])[:, None, None]
    aggregate = partial(join, axis=-1)
    messages: list[int] = []
    result = permutation_both_of_systems(
        cube, quality, kind=kind, aggregate=aggregate, resamples=60, seed=11, advance=messages.append
    )
    statistic = coefficient(kind, quality)
    expected = slow(cube, lambda values: statistic(aggregate(values)), resamples=60, seed=11)
    assert np.array_equal(result.p_values, expected, equal_nan=True)
    assert sum(messages) == 3


def test_every_pair_of_metrics_is_reported() -> None:
    scores, human = made_scores(metrics=4, rows=20)
    messages: list[int] = []
    permutation_both_ranks(scores, human, kind="kendall", resamples=20, advance=messages.append)
    assert messages == [1] * 6


def test_add_one_avoids_zero() -> None:
    human = np.arange(40.0)
    noise = np.random.default_rng(1).normal(size=40)
    plain = permutation_both_ranks([human, noise], human, kind="kendall", resamples=99)
    assert plain.p_values[0, 1] == 0
    assert (
        permutation_both_ranks([human, noise], human, kind="kendall", resamples=99, add_one=True).p_values[0, 1]
        == 0.01
    )


def test_p_values_are_uniform_when_the_metrics_are_equally_good() -> None:
    small = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=40)
        scores = human + rng.normal(size=(2, 40))
        small += bool(permutation_both_ranks(scores, human, kind="kendall", resamples=200).p_values[0, 1] <= 0.1)
    assert 3 <= small <= 20  # expected 10 of 100; beyond these bounds with a chance of one in a thousand


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "pearson"}, RecipeError, "permutation_both_pearson"),
        ({"kind": "kendall", "groups": [1, 2]}, InputError, "one label per row"),
        ({"kind": "kendall", "groups": [1, 2, 3]}, InputError, "constant in each of 3"),
        ({"kind": "kendall", "resamples": 0}, InputError, "resamples"),
    ],
)
def test_invalid_rank_tests_are_refused(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        permutation_both_ranks([[1, 2, 3], [3, 1, 2]], [1, 2, 3], **options)  # type: ignore[arg-type]


def test_systems_of_another_number_are_refused() -> None:
    with pytest.raises(InputError, match="x 3 systems x segments"):
        permutation_both_of_systems(
            np.ones((2, 2, 5)), [1, 2, 3], kind="kendall", aggregate=partial(np.mean, axis=-1)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_whole_documents_are_swapped(kind: str) -> None:
    scores, human = rounded_scores(30, step=0.5)
    documents = np.repeat(np.arange(10), 3)
    result = permutation_both_ranks(scores, human, kind=kind, clusters=documents, resamples=60, seed=3)
    signs = np.concatenate(list(swap_signs(10, 60, 3)))[documents]
    r = coefficient(kind, human)
    z = (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    for i, j in ((0, 1), (2, 0)):
        pairs = [(np.where(s > 0, z[i], z[j]), np.where(s > 0, z[j], z[i])) for s in signs.T]
        deltas = np.array([r(first) - r(other) for first, other in pairs])
        assert result.p_values[i, j] == np.mean(deltas >= r(z[i]) - r(z[j]) - 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_for_each_row_changes_no_bit(kind: str) -> None:
    scores, human = made_scores(rows=40)
    plain, single = (
        permutation_both_ranks(scores, human, kind=kind, clusters=clusters, resamples=60)
        for clusters in (None, range(40))
    )
    assert plain.p_values.tobytes() == single.p_values.tobytes()
