"""Metrics that `evaluate` has under keys and options of its own: bertscore, sacrebleu, bleu, chrf and rouge.

The last four are computed by the same packages (sacrebleu, rouge-score), called as the scripts of evaluate call them,
so that the numbers are the same. Each result has one key more, `hashcode`: the signature of the recipe of nlgauge
that gives the same score, where there is one (bertscore, and sacrebleu and chrf with options that recipes have).
Elsewhere it is a line of all choices that begins with `evaluate-`: nlgauge has no such recipe.

What needs a word beyond the options:

    bleu    not sacrebleu's: between 0 and 1, unsmoothed, and the brevity penalty takes the shortest reference
    rouge   with `use_aggregator` evaluate gives the median of 1,000 resampled means, whose draws depend on a seed;
            without one, evaluate draws anew in each process. Here the seed is 12345 unless `load` is given another
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from inspect import signature as signature_of
from itertools import zip_longest
from operator import or_
from threading import Lock
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from nlgauge._version import __version__
from nlgauge.apps.compat import bert_score
from nlgauge.core.corpus import checked_list, make_corpus
from nlgauge.core.kinds import Flag, Float, Int, Kind
from nlgauge.core.metric import Metric
from nlgauge.core.notes import run_fields
from nlgauge.core.options import Option, did_you_mean
from nlgauge.core.prepare import PreparedTextMetric, prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.signature import Signature
from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.io.packages import package_version, require
from nlgauge.metrics.bleu import BLEU
from nlgauge.metrics.chrf import ChrF

Texts: TypeAlias = Sequence[str]
Groups: TypeAlias = Sequence[Sequence[str]]
Tokenizer: TypeAlias = Callable[[str], Sequence[str]]

_SMOOTHING = ("exp", "floor", "add-k", "none")
_ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")

#: One at a time: the aggregator of rouge-score draws from the generator that all of numpy shares.
_drawing = Lock()


def sacrebleu(
    predictions: Texts,
    references: Groups,
    *,
    smooth_method: str = "exp",
    smooth_value: float | None = None,
    force: bool = False,
    lowercase: bool = False,
    tokenize: str | None = None,
    use_effective_order: bool = False,
) -> dict[str, Any]:
    """BLEU of the corpus with its counts, 0 to 100."""
    _check_one_of("smooth_method", smooth_method, _SMOOTHING)
    _check(Flag(), force=force, lowercase=lowercase, use_effective_order=use_effective_order)
    bleu = require("sacrebleu.metrics", "lexical").BLEU
    _check_one_of("tokenize", tokenize, (None, *bleu.TOKENIZERS))
    try:
        engine = bleu(
            lowercase=lowercase,
            force=force,
            tokenize=tokenize,
            smooth_method=smooth_method,
            smooth_value=smooth_value,
            effective_order=use_effective_order,
        )
    except (RuntimeError, ImportError) as error:  # tokenizers of some languages are packages of their own
        msg = f"tokenize={tokenize!r} of sacrebleu cannot be used here: {' '.join(str(error).split())}"
        raise MissingExtraError(msg) from error
    recipe = None
    if smooth_value is None and not use_effective_order:
        recipe = BLEU(case="lower" if lowercase else "mixed", tokenize=tokenize or "13a", smooth=smooth_method)
    keys = ("score", "counts", "totals", "precisions", "bp", "sys_len", "ref_len")
    return _corpus_score(engine, predictions, references, keys, recipe, "sacrebleu|{}")


def bleu(
    predictions: Texts,
    references: Groups,
    *,
    tokenizer: Tokenizer | None = None,
    max_order: int = 4,
    smooth: bool = False,
) -> dict[str, Any]:
    """BLEU as evaluate counts it, 0 to 1; `smooth` adds one to all counts (Lin and Och 2004)."""
    _check(Int(1), max_order=max_order)
    _check(Flag(), smooth=smooth)
    _check_callable(tokenizer)
    mteval = require("sacrebleu.metrics", "lexical").BLEU(tokenize="13a").tokenizer
    words: Tokenizer = tokenizer or (lambda text: str(mteval(text)).split())
    matches, totals = [0] * max_order, [0] * max_order
    length = reference_length = 0
    for text, group in zip(predictions, references, strict=True):
        hypothesis, *others = (list(words(sentence)) for sentence in (text, *group))
        length += len(hypothesis)
        reference_length += min(map(len, others))
        for order in range(max_order):
            counts = _ngrams(hypothesis, order + 1)
            most = reduce(or_, (_ngrams(other, order + 1) for other in others))
            matches[order] += (counts & most).total()
            totals[order] += counts.total()
    more = int(smooth)
    precisions = [
        (match + more) / (total + more) if total + more else 0.0 for match, total in zip(matches, totals, strict=True)
    ]
    mean = math.exp(math.fsum(map(math.log, precisions)) / max_order) if min(precisions) > 0 else 0.0
    ratio = length / reference_length if reference_length else 0.0
    penalty = (1.0 if ratio > 1 else math.exp(1 - 1 / ratio)) if ratio else 0.0
    choices = {"order": max_order, "smooth": "add-one" if smooth else "none", "brevity": "shortest"}
    return {
        "bleu": mean * penalty,
        "precisions": precisions,
        "brevity_penalty": penalty,
        "length_ratio": ratio,
        "translation_length": length,
        "reference_length": reference_length,
        "hashcode": _line(
            "bleu",
            {"tokenizer": "own" if tokenizer else "13a", **choices, "refs": _counted(references)},
            "sacrebleu",
        ),
    }


def chrf(
    predictions: Texts,
    references: Groups,
    *,
    char_order: int = 6,
    word_order: int = 0,
    beta: float = 2,
    lowercase: bool = False,
    whitespace: bool = False,
    eps_smoothing: bool = False,
) -> dict[str, Any]:
    """chrF of the corpus, 0 to 100; with `word_order=2` chrF++."""
    _check(Int(1), char_order=char_order)
    _check(Int(0), word_order=word_order)
    _check(Float(above=0), beta=beta)
    _check(Flag(), lowercase=lowercase, whitespace=whitespace, eps_smoothing=eps_smoothing)
    engine = require("sacrebleu.metrics", "lexical").CHRF(
        char_order, word_order, beta, lowercase, whitespace, eps_smoothing
    )
    recipe = None
    if not (lowercase or whitespace or eps_smoothing) and isinstance(beta, int):
        recipe = ChrF(chars=char_order, words=word_order, beta=beta)
    keys = ("score", "char_order", "word_order", "beta")
    return _corpus_score(engine, predictions, references, keys, recipe, f"chrf|{{}}|beta:{beta}")


def rouge(
    predictions: Texts,
    references: Groups,
    *,
    rouge_types: Sequence[str] | None = None,
    use_aggregator: bool = True,
    use_stemmer: bool = False,
    tokenizer: Tokenizer | None = None,
    seed: int = 12345,
) -> dict[str, Any]:
    """F of each kind of ROUGE, 0 to 1, the best over several references; a list each without the aggregator."""
    kinds = list(_ROUGE) if rouge_types is None else checked_list(rouge_types, "rouge_types", "a list of kinds")
    for kind in kinds:
        if not isinstance(kind, str) or not re.fullmatch("rouge[1-9]|rougeL|rougeLsum", kind):
            msg = f"rouge_types must be among {', '.join(_ROUGE)} and rouge3 to rouge9, got {kind!r}"
            raise RecipeError(msg)
    _check(Flag(), use_aggregator=use_aggregator, use_stemmer=use_stemmer)
    _check_callable(tokenizer)
    _check(Int(0), seed=seed)
    own = None if tokenizer is None else SimpleNamespace(tokenize=tokenizer)
    scorer = require("rouge_score.rouge_scorer", "lexical").RougeScorer(kinds, use_stemmer=use_stemmer, tokenizer=own)
    scores = [
        scorer.score_multi(list(group), text) for text, group in zip(predictions, references, strict=True)
    ]  # with one reference the same as score()
    values: dict[str, Any] = {kind: [float(score[kind].fmeasure) for score in scores] for kind in kinds}
    if use_aggregator:
        values = _aggregated(scores, seed)
    choices = {
        "types": "+".join(kinds),
        "stemmer": "yes" if use_stemmer and tokenizer is None else "no",
        "tokenizer": "own" if tokenizer else "default",
        "aggregator": f"bootstrap-median|seed:{seed}" if use_aggregator else "none",
        "refs": _counted(references),
    }
    return values | {"hashcode": _line("rouge", choices, "rouge_score")}


def bertscore(predictions: Texts, references: Groups, **options: Any) -> dict[str, Any]:
    """BERTScore per segment; options are those of bert-score."""
    parts, signature = bert_score.score(predictions, references, return_hash=True, **options)
    values = (np.asarray(part).tolist() for part in parts)
    return dict(zip(("precision", "recall", "f1"), values, strict=True)) | {"hashcode": signature}


#: Metrics that evaluate has too, whose keys and options are those of evaluate.
EVALUATE_METRICS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "bertscore": bertscore,
    "sacrebleu": sacrebleu,
    "bleu": bleu,
    "chrf": chrf,
    "rouge": rouge,
}


def check_options(name: str, options: Collection[str]) -> None:
    """Refuse options that evaluate does not have for a metric."""
    function = bert_score.score if name == "bertscore" else EVALUATE_METRICS[name]
    # The first two are the texts; evaluate always returns the hash.
    known = [option for option in list(signature_of(function).parameters)[2:] if option != "return_hash"]
    for option in options:
        if option not in known:
            hint = did_you_mean(option, known)
            msg = (
                f"{name} of evaluate has no option {option!r}{hint}; it has {', '.join(known)}; texts are given as "
                "predictions= and references="
            )
            raise RecipeError(msg)


def _aggregated(scores: Sequence[Mapping[str, Any]], seed: int) -> dict[str, float]:
    """The package's aggregate of all segments; the generator that it draws from is put back as it was."""
    aggregator = require("rouge_score.scoring", "lexical").BootstrapAggregator()
    for score in scores:
        aggregator.add_scores(score)
    with _drawing:
        before = np.random.get_state()
        np.random.seed(seed)
        try:
            totals = aggregator.aggregate()
        finally:
            np.random.set_state(before)
    return {kind: float(score.mid.fmeasure) for kind, score in totals.items()}


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def _corpus_score(
    engine: Any, predictions: Texts, references: Groups, keys: Sequence[str], recipe: Metric | None, choices: str
) -> dict[str, Any]:
    """Keys of sacrebleu's score, and the signature of the recipe, or the choices where there is no recipe."""
    streams = [list(stream) for stream in zip_longest(*references)]  # None for a reference that a segment lacks
    score = engine.corpus_score(list(predictions), streams)
    hashcode = f"evaluate-{choices.format(engine.get_signature())}|nlgauge:{__version__}"
    if recipe is not None:
        prepared = prepare([recipe], make_corpus({"": predictions}, references), RunOptions(empty="zero")).metrics[0]
        assert isinstance(prepared, PreparedTextMetric)
        hashcode = str(Signature(recipe.name, prepared.signature.recipe, run_fields(prepared.notes[""])))
    return {key: getattr(score, key) for key in keys} | {"hashcode": hashcode}


