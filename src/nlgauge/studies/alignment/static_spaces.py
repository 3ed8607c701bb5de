"""Two files of static word vectors as one model, so that a metric can compare texts of two languages with them.

Metrics have one model for both sides. The joined file has every word of either file, with two halves: its mapped
vector among those of the source language and its vector among those of the target language. A word of one language
has zeros in the other half, so that it resembles no word there. A map written with the file selects the half of each
side. MOVER-1 + RCSLS of XMoverScore's Table 1 is such a model.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from nlgauge.encoders.engines.static import StaticEncoder, read_vectors
from nlgauge.errors import InputError
from nlgauge.io.storage import file_digest, write_atomic
from nlgauge.vectors.remap import Operation, Remapping


class JoinedSpace(NamedTuple):
    """The files of a joined model, and what they contain."""

    vectors: Path
    map: Path
    words: int
    shared: int
    """Words that both files have."""
    remapping: Remapping


def join_spaces(source: str | Path, target: str | Path, fitted: Remapping, output: str | Path) -> JoinedSpace:
    """Write `OUTPUT.vec` and `OUTPUT.npz` from the two files between which a map was fitted."""
    files = [Path(source), Path(target)]
    _check_files(files, fitted)
    (left, x), (right, z) = map(read_vectors, files)
    halves = fitted.apply(x, side="source"), fitted.apply(z, side="target")
    width = halves[0].shape[1]
    words = {word: number for number, word in enumerate(dict.fromkeys([*left, *right]))}
    rows = np.zeros((len(words), 2 * width), dtype=np.float32)
    for half, own, part in zip(halves, (left, right), (slice(0, width), slice(width, None)), strict=True):
        rows[[words[word] for word in own], part] = half
    stem = Path(output)
    vectors, map_ = (stem.with_name(f"{stem.name}{extension}") for extension in (".vec", ".npz"))
    lines = [f"{len(words)} {2 * width}"]
    lines += [" ".join([word, *(f"{value:.6g}" for value in row)]) for word, row in zip(words, rows, strict=True)]
    write_atomic(vectors, ("\n".join(lines) + "\n").encode())
    identity, none = np.eye(width), np.zeros((width, width))
    steps = (
        Operation("linear", np.vstack([identity, none])),
        Operation("linear", np.vstack([none, identity]), target_only=True),
    )
    origin = fitted.origin._replace(
        model=vectors.name,
        weights=file_digest(vectors),
        layer=0,
        target_model="",
        target_weights="",
        target_layer=-1,
    )
    remapping = Remapping(steps, origin)
    remapping.save(map_)
    return JoinedSpace(vectors, map_, len(words), len(set(left) & set(right)), remapping)


def _check_files(files: list[Path], fitted: Remapping) -> None:
    """Raise InputError if the map was not fitted between these files."""
    origin = fitted.origin
    for file, weights, side in zip(files, (origin.weights, origin.target_weights), ("source", "target"), strict=True):
        if not weights:
            msg = "the map was fitted within one model, which needs no joining; use it with transforms="
            raise InputError(msg)
        if StaticEncoder(file).digest != weights:
            model = origin.model if side == "source" else origin.target_model
            msg = f"the map was fitted on {model!r} for the {side}, not on {file.name!r}; give the file that was used"
            raise InputError(msg)
