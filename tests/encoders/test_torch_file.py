"""pytorch_model.bin without torch: the tensors that torch saved; nothing else is read, and nothing is executed."""

from __future__ import annotations

import builtins
import io
import os
import pickle
import struct
import tarfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import GOLDEN

from nlgauge.encoders.torch_file import TorchFile, UnsafeFileError

GRID = (np.arange(12, dtype=np.float32) / 4).reshape(3, 4)


def test_tensors_saved_by_torch() -> None:
    """Of tests/parity/record_model_files.py: views of one storage, a parameter, and every kind of number."""
    file = TorchFile(GOLDEN / "tensors.bin")
    expected = {
        "plain": GRID,
        "transposed": GRID.T,
        "part": [0.5, 0.75, 1.0, 1.25],
        "parameter": [1.5, -2.0],
        "half": [0.5, 1.0, -3.25],
        "brain": [0.5, 1.0, -3.25],
        "double": [[0.125]],
        "ids": [0, 1, 2, 3, 4],
        "scalar": 7.0,
        "empty": np.zeros((0, 3)),
    }
    assert file.names == expected.keys()
    for name, value in expected.items():
        array = file.read(name)
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, np.asarray(value, dtype=np.float32))


# Files that are written here: a pickle in an archive like torch's


def write(path: Path, data: bytes, *, storages: dict[str, bytes] | None = None, **zip_options: Any) -> Path:
    with zipfile.ZipFile(path, "w", **zip_options) as archive:
        archive.writestr("archive/data.pkl", data)
        for key, content in (storages or {"0": GRID.tobytes()}).items():
            archive.writestr(f"archive/data/{key}", content)
    return path


class Storage:
    """What torch writes as a persistent id."""

    def __init__(self, kind: str = "FloatStorage", key: str = "0", count: int = 12) -> None:
        self.identity = ("storage", Global("torch", kind), key, "cpu", count)


