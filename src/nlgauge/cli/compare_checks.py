"""What can be wrong with a command of `nlgauge compare`, found before anything is read."""

from __future__ import annotations

import argparse
from pathlib import Path

from nlgauge.cli.common import flag_of, metric_options
from nlgauge.cli.outputs import check_writable
from nlgauge.cli.score import check_systems_first
from nlgauge.compare.settings import CompareSettings
from nlgauge.errors import RecipeError

__all__ = ["check_command"]


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
    _check_companions(args)
    if args.joined and not texts:
        msg = "--unit document joins lines of texts that are scored, and there are none; leave it out"
        raise RecipeError(msg)
    if args.table != "ranking" and args.format != "tsv":
        msg = "--table chooses the table of --format tsv; the other formats have all of them"
        raise RecipeError(msg)
    if args.runs:
        _check_runs(args)
    if not texts and (given := metric_options(args)):
        msg = f"{flag_of(next(iter(given)))} is for texts that are scored, and there are none"
        raise RecipeError(msg)
    if not args.hyps:
        _check_scores_alone(args)
    if args.plot:
        from nlgauge.plots import check_figure

        check_figure(Path(args.plot))
    if args.report:
        check_writable(args.report)


#: Flags by the one that they belong to.
_COMPANIONS = {
    "base": "gate",
    "new": "gate",
    "gate_metric": "gate",
    "strict": "gate",
    "title": "report",
    "report_alignments": "report",
    "shuffles": "ratings",
}


def _check_companions(args: argparse.Namespace) -> None:
    for name, owner in _COMPANIONS.items():
        given = getattr(args, name) not in (None, 0) if name == "shuffles" else getattr(args, name) is not None
        if given and not getattr(args, owner):
            msg = f"{flag_of(name)} belongs to {flag_of(owner)}, which was not given"
            raise RecipeError(msg)


def _check_scores_alone(args: argparse.Namespace) -> None:
    """Flags that are about texts say nothing about files of scores."""
    if args.metric:
        msg = (
            "--metric is for texts that are scored, and there are none; the files of --scores have their own metrics"
        )
        raise RecipeError(msg)
    for name in ("refs", "source"):
        if getattr(args, name):
            msg = f"--{name} is for texts that are scored, and there are none; scores of other tools need no texts"
            raise RecipeError(msg)
    if args.runs:
        msg = "--runs takes several files of a system (NAME=FILE ...); a file of --scores has one column per system"
        raise RecipeError(msg)


def _check_runs(args: argparse.Namespace) -> None:
    """Flags that are about segments, or about two systems on them, say nothing about runs."""
    defaults = CompareSettings()
    about = ("test", "correction", "smallest_difference", "ranking", "ties", "tie_tolerance", "resamples", "ratings")
    given = [name for name in about if getattr(args, name) != getattr(defaults, name)]
    segments = () if args.joined else ("document_ids",)
    given += [name for name in ("gate", "report", "plot", *segments) if getattr(args, name)]
    if given:
        msg = f"{flag_of(given[0])} is about segments, and --runs compares the scores of whole runs; leave one out"
        raise RecipeError(msg)
