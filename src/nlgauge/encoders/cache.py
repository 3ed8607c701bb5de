"""A disk cache of layer vectors, so a second run over the same texts needs no model calls.

A file contains one layer of one text, in float32 (half precision would change scores):

    32 bytes    sha256 of the following bytes
    32 bytes    the entry's key
     8 bytes    tokens and width, little endian
    the rest    the vectors

The key depends on everything that determines a vector: digests of model (weights with configuration) and tokenizer,
maximum length, engine with version, layer, token ids, and the version of this library, which builds the graph.

Several processes can share a folder. An entry is written to a temporary file and renamed, so readers never see an
incomplete one. An entry damaged by a crash or a full disk does not match its checksum; it is removed, and the text is
encoded again. The folder's size is limited: the least recently used entries are removed first. A process scans the
folder when it starts, when its own count reaches the limit, and each time it has written a sixteenth of the limit. So
other processes can exceed the limit temporarily by a sixteenth.
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

#: The folder is scanned again after this share of its limit was written.
_SHARE_BEFORE_SCAN = 1 / 16

#: Share of the limit that is left after an eviction, so that not every entry needs one.
_SHARE_AFTER_EVICTION = 15 / 16

#: Unfinished files older than this many seconds were left by a process that died.
_STALE = 3600.0


class EmbeddingCache:
    """A folder of layer vectors with at most `gigabytes` (10^9 bytes)."""

    def __init__(self, folder: str | os.PathLike[str], *, gigabytes: float = DEFAULT_GIGABYTES) -> None:
        if not isinstance(gigabytes, int | float) or isinstance(gigabytes, bool) or not gigabytes > 0:
            msg = f"the cache size must be a number of gigabytes above 0, got {gigabytes!r}"
            raise RecipeError(msg)
        self.folder = Path(folder)
        self.limit = int(gigabytes * 1e9)
        self.hits = 0
        """Texts found with all layers."""
        self.misses = 0
        self.damaged = 0
        """Entries that did not match their checksum and were removed."""
        self._writes = True
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"cannot create cache folder {str(folder)!r}: {error.strerror}; choose another folder"
            raise InputError(msg) from error
        self._unseen = 0
        self._size = 0
        self._make_room(0)

    def load(
        self, encoder: Encoder, tokens: Tokens, layers: tuple[int, ...]
    ) -> dict[int, NDArray[np.float32]] | None:
        """The text's vectors; None if a layer is missing or damaged."""
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
        """Store a text's vectors; if the folder cannot be written, warn once and stop storing."""
        for layer, array in vectors.items():
            if not self._writes:
                return
            key = _key(encoder, tokens, layer)
            body = key + np.array(array.shape, dtype="<u4").tobytes() + array.astype("<f4").tobytes()
            size = _SUM + len(body)
            if size > self.limit:
                continue
            if self._size + size > self.limit or self._unseen > _SHARE_BEFORE_SCAN * self.limit:
                self._make_room(size)
            path = self._path(key)
            try:
                path.parent.mkdir(exist_ok=True)
                exists = path.exists()
                write_atomic(path, hashlib.sha256(body).digest() + body)
            except OSError as error:
                self._writes = False
                msg = f"cannot write to the cache {str(self.folder)!r} ({error.strerror}); continuing without it"
                warnings.warn(msg, NlgaugeWarning, stacklevel=2)
                return
            if not exists:
                self._size += size
                self._unseen += size

    def _path(self, key: bytes) -> Path:
        name = key.hex()
        return self.folder / name[:2] / (name[2:] + _SUFFIX)

    def _read(self, key: bytes, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:  # no entry, or one that was just evicted
            return None
        body = memoryview(data)[_SUM:]
        is_intact = len(data) == _HEAD + 4 * shape[0] * shape[1] and hashlib.sha256(body).digest() == data[:_SUM]
        if not is_intact or data[_SUM : _SUM + _KEY] != key:
            self.damaged += 1
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # marks the entry as recently used
        return np.frombuffer(data, dtype="<f4", offset=_HEAD).reshape(shape)

    def _make_room(self, wanted: int) -> None:
        """Scan the folder, and remove the least recently used entries if `wanted` bytes do not fit."""
        entries = []
        now = time.time()
        for parent, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(parent, name)
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
    """A cache for one run in a temporary file, for texts that are needed again."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._entries: dict[bytes, tuple[int, Mapping[int, tuple[int, ...]]]] = {}
        """By token ids: offset of a text's vectors, and the shape of each layer."""

    def __enter__(self) -> VectorFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def load(
        self, encoder: Encoder, tokens: Tokens, layers: tuple[int, ...]
    ) -> dict[int, NDArray[np.float32]] | None:
        """The text's vectors; None for a new text."""
        if self._file is None or (entry := self._entries.get(tokens.ids.tobytes())) is None:
            return None
        start, shapes = entry
        self._file.seek(start)
        return {
            layer: np.frombuffer(self._file.read(4 * math.prod(shape)), dtype=np.float32).reshape(shape)
            for layer, shape in shapes.items()
        }

    def store(self, encoder: Encoder, tokens: Tokens, vectors: Mapping[int, NDArray[np.float32]]) -> None:
        """Store a text's vectors."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="nlgauge-vectors-")  # noqa: SIM115 - closed by __exit__
        start = self._file.seek(0, os.SEEK_END)
        for array in vectors.values():
            self._file.write(array.tobytes())
        self._entries[tokens.ids.tobytes()] = start, {layer: array.shape for layer, array in vectors.items()}


def _key(encoder: Encoder, tokens: Tokens, layer: int) -> bytes:
    tokenizer = encoder.tokenizer
    parts = (__version__, encoder.digest, tokenizer.digest, tokenizer.limit, encoder.engine, layer)
    state = hashlib.sha256("\n".join(map(str, parts)).encode())
    state.update(b"\n" + tokens.ids.astype("<i4").tobytes())
    return state.digest()
