r"""Columns of text: plain files, TSV, CSV and JSONL, gzipped or not, or standard input.

The grammar of a column of texts:

    SPEC   ::=  "-"                   standard input
             |  PATH                  plain text, one segment per line
             |  TABULAR ":" COLUMN    a column of a .tsv or .csv file, a key of a .jsonl file (all also .gz)
             |  "-:" COLUMN           the same from standard input; needs `input_format="tsv"`, "csv" or "jsonl"

`input_format` (text, tsv, csv, jsonl) overrides the suffix. A colon in a plain path, or in the name of an existing
file, belongs to the path.

A score depends on every character, so nothing is stripped, normalised or guessed: a line ends only at "\n" or "\r\n"
(not at U+2028, U+0085, form feed or a lone "\r"), an empty line is an empty text, the newline at the end of a file
does not start another line, and quotes have no meaning in a TSV file. In a CSV file they are those of RFC 4180
(`nlgauge.io.tables`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, TypeVar

from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.progress import log
from nlgauge.io.tables import (
    FORMATS,
    Format,
    Row,
    check_header,
    cut,
    parse_table,
    read_bytes,
    split_lines,
    stream_lines,
    suffix_format,
)

Segment = TypeVar("Segment")

#: The start of a file that nlgauge wrote.
_OWN_FORMAT = re.compile(r'\{\s*"format":\s*"(nlgauge-[\w/-]+)"')


@dataclass(frozen=True)
class TextSource:
    """One column of texts: its file (`path` None is standard input), format and name."""

    path: str | None
    format: Format = "text"
    column: str | None = None

    @property
    def name(self) -> str:
        """The file's name in error messages."""
        return "standard input" if self.path is None else self.path


def parse_source(spec: str, *, input_format: str | None = None) -> TextSource:
    """Parse a spec (see the module's grammar) without opening the file.

    >>> parse_source("out.jsonl.gz:hyp")
    TextSource(path='out.jsonl.gz', format='jsonl', column='hyp')
    >>> parse_source("10:30.txt")
    TextSource(path='10:30.txt', format='text', column=None)
    """
    forced = _checked_format(input_format)
    if not spec:
        msg = "an input has an empty name; give a path, PATH:COLUMN, or '-' for standard input"
        raise InputError(msg)
    if spec == "-":
        return TextSource(None, forced or "text")
    if ":" in spec and not os.path.exists(spec):
        if spec.startswith("-:"):
            if forced is None or forced == "text":
                msg = f"{spec!r} is a column of standard input: add input_format='tsv' (or 'csv', 'jsonl')"
                raise InputError(msg)
            return TextSource(None, forced, spec[2:] or None)
        if forced != "text" and (colon := _column_colon(spec, forced)) is not None:
            path = spec[:colon]
            return TextSource(path, forced or suffix_format(path), spec[colon + 1 :] or None)
    return TextSource(spec, forced or suffix_format(spec))


class Inputs:
    """All inputs of one run.

    Standard input can be read only once. Its content is stored here, so `-:hyp` and `-:ref` can be two columns of one
    piped table.
    """

    def __init__(self, stdin: BinaryIO | None = None) -> None:
        self._stdin = stdin
        self._piped: bytes | None = None
        self._piped_as_text = False

    def texts(self, source: TextSource) -> list[str]:
        """The column's texts, one per segment."""
        data = self._read(source)
        if source.format == "text":
            return _logged(_plain_texts(data, source), source)
        column, rows = _column(data, source)
        return _logged([row.text(column) for row in rows], source)

    def stream(self, source: TextSource) -> Iterator[str]:
        """Iterate over the column's texts; a plain text file is read in constant memory."""
        if source.format == "text" and source.path is not None:
            return stream_lines(source.path)
        return iter(self.texts(source))

    def references(self, source: TextSource) -> list[tuple[str, ...]]:
        """The column's references, one tuple per segment."""
        data = self._read(source)
        if source.format == "text":
            return _logged([(text,) for text in _plain_texts(data, source)], source)
        column, rows = _column(data, source)
        return _logged([row.texts(column) for row in rows], source)

    def _read(self, source: TextSource) -> bytes:
        if source.path is not None:
            return read_bytes(source.path)
        plain = source.format == "text"
        if self._piped_as_text or (plain and self._piped is not None):
            msg = (
                "standard input ('-') can be read as plain text only once; put one of the inputs in a file, "
                "or pipe a table with both columns: -:hyp --refs -:ref --input-format tsv (or csv, jsonl)"
            )
            raise InputError(msg)
        if self._piped is None:
            if self._stdin is None and sys.stdin is None:
                msg = "standard input ('-') is closed; pipe the texts in, or name a file"
                raise InputError(msg)
            self._piped = (sys.stdin.buffer if self._stdin is None else self._stdin).read()
        self._piped_as_text = plain
        return self._piped


