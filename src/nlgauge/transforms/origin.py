"""Where a map of vectors comes from, and whether it fits the vectors at hand."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.precision import shown_vectors
from nlgauge.errors import InputError, RecipeError

__all__ = ["Origin", "Side", "check_fitted", "side_rows"]

Side = Literal["source", "target"]
Form = TypeVar("Form", np.float32, np.float64)


class Origin(NamedTuple):
    """Where a re-mapping comes from; it belongs to one layer of one model."""

    method: str = ""
    source: str = ""
    """Language that is mapped."""
    target: str = ""
    """Language that it is mapped to."""
    model: str = ""
    weights: str = ""
    """Digest of the model's weights, with the precision unless it is fp32; empty where nobody knows (published)."""
    layer: int = -1
    pairs: int = 0
    note: str = ""
    target_model: str = ""
    """Model of the target's vectors, where it is another one."""
    target_weights: str = ""
    """Digest of its weights; empty where both sides are of one model."""
    target_layer: int = -1

    @property
    def named(self) -> tuple[object, ...]:
        """The vectors that a digest of the map names."""
        target = (self.target_weights, self.target_layer) if self.target_weights else ()
        return (self.weights, self.layer, *target)


def side_rows(vectors: ArrayLike, side: Side, *, width: int, what: str, form: type[Form]) -> NDArray[Form]:
    """A side's vectors as a matrix of that width; messages call the map `what`."""
    if side not in {"source", "target"}:
        msg = f"side must be 'source' or 'target', got {side!r}"
        raise RecipeError(msg)
    rows = np.asarray(vectors, dtype=form)
    if rows.ndim != 2 or rows.shape[1] != width:
        msg = f"the {what} is for vectors of width {width}, got an array of shape {rows.shape}"
        raise InputError(msg)
    return rows


def check_fitted(made: Origin, own_width: int, *, weights: str, layer: int, width: int) -> None:
    """Refuse vectors of another model, layer or width than a map was fitted on."""
    if made.target_weights:
        there = repr(made.target_model) if made.target_model != made.model else f"its layer {made.target_layer}"
        msg = (
            f"the re-mapping leads from vectors of model {made.model!r} to those of {there}, and a metric takes both "
            "sides from one layer of one model; apply it from Python, or fit one within a layer"
        )
        raise InputError(msg)
    if made.weights and (made.weights, made.layer) != (weights, layer):
        msg = (
            f"the re-mapping was fitted on {_layer_name(made.layer)} of model {made.model!r} "
            f"({shown_vectors(made.weights)}), but the vectors are of layer {layer} of {shown_vectors(weights)}; "
            "fit it again with 'nlgauge align fit'"
        )
        raise InputError(msg)
    if width != own_width:
        msg = f"the re-mapping is for vectors of width {own_width}, but the model's have {width}"
        raise InputError(msg)


def _layer_name(layer: int) -> str:
    return "sentence vectors" if layer < 0 else f"layer {layer}"
