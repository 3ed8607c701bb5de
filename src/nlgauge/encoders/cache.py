"""Layer vectors on disk, so that a second run over the same texts makes no call to the model.

A file holds one layer of one text, float32 as the engine gave it (half precision would move scores):

    32 bytes    sha256 of all that follows
    32 bytes    the entry's key
     8 bytes    tokens and width, little endian
    the rest    the vectors

The key is everything that a vector depends on: digests of model (weights with configuration) and tokenizer,
maximum length, engine with its version, layer and token ids; and the version of this library, which builds the graph.

Several processes may share a folder. An entry is written beside its place and renamed, so nobody reads half of one;
what a crash or a full disk tore does not match its sum, is removed, and the text is encoded again. The folder's size
is bounded: the entries used least recently go first. A process looks at the whole folder when it starts, when its own
count reaches the bound, and after each sixteenth of the bound that it wrote; so another process that writes at the
same time can make the folder overrun its bound by that sixteenth, for that long.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.errors import InputError, NlgaugeWarning, RecipeError
from nlgauge.io.storage import write_atomic
from nlgauge.text.tokenizer import Tokens

if TYPE_CHECKING:
    from nlgauge.encoders.base import Encoder

DEFAULT_GIGABYTES = 4.0

_SUFFIX = ".vec"
_SUM, _KEY, _SHAPE = 32, 32, 8
_HEAD = _SUM + _KEY + _SHAPE

#: The folder is looked at again after this share of its bound was written.
_SHARE_BEFORE_LOOKING = 1 / 16

#: What an eviction leaves of the bound, so that not every entry needs one.
_SHARE_AFTER_EVICTION = 15 / 16

#: Unfinished files older than this many seconds were left by a process that died.
_STALE = 3600.0


class EmbeddingCache:
    """A folder of layer vectors, at most `gigabytes` (10^9 bytes) of them."""

    def __init__(self, folder: str | os.PathLike[str], *, gigabytes: float = DEFAULT_GIGABYTES) -> None:
        if not isinstance(gigabytes, int | float) or isinstance(gigabytes, bool) or not gigabytes > 0:
            msg = f"the size of a cache is a number of gigabytes above 0, got {gigabytes!r}"
            raise RecipeError(msg)
        self.folder = Path(folder)
        self.limit = int(gigabytes * 1e9)
        self.hits = 0
        """Texts that were found, all of their layers."""
        self.misses = 0
        self.damaged = 0
        """Entries that did not match their sum, and were removed."""
        self._writes = True
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"cache folder {str(folder)!r} cannot be made: {error.strerror}; name another one"
            raise InputError(msg) from error
        self._unseen = 0
        self._size = 0
        self._make_room(0)

    def load(
        self, encoder: Encoder, tokens: Tokens, layers: tuple[int, ...]
    ) -> dict[int, NDArray[np.float32]] | None:
        """The text's vectors, or None where a layer is missing or damaged."""
        vectors_by_layer = {}
        for layer in layers:
            vectors = self._read(_key(encoder, tokens, layer), (len(tokens), encoder.hidden_size))
            if vectors is None:
                self.misses += 1
                return None
            vectors_by_layer[layer] = vectors
        self.hits += 1
        return vectors_by_layer

    def store(self, encoder: Encoder, tokens: Tokens, vectors: Mapping[int, NDArray[np.float32]]) -> None:
        """Keep a text's vectors; a folder that cannot be written to is only slower, and warned of once."""
        for layer, array in vectors.items():
            if not self._writes:
                return
            key = _key(encoder, tokens, layer)
            body = key + np.array(array.shape, dtype="<u4").tobytes() + array.astype("<f4").tobytes()
            size = _SUM + len(body)
            if size > self.limit:
                continue
            if self._size + size > self.limit or self._unseen > _SHARE_BEFORE_LOOKING * self.limit:
                self._make_room(size)
            path = self._path(key)
            try:
                path.parent.mkdir(exist_ok=True)
                known = path.exists()
                write_atomic(path, hashlib.sha256(body).digest() + body)
            except OSError as error:
                self._writes = False
                msg = f"the cache {str(self.folder)!r} cannot be written ({error.strerror}); going on without"
                warnings.warn(msg, NlgaugeWarning, stacklevel=2)
                return
            if not known:
                self._size += size
                self._unseen += size

    def _path(self, key: bytes) -> Path:
        name = key.hex()
        return self.folder / name[:2] / (name[2:] + _SUFFIX)

    def _read(self, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:  # not there, or evicted a moment ago
            return None
        body = memoryview(data)[_SUM:]
        whole = len(data) == _HEAD + 4 * shape[0] * shape[1] and hashlib.sha256(body).digest() == data[:_SUM]
        if not whole or data[_SUM : _SUM + _KEY] != key:
            self.damaged += 1
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of the last use is what eviction goes by
        return np.frombuffer(data, dtype="<f4", offset=_HEAD).reshape(shape)

    def _make_room(self, wanted: int) -> None:
        """Look at the folder; where it is full, remove what was used least recently."""
        entries = []
        now = time.time()
        for place, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(place, name)
                with contextlib.suppress(OSError):  # another process removed it
                    state = os.stat(path)
                    if name.endswith(_SUFFIX):
                        entries.append((state.st_mtime_ns, path, state.st_size))
                    elif f"{_SUFFIX}." in name and now - state.st_mtime > _STALE:
                        os.unlink(path)
        self._size = sum(size for _, _, size in entries)
        self._unseen = 0
        if self._size + wanted <= self.limit:
            return
        for _, path, size in sorted(entries):
            with contextlib.suppress(OSError):
                os.unlink(path)
            self._size -= size
            if self._size + wanted <= _SHARE_AFTER_EVICTION * self.limit:
                return


class VectorFile:
    """Vectors of one run in a temporary file, for texts that are needed again; used in the place of a cache."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places: dict[bytes, tuple[int, Mapping[int, tuple[int, ...]]]] = {}
        """By token ids: where the vectors of a text start, and the shape of each layer."""

    def __enter__(self) -> VectorFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def load(
        self, encoder: Encoder, tokens: Tokens, layers: tuple[int, ...]
    ) -> dict[int, NDArray[np.float32]] | None:
        """The text's vectors, or None where it is new."""
        if self._file is None or (place := self._places.get(tokens.ids.tobytes())) is None:
            return None
        start, shapes = place
        self._file.seek(start)
        return {
            layer: np.frombuffer(self._file.read(4 * math.prod(shape)), dtype=np.float32).reshape(shape)
            for layer, shape in shapes.items()
        }

    def store(self, encoder: Encoder, tokens: Tokens, vectors: Mapping[int, NDArray[np.float32]]) -> None:
        """Keep a text's vectors."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="nlgauge-vectors-")  # noqa: SIM115 - closed by __exit__
        start = self._file.seek(0, os.SEEK_END)
        for array in vectors.values():
            self._file.write(array.tobytes())
        self._places[tokens.ids.tobytes()] = start, {layer: array.shape for layer, array in vectors.items()}


def _key(encoder: Encoder, tokens: Tokens, layer: int) -> bytes:
    tokenizer = encoder.tokenizer
    about = (__version__, encoder.digest, tokenizer.digest, tokenizer.limit, encoder.engine, layer)
    state = hashlib.sha256("\n".join(map(str, about)).encode())
    state.update(b"\n" + tokens.ids.astype("<i4").tobytes())
    return state.digest()
