"""`nlgauge build idf|baseline|bounds`, and `nlgauge normalise`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nlgauge.apps.cli.common import (
    add_run_options,
    add_text_inputs,
    add_text_options,
    metric_options,
    read_texts,
    run_options,
    text_source,
)
from nlgauge.apps.cli.flags import flag_help, flag_of
from nlgauge.apps.cli.outputs import check_writable, write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import score_systems
from nlgauge.core.vector_metric import model_for_language
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import RecipeError
from nlgauge.io.storage import short_digest
from nlgauge.io.textfiles import Inputs, file_label, parse_source
from nlgauge.metrics.parts.baseline import build_baseline
from nlgauge.metrics.parts.bounds import Bounds
from nlgauge.metrics.sentsim import PARTS, SentSim
from nlgauge.text.conllu import parse_conllu
from nlgauge.text.idf import IdfTable
from nlgauge.text.normalise import RULES, TREE_RULES, check_rules, normalise_sentence, remove_punctuation


def add_idf(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    build = add_parser(description="Count the documents (one per line) in which each token of a model occurs.")
    build.add_argument(
        "corpus",
        nargs="+",
        type=text_source,
        metavar="CORPUS",
        help="text file, FILE.tsv:COLUMN, FILE.csv:COLUMN, FILE.jsonl:KEY, or -",
    )
    build.add_argument("-o", "--output", required=True, metavar="FILE", help="- for stdout")
    build.add_argument("--model", help="model whose tokenizer counts (minilm)")
    build.add_argument(
        "--long",
        choices=("truncate", "windows"),
        default="truncate",
        help="document over the model's limit: %(default)s (counted), or windows (all of it counts)",
    )
    build.add_argument(
        "--prefix-space",
        choices=("auto", "yes", "no"),
        default="auto",
        help="space before each document, for byte-level BPE tokenizers (%(default)s: yes for RoBERTa and GPT-2)",
    )
    add_run_options(build, cache=False)
    build.add_help_all()
    build.set_defaults(run=_build_idf)


def add_baseline(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    make = add_parser(description="Score random pairs of sentences at every layer of a model.")
    make.add_argument(
        "--corpus", nargs="+", type=text_source, required=True, metavar="FILE", help="sentences, one per line"
    )
    make.add_argument("-o", "--output", metavar="FILE", help="default: LANG.MODEL.tsv; - for stdout")
    make.add_argument("--model", help="default: by language")
    make.add_argument("--lang", help="language of the corpus (en)")
    make.add_argument("--pairs", type=int, default=10_000, metavar="N", help="random pairs (%(default)s)")
    make.add_argument("--seed", type=int, default=12345, metavar="N", help="(%(default)s)")
    make.add_argument("--note", default="", help="what the corpus is, for the file's header")
    add_run_options(make)
    make.add_help_all()
    make.set_defaults(run=_build_baseline)


def _build_idf(args: argparse.Namespace) -> int:
    inputs = Inputs()
    documents = (text for spec in args.corpus for text in inputs.stream(parse_source(spec)))
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(
        args.model or "minilm",
        engine=options.engine,
        threads=options.threads,
        device=options.device,
        progress=options.progress,
    )
    whole = args.long == "windows"
    source = ", ".join(file_label(spec) for spec in args.corpus)
    tokenizer = encoder.tokenizer.with_prefix_space(args.prefix_space, model=encoder.model)
    table = IdfTable.count(documents, tokenizer, source=source, whole=whole)
    write_output(args.output, table.text())
    if not args.quiet:
        print(f"{args.output}: idf of {table.documents} documents, {short_digest(table.digest)}", file=sys.stderr)
    return 0


def _build_baseline(args: argparse.Namespace) -> int:
    args.lang = args.lang or "en"
    model = model_for_language(args.lang) if args.model is None else args.model
    if args.output is None:
        check_writable(f"{args.lang}.{file_label(model)}.tsv")
    inputs = Inputs()
    sentences = [text for spec in args.corpus for text in inputs.texts(parse_source(spec))]
    baseline = build_baseline(
        sentences,
        model=model,
        language=args.lang,
        pairs=args.pairs,
        seed=args.seed,
        corpus=args.note or ", ".join(file_label(spec) for spec in args.corpus),
        options=RunOptions.of(run_options(args)),
    )
    output = args.output or f"{args.lang}.{file_label(baseline.header['model'])}.tsv"
    write_output(output, baseline.text())
    if not args.quiet:
        print(
            f"{output}: baseline of {len(baseline.rows)} layers, {short_digest(baseline.digest)}",
            file=sys.stderr,
        )
    return 0


#: Options of the recipe that the values of the parts depend on.
_OPTIONS = (
    *("model", "lang", "layer", "sentence", "lowercase", "max_tokens", "prefix_space"),
    *("src_lang", "transforms", "wmdo_matches"),
)


def add_bounds(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    calibrate = add_parser(description="Find the lowest and highest value of each part of SentSim over a corpus.")
    add_text_inputs(calibrate, systems="+")
    calibrate.add_argument("-o", "--output", required=True, metavar="FILE", help="the bounds, a JSON file")
    calibrate.add_argument("--combine", default="all", help=f"parts, of {', '.join(PARTS)} (%(default)s)")
    recipe = SentSim.options()
    for name in _OPTIONS:
        calibrate.add_argument(
            flag_of(name),
            dest=f"option_{name}",
            metavar=name.upper(),
            help=flag_help(recipe[name]).replace("%", "%%"),
        )
    add_run_options(calibrate)
    add_text_options(calibrate)
    calibrate.add_help_all()
    calibrate.set_defaults(run=_calibrate)


def _calibrate(args: argparse.Namespace) -> int:
    if (args.source is None) == (args.refs is None):
        msg = "nlgauge build bounds needs either the source (--source SRC) or references (--refs REF)"
        raise RecipeError(msg)
    texts = read_texts(args)
    against = "refs" if texts.sources is None else "source"
    scores = score_systems(
        texts.systems,
        texts.references,
        sources=texts.sources,
        metric=[SentSim.from_options({"combine": args.combine, "against": against} | metric_options(args))],
        **run_options(args),
    )
    bounds = Bounds.of_scores(scores)
    write_output(args.output, bounds.text())
    for name, (low, high) in bounds.ranges.items() if args.output != "-" else ():
        print(f"{name}\t{low:.6g}\t{high:.6g}")
    if not args.quiet:
        print(f"bounds of {bounds.pairs} pairs, {short_digest(bounds.digest)}: {args.output}", file=sys.stderr)
    return 0


def add_normalise(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
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
