"""What metrics that are fooled have in common (`python -m benchmarks.fooled_claims --at DATA`).

For each metric, the nine released ones and ours: the coefficients of SEM and LEX on STS-B and on WMT17, by the
released factors, and the share of adversarial triples of Freitag et al. and of PAWS whose paraphrase wins. Then
Spearman's rho between the two over metrics. Figures stand in docs/findings.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import spearmanr

from benchmarks.ensemble_claims import RELEASED
from benchmarks.factor_claims import CACHE_SIZE, DATA, add_shared_options, judged_and_released
from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import load
from nlgauge.errors import NlgaugeWarning
from nlgauge.io.table import Cell, Table
from nlgauge.studies.factors.surrogate import Intervals, explain_factors
from nlgauge.studies.stress.triples import released_wins, score_triples, triples_of_table

__all__ = ["main"]

_WITHOUT_MODEL = ("bleu", "chrf", "rougel")
_WITH_MODEL = ("bertscore:", "moverscore:", "moverscore:n=2,", "xmoverscore:unit=sentence,against=refs,")
_TRIPLES = ("freitag", "paws")


def main(argv: Sequence[str] | None = None) -> int:
    """Score, fit, count, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fooled_claims", description=__doc__)
    add_shared_options(parser)
    parser.add_argument("--models", nargs="*", default=["minilm", "mpnet"], help="encoders of our metrics")
    options = parser.parse_args(argv)
    if not options.at:
        print("no folder of data sets; nothing was run", file=sys.stderr)
        return 0
    warnings.simplefilter("ignore", NlgaugeWarning)
    ours = [*_WITHOUT_MODEL, *(f"{metric}model={model}" for model in options.models for metric in _WITH_MODEL)]
    run = {"cache": options.cache, "cache_size": CACHE_SIZE, "threads": options.threads}
    found = {
        f"{factor} {data}": values
        for data in DATA
        for factor, values in _coefficients(data, options.at, ours, run).items()
    }
    for name in _TRIPLES:
        found[name] = _wins(name, options.at, ours, run)
    _report(found, ours)
    return 0


def _coefficients(data: str, at: str, ours: Sequence[str], run: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Of SEM and LEX, by metric."""
    study = explain_factors(
        judged_and_released(data, at),
        list(ours),
        factors=["SEM", "syn", "lex", "mor"],
        released=RELEASED,
        intervals=Intervals(resamples=1),
        run=RunOptions(**run),
    )
    return {
        name: {one.metric: one.effect(factor).coefficient for one in study.surrogates}
        for name, factor in (("SEM", "SEM"), ("LEX", "lex"))
    }


def _wins(name: str, at: str, ours: Sequence[str], run: Mapping[str, Any]) -> dict[str, float]:
    """Shares of triples whose paraphrase wins, by metric."""
    triples = triples_of_table(load(name, at))
    studies = released_wins(triples, RELEASED), score_triples(triples, list(ours), **run)
    return {one.metric: one.share for study in studies for one in study.metrics}


def _report(found: Mapping[str, Mapping[str, float]], ours: Sequence[str]) -> None:
    rows: list[list[Cell]] = [[name, *(values[name] for values in found.values())] for name in (*RELEASED, *ours)]
    print(Table(["metric", *found], rows).to_text(width=3))
    lines: list[list[Cell]] = []
    for triples in _TRIPLES:
        for column in (one for one in found if one not in _TRIPLES):
            for label, names in (("released", RELEASED), ("all", (*RELEASED, *ours))):
                rho, p = spearmanr([found[column][name] for name in names], [found[triples][name] for name in names])
                lines.append([triples, column, label, len(names), float(rho), float(p)])
    print(Table(["triples", "coefficient", "metrics", "n", "rho", "p"], lines).to_text(width=3), end="")


if __name__ == "__main__":
    sys.exit(main())
