"""Agreement between human raters: `nlgauge study raters`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from nlgauge.apps.cli.common import output_flags
from nlgauge.apps.cli.flags import Command, Flags, given_options
from nlgauge.core.kinds import InputFile, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.studies.meta.raters import RaterAgreement, RaterOptions, load_ratings, rater_agreement


@dataclass(frozen=True, kw_only=True)
class RatingsFile(OptionSet):
    """A table of ratings."""

    file: str = option(
        "",
        InputFile(),
        help="table with a column per rater and a row per item: .tsv, .csv, .jsonl, or .gz of these",
        positional=True,
        required=True,
        metavar="FILE",
    )
    raters: tuple[str, ...] = option((), Many(Text("a column")), help="columns with ratings", unset="all")
    missing: tuple[str, ...] = option(
        (), Many(Text("a word")), help="words for a missing rating", unset="empty cells", metavar="WORD"
    )


def _raters(args: argparse.Namespace) -> RaterAgreement:
    ratings = load_ratings(args.file, columns=args.raters, missing=args.missing)
    return rater_agreement(ratings, **given_options(args, RaterOptions))


COMMANDS = {
    "study raters": Command(
        run=_raters,
        flags=(Flags(RatingsFile, "ratings"), Flags(RaterOptions), output_flags(3)),
        description="Measure how well raters agree: percent agreement, Cohen's kappa, Fleiss' kappa and "
        "Krippendorff's alpha, with bootstrap intervals over items.",
        examples="""\
  nlgauge study raters ratings.tsv --scale ordinal
  nlgauge study raters ratings.csv --raters anna ben --weights quadratic
  nlgauge study raters ratings.csv --scale ordinal --order poor fair good
""",
    )
}
