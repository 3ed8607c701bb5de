"""Word vectors of two languages: pairs from parallel texts, equal widths, neighbours, distances of languages.

A map is fitted on pairs of word vectors (like XMoverScore's `mapping/`). A word's vector is the average of its pieces
without special tokens; pairs of texts that are empty or longer than 175 tokens on a side are dropped. A link gives
one row per side. Links come from the word aligner (`word_aligner.py`) or are mutual nearest neighbours among the
contextual vectors, with the tokenizer's words (so that Chinese is not a single word); or they come from a file, with
words split at white space.

Two spaces are compared by

    widths      PCA of the wider space to the width of the other
    neighbours  CSLS(x, y) = 2 cos(x, y) - r(x) - r(y)        r: mean cosine with the k nearest of the other side
                (Conneau et al. 2018). A hub, near to everything, has a large r and wins less often. Rows are unit
                vectors.
    distances   between mean vectors of languages (Zhao et al. 2021, section 6). A re-mapping that only shrinks all
                vectors would bring means together too, so each distance is also given in units of the spread within
                languages: the root mean square distance of a vector to its own language's mean.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.base import EncodedText, Encoder, encode_texts
from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.alignment.word_aligner import Links, align_words
from nlgauge.text.tokenizer import TextTokenizer, Tokens
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.network_maps import Reduction
from nlgauge.vectors.remap import Operation, Side, principal_directions
from nlgauge.vectors.transforms import Transforms

#: Published limit; longer texts are dropped.
MOST_TOKENS = 175

#: Number of pairs of texts whose vectors are in memory at once.
_WINDOW = 256


class PairedWords(NamedTuple):
    """Vectors of translated words and their source."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    links: tuple[Links, ...]
    """Links of each pair of texts, used or not."""
    used: int
    """Pairs of texts with a row."""
    left_out: int
    """Pairs that are empty, too long, or whose words the tokenizer does not separate."""


class ModelLayer(NamedTuple):
    """A layer of a model."""

    encoder: Encoder
    layer: int


@dataclass(frozen=True, eq=False)
class AlignmentInputs:
    """Parallel texts, and the models for their word vectors."""

    encoder: Encoder
    source: Sequence[str]
    target: Sequence[str]
    layer: int
    other: ModelLayer | None = None
    """Model and layer of the target's vectors, if they differ."""
    alignments: Sequence[Links] | None = None
    """Links between words split at white space; None for links between the tokenizer's words."""
    alignments_name: str = "alignments"
    """Name of the links in messages."""
    nearest: bool = False
    """Whether links are mutual nearest neighbours, not those of the word aligner."""
    known_links: Mapping[int, Links] | None = None
    """Links between the tokenizer's words from an earlier pass, by the number of a pair of texts."""
    transforms: Transforms | None = None
    """Applied to the vectors of tokens, before words are formed."""
    batch_tokens: int = 4096
    advance: Callable[[int], None] | None = None
    """Receives the number of finished or skipped pairs of texts."""

    @property
    def sides(self) -> tuple[ModelLayer, ModelLayer]:
        """Models and layers of source and target."""
        own = ModelLayer(self.encoder, self.layer)
        return own, self.other or own

    def check_links(self) -> None:
        """Raise an error for links to words that do not exist."""
        if self.alignments is None:
            return
        name, texts = self.alignments_name, list(zip(self.source, self.target, strict=True))
        if len(texts) != len(self.alignments):
            count = f"{name} has {len(self.alignments)} lines, but there are {len(texts)} pairs of texts"
            msg = f"{count}; one line per pair"
            raise InputError(msg)
        for number, (links, pair) in enumerate(zip(self.alignments, texts, strict=True), 1):
            left, right = (len(text.split()) for text in pair)
            for i, j in links:
                if i >= left or j >= right:
                    msg = (
                        f"{name}, line {number}: link {i}-{j}, but the texts have {left} and {right} words; "
                        "provide the tokenised files used for the alignment"
                    )
                    raise FileFormatError(msg)


