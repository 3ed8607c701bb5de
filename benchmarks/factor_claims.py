"""What metrics look at, ours beside the released ones (`python -m benchmarks.factor_claims --at DATA`).

The released scores of WMT do not say which year a row is of. Here they are put beside the rows of `wmt17-testset`
with the same output and human score, so that our metrics and theirs are fitted by the same factors on the same rows.
Figures stand in docs/findings.
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

#: By data set: the released lexicon of word forms.
DATA = {"wmt17-testset": "morph_lex_wmt_en.tsv", "factors-sts": "morph_lex_sts_en.tsv"}
#: Gigabytes of layer vectors that are kept, where a folder is named: mpnet's of all these texts are 12.
CACHE_SIZE = 40.0
_RELEASED = ("bertscore", "moverscore", "sbert_wk", "bleurt")


def main(argv: Sequence[str] | None = None) -> int:
    """Join, fit, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factor_claims", description=__doc__)
    add_shared_options(parser)
    parser.add_argument("--data", choices=DATA, default="wmt17-testset")
    parser.add_argument("--metric", nargs="*", default=["bertscore", "moverscore", "bleu", "chrf"])
    parser.add_argument("--model", help="encoder of the metrics (minilm)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N rows of each language pair (all)")
    parser.add_argument("--pairs", type=int, metavar="N", help="only so many pairs, drawn with --seed (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the pairs that are drawn (1)")
    parser.add_argument("--vector-seed", type=int, default=1, help="of the word vectors of MOR (1)")
    options = parser.parse_args(argv)
    if not options.at:
        print("no folder of data sets; nothing was run", file=sys.stderr)
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
    """Where the data is, and how to compute."""
    parser.add_argument("--at", default=os.environ.get("NLGAUGE_DATA"), help="folder of data sets ($NLGAUGE_DATA)")
    parser.add_argument("--cache", metavar="FOLDER", help="keep layer vectors there for the next run")
    parser.add_argument("--threads", type=int)


def judged_and_released(data: str, at: str) -> JudgementTable:
    """A data set with the released scores and factors of its rows."""
    if data == "factors-sts":
        return load(data, at)
    return with_released(load(data, at), load("factors-wmt", at))


def with_released(judged: JudgementTable, scored: JudgementTable) -> JudgementTable:
    """The rows that both have, with the texts of the first and the released scores of the second."""
    here, there = matched_rows(judged, scored)
    return replace(judged.take(here), released={name: values[there] for name, values in scored.released.items()})


def drawn_rows(table: JudgementTable, count: int, *, seed: int) -> JudgementTable:
    """So many rows of the table, drawn at random, in its order."""
    return table.take(sorted(random.Random(seed).sample(range(len(table)), count)))


if __name__ == "__main__":
    sys.exit(main())
