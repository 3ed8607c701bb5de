"""The command `nlp-capsule`. Results are written to stdout, progress to stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from nlgauge.errors import NlgaugeError
from nlp_capsule.eurlex import load_eurlex
from nlp_capsule.experiments import (
    ANSWER_PLAN,
    SMALL_PLAN,
    Sizes,
    Verdict,
    compare_answers,
    compare_eurlex,
    compare_labels,
)
from nlp_capsule.losses import LOSSES
from nlp_capsule.network import EURLEX, count_parameters
from nlp_capsule.pairs import load_pairs
from nlp_capsule.rounds import compare_rounds, draw_rounds
from nlp_capsule.tasks import TASKS, load_task
from nlp_capsule.training import TrainingPlan

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0: success, 1: runtime error, 2: usage error."""
    args = _parser().parse_args(argv)
    torch.set_num_threads(args.threads)
    try:
        return int(args.run(args))
    except (NlgaugeError, OSError) as error:
        print(f"nlp-capsule: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("nlp-capsule: interrupted", file=sys.stderr)
        return 130


def _from(least: int) -> Callable[[str], int]:
    """Argument type of integers of at least `least`."""

    def whole(text: str) -> int:
        value = int(text)
        if value < least:
            msg = f"must be {least} or more, got {value}"
            raise argparse.ArgumentTypeError(msg)
        return value

    whole.__name__ = "whole number"
    return whole


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nlp-capsule", description=main.__doc__)
    parser.add_argument(
        "--threads", type=_from(1), default=1, help="number of torch threads; affects the last bits (default: 1)"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    classify = commands.add_parser("classify", help="train on labelled texts and compare with a bag of words")
    classify.add_argument("task", choices=TASKS)
    classify.add_argument("--most", type=_from(1), default=1000, help="maximum texts per label (default: 1000)")
    classify.add_argument("--routing", choices=("adaptive", "kde", "dynamic"), default="adaptive")
    classify.add_argument("--profile", choices=("released", "paper"), default="released")
    _add_data(classify)
    _add_plan(classify, SMALL_PLAN)
    classify.set_defaults(run=_classify)

    answer = commands.add_parser(
        "answer", help="train answer selection and compare with the cosine of tf-idf vectors"
    )
    answer.add_argument(
        "--final", type=_from(1), default=Sizes().final, help="final capsules per text (default: 8; paper: 1)"
    )
    _add_data(answer)
    _add_plan(answer, ANSWER_PLAN, labels=False)
    answer.set_defaults(run=_answer)

    eurlex = commands.add_parser("eurlex", help="train and evaluate on EUR-Lex as published")
    eurlex.add_argument("path", type=Path, help="eurlex_raw_text.p, or a folder with train.jsonl and test.jsonl")
    eurlex.add_argument("--vectors", type=Path, help="word vectors in GloVe format")
    eurlex.add_argument("--candidates", type=_from(1), default=200, help="candidate labels per text (default: 200)")
    _add_plan(eurlex, TrainingPlan())
    eurlex.set_defaults(run=_eurlex)

    rounds = commands.add_parser("rounds", help="compare fixed and adaptive rounds of routing (Figure 3)")
    rounds.add_argument("task", choices=TASKS)
    rounds.add_argument("--most", type=_from(1), default=200, help="maximum texts per label (default: 200)")
    rounds.add_argument("--rounds", type=_from(2), nargs="+", default=(2, 3, 5), help="default: 2 3 5")
    rounds.add_argument("--text", type=_from(0), default=0, help="drawn text of the development set, from 0")
    rounds.add_argument("--profile", choices=("released", "paper"), default="released")
    rounds.add_argument("--plot", type=Path, help="figure: .png, .svg or .pdf")
    _add_data(rounds)
    _add_plan(rounds, SMALL_PLAN)
    rounds.set_defaults(run=_rounds)

    parameters = commands.add_parser("parameters", help="print the number of parameters of a network for EUR-Lex")
    parameters.add_argument("--profile", choices=("released", "paper"), default="released")
    parameters.set_defaults(run=_parameters)
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("NLGAUGE_DATA"),
        help="folder of data sets (default: $NLGAUGE_DATA)",
    )


def _add_plan(parser: argparse.ArgumentParser, plan: TrainingPlan, *, labels: bool = True) -> None:
    """Add training options; answer selection (no labels) has its own loss and no partial routing."""
    parser.add_argument("--epochs", type=int, default=plan.epochs, help=f"default {plan.epochs}")
    parser.add_argument("--batch", type=int, default=plan.batch, help=f"default {plan.batch}")
    parser.add_argument(
        "--learning-rate", type=float, default=plan.learning_rate, help=f"default {plan.learning_rate}"
    )
    parser.add_argument(
        "--negatives", type=_from(0), default=plan.negatives, help="number of sampled wrong labels or answers"
    )
    parser.add_argument("--seed", type=_from(0), default=0)
    parser.set_defaults(loss=plan.loss, negative_weight=plan.negative_weight, unknown=plan.unknown)
    if labels:
        parser.add_argument("--loss", choices=LOSSES, default=plan.loss)
        parser.add_argument(
            "--negative-weight", type=float, default=1.0, help="lambda of partial routing (default: 1)"
        )
        parser.add_argument(
            "--unknown", type=float, default=plan.unknown, help="share of words hidden in training (default: 0)"
        )


def _plan(args: argparse.Namespace) -> TrainingPlan:
    def report(epoch: int, loss: float) -> None:
        print(f"epoch {epoch} of {args.epochs}: loss {loss:.5f}", file=sys.stderr)

    return TrainingPlan(
        epochs=args.epochs,
        batch=args.batch,
        learning_rate=args.learning_rate,
        loss=args.loss,
        negatives=args.negatives,
        negative_weight=args.negative_weight,
        unknown=args.unknown,
        seed=args.seed,
        report=report,
    )


def _folder(args: argparse.Namespace) -> Path:
    if args.data is None:
        print("nlp-capsule: folder of data sets is not set: use --data FOLDER or NLGAUGE_DATA", file=sys.stderr)
        raise SystemExit(2)
    return Path(args.data)


def _classify(args: argparse.Namespace) -> int:
    split = load_task(args.task, _folder(args), most=args.most, seed=args.seed)
    verdict = compare_labels(
        split, _plan(args), change=lambda config: replace(config, routing=args.routing, profile=args.profile)
    )
    _print(verdict)
    return 0


def _answer(args: argparse.Namespace) -> int:
    sizes = replace(Sizes.of_answers(), final=args.final)
    _print(compare_answers(load_pairs(_folder(args), seed=args.seed), _plan(args), sizes=sizes))
    return 0


def _eurlex(args: argparse.Namespace) -> int:
    split = load_eurlex(args.path)
    _print(compare_eurlex(split, _plan(args), vectors=args.vectors, candidates=args.candidates))
    return 0


def _rounds(args: argparse.Namespace) -> int:
    split = load_task(args.task, _folder(args), most=args.most, seed=args.seed)
    result = compare_rounds(split, _plan(args), sizes=Sizes(), rounds=args.rounds, profile=args.profile)
    if args.text >= len(result.texts):
        print(f"nlp-capsule: --text must be below {len(result.texts)}, got {args.text}", file=sys.stderr)
        return 2
    for name, losses in result.losses.items():
        print(f"{name:10}", *(f"{loss:7.4f}" for loss in losses))
    counts = [text.adaptive for text in result.texts]
    print(f"{result.unsettled:.1%} of {len(counts)} texts still change in round {result.rounds}")
    print(f"adaptive routing takes {min(counts)} to {max(counts)} rounds, on average {sum(counts) / len(counts):.1f}")
    if args.plot is not None:
        draw_rounds(result, text=args.text).savefig(args.plot)
    return 0


def _parameters(args: argparse.Namespace) -> int:
    for name, count in count_parameters(replace(EURLEX, profile=args.profile)).items():
        print(f"{name:12} {count:>13,}")
    return 0


def _print(verdict: Verdict) -> None:
    print(f"{'':10}", *(f"{name:>7}" for name in verdict.capsules))
    for name, measures in (("capsules", verdict.capsules), ("baseline", verdict.baseline)):
        print(f"{name:10}", *(f"{value:7.4f}" for value in measures.values()))


if __name__ == "__main__":
    sys.exit(main())
