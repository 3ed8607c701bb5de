"""A digest is that of the bytes which are in the file now, however it was remembered."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from nlgauge.io import storage as digests
from nlgauge.io.storage import file_digest

pytestmark = pytest.mark.usefixtures("own_cache")

LONG_AGO = time.time_ns() - 3600 * 10**9


def write(path: Path, data: bytes, *, mtime_ns: int = LONG_AGO) -> Path:
    path.write_bytes(data)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return path


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests of files as small and as young as those of tests are remembered, too."""
    monkeypatch.setattr(digests, "ALWAYS_HASHED", -1)
    monkeypatch.setattr(digests, "_SETTLED_NS", 0)


def pass_a_tick() -> None:
    """Let the clock of the file system, which moves in steps of some milliseconds, show another time."""
    time.sleep(0.05)


def never(path: Path) -> str:
    raise AssertionError(f"{path} was read again")


def test_digest_of_known_text(tmp_path: Path) -> None:
    # FIPS 180-2, appendix B.1.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_digest(write(tmp_path / "file", b"abc")) == expected


def test_long_file_is_hashed_to_its_end(tmp_path: Path) -> None:
    data = bytes(range(251)) * 10_000  # over two of the blocks in which it is read
    assert file_digest(write(tmp_path / "file", data)) == hashlib.sha256(data).hexdigest()


@pytest.mark.usefixtures("remembered")
def test_unchanged_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "file", b"abc")
    pass_a_tick()
    first = file_digest(path)
    monkeypatch.setattr(digests, "_hash", never)
    assert file_digest(path) == first
    (tmp_path / "link").symlink_to(path)
    assert file_digest(tmp_path / "link") == first


def test_small_file_is_always_read(tmp_path: Path, own_cache: Path) -> None:
    path = write(tmp_path / "file", bytes(digests.ALWAYS_HASHED))
    file_digest(path)
    assert not own_cache.exists()


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("how", ["cp -p", "mv", "rsync -t"])
def test_other_content_of_the_same_size_and_date_is_noticed(tmp_path: Path, how: str) -> None:
    path, other = write(tmp_path / "file", b"abc"), write(tmp_path / "other", b"abd")
    pass_a_tick()
    file_digest(path)
    if how == "cp -p":  # the inode stays
        shutil.copy2(other, path)
    elif how == "mv":
        other.replace(path)
    else:  # a temporary file with the date of the original, then renamed
        shutil.copy2(other, tmp_path / ".file.tmp")
        (tmp_path / ".file.tmp").replace(path)
    assert path.stat().st_mtime_ns == LONG_AGO
    assert file_digest(path) == hashlib.sha256(b"abd").hexdigest()


@pytest.mark.usefixtures("remembered")
def test_entry_of_an_earlier_version_is_ignored_and_replaced(tmp_path: Path, own_cache: Path) -> None:
    path = write(tmp_path / "file", b"abc")
    pass_a_tick()
    file_digest(path)
    (memo,) = (own_cache / "digests").iterdir()
    stat = path.stat()
    memo.write_text(json.dumps({"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": "0" * 64}))
    assert file_digest(path) == hashlib.sha256(b"abc").hexdigest()
    assert json.loads(memo.read_text())["inode"] == stat.st_ino


@pytest.mark.usefixtures("remembered")
def test_changed_time_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "file", b"abc")
    file_digest(path)
    write(path, b"abd", mtime_ns=LONG_AGO + 1)
    assert file_digest(path) == hashlib.sha256(b"abd").hexdigest()


@pytest.mark.usefixtures("remembered")
def test_changed_size_is_noticed_under_the_same_time(tmp_path: Path) -> None:
    path = write(tmp_path / "file", b"abc")
    file_digest(path)
    write(path, b"abcd")
    assert file_digest(path) == hashlib.sha256(b"abcd").hexdigest()


def test_file_that_is_still_being_written_is_not_remembered(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A coarse clock gives two writes in quick succession the same time, and the sizes are equal.
    monkeypatch.setattr(digests, "ALWAYS_HASHED", -1)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**9)  # however long this test is kept waiting
    path = write(tmp_path / "file", b"abc", mtime_ns=now)
    file_digest(path)
    assert not own_cache.exists()
    write(path, b"abd", mtime_ns=now)
    assert file_digest(path) == hashlib.sha256(b"abd").hexdigest()


def test_file_copied_just_now_is_not_remembered_whatever_its_date(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "ALWAYS_HASHED", -1)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**9)
    file_digest(write(tmp_path / "file", b"abc"))
    assert not own_cache.exists()


@pytest.mark.usefixtures("remembered")
def test_two_files_are_kept_apart(tmp_path: Path) -> None:
    first, two = write(tmp_path / "one", b"abc"), write(tmp_path / "two", b"abd")
    assert file_digest(first) != file_digest(two)
    assert file_digest(first) == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("damage", [b"", b"not json", b"[]", b"\xff\xfe", None])
def test_damaged_memory_is_ignored(tmp_path: Path, own_cache: Path, damage: bytes | None) -> None:
    path = write(tmp_path / "file", b"abc")
    pass_a_tick()
    expected = file_digest(path)
    (memo,) = (own_cache / "digests").iterdir()
    # None: a value of the right form in all but the digest.
    memo.write_bytes(memo.read_bytes().replace(expected.encode(), b"ba78") if damage is None else damage)
    assert file_digest(path) == expected


def test_cache_that_cannot_be_written_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = write(tmp_path / "blocked", b"a file where the folder should be")
    monkeypatch.setenv("NLGAUGE_CACHE", str(blocked))
    assert file_digest(write(tmp_path / "file", b"abc")) == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.usefixtures("remembered")
def test_memory_holds_no_leftovers_and_no_path(tmp_path: Path, own_cache: Path) -> None:
    path = write(tmp_path / "file", b"abc")
    pass_a_tick()
    file_digest(path)
    os.utime(path, ns=(LONG_AGO + 5, LONG_AGO + 5))
    pass_a_tick()
    file_digest(path)
    (memo,) = (own_cache / "digests").iterdir()
    assert str(tmp_path) not in memo.read_text()
