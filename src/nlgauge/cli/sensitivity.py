"""`nlgauge sensitivity`: how much does preprocessing move the score, and does it change who wins?"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from nlgauge.cli.common import add_run_options, run_options, text_source
from nlgauge.cli.data_options import add_data_options, load_data
from nlgauge.cli.score import read_texts
from nlgauge.data import JudgementTable
from nlgauge.errors import OldNameWarning, RecipeError
from nlgauge.plots import check_figure, plot_ranks, plot_variation
from nlgauge.recipes.run_options import RunOptions
from nlgauge.report.sensitivity import sensitivity_report
from nlgauge.sensitivity.presets import DEFAULT_METRICS, PRESETS, preset
from nlgauge.sensitivity.run import StudyOptions, run_study, systems_table
from nlgauge.sensitivity.study import Study, load_study

__all__ = ["add_commands"]

_EXAMPLES = """\
examples:
  nlgauge sensitivity a.txt b.txt --refs ref.txt --preset all
  nlgauge sensitivity --preset stopwords --metric moverscore bertscore --data wmt17-testset --at FOLDER
  nlgauge sensitivity --study mine.toml --data tac2008 --at FOLDER --state mine.state --format json
"""


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    defaults = StudyOptions()
    parser = commands.add_parser(
        "sensitivity",
        allow_abbrev=False,
        help="how far scores, correlations and ranks move with preprocessing",
        description="Vary stop words, idf, sub-words, punctuation or layers: what moves, and who swaps places?",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("hyps", nargs="*", type=text_source, metavar="HYP", help="outputs of systems, as in score")
    parser.add_argument("-r", "--refs", nargs="+", type=text_source, metavar="REF", help="references, as in score")
    parser.add_argument("-s", "--source", type=text_source, metavar="SRC", help="source texts, as in score")
    parser.add_argument("--input-format", choices=("text", "tsv", "jsonl"), help="of all inputs")
    data = add_data_options(parser, title="data with human judgements, instead of files", required=False)
    data.add_argument("--without-humans", action="store_true", help="leave out systems that are people")
    data.add_argument("--without-people", action="store_true", help=argparse.SUPPRESS)
    data.add_argument("--rows", type=int, metavar="N", help="the first N rows of each language pair and system")
    what = parser.add_argument_group("what varies")
    what.add_argument("--preset", choices=PRESETS, help="a published grid, or all of them")
    what.add_argument("--study", metavar="FILE", help="a study of your own, as TOML")
    what.add_argument("-m", "--metric", nargs="+", metavar="METRIC", help=f"default: {' '.join(DEFAULT_METRICS)}")
    what.add_argument(
        "--idf-corpus", nargs="+", default=[], metavar="FILE", help="text files to count idf on (idf, all)"
    )
    what.add_argument("--lang", default="", help="language of stop words; default: of each pair's target, or en")
    measured = parser.add_argument_group("what is measured")
    measured.add_argument("--level", nargs="+", choices=("segment", "topic", "system"), default=list(defaults.levels))
    measured.add_argument(
        "--agreement", choices=("pearson", "spearman", "kendall"), default=defaults.agreement, help="(%(default)s)"
    )
    measured.add_argument("--criterion", help="human criterion; default: the data set's")
    measured.add_argument("--ddof", type=int, choices=(0, 1), default=defaults.ddof, help="of the CV (%(default)s)")
    measured.add_argument("--alpha", type=float, default=defaults.alpha, metavar="P", help="of flips (%(default)s)")
    measured.add_argument("--resamples", type=int, default=defaults.resamples, metavar="N", help="(%(default)s)")
    measured.add_argument("--seed", type=int, default=defaults.seed, metavar="N", help="(%(default)s)")
    add_run_options(parser)
    parser.add_argument("--state", metavar="FILE", help="keeps what is finished, so that an interrupted run goes on")
    parser.add_argument("-f", "--format", choices=("text", "json", "latex", "tsv"), default="text")
    parser.add_argument("-w", "--width", type=int, default=4, metavar="N", help="decimals (%(default)s)")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="bars of CV and RD (.png, .svg, .pdf), and FILE-ranks: scores by setting, with flips",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if bool(args.hyps) == bool(args.data):
        msg = "give either files of systems with --refs, or --data NAME --at PATH"
        raise RecipeError(msg)
    if not 0 <= args.width <= 17:
        msg = f"--width is a number of decimals from 0 to 17, got {args.width}"
        raise RecipeError(msg)
    if args.without_people:
        msg = "--without-people is called --without-humans now; the old name works until 0.3"
        warnings.warn(msg, OldNameWarning, stacklevel=2)
        args.without_humans = True
    study = _study(args)
    options = StudyOptions(
        agreement=args.agreement,
        criterion=args.criterion,
        levels=tuple(args.level),
        ddof=args.ddof,
        alpha=args.alpha,
        resamples=args.resamples,
        seed=args.seed,
        lang=args.lang,
    )
    target = Path(args.plot) if args.plot else None
    if target is not None:
        check_figure(target)
    result = run_study(study, _table(args), options=options, state=args.state, **run_options(args))
    sys.stdout.write(sensitivity_report(result, format=args.format, width=args.width))
    if target is not None:
        plot_variation(result, target)
        if any(len(ranking.systems) > 1 for ranking in result.rankings):
            plot_ranks(result, target.with_stem(f"{target.stem}-ranks"))
    return 0


def _study(args: argparse.Namespace) -> Study:
    if bool(args.preset) == bool(args.study):
        msg = f"say what varies: --preset ({', '.join(PRESETS)}) or --study FILE, one of the two"
        raise RecipeError(msg)
    if args.study:
        if args.idf_corpus:
            msg = "--idf-corpus belongs to --preset; a study names it as a value of idf: corpus:FILE"
            raise RecipeError(msg)
        made = load_study(args.study)
        return Study(args.metric, made.sweeps, made.name) if args.metric else made
    loading = RunOptions.of(run_options(args)).loading
    return preset(args.preset, args.metric or DEFAULT_METRICS, idf_corpora=args.idf_corpus, loading=loading)


def _table(args: argparse.Namespace) -> JudgementTable:
    if args.data:
        if args.refs or args.source:
            msg = f"--data {args.data} has texts of its own; leave out --refs and --source"
            raise RecipeError(msg)
        table = load_data(args)
        table = table.without_humans() if args.without_humans else table
        return table if args.rows is None else _first_rows(table, args.rows)
    if (
        not (args.refs or args.source)
        or args.at
        or args.langpairs
        or args.set
        or args.without_humans
        or args.rows is not None
    ):
        msg = (
            "files of systems need --refs or --source; "
            "--at, --langpairs, --set, --without-humans and --rows go with --data"
        )
        raise RecipeError(msg)
    texts = read_texts(args)
    return systems_table(texts.systems, texts.references, sources=texts.sources, lang=args.lang or "en")


def _first_rows(table: JudgementTable, count: int) -> JudgementTable:
    if count < 2:
        msg = f"--rows must be at least 2, got {count}"
        raise RecipeError(msg)
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for row, group in enumerate(zip(table.langpair, table.system, strict=True)):
        seen[group] += 1
        if seen[group] <= count:
            kept.append(row)
    return table.take(kept)
