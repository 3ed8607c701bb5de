"""`nlgauge align train`: an encoder trained so that words that translate each other lie together (JOINT-ALIGN)."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

from nlgauge.cli.align_options import parallel_texts
from nlgauge.cli.common import file_label, text_source
from nlgauge.cli.parsing import add_hidden
from nlgauge.engine.progress import Progress
from nlgauge.errors import RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.text.word_alignment import read_alignments
from nlgauge.transforms.fit.joint_options import HELD, JointAligned, JointOptions
from nlgauge.transforms.fit.joint_texts import Bitext

__all__ = ["add_train"]

_EXAMPLES = """\
examples:
  nlgauge align train --model xlm-roberta-base --parallel text.de text.en -o xlmr-de
  nlgauge align train --model bert-base-multilingual-cased --parallel a.de a.en --alignments a.links \\
      --parallel b.fr b.en --alignments b.links -o mbert-de-fr
  nlgauge score output.en -s source.de -m xmoverscore:aggregation=last --model ./xlmr-de
"""

#: Options that are numbers: what `--help` says of them.
_NUMBERS: dict[str, tuple[Any, str]] = {
    "epochs": (int, "times through the texts"),
    "batch": (int, "pairs of texts of a step"),
    "learning_rate": (float, "of Adam"),
    "warm_up": (int, "steps until the learning rate is reached"),
    "hold_weight": (float, "of the term that holds a side where it was"),
    "save_every": (int, "steps between checkpoints, beside one after each epoch"),
    "seed": (int, "of the order of texts"),
}


def add_train(actions: Any) -> None:
    """Add the action to the parser."""
    train = actions.add_parser(
        "train",
        help="train an encoder on parallel texts until translated words lie together",
        description="JOINT-ALIGN for an encoder of Hugging Face. Interrupted, the same command goes on from the last "
        "checkpoint in the folder. Needs nlgauge[torch].",
        epilog=_EXAMPLES,
    )
    train.add_argument(
        "--model", required=True, metavar="NAME", help="a folder or a hub id, such as xlm-roberta-base"
    )
    train.add_argument(
        "--parallel",
        dest="bitexts",
        action="append",
        nargs=2,
        type=text_source,
        required=True,
        metavar=("SOURCE", "TARGET"),
        help="texts by line, line by line translations; the target is the pivot. Again for each language",
    )
    train.add_argument(
        "--alignments",
        dest="links",
        action="append",
        metavar="FILE",
        help="links i-j of a word aligner, one file for each --parallel (default: nearest neighbours)",
    )
    train.add_argument("-o", "--output", dest="folder", required=True, metavar="FOLDER", help="the trained model")
    train.add_argument("--sentences", type=int, default=0, metavar="N", help="first pairs of each, 0 for all (0)")
    _add_training(train)
    train.add_help_all()
    train.set_defaults(run=_train)


def _add_training(train: argparse.ArgumentParser) -> None:
    group = train.add_argument_group("training")
    defaults = JointOptions()
    group.add_argument("--layer", type=int, metavar="N", help="whose vectors are brought together (the last)")
    group.add_argument(
        "--hold", choices=HELD, default=defaults.hold, help="side that stays where it was (%(default)s)"
    )
    for name, (kind, text) in _NUMBERS.items():
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=getattr(defaults, name),
            metavar="N" if kind is int else "X",
            help=f"{text} (%(default)s)",
        )
    run = train.add_argument_group("run")
    run.add_argument("--threads", type=int, metavar="N", help="default: the processors at hand")
    run.add_argument("-q", "--quiet", action="store_true", help="no progress bar and no warnings on stderr")
    add_hidden(run, "--device", default="auto", help="auto, cpu or cuda (%(default)s)")


def _train(args: argparse.Namespace) -> int:
    options = JointOptions(**{field.name: getattr(args, field.name) for field in fields(JointOptions)})
    if args.links is not None and len(args.links) != len(args.bitexts):
        msg = f"--alignments goes with --parallel, one for each, got {len(args.links)} and {len(args.bitexts)}"
        raise RecipeError(msg)
    bitexts = []
    for number, specs in enumerate(args.bitexts):
        source, target = parallel_texts(specs, most=args.sentences)
        file = args.links[number] if args.links else None
        links = read_alignments(Path(file))[: len(source)] if file else None
        bitexts.append(Bitext(source, target, links, file_label(file or "alignments")))
    trained = _with_bars(args, bitexts, options)
    if not args.quiet:
        _say(args, trained)
    return 0


def _with_bars(args: argparse.Namespace, bitexts: list[Bitext], options: JointOptions) -> JointAligned:
    from nlgauge.transforms.fit.joint_align import train_joint_alignment

    show = not args.quiet
    total = sum(len(bitext.source) for bitext in bitexts if bitext.links is None)
    with ExitStack() as bars:
        reading = bars.enter_context(Progress(total, show=show and total > 0, what="linking words", unit="pair"))
        advance = []

        def start(steps: int) -> None:
            advance.append(bars.enter_context(Progress(steps, show=show, what="training", unit="step")))

        return train_joint_alignment(
            args.model,
            bitexts,
            Path(args.folder),
            options=options,
            threads=args.threads,
            device=args.device,
            reading=reading,
            start=start,
            advance=lambda count: advance[0](count),
        )


def _say(args: argparse.Namespace, trained: JointAligned) -> None:
    first, last = trained.curve[0], trained.curve[-1]
    print(
        f"{args.folder}: {trained.links} links of {trained.pairs} pairs of texts ({trained.left_out} left out), "
        f"{last.epoch} epochs ({trained.ended}), {short_digest(trained.weights_digest)}\n"
        f"in texts kept apart, cosine of linked words {first.linked:.3f} to {last.linked:.3f}, of others "
        f"{first.unlinked:.3f} to {last.unlinked:.3f}; translations found {first.found:.3f} to {last.found:.3f}",
        file=sys.stderr,
    )
