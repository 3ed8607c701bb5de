"""`nlgauge align lexicon`: the word probabilities of parallel texts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from nlgauge.apps.cli.align_fit import parallel_texts
from nlgauge.apps.cli.common import MESSAGES, check_has_name, output_file, report, saving
from nlgauge.apps.cli.flags import Command, Flags
from nlgauge.core.kinds import Float, Int, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.io.storage import short_digest
from nlgauge.studies.alignment.lexicon import LEAST, train_lexicon


@dataclass(frozen=True, kw_only=True)
class LexiconOptions(OptionSet):
    """Parallel texts whose word probabilities are fitted."""

    source: str = option(
        "", TextColumn(), help="texts, one per line, words separated by spaces", required=True, positional=True
    )
    target: str = option("", TextColumn(), help="their translations, line by line", required=True, positional=True)
    rounds: int = option(5, Int(1), help="rounds of expectation maximisation")
    least: float = option(LEAST, Float(0, 1), help="lowest probability to keep", metavar="P")


def _lexicon(args: argparse.Namespace) -> int:
    check_has_name(args.output, "the lexicon")
    source, target = parallel_texts([args.source, args.target])
    lexicon = train_lexicon(source, target, rounds=args.rounds, least=args.least)
    with saving(args.output) as path:
        lexicon.save(path)
    counts = [len(way.cells.probability) for way in (lexicon.forward, lexicon.backward)]
    return report(
        args,
        f"{args.output}: {counts[0]} and {counts[1]} pairs of words from {lexicon.pairs} pairs of texts, "
        f"{short_digest(lexicon.digest)}",
    )


LEXICON = Command(
    run=_lexicon,
    flags=(Flags(LexiconOptions), output_file("lexicon (.npz)"), MESSAGES._replace(title="run")),
    help="fit word probabilities to parallel texts",
    description="Fit the word probabilities of IBM model 1 to parallel texts, in both directions, for the metric "
    "ibm1. Words are separated by spaces; letter case and punctuation around a word are ignored.",
    examples="""\
  nlgauge align lexicon train.de train.en -o lexicon.npz
  nlgauge score out.en -s src.de -m ibm1:lexicon=lexicon.npz
""",
)
