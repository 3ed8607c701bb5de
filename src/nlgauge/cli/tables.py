"""`nlgauge idf build` and `nlgauge baseline build`: frozen tables that scores can name by digest."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nlgauge.cli.common import add_run_options, file_label, run_options, text_source
from nlgauge.cli.outputs import check_writable, write_output
from nlgauge.encoders import load_encoder
from nlgauge.files.digests import short_digest
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.metrics.parts.build_baseline import build_baseline
from nlgauge.recipes.defaults import model_for_language
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text import IdfTable

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    idf = commands.add_parser("idf", help="freeze inverse document frequencies to a file")
    build = idf.add_subparsers(dest="action", metavar="ACTION", required=True).add_parser(
        "build", help="count documents (one per line) under a model's tokenizer"
    )
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

    baseline = commands.add_parser("baseline", help="make a baseline for rescaling")
    make = baseline.add_subparsers(dest="action", metavar="ACTION", required=True).add_parser(
        "build", help="score random pairs of sentences at every layer"
    )
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
