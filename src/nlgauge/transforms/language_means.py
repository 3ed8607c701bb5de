"""Language-agnostic vectors: take off what is common to a language, its mean and its variance (Zhao et al. 2021).

`LanguageMeans` is fitted once per language on a corpus and frozen, so a text's vectors do not depend on its
neighbours; padding never enters:

    centre        v - mean(language)
    standardise   (v - mean(language)) / sqrt(var(language) + 1e-9)

The published scope, statistics of a batch at each position, is `position_norm`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.precision import shown_vectors
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.frozen import arrays_digest, read_arrays, write_arrays

__all__ = ["NORM_MODES", "LanguageMeans", "LanguageMoments"]

NORM_MODES = ("centre", "standardise")

_EPSILON = 1e-9


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
class LanguageMeans:
    """Moments by language, and what is done with them."""

    FORMAT: ClassVar[str] = "nlgauge-language-norm/1"

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

    def save(self, path: Path) -> None:
        """Write an .npz file; equal means give equal bytes."""
        header = {
            "format": self.FORMAT,
            "digest": self.digest,
            "mode": self.mode,
            "weights": self.weights,
            "layer": self.layer,
            "note": self.note,
            "languages": {language: found.count for language, found in self.moments.items()},
        }
        stacked = {f"moments{at}": np.stack([m.mean, m.variance]) for at, m in enumerate(self.moments.values())}
        write_arrays(path, header, stacked)

    @classmethod
    def load(cls, path: Path) -> LanguageMeans:
        """Read a file that `save` wrote, and check its digest."""
        fix = "make one with LanguageMeans.fit(...).save(path)"
        return read_arrays(path, form=cls.FORMAT, what="file of language means", fix=fix, make=cls._from_arrays)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> LanguageMeans:
        moments = {
            language: LanguageMoments(int(count), *arrays[f"moments{at}"].astype(np.float64))
            for at, (language, count) in enumerate(header["languages"].items())
        }
        return cls(moments, str(header["mode"]), str(header["weights"]), int(header["layer"]), str(header["note"]))
