"""Drop-in replacement for `load` and `combine` of Hugging Face's `evaluate`: change the import line.

    from nlgauge.apps.compat import evaluate                            (was: import evaluate)
    bertscore = evaluate.load("bertscore")
    bertscore.compute(predictions=..., references=..., model_type="minilm")

`bertscore`, `sacrebleu`, `bleu`, `chrf` and `rouge` have the keys and options of evaluate. The last four use the same
packages (sacrebleu, rouge-score) in the same way, so numbers are equal. Every result has a key `hashcode`: the
signature of the nlgauge recipe with the same score, if there is one (bertscore, and sacrebleu and chrf with options
that recipes have), else a line with all settings that begins with `evaluate-`. Notes on metrics:

- bleu differs from sacrebleu: between 0 and 1, unsmoothed, brevity penalty with the shortest reference.
- rouge with `use_aggregator` is the median of 1,000 resampled means, which depends on a seed. evaluate uses another
  seed in each process; here the seed is 12345 unless set in `load`.

All other metrics of nlgauge load by name, with the options of `nlgauge.score`. Their results have the system's
`score`, a list per component (`scores` for a component named score) and `hashcode`. Loading a metric downloads
nothing and runs no third-party code.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from inspect import signature as signature_of
from itertools import zip_longest
from operator import or_
from threading import Lock
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from nlgauge._version import __version__
from nlgauge.apps.compat import bert_score, check_lengths, reference_groups
from nlgauge.core.corpus import as_list, as_texts, make_corpus
from nlgauge.core.kinds import Flag, Float, Int
from nlgauge.core.metric import Metric
from nlgauge.core.notes import run_fields
from nlgauge.core.options import Option
from nlgauge.core.prepare import PreparedTextMetric, prepare
from nlgauge.core.registry import METRICS
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import Accumulator, score
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, MissingExtraError, RecipeError, did_you_mean
from nlgauge.io.packages import package_version, require
from nlgauge.metrics.bleu import BLEU
from nlgauge.metrics.chrf import ChrF

__all__ = ["CombinedEvaluations", "EvaluationModule", "combine", "load"]

#: Download settings of evaluate, ignored because nothing is downloaded.
_OF_FETCHING = (
    *("cache_dir", "experiment_id", "keep_in_memory", "download_config", "download_mode", "revision", "hash"),
    *("max_concurrent_cache_files", "timeout"),
)

#: Metrics of evaluate 0.4 that nlgauge does not have, so that `bleurt` is not corrected to `bleu`.
_ONLY_IN_EVALUATE = frozenset({
    "accuracy", "bleurt", "brier_score", "cer", "character", "charcut_mt", "code_eval", "comet",
    "competition_math", "confusion_matrix", "coval", "cuad", "exact_match", "f1", "frugalscore", "glue",
    "google_bleu", "indic_glue", "mae", "mahalanobis", "mape", "mase", "matthews_correlation", "mauve",
    "mean_iou", "meteor", "mse", "nist_mt", "pearsonr", "perplexity", "poseval", "precision", "r_squared",
    "recall", "rl_reliability", "roc_auc", "sari", "seqeval", "smape", "spearmanr", "squad", "squad_v2",
    "super_glue", "ter", "trec_eval", "wer", "wiki_split", "xnli", "xtreme_s",
})  # fmt: skip


Texts: TypeAlias = Sequence[str]
Groups: TypeAlias = Sequence[Sequence[str]]
Column: TypeAlias = Iterable[Any] | None
Tokenizer: TypeAlias = Callable[[str], Sequence[str]]

_TEXTS = ("predictions", "references", "sources")


class EvaluationModule:
    """A metric that collects segments one by one, in batches or all at once, and is computed at the end.

    >>> bertscore = load("bertscore")
    >>> bertscore.add(prediction="A cat sat.", reference="A cat sat.")
    >>> result = bertscore.compute(model_type="minilm")
    >>> sorted(result), round(result["f1"][0], 3)
    (['f1', 'hashcode', 'precision', 'recall'], 1.0)
    """

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        # Raise errors for names and options here, not after hours of generating text.
        self.name = _resolve_name(name)
        self._options = dict(options or {})
        _check_options(self.name, self._options)
        self._texts: dict[str, list[Any]] = {name: [] for name in _TEXTS}

    def __len__(self) -> int:
        return len(self._texts["predictions"])

    def __repr__(self) -> str:
        return f"<EvaluationModule {self.name}: {len(self)} segments>"

    def add(self, *, prediction: str | None = None, reference: Any = None, source: str | None = None) -> None:
        """Add a segment; a reference is a text, or a list of texts."""
        if prediction is None:
            msg = "add() needs prediction="
            raise InputError(msg)
        references, sources = (None if value is None else [value] for value in (reference, source))
        self.add_batch(predictions=[prediction], references=references, sources=sources)

    def add_batch(self, *, predictions: Column = None, references: Column = None, sources: Column = None) -> None:
        """Add segments; on an error nothing is added."""
        if predictions is None:
            msg = "add_batch() needs predictions="
            raise InputError(msg)
        texts = as_texts(predictions, "predictions")
        columns: dict[str, list[Any] | None] = {
            "references": None if references is None else reference_groups(references, "references"),
            "sources": None if sources is None else as_texts(sources, "sources"),
        }
        if sources is not None and self.name in _METRICS:
            msg = f"{self.name} of evaluate does not use sources; omit sources="
            raise InputError(msg)
        for name, values in columns.items():
            if values is not None:
                check_lengths("predictions", texts, name, values)
            if len(self) and (values is None) != (not self._texts[name]):
                msg = f"{name} must be set for all predictions or for none"
                raise InputError(msg)
        for name, values in {"predictions": texts, **columns}.items():
            self._texts[name] += values or ()

    def compute(
        self, *, predictions: Column = None, references: Column = None, sources: Column = None, **options: Any
    ) -> dict[str, Any]:
        """Compute scores of all added and given segments, then empty the metric.

        After an error the added segments are kept for another attempt.
        """
        chosen = self._options | options
        _check_options(self.name, chosen)
        if predictions is None and (references is not None or sources is not None):
            msg = "references= and sources= need predictions="
            raise InputError(msg)
        with _restore_on_error([self]):
            if predictions is not None:
                self.add_batch(predictions=predictions, references=references, sources=sources)
            if not len(self):
                msg = "nothing to compute: pass predictions= and references=, or add() them first"
                raise InputError(msg)
            result = self._compute(**self._texts, options=chosen)
        self._texts = {name: [] for name in _TEXTS}
        return result

    def _compute(self, predictions: Texts, references: Groups, sources: Texts, options: Any) -> dict[str, Any]:
        if self.name in _METRICS:
            if not references:
                msg = f"{self.name} needs references="
                raise InputError(msg)
            return _METRICS[self.name](predictions, references, **options)
        result = score(predictions, references or None, sources=sources or None, metric=self.name, **options)
        lists = {("scores" if name == "score" else name): v.tolist() for name, v in result.segments.items()}
        return {"score": result.system_score, **lists, "hashcode": str(result.signature)}


@contextmanager
def _restore_on_error(modules: Sequence[EvaluationModule]) -> Iterator[None]:
    """Restore the texts of metrics if the block fails: generating them may have taken hours."""
    before = [(module._texts, len(module)) for module in modules]
    try:
        yield
    except BaseException:
        for module, (texts, count) in zip(modules, before, strict=True):
            module._texts = texts
            for values in texts.values():
                del values[count:]
        raise


Evaluations: TypeAlias = Sequence[str | EvaluationModule] | Mapping[str, str | EvaluationModule]


class CombinedEvaluations:
    """Several metrics that collect the same segments; shared result keys are prefixed with the metric's name."""

    def __init__(self, evaluations: Evaluations, force_prefix: bool) -> None:
        if isinstance(evaluations, str) or not evaluations:
            msg = f"combine() needs a list of metrics or a dict of metrics by name, got {evaluations!r}"
            raise RecipeError(msg)
        modules = evaluations.values() if isinstance(evaluations, Mapping) else evaluations
        self.evaluation_modules = [load(module) if isinstance(module, str) else module for module in modules]
        names = (
            evaluations if isinstance(evaluations, Mapping) else [module.name for module in self.evaluation_modules]
        )
        self.evaluation_module_names = list(names)
        self.force_prefix = force_prefix

    def add(self, *, prediction: str | None = None, reference: Any = None) -> None:
        """Add a segment to each metric."""
        with _restore_on_error(self.evaluation_modules):
            for module in self.evaluation_modules:
                module.add(prediction=prediction, reference=reference)

    def add_batch(self, *, predictions: Column = None, references: Column = None) -> None:
        """Add segments to each metric."""
        texts = {"predictions": _as_list(predictions), "references": _as_list(references)}
        with _restore_on_error(self.evaluation_modules):
            for module in self.evaluation_modules:
                module.add_batch(**texts)

    def compute(self, *, predictions: Column = None, references: Column = None, **options: Any) -> dict[str, Any]:
        """Compute all metrics; options are set per metric in `load`."""
        if options:
            name = next(iter(options))
            msg = f"{name}= is an option of a single metric; set it in load: combine([load(NAME, {name}=...)])"
            raise RecipeError(msg)
        texts = {"predictions": _as_list(predictions), "references": _as_list(references)}
        with _restore_on_error(self.evaluation_modules):
            results = [module.compute(**texts) for module in self.evaluation_modules]
        times, names, merged = Counter(key for result in results for key in result), self.evaluation_module_names, {}
        for place, (name, result) in enumerate(zip(names, results, strict=True)):
            prefix = name if names.count(name) == 1 else f"{name}_{names[:place].count(name)}"
            for key, value in result.items():
                merged[f"{prefix}_{key}" if self.force_prefix or times[key] > 1 else key] = value
        return merged


