"""Linear re-mapping of one language's vectors to another's: CLP, UMD and both (XMoverScore, section 3.3).

Rows are vectors; row i of X (source) and of Z (target) are translations of each other.

    clp       e -> e W,  W orthogonal with least |X W - Z|:  U S V' = SVD(Z' X),  W = V U'   (D8.11: shapes put right)
    centred   e -> (e - mean X) W + mean Z,  W the same between the centred rows
    lsq       e -> e W,  W = argmin |X W - Z| without a constraint
    rcsls     e -> e W,  W by the relaxed criterion of CSLS, see `rcsls.py`
    umd       e -> e - (e b) b,  b the first right singular vector of X - Z                  (D8.8: right, not left)

Two methods are applied in the order of their names (D8.16 leaves it open): `clp-umd` rotates first and then removes
the remaining mismatch; `umd-clp` removes the direction first and then rotates.

The paper removes b from both languages, its code from the source only (D8.7): `umd_sides`. The paper also takes off
cos(e, b) b instead of the projection (e b) b, which is the same for unit vectors only: `umd_form`.

Every map between two spaces, here and in `network_maps.py`, has an `Origin`: the vectors on which it was fitted.
Other vectors are refused.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.base import format_vectors_digest
from nlgauge.errors import DataWarning, FileFormatError, InputError, RecipeError
from nlgauge.io.storage import FrozenArrays, arrays_digest
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.rcsls import relaxed_csls

Side = Literal["source", "target"]
Form = TypeVar("Form", np.float32, np.float64)

METHODS = ("clp", "umd", "clp-umd", "umd-clp", "lsq", "centred", "rcsls")

_KINDS = ("linear", "remove", "remove-cosine", "shift")

#: Step of UMD by its form.
UMD_FORMS = {"projection": "remove", "cosine": "remove-cosine"}

#: How far the published matrices are from orthogonal and their directions from unit length is at most 2.2e-6.
_PUBLISHED_SLACK = 1e-4


class Origin(NamedTuple):
    """The origin of a re-mapping, which belongs to one layer of one model."""

    method: str = ""
    source: str = ""
    """Language that is mapped."""
    target: str = ""
    """Language that it is mapped to."""
    model: str = ""
    weights: str = ""
    """Digest of the model's weights, with the precision unless it is fp32; empty if unknown (published)."""
    layer: int = -1
    pairs: int = 0
    note: str = ""
    target_model: str = ""
    """Model of the target's vectors, if it is another one."""
    target_weights: str = ""
    """Digest of its weights; empty if both sides have the same model."""
    target_layer: int = -1

    @property
    def named(self) -> tuple[object, ...]:
        """Identity of the vectors, for the digest of the map."""
        target = (self.target_weights, self.target_layer) if self.target_weights else ()
        return (self.weights, self.layer, *target)


def side_rows(vectors: ArrayLike, side: Side, *, width: int, what: str, form: type[Form]) -> NDArray[Form]:
    """Convert a side's vectors to a matrix of a width; `what` is the map's name in messages."""
    if side not in {"source", "target"}:
        msg = f"side must be 'source' or 'target', got {side!r}"
        raise RecipeError(msg)
    rows = np.asarray(vectors, dtype=form)
    if rows.ndim != 2 or rows.shape[1] != width:
        msg = f"the {what} is for vectors of width {width}, got an array of shape {rows.shape}"
        raise InputError(msg)
    return rows


