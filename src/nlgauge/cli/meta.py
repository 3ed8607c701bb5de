"""`nlgauge meta`: how well metrics agree with people on a data set. `nlgauge tune-layer`: which layer does best."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from nlgauge.cli.common import (
    add_metric_options,
    add_run_options,
    add_text_options,
    metric_options,
    run_options,
    write_file,
)
from nlgauge.cli.data_options import add_data_options, load_data
from nlgauge.data import find_data_card
from nlgauge.meta import (
    AGREEMENTS,
    LEVELS,
    Question,
    Significance,
    check_question,
    evaluate,
    released_rows,
    score_table,
    sentinels_of,
    tune_layer,
)
from nlgauge.plots import check_figure, plot_agreement
from nlgauge.recipes.run_options import RunOptions
from nlgauge.report.agreement import render_agreement
from nlgauge.report.table import Marked, Table

__all__ = ["add_commands"]

_EXAMPLES = """\
examples:
  nlgauge meta --data wmt17 --at DATA/wmt17 --metric bertscore moverscore baryscore chrf --plot wmt17.png
  nlgauge meta --data tac2008 --at DATA --level topic --criterion responsiveness --metric rouge1 rouge2
  nlgauge meta --data custom --at mine.tsv --set hypothesis=mt references=ref human=adequacy,fluency
  nlgauge tune-layer --model mpnet --data wmt15 --at DATA
"""


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser(
        "meta",
        allow_abbrev=False,
        help="correlate metrics with human judgements",
        description="Score a data set with human judgements, and say how well each metric agrees with people.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_data_options(parser)
    add_metric_options(parser)
    add_text_options(parser)
    asked = parser.add_argument_group("agreement")
    asked.add_argument("--level", choices=LEVELS, default="segment", help="(%(default)s)")
    asked.add_argument(
        "--agreement", nargs="+", choices=AGREEMENTS, default=["pearson"], help="one table each (pearson)"
    )
    asked.add_argument("--criterion", help="human criterion (default: the data set's own)")
    asked.add_argument(
        "--aggregate", choices=("mean", "median"), default="mean", help="of a system's scores (%(default)s)"
    )
    asked.add_argument(
        "--released", nargs="+", default=[], metavar="NAME", help="scores that came with the data, as rows"
    )
    asked.add_argument("--no-sentinels", action="store_true", help="leave out the rows of length, chance and copying")
    tests = parser.add_argument_group("significance")
    defaults = Significance()
    tests.add_argument(
        "--test",
        choices=("default", "permutation", "bootstrap", "williams", "none"),
        default=defaults.test,
        help="(%(default)s)",
    )
    tests.add_argument("--alpha", type=float, default=defaults.alpha, help="(%(default)s)")
    tests.add_argument("--correction", choices=("bonferroni", "holm"), help="for the number of pairs of metrics")
    tests.add_argument("--resamples", type=int, default=defaults.resamples, metavar="N", help="(%(default)s)")
    tests.add_argument("--seed", type=int, default=defaults.seed, metavar="N", help="(%(default)s)")
    add_run_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("-f", "--format", choices=("text", "json", "tsv", "latex"), default="text")
    output.add_argument("-w", "--width", type=int, default=3, metavar="N", help="decimals (%(default)s)")
    output.add_argument("--plot", metavar="FILE", help="bars with bootstrap intervals: .png, .svg or .pdf")
    parser.set_defaults(run=_meta)

    tune = commands.add_parser(
        "tune-layer",
        allow_abbrev=False,
        help="find the layer that agrees best with people",
        description="Score a data set with BERTScore (F, no idf) at every layer of a model; the layer with the best "
        "average correlation is the best.",
    )
    add_data_options(tune)
    tune.add_argument("--model", default="minilm", help="(%(default)s)")
    tune.add_argument("--agreement", choices=AGREEMENTS[:3], default="pearson", help="(%(default)s)")
    add_run_options(tune)
    tune.add_argument("-f", "--format", choices=("text", "json", "tsv", "latex"), default="text")
    tune.add_argument("-o", "--output", default="-", metavar="FILE", help="default: stdout")
    tune.set_defaults(run=_tune)


def _meta(args: argparse.Namespace) -> int:
    target = Path(args.plot) if args.plot else None
    if target is not None:
        check_figure(target)
    card = find_data_card(args.data)
    args.data = card.name
    whole = args.level == "system" and "level" in card.options
    more = {"level": "system"} if whole else {}
    table = load_data(args, **more)
    significance = Significance(
        test=args.test,
        alpha=args.alpha,
        correction=args.correction,
        resamples=args.resamples,
        seed=args.seed,
    )
    asked = {"level": args.level, "criterion": args.criterion, "aggregate": args.aggregate}
    released = [released_rows(table, name) for name in args.released]
    for agreement in args.agreement:  # what has no answer is an error before the work, not after
        question = Question(agreement=agreement, **asked)
        check_question(question, table)
        significance.resolved(question)
    run = RunOptions.of({"long": args.long, "empty": args.empty, **run_options(args)})
    scored = score_table(table, args.metric, run=run, **metric_options(args)).add(*released)
    if not args.no_sentinels:
        scored = scored.add(*sentinels_of(table))
    results = [
        evaluate(scored, agreement=agreement, significance=significance, **asked) for agreement in args.agreement
    ]
    sys.stdout.write(render_agreement(results, format=args.format, width=args.width))
    if target is not None:
        for number, result in enumerate(results):
            plot_agreement(result, target if number == 0 else target.with_stem(f"{target.stem}-{result.agreement}"))
    return 0


def _tune(args: argparse.Namespace) -> int:
    found = tune_layer(load_data(args), model=args.model, agreement=args.agreement, **run_options(args))
    if args.format == "json":
        write_file(args.output, json.dumps(found.to_dict(), indent=2) + "\n")
        return 0
    rows = [
        [layer, *row, Marked(average) if layer == found.best else average]
        for layer, (row, average) in enumerate(zip(found.values.tolist(), found.averages.tolist(), strict=True))
    ]
    note = f"* best layer: {found.best} (model {found.model}, BERTScore F without idf, {found.agreement})"
    grid = Table(["layer", *found.langpairs, "average"], rows, f"{found.data}: agreement by layer", [note])
    write = {"text": grid.to_text, "tsv": grid.to_tsv, "latex": grid.to_latex}[args.format]
    write_file(args.output, write(width=4))
    return 0