def _as_list(values: Column) -> Any:
    """Convert a generator to a list, because several metrics read it; each metric checks the values."""
    return values if values is None or isinstance(values, str | Mapping) else list(values)


def load(
    path: str,
    config_name: str | None = None,
    module_type: str | None = None,
    process_id: int = 0,
    num_process: int = 1,
    **options: Any,
) -> EvaluationModule:
    """Load a metric by name, like `evaluate.load`; options become defaults of `compute`.

    For several processes use `nlgauge.Accumulator` with `merge`, or the metric for torchmetrics.
    """
    problem = ""
    if config_name not in {None, "default"}:
        problem = f"config_name must be None, got {config_name!r}: metrics have options instead of configurations"
    elif module_type not in {None, "metric"}:
        problem = f"module_type must be 'metric', got {module_type!r}: nlgauge has no comparisons and measurements"
    elif num_process != 1 or process_id != 0:
        problem = f"num_process must be 1, got {num_process}; merge processes with nlgauge.Accumulator.merge"
    if problem:
        raise RecipeError(problem)
    # rouge is the only metric of evaluate with a random seed.
    ignored = (*_OF_FETCHING, *(() if _resolve_name(path) == "rouge" else ("seed",)))
    return EvaluationModule(path, {name: value for name, value in options.items() if name not in ignored})


