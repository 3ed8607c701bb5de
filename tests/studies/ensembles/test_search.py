"""The search for the best pair does not take luck for a gain."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.ensembles import EnsembleSearch, search_ensembles

ROWS = 400


def found(metrics: dict[str, np.ndarray], human: np.ndarray, **options: int) -> EnsembleSearch:
    segments = [str(row // 2) for row in range(len(human))]
    return search_ensembles(metrics, human, ["de-en"] * len(human), segments, data="made", **options)


def noisy(count: int, *, signal: float, seed: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Metrics that are people plus noise of their own, alike in quality."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=ROWS)
    return {f"m{n}": signal * human + rng.normal(size=ROWS) for n in range(count)}, human


def test_metrics_that_complete_each_other_gain_on_both_halves() -> None:
    metrics, human = noisy(4, signal=0.5)
    result = found(metrics, human, splits=10)
    assert result.held_out_gain > 0.1
    assert len(result.pairs) == 6
    assert sum(pair.chosen for pair in result.pairs) == 10
    # Noise of one deviation each: r is s / sqrt(s^2 + 1) alone and s / sqrt(s^2 + 1/2) together, a gain of 29 %.
    assert result.pairs[0].gain == pytest.approx(0.29, abs=0.1)


def test_what_looks_best_on_a_half_is_less_good_on_the_other() -> None:
    metrics, human = noisy(12, signal=0.15)  # of equal quality: the best pair of a half is luck
    result = found(metrics, human, splits=20)
    search = np.mean([choice.search_correlation for choice in result.choices])
    held_out = np.mean([choice.held_out_correlation for choice in result.choices])
    assert search > held_out + 0.05
    low, high = result.held_out_range
    assert low <= result.held_out_gain <= high


def test_the_same_seed_gives_the_same_search() -> None:
    metrics, human = noisy(3, signal=0.5)
    first, two = (json.dumps(found(metrics, human, splits=5, seed=7).to_dict()) for _ in range(2))
    assert first == two
    assert first != json.dumps(found(metrics, human, splits=5, seed=8).to_dict())


def test_rows_that_nobody_judged_are_left_out() -> None:
    metrics, human = noisy(3, signal=0.5)
    gaps = human.copy()
    gaps[:10] = np.nan
    assert found(metrics, gaps, splits=3).rows == ROWS - 10


def test_bad_input_is_refused() -> None:
    metrics, human = noisy(3, signal=0.5)
    with pytest.raises(RecipeError, match="at least three metrics, got 2"):
        found({name: metrics[name] for name in ("m0", "m1")}, human)
    with pytest.raises(RecipeError, match="splits must be a whole number from 1, got 0"):
        found(metrics, human, splits=0)
    with pytest.raises(InputError, match="cannot be standardised"):
        found(metrics | {"constant": np.zeros(ROWS)}, human)
    with pytest.raises(InputError, match="too few for a correlation"):
        search_ensembles(
            metrics, human, ["de-en"] * (ROWS - 2) + ["cs-en"] * 2, [str(n) for n in range(ROWS)], splits=2
        )


@pytest.mark.parametrize("form", ["text", "tsv", "latex", "markdown", "json"])
def test_every_format(form: str) -> None:
    metrics, human = noisy(3, signal=0.5)
    text = found(metrics, human, splits=3).render(form)
    assert "m0" in text
    assert text.endswith("\n")
