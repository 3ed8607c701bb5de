"""`nlgauge explain`: why a text or a corpus got its score, and what metrics measure.

Flags that would not be read are refused, and the message names the flag that is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from nlgauge.apps.cli.common import (
    MetricOptions,
    check_metrics,
    metric_options,
    output_flags,
    report,
    run_options,
    scoring_flags,
    scoring_options,
    write_figure,
    write_output,
    write_result,
)
from nlgauge.apps.cli.datasets import data_flags, load_data
from nlgauge.apps.cli.flags import Command, Flags, flag_of, given_options, read_options, refuse_flags
from nlgauge.apps.cli.operations import commands_of_group, read_segments, run_operation
from nlgauge.apps.operations import operations
from nlgauge.core.kinds import Choice, FigureFile, Flag, InputFile, Int, Many, Text
from nlgauge.core.metric import Metric, needs_no_reference, reads_sources
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.core.short_signature import format_signature
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import save_figure
from nlgauge.io.textfiles import file_label
from nlgauge.studies.explain.corpus import METHODS as ERROR_METHODS
from nlgauge.studies.explain.corpus import (
    ErrorAgreements,
    evaluate_errors,
    gold_words,
    read_word_scores,
    read_word_tags,
)
from nlgauge.studies.explain.explanation import ExplainOptions
from nlgauge.studies.factors.columns import CLB, COMPUTED, FactorOptions
from nlgauge.studies.factors.surrogate import FactorStudy, Intervals

if TYPE_CHECKING:
    from nlgauge.studies.explain.error_ranking import ErrorRankings
    from nlgauge.studies.explain.explanation import Explanation


@dataclass(frozen=True, kw_only=True)
class PairOptions(OptionSet):
    """A pair of texts, and how its explanation is shown."""

    hyp_text: str = option("", Text("a text", empty=True), help="hypothesis", required=True, metavar="TEXT")
    ref_text: tuple[str, ...] = option(
        (), Many(Text("a text", empty=True)), help="references; the best one is explained", metavar="TEXT"
    )
    source_text: str | None = option(
        None, Text("a text", empty=True), help="source text, for metrics that compare with it", metavar="TEXT"
    )
    side_by_side: bool = option(
        False, Flag(), help="show greedy (BERTScore) and transport (MoverScore) alignments side by side"
    )
    plot_kind: str = option("flow", Choice("flow", "heat-map"), help="figure type", needs="plot")


@dataclass(frozen=True, kw_only=True)
class ErrorOptions(OptionSet):
    """Marked errors, and error scores of words."""

    gold: str | None = option(
        None, InputFile(), help="marked errors instead of a data set: 0 or 1 per word, one text per line"
    )
    scores: str | None = option(
        None, InputFile(), help="error scores: a number per word, one text per line; also FILE.jsonl:KEY"
    )
    lower_is_error: bool = option(False, Flag(), help="lower scores mark errors, as SHAP values do", needs="scores")
    method: tuple[str, ...] = option(
        ("match",), Many(Choice(*ERROR_METHODS)), help="methods that compute error scores"
    )
    compare: bool = option(
        False,
        Flag(),
        help="rank metrics and methods as systems by mean, median and Bradley-Terry over texts",
        needs="data",
    )


def _word_flags(*without: str, side_help: str, words: str = "words") -> Flags:
    """Flags for splitting texts into words and leaving words out."""
    side = {"kind": Choice("hypothesis", "reference", "source"), "help": side_help}
    return Flags(ExplainOptions, without=without, change={"words": {"default": words}, "side": side})


def _word_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the values of `_word_flags` as keywords."""
    # The library calls the text that a hypothesis is compared with "reference" in both cases.
    side = "hypothesis" if args.side == "hypothesis" else "reference"
    return given_options(args, ExplainOptions) | {"words": args.words, "side": side}


# explain pair


