"""pyarrow and ray, which are installed only where they are wanted.

Tables of texts: Parquet, Arrow (Hugging Face datasets on disk), JSONL, TSV, plain text files side by side.

A table may be larger than memory. Rows are read from a *mark* on: the number of a row, or the bytes where lines
start, so that a worker that needs rows 40,000,000 to 40,020,000 does not read those before.

From what a caller names (files, patterns, folders) to one table.
"""

from __future__ import annotations

import glob
import gzip
import importlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias, cast

from nlgauge.apps.cluster.columns import Unreadable
from nlgauge.errors import FileFormatError, InputError, MissingExtraError
from nlgauge.io.telemetry import REPORTING_PACKAGES, import_silenced


def package(name: str) -> Any:
    """A module of pyarrow or ray."""
    load = import_silenced if name.partition(".")[0] in REPORTING_PACKAGES else importlib.import_module
    try:
        return load(name)
    except ImportError as error:
        msg = f"runs over many shards need {name.partition('.')[0]}: pip install 'nlgauge[cluster]'"
        raise MissingExtraError(msg) from error


#: Where to read on from; plain numbers.
Mark: TypeAlias = tuple[int, ...]

#: Values of the columns that were asked for, or why there are none.
Row: TypeAlias = "Sequence[Any] | Unreadable"

_BOM = b"\xef\xbb\xbf"
_BATCH = 4096


class Source(Protocol):
    """One or more files that are read together."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""

    def count(self) -> int:
        """Number of rows."""

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        """Each row from a mark on, with its own mark."""


class ParquetFile:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.paths: tuple[Path, ...] = (path,)
        arrow = package("pyarrow")
        try:
            # Not mapped into memory: a file that is overwritten meanwhile would end the process (SIGBUS).
            self._file = package("pyarrow.parquet").ParquetFile(path)
        except (arrow.ArrowInvalid, OSError) as error:
            msg = f"{str(path)!r} cannot be read as Parquet: {error}"
            raise FileFormatError(msg) from error
        self.names: tuple[str, ...] = tuple(self._file.schema_arrow.names)

    def count(self) -> int:
        return int(self._file.metadata.num_rows)

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        wanted, seen = (mark or (0,))[0], 0
        groups: list[int] = []
        for group in range(self._file.metadata.num_row_groups):
            size = self._file.metadata.row_group(group).num_rows
            if groups or seen + size > wanted:
                groups.append(group)
            else:
                seen += size
        for batch in self._file.iter_batches(_BATCH, row_groups=groups, columns=list(names)):
            if seen + len(batch) > wanted:
                yield from _numbered(batch, names, seen, wanted)
            seen += len(batch)


class ArrowFile:
    """A file of Arrow record batches: what `Dataset.save_to_disk` writes, also Feather."""

    def __init__(self, path: Path) -> None:
        self.paths: tuple[Path, ...] = (path,)
        arrow, ipc = package("pyarrow"), package("pyarrow.ipc")
        try:
            mapped = arrow.memory_map(str(path))
            try:
                self._table = ipc.open_stream(mapped).read_all()
            except arrow.ArrowInvalid:
                self._table = ipc.open_file(mapped).read_all()
        except (arrow.ArrowInvalid, OSError) as error:
            msg = f"{str(path)!r} cannot be read as Arrow: {error}"
            raise FileFormatError(msg) from error
        self.names: tuple[str, ...] = tuple(self._table.column_names)

    def count(self) -> int:
        return int(self._table.num_rows)

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        seen = (mark or (0,))[0]
        for batch in self._table.select(list(names)).slice(seen).to_batches(max_chunksize=_BATCH):
            yield from _numbered(batch, names, seen, seen)
            seen += len(batch)


def _numbered(batch: Any, names: Sequence[str], start: int, wanted: int) -> Iterator[tuple[Mark, Row]]:
    skipped = max(0, wanted - start)
    columns = [batch.column(name).slice(skipped).to_pylist() for name in names]
    for number, values in enumerate(zip(*columns, strict=True), start=start + skipped):
        yield (number,), values


class _Lines:
    """A file of lines, a row each."""

    def __init__(self, path: Path) -> None:
        self.paths: tuple[Path, ...] = (path,)

    def count(self) -> int:
        with _opened(self.paths[0]) as file:
            return _count_lines(file)

    def lines(self, mark: Mark | None) -> Iterator[tuple[int, bytes]]:
        """Each line with the byte that it starts at."""
        with _opened(self.paths[0]) as file:
            yield from _lines(file, (mark or (0,))[0])


class JsonLines(_Lines):
    """An object per line."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        first = next((line for _, line in self.lines(None)), b"")
        found = _json_object(first)
        if isinstance(found, Unreadable):
            msg = f"{str(path)!r}, line 1: {found}"
            raise FileFormatError(msg)
        self.names: tuple[str, ...] = tuple(found)

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        for start, line in self.lines(mark):
            found = _json_object(line)
            row: Row = found if isinstance(found, Unreadable) else [found.get(name) for name in names]
            yield (start,), row


