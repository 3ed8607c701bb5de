"""The first stage of a run: everything that happens before the first text is encoded.

    prepared = prepare(recipes, corpus, options)       models, tokens, idf tables, the recipe part of each signature
    comparisons = compare(prepared, segments)          any range of segments, anywhere, in any order
    scores = finish(prepared, comparisons)             segment scores, system scores, signatures

Metrics with the same `EncodingSpec` (model, lower case, longest text, windows, space) form a group that shares tokens
and vectors. A text is checked and tokenised once per group. The result is frozen, so any number of threads can read
it.

Texts of unknown tokens only are refused, or treated as empty. A model cannot distinguish such texts ([UNK] [UNK]), so
two unrelated ones would be a perfect match. Two equal texts are scored like any other pair, whatever their tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from nlgauge._version import __version__
from nlgauge.core.annotation import check_annotated_languages
from nlgauge.core.composite import PreparedRecipe, expand, prepare_joins
from nlgauge.core.corpus import Corpus, TextNames
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.notes import (
    MAX_NAMED_SEGMENTS,
    check_texts,
    check_tokens,
    warn_about_empty,
    warn_about_languages,
    warn_about_text_language,
    warn_about_tokens,
)
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import SegmentNotes
from nlgauge.core.signature import GRAMMAR, RUNNER_FIELDS, Signature
from nlgauge.core.tokens import TokenizedCorpus
from nlgauge.core.vector_metric import EncodingSpec, State, VectorMetric, name_selecting_language, offer_multilingual
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError, ModelNotFoundError, RecipeError, UnknownTextError
from nlgauge.io.storage import short_digest
from nlgauge.text.languages import count_scripts

AnyVectorMetric: TypeAlias = VectorMetric[Any]

#: Gets a metric's number and resolved recipe; may raise.
SignatureCheck: TypeAlias = Callable[[int, Signature], None]


@dataclass(frozen=True, eq=False)
class PreparedMetric:
    """A metric of vectors with everything that it needs to compare texts."""

    metric: AnyVectorMetric
    tokenized: TokenizedCorpus
    """The corpus with references, or with sources instead."""
    state: State
    notes: Mapping[str, SegmentNotes]
    """By system."""
    signature: Signature
    """The recipe part: the same for all systems."""
    run_fields: Mapping[str, Mapping[str, str]]
    """Fields that a system's own idf table adds to the run part of its signature, by system."""
    zero_unknown: bool
    """Whether there are texts of unknown tokens only, which are treated as empty."""

    @cached_property
    def corpus(self) -> Corpus:
        """The texts."""
        return self.tokenized.corpus


@dataclass(frozen=True, eq=False)
class PreparedTextMetric:
    """A metric without a model."""

    metric: TextMetric
    corpus: Corpus
    notes: Mapping[str, SegmentNotes]
    signature: Signature


@dataclass(frozen=True, eq=False)
class EncodingGroup:
    """Metrics by number that share tokens and vectors."""

    encoder: Encoder
    metrics: Mapping[int, PreparedMetric]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Recipes and a corpus, ready to be compared segment by segment."""

    corpus: Corpus
    options: RunOptions
    recipes: tuple[PreparedRecipe, ...]
    """The recipes of the call."""
    metrics: tuple[PreparedMetric | PreparedTextMetric, ...]
    """The metrics that compare texts for the recipes; a metric's number is its index here."""
    groups: tuple[EncodingGroup, ...]

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def segments(self) -> range:
        """All segments."""
        return range(len(self.corpus))

    @cached_property
    def compared(self) -> dict[int, PreparedMetric]:
        """Metrics that compare segment by segment, by number; the others score the texts of a whole system."""
        return {number: metric for number, metric in enumerate(self.metrics) if isinstance(metric, PreparedMetric)}