def combine(evaluations: Evaluations, force_prefix: bool = False) -> CombinedEvaluations:
    """Combine several metrics, like `evaluate.combine`.

    >>> both = combine([load("chrf"), load("rouge", rouge_types=["rouge1"])])
    >>> sorted(both.compute(predictions=["A cat sat."], references=["A cat sat."]))
    ['beta', 'char_order', 'chrf_hashcode', 'rouge1', 'rouge_hashcode', 'score', 'word_order']
    """
    return CombinedEvaluations(evaluations, force_prefix)


def _resolve_name(name: str) -> str:
    """Normalise the name of a metric: `evaluate-metric/BLEU` is bleu."""
    short_name = name.removeprefix("evaluate-metric/").casefold()
    available: dict[str, str] = {metric.casefold(): metric for metric in (*METRICS, *_METRICS)}
    if short_name in _ONLY_IN_EVALUATE:
        msg = f"{name!r} is a metric of evaluate that nlgauge does not have; use evaluate for it"
        raise RecipeError(msg)
    if short_name not in available:
        msg = f"unknown metric {name!r}{did_you_mean(short_name, available, see='nlgauge list')}"
        raise RecipeError(msg)
    return available[short_name]


def _sacrebleu(
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
    """Corpus BLEU with its counts, 0 to 100."""
    package = require("sacrebleu.metrics", "lexical").BLEU
    for name, value, allowed in (
        ("smooth_method", smooth_method, ("exp", "floor", "add-k", "none")),
        ("tokenize", tokenize, (None, *package.TOKENIZERS)),
    ):
        if value not in allowed:
            hint = did_you_mean(str(value), filter(None, allowed))
            msg = f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}{hint}"
            raise RecipeError(msg)
    options = {"force": force, "smooth_value": smooth_value, "effective_order": use_effective_order}
    try:
        engine = package(lowercase=lowercase, tokenize=tokenize, smooth_method=smooth_method, **options)
    except (RuntimeError, ImportError) as error:  # some tokenizers need further packages
        msg = f"tokenize={tokenize!r} of sacrebleu is not available: {' '.join(str(error).split())}"
        raise MissingExtraError(msg) from error
    recipe = None
    if smooth_value is None and not use_effective_order:
        recipe = BLEU(case="lower" if lowercase else "mixed", tokenize=tokenize or "13a", smooth=smooth_method)
    keys = ("score", "counts", "totals", "precisions", "bp", "sys_len", "ref_len")
    return _corpus_score(engine, predictions, references, keys, recipe, "sacrebleu|{}")


