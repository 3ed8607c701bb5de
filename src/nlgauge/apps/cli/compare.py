"""`nlgauge compare`: which system is better, and whether the difference is significant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nlgauge.apps.cli.common import (
    DocumentOptions,
    TextInputs,
    check_systems_first,
    in_flags,
    output_flags,
    read_unit,
    scoring_flags,
)
from nlgauge.apps.cli.compare_inputs import Inputs, read_inputs, score_file_flags
from nlgauge.apps.cli.flags import Command, Flags, read_options, refuse_flags
from nlgauge.apps.cli.outputs import write_figure, write_output
from nlgauge.core.kinds import Choice, Flag, Int, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import NlgaugeError, RecipeError
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.repeated_runs import Budgets, compare_run_tables, read_budgets
from nlgauge.studies.compare.report import ComparisonReport, GateNotRun, NoDecision, gate
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.compare.verdicts import compare_verdicts

#: Exit status when the new system is significantly worse than the old one.
GATE_FAILED = 3
#: Exit status with --strict when the test cannot decide.
GATE_UNDECIDED = 4

#: Settings that the comparison of runs reads too.
_SETTINGS_OF_RUNS = ("alpha", "level", "permutations", "seed", "tests_shown")


@dataclass(frozen=True, kw_only=True)
class GateOptions(OptionSet):
    """When the exit status reports a regression."""

    gate: bool = option(
        False, Flag(), help=f"exit status {GATE_FAILED} if the second system is significantly worse than the first"
    )
    strict: bool = option(False, Flag(), help=f"exit status {GATE_UNDECIDED} if the gate is undecided", needs="gate")
    base: str | None = option(
        None, Text("a system"), help="system to compare with (default: the first of two)", needs="gate", hidden=True
    )
    new: str | None = option(
        None, Text("a system"), help="system that is tested (default: the second of two)", needs="gate", hidden=True
    )
    gate_metric: str | None = option(
        None,
        Text("a metric"),
        help="the only metric that decides (default: each can fail the gate)",
        needs="gate",
        hidden=True,
        metavar="METRIC",
    )


@dataclass(frozen=True, kw_only=True)
class CompareFiles(OptionSet):
    """Files that a comparison writes, and which table TSV holds."""

    report: str | None = option(None, OutputFile(), help="HTML report in one file, with all segments")
    table: str = option(
        "ranking", Choice("ranking", *ComparisonReport.further), help="table in TSV output", hidden=True
    )
    title: str | None = option(
        None, Text("a title"), help="report title", needs="report", hidden=True, metavar="TEXT"
    )
    report_alignments: int = option(
        500,
        Int(0),
        help="number of segments with alignments in the report, those that differ most",
        needs="report",
        hidden=True,
    )


def _run(args: argparse.Namespace) -> int:
    read_unit(args)
    # Tables for people have the p value of the test that decides.
    for_people = args.format not in ("json", "tsv", "csv") and not args.report and "tests_shown" not in args.given
    settings = read_options(args, CompareSettings, {"tests_shown": ()} if for_people else {})
    _check(args)
    try:
        comparison, inputs = _compare(args, settings)
    except NlgaugeError as error:
        if args.gate and args.format == "json":
            # A program that reads the record learns that there is no decision; the message goes to stderr as well.
            reason = in_flags(str(error), vars(args))
            write_output(args.output, GateNotRun(NoDecision("not-run", reason)).render("json"))
        raise
    decision, status = comparison.gate, 0
    if decision is not None and not decision.passed:
        status = GATE_FAILED if decision.failed else GATE_UNDECIDED if args.strict else 0
    try:
        write_output(
            args.output,
            comparison.render(args.format if args.table == "ranking" else args.table, decimals=args.width),
        )
        write_figure(args.plot, comparison.save_figure)
        write_figure(args.report, lambda path: _write_report(path, comparison, inputs, args))
    except (NlgaugeError, OSError) as error:
        if not status:
            raise
        # A gate that failed has failed, even if a file cannot be written or the reader went away.
        if not isinstance(error, BrokenPipeError):
            print(f"nlgauge: error: {in_flags(str(error), vars(args))}", file=sys.stderr)
    # The gate's sentence is the first line of text, which is on the terminal already.
    seen = args.output == "-" and args.format not in ("json", "tsv", "csv") and sys.stdout.isatty()
    if decision is not None and not seen and not (decision.passed and args.quiet):
        print(f"nlgauge: {decision.headline}", file=sys.stderr)
    return status


def _check(args: argparse.Namespace) -> None:
    """Refuse what is wrong with the command."""
    check_systems_first(args)
    texts = [spec for spec in args.hyps if not spec.lower().endswith(".json")]
    if not args.hyps and not args.scores:
        msg = "nlgauge compare needs systems (HYP ...) or scores (--scores FILE); see 'nlgauge compare --help'"
        raise RecipeError(msg)
    if texts and not (args.refs or args.source):
        msg = "nlgauge compare needs references (--refs REF) or a source (--source SRC) to score texts with"
        raise RecipeError(msg)
    if args.joined and not texts:
        msg = "--unit document joins lines of texts that are scored, and there are none; leave it out"
        raise RecipeError(msg)
    if args.format != "tsv":
        refuse_flags(args, ["table"], "chooses the table of --format tsv; the other formats have all of them")
    if args.runs:
        settings = [name for name in CompareSettings.options() if name not in _SETTINGS_OF_RUNS]
        segments = () if args.joined else ("document_ids",)
        about = "is about segments, and --runs compares the scores of whole runs; leave one out"
        refuse_flags(args, (*settings, "gate", "report", "plot", *segments), about)
    if not texts:
        refuse_flags(args, ("model", "layer", "idf", "lang"), "is for texts that are scored, and there are none")
    if not args.hyps:
        refuse_flags(args, ("metric", "refs", "source"), "is for texts that are scored, and there are none")
        takes = "takes several files of a system (NAME=FILE ...); a file of --scores has one column per system"
        refuse_flags(args, ["runs"], takes)


def _compare(args: argparse.Namespace, settings: CompareSettings) -> tuple[ComparisonReport, Inputs]:
    budgets: Budgets = {}

    def check_systems(systems: Sequence[str]) -> None:
        if args.gate:
            _gate_systems(systems, args)
        if args.budget is not None and not args.runs:
            budgets.update(read_budgets(args.budget, systems))

    inputs = read_inputs(args, check_systems)
    verdicts = tuple(compare_verdicts(rows, name=name, settings=settings) for name, rows in inputs.verdicts)
    if inputs.runs_of:
        if args.budget is not None:
            budgets = read_budgets(args.budget, list(dict.fromkeys(inputs.runs_of.values())))
        runs = compare_run_tables(inputs.tables, inputs.runs_of, budgets=budgets, settings=settings)
        return ComparisonReport((), (), settings, "", runs=tuple(runs), verdicts=verdicts), inputs
    if not inputs.tables:
        if args.gate or args.report or args.plot or args.budget:
            msg = (
                "--gate, --report, --plot and --budget take scores, and verdicts have none; give the systems' texts "
                "(HYP ... --refs REF) or a file of scores beside them"
            )
            raise RecipeError(msg)
        return ComparisonReport((), (), settings, "", verdicts=verdicts), inputs
    comparison = compare_systems(inputs.tables, settings=settings)
    decision = None
    if args.gate:
        base, new = _gate_systems(inputs.tables[0].systems, args)
        least = {"alpha": settings.alpha, "smallest_difference": settings.smallest_difference}
        decision = gate(comparison, base=base, new=new, metric=args.gate_metric, **least)
    scored = (comparison.metrics, comparison.disagreements, settings, comparison.signature)
    return ComparisonReport(*scored, gate=decision, budgets=budgets, verdicts=verdicts), inputs


def _gate_systems(systems: Sequence[str], args: argparse.Namespace) -> tuple[str, str]:
    """The first two systems of the command, unless it names others."""
    if len(systems) < 2:
        msg = f"--gate needs two systems, got {len(systems)}: nlgauge compare base.txt new.txt --refs ref.txt --gate"
        raise RecipeError(msg)
    if len(systems) > 2 and (args.base is None or args.new is None):
        msg = f"--gate takes two of the {len(systems)} systems: name them with --base NAME --new NAME"
        raise RecipeError(msg)
    chosen = (args.base or systems[0], args.new or systems[1])
    for name in chosen:
        if name not in systems:
            msg = f"--gate: there is no system {name!r}; there are {', '.join(map(repr, systems))}"
            raise RecipeError(msg)
    if chosen[0] == chosen[1]:
        msg = f"--gate compares two systems, but the old one and the new one are both {chosen[0]!r}; name two"
        raise RecipeError(msg)
    return chosen


def _write_report(path: Path, comparison: ComparisonReport, inputs: Inputs, args: argparse.Namespace) -> None:
    """The HTML file, with alignments of the segments that differ most where their texts are there."""
    from nlgauge.report.html.document import write_report
    from nlgauge.report.html.inputs import ReportOptions, ReportTexts, differing_segments, explain_for_report

    notes = () if comparison.gate is None else (comparison.gate.headline,)
    title = {} if args.title is None else {"title": args.title}
    options = ReportOptions(alignments=args.report_alignments, notes=notes, **title)
    texts, explanations = None, []
    if inputs.texts is not None:
        texts = ReportTexts(inputs.texts.systems, inputs.texts.references, inputs.texts.sources)
        segments = differing_segments(inputs.tables, args.report_alignments)
        explanations = explain_for_report(inputs.scores, segments)
    write_report(
        path,
        comparison,
        scores=inputs.tables,
        texts=texts,
        explanations=explanations,
        tables=comparison.further_tables(),
        options=options,
    )


COMMANDS = {
    "compare": Command(
        run=_run,
        flags=(
            Flags(TextInputs),
            score_file_flags(runs=True),
            *scoring_flags("bertscore; of saved runs all"),
            Flags(CompareSettings, "tests and rankings"),
            Flags(DocumentOptions, "tests and rankings", without=["documents"]),
            Flags(GateOptions, "gate"),
            output_flags(plot="figure of the ranking: .png, .svg or .pdf"),
            Flags(CompareFiles, "output"),
        ),
        usage="[NAME=]HYP ... --refs REF ...",
        description="Compare systems on the same segments: texts, saved runs (FILE.json) or scores of other tools.",
        examples=f"""\
  nlgauge compare a.txt b.txt c.txt --refs reference.txt --metric bertscore bleu
  nlgauge compare base.txt new.txt --refs reference.txt --gate --format markdown
  nlgauge compare run1.json run2.json                   saved by nlgauge score -o
  nlgauge compare a.txt b.txt --refs ref.txt --scores comet.tsv --lower-is-better ter
  nlgauge compare --scores judge-verdicts.jsonl         columns id, first, second, winner
  nlgauge compare big=1.txt big=2.txt small=3.txt small=4.txt --refs ref.txt --runs
status: 0 success, 1 runtime error, 2 usage error, {GATE_FAILED} gate failed, {GATE_UNDECIDED} undecided
""",
    )
}
