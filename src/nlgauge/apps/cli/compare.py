"""`nlgauge compare`: which system is better, and whether the difference is significant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nlgauge.apps.cli.argument_checks import in_flags
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    DocumentOptions,
    TextInputs,
    add_output_options,
    add_scoring_options,
    read_unit,
)
from nlgauge.apps.cli.compare_inputs import Inputs, add_score_file_options, read_inputs
from nlgauge.apps.cli.flags import add_flags, read_options, refuse_flags
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.apps.cli.score import check_systems_first
from nlgauge.core.kinds import Choice, Flag, Int, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import NlgaugeError, RecipeError
from nlgauge.studies.compare.comparison import SystemComparison
from nlgauge.studies.compare.quality_gate import GateNotRun, GateResult, NoDecision, gate
from nlgauge.studies.compare.repeated_runs import Budgets, compare_run_tables, read_budgets
from nlgauge.studies.compare.report import ComparisonReport
from nlgauge.studies.compare.settings import CompareSettings
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.compare.verdicts import compare_verdicts


def check_command(args: argparse.Namespace) -> None:
    """Refuse what is wrong with the command."""
    check_systems_first(args, command="compare")
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
        _check_runs(args)
    if not texts:
        refuse_flags(args, ("model", "layer", "idf", "lang"), "is for texts that are scored, and there are none")
    if not args.hyps:
        refuse_flags(args, ("metric", "refs", "source"), "is for texts that are scored, and there are none")
        takes = "takes several files of a system (NAME=FILE ...); a file of --scores has one column per system"
        refuse_flags(args, ["runs"], takes)


def _check_runs(args: argparse.Namespace) -> None:
    """Flags that are about segments, or about two systems on them, say nothing about runs."""
    settings = [name for name in CompareSettings.options() if name not in _SETTINGS_OF_RUNS]
    segments = () if args.joined else ("document_ids",)
    about = "is about segments, and --runs compares the scores of whole runs; leave one out"
    refuse_flags(args, (*settings, "gate", "report", "plot", *segments), about)


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


_EXAMPLES = f"""\
examples:
  nlgauge compare a.txt b.txt c.txt --refs reference.txt --metric bertscore bleu
  nlgauge compare base.txt new.txt --refs reference.txt --gate --format markdown
  nlgauge compare run1.json run2.json                   saved by nlgauge score -o
  nlgauge compare a.txt b.txt --refs ref.txt --scores comet.tsv --lower-is-better ter
  nlgauge compare --scores judge-verdicts.jsonl         columns id, first, second, winner
  nlgauge compare big=1.txt big=2.txt small=3.txt small=4.txt --refs ref.txt --runs