def _json_object(line: bytes) -> dict[str, Any] | Unreadable:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Unreadable("the line is no JSON")
    return found if isinstance(found, dict) else Unreadable(f"the line is no JSON object, but {type(found).__name__}")


class TabSeparated(_Lines):
    """A header, then fields between tabs; a quote is a quote."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        start, header = next(self.lines(None), (0, b""))  # from 3 on behind a byte-order mark
        self._start = start + len(header)
        found = _decoded(header)
        if isinstance(found, Unreadable) or not found:
            msg = f"{str(path)!r}, line 1: expected names of columns between tabs, got {found or 'an empty file'}"
            raise FileFormatError(msg)
        self.names: tuple[str, ...] = tuple(found.split("\t"))

    def count(self) -> int:
        return super().count() - 1

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        places = [self.names.index(name) for name in names]
        for start, line in self.lines(mark or (self._start,)):
            text = _decoded(line)
            fields = [] if isinstance(text, Unreadable) else text.split("\t")
            if isinstance(text, Unreadable):
                yield (start,), text
            elif len(fields) != len(self.names):
                yield (start,), Unreadable(f"the line has {len(fields)} fields, and the header {len(self.names)}")
            else:
                yield (start,), [fields[place] for place in places]


class TextFiles:
    """Plain text files side by side: each is a column under its file's name, each line a row."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths: tuple[Path, ...] = tuple(paths)
        self.names: tuple[str, ...] = tuple(path.name for path in paths)
        if len(set(self.names)) < len(self.names):
            msg = f"text files of a table must differ in their names, got {', '.join(self.names)}"
            raise InputError(msg)

    def count(self) -> int:
        counts = {path.name: _Lines(path).count() for path in self.paths}
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
            msg = f"text files of a table must have equally many lines; {found}"
            raise InputError(msg)
        return next(iter(counts.values()))

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        with ExitStack() as stack:
            files = [stack.enter_context(_opened(self.paths[self.names.index(name)])) for name in names]
            streams = [_lines(file, start) for file, start in zip(files, mark or [0] * len(files), strict=True)]
            number = 0
            while True:
                found = [next(stream, None) for stream in streams]
                there = [one for one in found if one is not None]
                if not there:
                    return
                if len(there) < len(found):
                    ended = names[found.index(None)]
                    msg = f"{ended!r} ends {number} lines after the others' row began; the files must be equally long"
                    raise InputError(msg)
                texts = [_decoded(line) for _, line in there]
                wrong = next((text for text in texts if isinstance(text, Unreadable)), None)
                yield tuple(start for start, _ in there), texts if wrong is None else wrong
                number += 1


def _opened(path: Path) -> IO[bytes]:
    try:
        if path.suffix.lower() == ".gz":
            return cast("IO[bytes]", gzip.open(path, "rb"))
        return open(path, "rb")
    except OSError as error:
        msg = f"cannot read {str(path)!r}: {error.strerror or error}"
        raise InputError(msg) from error


def _lines(file: IO[bytes], start: int) -> Iterator[tuple[int, bytes]]:
    """Lines with the byte that each starts at; a line ends at a line feed and nowhere else."""
    with _named(file):
        if start:
            file.seek(start)
        elif file.read(len(_BOM)) == _BOM:
            start = len(_BOM)
        else:
            file.seek(0)
        for line in file:
            yield start, line
            start += len(line)


def _count_lines(file: IO[bytes]) -> int:
    count, last = 0, b"\n"
    with _named(file):
        while chunk := file.read(1 << 20):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")


