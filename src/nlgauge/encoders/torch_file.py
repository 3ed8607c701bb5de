"""Weights of a `pytorch_model.bin`, read without torch and without unpickling.

The file is a zip archive: `data.pkl` describes the tensors, and each member of `data/` has the bytes of a storage.
A pickle is a program. Here a small interpreter executes only the instructions with which torch describes a dictionary
of tensors. It never imports or calls anything: a name in the pickle is compared with a short list, and every other
name is refused. So a file with code cannot run it, and a whole pickled model is refused with the name of its class.

Tensors are views of the mapped file. Every size is checked against the storage before a view is made.
"""

from __future__ import annotations

import math
import pickletools
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: numpy's types by the names of torch's storages; bfloat16, which numpy lacks, is read as the upper half of float32.
_DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}

_ORDERED = "collections.OrderedDict"
_TENSOR = "torch._utils._rebuild_tensor_v2"
_PARAMETER = "torch._utils._rebuild_parameter"

#: Names that a pickle of tensors contains.
_ALLOWED = frozenset({_ORDERED, _TENSOR, _PARAMETER} | {f"torch.{name}" for name in _DTYPES})

#: Largest description of tensors; that of a model with 10,000 tensors has 2 MB.
_MOST_BYTES = 64 * 2**20

#: Most axes and elements of a tensor; with more, checking the sizes of a hostile file would take hours.
MOST_AXES, MOST_ELEMENTS = 16, 2**48