def prepare(
    recipes: Sequence[Metric],
    corpus: Corpus,
    options: RunOptions,
    *,
    check_signature: SignatureCheck | None = None,
    warn: bool = True,
) -> Prepared:
    """Load, tokenise, count and check; nothing is encoded.

    `check_signature` gets the number and the signature of each recipe; it may raise. With `warn=False`, callers
    report the notes of the scores themselves.
    """
    metrics = [with_windows(metric, options) for metric in expand(recipes)]
    specs: dict[EncodingSpec, dict[int, AnyVectorMetric]] = {}
    for number, metric in enumerate(metrics):
        if isinstance(metric, VectorMetric):
            specs.setdefault(metric.encoding, {})[number] = metric
            corpus.compared_with(metric.against, metric=metric.name)  # fails before a model is loaded
    check_annotated_languages(metrics)
    if warn:
        warn_about_languages(metrics)
    # Metrics of texts first, because a missing package shows there before a model is loaded.
    texts = {number: metric for number, metric in enumerate(metrics) if isinstance(metric, TextMetric)}
    prepared: dict[int, PreparedMetric | PreparedTextMetric] = {}
    prepared |= _prepare_texts(texts, corpus, options, warn=warn)
    groups = [_prepare_group(spec, sharing, corpus, options, warn=warn) for spec, sharing in specs.items()]
    for group in groups:
        prepared |= group.metrics
    ready = tuple(prepared[number] for number in range(len(metrics)))
    common = {"nlgauge": __version__, "sig": GRAMMAR}
    prepared_recipes = prepare_joins(recipes, [metric.signature for metric in ready], common=common)
    if check_signature is not None:
        for number, recipe in enumerate(prepared_recipes):
            check_signature(number, recipe.signature)
    return Prepared(corpus, options, prepared_recipes, ready, tuple(groups))


def with_windows(metric: Metric, options: RunOptions) -> Metric:
    """The recipe, with windows if the run has `long="windows"`."""
    return metric.in_windows() if options.long == "windows" and isinstance(metric, VectorMetric) else metric


def segment_texts(corpora: Sequence[Corpus], index: int) -> list[str]:
    """All texts of a segment in all views of a corpus: outputs, then the references or sources of each view."""
    outputs = [hypotheses[index] for hypotheses in corpora[0].systems.values()]
    return outputs + [text for corpus in corpora for text in corpus.references[index]]


def _prepare_texts(
    metrics: Mapping[int, TextMetric], corpus: Corpus, options: RunOptions, *, warn: bool
) -> dict[int, PreparedTextMetric]:
    """Prepare metrics without a model, which share their notes."""
    prepared = {}
    checked: dict[bool, dict[str, SegmentNotes]] = {}
    for of_source in (False, True):
        own = [metric for metric in metrics.values() if (metric.against == "source") == of_source]
        if own:
            view = corpus.compared_with("source", metric=own[0].name, choice=False) if of_source else corpus
            checked[of_source] = check_texts(view, empty=options.empty)
            if warn:
                warn_about_empty(checked[of_source], corpus.names, own)
    for number, metric in metrics.items():
        hypotheses_only = metric.against == "nothing"
        view = corpus if hypotheses_only else corpus.compared_with(metric.against, metric=metric.name, choice=False)
        notes = checked[metric.against == "source"]
        if metric.needs_sources and corpus.sources is None:
            msg = f"{metric.name} needs the source texts as well as references; pass them with sources="
            raise InputError(msg)
        refs = "none" if hypotheses_only else view.reference_count
        fields = metric.describe_texts() | {"refs": refs, "nlgauge": __version__, "sig": GRAMMAR}
        signature = Signature(metric.name, fields)
        prepared[number] = PreparedTextMetric(metric, view, notes, signature)
        if warn:
            warn_about_text_language(metric, view)
    return prepared


def _prepare_group(
    spec: EncodingSpec, metrics: Mapping[int, AnyVectorMetric], corpus: Corpus, options: RunOptions, *, warn: bool
) -> EncodingGroup:
    """Prepare metrics that share an encoding."""
    try:
        encoder = load_encoder(spec.model, **options.loading)
    except ModelNotFoundError as error:
        raise name_selecting_language(error, spec.model, (metric.lang for metric in metrics.values())) from error
    texts = corpus.lowered if spec.lowercase == "yes" else corpus
    views = _tokenise(list(metrics.values()), texts, encoder, spec)
    unknown = {against: view.corpus.unknown_only(view.tokens) for against, view in views.items()}
    for metric in metrics.values():
        if metric.unknown == "error" and metric.uses_tokens_of(encoder):
            _refuse_unknown(unknown[metric.against], encoder.model, corpus.names)
    notes = {}
    for against, view in views.items():
        notes[against] = check_tokens(view, long=options.long, empty=options.empty)
        if warn:
            languages = {metric.lang for metric in metrics.values() if metric.lang}
            own = [metric for metric in metrics.values() if metric.against == against]
            warn_about_tokens(view, notes[against], metrics=own, languages=languages)
    prepared = {
        number: _prepare_metric(
            metric, views[metric.against], notes[metric.against], options, has_unknown=bool(unknown[metric.against])
        )
        for number, metric in metrics.items()
    }
    for prepared_metric in prepared.values():
        prepared_metric.metric.check_recipe(prepared_metric.signature.recipe, prepared_metric.state)
    return EncodingGroup(encoder, prepared)


