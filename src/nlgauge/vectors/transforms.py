"""Transforms of token vectors for comparing texts of two languages.

A recipe joins transforms by `+`, in the order of their application:

    FILE            made by `nlgauge align fit` (CLP, UMD, flows) or `nlgauge build means` (centring, standardising);
                    or an array that XMoverScore publishes (.BAM, .GBDD)
    position-norm   the published normalisation, see below; position-norm-N for another batch size
    layer-norm      each vector to mean 0 and variance 1 over its entries (Ba, Kiros, Hinton 2016)
    sequence-norm   each entry to mean 0 and variance 1 over the positions of one text

A re-mapping maps the source's vectors to the target, and may remove directions from both sides; references and
hypotheses are the target. Means belong to a language, so the language of each side is required.

`LanguageMeans` makes vectors language-agnostic by removing the mean and variance of a language (Zhao et al. 2021).
They are fitted once per language on a corpus and frozen, so a text's vectors do not depend on other texts or on
padding:

    centre        v - mean(language)
    standardise   (v - mean(language)) / sqrt(var(language) + 1e-9)

`position-norm` is that normalisation as published (Eq. 4, D9.4): mean and variance of the vectors at each position of
a token, over eight texts that follow each other. A text's vectors then depend on its neighbours and their order, a
batch of one is all zeros, and in the released code the zeros of padding count as vectors. It reproduces published
figures; `position-norm-N` takes N texts (Figure 4 varies the batch size).

The paper contrasts it with layer normalisation, "computed across all time steps for individual input sequences", and
cites Ba et al., who compute it for each vector: the print is `sequence-norm`, its citation `layer-norm` (D9.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.base import EncodedText, format_vectors_digest
from nlgauge.errors import FileFormatError, InputError, RecipeError, refuse_word
from nlgauge.io.storage import FrozenArrays, arrays_digest, read_format, short_digest, text_digest
from nlgauge.vectors.network_maps import FlowMap, TanhNetwork
from nlgauge.vectors.remap import Remapping, Side, load_published

#: Names in recipes and signatures.
POSITION_NORM, LAYER_NORM, SEQUENCE_NORM = FIXED_NORMS = ("position-norm", "layer-norm", "sequence-norm")

#: Number of consecutive texts that `position-norm` normalises together, as published.
POSITION_BATCH = 8

NORM_MODES = ("centre", "standardise")

_EPSILON = 1e-9

_WITH_BATCH = re.compile(rf"{POSITION_NORM}-([1-9][0-9]*)")


@dataclass(frozen=True)
class FixedNorm:
    """A normalisation without fitted parameters; its name, and for `position-norm` the batch size, says all."""

    name: str
    batch: int = 1
    """Number of consecutive texts that are normalised together."""

    @classmethod
    def parse(cls, text: str) -> FixedNorm | None:
        """Read `position-norm`, `position-norm-N`, `layer-norm` or `sequence-norm`; None for other text.

        >>> FixedNorm.parse("position-norm-32").batch, FixedNorm.parse("position-norm").batch, FixedNorm.parse("x")
        (32, 8, None)
        """
        if text in {LAYER_NORM, SEQUENCE_NORM}:
            return cls(text)
        if text == POSITION_NORM:
            return cls(text, POSITION_BATCH)
        match = _WITH_BATCH.fullmatch(text)
        if match is None:
            return None
        if match[1] == "1":
            msg = f"{text} would make all vectors zero; use a batch of at least 2, such as {POSITION_NORM}-2"
            raise RecipeError(msg)
        return cls(POSITION_NORM, int(match[1]))

    @property
    def label(self) -> str:
        """The name in recipes and signatures; the published batch size is not repeated."""
        grouped = self.name == POSITION_NORM and self.batch != POSITION_BATCH
        return f"{self.name}-{self.batch}" if grouped else self.name

    @property
    def digest(self) -> str:
        """The label, because nothing is fitted."""
        return self.label

    def apply_together(self, batch: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """Normalise the vectors of the texts of a batch."""
        if self.name == POSITION_NORM:
            return position_norm(batch)
        return [standardise(rows, axis=1 if self.name == LAYER_NORM else 0) for rows in batch]

    def apply(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Normalise vectors that are not the tokens of a text."""
        if self.name != LAYER_NORM:
            msg = f"{self.label} needs the positions of tokens, which these vectors do not have"
            raise RecipeError(msg)
        return standardise(rows, axis=1)


