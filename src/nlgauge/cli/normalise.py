"""`nlgauge normalise`: make texts of several languages look alike before they are scored."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from nlgauge.cli.common import file_label, text_source
from nlgauge.cli.outputs import write_output
from nlgauge.errors import RecipeError
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.text.conllu import parse_conllu
from nlgauge.text.normalisation import RULES, TREE_RULES, check_rules, normalise_sentence, remove_punctuation

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "normalise",
        help="split contractions, change word order, remove punctuation",
        description="Text out, one sentence per line. The rules of word order are our reading of a paper "
        "whose authors did not release theirs; they follow the tree and know no exceptions of a language.",
    )
    parser.add_argument(
        "file", type=text_source, metavar="FILE", help="parsed sentences (.conllu, .conllu.gz), or text"
    )
    parser.add_argument(
        "--rules",
        nargs="+",
        required=True,
        metavar="RULE",
        help=f"in the order they work: {', '.join(RULES)}; text has no tree, so it takes the last only",
    )
    parser.add_argument("--lang", help="language of the texts; zh, ja and th have no blanks")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: stdout")
    parser.add_argument(
        "--input-format", choices=("conllu", "text", "tsv", "csv", "jsonl"), help="instead of by the file's suffix"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no warnings on stderr")
    parser.set_defaults(run=_normalise)


def _normalise(args: argparse.Namespace) -> int:
    check_rules(args.rules)
    texts = list(_parsed(args) if _is_parsed(args) else _plain(args))
    write_output(args.output, "".join(f"{text}\n" for text in texts))
    return 0


def _is_parsed(args: argparse.Namespace) -> bool:
    if args.input_format:
        return bool(args.input_format == "conllu")
    return str(args.file).lower().removesuffix(".gz").endswith(".conllu")


def _parsed(args: argparse.Namespace) -> Iterator[str]:
    lines = Inputs().texts(parse_source(args.file, input_format="text"))
    for sentence in parse_conllu(lines, name=file_label(args.file)):
        yield normalise_sentence(sentence, args.rules, lang=args.lang or "")


def _plain(args: argparse.Namespace) -> Iterator[str]:
    trees = [rule for rule in args.rules if rule in TREE_RULES]
    if trees:
        msg = (
            f"the rule {trees[0]!r} needs parsed sentences, but {file_label(args.file)} is text; parse it (UDPipe, "
            "Stanza) and give the .conllu file, or say --input-format conllu"
        )
        raise RecipeError(msg)
    for text in Inputs().texts(parse_source(args.file, input_format=args.input_format)):
        yield remove_punctuation(text, lang=args.lang or "")