status: 0 success, 1 runtime error, 2 usage error, {GATE_FAILED} gate failed, {GATE_UNDECIDED} undecided
{METRIC_FLAGS}"""


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        usage="nlgauge compare [NAME=]HYP ... --refs REF ... [options]",
        description="Compare systems on the same segments: texts, saved runs (FILE.json) or scores of other tools.",
        epilog=_EXAMPLES,
    )
    add_flags(parser, TextInputs)
    add_score_file_options(parser, runs=True)
    add_scoring_options(parser, default="bertscore; of saved runs all")
    tests = add_flags(parser, CompareSettings, title="tests and rankings")
    add_flags(tests, DocumentOptions, without=["documents"])
    add_flags(parser, GateOptions, title="gate")
    output = add_output_options(parser, plot="figure of the ranking: .png, .svg or .pdf")
    add_flags(output, CompareFiles)
    parser.add_help_all()
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    read_unit(args)
    settings = _settings(args)
    files = read_options(args, CompareFiles)
    check_command(args)
    try:
        found, inputs = _compared(args, settings)
    except NlgaugeError as error:
        if args.gate and args.format == "json":
            # A program that reads the record learns that there is no decision; the message goes to stderr as well.
            write_output(args.output, _gate_not_run(in_flags(str(error), vars(args))))
        raise
    status = _gate_status(found.gate, strict=args.strict)
    try:
        _write(found, inputs, args, files)
    except (NlgaugeError, OSError) as error:
        if not status:
            raise
        # A gate that failed has failed, even if a file cannot be written or the reader went away.
        if not isinstance(error, BrokenPipeError):
            print(f"nlgauge: error: {in_flags(str(error), vars(args))}", file=sys.stderr)
    if found.gate is not None and not _seen(args) and not (found.gate.passed and args.quiet):
        print(f"nlgauge: {found.gate.headline}", file=sys.stderr)
    return status


def _gate_not_run(reason: str) -> str:
    """The JSON record of a gate that could not run."""
    return GateNotRun(NoDecision("not-run", reason)).render("json")


def _gate_status(result: GateResult | None, *, strict: bool) -> int:
    if result is None or result.passed:
        return 0
    if result.failed:
        return GATE_FAILED
    return GATE_UNDECIDED if strict else 0


def _write(found: ComparisonReport, inputs: Inputs, args: argparse.Namespace, files: CompareFiles) -> None:
    form = files.table if args.table and files.table != "ranking" else args.format
    write_output(args.output, found.render(form, decimals=args.width))
    if args.plot:
        with saving(args.plot) as target:
            found.save_figure(target)
    if args.report:
        with saving(args.report) as target:
            _write_report(target, found, inputs, files)


def _seen(args: argparse.Namespace) -> bool:
    """Whether the gate's sentence stands on the terminal already, as the first line of the output."""
    return args.output == "-" and args.format not in ("json", "tsv", "csv") and sys.stdout.isatty()


def _settings(args: argparse.Namespace) -> CompareSettings:
    # Tables for people have the p value of the test that decides.
    for_people = args.format not in ("json", "tsv", "csv") and not args.report and "tests_shown" not in args.given
    return read_options(args, CompareSettings, {"tests_shown": ()} if for_people else {})


def _compared(args: argparse.Namespace, settings: CompareSettings) -> tuple[ComparisonReport, Inputs]:
    budgets: Budgets = {}

    def check_systems(systems: Sequence[str]) -> None:
        if args.gate:
            _gate_systems(systems, args)
        if args.budget is not None and not args.runs:
            budgets.update(read_budgets(args.budget, systems))

    inputs = read_inputs(args, check_systems)
    verdicts = tuple(compare_verdicts(said, name=name, settings=settings) for name, said in inputs.verdicts)
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
    decision = _gate(comparison, inputs.tables[0].systems, args, settings) if args.gate else None
    scored = (comparison.metrics, comparison.disagreements, settings, comparison.signature)
    return ComparisonReport(*scored, gate=decision, budgets=budgets, verdicts=verdicts), inputs


def _gate(
    comparison: SystemComparison, systems: Sequence[str], args: argparse.Namespace, settings: CompareSettings
) -> GateResult:
    base, new = _gate_systems(systems, args)
    return gate(
        comparison,
        base=base,
        new=new,
        metric=args.gate_metric,
        alpha=settings.alpha,
        smallest_difference=settings.smallest_difference,
    )


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


def _write_report(path: Path, found: ComparisonReport, inputs: Inputs, files: CompareFiles) -> None:
    """The HTML file, with alignments of the segments that differ most where their texts are at hand."""
    from nlgauge.report.html.alignments import explain_for_report
    from nlgauge.report.html.document import write_report
    from nlgauge.report.html.inputs import ReportOptions, ReportTexts, differing_segments

    notes = () if found.gate is None else (found.gate.headline,)
    options = ReportOptions(alignments=files.report_alignments, notes=notes)
    if files.title is not None:
        options = replace(options, title=files.title)
    texts, explanations = None, []
    if inputs.texts is not None:
        texts = ReportTexts(inputs.texts.systems, inputs.texts.references, inputs.texts.sources)
        segments = differing_segments(inputs.tables, files.report_alignments)
        explanations = explain_for_report(inputs.scores, segments)
    write_report(
        path,
        found,
        scores=inputs.tables,
        texts=texts,
        explanations=explanations,
        tables=found.further_tables(),
        options=options,
    )
