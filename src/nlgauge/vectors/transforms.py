"""Transforms of token vectors before they are compared, so that texts of two languages meet.

A recipe joins transforms by `+`; they work in this order:

    FILE            made by `nlgauge align fit` (CLP, UMD, flows) or `nlgauge build means` (centring, standardising);
                    or an array that XMoverScore publishes (.BAM, .GBDD)
    position-norm   the published normalisation, see below

A re-mapping moves the source's vectors to the target (what it removes from both sides, from both); a reference and a
hypothesis are the target. Means belong to a language, so they need the language of each side.

`LanguageMeans` makes vectors language-agnostic: they lose what is common to a language, its mean and its variance
(Zhao et al. 2021). The means are fitted once per language on a corpus and frozen, so a text's vectors do not depend
on its neighbours; padding never enters:

    centre        v - mean(language)
    standardise   (v - mean(language)) / sqrt(var(language) + 1e-9)

`position-norm` is that normalisation as published (Eq. 4, D9.4): mean and variance of the vectors at each position of
a token, over eight texts that follow each other. A text's vectors then depend on its neighbours and their order, a
batch of one is all zeros, and in the released code the zeros of padding count as vectors. It reproduces published
figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.base import EncodedText, shown_vectors
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.storage import FrozenArrays, arrays_digest, short_digest, stated_format, text_digest
from nlgauge.vectors.network_maps import FlowMap, TanhNetwork
from nlgauge.vectors.remap import Remapping, Side, load_published

#: What a recipe and its signature call it.
POSITION_NORM = "position-norm"

#: Texts that it looks at together, one after the other.
POSITION_BATCH = 8

NORM_MODES = ("centre", "standardise")

_EPSILON = 1e-9


class PositionNorm:
    """The transform of that name; nothing of it is fitted, so it needs no digest."""

    label = POSITION_NORM
    digest = POSITION_NORM


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
        """From matrices of vectors, one after the other, so that a corpus need not fit into memory.

        Portions are joined by the rule of Chan et al. (1979), which does not lose digits where the mean is large.
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
    """Moments by language, and what is done with them."""

    FORMAT: ClassVar[str] = "nlgauge-language-norm/1"
    KIND: ClassVar[str] = "file of language means"
    FIX: ClassVar[str] = "make one with LanguageMeans.fit(...).save(path)"

    moments: Mapping[str, LanguageMoments]
    mode: str = "centre"
    weights: str = ""
    """Digest of the weights of the model whose vectors these are, with the precision unless it is fp32."""
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
        """From each language's matrices of vectors (one per text, or any other portions)."""
        moments = {language: LanguageMoments.of(portions) for language, portions in sorted(vectors.items())}
        return cls(moments, mode, weights, layer)

    def apply(self, vectors: ArrayLike, language: str) -> NDArray[np.float32]:
        """Vectors (n, width) of a language, without what is common to it."""
        if language not in self.moments:
            msg = f"no mean was fitted for language {language!r}; there are: {', '.join(self.moments)}"
            raise InputError(msg)
        found = self.moments[language]
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(found.mean):
            msg = f"the means are for vectors of width {len(found.mean)}, got an array of shape {rows.shape}"
            raise InputError(msg)
        rows = rows - found.mean
        if self.mode == "standardise":
            rows = rows / np.sqrt(found.variance + _EPSILON)
        return rows.astype(np.float32)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers, the mode and what they belong to."""
        moments = (
            (f"{language} {found.count} {len(found.mean)}", np.stack([found.mean, found.variance]))
            for language, found in sorted(self.moments.items())
        )
        return arrays_digest((self.FORMAT, self.mode, self.weights, self.layer), moments, form="<f8")

    def check_model(self, weights: str, *, layer: int) -> None:
        """Refuse vectors that the means do not belong to."""
        if self.weights and (self.weights, self.layer) != (weights, layer):
            msg = (
                f"the language means were fitted on layer {self.layer} of weights {shown_vectors(self.weights)}, but "
                f"the vectors are of layer {layer} of {shown_vectors(weights)}; "
                "fit them again with the model you score with"
            )
            raise InputError(msg)

    def header(self) -> dict[str, Any]:
        """The mode, what the means belong to, and how many vectors each is of."""
        return {
            "mode": self.mode,
            "weights": self.weights,
            "layer": self.layer,
            "note": self.note,
            "languages": {language: found.count for language, found in self.moments.items()},
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Mean and variance of each language."""
        return {f"moments{at}": np.stack([m.mean, m.variance]) for at, m in enumerate(self.moments.values())}

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> LanguageMeans:
        """The means of a file."""
        moments = {
            language: LanguageMoments(int(count), *arrays[f"moments{at}"].astype(np.float64))
            for at, (language, count) in enumerate(header["languages"].items())
        }
        return cls(moments, str(header["mode"]), str(header["weights"]), int(header["layer"]), str(header["note"]))


#: What leads from one language's vectors to another's, each in a file of its own format.
FittedTransform: TypeAlias = Remapping | FlowMap | TanhNetwork
Transform: TypeAlias = FittedTransform | LanguageMeans | PositionNorm