def _line(name: str, choices: Mapping[str, Any], computed_by: str) -> str:
    fields = "|".join(f"{key}:{value}" for key, value in choices.items())
    version = package_version(computed_by.replace("_", "-"), "lexical")
    return f"evaluate-{name}|{fields}|{computed_by}:{version}|nlgauge:{__version__}"


def _counted(references: Groups) -> str:
    """References per segment, in the word that signatures have where the number varies."""
    counts = {len(group) for group in references}
    return str(counts.pop()) if len(counts) == 1 else "var"


def _check_one_of(name: str, value: Any, known: Collection[Any]) -> None:
    if value not in known:
        hint = did_you_mean(str(value), [word for word in known if word is not None])
        msg = f"{name} must be one of {', '.join(map(str, known))}, got {value!r}{hint}"
        raise RecipeError(msg)


def _check(kind: Kind, **values: Any) -> None:
    """Refuse values that are not of a kind; a text is none, as evaluate reads no values from text."""
    for name, value in values.items():
        option = Option(name, None, kind, "")
        if isinstance(value, str):
            raise option.refusal(value)
        option.check(value)


def _check_callable(tokenizer: Any) -> None:
    if tokenizer is not None and not callable(tokenizer):
        msg = f"tokenizer must be a function from a text to its tokens, got {tokenizer!r}"
        raise RecipeError(msg)
