"""Sums over resampled and swapped units, beside draws made one by one."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.resampling import (
    bootstrap_counts,
    bootstrap_sums,
    expanded_tail,
    sum_by_unit,
    swap_sums,
    unit_numbers,
)

COLUMNS = np.random.default_rng(1).normal(size=(17, 3))


def all_of(blocks: object) -> np.ndarray:
    return np.concatenate(list(blocks))  # type: ignore[call-overload]


def test_a_resample_is_a_draw_with_replacement() -> None:
    draw = np.random.default_rng(5).integers(0, 17, size=(8, 17))
    sums = all_of(bootstrap_sums(COLUMNS, resamples=8, seed=5))
    assert sums == pytest.approx(COLUMNS[draw].sum(axis=1))


def test_a_draw_depends_on_the_seed_and_not_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [all_of(draw(COLUMNS, resamples=40, seed=5)) for draw in (bootstrap_sums, swap_sums)]
    assert not np.allclose(whole[0], all_of(bootstrap_sums(COLUMNS, resamples=40, seed=6)))
    monkeypatch.setattr("nlgauge.stats.resampling._CELLS", 60)
    assert len(list(bootstrap_counts(17, 40, 5))) > 10
    assert all_of(bootstrap_sums(COLUMNS, resamples=40, seed=5)) == pytest.approx(whole[0])
    assert all_of(swap_sums(COLUMNS, resamples=40, seed=5)) == pytest.approx(whole[1])


def test_signs_are_fair_and_independent() -> None:
    signs = all_of(swap_sums(np.eye(70), resamples=4000, seed=5))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert np.abs(signs.mean(axis=0)).max() < 4.5 / np.sqrt(4000)
    assert np.abs(np.corrcoef(signs.T) - np.eye(70)).max() < 5 / np.sqrt(4000)


def test_units_are_summed_in_order_of_appearance() -> None:
    sums = sum_by_unit(COLUMNS[:4], ["b", "a", "b", "c"])
    assert sums == pytest.approx(np.stack([COLUMNS[0] + COLUMNS[2], COLUMNS[1], COLUMNS[3]]))
    assert sum_by_unit(COLUMNS, None) is COLUMNS


def test_tails_go_further_out_for_few_units() -> None:
    """t_9(.025) is -2.2622; times sqrt(10/9) it is -2.3845, with a normal tail of .00855 (tables)."""
    assert expanded_tail(0.95, 10) == pytest.approx(0.00855, abs=1e-5)
    assert expanded_tail(0.9, 10**6) == pytest.approx(0.05, abs=1e-5)


def test_units_are_numbered_as_they_come() -> None:
    assert unit_numbers(["b", "a", "b", "c"], 4).tolist() == [0, 1, 0, 2]
    assert unit_numbers(np.array([7, 7, 3]), 3).tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="each of 3 values, got 2"):
        unit_numbers(["a", "b"], 3)