class SpaceMap(FrozenArrays):
    """A frozen map from the source's space to the target's, named by a digest."""

    origin: Origin

    @property
    def width(self) -> int:
        """Width of the source's vectors."""
        return self.width_of("source")

    @abstractmethod
    def width_of(self, side: Side) -> int:
        """Width of a side's vectors before they are mapped; the target's may be another."""

    def check_model(self, weights: str, *, layer: int, width: int) -> None:
        """Raise InputError for vectors of another model, layer or width."""
        fitted = self.origin
        if fitted.target_weights:
            same_model = fitted.target_model == fitted.model
            target = f"its layer {fitted.target_layer}" if same_model else repr(fitted.target_model)
            msg = (
                f"the re-mapping maps vectors of model {fitted.model!r} to {target}, but a metric needs one layer of "
                "one model for both sides; apply it from Python, or fit one within a layer"
            )
            raise InputError(msg)
        if fitted.weights and (fitted.weights, fitted.layer) != (weights, layer):
            vectors = "sentence vectors" if fitted.layer < 0 else f"layer {fitted.layer}"
            msg = (
                f"the re-mapping was fitted on {vectors} of model {fitted.model!r} "
                f"({format_vectors_digest(fitted.weights)}), but the vectors are of layer {layer} of "
                f"{format_vectors_digest(weights)}; "
                "fit it again with 'nlgauge align fit'"
            )
            raise InputError(msg)
        if width != self.width:
            msg = f"the re-mapping is for vectors of width {self.width}, but the model's have {width}"
            raise InputError(msg)