def standardise(rows: ArrayLike, *, axis: int) -> NDArray[np.float32]:
    """Bring a matrix to mean 0 and (biased) variance 1 along an axis: 0 over its rows, 1 over its entries."""
    values = np.asarray(rows, dtype=np.float64)
    centred = values - values.mean(axis=axis, keepdims=True)
    scaled: NDArray[np.float64] = centred / np.sqrt((centred**2).mean(axis=axis, keepdims=True) + _EPSILON)
    return scaled.astype(np.float32)


def position_norm(batch: Sequence[ArrayLike]) -> list[NDArray[np.float32]]:
    """NORM as published: each position's vectors, over the texts of a batch, to mean 0 and variance 1.

    A missing position of a shorter text counts as a vector of zeros, as in the released code.
    """
    texts = [np.asarray(text, dtype=np.float64) for text in batch]
    if not texts:
        return []
    padded = np.zeros((len(texts), max(len(text) for text in texts), texts[0].shape[1]))
    for row, text in enumerate(texts):
        padded[row, : len(text)] = text
    mean = padded.sum(axis=0) / len(texts)
    variance = ((padded - mean) ** 2).sum(axis=0) / len(texts)
    scaled = (padded - mean) / np.sqrt(variance + _EPSILON)
    return [scaled[row, : len(text)].astype(np.float32) for row, text in enumerate(texts)]


@dataclass(frozen=True, eq=False)
class LanguageMoments:
    """Mean and (biased) variance of one language's vectors, entry by entry."""

    count: int
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]

    @classmethod
    def of(cls, portions: Iterable[ArrayLike]) -> LanguageMoments:
        """Compute moments from a stream of matrices, so a corpus need not fit into memory.

        Portions are merged by the rule of Chan et al. (1979), which is accurate if the mean is large.
        """
        count = 0
        mean = squares = np.zeros(0)
        for portion in portions:
            rows = np.asarray(portion, dtype=np.float64)
            if rows.ndim != 2 or (count and rows.shape[1] != len(mean)) or not np.isfinite(rows).all():
                msg = f"expected finite matrices of one width, got one of shape {rows.shape} after {count} vectors"
                raise InputError(msg)
            if not len(rows):
                continue
            if not count:
                mean = squares = np.zeros(rows.shape[1])
            own = rows.mean(axis=0)
            total = count + len(rows)
            shift = own - mean
            squares = squares + ((rows - own) ** 2).sum(axis=0) + shift**2 * (count * len(rows) / total)
            mean = mean + shift * (len(rows) / total)
            count = total
        if not count:
            msg = "a language needs at least one vector, got none"
            raise InputError(msg)
        return cls(count, mean, squares / count)