class ParallelTexts(NamedTuple):
    """Texts of equal number from several files."""

    systems: dict[str, list[str]]
    """By the name of the system."""
    references: list[tuple[str, ...]] | None
    """Of each segment, from all files; None where there is no file."""
    sources: list[str] | None


def read_parallel(
    systems: Sequence[str],
    references: Sequence[str] = (),
    source: str | None = None,
    *,
    input_format: str | None = None,
) -> ParallelTexts:
    """Outputs of systems, their references and their source, each named by a spec; all must have as many segments."""
    inputs = Inputs()
    files = named_files(systems)
    outputs = {name: inputs.texts(parse_source(spec, input_format=input_format)) for name, spec in files.items()}
    columns = list(zip(files.values(), outputs.values(), strict=True))
    return ParallelTexts(outputs, *_compared_with(inputs, columns, references, source, input_format))


class CandidateTexts(NamedTuple):
    """Texts to choose from, of equal number from several files."""

    systems: list[str] | None
    """The system of each candidate, where each file has one for every segment."""
    candidates: list[tuple[str, ...]]
    """Of each segment, from all files."""
    references: list[tuple[str, ...]] | None
    sources: list[str] | None


def read_candidates(
    files: Sequence[str],
    references: Sequence[str] = (),
    source: str | None = None,
    *,
    input_format: str | None = None,
) -> CandidateTexts:
    """Candidates, their references and their source; a value of a JSONL file may be a list of candidates."""
    inputs = Inputs()
    named = named_files(files)
    groups = [inputs.references(parse_source(spec, input_format=input_format)) for spec in named.values()]
    columns = [(spec, [group[0] for group in column]) for spec, column in zip(named.values(), groups, strict=True)]
    others = _compared_with(inputs, columns, references, source, input_format)
    single = all(len(group) == 1 for column in groups for group in column)
    return CandidateTexts(list(named) if single else None, _side_by_side(groups), *others)


def _refuse_repeated(references: Sequence[str]) -> None:
    for number, spec in enumerate(references):
        if spec != "-" and spec in references[:number]:
            msg = f"the reference file {spec!r} is given twice; leave one out"
            raise RecipeError(msg)


def _compared_with(
    inputs: Inputs,
    systems: Sequence[tuple[str, Sequence[str]]],
    references: Sequence[str],
    source: str | None,
    input_format: str | None,
) -> tuple[list[tuple[str, ...]] | None, list[str] | None]:
    """References and sources, of as many segments as the systems have."""
    _refuse_repeated(references)
    groups = [inputs.references(parse_source(spec, input_format=input_format)) for spec in references]
    sources = None if source is None else inputs.texts(parse_source(source, input_format=input_format))
    columns = [*systems]
    columns += [(spec, [group[0] for group in column]) for spec, column in zip(references, groups, strict=True)]
    columns += [] if source is None or sources is None else [(source, sources)]
    _check_parallel(columns)
    return _side_by_side(groups) if groups else None, sources


