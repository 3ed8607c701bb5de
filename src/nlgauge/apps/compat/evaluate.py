"""`load` and `combine` of Hugging Face's `evaluate`, by nlgauge: change the import line.

    from nlgauge.apps.compat import evaluate                            (was: import evaluate)
    bertscore = evaluate.load("bertscore")
    bertscore.compute(predictions=..., references=..., model_type="minilm")

`bertscore`, `sacrebleu`, `bleu`, `chrf` and `rouge` have the keys and options of evaluate. The same packages
(sacrebleu, rouge-score) compute the last four, called as the scripts of evaluate call them, so the numbers are the
same. The key `hashcode` is in every result: the signature of the recipe of nlgauge that gives the same score, where
there is one (bertscore, and sacrebleu and chrf with options that recipes have). Elsewhere it is a line of all choices
that begins with `evaluate-`. What needs a word beyond the options:

- bleu is not sacrebleu's: between 0 and 1, unsmoothed, and the brevity penalty takes the shortest reference.
- rouge with `use_aggregator`: evaluate gives the median of 1,000 resampled means, whose draws depend on a seed;
  without one, evaluate draws anew in each process. Here the seed is 12345 unless `load` is given another.

Every other metric loads by its name, and its options are those of `nlgauge.score`; it has the system's `score`, a
list per component (`scores` where that is called score too) and `hashcode`. Nothing is fetched when a metric is
loaded, and no code of others is run.
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
from nlgauge.core.corpus import checked_list, checked_texts, make_corpus
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

#: Where evaluate keeps what it fetched, and how; nothing is fetched here.
_OF_FETCHING = (
    *("cache_dir", "experiment_id", "keep_in_memory", "download_config", "download_mode", "revision", "hash"),
    *("max_concurrent_cache_files", "timeout"),
)

#: Metrics of evaluate 0.4 without one of that name here; `bleurt` is not a misspelt `bleu`.
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
    """A metric that is fed one at a time, in batches or at once, and computed at the end.

    >>> bertscore = load("bertscore")
    >>> bertscore.add(prediction="A cat sat.", reference="A cat sat.")
    >>> result = bertscore.compute(model_type="minilm")
    >>> sorted(result), round(result["f1"][0], 3)
    (['f1', 'hashcode', 'precision', 'recall'], 1.0)
    """

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        # An unknown name or option is an error here, not after hours of generating.
        self.name = _known_name(name)
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
        """Add segments; what does not go together leaves all as it was."""
        if predictions is None:
            msg = "add_batch() needs predictions="
            raise InputError(msg)
        texts = checked_texts(predictions, "predictions")
        others: dict[str, list[Any] | None] = {
            "references": None if references is None else reference_groups(references, "references"),
            "sources": None if sources is None else checked_texts(sources, "sources"),
        }
        if sources is not None and self.name in _METRICS:
            msg = f"{self.name} of evaluate compares with references, not with sources; leave out sources="
            raise InputError(msg)
        for name, values in others.items():
            if values is not None:
                check_lengths("predictions", texts, name, values)
            if len(self) and (values is None) != (not self._texts[name]):
                msg = f"{name} must be given with every prediction or with none"
                raise InputError(msg)
        for name, values in {"predictions": texts, **others}.items():
            self._texts[name] += values or ()

    def compute(
        self, *, predictions: Column = None, references: Column = None, sources: Column = None, **options: Any
    ) -> dict[str, Any]:
        """The scores of all that was added, and of what is given here; the metric is empty afterwards.

        What was added before stays where this ends with an error, so that another try is possible.
        """
        chosen = self._options | options
        _check_options(self.name, chosen)
        if predictions is None and (references is not None or sources is not None):
            msg = "references= and sources= go with predictions=, which were not given"
            raise InputError(msg)
        with _as_before_an_error([self]):
            if predictions is not None:
                self.add_batch(predictions=predictions, references=references, sources=sources)
            if not len(self):
                msg = "there is nothing to compute: give predictions= and references=, or add() them first"
                raise InputError(msg)
            result = self._compute(**self._texts, options=chosen)
        self._texts = {name: [] for name in _TEXTS}
        return result

    def _compute(self, predictions: Texts, references: Groups, sources: Texts, options: Any) -> dict[str, Any]:
        if self.name in _METRICS:
            if not references:
                msg = f"{self.name} compares with references; give references="
                raise InputError(msg)
            return _METRICS[self.name](predictions, references, **options)
        result = score(predictions, references or None, sources=sources or None, metric=self.name, **options)
        lists = {("scores" if name == "score" else name): v.tolist() for name, v in result.segments.items()}
        return {"score": result.system_score, **lists, "hashcode": str(result.signature)}


@contextmanager
def _as_before_an_error(modules: Sequence[EvaluationModule]) -> Iterator[None]:
    """Metrics hold what they held, if what is done here fails: texts may have taken hours to make."""
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
    """Several metrics that are fed together; keys that two of them have begin with the name of the metric."""

    def __init__(self, evaluations: Evaluations, force_prefix: bool) -> None:
        if isinstance(evaluations, str) or not evaluations:
            msg = f"combine() takes a list of metrics, or a dict with a name for each, got {evaluations!r}"
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
        with _as_before_an_error(self.evaluation_modules):
            for module in self.evaluation_modules:
                module.add(prediction=prediction, reference=reference)

    def add_batch(self, *, predictions: Column = None, references: Column = None) -> None:
        """Add segments to each metric."""
        texts = {"predictions": _as_list(predictions), "references": _as_list(references)}
        with _as_before_an_error(self.evaluation_modules):
            for module in self.evaluation_modules:
                module.add_batch(**texts)

    def compute(self, *, predictions: Column = None, references: Column = None, **options: Any) -> dict[str, Any]:
        """The results of all metrics in one dict; options belong to the metrics one by one."""
        if options:
            name = next(iter(options))
            msg = f"{name}= is an option of a metric; give it where that is loaded: combine([load(NAME, {name}=...)])"
            raise RecipeError(msg)
        texts = {"predictions": _as_list(predictions), "references": _as_list(references)}
        with _as_before_an_error(self.evaluation_modules):
            results = [module.compute(**texts) for module in self.evaluation_modules]
        times, names, merged = Counter(key for result in results for key in result), self.evaluation_module_names, {}
        for place, (name, result) in enumerate(zip(names, results, strict=True)):
            prefix = name if names.count(name) == 1 else f"{name}_{names[:place].count(name)}"
            for key, value in result.items():
                merged[f"{prefix}_{key}" if self.force_prefix or times[key] > 1 else key] = value
        return merged


def _as_list(values: Column) -> Any:
    """A generator as a list, because several metrics read it; what is no list of texts is refused by each of them."""
    return values if values is None or isinstance(values, str | Mapping) else list(values)


def load(
    path: str,
    config_name: str | None = None,
    module_type: str | None = None,
    process_id: int = 0,
    num_process: int = 1,
    **options: Any,
) -> EvaluationModule:
    """A metric by name, as `evaluate.load` gives it; options become defaults of `compute`.

    Where several processes feed one metric, use `nlgauge.Accumulator` with `merge`, or the metric for torchmetrics.
    """
    why = ""
    if config_name not in {None, "default"}:
        why = f"config_name must be None, got {config_name!r}: metrics here have options instead of configurations"
    elif module_type not in {None, "metric"}:
        reason = "nlgauge has no comparisons and measurements by name"
        why = f"module_type must be 'metric', got {module_type!r}: {reason}"
    elif num_process != 1 or process_id != 0:
        why = f"num_process must be 1, got {num_process}; join processes with nlgauge.Accumulator.merge"
    if why:
        raise RecipeError(why)
    # Of evaluate's metrics, rouge alone draws anything.
    ignored = (*_OF_FETCHING, *(() if _known_name(path) == "rouge" else ("seed",)))
    return EvaluationModule(path, {name: value for name, value in options.items() if name not in ignored})


def combine(evaluations: Evaluations, force_prefix: bool = False) -> CombinedEvaluations:
    """Several metrics as one, as `evaluate.combine` gives it.

    >>> both = combine([load("chrf"), load("rouge", rouge_types=["rouge1"])])
    >>> sorted(both.compute(predictions=["A cat sat."], references=["A cat sat."]))
    ['beta', 'char_order', 'chrf_hashcode', 'rouge1', 'rouge_hashcode', 'score', 'word_order']
    """
    return CombinedEvaluations(evaluations, force_prefix)


def _known_name(name: str) -> str:
    """The metric's name as it is spelt here: `evaluate-metric/BLEU` is bleu."""
    wanted = name.removeprefix("evaluate-metric/").casefold()
    known: dict[str, str] = {metric.casefold(): metric for metric in (*METRICS, *_METRICS)}
    if wanted in _ONLY_IN_EVALUATE:
        msg = f"{name!r} is a metric of evaluate that nlgauge does not have; keep evaluate for this one"
        raise RecipeError(msg)
    if wanted not in known:
        listed = "`nlgauge list` shows the metrics of nlgauge"
        msg = f"unknown metric {name!r}{did_you_mean(wanted, known)}; {listed}, for others keep evaluate"
        raise RecipeError(msg)
    return known[wanted]


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
    """BLEU of the corpus with its counts, 0 to 100."""
    package = require("sacrebleu.metrics", "lexical").BLEU
    for name, value, known in (
        ("smooth_method", smooth_method, ("exp", "floor", "add-k", "none")),
        ("tokenize", tokenize, (None, *package.TOKENIZERS)),
    ):
        if value not in known:
            hint = did_you_mean(str(value), filter(None, known))
            msg = f"{name} must be one of {', '.join(map(str, known))}, got {value!r}{hint}"
            raise RecipeError(msg)
    options = {"force": force, "smooth_value": smooth_value, "effective_order": use_effective_order}
    try:
        engine = package(lowercase=lowercase, tokenize=tokenize, smooth_method=smooth_method, **options)
    except (RuntimeError, ImportError) as error:  # tokenizers of some languages are packages of their own
        msg = f"tokenize={tokenize!r} of sacrebleu cannot be used here: {' '.join(str(error).split())}"
        raise MissingExtraError(msg) from error
    recipe = None
    if smooth_value is None and not use_effective_order:
        recipe = BLEU(case="lower" if lowercase else "mixed", tokenize=tokenize or "13a", smooth=smooth_method)
    keys = ("score", "counts", "totals", "precisions", "bp", "sys_len", "ref_len")
    return _corpus_score(engine, predictions, references, keys, recipe, "sacrebleu|{}")


