"""Fit our metrics and the released ones by linguistic factors (`python -m benchmarks.factor_claims --at DATA`).

The released scores of WMT lack the year of a row. They are joined with the rows of `wmt17-testset` by output and
human score, so our metrics and theirs are fitted by the same factors on the same rows. Results: docs/findings.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.studies.factors.columns import FactorOptions
from nlgauge.studies.factors.surrogate import explain_factors
from nlgauge.studies.published.released import matched_rows

__all__ = ["CACHE_SIZE", "DATA", "add_shared_options", "drawn_rows", "judged_and_released", "main", "with_released"]

#: Released lexicon of word forms by data set.
DATA = {"wmt17-testset": "morph_lex_wmt_en.tsv", "factors-sts": "morph_lex_sts_en.tsv"}
#: Size limit in GB of the cache of layer vectors; mpnet's vectors of all these texts take 12.
CACHE_SIZE = 40.0
_RELEASED = ("bertscore", "moverscore", "sbert_wk", "bleurt")


def main(argv: Sequence[str] | None = None) -> int:
    """Join the tables, fit the factors and print the study."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factor_claims", description=__doc__)
    add_shared_options(parser)
    parser.add_argument("--data", choices=DATA, default="wmt17-testset")
    parser.add_argument("--metric", nargs="*", default=["bertscore", "moverscore", "bleu", "chrf"])
    parser.add_argument("--model", help="encoder of the metrics (default: minilm)")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="use the first N rows per language pair (default: all)"
    )
    parser.add_argument("--pairs", type=int, metavar="N", help="number of pairs, drawn with --seed (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the drawn pairs (default: 1)")
    parser.add_argument(
        "--vector-seed", type=int, default=1, help="random seed of the word vectors of MOR (default: 1)"
    )
    options = parser.parse_args(argv)
    if not options.at:
        print("folder of data sets is not set: use --at FOLDER or NLGAUGE_DATA", file=sys.stderr)
        return 0
    table = judged_and_released(options.data, options.at)
    if options.limit is not None:
        table = table.first_rows(options.limit)
    if options.pairs is not None:
        table = drawn_rows(table, options.pairs, seed=options.seed)
    lexicon = Path(options.at) / "explain" / "morph" / DATA[options.data]
    study = explain_factors(
        table,
        options.metric,
        released=_RELEASED,
        making=FactorOptions(lexicon=str(lexicon), seed=options.vector_seed),
        run=RunOptions(cache=options.cache, cache_size=CACHE_SIZE, threads=options.threads),
        **({"model": options.model} if options.model else {}),
    )
    print(study.render(), end="")
    return 0


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of data sets and of the run."""
    parser.add_argument(
        "--at", default=os.environ.get("NLGAUGE_DATA"), help="folder of data sets (default: $NLGAUGE_DATA)"
    )
    parser.add_argument("--cache", metavar="FOLDER", help="cache folder of layer vectors")
    parser.add_argument("--threads", type=int)


def judged_and_released(data: str, folder: str) -> JudgementTable:
    """Load a data set with the released scores and factors of its rows."""
    if data == "factors-sts":
        return load(data, folder)
    return with_released(load(data, folder), load("factors-wmt", folder))


def with_released(judged: JudgementTable, scored: JudgementTable) -> JudgementTable:
    """Join the rows of both: texts of the first, released scores of the second."""
    left, right = matched_rows(judged, scored)
    return replace(judged.take(left), released={name: values[right] for name, values in scored.released.items()})


def drawn_rows(table: JudgementTable, count: int, *, seed: int) -> JudgementTable:
    """Draw rows of the table at random, in its order."""
    return table.take(sorted(random.Random(seed).sample(range(len(table)), count)))


if __name__ == "__main__":
    sys.exit(main())
