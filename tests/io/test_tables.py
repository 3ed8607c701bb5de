"""Lines one by one are the lines of the whole file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.tables import split_lines, stream_lines

CONTENTS = [
    b"one\ntwo\n",
    b"one\r\n\ntwo\x0chalves\n",
    b"\xef\xbb\xbfone\ntwo",
    b"a\x0bb\rc\xe2\x80\xa8d\n\n\nlast\r",
    b"\n",
    "ü\n漢字\n".encode(),
]


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("zipped", [False, True])
def test_the_same_lines_as_of_the_whole_file(tmp_path: Path, content: bytes, zipped: bool) -> None:
    path = tmp_path / ("file.txt.gz" if zipped else "file.txt")
    path.write_bytes(gzip.compress(content) if zipped else content)
    assert list(stream_lines(str(path))) == split_lines(content, "file.txt")


def test_damaged_tables_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"fine\n\xff\n")
    with pytest.raises(FileFormatError, match=r"bad\.txt, line 2: byte 0xff"):
        list(stream_lines(str(path)))
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match="empty"):
        list(stream_lines(str(path)))
    zipped = tmp_path / "torn.txt.gz"
    zipped.write_bytes(gzip.compress(b"line\n" * 1000)[:-20])
    with pytest.raises(FileFormatError, match="damaged gzip"):
        list(stream_lines(str(zipped)))
    zipped.write_bytes(b"plain\n")
    with pytest.raises(FileFormatError, match="not gzip data"):
        list(stream_lines(str(zipped)))
    with pytest.raises(InputError, match="no such file"):
        list(stream_lines(str(tmp_path / "none.txt")))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("The cat.\nTwo.\n".encode("utf-16-le"), 1),
        ("猫坐在垫子上。\n".encode("utf-16-be"), 1),
        (b"one\ntwo\x00\n", 2),
    ],
)
def test_utf16_without_a_mark_and_nul_are_refused(tmp_path: Path, content: bytes, line: int) -> None:
    file = tmp_path / "texts.txt"
    file.write_bytes(content)
    for read in (lambda: split_lines(content, "texts.txt"), lambda: list(stream_lines(str(file)))):
        with pytest.raises(FileFormatError, match=rf"texts\.txt, line {line}: .*convert"):
            read()


def test_other_control_characters_are_part_of_a_text() -> None:
    assert split_lines(b"a\x01b\x7f\tc\n", "texts.txt") == ["a\x01b\x7f\tc"]
