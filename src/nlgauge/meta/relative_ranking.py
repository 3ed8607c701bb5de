"""Segments judged by relative rankings (WMT18 and WMT19): the rows that count, and WMT's tau on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nlgauge.data import JudgementTable, RankedPairs
from nlgauge.stats import relative_ranking

__all__ = ["ranked_rows", "ranking_tau"]


def ranked_rows(table: JudgementTable, pairs: RankedPairs) -> JudgementTable:
    """Only the outputs that stand in a pair; idf is counted on these."""
    named = {
        key
        for systems in (pairs.better, pairs.worse)
        for key in zip(pairs.langpair, systems, pairs.segment, strict=True)
    }
    return table.take([at for at, key in enumerate(_outputs(table)) if key in named])


def ranking_tau(
    table: JudgementTable, oriented: NDArray[np.float64], pairs: RankedPairs, langpair: str
) -> tuple[float, str]:
    """WMT's tau of the scores of rows, higher being better, on the pairs of a language pair.

    The text says why there is none where it is nan.
    """
    by_output = dict(zip(_outputs(table), oriented, strict=True))
    rows = [at for at, pair in enumerate(pairs.langpair) if pair == langpair]
    better, worse = (
        [by_output.get((langpair, systems[at], pairs.segment[at]), np.nan) for at in rows]
        for systems in (pairs.better, pairs.worse)
    )
    found = relative_ranking(better, worse, undefined="nan")
    return found.value, found.reason or ""


def _outputs(table: JudgementTable) -> list[tuple[str, str, str]]:
    return list(zip(table.langpair, table.system, table.segment, strict=True))