@dataclass(frozen=True, eq=False)
class LanguageMeans(FrozenArrays):
    """Moments by language, and how they are applied."""

    FORMAT: ClassVar[str] = "nlgauge-language-norm/1"
    KIND: ClassVar[str] = "file of language means"
    FIX: ClassVar[str] = "make one with LanguageMeans.fit(...).save(path)"

    moments: Mapping[str, LanguageMoments]
    mode: str = "centre"
    weights: str = ""
    """Digest of the model's weights, with the precision unless it is fp32."""
    layer: int = -1
    note: str = ""

    def __post_init__(self) -> None:
        if self.mode not in NORM_MODES:
            msg = f"mode must be one of {', '.join(NORM_MODES)}, got {self.mode!r}"
            raise RecipeError(msg)

    @classmethod
    def fit(
        cls, vectors: Mapping[str, Iterable[ArrayLike]], *, mode: str = "centre", weights: str = "", layer: int = -1
    ) -> LanguageMeans:
        """Fit on each language's matrices of vectors (one per text, or any other portions)."""
        moments = {language: LanguageMoments.of(portions) for language, portions in sorted(vectors.items())}
        return cls(moments, mode, weights, layer)

    def apply(self, vectors: ArrayLike, language: str) -> NDArray[np.float32]:
        """Remove the moments of a language from its vectors (n, width)."""
        if language not in self.moments:
            msg = f"no mean was fitted for language {language!r}; languages are: {', '.join(self.moments)}"
            raise InputError(msg)
        moments = self.moments[language]
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(moments.mean):
            msg = f"the means are for vectors of width {len(moments.mean)}, got an array of shape {rows.shape}"
            raise InputError(msg)
        rows = rows - moments.mean
        if self.mode == "standardise":
            rows = rows / np.sqrt(moments.variance + _EPSILON)
        return rows.astype(np.float32)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers, the mode and their origin."""
        moments = (
            (f"{language} {own.count} {len(own.mean)}", np.stack([own.mean, own.variance]))
            for language, own in sorted(self.moments.items())
        )
        return arrays_digest((self.FORMAT, self.mode, self.weights, self.layer), moments, form="<f8")

    def check_model(self, weights: str, *, layer: int) -> None:
        """Raise InputError for vectors of another model or layer."""
        if self.weights and (self.weights, self.layer) != (weights, layer):
            msg = (
                f"the language means were fitted on layer {self.layer} of weights "
                f"{format_vectors_digest(self.weights)}, but the vectors are of layer {layer} of "
                f"{format_vectors_digest(weights)}; fit them again with the model you score with"
            )
            raise InputError(msg)

    def header(self) -> dict[str, Any]:
        """The mode, the origin, and the number of vectors of each language."""
        return {
            "mode": self.mode,
            "weights": self.weights,
            "layer": self.layer,
            "note": self.note,
            "languages": {language: moments.count for language, moments in self.moments.items()},
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Mean and variance of each language."""
        return {f"moments{i}": np.stack([m.mean, m.variance]) for i, m in enumerate(self.moments.values())}

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> LanguageMeans:
        """Create the means from a file's content."""
        moments = {
            language: LanguageMoments(int(count), *arrays[f"moments{i}"].astype(np.float64))
            for i, (language, count) in enumerate(header["languages"].items())
        }
        return cls(moments, str(header["mode"]), str(header["weights"]), int(header["layer"]), str(header["note"]))


#: Maps from one language's vectors to another's, each with its own file format.
FittedTransform: TypeAlias = Remapping | FlowMap | TanhNetwork
Transform: TypeAlias = FittedTransform | LanguageMeans | FixedNorm


