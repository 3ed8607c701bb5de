"""Tables of every kind give the same rows, from the beginning or from a mark."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extras import LazyModule

from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.large_tables import Unreadable, open_table

arrow = LazyModule("pyarrow")
parquet = LazyModule("pyarrow.parquet")

NAMES = ("mt", "ref")
ROWS = [(f"an output {index}", f"a reference {index} \u2028 \u00e9") for index in range(10)]
TABLE = arrow.table({name: [row[index] for row in ROWS] for index, name in enumerate(NAMES)})


def write_parquet(folder: Path) -> Any:
    parquet.write_table(TABLE, folder / "pairs.parquet", row_group_size=3)
    return folder / "pairs.parquet"


def write_dataset(folder: Path) -> Any:
    """As `Dataset.save_to_disk` writes it: streams of record batches, and a file that names them in order."""
    files = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    for file, part in zip(files, (TABLE.slice(0, 6), TABLE.slice(6)), strict=True):
        with arrow.ipc.new_stream(folder / file, TABLE.schema) as writer:
            writer.write_table(part, max_chunksize=2)
    state = {"_data_files": [{"filename": file} for file in files], "_indices_data_files": None}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder


def write_feather(folder: Path) -> Any:
    with arrow.ipc.new_file(folder / "pairs.feather", TABLE.schema) as writer:
        writer.write_table(TABLE)
    return folder / "pairs.feather"


def write_jsonl(folder: Path) -> Any:
    lines = [json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in ROWS]
    (folder / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder / "pairs.jsonl"


def write_tsv(folder: Path) -> Any:
    lines = ["\t".join(row) for row in [NAMES, *ROWS]]
    (folder / "pairs.tsv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    return folder / "pairs.tsv"


def write_zipped(folder: Path) -> Any:
    plain = write_tsv(folder)
    (folder / "zipped.tsv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    return folder / "zipped.tsv.gz"


def write_texts(folder: Path) -> Any:
    for index, name in enumerate(NAMES):
        (folder / name).write_text("".join(row[index] + "\n" for row in ROWS), encoding="utf-8")
    return [folder / name for name in NAMES]


def write_several(folder: Path) -> Any:
    for number, start in enumerate((0, 4, 8)):
        parquet.write_table(TABLE.slice(start, 4), folder / f"part-{number}.parquet")
    return str(folder / "part-*.parquet")


KINDS = [
    *(write_parquet, write_dataset, write_feather, write_jsonl, write_tsv, write_zipped, write_texts, write_several)
]


@pytest.mark.parametrize("write", KINDS)
def test_rows_of_every_kind_from_any_mark(tmp_path: Path, write: Callable[[Path], Any]) -> None:
    table = open_table(write(tmp_path))
    assert table.names == list(NAMES)
    assert table.count() == 10
    places = list(table.rows(NAMES))
    assert [tuple(row) for _, _, row in places] == ROWS
    for number, (source, mark, _) in enumerate(places):
        assert [tuple(row) for _, _, row in table.rows(NAMES, source, mark)] == ROWS[number:]


def test_lines_that_cannot_be_read_are_rows_with_a_reason(tmp_path: Path) -> None:
    good = b'{"mt": "a", "ref": "b"}\n'
    (tmp_path / "pairs.jsonl").write_bytes(good + b"{broken\n[1]\n" + b'{"mt": "only"}\n')
    rows = [row for _, _, row in open_table(tmp_path / "pairs.jsonl").rows(NAMES)]
    assert rows == [
        ["a", "b"],
        "the line: broken JSON (Expecting property name enclosed in double quotes at character 2) in '{broken'",
        "the line: expected one JSON object, got '[1]'",
        ["only", None],
    ]
    assert [isinstance(row, Unreadable) for row in rows] == [False, True, True, False]
    (tmp_path / "pairs.tsv").write_bytes(b"mt\tref\na\tb\na\na\xff\tb\na\0\tb\n")
    result = [row for _, _, row in open_table(tmp_path / "pairs.tsv").rows(NAMES)]
    assert result[:3] == [
        ["a", "b"],
        "the line: expected 2 tab-separated fields as in the header, got 1 in 'a'; column 'ref' is missing",
        "the line: byte 0xff is not UTF-8; convert the file to UTF-8",
    ]
    assert isinstance(result[3], Unreadable)
    assert result[3].startswith("the line: NUL character")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["missing.parquet"], "no such file"),
        (["*.nothing"], "no file matches"),
        (["pairs.csv"], ".csv tables are not supported"),
        (["no.parquet"], "cannot read .* as Parquet"),
        (["no.arrow"], "cannot read .* as Arrow"),
        (["no.jsonl"], "line 1: broken JSON"),
        (["text.txt", "pairs.parquet"], "plain text files cannot be combined"),
        ([], "no table given"),
        (["folder"], "not a saved dataset"),
        (["splits"], "a dataset with splits; name the folder of one: train, test"),
        (["shuffled"], "flatten_indices"),
        (["broken"], "does not list the dataset's files"),
    ],
)
def test_unsupported_files_are_refused(tmp_path: Path, names: list[str], message: str) -> None:
    write_parquet(tmp_path)
    for name in ("pairs.csv", "no.parquet", "no.arrow", "no.jsonl", "text.txt"):
        (tmp_path / name).write_text("no table\n", encoding="utf-8")
    for name in ("folder", "splits", "shuffled", "broken"):
        (tmp_path / name).mkdir()
    (tmp_path / "broken/state.json").write_text("{}", encoding="utf-8")
    (tmp_path / "splits/dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")
    state = {"_data_files": [], "_indices_data_files": [{"filename": "indices.arrow"}]}
    (tmp_path / "shuffled/state.json").write_text(json.dumps(state), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        open_table([str(tmp_path / name) for name in names])


def test_a_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"mt": "a", "ref": "b"}\n' * 9)
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[:-12])
    table = open_table(tmp_path / "cut.jsonl.gz")
    for read in (table.count, lambda: list(table.rows(NAMES))):
        with pytest.raises(InputError, match=r"cut\.jsonl\.gz: damaged gzip data \(Compressed file ended"):
            read()


def test_text_files_of_unequal_length(tmp_path: Path) -> None:
    for name, lines in (("mt", 3), ("ref", 2)):
        (tmp_path / name).write_text("text\n" * lines, encoding="utf-8")
    table = open_table([tmp_path / "mt", tmp_path / "ref"])
    with pytest.raises(InputError, match="same number of lines: 'mt' has 3, 'ref' has 2"):
        table.count()
    with pytest.raises(InputError, match="'ref' has fewer lines"):
        list(table.rows(NAMES))


def test_a_tsv_column_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("hyp\tref\thyp\na\tb\tc\n", encoding="utf-8")
    table = open_table(tmp_path / "a.tsv")
    with pytest.raises(FileFormatError, match="line 1, column 'hyp': 2 columns have this name"):
        list(table.rows(["hyp", "ref"]))
