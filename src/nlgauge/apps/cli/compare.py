"""`nlgauge compare`: which system is better, and whether the difference is significant.

Its inputs are texts to score, saved runs, and scores and verdicts of other tools.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import (
    DocumentOptions,
    TextInputs,
    check_documents,
    check_metrics,
    check_systems_first,
    join_texts,
    output_flags,
    read_documents,
    run_options,
    scoring_flags,
    segment_names,
    write_figure,
    write_output,
)
from nlgauge.apps.cli.flags import Command, Flags, read_options, refuse_flags
from nlgauge.apps.cli.gate import (
    GATE_FAILED,
    GATE_UNDECIDED,
    MARGIN_FLAGS,
    GateOptions,
    check_gate,
    gate_systems,
    write_and_decide,
    write_not_run,
)
from nlgauge.apps.cli.system_files import SystemFiles, check_twice
from nlgauge.apps.cli.until_certain import UntilCertainOptions, compare_early
from nlgauge.core.kinds import Choice, FigureFile, Flag, InputFile, Int, Many, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import FORMATS
from nlgauge.core.score_table import ScoreTable
from nlgauge.data.score_files import ScoreSpec, metric_name, read_score_files
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import save_figure
from nlgauge.io.paper_table import PAPER_FORMATS
from nlgauge.io.storage import bytes_digest, short_digest
from nlgauge.io.tables import read_bytes
from nlgauge.io.textfiles import ParallelTexts, read_parallel
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.gates import gate
from nlgauge.studies.compare.paired_differences import draw_pairs
from nlgauge.studies.compare.repeated_runs import Budgets, compare_run_tables, read_budgets
from nlgauge.studies.compare.report import ComparisonReport
from nlgauge.studies.compare.system_scores import (
    SystemScores,
    imported_table,
    imported_tables,
    join_runs,
    system_scores,
)
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.compare.verdicts import Verdict, compare_verdicts, is_verdict_file, read_verdicts

if TYPE_CHECKING:
    from nlgauge.core.score import Score


class _ColumnName(Text):
    """Text of the form `KEY=COLUMN`."""

    def check(self, value: Any) -> str:
        """Require text on both sides of the equals sign."""
        text = super().check(value)
        key, _, column = text.partition("=")
        if not key or not column:
            raise ValueError
        return text


@dataclass(frozen=True, kw_only=True)
class ScoreFiles(OptionSet):
    """Options for scores of other tools, and for runs."""

    scores: tuple[str, ...] = option(
        (), Many(InputFile()), help="[METRIC=]FILE: a column per system (.tsv, .csv, .jsonl), or COMET's .json"
    )
    lower_is_better: tuple[str, ...] = option(
        (),
        Many(Text("a metric")),
        help="metrics in --scores for which lower is better",
        needs="scores",
        metavar="METRIC",
    )
    score_columns: tuple[str, ...] = option(
        (),
        Many(_ColumnName("KEY=COLUMN")),
        help="names of the columns system, segment, document, metric, langpair, if they are different",
        needs="scores",
        hidden=True,
        metavar="KEY=COLUMN",
    )
    other_versions: bool = option(
        False, Flag(), help="allow runs whose signatures differ only in package versions", hidden=True
    )
    runs: bool = option(False, Flag(), help="files with the same NAME= are runs of one system")
    budget: str | None = option(
        None,
        InputFile(),
        help="table with the cost of each system (column system), shown next to its score",
        hidden=True,
    )
    best_of: str | None = option(
        None,
        Text("runs, or a column of --budget"),
        help="compare systems at equal budget, by the expected best run: runs, or the column with the cost of a run",
        needs="runs",
        hidden=True,
        metavar="BUDGET",
    )


def score_file_flags(*, runs: bool = False) -> Flags:
    """Flags for scores of other tools; `runs` adds those for runs and budgets."""
    without = () if runs else ("other_versions", "runs", "budget", "best_of")
    return Flags(ScoreFiles, "scores of other tools", without=without)


def score_columns(args: argparse.Namespace) -> dict[str, str]:
    """Parse `--score-columns`."""
    return dict(text.split("=", 1) for text in args.score_columns)


@dataclass(frozen=True)
class Inputs:
    """Scores, texts and verdicts from the command's files."""

    tables: list[SystemScores] = field(default_factory=list)
    """Scores of all metrics."""
    scores: Sequence[Score] = ()
    """Scores that nlgauge computed."""
    texts: ParallelTexts | None = None
    verdicts: list[tuple[str, list[Verdict]]] = field(default_factory=list)
    runs_of: Mapping[str, str] = field(default_factory=dict)
    """System of each run, with --runs."""


