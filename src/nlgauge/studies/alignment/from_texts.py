"""Fit linear maps between two languages from texts and a loaded encoder; means and distances of languages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.metric import Metric
from nlgauge.core.run_options import RunOptions
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.base import Encoder, encode_texts, vectors_digest
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.sentences import SentenceEncoder, load_sentence_encoder
from nlgauge.errors import InputError, RecipeError, TruncationWarning, user_stacklevel
from nlgauge.studies.alignment.word_aligner import Links
from nlgauge.studies.alignment.word_spaces import (
    AlignmentInputs,
    CentroidChange,
    ModelLayer,
    centroid_change,
    paired_words,
    reduction_steps,
    same_width,
)
from nlgauge.vectors.remap import Origin, Remapping, Side, fit_remapping
from nlgauge.vectors.transforms import LanguageMoments, load_transforms

#: Number of texts whose vectors are in memory at once.
_PORTION = 512


class VectorPairs(NamedTuple):
    """Vectors of translations, row by row, to fit maps to."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    description: str
    """Number of pairs and of dropped texts, as text."""
    origin: Origin
    links: tuple[Links, ...] = ()
    """Between the words of each pair of texts, used or not."""


class FittedMap(NamedTuple):
    """A re-mapping and the data it was fitted on."""

    remapping: Remapping
    fitted_on: str
    """Number of pairs and of dropped texts, as text."""
    links: tuple[Links, ...] = ()
    """Between the words of each pair of texts, used or not."""


class LinearMethod(NamedTuple):
    """Options of `fit_remapping`."""

    name: str = "clp"
    directions: int = 1
    umd_sides: Literal["both", "source"] = "both"
    umd_form: Literal["projection", "cosine"] = "projection"


CLP = LinearMethod()


def check_layer(encoder: Encoder, layer: int) -> int:
    """Resolve a layer and check that the model has it."""
    if not 0 <= layer <= encoder.layers:
        msg = f"layer {layer} does not exist; model {encoder.model!r} has layers 0 to {encoder.layers}"
        raise RecipeError(msg)
    return layer


def fit_words(inputs: AlignmentInputs, method: LinearMethod = CLP, *, origin: Origin | None = None) -> FittedMap:
    """Fit to translated words of parallel texts."""
    words = words_of_texts(inputs, origin=origin)
    return FittedMap(fit_vectors(words, **method._asdict()), words.description, words.links)


def words_of_texts(inputs: AlignmentInputs, *, origin: Origin | None = None) -> VectorPairs:
    """Compute pairs of word vectors of parallel texts."""
    check_layer(inputs.encoder, inputs.layer)
    made_with = origin_of(inputs.encoder, inputs.layer, inputs.other, origin or Origin())
    if not made_with.target_weights:
        _check_languages(inputs.source, inputs.target, made_with)
    inputs.check_links()
    words = paired_words(inputs)
    description = f"{len(words.source)} pairs of words from {words.used} pairs of texts ({words.left_out} left out)"
    return VectorPairs(words.source, words.target, description, made_with, words.links)


def origin_of(encoder: Encoder, layer: int, other: ModelLayer | None, origin: Origin) -> Origin:
    """Origin of a map; it names the target's model only if it differs."""
    made = origin._replace(model=encoder.model, weights=vectors_digest(encoder), layer=layer)
    if other is None or (vectors_digest(other.encoder), other.layer) == (made.weights, made.layer):
        return made
    check_layer(other.encoder, other.layer)
    return made._replace(
        target_model=other.encoder.model, target_weights=vectors_digest(other.encoder), target_layer=other.layer
    )


def _check_languages(source: Sequence[str], target: Sequence[str], origin: Origin) -> None:
    """Raise an error if both sides have the same language and model: no map is needed."""
    same = len(source) > 0 and list(source) == list(target)
    if same or (origin.source and origin.source == origin.target):
        sides = "the same text" if same else f"language {origin.source!r}"
        msg = f"nothing to align: both sides are {sides} with the same model; provide two languages or models"
        raise InputError(msg)


def fit_sentences(
    encoder: SentenceEncoder,
    source: Sequence[str],
    target: Sequence[str],
    method: LinearMethod = CLP,
    *,
    origin: Origin | None = None,
    advance: Callable[[int], None] | None = None,
) -> FittedMap:
    """Fit to vectors of whole parallel texts; `advance` receives the number of encoded pairs of texts."""
    sentences = sentences_of_texts(encoder, source, target, origin=origin, advance=advance)
    return FittedMap(fit_vectors(sentences, **method._asdict()), sentences.description)


def sentences_of_texts(
    encoder: SentenceEncoder,
    source: Sequence[str],
    target: Sequence[str],
    *,
    origin: Origin | None = None,
    advance: Callable[[int], None] | None = None,
) -> VectorPairs:
    """Compute pairs of vectors of whole parallel texts."""
    _check_languages(source, target, origin or Origin())
    portions = []
    for start in range(0, max(1, len(source)), _PORTION):
        part = slice(start, start + _PORTION)
        portions.append([encoder.encode(list(texts[part])) for texts in (source, target)])
        if advance is not None:
            advance(len(source[part]))
    x, z = (np.concatenate(side) for side in zip(*portions, strict=True))
    full = x.any(axis=1) & z.any(axis=1)  # a text without a token has no direction
    made_with = (origin or Origin())._replace(model=encoder.name, weights=encoder.digest)
    return VectorPairs(x[full], z[full], f"{int(full.sum())} pairs of sentences", made_with)


