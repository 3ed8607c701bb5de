"""`nlgauge compare --until-certain`: score only as many segments as the verdict needs."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from nlgauge.apps.cli.common import (
    check_documents,
    check_metrics,
    join_texts,
    read_documents,
    run_options,
    segment_names,
    write_output,
)
from nlgauge.apps.cli.flags import read_options, refuse_flags
from nlgauge.apps.cli.gate import gate_systems, write_and_decide, write_not_run
from nlgauge.apps.cli.system_files import SystemFiles, check_twice
from nlgauge.core.kinds import Flag
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import RecipeError
from nlgauge.io.textfiles import read_parallel
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.early_comparison import EarlyComparison, gate_early
from nlgauge.studies.compare.stopping import StopRule
from nlgauge.studies.compare.until_certain import call_until_certain


@dataclass(frozen=True, kw_only=True)
class UntilCertainOptions(OptionSet):
    """The option of a comparison that stops early."""

    until_certain: bool = option(False, Flag(), help="stop scoring as soon as the verdict is certain")


#: Options that need the scores of all segments.
_ALL_SEGMENTS = (
    *(name for name in CompareSettings.options() if name not in ("alpha", "seed")),
    *("scores", "runs", "budget", "best_of", "report", "title", "report_alignments", "plot", "plot_pairs"),
    *("all", "table", "percent"),
)


def compare_early(args: argparse.Namespace) -> int:
    """Run the command; only the two systems of a gate are scored."""
    refuse_flags(args, _ALL_SEGMENTS, "needs the scores of all segments; leave out --until-certain")
    with write_not_run(args):
        comparison = _compare(args)
    decimals = args.decimals if "decimals" in args.given else None

    def write() -> None:
        write_output(args.output, comparison.render(args.format, decimals=decimals))

    return write_and_decide(args, comparison.gate, write)


def _compare(args: argparse.Namespace) -> EarlyComparison:
    files = SystemFiles.of(args.hyps, runs=False)
    if files.saved:
        msg = "--until-certain scores texts, and saved runs are scored already; leave it out"
        raise RecipeError(msg)
    not_worse = args.gate and args.margin is not None
    rule = read_options(args, StopRule, {"goal": "not-worse"} if not_worse else {})
    metrics = args.metric or ["bertscore"]
    call = check_metrics(args, metrics, **run_options(args))
    check_twice(metrics, call.recipes)
    documents = read_documents(args)
    texts = read_parallel(files.specs, args.refs, args.source, input_format=args.input_format)
    names = files.renamed(list(texts.systems))
    texts = texts._replace(systems={names[label]: lines for label, lines in texts.systems.items()})
    if args.joined and documents is not None:
        texts, documents = join_texts(texts, documents, args), None
    check_documents(documents, len(next(iter(texts.systems.values()))), args)
    systems = texts.systems
    base, new = gate_systems(list(systems), args) if args.gate else ("", "")
    if args.gate:
        systems = {name: systems[name] for name in (base, new)}
    comparison = call_until_certain(
        call,
        systems,
        texts.references,
        rule,
        sources=texts.sources,
        documents=documents,
        names=segment_names(files.specs, args),
    )
    return gate_early(comparison, base=base, new=new, metric=args.gate_metric) if args.gate else comparison
