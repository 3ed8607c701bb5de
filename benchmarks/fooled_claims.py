"""Relate linguistic factors of metrics to their robustness (`python -m benchmarks.fooled_claims --at DATA`).

For each metric, the nine released ones and ours: the coefficients of SEM and LEX on STS-B and on WMT17 by the
released factors, and the share of adversarial triples of Freitag et al. and of PAWS whose paraphrase wins. Then
Spearman's rho between the two over metrics. Results: docs/findings.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import spearmanr

from benchmarks.factor_claims import CACHE_SIZE, DATA, add_shared_options, judged_and_released
from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import load
from nlgauge.errors import NlgaugeWarning
from nlgauge.io.table import Cell, Table
from nlgauge.studies.factors.surrogate import Intervals, explain_factors
from nlgauge.studies.stress.triples import released_wins, score_triples, triples_of_table

__all__ = ["main"]

#: The metrics of the linguistic-factor study.
RELEASED = ("bertscore", "moverscore", "laser", "sbert", "sbert_wk", "labse", "msbert", "bleurt", "muse")

_WITHOUT_MODEL = ("bleu", "chrf", "rougel")
_WITH_MODEL = ("bertscore:", "moverscore:", "moverscore:n=2,", "xmoverscore:unit=sentence,against=refs,")
_TRIPLES = ("freitag", "paws")


def main(argv: Sequence[str] | None = None) -> int:
    """Score, fit the factors, count wins and print the correlations."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fooled_claims", description=__doc__)
    add_shared_options(parser)
    parser.add_argument("--models", nargs="*", default=["minilm", "mpnet"], help="encoders of our metrics")
    options = parser.parse_args(argv)
    if not options.at:
        print("folder of data sets is not set: use --at FOLDER or NLGAUGE_DATA", file=sys.stderr)
        return 0
    warnings.simplefilter("ignore", NlgaugeWarning)
    ours = [*_WITHOUT_MODEL, *(f"{metric}model={model}" for model in options.models for metric in _WITH_MODEL)]
    run = {"cache": options.cache, "cache_size": CACHE_SIZE, "threads": options.threads}
    columns = {
        f"{factor} {data}": values
        for data in DATA
        for factor, values in _coefficients(data, options.at, ours, run).items()
    }
    for name in _TRIPLES:
        columns[name] = _wins(name, options.at, ours, run)
    _report(columns, ours)
    return 0


def _coefficients(data: str, folder: str, ours: Sequence[str], run: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Coefficients of SEM and LEX by metric."""
    study = explain_factors(
        judged_and_released(data, folder),
        list(ours),
        factors=["SEM", "syn", "lex", "mor"],
        released=RELEASED,
        intervals=Intervals(resamples=1),
        run=RunOptions(**run),
    )
    return {
        name: {surrogate.metric: surrogate.effect(factor).coefficient for surrogate in study.surrogates}
        for name, factor in (("SEM", "SEM"), ("LEX", "lex"))
    }


def _wins(name: str, folder: str, ours: Sequence[str], run: Mapping[str, Any]) -> dict[str, float]:
    """Share of triples whose paraphrase wins, by metric."""
    triples = triples_of_table(load(name, folder))
    studies = released_wins(triples, RELEASED), score_triples(triples, list(ours), **run)
    return {metric.metric: metric.share for study in studies for metric in study.metrics}


def _report(columns: Mapping[str, Mapping[str, float]], ours: Sequence[str]) -> None:
    rows: list[list[Cell]] = [[name, *(values[name] for values in columns.values())] for name in (*RELEASED, *ours)]
    print(Table(["metric", *columns], rows).to_text(width=3))
    lines: list[list[Cell]] = []
    for triples in _TRIPLES:
        for column in (item for item in columns if item not in _TRIPLES):
            for label, names in (("released", RELEASED), ("all", (*RELEASED, *ours))):
                rho, p = spearmanr(
                    [columns[column][name] for name in names], [columns[triples][name] for name in names]
                )
                lines.append([triples, column, label, len(names), float(rho), float(p)])
    print(Table(["triples", "coefficient", "metrics", "n", "rho", "p"], lines).to_text(width=3), end="")


if __name__ == "__main__":
    sys.exit(main())
