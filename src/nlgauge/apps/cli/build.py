"""`nlgauge build idf|baseline|bounds`, and `nlgauge normalise`."""

from __future__ import annotations

import argparse
import itertools
import warnings
from dataclasses import dataclass

from nlgauge.apps.cli.common import (
    OutputOptions,
    TableModel,
    TextInputs,
    check_writable,
    output_file,
    read_columns,
    read_texts,
    report,
    run_flags,
    run_options,
    write_output,
)
from nlgauge.apps.cli.flags import Command, Flags, given_options, refuse_flags
from nlgauge.core.kinds import Choice, Int, Many, Text, TextColumn
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import score_systems
from nlgauge.core.vector_metric import model_for_language
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import LanguageWarning, RecipeError, user_stacklevel
from nlgauge.io.storage import short_digest
from nlgauge.io.textfiles import Inputs, file_label, parse_source
from nlgauge.metrics.parts.baseline import build_baseline
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.metrics.sentsim import PARTS, SentSim
from nlgauge.text.conllu import parse_conllu
from nlgauge.text.idf import IdfTable
from nlgauge.text.normalise import RULES, TREE_RULES, check_rules, normalise_sentence, remove_punctuation
from nlgauge.text.typology import load_typology


@dataclass(frozen=True, kw_only=True)
class IdfOptions(OptionSet):
    """The corpus, and how its tokens are counted."""

    corpus: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=1),
        help="corpus, one document per line: FILE, FILE.tsv:COLUMN, .csv, .jsonl or -",
        positional=True,
        metavar="CORPUS",
    )
    long: str = option(
        "truncate", Choice("truncate", "windows"), help="what to do with documents longer than the model's limit"
    )
    prefix_space: str = option(
        "auto",
        Choice("auto", "yes", "no"),
        help="put a space before each document, for byte-level BPE tokenizers (auto: yes for RoBERTa and GPT-2)",
    )


@dataclass(frozen=True, kw_only=True)
class BaselineOptions(OptionSet):
    """Random sentence pairs for a baseline."""

    corpus: tuple[str, ...] = option((), Many(TextColumn(), least=1), help="sentences, one per line", required=True)
    lang: str = option("en", Text("a language"), help="language of the corpus", metavar="LANG")
    pairs: int = option(10_000, Int(1), help="number of random pairs")
    seed: int = seed_option()
    note: str = option(
        "", Text("a text", empty=True), help="description of the corpus, stored in the file", metavar="TEXT"
    )


def _build_idf(args: argparse.Namespace) -> int:
    inputs = Inputs()
    documents = (text for spec in args.corpus for text in inputs.stream(parse_source(spec)))
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(
        args.model, engine=options.engine, threads=options.threads, device=options.device, progress=options.progress
    )
    source = ", ".join(file_label(spec) for spec in args.corpus)
    tokenizer = encoder.tokenizer.with_prefix_space(args.prefix_space, model=encoder.model)
    table = IdfTable.count(documents, tokenizer, source=source, whole=args.long == "windows")
    write_output(args.output, table.text())
    return report(args, f"{args.output}: idf of {table.documents} documents, {short_digest(table.digest)}")


def _build_baseline(args: argparse.Namespace) -> int:
    model = model_for_language(args.lang) if args.model is None else args.model
    if args.output is None:
        check_writable(f"{args.lang}.{file_label(model)}.tsv")
    baseline = build_baseline(
        list(itertools.chain.from_iterable(read_columns(args.corpus))),
        model=model,
        language=args.lang,
        pairs=args.pairs,
        seed=args.seed,
        corpus=args.note or ", ".join(file_label(spec) for spec in args.corpus),
        options=RunOptions.of(run_options(args)),
    )
    output = args.output or f"{args.lang}.{file_label(baseline.header['model'])}.tsv"
    write_output(output, baseline.text())
    return report(args, f"{output}: baseline of {len(baseline.rows)} layers, {short_digest(baseline.digest)}")


#: Options of the recipe that affect the values of the components.
_OPTIONS = (
    *("model", "lang", "layer", "sentence", "lowercase", "max_tokens", "prefix_space"),
    *("src_lang", "transforms", "wmdo_matches"),
)


def _calibrate(args: argparse.Namespace) -> int:
    if bool(args.source) == bool(args.refs):
        msg = "nlgauge build bounds needs either the source (--source SRC) or references (--refs REF)"
        raise RecipeError(msg)
    texts = read_texts(args)
    against = "refs" if texts.sources is None else "source"
    scores = score_systems(
        texts.systems,
        texts.references,
        sources=texts.sources,
        metric=[SentSim.from_options({"combine": args.combine, "against": against} | given_options(args, SentSim))],
        **run_options(args),
    )
    bounds = Bounds.of_scores(scores)
    write_output(args.output, bounds.text())
    for name, (low, high) in bounds.ranges.items() if args.output != "-" else ():
        print(f"{name}\t{low:.6g}\t{high:.6g}")
    return report(args, f"bounds of {bounds.pairs} pairs, {short_digest(bounds.digest)}: {args.output}")


