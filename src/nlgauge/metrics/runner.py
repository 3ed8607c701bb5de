"""Runs metrics over a corpus in windows, encoding each text once for all of them.

A window is a range of segments with all systems and references of that range. Its vectors are dropped
before the next one starts, so memory does not grow with the corpus, and a text that several systems,
references or metrics of a window share is encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias

from nlgauge._version import __version__
from nlgauge.encoders import EmbeddingCache, EncodedText, Encoder, encode_texts, load_encoder
from nlgauge.encoders.cache import DEFAULT_GIGABYTES
from nlgauge.errors import (
    RecipeError,
)
from nlgauge.metrics.base import CloudMetric, Comparison, Metric, TextMetric
from nlgauge.metrics.corpus import Corpus, TokenizedCorpus
from nlgauge.metrics.notes import note_texts, note_tokens, run_fields, warn_of_compromises
from nlgauge.scores import Alignment, Flow, Score, SegmentNotes
from nlgauge.signature import Signature, short_digest

__all__ = ["RUNNER_FIELDS", "RunOptions", "run_metrics"]

#: Bytes of layer vectors that a window may hold.
_WINDOW_BYTES = 128 * 2**20

AnyCloudMetric: TypeAlias = CloudMetric[Any, Any]

#: Fields of a signature that every metric has, after its own.
RUNNER_FIELDS = ("refs", "model", "weights", "tokenizer", "maxlen", "engine", "nlgauge")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to compute, and what to refuse. Only the engine and its device move a score, within 1e-5."""

    engine: str = "onnx"
    threads: int | None = None
    device: str = "auto"
    batch_tokens: int = 4096
    long: Literal["truncate", "error"] = "truncate"
    empty: Literal["error", "zero"] = "error"
    alignments: bool = False
    progress: bool = False
    cache: str | None = None
    """Folder that keeps layer vectors for the next run; None keeps nothing."""
    cache_size: float = DEFAULT_GIGABYTES
    """Most that the folder may hold, in GB; what was used least recently goes first."""

    def __post_init__(self) -> None:
        if not isinstance(self.batch_tokens, int) or self.batch_tokens < 1:
            msg = f"batch_tokens must be a whole number, at least 1, got {self.batch_tokens!r}"
            raise RecipeError(msg)
        for name, allowed in (("long", ("truncate", "error")), ("empty", ("error", "zero"))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RunOptions:
        """From keywords, with an error that lists what there is."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                msg = f"unknown option {name!r}; options of a run are: {', '.join(known)}"
                raise RecipeError(msg)
        return cls(**given)


def run_metrics(
    metrics: Sequence[Metric],
    corpus: Corpus,
    options: RunOptions,
    *,
    approve: Callable[[int, Signature], None] | None = None,
) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order given.

    `approve` is shown each metric's number and resolved recipe before anything is encoded; it may raise.
    """
    approve = approve or (lambda number, recipe: None)
    by_model: dict[str, list[int]] = {}
    scores: dict[tuple[int, str], Score] = {}
    for number, metric in enumerate(metrics):
        if isinstance(metric, CloudMetric):
            by_model.setdefault(metric.model, []).append(number)
    for number, metric in enumerate(metrics):
        if isinstance(metric, TextMetric):
            for system, score in _score_texts(metric, corpus, options, partial(approve, number)).items():
                scores[number, system] = score
    for model, numbers in by_model.items():
        encoder = load_encoder(
            model,
            engine=options.engine,
            threads=options.threads,
            device=options.device,
            progress=options.progress,
        )
        group = [metric for number in numbers if isinstance(metric := metrics[number], CloudMetric)]
        prepared = _prepare(group, corpus, encoder, options)
        for number, metric, state in zip(numbers, group, prepared.states, strict=True):
            approve(number, Signature(metric.name, _recipe_fields(metric, state, prepared.tokenized)))
        for number, by_system in zip(numbers, _run_group(group, prepared, options), strict=True):
            for system, score in by_system.items():
                scores[number, system] = score
    return [scores[number, system] for number in range(len(metrics)) for system in corpus.systems]


def _score_texts(
    metric: TextMetric, corpus: Corpus, options: RunOptions, approve: Callable[[Signature], None]
) -> dict[str, Score]:
    """A metric without a model, system by system."""
    recipe = metric.describe_texts() | {"refs": corpus.reference_count, "nlgauge": __version__}
    approve(Signature(metric.name, recipe))
    notes = note_texts(corpus, empty=options.empty)
    scores = {}
    for system, hypotheses in corpus.systems.items():
        finished = metric.score_texts(hypotheses, corpus.references)
        scores[system] = Score(
            metric=metric.name,
            system=system or None,
            segments=finished.segments,
            main=metric.main,
            higher_is_better=metric.higher_is_better,
            signature=Signature(metric.name, recipe, run_fields(notes[system])),
            notes=notes[system],
            best_reference=finished.best_reference,
            corpus=finished.corpus,
        )
    return scores


class _Prepared(NamedTuple):
    """What is known before the first text is encoded."""

    tokenized: TokenizedCorpus
    notes: dict[str, SegmentNotes]
    states: list[Any]


def _prepare(metrics: list[AnyCloudMetric], corpus: Corpus, encoder: Encoder, options: RunOptions) -> _Prepared:
    texts = list(dict.fromkeys(text for at in range(len(corpus)) for text in _texts_at(corpus, at)))
    texts += {text: None for documents in corpus.idf_documents.values() for text in documents}.keys() - set(texts)
    tokenized = TokenizedCorpus(corpus, encoder, dict(zip(texts, encoder.tokenizer.encode(texts), strict=True)))
    notes = note_tokens(tokenized, long=options.long, empty=options.empty)
    return _Prepared(tokenized, notes, [metric.prepare(tokenized) for metric in metrics])


def _run_group(metrics: list[AnyCloudMetric], prepared: _Prepared, options: RunOptions) -> list[dict[str, Score]]:
    """All metrics that share a model."""
    tokenized, notes, states = prepared
    corpus, encoder = tokenized.corpus, tokenized.encoder
    layers = tuple(sorted({layer for metric in metrics for layer in metric.layers(encoder)}))
    comparisons: list[dict[str, list[Comparison]]] = [{system: [] for system in corpus.systems} for _ in metrics]
    budget = _WINDOW_BYTES // (4 * encoder.hidden_size * max(1, len(layers)))
    windows = [
        (window, list(dict.fromkeys(text for at in window for text in _texts_at(corpus, at))))
        for window in _windows(tokenized, budget)
    ]
    total = sum(len(tokenized.tokens[text]) for _, wanted in windows for text in wanted)
    cache = None
    if options.cache is not None and encoder.layers:  # word vectors are in memory as they are
        cache = EmbeddingCache(options.cache, gigabytes=options.cache_size)
    with _Progress(total, options.progress) as progress:
        for window, wanted in windows:
            encoded = encode_texts(
                encoder,
                [tokenized.tokens[text] for text in wanted],
                layers,
                batch_tokens=options.batch_tokens,
                advance=progress,
                cache=cache,
            )
            by_text = dict(zip(wanted, encoded, strict=True))
            with _one_blas_thread():
                for metric, state, found in zip(metrics, states, comparisons, strict=True):
                    forms = _Forms(metric, state, by_text)
                    _compare_window(metric, state, forms, corpus, window, found, options.alignments)
    warn_of_compromises(comparisons)
    return [
        {
            system: _score(metric, state, found[system], tokenized, system, notes[system], options)
            for system in corpus.systems
        }
        for metric, state, found in zip(metrics, states, comparisons, strict=True)
    ]


class _Forms:
    """What a metric makes of the texts of a window, each once per side."""

    def __init__(self, metric: AnyCloudMetric, state: Any, encoded: Mapping[str, EncodedText]) -> None:
        self._metric = metric
        self._state = state
        self._encoded = encoded
        self._made: dict[tuple[str, str], Any] = {}

    def of(self, text: str, system: str | None) -> Any:
        side = self._metric.side(system)
        if (text, side) not in self._made:
            self._made[text, side] = self._metric.represent(self._encoded[text], self._state, side)
        return self._made[text, side]


def _compare_window(
    metric: AnyCloudMetric,
    state: Any,
    forms: _Forms,
    corpus: Corpus,
    window: range,
    found: Mapping[str, list[Comparison]],
    align: bool,
) -> None:
    for system, hypotheses in corpus.systems.items():
        for at in window:
            hypothesis = forms.of(hypotheses[at], system)
            references = [forms.of(text, None) for text in corpus.references[at]]
            found[system].append(metric.compare(hypothesis, references, state, align=align))


def _score(
    metric: AnyCloudMetric,
    state: Any,
    comparisons: list[Comparison],
    tokenized: TokenizedCorpus,
    system: str,
    notes: SegmentNotes,
    options: RunOptions,
) -> Score:
    finished = metric.finish(comparisons, state)
    notes = replace(
        notes,
        zero_weight=tuple(at for at, comparison in enumerate(comparisons) if comparison.zero_weight),
        unconverged=tuple(at for at, comparison in enumerate(comparisons) if comparison.unconverged),
    )
    alignments: list[Alignment | Flow | None] | None = None
    if options.alignments and finished.best_reference is not None:
        best = finished.best_reference
        alignments = [c.alignments[best[at]] if c.alignments else None for at, c in enumerate(comparisons)]
    return Score(
        metric=metric.name,
        system=system or None,
        segments=finished.segments,
        main=metric.main,
        higher_is_better=metric.higher_is_better,
        signature=_signature(metric, state, tokenized, system, notes),
        notes=notes,
        best_reference=finished.best_reference,
        alignments=None if alignments is None else tuple(alignments),
    )


def _recipe_fields(metric: AnyCloudMetric, state: Any, tokenized: TokenizedCorpus) -> dict[str, str]:
    encoder = tokenized.encoder
    values = (
        tokenized.corpus.reference_count,
        encoder.model,
        short_digest(encoder.weights_digest),
        short_digest(encoder.tokenizer.digest),
        str(encoder.tokenizer.limit),
        encoder.engine,
        __version__,
    )
    return metric.describe(state) | dict(zip(RUNNER_FIELDS, values, strict=True))


def _signature(
    metric: AnyCloudMetric, state: Any, tokenized: TokenizedCorpus, system: str, notes: SegmentNotes
) -> Signature:
    recipe = _recipe_fields(metric, state, tokenized)
    return Signature(metric.name, recipe, run_fields(notes) | metric.describe_run(state, system))


def _texts_at(corpus: Corpus, at: int) -> Iterator[str]:
    for hypotheses in corpus.systems.values():
        yield hypotheses[at]
    yield from corpus.references[at]


def _windows(tokenized: TokenizedCorpus, budget: int) -> Iterator[range]:
    """Ranges of segments whose distinct texts have at most `budget` tokens (or a single segment)."""
    start, seen, size = 0, set[str](), 0
    for at in range(len(tokenized.corpus)):
        new = set(_texts_at(tokenized.corpus, at)) - seen
        cost = sum(len(tokenized.tokens[text]) for text in new)
        if at > start and size + cost > budget:
            yield range(start, at)
            start, seen, size = at, set(), 0
            new = set(_texts_at(tokenized.corpus, at))
            cost = sum(len(tokenized.tokens[text]) for text in new)
        seen |= new
        size += cost
    yield range(start, len(tokenized.corpus))


class _Progress:
    """A bar on stderr for work that takes longer than a moment, where somebody can see it."""

    def __init__(self, total: int, show: bool) -> None:
        self._bar: Any = None
        if show:
            from tqdm import tqdm

            # disable=None: tqdm stays silent where stderr is no terminal.
            self._bar = tqdm(
                total=total, unit="token", unit_scale=True, desc="encoding", delay=1.0, disable=None, leave=False
            )

    def __enter__(self) -> Callable[[int], None]:
        return self._bar.update if self._bar is not None else lambda _: None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


@lru_cache(maxsize=1)
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _one_blas_thread() -> Any:
    """The products of a pair are small, and their bits must not depend on a thread count."""
    return _blas().limit(limits=1, user_api="blas")
