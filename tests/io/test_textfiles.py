"""Columns of text: which file and column a spec names, and that what is read is what was written."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.textfiles import Inputs, TextSource, named_files, parse_source, read_parallel, split_name

#: Characters at which str.splitlines, universal newlines or a careless reader would break a line.
TRAPS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\ufeff\xa0 \"'\\"

LINE = st.text(st.one_of(st.sampled_from(TRAPS), st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")))


def saved(folder: Path, name: str, data: bytes | str) -> TextSource:
    """Write a file; `name` may carry a column behind a colon."""
    raw = data.encode() if isinstance(data, str) else data
    file, _, column = name.partition(":")
    (folder / file).write_bytes(gzip.compress(raw) if file.endswith(".gz") else raw)
    return parse_source(f"{folder / file}:{column}" if column else str(folder / file))


# --- specs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "input_format", "expected"),
    [
        ("out.txt", None, TextSource("out.txt", "text", None)),
        ("out.txt.gz", None, TextSource("out.txt.gz", "text", None)),
        ("out", None, TextSource("out", "text", None)),
        ("-", None, TextSource(None, "text", None)),
        ("-", "tsv", TextSource(None, "tsv", None)),
        ("-:hyp", "tsv", TextSource(None, "tsv", "hyp")),
        ("-:hyp", "jsonl", TextSource(None, "jsonl", "hyp")),
        ("out.tsv:translation", None, TextSource("out.tsv", "tsv", "translation")),
        ("out.tsv.gz:a b", None, TextSource("out.tsv.gz", "tsv", "a b")),
        ("out.jsonl.gz:hyp", None, TextSource("out.jsonl.gz", "jsonl", "hyp")),
        ("OUT.TSV:hyp", None, TextSource("OUT.TSV", "tsv", "hyp")),
        ("out.csv:hyp", None, TextSource("out.csv", "csv", "hyp")),
        ("out.csv.gz:a,b", None, TextSource("out.csv.gz", "csv", "a,b")),
        ("csv", None, TextSource("csv", "text", None)),
        ("out.tsv", None, TextSource("out.tsv", "tsv", None)),
        ("out.tsv:", None, TextSource("out.tsv", "tsv", None)),
        ("out.tsv:model:7b", None, TextSource("out.tsv", "tsv", "model:7b")),
        ("run:3/out.tsv:hyp", None, TextSource("run:3/out.tsv", "tsv", "hyp")),
        ("10:30.txt", None, TextSource("10:30.txt", "text", None)),
        ("10:30.txt", "text", TextSource("10:30.txt", "text", None)),
        ("out.tsv:hyp", "text", TextSource("out.tsv:hyp", "text", None)),
        ("out.tsv", "text", TextSource("out.tsv", "text", None)),
        ("run:3/out.txt:hyp", "tsv", TextSource("run:3/out.txt", "tsv", "hyp")),
        ("out.tsv:hyp", "jsonl", TextSource("out.tsv", "jsonl", "hyp")),
    ],
)
def test_spec_names_path_format_and_column(
    spec: str, input_format: str | None, expected: TextSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_source(spec, input_format=input_format) == expected


def test_existing_file_with_a_colon_wins(tmp_path: Path) -> None:
    name = str(tmp_path / "out.tsv:hyp")
    assert parse_source(name).path == str(tmp_path / "out.tsv")
    Path(name).write_text("a\n", encoding="utf-8")
    assert parse_source(name) == TextSource(name, "text", None)
    assert Inputs().texts(parse_source(name)) == ["a"]


def test_existing_path_decides_where_the_column_starts(tmp_path: Path) -> None:
    source = tmp_path / "out.txt"
    source.write_text("a:b\nx\n", encoding="utf-8")
    parsed = parse_source(f"{source}:a:b", input_format="tsv")
    assert parsed == TextSource(str(source), "tsv", "a:b")
    assert Inputs().texts(parsed) == ["x"]


def test_invalid_file_specs_are_refused() -> None:
    with pytest.raises(InputError, match="'-:hyp' is a column of standard input: add input_format='tsv'"):
        parse_source("-:hyp")
    with pytest.raises(InputError, match="empty name; give a path"):
        parse_source("")
    with pytest.raises(RecipeError, match="input format must be one of text, tsv, csv, jsonl, got 'xml'"):
        parse_source("out.xml", input_format="xml")


# --- plain text ----------------------------------------------------------------------------------------


@given(lines=st.lists(LINE, min_size=1), crlf=st.booleans(), bom=st.booleans(), zipped=st.booleans())
def test_what_is_read_is_what_was_written(lines: list[str], crlf: bool, bom: bool, zipped: bool) -> None:
    # A "\r" before "\n" is part of the line end, and a BOM at the start is no text: neither can be told apart.
    lines = [line.rstrip("\r") for line in lines]
    if not bom:
        lines[0] = lines[0].lstrip("\ufeff")
    raw = "".join(line + ("\r\n" if crlf else "\n") for line in lines).encode()
    raw = b"\xef\xbb\xbf" * bom + raw
    stdin = io.BytesIO(gzip.compress(raw) if zipped else raw)
    assert Inputs(stdin).texts(parse_source("-")) == lines


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\r", ["a\r"]),
        (b"a\r\r\n", ["a\r"]),
        (b"\n", [""]),
        (b"a\n\n\nb\n\n", ["a", "", "", "b", ""]),
        (b" a \t\n", [" a \t"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("e\u0301\u2028x\x85y\x0bz\x0c\n".encode(), ["e\u0301\u2028x\x85y\x0bz\x0c"]),
    ],
)
def test_lines_end_at_newline_only(data: bytes, expected: list[str], tmp_path: Path) -> None:
    for name in ("out.txt", "out.txt.gz"):
        source = saved(tmp_path, name, data)
        assert Inputs().texts(source) == expected
        assert Inputs().references(source) == [(text,) for text in expected]


def test_gzip_members_are_joined_and_gzip_needs_no_name() -> None:
    stdin = io.BytesIO(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert Inputs(stdin).texts(parse_source("-")) == ["a", "b"]


# --- TSV and JSONL -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["tsv", "tsv.gz"])
def test_tsv_column(suffix: str, tmp_path: Path) -> None:
    data = 'id\thyp\tref\n1\t"quoted\ta\rb\n2\t\t "x" \n'
    assert Inputs().texts(saved(tmp_path, f"out.{suffix}:hyp", data)) == ['"quoted', ""]
    assert Inputs().references(saved(tmp_path, f"out.{suffix}:ref", data)) == [("a\rb",), (' "x" ',)]
    assert Inputs().texts(saved(tmp_path, f"out.{suffix}:id", data)) == ["1", "2"]


def test_tsv_with_bom_crlf_and_one_column_with_empty_texts(tmp_path: Path) -> None:
    assert Inputs().texts(saved(tmp_path, "out.tsv:hyp", b"\xef\xbb\xbfhyp\r\n\r\nb\r\n")) == ["", "b"]


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_jsonl_key(suffix: str, tmp_path: Path) -> None:
    data = '{"hyp": "a\\nb\\u2028", "ref": ["x", ""]}\n{"ref": "y", "n": 1, "hyp": ""}'
    assert Inputs().texts(saved(tmp_path, f"out.{suffix}:hyp", data)) == ["a\nb\u2028", ""]
    assert Inputs().references(saved(tmp_path, f"out.{suffix}:ref", data)) == [("x", ""), ("y",)]


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), ascii_only=st.booleans())
def test_any_text_survives_jsonl(texts: list[str], ascii_only: bool) -> None:
    raw = "".join(json.dumps({"hyp": text}, ensure_ascii=ascii_only) + "\n" for text in texts).encode()
    assert Inputs(io.BytesIO(raw)).texts(parse_source("-:hyp", input_format="jsonl")) == texts


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("e.txt", b"", "e.txt: empty; expected at least one line"),
        ("e.txt", b"\xef\xbb\xbf", "e.txt: empty; expected at least one line"),
        ("e.tsv:hyp", b"", "e.tsv: empty; expected at least one line"),
        ("e.jsonl:hyp", b"", "e.jsonl: empty; expected at least one line"),
        ("e.txt.gz", b"", "e.txt.gz: empty; expected at least one line"),
        ("u.txt", b"a\nb\n\xe4\n", "u.txt, line 3: byte 0xe4 is not UTF-8; convert the file to UTF-8"),
        ("u.txt", "ab".encode("utf-16"), "line 1: byte 0xff is not UTF-8; it looks like UTF-16; convert it to"),
        (
            "t.tsv:hyp",
            "id\thyp\n1\ta\n2\tb\tc\n",
            "t.tsv, line 3: expected 2 tab-separated fields as in the header, got 3 in '2\\tb\\tc'",
        ),
        ("t.tsv:hyp", "id\thyp\n1\ta\n\n", "t.tsv, line 3: expected 2 tab-separated fields as in the header, got 1"),
        ("t.tsv:x", "id\thyp\n1\ta\n", "column 'x': no such column; the header has ['id', 'hyp']"),
        ("t.tsv:a", "a\ta\n1\t2\n", "t.tsv, line 1, column 'a': 2 columns have this name; the header has ['a', 'a']"),
        ("t.tsv", "id\thyp\n1\ta\n", "t.tsv:id'; its columns are ['id', 'hyp']"),
        ("t.tsv:hyp", "id\thyp\n", "t.tsv: a header but no rows"),
        ("j.jsonl:h", '{"h": "a"}\n{"h": \n', "line 2: broken JSON (Expecting value at character 7) in '{\"h\": '"),
        ("j.jsonl:h", '{"h": "a"}\n\n', "j.jsonl, line 2: broken JSON (Expecting value at character 1) in ''"),
        ("j.jsonl:h", '["a"]\n', "j.jsonl, line 1: expected one JSON object per line, got '[\"a\"]'"),
        ("j.jsonl:h", '{"h": ' + "[" * 100_000, "j.jsonl, line 1: unreadable JSON ("),
        ("j.jsonl:h", '{"h": ' + "1" * 10_000 + "}", "j.jsonl, line 1: unreadable JSON ("),
        ("j.jsonl:h", '{"x": 1, "y": 2}', "line 1, column 'h': no such column; the row has ['x', 'y']"),
        ("j.jsonl:h", '{"h": "a", "h": "b"}', "j.jsonl, line 1, column 'h': the object has this key more than once"),
        ("j.jsonl", '{"x": 1, "y": 2}', "j.jsonl:x'; its keys are ['x', 'y']"),
        ("j.jsonl", "{}", "j.jsonl:NAME'; its keys are []"),
        ("j.jsonl:h", '{"h": "\\ud83d"}', "j.jsonl, line 1, column 'h': half of a surrogate pair"),
    ],
)  # fmt: skip
def test_unreadable_files_are_refused(name: str, data: bytes | str, message: str, tmp_path: Path) -> None:
    source = saved(tmp_path, name, data)
    for read in (Inputs().texts, Inputs().references):
        with pytest.raises(FileFormatError) as caught:
            read(source)
        assert message in str(caught.value)
        assert str(caught.value).startswith(str(tmp_path))


@pytest.mark.parametrize("value", ["3", "2.5", "null", "true", '{"a": 1}', "[]", '["a", 1]', "[[]]"])
def test_a_value_that_is_no_text(value: str, tmp_path: Path) -> None:
    source = saved(tmp_path, "j.jsonl:h", f'{{"h": "a"}}\n{{"h": {value}}}\n')
    with pytest.raises(FileFormatError) as caught:
        Inputs().texts(source)
    assert str(caught.value) == f"{tmp_path}/j.jsonl, line 2, column 'h': expected a string, got {value}"
    with pytest.raises(
        FileFormatError, match="line 2, column 'h': expected a string or a non-empty list of"
    ) as caught:
        Inputs().references(source)
    assert str(caught.value).endswith(f"got {value}")


def test_a_list_is_for_references_only(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"line 1, column 'h': expected a string, got .*long.*\.\.\.$"):
        Inputs().texts(saved(tmp_path, "j.jsonl:h", json.dumps({"h": ["long " * 50]})))


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file: '.*missing.txt'$"):
        Inputs().texts(parse_source(str(tmp_path / "missing.txt")))
    with pytest.raises(InputError, match="is a directory; name a file"):
        Inputs().texts(parse_source(str(tmp_path)))
    with pytest.raises(InputError, match="cannot read 'a\\\\x00b': embedded null"):
        Inputs().texts(parse_source("a\x00b"))
    saved(tmp_path, "out.txt", "a\n")
    with pytest.raises(InputError, match=r"out.txt:hyp'; to read .*out.txt', rename it .* or add input_format='tsv'"):
        Inputs().texts(parse_source(str(tmp_path / "out.txt:hyp")))


@pytest.mark.parametrize("cut", [3, 12, 20, -4])
def test_damaged_gzip(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    path.write_bytes(gzip.compress(b"some text\n" * 20)[:cut])
    with pytest.raises(FileFormatError, match=r"out.txt.gz: damaged gzip data \(.*\); compress the file again"):
        Inputs().texts(parse_source(str(path)))


def test_gzip_in_name_only(tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    path.write_bytes(b"plain\n")
    with pytest.raises(FileFormatError, match="not gzip data, despite its name; it starts with b'plai'"):
        Inputs().texts(parse_source(str(path)))


# --- standard input ------------------------------------------------------------------------------------


def test_two_columns_of_one_pipe() -> None:
    inputs = Inputs(io.BytesIO(b"hyp\tref\na\tx\nb\ty\n"))
    assert inputs.texts(parse_source("-:hyp", input_format="tsv")) == ["a", "b"]
    assert inputs.references(parse_source("-:ref", input_format="tsv")) == [("x",), ("y",)]
    with pytest.raises(FileFormatError, match=r"standard input, line 1, column 'z': .* has \['hyp', 'ref'\]"):
        inputs.texts(parse_source("-:z", input_format="tsv"))
    with pytest.raises(FileFormatError, match=r"standard input: name the column to read, as in '-:hyp'"):
        inputs.texts(parse_source("-", input_format="tsv"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (TextSource(None), TextSource(None)),
        (TextSource(None), TextSource(None, "tsv", "a")),
        (TextSource(None, "tsv", "a"), TextSource(None)),
    ],
)
def test_plain_standard_input_is_read_once(first: TextSource, second: TextSource) -> None:
    inputs = Inputs(io.BytesIO(b"a\nb\n"))
    inputs.texts(first)
    with pytest.raises(InputError, match=r"standard input \('-'\) can be read as plain text only once"):
        inputs.references(second)


def test_standard_input_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\rb\n")))
    assert Inputs().texts(parse_source("-")) == ["a\rb"]


def test_parallel_files_keep_names_with_colons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("10:30.txt", "a\nb\n"), ("r:1.txt", "c\nd\n"), ("s:1", "e\nf\n"), ("short:1", "g\n")):
        Path(name).write_text(text, encoding="utf-8")
    texts = read_parallel(["10:30.txt"], ["r:1.txt", "10:30.txt"], "s:1")
    assert texts.systems == {"10:30": ["a", "b"]}
    assert texts.references == [("c", "a"), ("d", "b")]
    assert texts.sources == ["e", "f"]
    assert read_parallel(["10:30.txt"], source="s:1").references is None
    for short in ({"references": ["short:1"]}, {"source": "short:1"}):
        with pytest.raises(InputError, match=r"'short:1' has 1 segment, but '10:30\.txt' has 2"):
            read_parallel(["10:30.txt"], **short)  # type: ignore[arg-type]


def test_why_files_are_not_parallel_is_said_where_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.txt", b"a\nb\n"), ("blank.txt", b"a\nb\n\n \n"), ("mac.txt", b"a\rb\n")):
        Path(name).write_bytes(text)
    for other, why in (("blank.txt", "The extra lines of 'blank.txt' are blank"), ("mac.txt", "A lone")):
        with pytest.raises(InputError, match=why):
            read_parallel(["a.txt"], [other])


def test_systems_have_the_shortest_names_that_tell_their_files_apart(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "out.txt").write_text("a\n", encoding="utf-8")
    both = [str(tmp_path / folder / "out.txt") for folder in ("one", "two")]
    assert list(read_parallel(both[:1]).systems) == ["out"]
    assert list(read_parallel(both).systems) == ["one/out", "two/out"]
    assert list(read_parallel([f"base={both[0]}", both[1]]).systems) == ["base", "out"]
    with pytest.raises(RecipeError, match="given twice"):
        read_parallel([both[0], both[0]])
    with pytest.raises(RecipeError, match="two systems are called 'base'"):
        read_parallel([f"base={path}" for path in both])


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["system-a.txt", "out/b.TXT.gz", "c.en", "v1.5"], ["system-a", "b", "c.en", "v1.5"]),
        (["a.txt", "a.tsv", "b.txt"], ["a.txt", "a.tsv", "b"]),
        (["x/a.txt", "y/a.tsv"], ["a.txt", "a.tsv"]),
        (["x/1/a.txt", "y/1/a.txt", "a.txt"], ["x/1/a", "y/1/a", "a.txt"]),
        (["t.tsv:mt", "t.tsv:human", "t.csv:mt", "-"], ["t.tsv:mt", "t:human", "t.csv:mt", "stdin"]),
        (["a=b.txt", "a.txt"], ["a", "a.txt"]),
        (["x/a=b.txt", ".txt"], ["a=b", ".txt"]),
    ],
)
def test_names_drop_endings_and_folders_where_no_other_file_has_the_name(files: list[str], names: list[str]) -> None:
    assert list(named_files(files)) == names


def test_a_file_whose_name_holds_an_equals_sign_is_not_taken_for_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b.txt").write_text("a\n", encoding="utf-8")
    assert named_files(["a=b.txt"]) == {"a=b": "a=b.txt"}
    assert split_name("c=b.txt") == ("c", "b.txt")


def test_a_misspelt_file_name_suggests_a_file_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "system-a.txt").write_text("a\n", encoding="utf-8")
    path = str(tmp_path / "sytem-a.txt")
    (tmp_path / "russian.txt").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"no such file: '.*missing.txt'$"):
        read_parallel([str(tmp_path / "missing.txt")])
    with pytest.raises(InputError, match=r"no such file: '.*sytem-a.txt'; did you mean '.*/system-a.txt'\?"):
        read_parallel([path])
    with pytest.raises(InputError, match=r"the folder '.*nowhere' does not exist"):
        read_parallel([str(tmp_path / "nowhere" / "a.txt")])
