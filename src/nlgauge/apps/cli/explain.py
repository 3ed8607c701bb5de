"""`nlgauge explain pair`, `evaluate` and `corpus`: why a text got its score (`factors` is in explain_factors.py).

Flags that would not be read are refused, and the message names the flag that is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    MetricOptions,
    TextInputs,
    add_output_options,
    add_scoring_options,
    metric_options,
    read_texts,
    run_options,
    scoring_options,
)
from nlgauge.apps.cli.datasets import add_data_options, load_data
from nlgauge.apps.cli.explain_factors import add_factors
from nlgauge.apps.cli.flags import add_flags, given_options, refuse_flags
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.kinds import Choice, Flag, InputFile, Many, Text
from nlgauge.core.metric import looks_alone
from nlgauge.core.options import OptionSet, option
from nlgauge.core.scoring import recipes_and_run
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import save_figure
from nlgauge.io.textfiles import file_label
from nlgauge.studies.explain.corpus import explain_corpus
from nlgauge.studies.explain.evaluate import METHODS as ERROR_METHODS
from nlgauge.studies.explain.evaluate import (
    ErrorAgreement,
    ErrorAgreements,
    evaluate_errors,
    gold_words,
    read_word_scores,
    read_word_tags,
    word_errors,
)
from nlgauge.studies.explain.options import CorpusOptions, ExplainOptions

if TYPE_CHECKING:
    from nlgauge.studies.explain.explanation import Explanation


@dataclass(frozen=True, kw_only=True)
class PairOptions(OptionSet):
    """A pair of texts, and what is shown of it."""

    hyp_text: str = option("", Text("a text", empty=True), help="hypothesis", required=True, metavar="TEXT")
    ref_text: tuple[str, ...] = option(
        (), Many(Text("a text", empty=True)), help="reference; the best of several is shown", metavar="TEXT"
    )
    source_text: str | None = option(
        None, Text("a text", empty=True), help="source text, for metrics that compare with it", metavar="TEXT"
    )
    side_by_side: bool = option(
        False, Flag(), help="both kinds of alignment: transport (soft) and greedy matches (hard)"
    )
    plot_kind: str = option("flow", Choice("flow", "heat-map"), help="kind of figure", needs="plot")


@dataclass(frozen=True, kw_only=True)
class ErrorOptions(OptionSet):
    """Marked errors, and error scores of words."""

    gold: str | None = option(None, InputFile(), help="instead of a data set: 0 or 1 per word, a text per line")
    scores: str | None = option(None, InputFile(), help="a number per word, a text per line; also FILE.jsonl:KEY")
    lower_is_error: bool = option(False, Flag(), help="scores measure quality, as those of SHAP do", needs="scores")
    method: str = option("match", Choice(*ERROR_METHODS), help="method that computes error scores")


def check_pair(args: argparse.Namespace) -> None:
    """Refuse texts that the metric does not read, and flags of a figure without one."""
    if not args.ref_text and args.source_text is None:
        msg = "nlgauge explain pair needs a text to compare with: --ref-text TEXT or --source-text TEXT"
        raise RecipeError(msg)
    (recipe,), _ = recipes_and_run(args.metric, metric_options(args))
    with_source = getattr(recipe, "against", "refs") == "source"
    if args.source_text is not None and not with_source:
        fix = "leave it out" if args.ref_text else "give --ref-text TEXT instead"
        if "against" in recipe.options():
            alone = "give it alone with" if args.ref_text else "use"
            fix += f", or {alone} -m {recipe.name}:against=source"
        reads = "reads the hypothesis alone" if looks_alone([recipe]) else "compares with references"
        msg = f"--source-text is not read: {recipe.name} {reads}; {fix}"
        raise RecipeError(msg)
    if args.ref_text and with_source:
        msg = (
            f"--ref-text is not read: {recipe.name} compares with the source; leave it out, or use "
            f"-m {recipe.name}:against=refs"
        )
        raise RecipeError(msg)
    other = "reference" if with_source else "source"
    if args.side == other:
        own = "source" if with_source else "reference"
        msg = f"--side {other} has no words here: {recipe.name} compares with the {own}; --side {own}"
        raise RecipeError(msg)


def check_left_out(args: argparse.Namespace, found: Explanation) -> None:
    """Refuse flags on words that are left out where none were, which is known once the pair is explained.

    Shapley values come by themselves where the score is no sum over words.
    """
    if not (found.hypothesis.words and found.reference.words):
        return
    kinds = {one.kind for one in found.attributions}
    if "shapley" not in kinds:
        refuse_flags(args, ("samples", "seed"), "belongs to --shapley, which was not given")
    if not kinds & {"shapley", "leave-one-out"}:
        refuse_flags(args, ("side", "component"), "belongs to --shapley or --leave-one-out; neither was given")


def check_evaluate(args: argparse.Namespace) -> None:
    """Refuse flags that do not go with scores of a file, or with the method."""
    if args.gold is not None:
        refuse_flags(args, ["side"], "belongs to --data NAME; with --gold FILE leave it out")
    if args.scores is not None:
        computed = (*MetricOptions.options(), "method", "pieces", "component", "samples", "seed")
        refuse_flags(args, computed, "belongs to scores that are computed; with --scores FILE leave it out")
        return
    if args.method != "shapley":
        refuse_flags(args, ("samples", "seed"), "belongs to --method shapley")
    if args.method == "match":
        refuse_flags(args, ["component"], "belongs to --method leave-one-out or shapley")
    else:
        refuse_flags(args, ["pieces"], "belongs to --method match")


def check_source_side(args: argparse.Namespace, metrics: Sequence[str]) -> None:
    """Refuse to evaluate words of the source by metrics that do not read it."""
    recipes, _ = recipes_and_run(metrics, metric_options(args))
    names = [recipe.name for recipe in recipes if getattr(recipe, "against", "refs") != "source"]
    if names and args.side != "hypothesis":
        msg = f"--side {args.side} is of the source, which {names[0]} does not read; use -m {names[0]}:against=source"
        raise RecipeError(msg)


def _add_word_options(parser: argparse.ArgumentParser, *, words: str = "words", without: Sequence[str] = ()) -> None:
    """How words are made and left out."""
    side = Choice("hypothesis", "reference", "source")
    change: dict[str, dict[str, Any]] = {
        "words": {"default": words},
        "side": {"kind": side, "help": "whose words are left out, or evaluated"},
    }
    add_flags(parser, ExplainOptions, without=without, change=change)


def _word_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of `_add_word_options` that were given, as keywords; the library has the other defaults."""
    # For the library both are the text that a hypothesis is compared with.
    side = "hypothesis" if args.side == "hypothesis" else "reference"
    return given_options(args, ExplainOptions) | {"words": args.words, "side": side}


