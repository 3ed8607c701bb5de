"""Inputs of `nlgauge compare`: texts to score, saved runs, and scores and verdicts of other tools."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import (
    check_documents,
    check_metrics,
    joined_texts,
    metric_options,
    read_documents,
    scoring_options,
)
from nlgauge.apps.cli.flags import Flags
from nlgauge.core.kinds import Flag, InputFile, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.scoring import recipes_and_run, score_systems
from nlgauge.data.score_files import ScoreSpec, metric_name, read_score_files
from nlgauge.errors import RecipeError
from nlgauge.io.storage import bytes_digest, short_digest
from nlgauge.io.tables import read_bytes
from nlgauge.io.textfiles import ParallelTexts, printable, read_parallel
from nlgauge.studies.compare.system_scores import (
    SystemScores,
    imported_table,
    imported_tables,
    join_runs,
    system_scores,
)
from nlgauge.studies.compare.verdicts import Verdict, is_verdict_file, read_verdicts

if TYPE_CHECKING:
    from nlgauge.core.score import Score


class _ColumnName(Text):
    """`KEY=COLUMN`."""

    def check(self, value: Any) -> str:
        """Text with something on either side of the sign."""
        text = super().check(value)
        key, _, column = text.partition("=")
        if not key or not column:
            raise ValueError
        return text


@dataclass(frozen=True, kw_only=True)
class ScoreFiles(OptionSet):
    """Scores of other tools, and runs."""

    scores: tuple[str, ...] = option(
        (), Many(InputFile()), help="[METRIC=]FILE[:COLUMN,...]: .tsv, .csv, .jsonl, or the .json of COMET"
    )
    lower_is_better: tuple[str, ...] = option(
        (), Many(Text("a metric")), help="metrics of these files that are distances", needs="scores", metavar="METRIC"
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
        False, Flag(), help="compare saved runs that only versions of packages tell apart", hidden=True
    )
    runs: bool = option(False, Flag(), help="files of one NAME=FILE are runs (seeds) of a system")
    budget: str | None = option(
        None,
        InputFile(),
        help="table with the cost of each system (column system), shown next to its score",
        hidden=True,
    )


def score_file_flags(*, runs: bool = False) -> Flags:
    """The flag `--scores` and what goes with it, and the flags of a comparison of systems."""
    without = () if runs else ("other_versions", "runs", "budget")
    return Flags(ScoreFiles, "scores of other tools", without=without)


def score_columns(args: argparse.Namespace) -> dict[str, str]:
    """The columns that `--score-columns` names."""
    return dict(text.split("=", 1) for text in args.score_columns)


@dataclass(frozen=True)
class Inputs:
    """What the arguments of the command name."""

    tables: list[SystemScores] = field(default_factory=list)
    """Scores of all metrics, to be compared."""
    scores: Sequence[Score] = ()
    """Those of nlgauge among them."""
    texts: ParallelTexts | None = None
    verdicts: list[tuple[str, list[Verdict]]] = field(default_factory=list)
    runs_of: Mapping[str, str] = field(default_factory=dict)
    """By the name of a run its system, where systems have several runs."""


def read_inputs(args: argparse.Namespace, check_systems: Callable[[Sequence[str]], None]) -> Inputs:
    """Read the files, and score texts; what does not fit the systems is said before texts are scored."""
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

    inputs = _read_scores(args, _Files.of(args.hyps, runs=args.runs), check, documents if args.joined else None)
    tables = system_scores(inputs.scores, documents=resampled) if inputs.scores else []
    if imported and not tables:
        check(imported[0].systems, len(imported[0].instances))
    tables += imported_tables(imported, beside=tables, documents=resampled)
    return replace(inputs, tables=tables, verdicts=judged)


@dataclass(frozen=True)
class _Files:
    """Files by the names of their systems (`NAME=FILE`), or without one."""

    specs: list[str]
    names: list[str | None]
    runs: bool

    @classmethod
    def of(cls, given: Sequence[str], *, runs: bool) -> _Files:
        pairs = [_named(text) for text in given]
        names = [name for name, _ in pairs]
        for name in names:
            if name is not None and names.count(name) > 1 and not runs:
                msg = f"system {name!r} is given twice; if the files are runs of it (seeds), say so: --runs"
                raise RecipeError(msg)
        if runs and None in names:
            msg = f"--runs needs the system of every file: NAME=FILE, as in {names[0] or 'base'}={pairs[-1][1]}"
            raise RecipeError(msg)
        return cls([spec for _, spec in pairs], names, runs)

    @property
    def saved(self) -> bool:
        """Whether they are saved runs; a mixture is refused."""
        json = [spec for spec in self.specs if spec.lower().endswith(".json")]
        if json and len(json) < len(self.specs):
            other = next(spec for spec in self.specs if spec not in json)
            msg = f"{json[0]!r} is a saved run and {other!r} is a text; save the scores of both, or score both"
            raise RecipeError(msg)
        return bool(json)

    def renamed(self, labels: Sequence[str]) -> dict[str, str]:
        """By label what the user calls it; runs of a system are numbered."""
        names: dict[str, str] = {}
        for index, (label, name) in enumerate(zip(labels, self.names, strict=True)):
            number = self.names[: index + 1].count(name)
            names[label] = label if name is None else f"{name} run {number}" if self.runs else name
        if len(set(names.values())) < len(names):
            twice = next(name for name in names.values() if list(names.values()).count(name) > 1)
            msg = f"two systems are called {twice!r}; give one of them another name: NAME=FILE"
            raise RecipeError(msg)
        return names

    def runs_of(self, systems: Sequence[str]) -> dict[str, str]:
        """By run its system."""
        return {run: name for run, name in zip(systems, self.names, strict=True) if self.runs and name is not None}


def _named(text: str) -> tuple[str | None, str]:
    """`NAME=FILE`, unless there is a file of that whole name, or the sign is in a folder's name."""
    name, equals, spec = text.partition("=")
    if not equals or not name or os.sep in name or os.path.exists(text):
        return None, text
    return printable(name), spec