def read_inputs(args: argparse.Namespace, check_systems: Callable[[Sequence[str]], None]) -> Inputs:
    """Read the files, check that they fit the systems, then score texts."""
    columns = score_columns(args)
    verdicts = [spec for spec in args.scores if is_verdict_file(spec)]
    imported = read_score_files(
        [spec for spec in args.scores if spec not in verdicts], columns=columns, lower_is_better=args.lower_is_better
    )
    judged = [(_judge(spec), read_verdicts(spec, columns=columns)) for spec in verdicts]
    documents = read_documents(args)
    resampled = None if args.joined else documents

    def check(systems: Sequence[str], segments: int) -> None:
        check_documents(resampled, segments, args)
        for table in imported:
            imported_table(table, systems=systems, segments=segments)
        check_systems(systems)

    inputs = _read_scores(args, SystemFiles.of(args.hyps, runs=args.runs), check, documents if args.joined else None)
    tables = system_scores(inputs.scores, documents=resampled) if inputs.scores else []
    if imported and not tables:
        check(imported[0].systems, len(imported[0].instances))
    tables += imported_tables(imported, beside=tables, documents=resampled)
    return replace(inputs, tables=tables, verdicts=judged)


def _read_scores(
    args: argparse.Namespace,
    files: SystemFiles,
    check: Callable[[Sequence[str], int], None],
    joined: tuple[str, ...] | None,
) -> Inputs:
    """Read saved runs, or score texts; `joined` is the document of each line if lines are joined."""
    if not files.specs:
        return Inputs()
    if files.saved:
        saved = _read_runs(args, files)
        check(list(dict.fromkeys(score.system or "" for score in saved.scores)), len(saved.scores[0]))
        return saved
    metrics = args.metric or ["bertscore"]
    call = check_metrics(args, metrics, **run_options(args))
    check_twice(metrics, call.recipes)
    texts = read_parallel(files.specs, args.refs, args.source, input_format=args.input_format)
    names = files.renamed(list(texts.systems))
    texts = texts._replace(systems={names[label]: lines for label, lines in texts.systems.items()})
    if joined is not None:
        texts = join_texts(texts, joined, args)
    check(list(texts.systems), len(next(iter(texts.systems.values()))))
    scores = call.score(
        texts.systems, texts.references, sources=texts.sources, names=segment_names(files.specs, args)
    )
    return Inputs(scores=scores, texts=texts, runs_of=files.runs_of(list(texts.systems)))


def _read_runs(args: argparse.Namespace, files: SystemFiles) -> Inputs:
    if args.refs or args.source:
        msg = "saved runs are not scored again; leave out --refs and --source"
        raise RecipeError(msg)
    runs = {spec: _of_metrics(ScoreTable.load(Path(spec)), args.metric, spec) for spec in files.specs}
    if len(runs) < len(files.specs):
        msg = f"the run {files.specs[-1]!r} is given twice"
        raise RecipeError(msg)
    if not any(files.names):
        return Inputs(scores=join_runs(runs, other_versions=args.other_versions))
    names = files.renamed(files.specs)
    for spec, saved in runs.items():
        systems = list(dict.fromkeys(score.system for score in saved.scores))
        if len(systems) > 1 and names[spec] != spec:
            msg = f"{spec!r} holds {len(systems)} systems, so it cannot be called {names[spec]!r}; leave out the name"
            raise RecipeError(msg)
        if names[spec] != spec:
            runs[spec] = replace(saved, scores=tuple(replace(score, system=names[spec]) for score in saved.scores))
    scores = join_runs(runs, other_versions=args.other_versions)
    return Inputs(scores=scores, runs_of=files.runs_of([names[spec] for spec in files.specs]))


def _of_metrics(saved: ScoreTable, metrics: Sequence[str] | None, spec: str) -> ScoreTable:
    """Select metrics of a saved run."""
    if metrics is None:
        return saved
    saved_metrics = list(dict.fromkeys(score.metric for score in saved.scores))
    for name in metrics:
        if name not in saved_metrics:
            msg = f"{spec!r} has no scores of metric {name!r}; it has {', '.join(saved_metrics)}"
            raise RecipeError(msg)
    return replace(saved, scores=tuple(score for score in saved.scores if score.metric in metrics))


def _judge(spec: str) -> str:
    """The signature of a judge: its name, and the digest of the file."""
    named = ScoreSpec.parse(spec)
    name = metric_name("score", ["score"], named)
    return f"{name}|scores:{short_digest(bytes_digest(read_bytes(named.path)))}"


#: The table for a paper, next to the tables of TSV.
PAPER = "paper"

#: Settings that the comparison of runs reads too.
_SETTINGS_OF_RUNS = ("alpha", "level", "permutations", "seed", "tests_shown")


