"""`nlgauge explain pair`, `evaluate` and `corpus`: why a text got its score (`factors` is in explain_factors.py).

Flags that would not be read are refused, and the message names the flag that is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_inputs,
    add_text_options,
    add_word_options,
    metric_options,
    read_texts,
    run_options,
    word_options,
)
from nlgauge.apps.cli.datasets import add_data_options, load_data
from nlgauge.apps.cli.explain_factors import add_factors
from nlgauge.apps.cli.flags import flag_of
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.apps.cli.parsing import AddParser, add_hidden
from nlgauge.core.metric import looks_alone
from nlgauge.core.scoring import recipes_and_run
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import check_figure, save_figure
from nlgauge.io.textfiles import file_label
from nlgauge.studies.explain.corpus import explain_corpus
from nlgauge.studies.explain.evaluate import METHODS as ERROR_METHODS
from nlgauge.studies.explain.evaluate import (
    ErrorAgreement,
    ErrorAgreements,
    evaluate_errors,
    gold_words,
    word_errors,
)
from nlgauge.studies.explain.options import CorpusOptions
from nlgauge.studies.explain.word_level import read_word_scores, read_word_tags

if TYPE_CHECKING:
    from nlgauge.studies.explain.explanation import Explanation


def check_pair(args: argparse.Namespace) -> None:
    """Refuse texts that the metric does not read, and flags of a figure without one."""
    if not args.ref_text and args.source_text is None:
        msg = "nlgauge explain pair needs a text to compare with: --ref-text TEXT or --source-text TEXT"
        raise RecipeError(msg)
    if args.plot_kind is not None and not args.plot:
        msg = "--plot-kind belongs to --plot FILE, which was not given"
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
        _refuse(args, ("samples", "seed"), "to --shapley, which was not given")
    if not kinds & {"shapley", "leave-one-out"}:
        _refuse(args, ("side", "component"), "to --shapley or --leave-one-out; neither was given")


def check_evaluate(args: argparse.Namespace) -> None:
    """Refuse what does not go with scores of a file, tags of a file, or the method."""
    if args.gold is not None:
        _refuse(args, ("at", "langpairs", "set", "limit", "side"), "to --data NAME; with --gold FILE leave it out")
    if args.scores is not None:
        computed = ("metric", "method", "pieces", "component", "samples", "seed")
        _refuse(args, computed, "to scores that are computed; with --scores FILE leave it out")
        for name in metric_options(args):
            msg = f"{flag_of(name)} belongs to scores that are computed; with --scores FILE leave it out"
            raise RecipeError(msg)
        return
    if args.lower_is_error:
        _refuse(args, ("lower_is_error",), "to --scores FILE, which was not given")
    if args.method != "shapley":
        _refuse(args, ("samples", "seed"), "to --method shapley")
    if args.method in (None, "match"):
        _refuse(args, ("component",), "to --method leave-one-out or shapley")
    else:
        _refuse(args, ("pieces",), "to --method match")


def check_source_side(args: argparse.Namespace, metrics: Sequence[str]) -> None:
    """Refuse to evaluate words of the source by metrics that do not read it."""
    recipes, _ = recipes_and_run(metrics, metric_options(args))
    names = [recipe.name for recipe in recipes if getattr(recipe, "against", "refs") != "source"]
    if names and args.side not in (None, "hypothesis"):
        msg = f"--side {args.side} is of the source, which {names[0]} does not read; use -m {names[0]}:against=source"
        raise RecipeError(msg)


def _refuse(args: argparse.Namespace, names: Sequence[str], where: str) -> None:
    """Refuse the first of the flags that was given."""
    for name in names:
        if getattr(args, name) not in (None, [], False):
            msg = f"{flag_of(name)} belongs {where}"
            raise RecipeError(msg)


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
        help="which parts of speech, and which kinds of match, carry a score over a corpus",
        description="What words contribute to a metric's score, added up over all texts: by part of speech, and by\n"
        "whether the other text has the same word, another form of it, or neither.",
        epilog=_CORPUS_EXAMPLES,
    )
    add_text_inputs(parser)
    data = add_data_options(parser, required=False)
    data.add_argument("--limit", type=int, metavar="N", help="the first N rows of each language pair and system")
    methods = CorpusOptions.options()["method"].kind.words_of()
    parser.add_argument(
        "--method", choices=methods, default="linear", metavar="NAME", help=f"{', '.join(methods)} (linear)"
    )
    parser.add_argument(
        "--words-of",
        choices=("hypothesis", "reference"),
        default="hypothesis",
        metavar="SIDE",
        help="hypothesis or reference, which may be the source (hypothesis)",
    )
    parser.add_argument(
        "--tagger", default="spacy-en", metavar="NAME", help="spacy-en, a spaCy model or CoNLL-U files (spacy-en)"
    )
    add_metric_options(parser)
    intervals = parser.add_argument_group("intervals")
    add_hidden(intervals, "--level", type=float, default=0.95, metavar="P", help="(%(default)s)")
    add_hidden(intervals, "--resamples", type=int, default=1000, metavar="N", help="draws of texts (%(default)s)")
    add_hidden(intervals, "--seed", type=int, default=12345, metavar="N", help="of the draws (%(default)s)")
    add_run_options(parser)
    add_text_options(parser)
    add_output_options(parser, width=3)
    parser.add_help_all()
    parser.set_defaults(run=_corpus)


def _corpus(args: argparse.Namespace) -> int:
    check_metrics(args.metric, args, command="explain corpus")
    if len(args.metric) != 1:
        msg = f"nlgauge explain corpus takes one metric, got {len(args.metric)}"
        raise RecipeError(msg)
    hypotheses, references, sources = _texts(args)
    found = explain_corpus(
        hypotheses,
        references,
        sources=sources,
        metric=args.metric[0],
        annotator=args.tagger,
        side=args.words_of,
        method=args.method,
        level=args.level,
        resamples=args.resamples,
        seed=args.seed,
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
        if args.refs or args.source:
            msg = "--refs and --source belong to files of one's own; with --data NAME leave them out"
            raise RecipeError(msg)
        table = load_data(args)
        table = table if args.limit is None else table.first_rows(args.limit)
        return table.hypothesis, list(table.references) if all(table.references) else None, table.source
    if args.at or args.langpairs or args.set or args.limit is not None:
        msg = "--at, --langpairs, --set and --limit belong to --data NAME, which was not given"
        raise RecipeError(msg)
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
        help="error scores of words beside words that people marked",
        description="AUC, average precision and recall at top-K of word-level error scores, by the protocol of the\n"
        "Eval4NLP 2021 shared task. Scores come from a file, or from the explanations of a metric.",
        epilog=_EVALUATE_EXAMPLES,
    )
    data = add_data_options(parser, required=False)
    data.add_argument("--gold", metavar="FILE", help="instead: 0 or 1 per word, a text per line")
    data.add_argument("--limit", type=int, metavar="N", help="the first N texts of each language pair and system")
    parser.add_argument("--scores", metavar="FILE", help="a number per word, a text per line; also FILE.jsonl:KEY")
    parser.add_argument("--lower-is-error", action="store_true", help="the scores are of quality, such as SHAP")
    parser.add_argument("--method", choices=ERROR_METHODS, metavar="NAME", help=f"{', '.join(ERROR_METHODS)} (match)")
    add_word_options(parser, words="blanks")
    add_metric_options(parser, default=None, shown="bertscore")
    add_run_options(parser)
    add_text_options(parser)
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
    table = table if args.limit is None else table.first_rows(args.limit)
    if args.scores is not None and len(table.langpairs) != 1:
        msg = f"--scores belong to one language pair, and {table.name} has {', '.join(table.langpairs)}; --langpairs"
        raise RecipeError(msg)
    metrics = args.metric or ["bertscore"]
    if args.scores is None:
        check_metrics(metrics, args, command="explain evaluate")
        check_source_side(args, metrics)
    method = args.method or "match"
    found = []
    for langpair in table.langpairs:
        part = table.where(langpair=langpair)
        options = word_options(args)
        gold = gold_words(part, side=options["side"], words=args.words)
        if args.scores is not None:
            scores = {file_label(args.scores): read_word_scores(args.scores, lower_is_error=args.lower_is_error)}
        else:
            options |= metric_options(args) | run_options(args)
            scores = {name: word_errors(part, metric=name, method=method, **options) for name in metrics}
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
    parser.add_argument("--hyp-text", required=True, metavar="TEXT", help="the hypothesis")
    parser.add_argument("--ref-text", nargs="+", metavar="TEXT", help="the reference; of several the best is shown")
    parser.add_argument("--source-text", metavar="TEXT", help="what was translated, for metrics that compare with it")
    parser.add_argument(
        "--side-by-side",
        action="store_true",
        help="also the other kind of alignment: transport (soft) beside greedy matches (hard), or the reverse",
    )
    parser.add_argument("--shapley", action="store_true", help="Shapley values of the words, for any score")
    parser.add_argument("--leave-one-out", action="store_true", help="what the score loses without each word")
    add_word_options(parser)
    add_metric_options(parser)
    add_run_options(parser)
    add_text_options(parser)
    output = add_output_options(parser, formats=("text", "json", "markdown"))
    output.add_argument("--plot", metavar="FILE", help="a figure: .png, .svg or .pdf")
    output.add_argument("--plot-kind", choices=("flow", "heat-map"), metavar="NAME", help="flow or heat-map (flow)")
    parser.add_help_all()
    parser.set_defaults(run=_pair)


def wants_colour(stream: TextIO) -> bool:
    """Whether colours belong on a stream: it is a terminal, and nobody asked for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _pair(args: argparse.Namespace) -> int:
    from nlgauge.studies.explain.pairs import explain_pair

    check_metrics(args.metric, args, command="explain pair")
    if len(args.metric) != 1:
        msg = f"nlgauge explain pair takes one metric, got {len(args.metric)}"
        raise RecipeError(msg)
    check_pair(args)
    if args.plot:
        check_figure(Path(args.plot))
    found = explain_pair(
        args.hyp_text,
        args.ref_text,
        source=args.source_text,
        metric=args.metric[0],
        shapley=True if args.shapley else None,
        leave_one_out=args.leave_one_out,
        beside=args.side_by_side,
        **word_options(args),
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
