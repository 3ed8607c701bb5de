"""`nlgauge explain evaluate`: error scores of words beside the words that people marked."""

from __future__ import annotations

import argparse
from typing import Any

from nlgauge.cli.checks import check_metrics
from nlgauge.cli.common import (
    METRIC_FLAGS,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_options,
    file_label,
    metric_options,
    run_options,
)
from nlgauge.cli.data_options import add_data_options, load_data
from nlgauge.cli.explain_checks import check_evaluate, check_source_side
from nlgauge.cli.outputs import write_output
from nlgauge.cli.word_options import add_word_options, word_options
from nlgauge.errors import RecipeError
from nlgauge.explain.evaluate import METHODS, ErrorAgreement, evaluate_errors, gold_words, word_errors
from nlgauge.explain.word_files import read_word_scores, read_word_tags

__all__ = ["add_evaluate"]

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
    parser.add_argument("--method", choices=METHODS, metavar="NAME", help=f"{', '.join(METHODS)} (match)")
    add_word_options(parser, words="blanks")
    add_metric_options(parser, default=None, shown="bertscore")
    add_run_options(parser)
    add_text_options(parser)
    add_output_options(parser, width=3)
    parser.add_help_all()
    parser.set_defaults(run=_evaluate)


def _evaluate(args: argparse.Namespace) -> int:
    from nlgauge.report.error_agreement import render_error_agreement

    if (args.gold is None) == (args.data is None):
        msg = "nlgauge explain evaluate needs marked errors: --gold FILE, or --data NAME, not both"
        raise RecipeError(msg)
    check_evaluate(args)
    found = _from_files(args) if args.gold else _from_data(args)
    write_output(args.output, render_error_agreement(found, format=args.format, width=args.width))
    return 0


def _from_files(args: argparse.Namespace) -> list[tuple[str, str, ErrorAgreement]]:
    if args.scores is None:
        msg = "--gold FILE has words without texts, so it needs --scores FILE"
        raise RecipeError(msg)
    gold = read_word_tags(args.gold)
    scores = read_word_scores(args.scores, lower_is_error=args.lower_is_error)
    return [("", file_label(args.scores), evaluate_errors(gold, scores))]


def _from_data(args: argparse.Namespace) -> list[tuple[str, str, ErrorAgreement]]:
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
        found += [(langpair, name, evaluate_errors(gold, values)) for name, values in scores.items()]
    return found