@dataclass(frozen=True, kw_only=True)
class CompareFiles(OptionSet):
    """Options of the output."""

    report: str | None = option(None, OutputFile(), help="HTML report in one file, with all segments")
    all: bool = option(False, Flag(), help="all tables: pairwise tests, clusters, Bradley-Terry")
    table: str = option(
        "ranking",
        Choice("ranking", *ComparisonReport.further, PAPER),
        help="paper: systems and metrics for a paper; the others are tables of tsv",
        hidden=True,
    )
    percent: bool = option(
        False, Flag(), help="scores between -1 and 1 times 100, in a table for a paper", needs="table", hidden=True
    )
    plot_pairs: str | None = option(
        None, FigureFile(), help="figure of paired differences: histogram, and mean, median and wins", hidden=True
    )
    title: str | None = option(
        None, Text("a title"), help="report title", needs="report", hidden=True, metavar="TEXT"
    )
    report_alignments: int = option(
        500,
        Int(0),
        help="number of segments with alignments in the report (those that differ most)",
        needs="report",
        hidden=True,
    )


def _run(args: argparse.Namespace) -> int:
    # Tables for people have the p value of the test that decides.
    for_people = args.format not in ("json", "tsv", "csv") and not args.report and "tests_shown" not in args.given
    changes: dict[str, Any] = {"tests_shown": ()} if for_people else {}
    if args.margin is not None and "level" not in args.given:
        changes["level"] = 1 - args.alpha  # of the interval that decides
    settings = read_options(args, CompareSettings, changes)
    _check(args)
    check_gate(args)
    if args.until_certain:
        return compare_early(args)
    with write_not_run(args):
        comparison, inputs = _compare(args, settings)

    def write() -> None:
        write_output(args.output, _render(comparison, args))
        write_figure(args.plot, comparison.save_figure)
        write_figure(args.plot_pairs, lambda path: save_figure(draw_pairs(comparison, inputs.tables), path))
        write_figure(args.report, lambda path: _write_report(path, comparison, inputs, args))

    return write_and_decide(args, comparison.gate, write)


def _render(comparison: ComparisonReport, args: argparse.Namespace) -> str:
    """The result in the format and table that the command chooses."""
    decimals = args.decimals if "decimals" in args.given else None
    if args.table == PAPER:
        return comparison.paper_table(percent=args.percent, decimals=decimals).write(args.format)
    form = args.format if args.table == "ranking" else args.table
    return comparison.render(form, decimals=decimals, all_tables=args.all)


def _check(args: argparse.Namespace) -> None:
    """Refuse combinations of arguments that make no sense."""
    check_systems_first(args)
    texts = [spec for spec in args.hyps if not spec.lower().endswith(".json")]
    if not args.hyps and not args.scores:
        msg = "nlgauge compare needs systems (HYP ...) or scores (--scores FILE); see 'nlgauge compare --help'"
        raise RecipeError(msg)
    if texts and not (args.refs or args.source):
        _ = SystemFiles.of(args.hyps, runs=args.runs).saved  # a mixture has its own message
        msg = "nlgauge compare needs references (--refs REF) or a source (--source SRC) to score texts with"
        raise RecipeError(msg)
    if args.joined and not texts:
        msg = "--unit document joins lines of texts, and no texts are scored; leave it out"
        raise RecipeError(msg)
    if args.table == PAPER:
        _check_paper(args)
    elif args.format != "tsv":
        refuse_flags(args, ["table"], "is a table of --format tsv; --all prints all tables in the other formats")
    if args.percent and args.table != PAPER:
        msg = "--percent is for a table for a paper; add --table paper"
        raise RecipeError(msg)
    if args.format in ("json", "tsv", "csv"):
        refuse_flags(args, ["all"], f"adds tables to text, Markdown, LaTeX and HTML; {args.format} is complete")
    if args.runs:
        settings = [name for name in CompareSettings.options() if name not in _SETTINGS_OF_RUNS]
        segments = () if args.joined else ("document_ids",)
        about = "is about segments, and --runs compares whole runs; leave one out"
        refuse_flags(args, (*settings, "gate", "report", "plot_pairs", *segments), about)
        if args.best_of is None:
            refuse_flags(args, ["plot"], "draws runs at equal budget; add --best-of runs")
    elif args.table == "budgets":
        msg = "--table budgets is of runs at equal budget; add --runs --best-of runs"
        raise RecipeError(msg)
    if args.table == "budgets" and args.best_of is None:
        msg = "--table budgets needs a budget; add --best-of runs"
        raise RecipeError(msg)
    if not texts:
        refuse_flags(args, ("model", "layer", "idf", "lang"), "is for texts, and no texts are scored; leave it out")
    if not args.hyps:
        if args.refs and len(args.scores) > 1:
            took = " and ".join(map(repr, args.scores))
            msg = f"--scores took {took}; put texts first: nlgauge compare TEXT ... --refs REF --scores FILE"
            raise RecipeError(msg)
        refuse_flags(args, ("metric", "refs", "source"), "is for texts, and no texts are scored; leave it out")
        takes = "takes several files of a system (NAME=FILE ...); a file of --scores has one column per system"
        refuse_flags(args, ["runs"], takes)