@contextmanager
def _named(file: IO[bytes]) -> Iterator[None]:
    """Say which file cannot be read: a .gz that was cut off is noticed at its end only."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        msg = f"cannot read {str(file.name)!r}: {error}"
        raise InputError(msg) from error


def _decoded(line: bytes) -> str | Unreadable:
    body = line.removesuffix(b"\n")
    body = body.removesuffix(b"\r") if len(body) < len(line) else body
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        return Unreadable(f"byte {body[error.start]:#04x} of the line is not UTF-8")


#: A file, a folder that `Dataset.save_to_disk` wrote, a pattern of file names; or several of them.
TableGiven: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_KINDS: Mapping[str, Callable[[Path], Source]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
    ".tsv": TabSeparated,
}
#: What must be turned into one of these first.
_NOT_READ = {".csv", ".json", ".xlsx", ".zip", ".npz"}


@dataclass(frozen=True)
class Table:
    """Files one below the other, with the columns that all of them have."""

    sources: tuple[Source, ...]

    @property
    def names(self) -> list[str]:
        """Columns."""
        return [name for name in self.sources[0].names if all(name in source.names for source in self.sources)]

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [path for source in self.sources for path in source.paths]

    def count(self) -> int:
        """Number of rows."""
        return sum(source.count() for source in self.sources)

    def rows(
        self, names: Sequence[str], source: int = 0, mark: Mark | None = None
    ) -> Iterator[tuple[int, Mark, Row]]:
        """Rows from a mark of a source on, each with its place."""
        for number in range(source, len(self.sources)):
            for at, row in self.sources[number].rows(names, mark if number == source else None):
                yield number, at, row


def open_table(given: TableGiven) -> Table:
    """The table that a caller names."""
    several = [given] if isinstance(given, str | os.PathLike) else list(given)
    paths = [path for one in several for path in _files(os.fspath(one))]
    if not paths:
        msg = "no table was named; give a file, a pattern of files or the folder of a dataset"
        raise InputError(msg)
    kinds = {_kind(path) for path in paths}
    if kinds == {None}:
        return Table((TextFiles(paths),))
    if None in kinds:
        texts = ", ".join(repr(path.name) for path in paths if _kind(path) is None)
        msg = f"text files stand side by side and other tables one below the other; not both: {texts}"
        raise InputError(msg)
    return Table(tuple(kind(path) for path in paths if (kind := _kind(path)) is not None))


def _kind(path: Path) -> Callable[[Path], Source] | None:
    """How a file is read; None: as plain text."""
    name = path.name.lower().removesuffix(".gz")
    suffix = Path(name).suffix
    if suffix in _NOT_READ:
        msg = f"{str(path)!r}: a table is Parquet, Arrow, JSONL, TSV or text files; turn {suffix} into one of them"
        raise InputError(msg)
    return _KINDS.get(suffix)


def _files(given: str) -> list[Path]:
    if glob.has_magic(given) and not os.path.exists(given):
        found = sorted(glob.glob(given, recursive=True))
        if not found:
            msg = f"no file is called like {given!r}"
            raise InputError(msg)
        return [Path(path).absolute() for path in found]
    path = Path(given).absolute()
    if path.is_dir():
        return _dataset_files(path)
    if not path.exists():
        msg = f"no such file: {given!r}"
        raise InputError(msg)
    return [path]


def _dataset_files(folder: Path) -> list[Path]:
    """Files of a Hugging Face dataset on disk, in the order that its `state.json` has."""
    splits = folder / "dataset_dict.json"
    if splits.is_file():
        names = json.loads(splits.read_text(encoding="utf-8")).get("splits", [])
        msg = f"{str(folder)!r} is a dataset with splits; name the folder of one: {', '.join(names)}"
        raise InputError(msg)
    state = folder / "state.json"
    if not state.is_file():
        msg = f"{str(folder)!r} is a folder, but no dataset on disk (it has no state.json); name its files: FOLDER/*"
        raise InputError(msg)
    try:
        record = json.loads(state.read_text(encoding="utf-8"))
        files = [folder / one["filename"] for one in record["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{str(state)!r} does not name the files of a dataset ({error!r}); save it again with save_to_disk()"
        raise FileFormatError(msg) from error
    if record.get("_indices_data_files") or record.get("_indices_files"):
        msg = f"the dataset in {str(folder)!r} is shuffled or filtered by indices; call flatten_indices() and save it"
        raise InputError(msg)
    return files
