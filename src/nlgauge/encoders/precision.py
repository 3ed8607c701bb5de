"""Precisions that engines compute in, how a signature names them, and what keeps vectors of two of them apart.

The field `engine` of a signature says library, version and precision, and where it matters the device:

    onnxruntime-1.31.1-fp32     torch-2.13.0-bf16-cuda     onnxruntime-1.31.1-int8@3f0a51c2d9e8.onnx.avx512

What follows `int8@` is a digest of the quantised model: there are many of one model, and their vectors differ. So do
those of another engine, or of a processor with other instructions, which follow the digest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nlgauge.errors import RecipeError
from nlgauge.files.digests import short_digest

if TYPE_CHECKING:
    from nlgauge.encoders.base import Encoder

__all__ = [
    "DEFAULT_PRECISION",
    "INT8",
    "PRECISIONS",
    "check_precision",
    "other_precision",
    "precision_name",
    "shown_vectors",
    "signed_precision",
    "vectors_digest",
]

#: The default first; no engine needs to have the others.
PRECISIONS = ("fp32", "fp16", "bf16", "int8")

DEFAULT_PRECISION = PRECISIONS[0]

#: Made by a plan, not by the engine alone (`engines/quantised`).
INT8 = "int8"

_SIGNED = re.compile(rf"-((?:{'|'.join(PRECISIONS)})(?:@[^-]+)?)(?=-|$)")
_VECTORS = re.compile(rf"(.*)-((?:{'|'.join(PRECISIONS)})(?:@[^-]+)?)", re.DOTALL)


def check_precision(name: str) -> str:
    """The precision, if there is one of that name."""
    if not isinstance(name, str) or name not in PRECISIONS:
        msg = f"precision must be one of {', '.join(PRECISIONS)}, got {name!r}"
        raise RecipeError(msg)
    return name


def signed_precision(engine: str) -> str:
    """The precision that the engine of a signature names; one that names none (`static`) computes in float32.

    >>> signed_precision("torch-2.13.0-bf16-cuda"), signed_precision("onnxruntime-1.31.1-int8@3f0a51c2d9e8")
    ('bf16', 'int8@3f0a51c2d9e8')
    """
    found = _SIGNED.search(engine)
    return DEFAULT_PRECISION if found is None else found[1]


def precision_name(engine: str) -> str:
    """The same as it is asked for, without the digest of a quantised model."""
    return signed_precision(engine).partition("@")[0]


def vectors_digest(encoder: Encoder) -> str:
    """What files that were made of vectors name the vectors by: the model, and the precision unless it is fp32."""
    precision = signed_precision(encoder.engine)
    return encoder.digest if precision == DEFAULT_PRECISION else f"{encoder.digest}-{precision}"


def shown_vectors(digest: str) -> str:
    """A `vectors_digest` for people: the first digits of the model, and the precision unless it is fp32."""
    model, precision = _parts(digest)
    return short_digest(model) + ("" if precision == DEFAULT_PRECISION else f" in {precision}")


def other_precision(made: str, asked: str) -> tuple[str, str] | None:
    """The precisions of two `vectors_digest`, where they are of one model and differ in nothing else."""
    (model, before), (same, now) = _parts(made), _parts(asked)
    return (before, now) if model == same and before != now else None


def _parts(digest: str) -> tuple[str, str]:
    found = _VECTORS.fullmatch(digest)
    return (digest, DEFAULT_PRECISION) if found is None else (found[1], found[2])