def _check_pair(args: argparse.Namespace, recipe: Metric) -> None:
    """Refuse texts that the metric does not use."""
    if not args.ref_text and args.source_text is None:
        msg = "nlgauge explain pair needs a text to compare with: --ref-text TEXT or --source-text TEXT"
        raise RecipeError(msg)
    with_source = getattr(recipe, "against", "refs") == "source"
    with_both = reads_sources([recipe]) and not with_source
    if with_both and not (args.ref_text and args.source_text is not None):
        msg = f"{recipe.name} compares with a reference and the source; give --ref-text TEXT and --source-text TEXT"
        raise RecipeError(msg)
    if args.source_text is not None and not with_source and not with_both:
        fix = "leave it out" if args.ref_text else "give --ref-text TEXT instead"
        if "against" in recipe.options():
            alone = "give it alone with" if args.ref_text else "use"
            fix += f", or {alone} -m {recipe.name}:against=source"
        reads = "reads the hypothesis alone" if needs_no_reference([recipe]) else "compares with references"
        msg = f"--source-text is not used: {recipe.name} {reads}; {fix}"
        raise RecipeError(msg)
    if args.ref_text and with_source:
        msg = (
            f"--ref-text is not used: {recipe.name} compares with the source; "
            f"{'leave it out' if args.source_text else 'give --source-text TEXT instead'}, or use "
            f"-m {recipe.name}:against=refs"
        )
        raise RecipeError(msg)
    other = "reference" if with_source else "source"
    if args.side == other:
        own = "source" if with_source else "reference"
        msg = f"--side {other} is not possible: {recipe.name} compares with the {own}; use --side {own}"
        raise RecipeError(msg)