@dataclass(frozen=True, eq=False)
class Transforms:
    """Transforms in order, with the language of each side (empty if not given)."""

    transforms: tuple[Transform, ...]
    languages: Mapping[Side, str]

    @property
    def batch(self) -> int:
        """Number of consecutive texts that are transformed together."""
        return max((step.batch for step in self.transforms if isinstance(step, FixedNorm)), default=1)

    @property
    def label(self) -> str:
        """The names in signatures: `clp[ab12cd34ef56]`, or for means `centre[ab12cd34ef56,de>en]` with languages."""
        return "+".join(self._format_name(transform) for transform in self.transforms)

    def _format_name(self, transform: Transform) -> str:
        digest = short_digest(transform.digest)
        if isinstance(transform, FixedNorm):
            return transform.label
        if isinstance(transform, FittedTransform):
            return f"{transform.origin.method or 'map'}[{digest}]"
        return f"{transform.mode}[{digest},{'>'.join(self.languages.values())}]"

    @cached_property
    def digest(self) -> str:
        """A digest of everything that the vectors depend on, except the texts."""
        named = [transform.digest for transform in self.transforms]
        return text_digest(" ".join([*named, *(f"{side}={code}" for side, code in self.languages.items())]))

    def check(self, weights: str, *, layers: Sequence[int], width: int) -> None:
        """Raise an error for vectors on which a transform was not fitted, before encoding."""
        for transform in self.transforms:
            if isinstance(transform, FittedTransform):
                self._check_languages(transform)
            for layer in layers:
                if isinstance(transform, FittedTransform):
                    transform.check_model(weights, layer=layer, width=width)
                elif isinstance(transform, LanguageMeans):
                    transform.check_model(weights, layer=layer)
            if isinstance(transform, LanguageMeans):
                for side, language in self.languages.items():
                    if language not in transform.moments:
                        option = "src_lang" if side == "source" else "lang"
                        msg = (
                            f"the means are for {', '.join(transform.moments)}, but the language of the {side} is "
                            f"{language or 'not given'!r}; set it with {option}="
                        )
                        raise RecipeError(msg)

    def _check_languages(self, transform: FittedTransform) -> None:
        """Raise RecipeError if a re-mapping was fitted for another source language; unknown ones are accepted."""
        fitted, language = transform.origin.source, self.languages.get("source", "")
        if fitted and language and language != fitted:
            msg = (
                f"the re-mapping was fitted for source language {fitted!r}, but the sources are in {language!r}; "
                "fit another with 'nlgauge align fit'"
            )
            raise RecipeError(msg)

    def apply(self, text: EncodedText, side: Side) -> EncodedText:
        """Transform a text's vectors, once for all recipes with the same transforms."""
        return text.derived(("transforms", self.digest, side), lambda: self.apply_together([text], side)[0])

    def apply_together(self, texts: Sequence[EncodedText], side: Side) -> list[EncodedText]:
        """Transform the texts of a batch, which `position-norm` normalises together."""
        layers = [dict(text.layers) for text in texts]
        nonempty = [i for i, text in enumerate(texts) if not text.tokens.empty]
        for layer in layers[0] if nonempty else ():
            rows: list[NDArray[np.float32]] = [layers[i][layer] for i in nonempty]
            for transform in self.transforms:
                if isinstance(transform, FixedNorm):
                    rows = transform.apply_together(rows)
                else:
                    rows = [self._apply(transform, row, side) for row in rows]
            for i, row in zip(nonempty, rows, strict=True):
                layers[i][layer] = row
        return [
            EncodedText(text.tokens, transformed, text_features=text.text_features)
            for text, transformed in zip(texts, layers, strict=True)
        ]

    def apply_in_batches(self, texts: Sequence[EncodedText], side: Side) -> list[EncodedText]:
        """Transform texts in their order, as many together as the transforms need."""
        starts = range(0, len(texts), self.batch)
        return [text for start in starts for text in self.apply_together(texts[start : start + self.batch], side)]

    def move(self, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        """Transform vectors that are not tokens, such as sentence vectors."""
        for transform in self.transforms:
            rows = self._apply(transform, rows, side)
        return rows

    def _apply(self, transform: Transform, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        if isinstance(transform, FixedNorm):
            return transform.apply(rows)
        if isinstance(transform, FittedTransform):
            return transform.apply(rows, side=side)
        return transform.apply(rows, self.languages[side])


def group_of(choice: str) -> int:
    """Number of consecutive texts that a recipe's transforms process together."""
    norms = filter(None, map(FixedNorm.parse, choice.split("+")))
    batches = sorted({norm.batch for norm in norms} - {1})
    if len(batches) > 1:
        msg = f"{choice!r} has batches of {' and '.join(map(str, batches))} texts; give all steps one batch size"
        raise RecipeError(msg)
    return batches[0] if batches else 1


def load_transforms(choice: str, *, source: str | None, target: str) -> Transforms | None:
    """Load a recipe's transforms (None for `none`), with the languages of the sides (None: no source)."""
    if choice == "none":
        return None
    transforms = tuple(FixedNorm.parse(name) or _read(name) for name in choice.split("+"))
    sides: dict[Side, str] = {} if source is None else {"source": source}
    return Transforms(transforms, sides | {"target": target})


def load_map(path: Path) -> FittedTransform:
    """Load a map of any kind that `nlgauge align fit` wrote."""
    kinds: dict[str, type[FittedTransform]] = {kind.FORMAT: kind for kind in (Remapping, FlowMap, TanhNetwork)}
    return kinds.get(read_format(path), Remapping).load(path)


def _read(name: str) -> FittedTransform | LanguageMeans:
    path = Path(name)
    if path.suffix.upper() in {".BAM", ".GBDD"}:
        return load_published([path])
    if not path.exists():
        made = "a file made by 'nlgauge align fit' or 'nlgauge build means'"
        refuse_word("transforms", name, ("none", *FIXED_NORMS), file=made)
        msg = f"transform {name!r} does not exist: expected {', '.join(FIXED_NORMS)}, or {made}"
        raise InputError(msg)
    for kind in (Remapping, LanguageMeans, FlowMap, TanhNetwork):
        if read_format(path) == kind.FORMAT:
            return kind.load(path)
    msg = (
        f"{path.name!r} is not a transform: expected {', '.join(FIXED_NORMS)}, or a file made by 'nlgauge align fit' "
        "or 'nlgauge build means'"
    )
    raise FileFormatError(msg)