_CORPUS_EXAMPLES = f"""\
examples:
  nlgauge explain corpus out.txt --refs ref.txt --metric bertscore
  nlgauge explain corpus --data wmt17-testset --langpairs cs-en --metric moverscore --format tsv
{METRIC_FLAGS}"""


def add_corpus(actions: Any) -> None:
    """Add the command to the parser."""
    parser = actions.add_parser(
        "corpus",
        usage="nlgauge explain corpus (HYP --refs REF ... | --data NAME) [options]",
        help="show which parts of speech and kinds of match make up the score of a corpus",
        description="What words contribute to a metric's score, added up over all texts: by part of speech, and by\n"
        "whether the other text has the same word, another form of it, or neither.",
        epilog=_CORPUS_EXAMPLES,
    )
    add_flags(parser, TextInputs)
    add_data_options(parser, required=False, limit=True)
    add_flags(parser, CorpusOptions)
    add_scoring_options(parser, one=True)
    add_output_options(parser, width=3)
    parser.add_help_all()
    parser.set_defaults(run=_corpus)


def _corpus(args: argparse.Namespace) -> int:
    check_metrics(args.metric, args, command="explain corpus")
    hypotheses, references, sources = _texts(args)
    found = explain_corpus(
        hypotheses,
        references,
        sources=sources,
        metric=args.metric[0],
        **given_options(args, CorpusOptions),
        **metric_options(args),
        **(run_options(args) | {"progress": False}),
    )
    write_output(args.output, found.render(args.format, decimals=args.width))
    return 0


def _texts(args: argparse.Namespace) -> tuple[Sequence[str], list[tuple[str, ...]] | None, Sequence[str] | None]:
    """Hypotheses, references and sources, of files or of a data set."""
    if bool(args.hyps) == (args.data is not None):
        msg = "nlgauge explain corpus needs texts: HYP with --refs REF or --source SRC, or --data NAME, not both"
        raise RecipeError(msg)
    if args.data is not None:
        refuse_flags(args, ("refs", "source"), "belongs to texts in files; with --data NAME leave it out")
        table = load_data(args)
        return table.hypothesis, list(table.references) if all(table.references) else None, table.source
    texts = read_texts(args)
    if len(texts.systems) != 1:
        msg = f"nlgauge explain corpus takes one system, got {len(texts.systems)}"
        raise RecipeError(msg)
    (hypotheses,) = texts.systems.values()
    return hypotheses, texts.references, texts.sources


_EVALUATE_EXAMPLES = f"""\
examples:
  nlgauge explain evaluate --gold dev.tgt-tags --scores explanations.jsonl:shap --lower-is-error
  nlgauge explain evaluate --data eval4nlp --langpairs ru-de --metric bertscore:model=muse,against=source
{METRIC_FLAGS}"""


