"""What metrics look at on WMT17, ours beside the released ones (`python -m benchmarks.factor_claims --at DATA`).

The released scores of WMT do not say which year a row is of. Here they are put beside the rows of `wmt17-testset`
with the same output and human score, so that our metrics and theirs are fitted by the same factors on the same rows.
Figures stand in docs/findings.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nlgauge.data import JudgementTable, load
from nlgauge.explain.factors.columns import FactorOptions
from nlgauge.explain.factors.run import explain_factors
from nlgauge.published.robustness.reproduce import matched_rows
from nlgauge.report.factors import render_factors

__all__ = ["main", "with_released"]

_LEXICON = Path("explain/morph/morph_lex_wmt_en.tsv")
_RELEASED = ("bertscore", "moverscore", "sbert_wk", "bleurt")


def main(argv: Sequence[str] | None = None) -> int:
    """Join, fit, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factor_claims", description=__doc__)
    parser.add_argument("--at", default=os.environ.get("NLGAUGE_DATA"), help="folder of data sets ($NLGAUGE_DATA)")
    parser.add_argument("--metric", nargs="*", default=["bertscore", "moverscore", "bleu", "chrf"])
    parser.add_argument("--model", help="encoder of the metrics (minilm)")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N rows of each language pair")
    parser.add_argument("--vector-seed", type=int, default=1, help="of the word vectors of MOR (1)")
    options = parser.parse_args(argv)
    if not options.at:
        print("no folder of data sets; nothing was run", file=sys.stderr)
        return 0
    judged = load("wmt17-testset", options.at)
    if options.limit is not None:
        judged = judged.first_rows(options.limit)
    making = FactorOptions(lexicon=str(Path(options.at) / _LEXICON), seed=options.vector_seed)
    chosen = {"model": options.model} if options.model else {}
    joined = with_released(judged, load("factors-wmt", options.at))
    print(
        render_factors(explain_factors(joined, options.metric, released=_RELEASED, making=making, **chosen)), end=""
    )
    return 0


def with_released(judged: JudgementTable, scored: JudgementTable) -> JudgementTable:
    """The rows that both have, with the texts of the first and the released scores of the second."""
    here, there = matched_rows(judged, scored)
    return replace(judged.take(here), released={name: values[there] for name, values in scored.released.items()})


if __name__ == "__main__":
    sys.exit(main())