class Global:
    """A class by its name, which need not exist here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __reduce__(self) -> str:
        return self.name


class Call:
    """A call of a function by its name."""

    def __init__(self, function: Global, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.function, self.arguments


PurePickler: Any = pickle._Pickler


class Pickler(PurePickler):  # type: ignore[misc]
    """Writes names and storages without importing them."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Global):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        elif isinstance(obj, Storage):
            self.save(obj.identity)
            self.write(pickle.BINPERSID)
        elif isinstance(obj, Call):
            self.save(obj.function)
            self.save(obj.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(obj, save_persistent_id)


def dump(content: Any) -> bytes:
    stream = io.BytesIO()
    Pickler(stream, protocol=2).dump(content)
    return stream.getvalue()


def tensor(
    shape: Any = (3, 4), strides: Any = (4, 1), *, offset: Any = 0, storage: Storage | None = None, name: str = "v2"
) -> Call:
    function = Global("torch._utils", f"_rebuild_tensor_{name}")
    return Call(function, storage or Storage(), offset, shape, strides, False, OrderedDict())


def test_the_writer_of_these_tests_writes_what_torch_does(tmp_path: Path) -> None:
    file = TorchFile(write(tmp_path / "x.bin", dump({"w": tensor(), "t": tensor((4, 3), (1, 4))})))
    np.testing.assert_array_equal(file.read("w"), GRID)
    np.testing.assert_array_equal(file.read("t"), GRID.T)


class Attack:
    """Leaves a file if it is ever unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    ("function", "name"),
    [(os.system, r"'\w+\.system'"), (builtins.eval, r"'\w+\.eval'"), (os.mkdir, r"'\w+\.mkdir'")],
)
def test_code_is_refused_by_name_and_never_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int, function: Callable[..., Any], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    argument = {"system": "touch ran", "eval": "__import__('os').mkdir('ran')", "mkdir": "ran"}[function.__name__]
    for content in (Attack(function, argument), {"w": Attack(function, argument)}):
        path = write(tmp_path / "x.bin", pickle.dumps(content, protocol))
        with pytest.raises(UnsafeFileError, match=rf"{name}, which is not a tensor"):
            TorchFile(path)
    assert not (tmp_path / "ran").exists()
    pickle.loads(pickle.dumps(Attack(function, argument)))  # the attack works on an ordinary reader
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Global("transformers.models.bert.modeling_bert", "BertModel"), "'transformers.models.bert.modeling_bert"),
        ({"w": Call(Global("numpy.core.multiarray", "_reconstruct"), 1)}, "'numpy.core.multiarray._reconstruct'"),
        ({"w": tensor(name="v3")}, "'torch._utils._rebuild_tensor_v3'"),
        ({"w": tensor(storage=Storage("ComplexFloatStorage"))}, "'torch.ComplexFloatStorage'"),
        ([tensor()], "instruction EMPTY_LIST"),
        (tensor(), "a StoredTensor, not a dictionary of tensors"),
        ({"epoch": 3}, "'epoch', a int, which is not a tensor"),
        ({"w": {"v": tensor()}}, "'w', a dict, which is not a tensor"),
        ({(1, 2): tensor()}, "keys are not names"),
        ({"w": tensor((3, 5))}, "sizes do not fit"),
        ({"w": tensor(offset=1)}, "sizes do not fit"),
        ({"w": tensor(offset=-1)}, "sizes do not fit"),
        ({"w": tensor((3, -4))}, "sizes do not fit"),
        ({"w": tensor((3, 4), (4, -1))}, "sizes do not fit"),
        ({"w": tensor((10**9, 10**9), (0, 0))}, "sizes do not fit"),
        ({"w": tensor((3, 4), (4,))}, "sizes do not fit"),
        ({"w": tensor((3.0, 4))}, "sizes do not fit"),
        ({"w": tensor((12, 1), (1, 2**70))}, "sizes do not fit"),
        ({"w": tensor((0,), (1,), offset=2**70)}, "sizes do not fit"),
        ({"w": tensor((1,) * 100, (1,) * 100)}, "sizes do not fit"),
        ({"w": tensor(storage=Storage(count=13))}, "a storage of 48 bytes that should have 52"),
        ({"w": tensor(storage=Storage("DoubleStorage"))}, "a storage of 48 bytes that should have 96"),
        ({"w": tensor(storage=Storage(key="../../secret"))}, "'w' without its storage"),
        ({"w": Call(Global("collections", "OrderedDict"), (("a", 1),))}, "a call of 'collections.OrderedDict'"),
        ({"w": Call(Global("torch", "FloatStorage"), 1)}, "a call of 'torch.FloatStorage'"),
    ],
)
def test_anything_but_plain_tensors_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    path = write(tmp_path / "x.bin", dump(content))
    with pytest.raises(UnsafeFileError, match=message):
        TorchFile(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x02cposix\nsystem\n.", "'posix.system'"),
        (b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "'posix.system'"),
        (b"\x80\x02(S'touch ran'\niposix\nsystem\n.", "instruction STRING"),
        (b"(dp0\nVw\np1\ncposix\nsystem\n", "instruction DICT"),
        (b"\x80\x02(iposix\nsystem\n.", "instruction INST"),
        (b"\x80\x02\x82\x01.", "instruction EXT1"),
        (b"\x80\x02ccollections\nOrderedDict\n}b.", "attributes of a _Name"),
        (b"\x80\x02}", "damaged|without an end"),
        (b"", "damaged|without an end"),
        (b"\x80\x02h\x05.", "damaged"),
        (b"\x80\x02\x85.", "damaged"),
        (b"\x80\x02u.", "damaged"),
        (b"\x80\x02.", "damaged"),
        # With a search for each mark, this would take hours.
        (b"\x80\x02" + b"(" * 200_000 + b"t" * 200_000 + b".", "a tuple, not a dictionary"),
    ],
)
def test_instructions_of_other_pickles_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(UnsafeFileError, match=message):
        TorchFile(write(tmp_path / "x.bin", data))


def test_other_formats_are_refused(tmp_path: Path) -> None:
    legacy = tmp_path / "legacy.bin"
    legacy.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2))
    tar = tmp_path / "tar.bin"
    with tarfile.open(tar, "w") as archive:
        archive.add(legacy, "storages")
    (tmp_path / "empty.bin").write_bytes(b"")
    for name in ("legacy", "tar", "empty"):
        with pytest.raises(UnsafeFileError, match=r"not a zip archive \(written by torch before 1\.6"):
            TorchFile(tmp_path / f"{name}.bin")


def test_archives_that_torch_did_not_write_are_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "x.bin", dump({"w": tensor()})).read_bytes()
    compressed = write(tmp_path / "c.bin", dump({"w": tensor()}), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(UnsafeFileError, match="compressed member"):
        TorchFile(compressed)
    (tmp_path / "half.bin").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnsafeFileError, match="damaged"):
        TorchFile(tmp_path / "half.bin")
    with zipfile.ZipFile(tmp_path / "two.bin", "w") as archive:
        for root in ("a", "b"):
            archive.writestr(f"{root}/data.pkl", dump({}))
    with pytest.raises(UnsafeFileError, match="torch did not write"):
        TorchFile(tmp_path / "two.bin")
    with zipfile.ZipFile(tmp_path / "big.bin", "w") as archive:
        archive.writestr("a/data.pkl", dump({}))
        archive.writestr("a/byteorder", b"big")
    with pytest.raises(UnsafeFileError, match="big-endian"):
        TorchFile(tmp_path / "big.bin")
    # A size in the directory that reaches beyond the file.
    start = whole.rindex(b"PK\x01\x02")
    (tmp_path / "long.bin").write_bytes(whole[: start + 20] + struct.pack("<II", 10**6, 10**6) + whole[start + 28 :])
    with pytest.raises(UnsafeFileError, match=r"truncated|damaged|that should have"):
        TorchFile(tmp_path / "long.bin")
    # The version of zip in the list of members, which Python cannot read.
    (tmp_path / "new.bin").write_bytes(whole.replace(b"PK\x01\x02\x14\x03\x14\x00", b"PK\x01\x02\x14\x03\xff\x00"))
    with pytest.raises(UnsafeFileError, match="damaged"):
        TorchFile(tmp_path / "new.bin")


def test_bfloat16_tensors_of_one_storage_are_converted_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the rest of the storage per tensor, which for many tensors would take quadratic time and memory."""
    storage = Storage("BFloat16Storage", count=24)
    halves = (np.arange(24, dtype=np.float32).view(np.uint32) >> 16).astype("<u2")
    content = {str(i): tensor((1,), (1,), offset=i, storage=storage) for i in range(24)}
    file = TorchFile(write(tmp_path / "x.bin", dump(content), storages={"0": halves.tobytes()}))
    sizes = []
    keep = np.lib.stride_tricks.as_strided

    def recorded(array: Any, *arguments: Any, **options: Any) -> Any:
        sizes.append(array.size)
        return keep(array, *arguments, **options)

    monkeypatch.setattr(np.lib.stride_tricks, "as_strided", recorded)
    assert [float(file.read(str(i))[0]) for i in range(24)] == list(range(24))
    assert set(sizes) == {1}
