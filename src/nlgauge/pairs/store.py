"""Layer vectors of texts that are needed again: each text is encoded once, whatever fits in memory.

What is needed later stays in memory up to a limit. Beyond it vectors go to a temporary file and come back from there,
bit for bit, so that memory does not grow with the number of texts.
"""

from __future__ import annotations

import tempfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import TracebackType
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders import EncodedText
from nlgauge.text import Tokens

__all__ = ["VectorStore"]

#: Bytes of layer vectors that stay in memory for later windows.
_KEPT_BYTES = 256 * 2**20

#: By layer, a row per token.
Vectors: TypeAlias = Mapping[int, NDArray[np.float32]]


class VectorStore:
    """Vectors of texts by window; `uses` says in how many windows a text is needed."""

    def __init__(
        self,
        encode: Callable[[list[str]], list[EncodedText]],
        tokens: Mapping[str, Tokens],
        uses: Mapping[str, int],
        *,
        keep: int | None = None,
    ) -> None:
        self._encode = encode
        self._tokens = tokens
        self._left = Counter(uses)
        self._keep = _KEPT_BYTES if keep is None else keep
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._size = 0
        self._features: dict[str, dict[Hashable, Any]] = {}
        self._file: IO[bytes] | None = None
        self._places: dict[str, tuple[int, tuple[int, ...], int]] = {}

    def __enter__(self) -> VectorStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def load(self, texts: Iterable[str]) -> dict[str, EncodedText]:
        """The texts of a window, encoded now or before; what recipes derive from them stays in the window."""
        wanted = list(dict.fromkeys(texts))
        new = [text for text in wanted if text not in self._kept and text not in self._places]
        found: dict[str, Vectors] = dict(zip(new, (one.layers for one in self._encode(new)), strict=True))
        for text in wanted:
            if text not in found:
                found[text] = self._kept[text] if text in self._kept else self._read(text)
        loaded = {text: self._text(text, found[text]) for text in wanted}
        for text in wanted:
            self._after_use(text, found[text])
        while self._size > self._keep:
            self._spill()
        return loaded

    def _text(self, text: str, vectors: Vectors) -> EncodedText:
        # Features are small, and what a second model found about a text is worth keeping.
        return EncodedText(self._tokens[text], vectors, text_features=self._features.setdefault(text, {}))

    def _after_use(self, text: str, vectors: Vectors) -> None:
        self._left[text] -= 1
        if text in self._kept:
            self._size -= _bytes(self._kept.pop(text))
        if self._left[text] > 0:
            # A copy, because the array is a part of the batch that it was encoded in.
            self._kept[text] = {layer: np.ascontiguousarray(array).copy() for layer, array in vectors.items()}
            self._size += _bytes(self._kept[text])
        else:
            self._places.pop(text, None)
            self._features.pop(text, None)

    def _spill(self) -> None:
        """Write what was used least recently, unless it is in the file already."""
        text, vectors = self._kept.popitem(last=False)
        self._size -= _bytes(vectors)
        if text in self._places:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="nlgauge-vectors-")  # noqa: SIM115 - closed by __exit__
        start = self._file.seek(0, 2)
        for array in vectors.values():
            self._file.write(array.tobytes())
        width = next((array.shape[1] for array in vectors.values()), 0)
        self._places[text] = (start, tuple(vectors), width)

    def _read(self, text: str) -> Vectors:
        start, layers, width = self._places[text]
        rows = len(self._tokens[text]) if not self._tokens[text].empty else 0
        assert self._file is not None
        self._file.seek(start)
        size = 4 * rows * width
        return {
            layer: np.frombuffer(self._file.read(size), dtype=np.float32).reshape(rows, width) for layer in layers
        }


def _bytes(vectors: Vectors) -> int:
    return sum(array.nbytes for array in vectors.values())