def _read_scores(
    args: argparse.Namespace,
    files: _Files,
    check: Callable[[Sequence[str], int], None],
    joined: tuple[str, ...] | None,
) -> Inputs:
    """What the files hold, texts scored; `joined` is the document of each line where lines are joined."""
    if not files.specs:
        return Inputs()
    if files.saved:
        saved = _read_runs(args, files)
        check(list(dict.fromkeys(score.system or "" for score in saved.scores)), len(saved.scores[0]))
        return saved
    metrics = args.metric or ["bertscore"]
    check_metrics(args, metrics)
    _check_twice(metrics, metric_options(args))
    texts = read_parallel(files.specs, args.refs, args.source, input_format=args.input_format)
    names = files.renamed(list(texts.systems))
    texts = texts._replace(systems={names[label]: lines for label, lines in texts.systems.items()})
    if joined is not None:
        texts = joined_texts(texts, joined, args)
    check(list(texts.systems), len(next(iter(texts.systems.values()))))
    options = scoring_options(args)
    scores = score_systems(texts.systems, texts.references, sources=texts.sources, metric=metrics, **options)
    return Inputs(scores=scores, texts=texts, runs_of=files.runs_of(list(texts.systems)))


def _check_twice(metrics: Sequence[str], options: Mapping[str, str]) -> None:
    """Two recipes of a metric are two columns of a comparison; one recipe given twice is a mistake."""
    recipes, _ = recipes_and_run(metrics, dict(options))
    for index, (metric, recipe) in enumerate(zip(metrics, recipes, strict=True)):
        if recipe in recipes[:index]:
            other = metrics[recipes.index(recipe)]
            same = "is given twice" if other == metric else f"is the same recipe as {other!r}"
            msg = f"--metric: {metric!r} {same}; leave one out"
            raise RecipeError(msg)


def _read_runs(args: argparse.Namespace, files: _Files) -> Inputs:
    if args.refs or args.source:
        msg = "saved runs are compared as they are; leave out --refs and --source"
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
    """The scores of some metrics of a saved run."""
    if metrics is None:
        return saved
    there = list(dict.fromkeys(score.metric for score in saved.scores))
    for name in metrics:
        if name not in there:
            msg = f"{spec!r} has no scores of metric {name!r}; it has {', '.join(there)}"
            raise RecipeError(msg)
    return replace(saved, scores=tuple(score for score in saved.scores if score.metric in metrics))


def _judge(spec: str) -> str:
    """The signature of a judge: its name, and the digest of the file."""
    named = ScoreSpec.parse(spec)
    name = metric_name("score", ["score"], named)
    return f"{name}|scores:{short_digest(bytes_digest(read_bytes(named.path)))}"
