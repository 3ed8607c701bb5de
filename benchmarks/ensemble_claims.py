"""Search for the best averages of two metrics, including released scores.

`python -m benchmarks.ensemble_claims --at DATA` runs the search of `nlgauge study ensemble` on the rows of
`wmt17-testset` with their released scores (see `benchmarks.factor_claims`), and with our metrics if `--metric` names
some. Results: docs/findings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.factor_claims import CACHE_SIZE, add_shared_options, judged_and_released
from nlgauge.core.run_options import RunOptions
from nlgauge.studies.ensembles import search_ensembles
from nlgauge.studies.meta.row_scores import ScoredJudgements, released_rows
from nlgauge.studies.meta.score_judgements import score_judgements

__all__ = ["RELEASED", "main"]

#: The metrics of the linguistic-factor study.
RELEASED = ("bertscore", "moverscore", "laser", "sbert", "sbert_wk", "labse", "msbert", "bleurt", "muse")


def main(argv: Sequence[str] | None = None) -> int:
    """Join the tables, run the search and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ensemble_claims", description=__doc__)
    add_shared_options(parser)
    parser.add_argument("--released", nargs="*", default=list(RELEASED), help="released scores (default: all nine)")
    parser.add_argument("--metric", nargs="*", default=[], help="metrics of nlgauge, such as bertscore:model=mpnet")
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--seed", type=int, default=12345, help="random seed of the halves (default: 12345)")
    options = parser.parse_args(argv)
    if not options.at:
        print("folder of data sets is not set: use --at FOLDER or NLGAUGE_DATA", file=sys.stderr)
        return 0
    table = judged_and_released("wmt17-testset", options.at)
    scored = ScoredJudgements(table, ())
    if options.metric:
        run = RunOptions(cache=options.cache, cache_size=CACHE_SIZE, threads=options.threads)
        scored = score_judgements(table, options.metric, run=run)
    study = search_ensembles(
        scored.add(*(released_rows(table, name) for name in options.released)).oriented,
        table.gold(),
        table.langpair,
        table.segment,
        data=table.name,
        splits=options.splits,
        seed=options.seed,
    )
    print(study.render(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