def _check_paper(args: argparse.Namespace) -> None:
    if args.format not in PAPER_FORMATS:
        msg = f"--table paper supports {', '.join(PAPER_FORMATS)}, not {args.format}; choose one with --format"
        raise RecipeError(msg)
    if args.runs:
        msg = "--table paper needs scores of segments, and --runs compares whole runs; leave one out"
        raise RecipeError(msg)
    refuse_flags(args, ["all"], "prints all tables, and --table paper one; leave one out")


def _compare(args: argparse.Namespace, settings: CompareSettings) -> tuple[ComparisonReport, Inputs]:
    budgets: Budgets = {}

    def check_systems(systems: Sequence[str]) -> None:
        if args.gate:
            gate_systems(systems, args)
        if args.budget is not None and not args.runs:
            budgets.update(read_budgets(args.budget, systems))

    inputs = read_inputs(args, check_systems)
    verdicts = tuple(compare_verdicts(rows, name=name, settings=settings) for name, rows in inputs.verdicts)
    if inputs.runs_of:
        if args.budget is not None:
            budgets = read_budgets(args.budget, list(dict.fromkeys(inputs.runs_of.values())))
        runs = compare_run_tables(
            inputs.tables, inputs.runs_of, budgets=budgets, settings=settings, best_of=args.best_of
        )
        return ComparisonReport((), (), settings, "", runs=tuple(runs), verdicts=verdicts), inputs
    if not inputs.tables:
        if args.gate or args.report or args.plot or args.plot_pairs or args.budget:
            msg = (
                "--gate, --report, --plot, --plot-pairs and --budget need scores, and verdicts have none; add the "
                "systems' texts (HYP ... --refs REF) or a file of scores"
            )
            raise RecipeError(msg)
        return ComparisonReport((), (), settings, "", verdicts=verdicts), inputs
    comparison = compare_systems(inputs.tables, settings=settings)
    decision = None
    if args.gate:
        base, new = gate_systems(inputs.tables[0].systems, args)
        decision = gate(
            comparison,
            base=base,
            new=new,
            metric=args.gate_metric,
            alpha=settings.alpha,
            smallest_difference=settings.smallest_difference,
            margin=args.margin,
            min_segments=args.min_segments,
            min_agreement=args.min_agreement,
        )
    scored = (comparison.metrics, comparison.disagreements, settings, comparison.signature)
    return ComparisonReport(*scored, gate=decision, budgets=budgets, verdicts=verdicts), inputs


def _write_report(path: Path, comparison: ComparisonReport, inputs: Inputs, args: argparse.Namespace) -> None:
    """Write the HTML report, with alignments if texts were scored."""
    from nlgauge.report.document import write_report
    from nlgauge.report.inputs import ReportOptions, ReportTexts, differing_segments, explain_for_report

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
            *scoring_flags("bertscore; for saved runs: all their metrics"),
            Flags(CompareSettings, "tests and rankings"),
            Flags(DocumentOptions, "tests and rankings", without=["documents"]),
            Flags(UntilCertainOptions, "tests and rankings"),
            Flags(GateOptions, "gate"),
            MARGIN_FLAGS,
            output_flags(formats=(*FORMATS, "html"), plot="figure of the ranking: .png, .svg or .pdf"),
            Flags(CompareFiles, "output"),
        ),
        usage="[NAME=]HYP ... --refs REF ...",
        description="Compare systems from texts, saved runs (FILE.json) or scores of other tools.",
        examples=f"""\
  nlgauge compare a.txt b.txt c.txt --refs reference.txt -m bertscore bleu
  nlgauge compare base.txt new.txt --refs ref.txt --gate --until-certain
  nlgauge compare a.txt b.txt --refs ref.txt --table paper -f latex  # for a paper
  nlgauge compare run1.json run2.json           saved by nlgauge score -o
  nlgauge compare a.txt b.txt --refs ref.txt --scores comet.tsv
status: 0 success, 1 runtime error, 2 usage error, {GATE_FAILED} gate failed, {GATE_UNDECIDED} undecided
""",
    )
}