def _tokenise(
    metrics: Sequence[AnyVectorMetric], corpus: Corpus, encoder: Encoder, spec: EncodingSpec
) -> dict[str, TokenizedCorpus]:
    """The tokenised corpus by `against` of the metrics; each text is tokenised once."""
    views = {metric.against: corpus.compared_with(metric.against, metric=metric.name) for metric in metrics}
    texts = dict.fromkeys(text for index in range(len(corpus)) for text in segment_texts([*views.values()], index))
    for against in {metric.against: None for metric in metrics if metric.counts_idf}:
        texts |= dict.fromkeys(text for document in views[against].idf_documents.values() for text in document)
    if any(metric.unknown == "zero" for metric in metrics):
        texts[""] = None  # stands in for texts that are treated as empty
    tokenizer = encoder.tokenizer.with_prefix_space(spec.prefix_space, model=encoder.model)
    limit = _longest_text(encoder, spec.max_tokens)
    windows = spec.reading.windows(tokenizer, limit=limit, model=encoder.model)
    if windows is None:
        tokens = [text.cut_to(limit) for text in tokenizer.encode(list(texts))]
    else:
        tokens = [text.in_windows(windows) for text in tokenizer.encode(list(texts), whole=True)]
    by_text = dict(zip(texts, tokens, strict=True))
    counted = {} if corpus.whole is None else corpus.whole.counted
    return {
        against: TokenizedCorpus(
            view, encoder, tokenizer, by_text, limit, windows, memo=dict(counted.get((spec, against), {}))
        )
        for against, view in views.items()
    }


def _longest_text(encoder: Encoder, max_tokens: int | None) -> int:
    """Longest text in tokens: the model's limit, or `max_tokens` of the recipe."""
    most = encoder.tokenizer.limit
    if max_tokens is None:
        return most
    frame = len(encoder.tokenizer.encode([""])[0])
    if not frame < max_tokens <= most:
        msg = f"max_tokens must be {frame + 1} to {most} for model {encoder.model!r}, got {max_tokens}"
        raise RecipeError(msg)
    return max_tokens


def _prepare_metric(
    metric: AnyVectorMetric,
    view: TokenizedCorpus,
    notes: Mapping[str, SegmentNotes],
    options: RunOptions,
    *,
    has_unknown: bool,
) -> PreparedMetric:
    """Prepare a metric: its tables and files for these texts, and the recipe part of its signature."""
    if metric.group > 1 and any(len(texts) != 1 for texts in view.corpus.references):
        msg = f"transforms={metric.transforms!r} needs exactly one reference (or source) per segment"
        raise RecipeError(msg)
    state = metric.prepare(view, options)
    signature = Signature(metric.name, _recipe_fields(metric, view, state))
    own = {system: state.idf.run_fields(system) for system in view.corpus.systems}
    zero_unknown = has_unknown and metric.unknown == "zero" and metric.uses_tokens_of(view.encoder)
    return PreparedMetric(metric, view, state, notes, signature, own, zero_unknown)


def _recipe_fields(metric: AnyVectorMetric, view: TokenizedCorpus, state: State) -> dict[str, str]:
    encoder = view.encoder
    values = (
        view.corpus.reference_count,
        encoder.model,
        short_digest(encoder.weights_digest),
        short_digest(encoder.tokenizer.digest),
        short_digest(encoder.config_digest) or "none",
        str(encoder.tokenizer.limit),
        encoder.engine,
        __version__,
        GRAMMAR,
    )
    return metric.describe(state) | dict(zip(RUNNER_FIELDS, values, strict=True))


def _refuse_unknown(unknown: Mapping[tuple[str, int], Sequence[str]], model: str, names: TextNames) -> None:
    """Refuse texts of unknown tokens only, and name their places."""
    if not unknown:
        return
    places = [names.place(system, index) for system, index in unknown]
    rest = len(places) - MAX_NAMED_SEGMENTS
    listed = "; ".join(places[:MAX_NAMED_SEGMENTS]) + (f"; and {rest} more" if rest > 0 else "")
    texts = dict.fromkeys(text for own in unknown.values() for text in own)
    scripts = list(dict.fromkeys(script for text in texts for script in list(count_scripts(text))[:1]))
    written = f" ({', '.join(scripts)} script)" if scripts else ""
    msg = (
        f"{listed}: all tokens of a text are unknown to model {model!r}{written}, so its score is meaningless; "
        f"{offer_multilingual(scripts, model=model)}, or score these pairs 0 (unknown='zero') "
        "or normally (unknown='score')"
    )
    raise UnknownTextError(msg)
