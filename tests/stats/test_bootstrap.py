"""The bootstrap interval of a mean."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats import bootstrap_mean


def test_it_agrees_with_the_normal_interval_on_a_large_sample() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.2, size=2000)
    interval = bootstrap_mean(values, resamples=4000)
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_the_seed_decides_and_the_level_widens() -> None:
    values = np.random.default_rng(1).random(50)
    assert bootstrap_mean(values) == bootstrap_mean(values)
    assert bootstrap_mean(values, seed=0) != bootstrap_mean(values, seed=1)
    narrow, wide = bootstrap_mean(values, level=0.5), bootstrap_mean(values, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "non-empty"),
        ([1.0, float("nan")], {}, "index 1"),
        ([1.0], {"level": 1.0}, "level"),
        ([1.0], {"resamples": 0}, "resamples"),
        ([1.0], {"seed": -1}, "seed"),
    ],
)
def test_bad_input_is_named(values: list[float], options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bootstrap_mean(values, **options)
