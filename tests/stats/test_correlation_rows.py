"""Rows correlated at once, against one by one."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import RecipeError
from nlgauge.stats.correlation import correlate, correlate_rows


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_rows_have_the_values_of_single_lists(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    gold = np.round(rng.normal(size=9) * 2)
    values = np.round(rng.normal(size=(30, 9)) * 2)
    values[4] = 1.0
    expected = [correlate(row, gold, kind=kind, undefined="nan").value for row in values]
    assert correlate_rows(values, gold, kind=kind) == pytest.approx(expected, abs=1e-14, nan_ok=True)
    assert np.isnan(correlate_rows(values, gold, kind=kind)[4])
    monkeypatch.setattr("nlgauge.stats.correlation._CELLS", 200)
    assert correlate_rows(values, gold, kind=kind) == pytest.approx(expected, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_constant_human_scores_have_no_value(kind: str) -> None:
    assert np.isnan(correlate_rows(np.arange(8.0).reshape(2, 4), np.ones(4), kind=kind)).all()


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(RecipeError, match="'taub'"):
        correlate_rows(np.ones((1, 2)), np.ones(2), kind="taub")
