"""Re-mappings, vocabularies and means of languages, from texts and a loaded encoder.

A vocabulary has the frequent words of a language with a vector each: the mean over all places of the word. The
model's tokenizer finds words; those counted are lower-cased, of letters only and not too short, and stand in at least
four places, because a word seen fewer times has a vector of chance.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import Encoder, encode_texts, vectors_digest
from nlgauge.encoders.sentences import SentenceEncoder
from nlgauge.errors import InputError, RecipeError, TruncationWarning, user_stacklevel
from nlgauge.studies.alignment.linear import CentroidChange, centroid_change, reduction_steps, same_width
from nlgauge.studies.alignment.parallel_words import AlignmentInputs, Links, ModelLayer, PairedWords, paired_words
from nlgauge.text.tokenizer import Tokens
from nlgauge.vectors.remap import Origin, Remapping, Side, fit_remapping
from nlgauge.vectors.transforms import LanguageMoments, load_transforms

#: Texts whose vectors are held at once, of whole texts and of single words.
_PORTION, _WORD_PORTION = 512, 256

#: Fewest letters: of scripts that write a word with one or two characters, one.
_FEWEST_LETTERS = 3


class Vocabulary(NamedTuple):
    """Words, most frequent first."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    """A row per word."""
    counts: tuple[int, ...]
    types: int
    """Words of the texts before the rare ones were left out."""


class FrequentWords(NamedTuple):
    """Words of texts by their number, before anything is encoded; most frequent first."""

    words: tuple[str, ...]
    counts: tuple[int, ...]
    types: int
    """Words of the texts before the rare ones were left out."""
    tokens: tuple[Tokens, ...]
    """Of each text."""


def frequent_words(
    encoder: Encoder, texts: Sequence[str], *, most: int = 3000, fewest_places: int = 4
) -> FrequentWords:
    """The `most` frequent words that stand in at least `fewest_places`."""
    tokens = tuple(encoder.tokenizer.encode(list(texts)))
    places = Counter(word for text, one in zip(texts, tokens, strict=True) for word, _, _ in _words(text, one))
    kept = sorted((word for word, count in places.items() if count >= fewest_places), key=lambda w: (-places[w], w))
    words = tuple(kept[:most])
    return FrequentWords(words, tuple(places[word] for word in words), len(places), tokens)


def vocabulary_of_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    layer: int,
    found: FrequentWords | None = None,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] | None = None,
) -> Vocabulary:
    """The frequent words with their vectors; `advance` is told how many texts are done.

    `found`: what `frequent_words` said of these texts, if it was asked already.
    """
    words, counts, types, tokens = found or frequent_words(encoder, texts)
    rows = {word: row for row, word in enumerate(words)}
    sums = np.zeros((len(rows), encoder.hidden_size))
    for start in range(0, len(texts), _WORD_PORTION):
        part = slice(start, start + _WORD_PORTION)
        encoded = encode_texts(encoder, tokens[part], (layer,), batch_tokens=batch_tokens)
        for text, one in zip(texts[part], encoded, strict=True):
            for word, first, after in _words(text, one.tokens):
                if word in rows:
                    sums[rows[word]] += one.layers[layer][first:after].mean(axis=0, dtype=np.float64)
        if advance is not None:
            advance(len(texts[part]))
    vectors = (sums / np.maximum(np.array(counts, dtype=np.float64), 1)[:, None]).astype(np.float32)
    return Vocabulary(words, vectors, counts, types)


def _words(text: str, tokens: Tokens) -> list[tuple[str, int, int]]:
    """Words that count, each with its first token and the one after its last."""
    found = []
    for first, size in zip(*tokens.word_pieces, strict=True):
        if tokens.is_special[first]:
            continue
        word = text[tokens.offsets[first][0] : tokens.offsets[first + size - 1][1]].casefold()
        if word.isalpha() and len(word) >= (_FEWEST_LETTERS if word[0] < "\u2e80" else 1):
            found.append((word, int(first), int(first + size)))
    return found


class FittedMap(NamedTuple):
    """A re-mapping, and what it was fitted on."""

    remapping: Remapping
    fitted_on: str
    """In words: how many pairs, and how many texts were left out."""
    links: tuple[Links, ...] = ()
    """Between the words of each pair of texts, used or not."""


class LinearMethod(NamedTuple):
    """A method of `fit_remapping`, and how UMD works in it."""

    name: str = "clp"
    directions: int = 1
    umd_sides: Literal["both", "source"] = "both"


CLP = LinearMethod()


def check_layer(encoder: Encoder, layer: int) -> int:
    """The layer, which the model must have."""
    if not 0 <= layer <= encoder.layers:
        msg = f"layer {layer} asked for, but model {encoder.model!r} has layers 0 to {encoder.layers}"
        raise RecipeError(msg)
    return layer


def fit_words(inputs: AlignmentInputs, method: LinearMethod = CLP, *, origin: Origin | None = None) -> FittedMap:
    """Fit to the words of parallel texts that translate each other."""
    words, what, made_with = words_of_texts(inputs, origin=origin)
    return FittedMap(_fit(words.source, words.target, what, method, made_with), what, words.links)


def words_of_texts(inputs: AlignmentInputs, *, origin: Origin | None = None) -> tuple[PairedWords, str, Origin]:
    """Pairs of word vectors, how many in words, and what a map between them belongs to."""
    check_layer(inputs.encoder, inputs.layer)
    made_with = origin_of(inputs.encoder, inputs.layer, inputs.other, origin or Origin())
    if not made_with.target_weights:
        _check_languages(inputs.source, inputs.target, made_with)
    inputs.check_links()
    words = paired_words(inputs)
    what = f"{len(words.source)} pairs of words from {words.used} pairs of texts ({words.left_out} left out)"
    return words, what, made_with


def origin_of(encoder: Encoder, layer: int, other: ModelLayer | None, origin: Origin) -> Origin:
    """What a map belongs to; it names the target's model only if that is another one."""
    made = origin._replace(model=encoder.model, weights=vectors_digest(encoder), layer=layer)
    if other is None or (vectors_digest(other.encoder), other.layer) == (made.weights, made.layer):
        return made
    check_layer(other.encoder, other.layer)
    return made._replace(
        target_model=other.encoder.model, target_weights=vectors_digest(other.encoder), target_layer=other.layer
    )