def _bleu(
    texts: Texts, references: Groups, *, tokenizer: Tokenizer | None = None, max_order: int = 4, smooth: bool = False
) -> dict[str, Any]:
    """BLEU as evaluate counts it, 0 to 1; `smooth` adds one to all counts (Lin and Och 2004)."""
    mteval = require("sacrebleu.metrics", "lexical").BLEU(tokenize="13a").tokenizer
    words: Tokenizer = tokenizer or (lambda text: str(mteval(text)).split())
    matches, totals = [0] * max_order, [0] * max_order
    length = reference_length = 0
    for text, group in zip(texts, references, strict=True):
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
    choices = {"tokenizer": "own" if tokenizer else "13a", "order": max_order}
    choices |= {"smooth": "add-one" if smooth else "none", "brevity": "shortest"}
    return {
        "bleu": mean * penalty,
        "precisions": precisions,
        "brevity_penalty": penalty,
        "length_ratio": ratio,
        "translation_length": length,
        "reference_length": reference_length,
        "hashcode": _line("bleu", choices, references, "sacrebleu"),
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
    """chrF of the corpus, 0 to 100; with `word_order=2` chrF++."""
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
    """F of each kind of ROUGE, 0 to 1, the best over several references; a list each without the aggregator."""
    usual = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    kinds = usual if rouge_types is None else checked_list(rouge_types, "rouge_types", "a list of kinds")
    for kind in kinds:
        if not isinstance(kind, str) or not re.fullmatch("rouge[1-9]|rougeL|rougeLsum", kind):
            msg = f"rouge_types must be among {', '.join(usual)} and rouge3 to rouge9, got {kind!r}"
            raise RecipeError(msg)
    own = None if tokenizer is None else SimpleNamespace(tokenize=tokenizer)
    scorer = require("rouge_score.rouge_scorer", "lexical").RougeScorer(kinds, use_stemmer=use_stemmer, tokenizer=own)
    # With one reference the same as score().
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
    return values | {"hashcode": _line("rouge", choices, references, "rouge_score")}


#: One at a time: the aggregator of rouge-score draws from the generator that all of numpy shares.
_drawing = Lock()


def _aggregate(scores: Sequence[Mapping[str, Any]], seed: int) -> dict[str, float]:
    """The package's aggregate of all segments; the generator that it draws from is put back as it was."""
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


#: Metrics that evaluate has too, whose keys and options are those of evaluate.
_METRICS: Mapping[str, Callable[..., dict[str, Any]]] = {
    function.__name__.removeprefix("_"): function for function in (_bertscore, _sacrebleu, _bleu, _chrf, _rouge)
}

#: Kinds of their options that are numbers.
_NUMBERS = {"max_order": Int(1), "char_order": Int(1), "word_order": Int(0), "seed": Int(0), "beta": Float(above=0)}


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a metric does not have; of metrics of evaluate also values that are not of their kind."""
    if name not in _METRICS:
        Accumulator(name, **options)
        return
    parameters = signature_of(bert_score.score if name == "bertscore" else _METRICS[name]).parameters
    # The first two are the texts; evaluate always returns the hash.
    known = [option for option in list(parameters)[2:] if option != "return_hash"]
    for option, value in options.items():
        if option not in known:
            hint = did_you_mean(option, known)
            msg = (
                f"{name} of evaluate has no option {option!r}{hint}; it has {', '.join(known)}; texts are given as "
                "predictions= and references="
            )
            raise RecipeError(msg)
        if option == "tokenizer" and value is not None and not callable(value):
            msg = f"tokenizer must be a function from a text to its tokens, got {value!r}"
            raise RecipeError(msg)
        is_flag = isinstance(parameters[option].default, bool) and name != "bertscore"
        kind = Flag() if is_flag else _NUMBERS.get(option)
        if kind is not None:
            about = Option(option, None, kind, "")
            if isinstance(value, str):  # evaluate reads no values from text
                raise about.refusal(value)
            about.check(value)


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


def _line(name: str, choices: Mapping[str, Any], references: Groups, computed_by: str) -> str:
    """All choices; references per segment are counted with the word that signatures have where the number varies."""
    counts = {len(group) for group in references}
    choices = {**choices, "refs": counts.pop() if len(counts) == 1 else "var"}
    fields = "|".join(f"{key}:{value}" for key, value in choices.items())
    version = package_version(computed_by.replace("_", "-"), "lexical")
    return f"evaluate-{name}|{fields}|{computed_by}:{version}|nlgauge:{__version__}"