def _side_by_side(groups: Sequence[Sequence[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """The texts of each segment from all files."""
    return [tuple(text for group in segment for text in group) for segment in zip(*groups, strict=True)]


def _check_parallel(columns: Sequence[tuple[str, Sequence[str]]]) -> None:
    first, expected = columns[0]
    for name, texts in columns:
        if len(texts) == len(expected):
            continue
        count = f"{len(texts)} segment{'' if len(texts) == 1 else 's'}"
        msg = f"{name!r} has {count}, but {first!r} has {len(expected)}; all files need the same number"
        (_, fewer), (longer, more) = sorted([(name, texts), (first, expected)], key=lambda column: len(column[1]))
        if not any(text.strip() for text in more[len(fewer) :]):
            msg += f". The extra lines of {longer!r} are blank"
        elif any("\r" in text for text in fewer):
            msg += r". A lone \r does not end a line"
        else:
            unit = "line" if _column_colon(longer, None) is None else "row"
            unmatched = cut(more[len(fewer)].strip(), 63)
            msg += f". First unmatched {unit}: {longer!r}, {unit} {len(fewer) + 1} ({unmatched!r})"
        raise InputError(msg)


def file_label(spec: str) -> str:
    """The name of a file in tables: without its folder, and with escapes for bytes that are not UTF-8."""
    return "stdin" if spec == "-" else printable(os.path.basename(spec) or spec)


def printable(name: str) -> str:
    r"""Escape bytes of a file name that are not UTF-8, which Python stores as half surrogates.

    >>> printable("a\udcff.txt")
    'a\\xff.txt'
    """
    try:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a half surrogate that represents no byte
        return name.encode("utf-8", "backslashreplace").decode()


def split_name(text: str) -> tuple[str, str]:
    """Name and file of `NAME=FILE`; the name is empty where there is none.

    It is part of the file's name where a file of that whole name exists, or where it holds a separator of folders.
    """
    name, equals, spec = text.partition("=")
    if not equals or not name or os.sep in name or os.path.exists(text):
        return "", text
    return printable(name), spec


def named_files(texts: Sequence[str]) -> dict[str, str]:
    """Files by the names of their systems: `NAME=FILE`, or the shortest name that tells the file from the others.

    >>> named_files(["out/system-a.txt", "b=other.txt", "scores.tsv:mt"])
    {'system-a': 'out/system-a.txt', 'b': 'other.txt', 'scores:mt': 'scores.tsv:mt'}
    >>> list(named_files(["a.txt", "a.tsv:mt", "x/out.txt", "y/out.txt", "x/c.txt", "x/c.out"]))
    ['a', 'a:mt', 'x/out', 'y/out', 'c.txt', 'c.out']
    """
    pairs = [split_name(text) for text in texts]
    specs = [spec for _, spec in pairs]
    for spec in specs:
        if specs.count(spec) > 1:
            msg = f"the file {spec!r} is given twice; give each system a file of its own"
            raise RecipeError(msg)
    forms = [[name] if name else _short_names(spec) for name, spec in pairs]
    lengths = [0] * len(forms)
    while True:
        names = [form[length] for form, length in zip(forms, lengths, strict=True)]
        clashes = [i for i, name in enumerate(names) if names.count(name) > 1]
        longer = [i for i in clashes if lengths[i] + 1 < len(forms[i])]
        if not longer:
            break
        for i in longer:
            lengths[i] += 1
    if clashes:
        msg = f"two systems are called {names[clashes[0]]!r}; give one of them another name: NAME=FILE"
        raise RecipeError(msg)
    return dict(zip(names, specs, strict=True))


#: Endings of files that are left out of names; what follows another dot may be part of a system's name (v1.5).
_ENDINGS = re.compile(r"(?<=.)\.(txt|tsv|csv|jsonl|json|out|hyp)(\.gz)?$", re.IGNORECASE)


def _short_names(spec: str) -> list[str]:
    """Names of a file from the shortest to the full one: without ending, with it, with folders."""
    if spec == "-" or spec.startswith("-:"):
        return [f"stdin{spec[1:]}"]
    colon = None if os.path.exists(spec) else _column_colon(spec, None)
    path, column = (spec, "") if colon is None else (spec[:colon], spec[colon:])
    parts = printable(path).split(os.sep)
    names = []
    for start in range(len(parts) - 1, -1, -1):
        name = os.sep.join(parts[start:])
        names += [_ENDINGS.sub("", name) + column, name + column]
    return list(dict.fromkeys([name for name in names if name] or [spec]))


def _checked_format(value: str | None) -> Format | None:
    if value is None:
        return None
    if value in FORMATS:
        return FORMATS[value]
    msg = f"input format must be one of {', '.join(FORMATS)}, got {value!r}"
    raise RecipeError(msg)


def _column_colon(spec: str, forced: Format | None) -> int | None:
    """Index of the colon between path and column; paths and columns may contain colons too."""
    colons = [index for index, char in enumerate(spec) if char == ":" and index > 0]
    if forced is None:
        colons = [index for index in colons if suffix_format(spec[:index]) != "text"]
    existing = [index for index in colons if os.path.exists(spec[:index])]
    # The suffix marks the end of the path; without one, the last colon is the best guess.
    return next(iter(existing or (colons if forced is None else colons[::-1])), None)


def _logged(segments: list[Segment], source: TextSource) -> list[Segment]:
    column = f", column {source.column}" if source.column else ""
    log.info("read %d segments from %s%s", len(segments), source.name, column)
    return segments


def _plain_texts(data: bytes, source: TextSource) -> list[str]:
    """The lines of a text file; a file that nlgauge wrote is an error."""
    lines = split_lines(data, source.name)
    own = _OWN_FORMAT.match("".join(lines[:2]))
    if own is None:
        return lines
    if own[1].startswith("nlgauge-scores-"):
        msg = f"{source.name!r} is a saved run, not texts; to compare saved runs, use: nlgauge compare {source.name}"
    else:
        msg = f"{source.name!r} is a file in the format {own[1]}, not a text file; name a text file"
    raise FileFormatError(msg)


def _column(data: bytes, source: TextSource) -> tuple[str, Iterator[Row]]:
    """The name of the source's column, and the rows of the table."""
    header, rows = parse_table(data, source.name, source.format)
    if source.column is None:
        example = f"{'-' if source.path is None else source.path}:{header[0] if header else 'NAME'}"
        names = f"its {'keys' if source.format == 'jsonl' else 'columns'} are {header!r}"
        msg = f"{source.name}: name the column to read, as in {example!r}; {names}"
        raise FileFormatError(msg)
    if source.format != "jsonl":  # in JSONL, each object has its own keys
        check_header(header, [source.column], source.name)
    return source.column, rows
