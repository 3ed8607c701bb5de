"""Linguistic factors: how much of a metric is explained by meaning, syntax, lexical overlap and morphology."""

from nlgauge.studies.factors.columns import FactorOptions
from nlgauge.studies.factors.surrogate import (
    Effect,
    FactorStudy,
    Surrogate,
    explain_columns,
    explain_factors,
    fit_surrogates,
)

__all__ = [
    "Effect",
    "FactorOptions",
    "FactorStudy",
    "Surrogate",
    "explain_columns",
    "explain_factors",
    "fit_surrogates",
]