def row_pairs(source: ArrayLike, target: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Convert both sides to float64 matrices of one shape; raises InputError if that is not possible."""
    x, z = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    if x.ndim != 2 or x.shape != z.shape or x.size == 0:
        msg = f"expected two matrices of one shape with a pair of words per row, got {x.shape} and {z.shape}"
        raise InputError(msg)
    check_finite(x, "source")
    check_finite(z, "target")
    return x, z


def check_finite(rows: NDArray[Any], name: str) -> None:
    """Raise InputError for rows with numbers that are not finite."""
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        msg = f"row {bad[0]} of the {name} vectors is not finite ({bad.size} such rows)"
        raise InputError(msg)


def procrustes(source: ArrayLike, target: ArrayLike) -> NDArray[np.float64]:
    """Orthogonal W with the least |X W - Z| (Schönemann 1966; D8.11)."""
    x, z = row_pairs(source, target)
    if len(x) < x.shape[1]:
        msg = (
            f"{len(x)} pairs do not determine a rotation of {x.shape[1]} dimensions, so some directions are rotated "
            f"arbitrarily; use at least {x.shape[1]} pairs"
        )
        warnings.warn(msg, DataWarning, stacklevel=2)
    u, _, vt = np.linalg.svd(z.T @ x)
    rotation: NDArray[np.float64] = vt.T @ u.T
    return rotation


def least_squares(source: ArrayLike, target: ArrayLike) -> NDArray[np.float64]:
    """W with the least |X W - Z|, without a constraint; of several solutions, the smallest."""
    x, z = row_pairs(source, target)
    return np.asarray(np.linalg.lstsq(x, z, rcond=None)[0], dtype=np.float64)


def mismatch_directions(source: ArrayLike, target: ArrayLike, *, count: int = 1) -> NDArray[np.float64]:
    """The first right singular vectors of X - Z as rows: the directions of largest mismatch (D8.8).

    Signs are chosen so that the largest entry is positive, and equal input gives equal bytes.
    """
    x, z = row_pairs(source, target)
    most = min(x.shape)
    if not 1 <= count <= most:
        msg = f"directions must be 1 to {most} for {len(x)} pairs of width {x.shape[1]}, got {count!r}"
        raise RecipeError(msg)
    # From the d x d matrix of products, because an SVD of half a million pairs would be large.
    difference = x - z
    values, vectors = np.linalg.eigh(difference.T @ difference)
    rows: NDArray[np.float64] = vectors[:, np.argsort(-values, kind="stable")[:count]].T
    return _fix_signs(rows)


def principal_directions(rows: ArrayLike, *, count: int) -> NDArray[np.float64]:
    """The first `count` principal directions of rows, as orthonormal columns (PCA)."""
    x = np.asarray(rows, dtype=np.float64)
    if not 1 <= count <= min(x.shape):
        msg = f"cannot find {count} principal directions of {x.shape[0]} rows of width {x.shape[1]}; give more rows"
        raise InputError(msg)
    centred = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    return _fix_signs(vectors[:, np.argsort(-values, kind="stable")[:count]].T).T


def _fix_signs(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Flip rows to make their largest entries positive."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    signed: NDArray[np.float64] = rows * np.sign(largest)
    return signed


@dataclass(frozen=True, eq=False)
class Operation:
    """One step: a product with a matrix (d, e), a shift, or the removal of unit directions (k, d).

    `remove-cosine` removes a direction times its cosine with the row.
    """

    kind: str
    array: NDArray[np.float64]
    both: bool = False
    """Whether it is applied to the target's vectors too."""
    target_only: bool = False
    """Whether it is applied to the target's vectors only, to reduce them to the width of the source."""

    def moves(self, side: Side) -> bool:
        """Whether it is applied to vectors of a side."""
        return self.both or self.target_only == (side == "target")

    def apply(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Apply the step to rows."""
        if self.kind == "shift":
            return rows + self.array
        if self.kind == "linear":
            return rows @ self.array
        return _without(rows, self.array, by_cosine=self.kind == "remove-cosine")


@dataclass(frozen=True, eq=False)
class Remapping(SpaceMap):
    """A sequence of operations, frozen and named by a digest."""

    FORMAT: ClassVar[str] = "nlgauge-remap/1"
    KIND: ClassVar[str] = "re-mapping"
    FIX: ClassVar[str] = "make one with 'nlgauge align fit'"

    operations: tuple[Operation, ...]
    origin: Origin = field(default_factory=Origin)

    def width_of(self, side: Side) -> int:
        """Width of a side's vectors before they are mapped; the target's may be another."""
        for step in self.operations:
            if step.moves(side):
                return int(step.array.shape[0 if step.kind == "linear" else 1])
        return next(int(step.array.shape[1]) for step in reversed(self.operations) if step.moves("source"))

    def apply(self, vectors: ArrayLike, *, side: Side = "source") -> NDArray[np.float32]:
        """Re-map vectors (n, width) of one side, in float64."""
        rows = side_rows(vectors, side, width=self.width_of(side), what="re-mapping", form=np.float64)
        for step in self.operations:
            if step.moves(side):
                rows = step.apply(rows)
        return rows.astype(np.float32)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and their origin, without notes."""
        steps = (
            (f"{step.kind} {step.both} {step.array.shape}{' target' if step.target_only else ''}", step.array)
            for step in self.operations
        )
        return arrays_digest((self.FORMAT, *self.origin.named), steps, form="<f8")

    def header(self) -> dict[str, Any]:
        steps = [
            {"kind": step.kind, "both": step.both} | ({"target_only": True} if step.target_only else {})
            for step in self.operations
        ]
        return {"steps": steps, "origin": self.origin._asdict()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {f"step{number}": step.array for number, step in enumerate(self.operations)}

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Remapping:
        steps = tuple(_read_step(entry, arrays[f"step{number}"]) for number, entry in enumerate(header["steps"]))
        if not steps:
            msg = "the file has no steps"
            raise ValueError(msg)
        return cls(steps, Origin(**header["origin"]))


def _without(rows: NDArray[np.float64], directions: NDArray[np.float64], *, by_cosine: bool) -> NDArray[np.float64]:
    """Remove the components of rows along orthonormal directions: e - (e B') B, with cosines for e B' if asked."""
    parts = rows @ directions.T
    if by_cosine:
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        parts /= np.where(length > 0, length, 1.0)
    left: NDArray[np.float64] = rows - parts @ directions
    return left


def _read_step(entry: Mapping[str, Any], array: NDArray[Any]) -> Operation:
    if entry["kind"] not in _KINDS or array.ndim != 2 or not np.isfinite(array).all():
        msg = f"a step {entry['kind']!r} of shape {array.shape}"
        raise ValueError(msg)
    only = entry.get("target_only") is True
    return Operation(entry["kind"], np.asarray(array, dtype=np.float64), both=bool(entry["both"]), target_only=only)


def fit_remapping(
    source: ArrayLike,
    target: ArrayLike,
    *,
    method: str = "clp",
    directions: int = 1,
    umd_sides: Literal["both", "source"] = "both",
    umd_form: Literal["projection", "cosine"] = "projection",
    origin: Origin | None = None,
) -> Remapping:
    """Fit the method to paired rows; `directions` is how many UMD removes (published: 1), `umd_form` how.

    >>> turned = fit_remapping([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [-1.0, 0.0]], method="clp")
    >>> turned.apply([[1.0, 0.0]]).tolist()
    [[0.0, 1.0]]
    """
    if method not in METHODS:
        msg = f"method must be one of {', '.join(METHODS)}, got {method!r}"
        raise RecipeError(msg)
    if umd_sides not in {"both", "source"}:
        msg = f"umd_sides must be 'both' or 'source', got {umd_sides!r}"
        raise RecipeError(msg)
    if umd_form not in UMD_FORMS:
        msg = f"umd_form must be 'projection' or 'cosine', got {umd_form!r}"
        raise RecipeError(msg)
    x, z = row_pairs(source, target)
    count = len(x)
    steps: list[Operation] = []
    if method == "centred":
        from_mean, to_mean = x.mean(axis=0, keepdims=True), z.mean(axis=0, keepdims=True)
        turn = Operation("linear", procrustes(x - from_mean, z - to_mean))
        steps = [Operation("shift", -from_mean), turn, Operation("shift", to_mean)]
    for part in method.split("-") if not steps else ():
        if part == "umd":
            kind = UMD_FORMS[umd_form]
            step = Operation(kind, mismatch_directions(x, z, count=directions), both=umd_sides == "both")
        elif part == "rcsls":
            step = Operation("linear", relaxed_csls(x, z, start=procrustes(*map(unit_rows, (x, z)))))
        else:
            step = Operation("linear", procrustes(x, z) if part == "clp" else least_squares(x, z))
        # The next step is fitted on the output of this one.
        x, z = step.apply(x), step.apply(z) if step.both else z
        steps.append(step)
    base = origin or Origin()
    return Remapping(tuple(steps), base._replace(method=method, pairs=count))


def load_published(paths: Sequence[Path]) -> Remapping:
    """Load the arrays that XMoverScore publishes, in the order of their application.

    `.BAM` is an orthogonal matrix, `.GBDD` one unit direction; both are `.npy` files under other names. The released
    code uses only the first entry of the direction (D8.9); here the whole direction is removed from the source.
    """
    steps = []
    for path in paths:
        array = _published_array(path)
        steps.append(Operation("linear" if path.suffix.upper() == ".BAM" else "remove", array))
    if len({step.array.shape[-1] for step in steps}) != 1:
        msg = f"expected one or more files of the same width, got {', '.join(path.name for path in paths) or 'none'}"
        raise InputError(msg)
    names = "-".join("clp" if step.kind == "linear" else "umd" for step in steps)
    return Remapping(tuple(steps), Origin(method=names, note=", ".join(path.name for path in paths)))


def _published_array(path: Path) -> NDArray[np.float64]:
    kind = path.suffix.upper()
    if kind not in {".BAM", ".GBDD"}:
        msg = f"{path.name!r} is not a published re-mapping: expected a file whose name ends in .BAM or .GBDD"
        raise FileFormatError(msg)
    try:
        array = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
    except (OSError, ValueError, EOFError) as error:
        msg = f"cannot read {path.name!r} as an .npy array: {error}"
        raise FileFormatError(msg) from error
    rows = array if kind == ".BAM" else np.atleast_2d(array)
    square = kind == ".GBDD" or (rows.ndim == 2 and rows.shape[0] == rows.shape[1])
    if rows.ndim != 2 or not square or not np.allclose(rows @ rows.T, np.eye(len(rows)), atol=_PUBLISHED_SLACK):
        expected = "an orthogonal matrix" if kind == ".BAM" else "a direction of unit length"
        msg = f"{path.name!r} contains an array of shape {array.shape}; expected {expected}"
        raise FileFormatError(msg)
    return rows