def _links_of_equal_texts(inputs: AlignmentInputs) -> list[Links] | None:
    """Links of each word with itself across two models; None for other texts."""
    if list(inputs.source) == list(inputs.target):
        return [tuple((word, word) for word in range(len(text.split()))) for text in inputs.source]
    if inputs.nearest:
        msg = (
            "nearest neighbours are undefined across models or layers; use the links of the word aligner or of a "
            "file (--alignments), or the same text on both sides"
        )
        raise InputError(msg)
    return None


def linked_by_aligner(inputs: AlignmentInputs) -> dict[int, Links]:
    """Links of the word aligner between the tokenizer's words, by the number of each usable pair of texts."""
    keys: list[list[list[Hashable]]] = []
    for side, texts in zip(inputs.sides, (inputs.source, inputs.target), strict=True):
        tokens = side.encoder.tokenizer.encode(list(texts))
        keys.append([_word_keys(*pair) if fits(pair[1]) else [] for pair in zip(texts, tokens, strict=True)])
    return {n: links for n, links in enumerate(align_words(*keys)) if keys[0][n] and keys[1][n]}


def _word_keys(text: str, tokens: Tokens) -> list[Hashable]:
    """Identify equal words of the tokenizer: by their letters without case, or else by their pieces."""
    keys: list[Hashable] = []
    for start, size in zip(*(places.tolist() for places in tokens.word_pieces), strict=True):
        if not tokens.is_special[start]:
            letters = text[tokens.offsets[start][0] : tokens.offsets[start + size - 1][1]].strip().casefold()
            keys.append(letters or tuple(tokens.ids[start : start + size].tolist()))
    return keys


def word_vectors(text: EncodedText, *, layer: int, words: NDArray[np.int32] | None = None) -> NDArray[np.float32]:
    """Compute one row per word, in order: the average of its pieces, without special tokens."""
    tokens = text.tokens if words is None else replace(text.tokens, words=words)
    vectors = text.layers[layer]
    if tokens.empty:
        return vectors[:0]
    mean: NDArray[np.float32] = tokens.average_pieces(vectors)[~tokens.is_special[tokens.starts_word]]
    return mean


def white_space_words(tokenizer: TextTokenizer, text: str, tokens: Tokens) -> NDArray[np.int32] | None:
    """Word index of each token, with words split at white space; -1 for special tokens.

    This works for tokenizers that never join across white space. For others (byte-level BPE treats the start of a
    text differently) the tokenizer's own words are used if their number is the same. None if neither works.
    """
    split = text.split()
    pieces = [word.ids[~word.is_special] for word in tokenizer.encode(split)]
    numbers = np.full(len(tokens), -1, dtype=np.int32)
    inside = ~tokens.is_special
    joined = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int32)
    if np.array_equal(joined, tokens.ids[inside]):
        numbers[inside] = np.repeat(np.arange(len(split)), [len(piece) for piece in pieces])
        # A word without a piece would shift the numbers of rows.
        return numbers if all(len(piece) for piece in pieces) else None
    own = np.unique(tokens.words[inside])
    return tokens.words if np.array_equal(own, np.arange(len(split))) else None


def paired_words(inputs: AlignmentInputs) -> PairedWords:
    """Compute rows for each link between words of parallel texts.

    Across two models the words of equal texts are linked with themselves.
    """
    source, target, alignments = inputs.source, inputs.target, inputs.alignments
    if len(source) != len(target):
        msg = f"parallel texts need the same number of lines, got {len(source)} source and {len(target)} target texts"
        raise InputError(msg)
    if alignments is not None and len(alignments) != len(source):
        msg = f"expected the links of each of {len(source)} pairs of texts, got {len(alignments)}"
        raise InputError(msg)
    if inputs.other is not None and alignments is None:
        alignments = _links_of_equal_texts(inputs)
    rows: tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]] = ([], [])
    links: list[Links] = [()] * len(source)
    used = 0
    for n, linked, *words in linked_texts(replace(inputs, alignments=alignments)):
        links[n] = linked
        for side in (0, 1):
            rows[side].append(words[side][[link[side] for link in linked]])
        used += bool(linked)
    x, z = (
        np.concatenate([np.empty((0, side.encoder.hidden_size), dtype=np.float32), *vectors])
        for side, vectors in zip(inputs.sides, rows, strict=True)
    )
    return PairedWords(x, z, tuple(links), used, len(source) - used)