#: Instructions without effect here, and instructions that push a value which is written in the pickle.
_IGNORED = frozenset({"PROTO", "FRAME"})
_LITERALS = frozenset({"BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"})
_CONSTANTS: Mapping[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


class UnsafeFileError(Exception):
    """The file contains something other than tensors, or sizes that do not fit."""


class _Name(NamedTuple):
    """A class or function that the pickle names; it is never looked up."""

    path: str


class _Storage(NamedTuple):
    dtype: str
    key: str
    elements: int


@dataclass(frozen=True)
class StoredTensor:
    """A tensor: a storage, the offset of its first element, and its sizes and strides in elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def fits(self) -> bool:
        """Whether all elements are inside the storage."""
        if len(self.shape) != len(self.strides) or len(self.shape) > MOST_AXES:
            return False
        numbers = (self.storage.elements, self.offset, *self.shape, *self.strides)
        if not all(type(number) is int and 0 <= number <= MOST_ELEMENTS for number in numbers):
            return False
        if 0 in self.shape:
            return True
        # Strides of 0 would make a small file claim a tensor of any size.
        return self.end <= self.storage.elements and math.prod(self.shape) <= self.storage.elements

    @property
    def end(self) -> int:
        """The place after the last element in the storage."""
        if 0 in self.shape:
            return self.offset
        steps = zip(self.shape, self.strides, strict=True)
        return self.offset + sum((size - 1) * step for size, step in steps) + 1


class _Interpreter:
    """Executes the pickle of a dictionary of tensors."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._steps: dict[str, Callable[[Any], None]] = {
            "GLOBAL": lambda text: self._push_name(*text.split(" ", 1)),
            "STACK_GLOBAL": lambda _: self._stack_global(),
            "MARK": lambda _: self._marks.append(len(self._stack)),
            "EMPTY_DICT": lambda _: self._stack.append({}),
            "TUPLE": lambda _: self._stack.append(tuple(self._take_to_mark())),
            "TUPLE1": lambda _: self._tuple(1),
            "TUPLE2": lambda _: self._tuple(2),
            "TUPLE3": lambda _: self._tuple(3),
            "SETITEM": lambda _: self._set_items(self._take(2)),
            "SETITEMS": lambda _: self._set_items(self._take_to_mark()),
            "BINPUT": self._remember,
            "LONG_BINPUT": self._remember,
            "MEMOIZE": lambda _: self._remember(len(self._memo)),
            "BINGET": lambda key: self._stack.append(self._memo[key]),
            "LONG_BINGET": lambda key: self._stack.append(self._memo[key]),
            "BINPERSID": lambda _: self._stack.append(_storage(self._stack.pop())),
            "REDUCE": lambda _: self._reduce(*self._take(2)),
            "BUILD": lambda _: self._build(*self._take(2)),
        }

    def run(self, pickle: bytes) -> Any:
        """The object that a pickle describes."""
        for instruction, argument, _ in pickletools.genops(BytesIO(pickle)):
            name = instruction.name
            if name == "STOP":
                return self._stack.pop()
            if name in _LITERALS:
                self._stack.append(argument)
            elif name in _CONSTANTS:
                self._stack.append(_CONSTANTS[name])
            elif name in self._steps:
                self._steps[name](argument)
            elif name not in _IGNORED:
                msg = f"the pickle instruction {name}, with which torch does not write tensors"
                raise UnsafeFileError(msg)
        msg = "a pickle without an end"
        raise UnsafeFileError(msg)

    def _take(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise IndexError
        values = self._stack[-count:]
        del self._stack[-count:]
        return values

    def _take_to_mark(self) -> list[Any]:
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def _tuple(self, count: int) -> None:
        self._stack.append(tuple(self._take(count)))

    def _remember(self, key: int) -> None:
        self._memo[key] = self._stack[-1]

    def _push_name(self, module: str, name: str) -> None:
        path = f"{module}.{name}"
        if path not in _ALLOWED:
            msg = f"{path!r}, which is not a tensor"
            raise UnsafeFileError(msg)
        self._stack.append(_Name(path))

    def _stack_global(self) -> None:
        module, name = self._take(2)
        if not (isinstance(module, str) and isinstance(name, str)):
            msg = "a class without a name"
            raise UnsafeFileError(msg)
        self._push_name(module, name)

    def _set_items(self, values: list[Any]) -> None:
        target = self._stack[-1]
        keys = values[::2]
        if type(target) is not dict or len(values) % 2 or not all(type(key) in {str, int} for key in keys):
            msg = "a dictionary whose keys are not names"
            raise UnsafeFileError(msg)
        target.update(zip(keys, values[1::2], strict=True))

    def _reduce(self, function: Any, arguments: Any) -> None:
        path = function.path if isinstance(function, _Name) else ""
        if type(arguments) is tuple:
            if path == _ORDERED and not arguments:
                self._stack.append({})
                return
            if path == _TENSOR and len(arguments) >= 4:
                self._stack.append(_tensor(*arguments[:4]))
                return
            if path == _PARAMETER and arguments and isinstance(arguments[0], StoredTensor):
                self._stack.append(arguments[0])
                return
        msg = f"a call of {path or type(function).__name__!r} with which torch does not write tensors"
        raise UnsafeFileError(msg)

    def _build(self, target: Any, state: Any) -> None:
        """Ignore the attributes of a dictionary (torch's `_metadata`); everything else is refused."""
        if type(target) is not dict or type(state) is not dict:
            msg = f"attributes of a {type(target).__name__}, which torch does not write"
            raise UnsafeFileError(msg)
        self._stack.append(target)


def _storage(identity: Any) -> _Storage:
    """A storage from its persistent id: ("storage", type, key, device, number of elements)."""
    if type(identity) is tuple and len(identity) == 5 and identity[0] == "storage":
        _, kind, key, _, count = identity
        dtype = _DTYPES.get(kind.path.removeprefix("torch.")) if isinstance(kind, _Name) else None
        if dtype is not None and isinstance(key, str) and type(count) is int:
            return _Storage(dtype, key, count)
    msg = "a storage of an unknown kind"
    raise UnsafeFileError(msg)


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> StoredTensor:
    if isinstance(storage, _Storage) and type(shape) is tuple and type(strides) is tuple:
        tensor = StoredTensor(storage, offset, shape, strides)
        if tensor.fits():
            return tensor
    msg = "a tensor whose sizes do not fit its storage"
    raise UnsafeFileError(msg)


class TorchFile:
    """The tensors of a `pytorch_model.bin`; raises UnsafeFileError for a file with anything else."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = np.memmap(file, dtype=np.uint8, mode="r") if path.stat().st_size else np.empty(0, np.uint8)
        if self._bytes[:4].tobytes() != b"PK\x03\x04":
            msg = "data that is not a zip archive (written by torch before 1.6, or damaged)"
            raise UnsafeFileError(msg)
        try:
            self._members, self._root = _members(path)
            content = self._run(self._member("data.pkl").tobytes())
        except (zipfile.BadZipFile, NotImplementedError, LookupError, ValueError, TypeError, AttributeError) as error:
            msg = f"a damaged archive ({error})"
            raise UnsafeFileError(msg) from error
        self._tensors = self._checked(content)

    @property
    def names(self) -> frozenset[str]:
        """Names of the tensors."""
        return frozenset(self._tensors)

    def read(self, name: str) -> NDArray[np.float32]:
        """A tensor as float32; without a copy if it is stored so."""
        tensor = self._tensors[name]
        raw = self._storage(tensor.storage)[tensor.offset : tensor.end]
        if tensor.storage.dtype == "bfloat16":
            raw = (raw.astype(np.uint32) << 16).view(np.float32)
        steps = [step * raw.itemsize for step in tensor.strides]
        view = np.lib.stride_tricks.as_strided(raw, tensor.shape, steps, writeable=False)
        return np.require(view, np.float32, ["C", "A"])

    def _run(self, pickle: bytes) -> Any:
        order = self._members.get(f"{self._root}byteorder")
        if order is not None and self._member("byteorder").tobytes() != b"little":
            msg = "tensors of a big-endian machine"
            raise UnsafeFileError(msg)
        return _Interpreter().run(pickle)

    def _checked(self, content: Any) -> dict[str, StoredTensor]:
        if type(content) is not dict:
            msg = f"a {type(content).__name__}, not a dictionary of tensors"
            raise UnsafeFileError(msg)
        for name, tensor in content.items():
            if not (isinstance(name, str) and isinstance(tensor, StoredTensor)):
                msg = f"{name!r}, a {type(tensor).__name__}, which is not a tensor"
                raise UnsafeFileError(msg)
            try:
                self._storage(tensor.storage)
            except KeyError:
                msg = f"the tensor {name!r} without its storage"
                raise UnsafeFileError(msg) from None
        return content

    def _storage(self, storage: _Storage) -> NDArray[Any]:
        data = self._member(f"data/{storage.key}")
        dtype = np.dtype("<u2" if storage.dtype == "bfloat16" else storage.dtype)
        if len(data) != storage.elements * dtype.itemsize:
            msg = f"a storage of {len(data)} bytes that should have {storage.elements * dtype.itemsize}"
            raise UnsafeFileError(msg)
        # An unaligned member is copied by `np.require`.
        return data.view(dtype)

    def _member(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a member, which torch never compresses."""
        info = self._members[f"{self._root}{name}"]
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
            msg = f"the compressed member {name!r}"
            raise UnsafeFileError(msg)
        if name == "data.pkl" and info.file_size > _MOST_BYTES:
            msg = f"a description of {info.file_size} bytes"
            raise UnsafeFileError(msg)
        head = self._bytes[info.header_offset : info.header_offset + 30].tobytes()
        skipped = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        start = info.header_offset + 30 + skipped
        data = self._bytes[start : start + info.file_size]
        if head[:4] != b"PK\x03\x04" or len(data) != info.file_size:
            msg = f"the truncated member {name!r}"
            raise UnsafeFileError(msg)
        return data


def _members(path: Path) -> tuple[dict[str, zipfile.ZipInfo], str]:
    """The members of an archive by name, and the folder that all of them are in."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
    members = {info.filename: info for info in infos}
    roots = [name.removesuffix("data.pkl") for name in members if name.endswith("/data.pkl")]
    if len(members) != len(infos) or len(roots) != 1:
        msg = "an archive that torch did not write"
        raise UnsafeFileError(msg)
    return members, roots[0]