def _bleu(
    texts: Texts, references: Groups, *, tokenizer: Tokenizer | None = None, max_order: int = 4, smooth: bool = False
) -> dict[str, Any]:
    """BLEU as defined in evaluate, 0 to 1; `smooth` adds one to all counts (Lin and Och 2004)."""
    mteval = require("sacrebleu.metrics", "lexical").BLEU(tokenize="13a").tokenizer
    words: Tokenizer = tokenizer or (lambda text: str(mteval(text)).split())
    matches, totals = [0] * max_order, [0] * max_order
    length = reference_length = 0
    for text, group in zip(texts, references, strict=True):
        hypothesis, *reference_words = (list(words(sentence)) for sentence in (text, *group))
        length += len(hypothesis)
        reference_length += min(map(len, reference_words))
        for order in range(max_order):
            counts = _ngrams(hypothesis, order + 1)
            most = reduce(or_, (_ngrams(reference, order + 1) for reference in reference_words))
            matches[order] += (counts & most).total()
            totals[order] += counts.total()
    smoothing = int(smooth)
    precisions = [
        (match + smoothing) / (total + smoothing) if total + smoothing else 0.0
        for match, total in zip(matches, totals, strict=True)
    ]
    mean = math.exp(math.fsum(map(math.log, precisions)) / max_order) if min(precisions) > 0 else 0.0
    ratio = length / reference_length if reference_length else 0.0
    penalty = (1.0 if ratio > 1 else math.exp(1 - 1 / ratio)) if ratio else 0.0
    choices = {"tokenizer": "own" if tokenizer else "13a", "order": max_order}
    choices |= {"smooth": "add-one" if smooth else "none", "brevity": "shortest"}
    return {
        "bleu": mean * penalty,
        "precisions": precisions,
        "brevity_penalty": penalty,
        "length_ratio": ratio,
        "translation_length": length,
        "reference_length": reference_length,
        "hashcode": _format_settings("bleu", choices, references, "sacrebleu"),
    }


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def _chrf(
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
    """Corpus chrF, 0 to 100; chrF++ with `word_order=2`."""
    package = require("sacrebleu.metrics", "lexical").CHRF
    engine = package(char_order, word_order, beta, lowercase, whitespace, eps_smoothing)
    recipe = None
    if not (lowercase or whitespace or eps_smoothing) and isinstance(beta, int):
        recipe = ChrF(chars=char_order, words=word_order, beta=beta)
    keys, choices = ("score", "char_order", "word_order", "beta"), f"chrf|{{}}|beta:{beta}"
    return _corpus_score(engine, predictions, references, keys, recipe, choices)


def _rouge(
    predictions: Texts,
    references: Groups,
    *,
    rouge_types: Sequence[str] | None = None,
    use_aggregator: bool = True,
    use_stemmer: bool = False,
    tokenizer: Tokenizer | None = None,
    seed: int = 12345,
) -> dict[str, Any]:
    """F of each kind of ROUGE, 0 to 1, the maximum over references; a list each without the aggregator."""
    usual = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    kinds = usual if rouge_types is None else as_list(rouge_types, "rouge_types", "a list of kinds")
    for kind in kinds:
        if not isinstance(kind, str) or not re.fullmatch("rouge[1-9]|rougeL|rougeLsum", kind):
            msg = f"rouge_types must be among {', '.join(usual)} or rouge3 to rouge9, got {kind!r}"
            raise RecipeError(msg)
    wrapped_tokenizer = None if tokenizer is None else SimpleNamespace(tokenize=tokenizer)
    scorer = require("rouge_score.rouge_scorer", "lexical").RougeScorer(
        kinds, use_stemmer=use_stemmer, tokenizer=wrapped_tokenizer
    )
    # Equals score() for one reference.
    scores = [scorer.score_multi(list(group), text) for text, group in zip(predictions, references, strict=True)]
    values: dict[str, Any] = {kind: [float(score[kind].fmeasure) for score in scores] for kind in kinds}
    if use_aggregator:
        values = _aggregate(scores, seed)
    choices = {
        "types": "+".join(kinds),
        "stemmer": "yes" if use_stemmer and tokenizer is None else "no",
        "tokenizer": "own" if tokenizer else "default",
        "aggregator": f"bootstrap-median|seed:{seed}" if use_aggregator else "none",
    }
    return values | {"hashcode": _format_settings("rouge", choices, references, "rouge_score")}


#: Held while the aggregator of rouge-score uses numpy's global random generator.
_drawing = Lock()


def _aggregate(scores: Sequence[Mapping[str, Any]], seed: int) -> dict[str, float]:
    """Aggregate of rouge-score over all segments; restores the state of the random generator."""
    aggregator = require("rouge_score.scoring", "lexical").BootstrapAggregator()
    for segment in scores:
        aggregator.add_scores(segment)
    with _drawing:
        before = np.random.get_state()
        np.random.seed(seed)
        try:
            totals = aggregator.aggregate()
        finally:
            np.random.set_state(before)
    return {kind: float(total.mid.fmeasure) for kind, total in totals.items()}


def _bertscore(predictions: Texts, references: Groups, **options: Any) -> dict[str, Any]:
    """BERTScore per segment; options are those of bert-score."""
    parts, signature = bert_score.score(predictions, references, return_hash=True, **options)
    values = (np.asarray(part).tolist() for part in parts)
    return dict(zip(("precision", "recall", "f1"), values, strict=True)) | {"hashcode": signature}


#: Metrics with the keys and options of evaluate.
_METRICS: Mapping[str, Callable[..., dict[str, Any]]] = {
    function.__name__.removeprefix("_"): function for function in (_bertscore, _sacrebleu, _bleu, _chrf, _rouge)
}

#: Kinds of their numeric options.
_NUMBERS = {"max_order": Int(1), "char_order": Int(1), "word_order": Int(0), "seed": Int(0), "beta": Float(above=0)}


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise RecipeError for unknown options, and for metrics of evaluate also for values of the wrong kind."""
    if name not in _METRICS:
        Accumulator(name, **options)
        return
    parameters = signature_of(bert_score.score if name == "bertscore" else _METRICS[name]).parameters
    # The first two are the texts; evaluate always returns the hash.
    names = [option for option in list(parameters)[2:] if option != "return_hash"]
    for option, value in options.items():
        if option not in names:
            hint = did_you_mean(option, names)
            msg = (
                f"{name} of evaluate has no option {option!r}{hint}; its options are {', '.join(names)}; pass texts "
                "as predictions= and references="
            )
            raise RecipeError(msg)
        if option == "tokenizer" and value is not None and not callable(value):
            msg = f"tokenizer must be a function from a text to its tokens, got {value!r}"
            raise RecipeError(msg)
        is_flag = isinstance(parameters[option].default, bool) and name != "bertscore"
        kind = Flag() if is_flag else _NUMBERS.get(option)
        if kind is not None:
            opt = Option(option, None, kind, "")
            if isinstance(value, str):  # evaluate does not parse values from text
                raise opt.refusal(value)
            opt.check(value)


def _corpus_score(
    engine: Any, predictions: Texts, references: Groups, keys: Sequence[str], recipe: Metric | None, choices: str
) -> dict[str, Any]:
    """Compute a corpus score with sacrebleu; `hashcode` is the signature of the recipe, if any, else all settings."""
    streams = [list(stream) for stream in zip_longest(*references)]  # None for missing references
    score = engine.corpus_score(list(predictions), streams)
    hashcode = f"evaluate-{choices.format(engine.get_signature())}|nlgauge:{__version__}"
    if recipe is not None:
        prepared = prepare([recipe], make_corpus({"": predictions}, references), RunOptions(empty="zero")).metrics[0]
        assert isinstance(prepared, PreparedTextMetric)
        hashcode = str(Signature(recipe.name, prepared.signature.recipe, run_fields(prepared.notes[""])))
    return {key: getattr(score, key) for key in keys} | {"hashcode": hashcode}


def _format_settings(name: str, choices: Mapping[str, Any], references: Groups, computed_by: str) -> str:
    """Format all settings as a line; the number of references is `var` if it varies, as in signatures."""
    counts = {len(group) for group in references}
    choices = {**choices, "refs": counts.pop() if len(counts) == 1 else "var"}
    fields = "|".join(f"{key}:{value}" for key, value in choices.items())
    version = package_version(computed_by.replace("_", "-"), "lexical")
    return f"evaluate-{name}|{fields}|{computed_by}:{version}|nlgauge:{__version__}"