def linked_texts(
    inputs: AlignmentInputs,
) -> Iterator[tuple[int, Links, NDArray[np.float32], NDArray[np.float32]]]:
    """Iterate over usable pairs of texts: number, links, and a row per word of each side."""
    alignments, aligned = inputs.alignments, inputs.known_links
    if aligned is None:
        aligned = linked_by_aligner(inputs) if alignments is None and not inputs.nearest else {}
    for n, x, z in texts_as_words(inputs, by_blanks=alignments is not None):
        if alignments is not None:
            yield n, alignments[n], x, z
        else:
            nearest = inputs.nearest and inputs.known_links is None
            yield n, mutual_nearest(x, z) if nearest else aligned[n], x, z


def texts_as_words(
    inputs: AlignmentInputs, *, by_blanks: bool
) -> Iterator[tuple[int, NDArray[np.float32], NDArray[np.float32]]]:
    """Iterate over usable pairs of texts: number, and a row per word of each side.

    `by_blanks`: words are split at white space, not by the tokenizer.
    """
    sides, source, target = inputs.sides, inputs.source, inputs.target
    both = [side.encoder.tokenizer.encode(list(texts)) for side, texts in zip(sides, (source, target), strict=True)]
    fit = [n for n in range(len(source)) if all(fits(tokens[n]) for tokens in both)]
    done = inputs.advance or (lambda _: None)
    done(len(source) - len(fit))
    batch = 1 if inputs.transforms is None else inputs.transforms.batch
    size = max(batch, _WINDOW // batch * batch)
    for start in range(0, len(fit), size):
        window = fit[start : start + size]
        encoded = [
            encode_texts(side.encoder, [tokens[n] for n in window], (side.layer,), batch_tokens=inputs.batch_tokens)
            for side, tokens in zip(sides, both, strict=True)
        ]
        if inputs.transforms is not None:
            encoded = [
                inputs.transforms.apply_in_batches(encoded[0], "source"),
                inputs.transforms.apply_in_batches(encoded[1], "target"),
            ]
        for n, left, right in zip(window, *encoded, strict=True):
            words = _words(sides, (source[n], target[n]), (left, right), by_blanks=by_blanks)
            if words is not None:
                yield n, words[0], words[1]
        done(len(window))


def fits(tokens: Tokens) -> bool:
    """Whether a text is used: not empty, truncated or too long."""
    return not tokens.empty and not tokens.cut and len(tokens) <= MOST_TOKENS


def _words(
    sides: tuple[ModelLayer, ModelLayer],
    texts: tuple[str, str],
    encoded: tuple[EncodedText, EncodedText],
    *,
    by_blanks: bool,
) -> list[NDArray[np.float32]] | None:
    spaces = []
    for side, text, vectors in zip(sides, texts, encoded, strict=True):
        tokens = vectors.tokens
        numbers = white_space_words(side.encoder.tokenizer, text, tokens) if by_blanks else tokens.words
        if numbers is None:
            return None
        spaces.append(word_vectors(vectors, layer=side.layer, words=numbers))
    return spaces


def mutual_nearest(source: ArrayLike, target: ArrayLike) -> Links:
    """Find mutual nearest words by cosine; the first in a tie counts.

    Rows are word vectors. Equivalent to SimAlign's method Argmax (Jalili Sabet et al. 2020).

    >>> mutual_nearest([[1.0, 0.0], [0.0, 1.0]], [[0.1, 2.0], [3.0, 0.0]])
    ((0, 1), (1, 0))
    """
    sides = [np.asarray(vectors, dtype=np.float64) for vectors in (source, target)]
    for rows in sides:
        if rows.ndim != 2:
            msg = f"expected a matrix with a word vector per row, got an array of shape {rows.shape}"
            raise InputError(msg)
    x, z = (unit_rows(rows, pairwise=True) for rows in sides)
    if not len(x) or not len(z):
        return ()
    if x.shape[1] != z.shape[1]:
        msg = f"expected vectors of the same width, got {x.shape[1]} and {z.shape[1]}"
        raise InputError(msg)
    cosine = x @ z.T
    forth, back = cosine.argmax(axis=1), cosine.argmax(axis=0)
    return tuple((i, int(j)) for i, j in enumerate(forth) if back[j] == i)


Matrix = NDArray[np.float64]


def same_width(source: ArrayLike, target: ArrayLike) -> tuple[Matrix, Matrix, dict[Side, Reduction]]:
    """Reduce both sides to the smaller width; also return the projection of the wider side, if any."""
    x, z = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    if x.ndim != 2 or z.ndim != 2 or x.shape[1] == z.shape[1]:
        return x, z, {}  # other shapes raise an error where they are used
    side: Side = "source" if x.shape[1] > z.shape[1] else "target"
    wide, width = (x, z.shape[1]) if side == "source" else (z, x.shape[1])
    if not np.isfinite(wide).all():
        msg = f"the {side} vectors are not finite"
        raise InputError(msg)
    with one_blas_thread:
        mean = wide.mean(axis=0).astype(np.float32)
        step = Reduction(mean, principal_directions(wide, count=width).astype(np.float32))
        reduced = (wide - step.mean) @ step.directions
    return (reduced, z, {side: step}) if side == "source" else (x, reduced, {side: step})


def reduction_steps(reductions: dict[Side, Reduction]) -> tuple[Operation, ...]:
    """Convert projections to the first steps of a re-mapping."""
    return tuple(
        Operation(kind, array.astype(np.float64), target_only=side == "target")
        for side, step in reductions.items()
        for kind, array in (("shift", -step.mean[None]), ("linear", step.directions))
    )


#: Number of neighbours for r, as in MUSE.
NEIGHBOURS = 10

#: Number of rows whose similarities with the other side are in memory at once.
_PORTION = 2048


class Pairs(NamedTuple):
    """Paired rows of two matrices."""

    source: NDArray[np.intp]
    target: NDArray[np.intp]

    @classmethod
    def of_rows(cls, count: int) -> Pairs:
        """Pair each row with the row of the same index."""
        return cls(np.arange(count), np.arange(count))

    def __len__(self) -> int:  # number of pairs, not of sides
        return len(self.source)


def csls(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute CSLS of all pairs from their cosines, a row per source word."""
    rows, columns = (_mean_of_nearest(side) for side in (cosines, cosines.T))
    values: NDArray[np.float32] = 2 * cosines - rows[:, None] - columns[None, :]
    return values


def csls_pairs(source: NDArray[np.float32], target: NDArray[np.float32]) -> tuple[Pairs, float]:
    """Find mutual nearest words by CSLS, and their mean cosine."""
    cosines = source @ target.T
    pairs = mutual_pairs(csls(cosines))
    mean = float(cosines[pairs.source, pairs.target].mean(dtype=np.float64)) if len(pairs) else 0.0
    return pairs, mean


def mutual_pairs(similarity: NDArray[np.float32]) -> Pairs:
    """Find mutual best matches."""
    forward, backward = similarity.argmax(axis=1), similarity.argmax(axis=0)
    mutual = np.flatnonzero(backward[forward] == np.arange(len(forward)))
    return Pairs(mutual, forward[mutual])


def induction_precision(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    gold: Pairs,
    *,
    by: Literal["cosine", "csls"] = "csls",
) -> float:
    """P@1 of lexicon induction: share of source words whose nearest target word is a gold translation."""
    if not len(gold):
        msg = "lexicon induction needs gold pairs, got none"
        raise InputError(msg)
    asked, where = np.unique(gold.source, return_inverse=True)
    hubness = np.zeros(len(target), dtype=np.float32)
    if by == "csls":  # hubs depend on all source words
        hubness = np.concatenate([_mean_of_nearest(part @ source.T) for part in _portions(target)])
    # A row's own r is the same for all its candidates, so it cannot change which is first.
    factor = np.float32(2 if by == "csls" else 1)
    answers = np.concatenate(
        [(factor * (part @ target.T) - hubness).argmax(axis=1) for part in _portions(source[asked])]
    )
    return float(np.bincount(where, weights=answers[where] == gold.target).clip(max=1).mean())


def _portions(rows: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    return [rows[start : start + _PORTION] for start in range(0, len(rows), _PORTION)]


def _mean_of_nearest(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean of the highest cosines of each row."""
    k = min(NEIGHBOURS, cosines.shape[1])
    highest = np.partition(cosines, cosines.shape[1] - k, axis=1)[:, -k:]
    mean: NDArray[np.float32] = highest.mean(axis=1, dtype=np.float32)
    return mean


class LanguageCentroids(NamedTuple):
    """Mean vectors of languages, and distances between them."""

    languages: tuple[str, ...]
    counts: tuple[int, ...]
    distance: NDArray[np.float64]
    """Euclidean distance between the means of each two languages."""
    cosine: NDArray[np.float64]
    """Cosine between the means of each two languages; 0 if a mean is at the origin."""
    spread: float
    """Root mean square distance of vectors to their language's mean, with equal weight for each language."""

    @property
    def relative(self) -> NDArray[np.float64]:
        """Distances in units of the spread."""
        return self.distance / self.spread if self.spread > 0 else np.full_like(self.distance, np.nan)


class CentroidChange(NamedTuple):
    """Distances between languages before and after a re-mapping or normalisation."""

    before: LanguageCentroids
    after: LanguageCentroids


def language_centroids(vectors: Mapping[str, ArrayLike]) -> LanguageCentroids:
    """Compute means and distances from a matrix of vectors per language (of tokens or sentences).

    >>> language_centroids({"de": [[1.0, 0.0], [3.0, 0.0]], "en": [[0.0, 2.0], [0.0, 4.0]]}).distance[0, 1].round(4)
    np.float64(3.6056)
    """
    if len(vectors) < 2:
        msg = f"distances between languages need at least two, got {', '.join(vectors) or 'none'}"
        raise InputError(msg)
    rows = {language: np.asarray(matrix, dtype=np.float64) for language, matrix in vectors.items()}
    widths = {matrix.shape[1:] for matrix in rows.values()}
    for language, matrix in rows.items():
        if matrix.ndim != 2 or not len(matrix) or len(widths) > 1:
            msg = f"expected matrices of one width with at least a row, got shape {matrix.shape} for {language!r}"
            raise InputError(msg)
    means = np.stack([matrix.mean(axis=0) for matrix in rows.values()])
    squares = [((matrix - mean) ** 2).sum(axis=1).mean() for matrix, mean in zip(rows.values(), means, strict=True)]
    lengths = np.linalg.norm(means, axis=1)
    unit = means / np.where(lengths > 0, lengths, 1.0)[:, None]
    distance = np.linalg.norm(means[:, None] - means[None, :], axis=2)
    counts = tuple(len(matrix) for matrix in rows.values())
    return LanguageCentroids(tuple(rows), counts, distance, unit @ unit.T, float(np.sqrt(np.mean(squares))))


def centroid_change(before: Mapping[str, ArrayLike], after: Mapping[str, ArrayLike]) -> CentroidChange:
    """Compare before and after; both need the same languages in the same order."""
    if tuple(before) != tuple(after):
        msg = f"before and after need the same languages, got {', '.join(before)} and {', '.join(after)}"
        raise InputError(msg)
    return CentroidChange(language_centroids(before), language_centroids(after))