@dataclass(frozen=True, eq=False)
class Transforms:
    """Transforms in order, with the language of each side there is (empty where nobody said)."""

    transforms: tuple[Transform, ...]
    languages: Mapping[Side, str]

    @property
    def label(self) -> str:
        """How a signature names them: `clp[ab12cd34ef56]`, and with the languages whose means are meant
        `centre[ab12cd34ef56,de>en]`.
        """
        return "+".join(self._named(transform) for transform in self.transforms)

    def _named(self, transform: Transform) -> str:
        digest = short_digest(transform.digest)
        if isinstance(transform, PositionNorm):
            return transform.label
        if isinstance(transform, FittedTransform):
            return f"{transform.origin.method or 'map'}[{digest}]"
        return f"{transform.mode}[{digest},{'>'.join(self.languages.values())}]"

    @cached_property
    def digest(self) -> str:
        """Names all that the vectors depend on beside the texts."""
        named = [transform.digest for transform in self.transforms]
        return text_digest(" ".join([*named, *(f"{side}={code}" for side, code in self.languages.items())]))

    def check(self, weights: str, *, layers: Sequence[int], width: int) -> None:
        """Refuse vectors that a transform was not fitted on, before anything is encoded."""
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
                            f"the means are those of {', '.join(transform.moments)}, and the {side}'s language is "
                            f"{language or 'not given'!r}; name it: {option}="
                        )
                        raise RecipeError(msg)

    def _check_languages(self, transform: FittedTransform) -> None:
        """A re-mapping that names its languages does not move another one; where nobody named them, anything goes."""
        fitted, language = transform.origin.source, self.languages.get("source", "")
        if fitted and language and language != fitted:
            msg = (
                f"the re-mapping was fitted for sources of language {fitted!r}, and these are of {language!r}; "
                "fit another with 'nlgauge align fit'"
            )
            raise RecipeError(msg)

    def apply(self, text: EncodedText, side: Side) -> EncodedText:
        """The text with its vectors moved; made once for all recipes that do the same."""
        return text.derived(("transforms", self.digest, side), lambda: self.apply_together([text], side)[0])

    def apply_together(self, texts: Sequence[EncodedText], side: Side) -> list[EncodedText]:
        """The same for texts that the published normalisation looks at together."""
        layers = [dict(text.layers) for text in texts]
        full = [number for number, text in enumerate(texts) if not text.tokens.empty]
        for layer in layers[0] if full else ():
            rows: list[NDArray[np.float32]] = [layers[number][layer] for number in full]
            for transform in self.transforms:
                if isinstance(transform, PositionNorm):
                    rows = position_norm(rows)
                else:
                    rows = [self._apply(transform, row, side) for row in rows]
            for number, row in zip(full, rows, strict=True):
                layers[number][layer] = row
        return [
            EncodedText(text.tokens, moved, text_features=text.text_features)
            for text, moved in zip(texts, layers, strict=True)
        ]

    def move(self, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        """Vectors that stand for themselves, such as those of sentences."""
        for transform in self.transforms:
            if isinstance(transform, PositionNorm):
                msg = f"{POSITION_NORM} looks at positions of tokens in texts, which these vectors do not tell"
                raise RecipeError(msg)
            rows = self._apply(transform, rows, side)
        return rows

    def _apply(
        self, transform: FittedTransform | LanguageMeans, rows: NDArray[np.float32], side: Side
    ) -> NDArray[np.float32]:
        if isinstance(transform, FittedTransform):
            return transform.apply(rows, side=side)
        return transform.apply(rows, self.languages[side])


def group_of(choice: str) -> int:
    """Texts, one after the other, that the transforms of a recipe look at together."""
    return POSITION_BATCH if POSITION_NORM in choice.split("+") else 1


def load_transforms(choice: str, *, source: str | None, target: str) -> Transforms | None:
    """The transforms that a recipe names (none: None), with the languages of the sides (None: there is no source)."""
    if choice == "none":
        return None
    transforms = tuple(PositionNorm() if name == POSITION_NORM else _read(name) for name in choice.split("+"))
    sides: dict[Side, str] = {} if source is None else {"source": source}
    return Transforms(transforms, sides | {"target": target})


def load_map(path: Path) -> FittedTransform:
    """A map that `nlgauge align fit` wrote, of whichever kind."""
    kinds: dict[str, type[FittedTransform]] = {kind.FORMAT: kind for kind in (Remapping, FlowMap, TanhNetwork)}
    return kinds.get(stated_format(path), Remapping).load(path)


def _read(name: str) -> FittedTransform | LanguageMeans:
    path = Path(name)
    if path.suffix.upper() in {".BAM", ".GBDD"}:
        return load_published([path])
    for kind in (Remapping, LanguageMeans, FlowMap, TanhNetwork):
        if stated_format(path) == kind.FORMAT:
            return kind.load(path)
    msg = (
        f"{path.name!r} is not a transform: expected {POSITION_NORM}, or a file made by 'nlgauge align fit' or "
        "'nlgauge build means'"
    )
    raise FileFormatError(msg)
