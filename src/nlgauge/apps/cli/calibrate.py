"""`nlgauge study calibrate`: fit how often human raters agree with a metric, by the size of a difference."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from nlgauge.apps.cli.common import (
    check_metrics,
    metric_options,
    output_flags,
    report,
    run_options,
    scoring_flags,
    write_figure,
    write_output,
)
from nlgauge.apps.cli.datasets import DATA_NAME, DataOptions, data_folder
from nlgauge.apps.cli.flags import Command, Flags, given_options
from nlgauge.core.kinds import Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import join_recipe
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import recipes_and_run
from nlgauge.data.cards import find_data_card, load
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError
from nlgauge.io.storage import short_digest
from nlgauge.studies.calibrate.study import CalibrateOptions, calibrate


@dataclass(frozen=True, kw_only=True)
class CalibrateData(OptionSet):
    """Data sets whose pairs of systems are pooled."""

    data: tuple[str, ...] = option(
        (), Many(DATA_NAME, least=1), help="data sets, one per year, see 'nlgauge data list'", required=True
    )
    target: str | None = option(
        None, Text("a language"), help="use only language pairs into this language, such as en", unset="all"
    )


def _calibrate(args: argparse.Namespace) -> int:
    check_metrics(args)
    options = given_options(args, CalibrateOptions)
    tables = [_load(args, name) for name in args.data]
    recipes, _ = recipes_and_run(args.metric, metric_options(args))
    run = RunOptions.of(run_options(args))
    study = calibrate(tables, [join_recipe(recipe) for recipe in recipes], run=run, **options)
    if args.output != "-":
        write_output("-", study.render(args.format, decimals=args.decimals))
    write_figure(args.plot, study.save_figure)
    write_output(args.output, study.curves.text())
    size = f"curves of {len(study.curves.curves)} metrics, {short_digest(study.digest)}"
    return report(args, f"{args.output}: {size}; use it with nlgauge compare --curves {args.output}")


def _load(args: argparse.Namespace, name: str) -> JudgementTable:
    """Load complete outputs of the systems of a data set, of the chosen language pairs that it has."""
    card = find_data_card(name)
    options = {"level": "system"} if "level" in card.options else {}
    table = load(card.name, data_folder(args, card.name), **options)
    pairs = [pair for pair in table.langpairs if not args.langpairs or pair in args.langpairs]
    pairs = [pair for pair in pairs if args.target is None or pair.rpartition("-")[2] == args.target]
    if not pairs:
        flags = "--langpairs and --target" if args.langpairs and args.target else "--langpairs"
        flags = flags if args.langpairs else f"--target {args.target}"
        msg = f"{flags}: {table.name} has no such language pair; it has {', '.join(table.langpairs)}"
        raise InputError(msg)
    return table if len(pairs) == len(table.langpairs) else table.where(langpair=pairs)


COMMANDS = {
    "study calibrate": Command(
        run=_calibrate,
        flags=(
            Flags(CalibrateData, "data", only=["data"]),
            Flags(DataOptions, "data", only=["at", "langpairs"]),
            Flags(CalibrateData, "data", only=["target"]),
            *scoring_flags(),
            Flags(CalibrateOptions, "calibration"),
            output_flags(
                4,
                formats=("text", "json", "tsv", "csv", "markdown"),
                plot="figure of curves and reliability diagrams: .png, .svg or .pdf",
            ),
        ),
        description="Fit how often human raters prefer the same system as a metric, by the size of the difference. "
        "The data are all pairs of systems within a year and language pair.",
        examples="""\
  nlgauge study calibrate --data wmt17 wmt18 --target en -m bertscore chrf --segments 1000 -o curves.json
  nlgauge study calibrate --data summeval --references 1 -m bertscore -o curves.json --plot curves.png
""",
    ),
}
