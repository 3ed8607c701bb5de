"""Runs metrics over a corpus in windows, encoding each text once for all of them.

A window is a range of segments with all systems and references of that range. Its vectors are dropped
before the next one starts, so memory does not grow with the corpus, and a text that several systems,
references or metrics of a window share is encoded once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from nlgauge._version import __version__
from nlgauge.encoders import EncodedText, Encoder, encode_texts, load_encoder
from nlgauge.errors import (
    ConvergenceWarning,
    EmptyPairError,
    EmptyTextWarning,
    RecipeError,
    TooLongError,
    TruncationWarning,
    UnknownWordWarning,
    ZeroWeightWarning,
)
from nlgauge.metrics.base import Comparison, Metric
from nlgauge.metrics.corpus import Corpus, TokenizedCorpus
from nlgauge.scores import Alignment, Flow, Score, SegmentNotes
from nlgauge.signature import Signature, short_digest

__all__ = ["RUNNER_FIELDS", "RunOptions", "callers_level", "run_metrics"]

#: Bytes of layer vectors that a window may hold.
_WINDOW_BYTES = 128 * 2**20

#: Fields of a signature that every metric has, after its own.
RUNNER_FIELDS = ("refs", "model", "weights", "tokenizer", "maxlen", "engine", "nlgauge")

#: Counts that a signature has even where they are 0.
_ALWAYS = ("truncated", "empty")

#: Segments named one by one in a warning before "..." stands for the rest.
_NAMED = 10


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
    metrics: Sequence[Metric[Any, Any]],
    corpus: Corpus,
    options: RunOptions,
    *,
    approve: Callable[[int, Signature], None] | None = None,
) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order given.

    `approve` is shown each metric's number and resolved recipe before anything is encoded; it may raise.
    """
    by_model: dict[str, list[Metric[Any, Any]]] = {}
    for metric in metrics:
        by_model.setdefault(metric.model, []).append(metric)
    scores: dict[tuple[int, str], Score] = {}
    for model, group in by_model.items():
        encoder = load_encoder(
            model,
            engine=options.engine,
            threads=options.threads,
            device=options.device,
            progress=options.progress,
        )
        numbers = [number for number, metric in enumerate(metrics) if metric.model == model]
        prepared = _prepare(group, corpus, encoder, options)
        if approve is not None:
            for number, metric, state in zip(numbers, group, prepared.states, strict=True):
                approve(number, Signature(metric.name, _recipe_fields(metric, state, prepared.tokenized)))
        for number, by_system in zip(numbers, _run_group(group, prepared, options), strict=True):
            for system, score in by_system.items():
                scores[number, system] = score
    return [scores[number, system] for number in range(len(metrics)) for system in corpus.systems]


class _Prepared(NamedTuple):
    """What is known before the first text is encoded."""

    tokenized: TokenizedCorpus
    notes: dict[str, SegmentNotes]
    states: list[Any]


def _prepare(metrics: list[Metric[Any, Any]], corpus: Corpus, encoder: Encoder, options: RunOptions) -> _Prepared:
    texts = list(dict.fromkeys(text for at in range(len(corpus)) for text in _texts_at(corpus, at)))
    tokenized = TokenizedCorpus(corpus, encoder, dict(zip(texts, encoder.tokenizer.encode(texts), strict=True)))
    notes = _notes(tokenized, options)
    return _Prepared(tokenized, notes, [metric.prepare(tokenized) for metric in metrics])


def _run_group(metrics: list[Metric[Any, Any]], prepared: _Prepared, options: RunOptions) -> list[dict[str, Score]]:
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
    with _Progress(total, options.progress) as progress:
        for window, wanted in windows:
            encoded = encode_texts(
                encoder,
                [tokenized.tokens[text] for text in wanted],
                layers,
                batch_tokens=options.batch_tokens,
                advance=progress,
            )
            by_text = dict(zip(wanted, encoded, strict=True))
            with _one_blas_thread():
                for metric, state, found in zip(metrics, states, comparisons, strict=True):
                    forms = _Forms(metric, state, by_text)
                    _compare_window(metric, state, forms, corpus, window, found, options.alignments)
    _warn_of_compromises(comparisons)
    return [
        {
            system: _score(metric, state, found[system], tokenized, system, notes[system], options)
            for system in corpus.systems
        }
        for metric, state, found in zip(metrics, states, comparisons, strict=True)
    ]