def fit_vectors(
    pairs: VectorPairs,
    *,
    name: str = "clp",
    directions: int = 1,
    umd_sides: Literal["both", "source"] = "both",
    umd_form: Literal["projection", "cosine"] = "projection",
) -> Remapping:
    """Fit a method to pairs of vectors; the wider side is first reduced to the width of the other."""
    x, z, what, origin, _ = pairs
    if not len(x):
        msg = f"no pair to fit on: {what}; provide texts that are translations line by line"
        raise InputError(msg)
    unit = "sentences" if "pairs of sentences" in what else "words"
    check_enough(len(x), min(x.shape[1], z.shape[1]), name, unit=unit)
    left, right, reductions = same_width(x, z)
    if reductions:
        note = f"{origin.note}; PCA of widths {x.shape[1]} and {z.shape[1]} to {left.shape[1]}"
        origin = origin._replace(note=note)
    settings: dict[str, Any] = {"directions": directions, "umd_sides": umd_sides, "umd_form": umd_form}
    fitted = fit_remapping(left, right, method=name, origin=origin, **settings)
    return Remapping((*reduction_steps(reductions), *fitted.operations), fitted.origin)


def fit_for_metric(
    recipe: Metric,
    source: Sequence[str],
    target: Sequence[str],
    method: LinearMethod = CLP,
    *,
    run: RunOptions,
    origin: Origin | None = None,
) -> FittedMap:
    """Fit to the vectors of parallel texts that a metric compares: of sentences, or of words in its layer."""
    if not isinstance(recipe, VectorMetric) or recipe.against != "source":
        msg = (
            f"a map changes vectors of the source, which {recipe.name} does not compare; use xmoverscore, or "
            "bertscore:against=source"
        )
        raise RecipeError(msg)
    if recipe.transforms != "none":
        msg = f"{recipe.name} has transforms={recipe.transforms} and cannot get another map; leave one out"
        raise RecipeError(msg)
    if getattr(recipe, "unit", "word") == "sentence":
        name = getattr(recipe, "sentence", "") or recipe.model
        return fit_sentences(load_sentence_encoder(name, **run.loading), source, target, method, origin=origin)
    encoder = load_encoder(recipe.model, **run.loading)
    layers = recipe.layers(encoder)
    if len(layers) != 1:
        msg = f"a map is fitted to one layer, but {recipe.name} uses {len(layers)}; set aggregation=last or layer=N"
        raise RecipeError(msg)
    inputs = AlignmentInputs(encoder, source, target, layers[0], batch_tokens=run.batch_tokens)
    return fit_words(inputs, method, origin=origin)


def check_enough(pairs: int, width: int, method: str, *, unit: str = "words") -> None:
    """Raise an error for a rotation or matrix with more dimensions than pairs; removing a direction needs few."""
    if method != "umd" and pairs < width:
        msg = (
            f"the texts give {pairs:,} pairs of {unit}, but a map of method {method!r} needs at least {width:,}; "
            "provide more parallel text, or use method='umd'"
        )
        raise InputError(msg)


def moments_of_texts(
    encoder: Encoder, texts: Mapping[str, Sequence[str]], *, layer: int, batch_tokens: int = 4096
) -> dict[str, LanguageMoments]:
    """Compute mean and variance of the token vectors of each language."""
    check_layer(encoder, layer)
    return {
        language: LanguageMoments.of(token_vectors(encoder, lines, layer=layer, batch_tokens=batch_tokens))
        for language, lines in texts.items()
    }


def centroids_of_texts(
    encoder: Encoder,
    texts: Mapping[str, Sequence[str]],
    *,
    layer: int,
    transforms: str = "none",
    source_language: str = "",
    batch_tokens: int = 4096,
) -> CentroidChange:
    """Compute distances between languages before and after transforms, with one language as the source."""
    check_layer(encoder, layer)
    moved_language = source_language or next(iter(texts))
    if moved_language not in texts:
        msg = f"the source language must be one of {', '.join(texts)}, got {moved_language!r}"
        raise RecipeError(msg)
    before, after = {}, {}
    for language, lines in texts.items():
        none = np.empty((0, encoder.hidden_size), dtype=np.float32)
        vectors = token_vectors(encoder, lines, layer=layer, batch_tokens=batch_tokens)
        rows = np.concatenate([none, *vectors])
        before[language] = after[language] = rows
        side: Side = "source" if language == moved_language else "target"
        loaded = load_transforms(transforms, source=language if side == "source" else None, target=language)
        if loaded is not None:
            loaded.check(vectors_digest(encoder), layers=(layer,), width=encoder.hidden_size)
            after[language] = loaded.move(rows, side)
    return centroid_change(before, after)


def token_vectors(
    encoder: Encoder, texts: Sequence[str], *, layer: int, batch_tokens: int = 4096
) -> Iterator[NDArray[np.float32]]:
    """Iterate over token vectors of texts, without special tokens, a portion of texts at a time.

    Text beyond the model's limit is truncated with a warning.
    """
    cut = 0
    for start in range(0, len(texts), _PORTION):
        tokens = encoder.tokenizer.encode(list(texts[start : start + _PORTION]))
        cut += sum(token.cut > 0 for token in tokens)
        for text in encode_texts(encoder, tokens, (layer,), batch_tokens=batch_tokens):
            if not text.tokens.empty:
                yield text.layers[layer][~text.tokens.is_special]
    if cut:
        limit = f"{encoder.tokenizer.limit} tokens that {encoder.model!r} reads"
        msg = f"{cut} of {len(texts)} texts were truncated to the {limit}; split them"
        warnings.warn(msg, TruncationWarning, stacklevel=user_stacklevel())
