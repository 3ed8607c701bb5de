"""Runs metrics over a corpus in windows, encoding each text once for all of them.

A window is a range of segments with all systems and references of that range. Its vectors are dropped
before the next one starts, so memory does not grow with the corpus, and a text that several systems,
references or metrics of a window share is encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from nlgauge._version import __version__
from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.corpus.texts import Corpus
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import EmbeddingCache, Encoder, encode_texts, load_encoder
from nlgauge.encoders.engines.static import StaticEncoder
from nlgauge.engine.notes import note_texts, note_tokens, run_fields, warn_of_compromises, warn_of_languages
from nlgauge.engine.unknown import UnknownPairs, compare_segment
from nlgauge.engine.windows import AnyCloudMetric, Forms, Job, distinct_corpora, texts_of, windows
from nlgauge.errors import ModelNotFoundError, RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.recipes.defaults import with_reason
from nlgauge.recipes.metric import CloudMetric, Comparison, Finished, Metric, Reading, TextMetric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.signature import RUNNER_FIELDS, Signature
from nlgauge.scores import Score
from nlgauge.transforms.base import POSITION_NORM

__all__ = ["run_metrics"]

#: Bytes of layer vectors that a window may hold.
_WINDOW_BYTES = 128 * 2**20


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
    by_reading: dict[Reading, list[int]] = {}
    scores: dict[tuple[int, str], Score] = {}
    for number, metric in enumerate(metrics):
        if isinstance(metric, CloudMetric):
            by_reading.setdefault(metric.reading, []).append(number)
            corpus.against(metric.against, metric=metric.name)  # complains before a model is loaded
    warn_of_languages(metrics)
    for number, metric in enumerate(metrics):
        if isinstance(metric, TextMetric):
            for system, score in _score_texts(metric, corpus, options, partial(approve, number)).items():
                scores[number, system] = score
    for reading, numbers in by_reading.items():
        group = [metric for number in numbers if isinstance(metric := metrics[number], CloudMetric)]
        encoder = _load(reading.model, group, options)
        texts = corpus.lowered if reading.casing == "lower" else corpus
        jobs = _prepare(group, texts, encoder, options, reading.cut)
        for number, job in zip(numbers, jobs, strict=True):
            recipe = _recipe_fields(job)
            job.metric.check_recipe(recipe, job.state)
            approve(number, Signature(job.metric.name, recipe))
        for number, by_system in zip(numbers, _run_group(jobs, options), strict=True):
            for system, score in by_system.items():
                scores[number, system] = score
    return [scores[number, system] for number in range(len(metrics)) for system in corpus.systems]


def _load(model: str, metrics: Sequence[AnyCloudMetric], options: RunOptions) -> Encoder:
    try:
        return load_encoder(model, **options.loading)
    except ModelNotFoundError as error:
        raise with_reason(error, model, (metric.lang for metric in metrics)) from error


def _score_texts(
    metric: TextMetric, corpus: Corpus, options: RunOptions, approve: Callable[[Signature], None]
) -> dict[str, Score]:
    """A metric without a model, system by system."""
    corpus = corpus.against("refs", metric=metric.name, choice=False)
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


def _prepare(
    metrics: list[AnyCloudMetric], corpus: Corpus, encoder: Encoder, options: RunOptions, cut: int | None
) -> list[Job]:
    views = {metric.against: corpus.against(metric.against, metric=metric.name) for metric in metrics}
    corpora = list(views.values())
    texts = list(dict.fromkeys(text for at in range(len(corpus)) for text in texts_of(corpora, at)))
    counted = {metric.against for metric in metrics if metric.counts_idf}
    documents = [document for against in counted for document in views[against].idf_documents.values()]
    texts += {text: None for document in documents for text in document}.keys() - set(texts)
    limit = _limit(encoder, cut)
    texts += [""] * ("" not in texts and any(metric.unknown == "zero" for metric in metrics))
    tokens = dict(zip(texts, (one.cut_to(limit) for one in encoder.tokenizer.encode(texts)), strict=True))
    tokenized = {against: TokenizedCorpus(view, encoder, tokens, limit) for against, view in views.items()}
    unknown = {against: UnknownPairs.find(view) for against, view in tokenized.items()}
    for metric in metrics:
        if metric.unknown == "error" and metric.reads_with(encoder):
            unknown[metric.against].refuse(encoder.model)
    notes = {
        against: note_tokens(view, long=options.long, empty=options.empty) for against, view in tokenized.items()
    }
    jobs = []
    for metric in metrics:
        view = tokenized[metric.against]
        steps = metric.load_steps()
        if steps is not None:
            metric.check_steps(steps, encoder)
            if steps.by_neighbours and any(len(group) != 1 for group in view.corpus.references):
                msg = f"{POSITION_NORM} is defined for one reference, or source, per segment, got several references"
                raise RecipeError(msg)
        empty = unknown[metric.against].pairs if metric.unknown == "zero" and metric.reads_with(encoder) else {}
        jobs.append(Job(metric, view, metric.prepare(view, options), steps, notes[metric.against], empty))
    return jobs


def _limit(encoder: Encoder, cut: int | None) -> int:
    most = encoder.tokenizer.limit
    if cut is None:
        return most
    frame = len(encoder.tokenizer.encode([""])[0])
    if not frame < cut <= most:
        msg = f"cut of model {encoder.model!r} is a number of tokens from {frame + 1} to {most}, got {cut}"
        raise RecipeError(msg)
    return cut


def _run_group(jobs: list[Job], options: RunOptions) -> list[dict[str, Score]]:
    """All metrics that read texts alike."""
    tokens, encoder = jobs[0].tokenized.tokens, jobs[0].tokenized.encoder
    corpora = distinct_corpora(jobs)
    layers = tuple(sorted({layer for job in jobs for layer in job.metric.layers(encoder)}))
    comparisons: list[dict[str, list[Comparison]]] = [{system: [] for system in job.corpus.systems} for job in jobs]
    budget = _WINDOW_BYTES // (4 * encoder.hidden_size * max(1, len(layers)))
    always = [""] if any(job.counted_empty for job in jobs) else []
    cut = [
        (window, list(dict.fromkeys([*always, *(text for at in window for text in texts_of(corpora, at))])))
        for window in windows(jobs, budget)
    ]
    total = sum(len(tokens[text]) for _, wanted in cut for text in wanted)
    cache = None
    if options.cache is not None and not isinstance(encoder, StaticEncoder):  # word vectors are in memory as they are
        cache = EmbeddingCache(options.cache, gigabytes=options.cache_size)
    with _Progress(total, options.progress) as progress:
        for window, wanted in cut:
            encoded = encode_texts(
                encoder,
                [tokens[text] for text in wanted],
                layers,
                batch_tokens=options.batch_tokens,
                advance=progress,
                cache=cache,
            )
            by_text = dict(zip(wanted, encoded, strict=True))
            for job, found in zip(jobs, comparisons, strict=True):
                forms = Forms(job, window, by_text)
                with _one_blas_thread():
                    _compare_window(job, forms, window, found, options.alignments)
    warn_of_compromises(comparisons)
    return [_scores(job, found, options) for job, found in zip(jobs, comparisons, strict=True)]


def _compare_window(
    job: Job, forms: Forms, window: range, found: Mapping[str, list[Comparison]], align: bool
) -> None:
    for system in job.corpus.systems:
        for at in window:
            found[system].append(compare_segment(job, forms, system, at, align=align))


def _scores(job: Job, found: Mapping[str, list[Comparison]], options: RunOptions) -> dict[str, Score]:
    finished = job.metric.finish_all(found, job.state)
    return {system: _score(job, system, found[system], finished[system], options) for system in found}


def _score(job: Job, system: str, comparisons: list[Comparison], finished: Finished, options: RunOptions) -> Score:
    metric = job.metric
    notes = replace(
        job.notes[system],
        zero_weight=tuple(at for at, comparison in enumerate(comparisons) if comparison.zero_weight),
        unconverged=tuple(at for at, comparison in enumerate(comparisons) if comparison.unconverged),
    )
    alignments: list[Alignment | Flow | None] | None = None
    if options.alignments and finished.best_reference is not None:
        best = finished.best_reference
        alignments = [c.alignments[best[at]] if c.alignments else None for at, c in enumerate(comparisons)]
    run = run_fields(notes) | metric.describe_run(job.state, system) | dict(finished.run)
    return Score(
        metric=metric.name,
        system=system or None,
        segments=finished.segments,
        main=metric.main,
        higher_is_better=metric.higher_is_better,
        signature=Signature(metric.name, _recipe_fields(job), run),
        notes=notes,
        best_reference=finished.best_reference,
        alignments=None if alignments is None else tuple(alignments),
        distances=tuple(name for name in finished.segments if name in metric.distances),
    )


def _recipe_fields(job: Job) -> dict[str, str]:
    encoder = job.tokenized.encoder
    values = (
        job.corpus.reference_count,
        encoder.model,
        short_digest(encoder.weights_digest),
        short_digest(encoder.tokenizer.digest),
        str(encoder.tokenizer.limit),
        encoder.engine,
        __version__,
    )
    own = job.metric.describe(job.state)
    if job.metric.casing != "keep":
        own["casing"] = job.metric.casing
    if job.metric.cut is not None:
        own["cut"] = str(job.metric.cut)
    if job.metric.unknown != "error":
        own["unknown"] = job.metric.unknown
    if job.steps is not None:
        own["steps"] = job.steps.label
    return own | dict(zip(RUNNER_FIELDS, values, strict=True))


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
