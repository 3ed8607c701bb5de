"""Surrogates of metrics: rows that are left out are counted, and what cannot be fitted is refused by name."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.factors.surrogate import Intervals, fit_surrogates

RNG = np.random.default_rng(5)
LEX, SYN = RNG.normal(size=(2, 60))
METRIC = 0.8 * LEX + 0.1 * SYN + 0.2 * RNG.normal(size=60)


def test_a_metric_that_looks_at_one_factor_shows_it():
    study = fit_surrogates({"m": METRIC, "noise": RNG.normal(size=60)}, {"LEX": LEX, "SYN": SYN})
    result = study.surrogate("m")
    assert result.effect("LEX").coefficient > 0.8 > result.effect("SYN").high
    assert result.r2 > 0.9 > study.surrogate("noise").r2
    assert result.effect("LEX").low < result.effect("LEX").coefficient < result.effect("LEX").high
    np.testing.assert_allclose(1 - np.mean((result.observed - result.fitted) ** 2), result.r2)


def test_rows_without_a_value_are_left_out_for_all_metrics_and_counted():
    syn, metric = SYN.copy(), METRIC.copy()
    syn[[3, 7]] = math.nan
    metric[7] = math.nan
    study = fit_surrogates({"m": metric, "n": METRIC}, {"LEX": LEX, "SYN": syn})
    assert study.dropped == {"m": 1, "SYN": 2}
    assert {surrogate.rows for surrogate in study.surrogates} == {58}
    assert study.rows == 60
    keep = ~np.isnan(syn)
    other = fit_surrogates({"n": METRIC[keep]}, {"LEX": LEX[keep], "SYN": SYN[keep]})
    assert other.surrogate("n").effects == study.surrogate("n").effects


def test_a_factor_of_its_own_is_fitted_with_and_without():
    study = fit_surrogates({"m": METRIC}, {"LEX": LEX}, own={"CLB": {"m": SYN}})
    assert [(surrogate.metric, surrogate.factors) for surrogate in study.surrogates] == [
        ("m (without CLB)", ("LEX",)),
        ("m", ("LEX", "CLB")),
    ]
    assert study.surrogates[1].r2 > study.surrogates[0].r2


def test_as_plain_data():
    study = fit_surrogates({"m": METRIC}, {"LEX": LEX}, data="mine", intervals=Intervals(resamples=100))
    plain = json.loads(json.dumps(study.to_dict()))
    assert plain["surrogates"][0]["effects"][0]["factor"] == "LEX"
    assert plain["intervals"] == {"level": 0.95, "resamples": 100, "seed": 12345}
    assert "<table" in study._repr_html_()
    assert repr(study) == "<FactorStudy mine: m by LEX; 60 of 60 rows>"


@pytest.mark.parametrize(
    ("metrics", "factors", "said"),
    [
        ({"m": METRIC}, {"LEX": np.ones(60)}, "LEX is 1.0 in all 60 rows"),
        ({"m": METRIC}, {"LEX": LEX, "TWICE": 2 * LEX + 1}, "LEX, TWICE are linear combinations"),
        ({"m": METRIC[:3]}, {"LEX": LEX[:3], "SYN": SYN[:3]}, "3 rows are too few for 2 factors"),
        (
            {"m": METRIC},
            {"LEX": np.full(60, math.nan)},
            "none of 60 rows has values of all metrics and factors; missing: LEX",
        ),
        ({"m": METRIC}, {"LEX": np.full(60, math.inf)}, "LEX must have a finite number or NaN per row"),
        ({"m": METRIC}, {"LEX": LEX[:5]}, "LEX has 5 values, but m has 60"),
        ({"m": METRIC}, {"m": METRIC}, "'m' is both a metric and a factor"),
        ({"m": METRIC}, {}, "needs a metric and a factor"),
        ({"m": ["a"]}, {"LEX": LEX}, "m: expected numbers"),
    ],
)
def test_data_that_cannot_be_fitted_is_an_error(metrics, factors, said):
    with pytest.raises(InputError, match=said):
        fit_surrogates(metrics, factors)


def test_unknown_metric_and_factor_are_errors():
    study = fit_surrogates({"m": METRIC}, {"LEX": LEX})
    with pytest.raises(InputError, match="no metric 'x'; it has m"):
        study.surrogate("x")
    with pytest.raises(InputError, match="has no factor 'x'; it has LEX"):
        study.surrogate("m").effect("x")