def _check_left_out(args: argparse.Namespace, explanation: Explanation) -> None:
    """Refuse flags about left-out words if the explanation left none out.

    Shapley values are the default if the score is not a sum over words.
    """
    if not (explanation.hypothesis.words and explanation.reference.words):
        return
    kinds = {attribution.kind for attribution in explanation.attributions}
    if "shapley" not in kinds:
        refuse_flags(args, ["samples"], "works only with --shapley, which was not given")
    if "lime" not in kinds:
        refuse_flags(args, ["neighbours"], "works only with --lime, which was not given")
    if not kinds & {"shapley", "lime"}:
        refuse_flags(args, ["seed"], "works only with --shapley or --lime; neither was given")
    if not kinds & {"shapley", "leave-one-out", "lime"}:
        about = "works only with --shapley, --leave-one-out or --lime; none was given"
        refuse_flags(args, ("side", "component"), about)


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream shows colours: a terminal without NO_COLOR (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _pair(args: argparse.Namespace) -> int:
    from nlgauge.studies.explain.pairs import explain_pair

    (recipe,) = check_metrics(args).recipes
    _check_pair(args, recipe)
    explanation = explain_pair(
        args.hyp_text,
        args.ref_text or None,
        source=args.source_text,
        metric=args.metric[0],
        beside=args.side_by_side,
        **_word_options(args),
        **metric_options(args),
        **(run_options(args) | {"progress": False}),
    )
    _check_left_out(args, explanation)
    colour = args.output == "-" and wants_colour(sys.stdout)
    write_output(args.output, explanation.render(args.format, decimals=args.decimals, colour=colour))
    write_figure(args.plot, lambda path: save_figure(explanation.figure(kind=args.plot_kind), path))
    return report(args, f"signature: {format_signature(explanation.signature)}") if args.format == "text" else 0


# explain corpus


def change_corpus(command: Command) -> Command:
    """Add data sets to the command."""
    return command.with_flags(
        data_flags(required=False, limit=True),
        change={"decimals": {"default": 3}},
        run=partial(run_operation, operation=operations()["explain-corpus"], read=_read_corpus),
        usage="(HYP --refs REF ... | --data NAME)",
        description="Sum up how much words contribute to a metric's score over all texts: by part of\n"
        "speech, and by whether the other text has the same word, another form of it, or\nneither.",
        examples="""\
  nlgauge explain corpus out.txt --refs ref.txt -m bertscore
  nlgauge explain corpus --data wmt17-testset --langpairs cs-en -m moverscore
""",
    )


def _read_corpus(args: argparse.Namespace) -> Mapping[str, Any]:
    if bool(args.hyps) == (args.data is not None):
        msg = "nlgauge explain corpus needs texts (HYP --refs REF, or HYP --source SRC) or a data set (--data NAME)"
        raise RecipeError(msg)
    if args.data is None:
        return read_segments(args)
    refuse_flags(args, ("refs", "source"), "works only with texts in files; with --data NAME leave it out")
    table = load_data(args)
    references = list(table.references) if all(table.references) else None
    return {"hyps": table.hypothesis, "refs": references, "sources": table.source}


# explain evaluate


def _check_evaluate(args: argparse.Namespace) -> None:
    """Refuse flags that cannot be combined with a score file or the method."""
    if args.gold is not None:
        refuse_flags(args, ["side"], "works only with --data NAME; with --gold FILE leave it out")
    if not args.compare:
        refuse_flags(args, ["plot"], "draws systems in pairs; add --compare")
    if args.scores is not None:
        refuse_flags(args, ["compare"], "works only with scores that are computed; leave out --scores FILE")
        computed = (*MetricOptions.options(), "method", "pieces", "component", "samples", "neighbours", "seed")
        refuse_flags(args, computed, "works only with scores that are computed; with --scores FILE leave it out")
        return
    methods = set(args.method)
    if "shapley" not in methods:
        refuse_flags(args, ["samples"], "works only with --method shapley")
    if "lime" not in methods:
        refuse_flags(args, ["neighbours"], "works only with --method lime")
    if not methods & {"shapley", "lime"}:
        refuse_flags(args, ["seed"], "works only with --method shapley or lime")
    if methods == {"match"}:
        refuse_flags(args, ["component"], "works only with --method leave-one-out, shapley or lime")
    if "match" not in methods:
        refuse_flags(args, ["pieces"], "works only with --method match")


def _check_source_side(args: argparse.Namespace, recipes: Sequence[Metric]) -> None:
    """Refuse to evaluate source words by metrics that do not use the source."""
    names = [recipe.name for recipe in recipes if getattr(recipe, "against", "refs") != "source"]
    if names and args.side != "hypothesis":
        msg = f"{names[0]} does not use the source (--side {args.side}); use -m {names[0]}:against=source"
        raise RecipeError(msg)


def _evaluate(args: argparse.Namespace) -> ErrorAgreements | ErrorRankings:
    if (args.gold is None) == (args.data is None):
        msg = "nlgauge explain evaluate needs either --gold FILE or --data NAME"
        raise RecipeError(msg)
    _check_evaluate(args)
    if args.gold is None:
        parts = list(_errors_of_data(args))
        if args.compare:
            from nlgauge.studies.explain.error_ranking import ErrorRankings, rank_error_scores

            rankings = [rank_error_scores(part.gold, part.scores, langpair=part.langpair) for part in parts]
            return ErrorRankings(tuple(rankings))
        agreements = [
            replace(evaluate_errors(part.gold, values), scores=name, langpair=part.langpair)
            for part in parts
            for name, values in part.scores.items()
        ]
        return ErrorAgreements(tuple(agreements))
    if args.scores is None:
        msg = "--gold FILE needs --scores FILE"
        raise RecipeError(msg)
    gold = read_word_tags(args.gold)
    scores = read_word_scores(args.scores, lower_is_error=args.lower_is_error)
    return ErrorAgreements((replace(evaluate_errors(gold, scores), scores=file_label(args.scores)),))


class _WordErrors(NamedTuple):
    """Marked words and error scores of the texts of a language pair."""

    langpair: str
    gold: list[list[int]]
    scores: dict[str, list[list[float]]]


def _errors_of_data(args: argparse.Namespace) -> Iterator[_WordErrors]:
    table = load_data(args)
    if args.scores is not None and len(table.langpairs) != 1:
        msg = f"--scores needs one language pair, but {table.name} has {', '.join(table.langpairs)}; use --langpairs"
        raise RecipeError(msg)
    metrics = args.metric or ["bertscore"]
    if args.scores is None:
        _check_source_side(args, check_metrics(args, metrics).recipes)
    options = _word_options(args)
    for langpair in table.langpairs:
        part = table.where(langpair=langpair)
        gold = gold_words(part, side=options["side"], words=args.words)
        if args.scores is not None:
            scores = {file_label(args.scores): read_word_scores(args.scores, lower_is_error=args.lower_is_error)}
        else:
            from nlgauge.studies.explain.error_ranking import ErrorSystem, error_scores_of

            systems = [ErrorSystem(metric, method) for metric in metrics for method in args.method]
            by_system = error_scores_of(part, systems, **options, **scoring_options(args))
            alone = len(args.method) == 1 and not args.compare
            scores = {
                system.metric if alone else system.name(systems): values for system, values in by_system.items()
            }
        yield _WordErrors(langpair, gold, scores)


# explain factors


#: Flags for computing factors, and the factors that use them.
_MAKING = {
    "parser": ("SYN", "MOR"),
    "source_parser": ("SYN", "MOR"),
    "word_vectors": ("MOR",),
    "lexicon": ("MOR",),
    "translations": ("LEX", CLB),
}


@dataclass(frozen=True, kw_only=True)
class FactorInputs(OptionSet):
    """Scores to explain, from a data set or a table."""

    criterion: str | None = option(
        None, Text("a criterion"), help="human rating used as factor SEM", unset="set by the data set", needs="data"
    )
    released: tuple[str, ...] = option((), Many(Text("a metric")), help="scores released with the data", needs="data")
    table: str | None = option(
        None, InputFile(), help="table instead of a data set: .tsv, .csv or .jsonl with scores and factors"
    )
    metric_column: tuple[str, ...] = option((), Many(Text("a column")), help="metric columns", needs="table")
    lower_is_better: tuple[str, ...] = option(
        (), Many(Text("a column")), help="metrics for which lower is better", needs="table"
    )
    factor: tuple[str, ...] = option(
        (),
        Many(Text("a factor")),
        help=f"{', '.join(COMPUTED)}, {CLB}, or columns of the data",
        unset=" ".join(COMPUTED),
    )
    vector_seed: int | None = option(
        None,
        Int(0),
        help="random seed for training word vectors",
        unset=str(FactorOptions().seed),
        needs="data",
        hidden=True,
    )
    plot_fit: str | None = option(None, FigureFile(), help="figure of each metric next to its surrogate")


def _factors(args: argparse.Namespace) -> int:
    if (args.table is None) == (args.data is None):
        msg = "nlgauge explain factors needs either --data NAME or --table FILE"
        raise RecipeError(msg)
    intervals = read_options(args, Intervals)
    study = _factors_of_table(args, intervals) if args.table else _factors_of_data(args, intervals)
    write_result(study, args)
    write_figure(args.plot_fit, lambda path: save_figure(study.fit_figure(), path))
    return 0


def _factors_of_table(args: argparse.Namespace, intervals: Intervals) -> FactorStudy:
    from nlgauge.studies.factors.surrogate import explain_columns  # loads what scores whole data sets

    refuse_flags(
        args, MetricOptions.options(), "works only with metrics that are computed; with --table FILE leave it out"
    )
    if not args.metric_column or not args.factor:
        msg = "--table FILE needs --metric-column NAME ... and --factor NAME ..."
        raise RecipeError(msg)
    return explain_columns(
        args.table, args.metric_column, args.factor, lower_is_better=args.lower_is_better, intervals=intervals
    )


def _factors_of_data(args: argparse.Namespace, intervals: Intervals) -> FactorStudy:
    from nlgauge.studies.factors.surrogate import explain_factors  # loads what scores whole data sets

    metrics = args.metric if args.metric is not None else [] if args.released else ["bertscore"]
    if metrics:
        check_metrics(args, metrics)
    making = given_options(args, FactorOptions)
    _check_factors_read(args.factor or COMPUTED, making)
    table = load_data(args)
    if args.vector_seed is not None:
        making["seed"] = args.vector_seed
    return explain_factors(
        table,
        metrics,
        factors=args.factor or COMPUTED,
        released=args.released,
        criterion=args.criterion,
        making=FactorOptions.of(making),
        intervals=intervals,
        run=RunOptions.of(run_options(args)),
        **metric_options(args),
    )


def _check_factors_read(factors: Sequence[str], flags: Iterable[str]) -> None:
    """Refuse a flag that no factor of the call uses."""
    wanted = {name.upper() for name in factors}
    for name in flags:
        if not wanted & set(_MAKING[name]):
            readers = " and ".join(_MAKING[name])
            msg = f"{flag_of(name)} is only used by factor {readers}, which --factor does not name; leave it out"
            raise RecipeError(msg)


COMMANDS = {
    "explain pair": Command(
        run=_pair,
        flags=(
            Flags(PairOptions, without=["plot_kind"]),
            _word_flags("beside", "matrix", side_help="text to analyse with --leave-one-out, --lime or --shapley"),
            *scoring_flags(one=True),
            output_flags(formats=("text", "json", "markdown"), plot="figure: .png, .svg or .pdf"),
            Flags(PairOptions, "output", only=["plot_kind"]),
        ),
        help="explain the score of one pair",
        usage="--hyp-text TEXT\n       (--ref-text TEXT ... | --source-text TEXT)",
        description="Show which words of a pair match, and how much each word contributes to the score.",
        examples="""\
  nlgauge explain pair --hyp-text "A cat sat." --ref-text "The cat sits."
  nlgauge explain pair --hyp-text "Eine Katze." --source-text "A cat." \\
      --metric bertscore:against=source
  nlgauge explain pair --hyp-text "A cat." --ref-text "A dog." --plot pair.png
""",
    ),
    "explain evaluate": Command(
        run=_evaluate,
        flags=(
            data_flags(required=False, limit=True),
            Flags(ErrorOptions, "data", only=["gold"]),
            Flags(ErrorOptions, without=["gold"]),
            _word_flags(
                *("shapley", "leave_one_out", "lime", "beside", "matrix"),
                side_help="text whose words are evaluated",
                words="blanks",
            ),
            *scoring_flags("bertscore"),
            output_flags(3, plot="figure of systems in pairs, with --compare: .png, .svg or .pdf"),
        ),
        help="test how well explanations detect marked errors",
        usage="(--gold FILE | --data NAME)",
        description="Compute AUC, average precision and recall at top-K of word-level error scores, as in the "
        "Eval4NLP 2021 shared task. Scores come from a file or from the explanations of a metric.",
        examples="""\
  nlgauge explain evaluate --gold dev.tgt-tags --scores shap.txt --lower-is-error
  nlgauge explain evaluate --data eval4nlp --langpairs ru-de \\
      --metric bertscore:model=muse,against=source
""",
    ),
    "explain factors": Command(
        run=_factors,
        flags=(
            data_flags(required=False, limit=True),
            Flags(FactorInputs, "data", without=["factor", "vector_seed", "plot_fit"]),
            Flags(FactorInputs, "factors", only=["factor", "vector_seed"]),
            Flags(FactorOptions, "factors", without=["seed"], change={name: {"needs": "data"} for name in _MAKING}),
            *scoring_flags("bertscore"),
            Flags(Intervals, "intervals"),
            output_flags(3, plot="figure of coefficients with intervals: .png, .svg or .pdf"),
            Flags(FactorInputs, "output", only=["plot_fit"]),
        ),
        help="measure what a metric reacts to: meaning, syntax, shared words, word forms",
        usage="(--data NAME | --table FILE)",
        description="Fit a linear surrogate to each metric: coefficients of linguistic factors with confidence "
        "intervals, and the share of the metric's variance that the factors explain.",
        examples="""\
  nlgauge explain factors --data wmt17-testset -m bertscore --factor SEM LEX
  nlgauge explain factors --data sts --lexicon pairs.tsv --plot factors.png
  nlgauge explain factors --data factors-wmt --released bertscore --factor SEM
  nlgauge explain factors --table s.tsv --metric-column comet --factor length
""",
    ),
}
COMMANDS |= commands_of_group("explain", others=COMMANDS)