def add_evaluate(actions: Any) -> None:
    """Add the command to the parser."""
    parser = actions.add_parser(
        "evaluate",
        usage="nlgauge explain evaluate (--gold FILE | --data NAME) [--scores FILE | --metric METRIC] [options]",
        help="compare error scores of words with marked errors",
        description="AUC, average precision and recall at top-K of word-level error scores, by the protocol of the\n"
        "Eval4NLP 2021 shared task. Scores come from a file, or from the explanations of a metric.",
        epilog=_EVALUATE_EXAMPLES,
    )
    data = add_data_options(parser, required=False, limit=True)
    add_flags(data, ErrorOptions, only=["gold"])
    add_flags(parser, ErrorOptions, without=["gold"])
    _add_word_options(parser, words="blanks", without=("shapley", "leave_one_out", "beside", "matrix"))
    add_scoring_options(parser, default="bertscore")
    add_output_options(parser, width=3)
    parser.add_help_all()
    parser.set_defaults(run=_evaluate)


def _evaluate(args: argparse.Namespace) -> int:
    if (args.gold is None) == (args.data is None):
        msg = "nlgauge explain evaluate needs marked errors: --gold FILE, or --data NAME, not both"
        raise RecipeError(msg)
    check_evaluate(args)
    found = ErrorAgreements(tuple(_from_files(args) if args.gold else _from_data(args)))
    write_output(args.output, found.render(args.format, decimals=args.width))
    return 0


def _from_files(args: argparse.Namespace) -> list[ErrorAgreement]:
    if args.scores is None:
        msg = "--gold FILE has words without texts, so it needs --scores FILE"
        raise RecipeError(msg)
    gold = read_word_tags(args.gold)
    scores = read_word_scores(args.scores, lower_is_error=args.lower_is_error)
    return [replace(evaluate_errors(gold, scores), scores=file_label(args.scores))]


def _from_data(args: argparse.Namespace) -> list[ErrorAgreement]:
    table = load_data(args)
    if args.scores is not None and len(table.langpairs) != 1:
        msg = f"--scores belong to one language pair, and {table.name} has {', '.join(table.langpairs)}; --langpairs"
        raise RecipeError(msg)
    metrics = args.metric or ["bertscore"]
    if args.scores is None:
        check_metrics(metrics, args, command="explain evaluate")
        check_source_side(args, metrics)
    found = []
    for langpair in table.langpairs:
        part = table.where(langpair=langpair)
        options = _word_options(args)
        gold = gold_words(part, side=options["side"], words=args.words)
        if args.scores is not None:
            scores = {file_label(args.scores): read_word_scores(args.scores, lower_is_error=args.lower_is_error)}
        else:
            options |= scoring_options(args)
            scores = {name: word_errors(part, metric=name, method=args.method, **options) for name in metrics}
        found += [
            replace(evaluate_errors(gold, values), scores=name, langpair=langpair) for name, values in scores.items()
        ]
    return found


_PAIR_EXAMPLES = f"""\
examples:
  nlgauge explain pair --hyp-text "A cat sat." --ref-text "The cat was sitting." --metric moverscore --side-by-side
  nlgauge explain pair --hyp-text "Eine Katze." --source-text "A cat." --metric bertscore:against=source
  nlgauge explain pair --hyp-text "A cat sat." --ref-text "A dog ran." --plot pair.png
{METRIC_FLAGS}"""


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_pair(actions)
    add_evaluate(actions)
    add_factors(actions)
    add_corpus(actions)


def _add_pair(actions: Any) -> None:
    parser = actions.add_parser(
        "pair",
        usage="nlgauge explain pair --hyp-text TEXT (--ref-text TEXT ... | --source-text TEXT) [options]",
        help="explain the score of one pair",
        description="What matched what in one pair of texts, and what each word contributes to the score.",
        epilog=_PAIR_EXAMPLES,
    )
    add_flags(parser, PairOptions, without=["plot_kind"])
    _add_word_options(parser, without=["beside", "matrix"])
    add_scoring_options(parser, one=True)
    output = add_output_options(parser, formats=("text", "json", "markdown"), plot="figure: .png, .svg or .pdf")
    add_flags(output, PairOptions, only=["plot_kind"])
    parser.add_help_all()
    parser.set_defaults(run=_pair)


def wants_colour(stream: TextIO) -> bool:
    """Whether colours belong on a stream: it is a terminal, and nobody asked for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _pair(args: argparse.Namespace) -> int:
    from nlgauge.studies.explain.pairs import explain_pair

    check_metrics(args.metric, args, command="explain pair")
    check_pair(args)
    found = explain_pair(
        args.hyp_text,
        args.ref_text or None,
        source=args.source_text,
        metric=args.metric[0],
        beside=args.side_by_side,
        **_word_options(args),
        **metric_options(args),
        **(run_options(args) | {"progress": False}),
    )
    check_left_out(args, found)
    colour = args.output == "-" and wants_colour(sys.stdout)
    write_output(args.output, found.render(args.format, decimals=args.width, colour=colour))
    if args.plot:
        with saving(args.plot) as path:
            save_figure(found.figure(kind=args.plot_kind or "flow"), path)
    if args.format == "text" and not args.quiet:
        print(f"signature: {found.signature}", file=sys.stderr)
    return 0