class _Forms:
    """What a metric makes of the texts of a window, each once per side."""

    def __init__(self, metric: Metric[Any, Any], state: Any, encoded: Mapping[str, EncodedText]) -> None:
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
    metric: Metric[Any, Any],
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
    metric: Metric[Any, Any],
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
        signature=_signature(metric, state, tokenized, notes),
        notes=notes,
        best_reference=finished.best_reference,
        alignments=None if alignments is None else tuple(alignments),
    )


def _warn_of_compromises(comparisons: Sequence[Mapping[str, Sequence[Comparison]]]) -> None:
    pairs = [
        (at, comparison)
        for by_system in comparisons
        for found in by_system.values()
        for at, comparison in enumerate(found)
    ]
    weightless = sorted({at for at, comparison in pairs if comparison.zero_weight})
    if weightless:
        what = "idf, or the removal of tokens, left a text without weight; uniform weights were used"
        _warn(ZeroWeightWarning, weightless, what)
    restless = sorted({at for at, comparison in pairs if comparison.unconverged})
    if restless:
        _warn(ConvergenceWarning, restless, "a Sinkhorn iteration did not come to rest; its value is not exact")


def _recipe_fields(metric: Metric[Any, Any], state: Any, tokenized: TokenizedCorpus) -> dict[str, str]:
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


def _signature(metric: Metric[Any, Any], state: Any, tokenized: TokenizedCorpus, notes: SegmentNotes) -> Signature:
    recipe = _recipe_fields(metric, state, tokenized)
    run = {name: str(count) for name, count in notes.counts().items() if count or name in _ALWAYS}
    return Signature(metric.name, recipe, run)


def _notes(tokenized: TokenizedCorpus, options: RunOptions) -> dict[str, SegmentNotes]:
    """What each system's texts make us decide; refuses what the options say to refuse."""
    corpus, tokens = tokenized.corpus, tokenized.tokens
    limit = tokenized.encoder.tokenizer.limit
    notes = {}
    for system, hypotheses in corpus.systems.items():
        name = f"system {system!r}, " if system else ""
        truncated, empty, unknown = [], [], []
        for at, (hypothesis, references) in enumerate(zip(hypotheses, corpus.references, strict=True)):
            sides = [tokens[hypothesis], *(tokens[text] for text in references)]
            if any(side.cut for side in sides):
                truncated.append(at)
                if options.long == "error":
                    side = next(number for number, tokens_ in enumerate(sides) if tokens_.cut)
                    what = "hypothesis" if side == 0 else f"reference {side - 1}"
                    count = len(sides[side]) + sides[side].cut
                    msg = (
                        f"{name}segment {at}: the {what} has {count} tokens, over the model's limit of {limit}; "
                        "shorten it, or allow truncation (long='truncate')"
                    )
                    raise TooLongError(msg)
            if any(side.unknown for side in sides):
                unknown.append(at)
            if any(side.empty for side in sides):
                empty.append(at)
                if all(side.empty for side in sides) and options.empty == "error":
                    msg = (
                        f"{name}segment {at}: hypothesis and reference are both empty, so no score is defined; "
                        "remove the segment, or score it 0 (empty='zero')"
                    )
                    raise EmptyPairError(msg)
        notes[system] = SegmentNotes(tuple(truncated), tuple(empty), unknown=tuple(unknown))
    cut = sorted({at for note in notes.values() for at in note.truncated})
    if cut:
        _warn(TruncationWarning, cut, f"texts were truncated to the model's limit of {limit} tokens")
    blank = sorted({at for note in notes.values() for at in note.empty})
    if blank:
        what = "a text is empty: a similarity to it is 0 (before rescaling), a distance that to the origin"
        _warn(EmptyTextWarning, blank, what)
    strange = sorted({at for note in notes.values() for at in note.unknown})
    if strange:
        _warn(UnknownWordWarning, strange, "words without a vector were left out")
    return notes


def _warn(category: type[Warning], segments: Sequence[int], what: str) -> None:
    named = ", ".join(map(str, segments[:_NAMED])) + (", ..." if len(segments) > _NAMED else "")
    many = "s" if len(segments) > 1 else ""
    warnings.warn(f"{len(segments)} segment{many} ({named}): {what}", category, stacklevel=callers_level())


def callers_level() -> int:
    """How far up the stack the user's own line is, so that the warning points there."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


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
