"""`nlgauge study sensitivity`: how much preprocessing changes scores, correlations and ranks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    add_document_option,
    add_documents_of_data,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_inputs,
    add_text_options,
    check_documents,
    metric_options,
    read_documents,
    read_texts,
    run_options,
)
from nlgauge.apps.cli.datasets import add_data_options, load_data, with_documents
from nlgauge.apps.cli.flags import add_flags, flag_of, read_options
from nlgauge.apps.cli.operations import write_result
from nlgauge.apps.cli.parsing import AddParser, add_hidden
from nlgauge.apps.cli.score import check_systems_first
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import check_figure
from nlgauge.studies.sensitivity.measure import run_study, systems_table
from nlgauge.studies.sensitivity.study import Study, load_study, study_metrics
from nlgauge.studies.sensitivity.variants import DEFAULT_METRICS, PRESETS, StudyOptions, preset

if TYPE_CHECKING:
    from nlgauge.data.judgements import JudgementTable

_EXAMPLES = f"""\
examples:
  nlgauge study sensitivity a.txt b.txt --refs ref.txt --preset all --model mpnet
  nlgauge study sensitivity --preset stopwords --data wmt17-testset --at FOLDER
  nlgauge study sensitivity --study mine.toml --data tac2008 --at FOLDER --state mine.state
{METRIC_FLAGS}"""

#: Arguments that only data with human judgements has a use of.
_OF_DATA = ("at", "langpairs", "set", "without_humans", "rows", "documents", "levels", "agreement", "criterion")


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        description="Vary stop words, idf, sub-words, punctuation or layers: what moves, and who swaps places?",
        usage="nlgauge study sensitivity (HYP ... --refs REF ... | --data NAME) --preset NAME [options]",
        epilog=_EXAMPLES,
    )
    add_text_inputs(parser)
    data = add_data_options(parser, title="data with human judgements, instead of files", required=False)
    add_hidden(data, "--without-humans", action="store_true", help="leave out systems that are people")
    add_hidden(data, "--rows", type=int, metavar="N", help="the first N rows of each language pair and system")
    add_documents_of_data(data)
    what = parser.add_argument_group("what varies")
    what.add_argument("--preset", choices=PRESETS, metavar="NAME", help=", ".join(PRESETS))
    what.add_argument("--study", metavar="FILE", help="a study of your own, as TOML, instead of a preset")
    add_hidden(
        what, "--idf-corpus", nargs="+", default=[], metavar="FILE", help="text files to count idf on (idf, all)"
    )
    add_metric_options(parser, default=None, shown=" ".join(DEFAULT_METRICS))
    _add_measures(parser)
    add_text_options(parser)
    add_run_options(parser)
    add_hidden(parser, "--state", metavar="FILE", help="keeps what is finished, so that an interrupted run goes on")
    output = add_output_options(parser)
    output.add_argument("--plot", metavar="FILE", help="bars of CV and RD; and FILE-ranks: scores by setting")
    parser.add_help_all()
    parser.set_defaults(run=_run)


def _add_measures(parser: argparse.ArgumentParser) -> None:
    measured = add_flags(parser, StudyOptions, title="what is measured", without=("documents", "lang"))
    add_document_option(measured)


def _run(args: argparse.Namespace) -> int:
    if args.metric:
        check_metrics(args.metric, args, command="study sensitivity")
    check_systems_first(args, command="study sensitivity")
    if bool(args.hyps) == bool(args.data):
        msg = "give either files of systems with --refs, or --data NAME --at PATH"
        raise RecipeError(msg)
    documents = args.documents or args.document_ids is not None
    options = read_options(args, StudyOptions, {"documents": documents, "lang": args.option_lang or ""})
    if args.plot:
        check_figure(Path(args.plot))
    study = _study(args)
    result = run_study(study, _table(args), options=options, state=args.state, **run_options(args))
    write_result(result, args)
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
        return replace(made, metric=_metrics(args.metric or list(made.recipes), args))
    metrics = _metrics(args.metric or DEFAULT_METRICS, args)
    loading = RunOptions.of(run_options(args)).loading
    return preset(args.preset, metrics, idf_corpora=args.idf_corpus, loading=loading)


def _metrics(metrics: Sequence[str], args: argparse.Namespace) -> list[str]:
    """The metrics with the flags of the call, which a study keeps as text."""
    options = metric_options(args)
    texts = study_metrics(metrics, options)
    for name in options:
        if not any(name in metric_class(metric_name(metric)).options() for metric in metrics):
            msg = f"{flag_of(name)} is not an option of {', '.join(metrics)}; see 'nlgauge show NAME'"
            raise RecipeError(msg)
    return texts


def _table(args: argparse.Namespace) -> JudgementTable:
    if args.data:
        if args.refs or args.source:
            msg = f"--data {args.data} has texts of its own; leave out --refs and --source"
            raise RecipeError(msg)
        if args.rows is not None and args.rows < 2:
            msg = f"--rows must be at least 2, got {args.rows}"
            raise RecipeError(msg)
        table = with_documents(load_data(args), args)
        table = table.without_humans() if args.without_humans else table
        return table if args.rows is None else table.first_rows(args.rows)
    given = [flag_of(name) for name in _OF_DATA if getattr(args, name) not in (None, False, [])]
    if given:
        msg = f"{', '.join(given)} {'goes' if len(given) == 1 else 'go'} with --data, not with files of systems"
        raise RecipeError(msg)
    if not (args.refs or args.source):
        msg = "files of systems need --refs or --source"
        raise RecipeError(msg)
    documents = read_documents(args)
    texts = read_texts(args)
    check_documents(documents, len(next(iter(texts.systems.values()))), args)
    return systems_table(
        texts.systems,
        texts.references,
        sources=texts.sources,
        documents=documents,
        lang=args.option_lang or "en",
    )