@dataclass(frozen=True, kw_only=True)
class NormaliseOptions(OptionSet):
    """Sentences and normalisation rules."""

    file: str = option(
        "", TextColumn(), help="parsed sentences (.conllu, .conllu.gz) or text", positional=True, required=True
    )
    rules: tuple[str, ...] = option(
        (),
        Many(Text("a rule", known=lambda: (*RULES, BY_WALS)), least=1),
        help=f"rules in the order to apply them: {', '.join(RULES)} (the only one for unparsed text), or wals: "
        "rules of word order by which --lang becomes more like --toward",
        required=True,
        metavar="RULE",
    )
    lang: str = option(
        "", Text("a language"), help="language of the texts; zh, ja and th are joined without spaces", metavar="LANG"
    )
    toward: str = option("en", Text("a language"), help="language that the rule wals compares with", metavar="LANG")
    input_format: str | None = option(
        None, Choice("conllu", "text", "tsv", "csv", "jsonl"), help="format of the file", unset="by file extension"
    )


#: In place of rules of word order: those that the features of WALS ask for.
BY_WALS = "wals"


def _choose_rules(args: argparse.Namespace) -> list[str]:
    """The rules, with those of word order chosen by the features of WALS if asked."""
    if BY_WALS not in args.rules:
        refuse_flags(args, ["toward"], "is used only with --rules wals; leave it out")
        return list(args.rules)
    if not args.lang:
        msg = "--rules wals needs the language of the texts; add --lang"
        raise RecipeError(msg)
    chosen, unknown = load_typology().rules(args.lang, target=args.toward)
    for rule in unknown:
        msg = f"WALS does not say whether the rule {rule!r} applies to {args.lang!r} and {args.toward!r}; left out"
        warnings.warn(msg, LanguageWarning, stacklevel=user_stacklevel())
    report(args, f"rules by WALS for {args.lang} toward {args.toward}: {' '.join(chosen) or 'none'}")
    return [name for rule in args.rules for name in (chosen if rule == BY_WALS else (rule,))]


def _normalise(args: argparse.Namespace) -> int:
    args.rules = _choose_rules(args)
    check_rules(args.rules)
    suffix = args.file.lower().removesuffix(".gz").rpartition(".")[2]
    form = args.input_format or ("conllu" if suffix == "conllu" else None)
    trees = [rule for rule in args.rules if rule in TREE_RULES]
    if trees and form != "conllu":
        msg = (
            f"the rule {trees[0]!r} needs parsed sentences, but {file_label(args.file)} is text; parse it (UDPipe, "
            "Stanza) and use the .conllu file, or add --input-format conllu"
        )
        raise RecipeError(msg)
    lines = Inputs().texts(parse_source(args.file, input_format="text" if form == "conllu" else form))
    if form == "conllu":
        sentences = parse_conllu(lines, name=file_label(args.file))
        texts = [normalise_sentence(sentence, args.rules, lang=args.lang) for sentence in sentences]
    else:
        texts = [remove_punctuation(text, lang=args.lang) for text in lines]
    write_output(args.output, "".join(f"{text}\n" for text in texts))
    return 0


_MODEL_OF_IDF = {"model": {"help": "model whose tokenizer is used"}}
_MODEL_BY_LANGUAGE = {"model": {"default": None, "unset": "by language"}}
_BASELINE_FILE = {"output": {"default": None, "help": "output file, or - for stdout", "unset": "LANG.MODEL.tsv"}}

COMMANDS = {
    "build idf": Command(
        run=_build_idf,
        flags=(
            Flags(IdfOptions, only=["corpus"]),
            output_file("idf file, or - for stdout"),
            Flags(TableModel, change=_MODEL_OF_IDF),
            Flags(IdfOptions, without=["corpus"]),
            *run_flags(cache=False),
        ),
        description="Count the documents that contain each token of a model's vocabulary.",
    ),
    "build baseline": Command(
        run=_build_baseline,
        flags=(
            Flags(OutputOptions, only=["output"], change=_BASELINE_FILE),
            Flags(TableModel, change=_MODEL_BY_LANGUAGE),
            Flags(BaselineOptions),
            *run_flags(),
        ),
        description="Score random pairs of sentences at every layer of a model.",
    ),
    "build bounds": Command(
        run=_calibrate,
        flags=(
            Flags(TextInputs, change={"hyps": {"kind": Many(TextColumn(), least=1)}}),
            output_file("bounds (.json)"),
            Flags(
                SentSim,
                only=("combine", *_OPTIONS),
                change={"combine": {"default": "all", "help": f"components: {', '.join(PARTS)}"}},
            ),
            *run_flags(texts=True),
        ),
        description="Compute the minimum and maximum of each part of SentSim over a corpus, for scaling.",
    ),
    "normalise": Command(
        run=_normalise,
        flags=(Flags(NormaliseOptions), Flags(OutputOptions, only=["output", "quiet", "verbose"])),
        description="Normalise sentences, one per line. The word-order rules reimplement a paper without released "
        "code; they follow the parse tree and have no language-specific exceptions.",
    ),
}
