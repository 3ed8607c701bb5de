"""`nlgauge study sensitivity`: how much preprocessing changes scores, correlations and ranks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import (
    DocumentOptions,
    check_documents,
    check_metrics,
    check_systems_first,
    metric_options,
    read_documents,
    read_texts,
    run_options,
)
from nlgauge.apps.cli.datasets import data_flags, load_data, with_documents
from nlgauge.apps.cli.flags import Command, Flags, flag_of, read_options
from nlgauge.core.kinds import Flag, InputFile, Int, OutputFile
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError
from nlgauge.studies.sensitivity.measure import SensitivityOptions, run_study, systems_table
from nlgauge.studies.sensitivity.results import Sensitivity
from nlgauge.studies.sensitivity.study import DEFAULT_METRICS, PRESETS, Study, load_study, preset, study_metrics

if TYPE_CHECKING:
    from nlgauge.data.judgements import JudgementTable

_EXAMPLES = """\
  nlgauge study sensitivity a.txt b.txt --refs ref.txt --preset all --model mpnet
  nlgauge study sensitivity --preset stopwords --data wmt17-testset --at FOLDER
  nlgauge study sensitivity --study mine.toml --data tac2008 --at FOLDER --state mine.state
"""


@dataclass(frozen=True, kw_only=True)
class StudyChoice(OptionSet):
    """A study of one's own, rows of the data, and where the state of a run is kept."""

    study: str | None = option(None, InputFile(), help="study of your own, as TOML, instead of a preset")
    state: str | None = option(
        None, OutputFile(), help="keeps what is finished, so that an interrupted run can be resumed", hidden=True
    )
    without_humans: bool = option(
        False, Flag(), help="leave out systems that are human translators", needs="data", hidden=True
    )
    rows: int | None = option(
        None, Int(2), help="first N rows of each language pair and system", unset="all", needs="data", hidden=True
    )


def change_command(command: Command) -> Command:
    """The command with data sets next to files, and studies next to presets."""
    unset = {"default": None, "unset": " ".join(DEFAULT_METRICS), "project": False}
    change: dict[str, Any] = {name: {"needs": "data"} for name in ("levels", "agreement", "criterion", "documents")}
    change |= {"preset": {"default": None}, "idf_corpus": {"needs": "preset"}, "metric": unset}
    change["documents"] |= {"help": "resample the documents that the data names", "hidden": True}
    change |= {"plot": {"help": "bars of CV and RD; and FILE-ranks: scores by setting"}}
    title = "data with human judgements, instead of files"
    return command.varied(
        data_flags(title, required=False),
        Flags(StudyChoice, title, only=["without_humans", "rows"]),
        Flags(DocumentOptions, only=["document_ids"]),
        Flags(StudyChoice, SensitivityOptions.called, only=["study", "state"]),
        change=change,
        run=_run,
        usage="(HYP ... --refs REF ... | --data NAME) --preset NAME",
        description="Vary stop words, idf, sub-words, punctuation or layers: what moves, and who swaps places?",
        examples=_EXAMPLES,
    )


def _run(args: argparse.Namespace) -> Sensitivity:
    if args.metric:
        check_metrics(args)
    check_systems_first(args)
    if bool(args.hyps) == bool(args.data):
        msg = "give either files of systems with --refs, or --data NAME --at PATH"
        raise RecipeError(msg)
    documents = args.documents or args.document_ids is not None
    options = read_options(args, SensitivityOptions, {"documents": documents, "lang": args.lang or ""}).measures()
    return run_study(_study(args), _table(args), options=options, state=args.state, **run_options(args))


def _study(args: argparse.Namespace) -> Study:
    if bool(args.preset) == bool(args.study):
        msg = f"say what varies: --preset ({', '.join(PRESETS)}) or --study FILE, one of the two"
        raise RecipeError(msg)
    if args.study:
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
        table = with_documents(load_data(args), args)
        table = table.without_humans() if args.without_humans else table
        return table if args.rows is None else table.first_rows(args.rows)
    if not (args.refs or args.source):
        msg = "files of systems need --refs or --source"
        raise RecipeError(msg)
    documents = read_documents(args)
    texts = read_texts(args)
    check_documents(documents, len(next(iter(texts.systems.values()))), args)
    return systems_table(
        texts.systems, texts.references, sources=texts.sources, documents=documents, lang=args.lang or "en"
    )
