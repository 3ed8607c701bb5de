"""`load` and `combine` of Hugging Face's `evaluate`, by nlgauge: change the import line.

    from nlgauge.apps.compat import evaluate                            (was: import evaluate)
    bertscore = evaluate.load("bertscore")
    bertscore.compute(predictions=..., references=..., model_type="minilm")

`bertscore`, `sacrebleu`, `bleu`, `chrf` and `rouge` have the keys and options of evaluate, and one key more where
evaluate has none: `hashcode`, the signature (`nlgauge.apps.compat.evaluate_metrics`). Every other metric loads by
its name, and its options are those of `nlgauge.score`; it has the system's `score`, a list per component (`scores`
where that is called score too) and `hashcode`. Nothing is fetched when a metric is loaded, and no code of others is
run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nlgauge.apps.compat.batches import check_lengths, reference_groups
from nlgauge.apps.compat.evaluate_metrics import EVALUATE_METRICS, check_options
from nlgauge.core.corpus import checked_texts
from nlgauge.core.merging import Accumulator
from nlgauge.core.options import did_you_mean
from nlgauge.core.registry import METRICS
from nlgauge.core.scoring import score
from nlgauge.errors import InputError, RecipeError

__all__ = ["CombinedEvaluations", "EvaluationModule", "combine", "load"]

#: Where evaluate keeps what it fetched, and how; nothing is fetched here.
_OF_FETCHING = (
    "cache_dir",
    "experiment_id",
    "keep_in_memory",
    "download_config",
    "download_mode",
    "revision",
    "hash",
    "max_concurrent_cache_files",
    "timeout",
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


class EvaluationModule:
    """A metric that is fed one at a time, in batches or at once, and computed at the end.

    >>> bertscore = load("bertscore")
    >>> bertscore.add(prediction="A cat sat.", reference="A cat sat.")
    >>> found = bertscore.compute(model_type="minilm")
    >>> sorted(found), round(found["f1"][0], 3)
    (['f1', 'hashcode', 'precision', 'recall'], 1.0)
    """

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        # An unknown name or option is an error here, not after hours of generating.
        self.name = _known_name(name)
        self._options = dict(options or {})
        self._check(self._options)
        self._predictions: list[str] = []
        self._references: list[list[str]] = []
        self._sources: list[str] = []

    def __len__(self) -> int:
        return len(self._predictions)

    def __repr__(self) -> str:
        return f"<EvaluationModule {self.name}: {len(self)} segments>"

    def add(self, *, prediction: str | None = None, reference: Any = None, source: str | None = None) -> None:
        """Add a segment; a reference is a text, or a list of texts."""
        if prediction is None:
            msg = "add() needs prediction="
            raise InputError(msg)
        sources = None if source is None else [source]
        self.add_batch(
            predictions=[prediction], references=None if reference is None else [reference], sources=sources
        )

    def add_batch(
        self,
        *,
        predictions: Iterable[str] | None = None,
        references: Iterable[Any] | None = None,
        sources: Iterable[str] | None = None,
    ) -> None:
        """Add segments; what does not go together leaves all as it was."""
        if predictions is None:
            msg = "add_batch() needs predictions="
            raise InputError(msg)
        texts = checked_texts(predictions, "predictions")
        groups = None if references is None else reference_groups(references, "references")
        originals = None if sources is None else checked_texts(sources, "sources")
        if originals is not None and self.name in EVALUATE_METRICS:
            msg = f"{self.name} of evaluate compares with references, not with sources; leave out sources="
            raise InputError(msg)
        for name, values, known in (
            ("references", groups, self._references),
            ("sources", originals, self._sources),
        ):
            if values is not None:
                check_lengths("predictions", texts, name, list(values))
            if self._predictions and (values is None) != (not known):
                msg = f"{name} must be given with every prediction or with none"
                raise InputError(msg)
        self._predictions += texts
        self._references += groups or ()
        self._sources += originals or ()

    def compute(
        self,
        *,
        predictions: Iterable[str] | None = None,
        references: Iterable[Any] | None = None,
        sources: Iterable[str] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The scores of all that was added, and of what is given here; the metric is empty afterwards.

        What was added before stays where this ends with an error, so that another try is possible.
        """
        chosen = self._options | options
        self._check(chosen)
        if predictions is None and (references is not None or sources is not None):
            msg = "references= and sources= go with predictions=, which were not given"
            raise InputError(msg)
        with _as_before_an_error([self]):
            if predictions is not None:
                self.add_batch(predictions=predictions, references=references, sources=sources)
            if not self._predictions:
                msg = "there is nothing to compute: give predictions= and references=, or add() them first"
                raise InputError(msg)
            result = self._computed(chosen)
        self._predictions, self._references, self._sources = [], [], []
        return result

    def _check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that the metric does not have."""
        if self.name in EVALUATE_METRICS:
            check_options(self.name, options)
        else:
            Accumulator(self.name, **options)

    def _computed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        if self.name in EVALUATE_METRICS:
            if not self._references:
                msg = f"{self.name} compares with references; give references="
                raise InputError(msg)
            return EVALUATE_METRICS[self.name](self._predictions, self._references, **options)
        result = score(
            self._predictions, self._references or None, sources=self._sources or None, metric=self.name, **options
        )
        lists = {("scores" if name == "score" else name): v.tolist() for name, v in result.segments.items()}
        return {"score": result.system_score, **lists, "hashcode": str(result.signature)}


class CombinedEvaluations:
    """Several metrics that are fed together; keys that two of them have begin with the name of the metric."""

    def __init__(
        self, evaluations: Sequence[str | EvaluationModule] | Mapping[str, str | EvaluationModule], force_prefix: bool
    ) -> None:
        if isinstance(evaluations, str) or not evaluations:
            msg = f"combine() takes a list of metrics, or a dict with a name for each, got {evaluations!r}"
            raise RecipeError(msg)
        modules = evaluations.values() if isinstance(evaluations, Mapping) else evaluations
        self.evaluation_modules = [load(module) if isinstance(module, str) else module for module in modules]
        self.evaluation_module_names = (
            list(evaluations)
            if isinstance(evaluations, Mapping)
            else [entry.name for entry in self.evaluation_modules]
        )
        self.force_prefix = force_prefix

    def add(self, *, prediction: str | None = None, reference: Any = None) -> None:
        """Add a segment to each metric."""
        with _as_before_an_error(self.evaluation_modules):
            for module in self.evaluation_modules:
                module.add(prediction=prediction, reference=reference)

    def add_batch(self, *, predictions: Iterable[str] | None = None, references: Iterable[Any] | None = None) -> None:
        """Add segments to each metric."""
        texts, groups = _kept(predictions), _kept(references)
        with _as_before_an_error(self.evaluation_modules):
            for module in self.evaluation_modules:
                module.add_batch(predictions=texts, references=groups)

    def compute(
        self, *, predictions: Iterable[str] | None = None, references: Iterable[Any] | None = None, **options: Any
    ) -> dict[str, Any]:
        """What all metrics find, in one dict; options belong to the metrics one by one."""
        if options:
            name = next(iter(options))
            msg = f"{name}= is an option of a metric; give it where that is loaded: combine([load(NAME, {name}=...)])"
            raise RecipeError(msg)
        texts, groups = _kept(predictions), _kept(references)
        with _as_before_an_error(self.evaluation_modules):
            results = [module.compute(predictions=texts, references=groups) for module in self.evaluation_modules]
        times = Counter(key for result in results for key in result)
        names = Counter(self.evaluation_module_names)
        seen: Counter[str] = Counter()
        merged = {}
        for name, result in zip(self.evaluation_module_names, results, strict=True):
            prefix = name if names[name] == 1 else f"{name}_{seen[name]}"
            seen[name] += 1
            for key, value in result.items():
                merged[f"{prefix}_{key}" if self.force_prefix or times[key] > 1 else key] = value
        return merged


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
    if config_name not in {None, "default"}:
        msg = f"config_name must be None, got {config_name!r}: metrics here have options instead of configurations"
        raise RecipeError(msg)
    if module_type not in {None, "metric"}:
        msg = (
            f"module_type must be 'metric', got {module_type!r}: nlgauge has no comparisons and measurements by name"
        )
        raise RecipeError(msg)
    if num_process != 1 or process_id != 0:
        msg = f"num_process must be 1, got {num_process}; join processes with nlgauge.Accumulator.merge"
        raise RecipeError(msg)
    # Of evaluate's metrics, rouge alone draws anything.
    ignored = (*_OF_FETCHING, *(() if _known_name(path) == "rouge" else ("seed",)))
    return EvaluationModule(path, {name: value for name, value in options.items() if name not in ignored})


def combine(
    evaluations: Sequence[str | EvaluationModule] | Mapping[str, str | EvaluationModule], force_prefix: bool = False
) -> CombinedEvaluations:
    """Several metrics as one, as `evaluate.combine` gives it.

    >>> both = combine([load("chrf"), load("rouge", rouge_types=["rouge1"])])
    >>> sorted(both.compute(predictions=["A cat sat."], references=["A cat sat."]))
    ['beta', 'char_order', 'chrf_hashcode', 'rouge1', 'rouge_hashcode', 'score', 'word_order']
    """
    return CombinedEvaluations(evaluations, force_prefix)


def _known_name(name: str) -> str:
    """The metric's name as it is spelt here: `evaluate-metric/BLEU` is bleu."""
    wanted = name.removeprefix("evaluate-metric/").casefold()
    known: dict[str, str] = {metric.casefold(): metric for metric in (*METRICS, *EVALUATE_METRICS)}
    if wanted in _ONLY_IN_EVALUATE:
        msg = f"{name!r} is a metric of evaluate that nlgauge does not have; keep evaluate for this one"
        raise RecipeError(msg)
    if wanted not in known:
        listed = "`nlgauge list` shows the metrics of nlgauge"
        msg = f"unknown metric {name!r}{did_you_mean(wanted, known)}; {listed}, for others keep evaluate"
        raise RecipeError(msg)
    return known[wanted]


@contextmanager
def _as_before_an_error(modules: Sequence[EvaluationModule]) -> Iterator[None]:
    """Metrics hold what they held, if what is done here fails: texts may have taken hours to make."""
    held = [(list(module._predictions), list(module._references), list(module._sources)) for module in modules]
    try:
        yield
    except BaseException:
        for module, texts in zip(modules, held, strict=True):
            module._predictions, module._references, module._sources = texts
        raise


def _kept(values: Iterable[Any] | None) -> Any:
    """A generator as a list, because several metrics read it; what is no list of texts is refused by each of them."""
    return values if values is None or isinstance(values, str | Mapping) else list(values)