def _check_languages(source: Sequence[str], target: Sequence[str], origin: Origin) -> None:
    """Refuse one language seen through one model: the answer is to leave the vectors alone."""
    same = len(source) > 0 and list(source) == list(target)
    if same or (origin.source and origin.source == origin.target):
        what = "the same text" if same else f"language {origin.source!r}"
        msg = (
            f"both sides are {what}, seen through one model: there is nothing to align; give two languages or models"
        )
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
    """Fit to the vectors of parallel texts as wholes; `advance` is told how many pairs of texts are encoded."""
    _check_languages(source, target, origin or Origin())
    portions = []
    for start in range(0, max(1, len(source)), _PORTION):
        part = slice(start, start + _PORTION)
        portions.append([encoder.encode(list(texts[part])) for texts in (source, target)])
        if advance is not None:
            advance(len(source[part]))
    x, z = (np.concatenate(side) for side in zip(*portions, strict=True))
    full = x.any(axis=1) & z.any(axis=1)  # a text without a token has no direction
    what = f"{int(full.sum())} pairs of sentences"
    made_with = (origin or Origin())._replace(model=encoder.name, weights=encoder.digest)
    return FittedMap(_fit(x[full], z[full], what, method, made_with), what)


def _fit(
    x: NDArray[np.float32], z: NDArray[np.float32], what: str, method: LinearMethod, origin: Origin
) -> Remapping:
    if not len(x):
        msg = f"no pair to fit on: {what}; give texts that translate each other line by line"
        raise InputError(msg)
    check_enough(len(x), min(x.shape[1], z.shape[1]), method.name)
    left, right, reductions = same_width(x, z)
    if reductions:
        note = f"{origin.note}; PCA of widths {x.shape[1]} and {z.shape[1]} to {left.shape[1]}"
        origin = origin._replace(note=note)
    name, directions, umd_sides = method
    fitted = fit_remapping(left, right, method=name, directions=directions, umd_sides=umd_sides, origin=origin)
    return Remapping((*reduction_steps(reductions), *fitted.operations), fitted.origin)


def check_enough(pairs: int, width: int, method: str) -> None:
    """Refuse a rotation or a matrix of more dimensions than there are pairs; a direction to remove needs few."""
    if method != "umd" and pairs < width:
        msg = (
            f"{pairs} pairs do not determine a map of {width} dimensions: directions that no pair shows would be "
            f"turned anyhow; give parallel texts with {width} pairs or more, or take method umd"
        )
        raise InputError(msg)


def moments_of_texts(
    encoder: Encoder, texts: Mapping[str, Sequence[str]], *, layer: int, batch_tokens: int = 4096
) -> dict[str, LanguageMoments]:
    """Mean and variance of the token vectors of each language."""
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
    """How far languages sit from each other before and after transforms, which treat one of them as the source."""
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
    """Vectors of the texts' tokens, without special ones, a portion of texts at a time.

    What lies beyond the model's limit is left out, and warned of.
    """
    cut = 0
    for start in range(0, len(texts), _PORTION):
        tokens = encoder.tokenizer.encode(list(texts[start : start + _PORTION]))
        cut += sum(one.cut > 0 for one in tokens)
        for text in encode_texts(encoder, tokens, (layer,), batch_tokens=batch_tokens):
            if not text.tokens.empty:
                yield text.layers[layer][~text.tokens.is_special]
    if cut:
        read = f"{encoder.tokenizer.limit} tokens that {encoder.model!r} reads"
        msg = f"{cut} of {len(texts)} texts were truncated to the {read}; split them"
        warnings.warn(msg, TruncationWarning, stacklevel=user_stacklevel())
