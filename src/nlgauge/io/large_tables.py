"""Tables that may be larger than memory: Parquet, Arrow (Hugging Face datasets on disk), JSONL, TSV, text files.

Rows are read from a *mark* on: the number of a row, or the byte offsets of lines. So a worker that needs rows
40,000,000 to 40,020,000 skips those before. An unreadable row does not end the reading: it is replaced by the reason.
Several plain text files are the columns of one table; several files of other kinds are its consecutive rows.
"""

from __future__ import annotations

import glob
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.packages import require
from nlgauge.io.tables import check_count, check_header, count_lines, first_line, json_object, line_text, lines_from


class Unreadable(str):
    """The reason why a row, or one of its values, cannot be scored."""


#: The position where reading continues, as plain numbers.
Mark: TypeAlias = tuple[int, ...]

#: Values of the requested columns, or the reason why there are none.
Row: TypeAlias = "Sequence[Any] | Unreadable"

T = TypeVar("T")

_BATCH = 4096
#: The name of a line in reasons, which are stored with the number of the row.
_LINE = "the line"


class Source(ABC):
    """One or more files that are read together."""

    def __init__(self, *paths: Path, names: Iterable[str]) -> None:
        self.paths = paths
        self.names = tuple(names)

    @abstractmethod
    def count(self) -> int:
        """Number of rows."""

    @abstractmethod
    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        """Iterate over the rows from a mark on, each with its own mark."""


class ParquetFile(Source):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        # Not mapped into memory: if the file were overwritten meanwhile, the process would crash (SIGBUS).
        self._file = _open_arrow(path, "Parquet", require("pyarrow.parquet", "cluster").ParquetFile)
        super().__init__(path, names=self._file.schema_arrow.names)

    def count(self) -> int:
        return int(self._file.metadata.num_rows)

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        first, row = (mark or (0,))[0], 0
        groups: list[int] = []
        for group in range(self._file.metadata.num_row_groups):
            size = self._file.metadata.row_group(group).num_rows
            if groups or row + size > first:
                groups.append(group)
            else:
                row += size
        for batch in self._file.iter_batches(_BATCH, row_groups=groups, columns=list(names)):
            if row + len(batch) > first:
                yield from _number_rows(batch, names, row, first)
            row += len(batch)


class ArrowFile(Source):
    """A file of Arrow record batches, as written by `Dataset.save_to_disk`, or a Feather file."""

    def __init__(self, path: Path) -> None:
        self._table = _open_arrow(path, "Arrow", _read_batches)
        super().__init__(path, names=self._table.column_names)

    def count(self) -> int:
        return int(self._table.num_rows)

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        row = (mark or (0,))[0]
        for batch in self._table.select(list(names)).slice(row).to_batches(max_chunksize=_BATCH):
            yield from _number_rows(batch, names, row, row)
            row += len(batch)


def _open_arrow(path: Path, kind: str, read: Callable[[Path], Any]) -> Any:
    try:
        return read(path)
    except (require("pyarrow", "cluster").ArrowInvalid, OSError) as error:
        msg = f"cannot read {str(path)!r} as {kind}: {error}"
        raise FileFormatError(msg) from error


def _read_batches(path: Path) -> Any:
    arrow, ipc = require("pyarrow", "cluster"), require("pyarrow.ipc", "cluster")
    mapped = arrow.memory_map(str(path))
    try:
        return ipc.open_stream(mapped).read_all()
    except arrow.ArrowInvalid:
        return ipc.open_file(mapped).read_all()


def _number_rows(batch: Any, names: Sequence[str], start: int, first: int) -> Iterator[tuple[Mark, Row]]:
    skipped = max(0, first - start)
    columns = [batch.column(name).slice(skipped).to_pylist() for name in names]
    for number, values in enumerate(zip(*columns, strict=True), start=start + skipped):
        yield (number,), values


class _Lines(Source):
    """A file with one row per line."""

    def __init__(self, path: Path, *, names: Iterable[str], start: int = 0) -> None:
        super().__init__(path, names=names)
        self._start = start

    def count(self) -> int:
        return count_lines(str(self.paths[0]))

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        parse = self._parser(names)
        for start, line in lines_from(str(self.paths[0]), (mark or (self._start,))[0]):
            yield (start,), _parse_row(parse, line)

    @abstractmethod
    def _parser(self, names: Sequence[str]) -> Callable[[bytes], Sequence[Any]]:
        """A function that reads the values of some columns from a line."""


def _parse_row(parse: Callable[[T], Sequence[Any]], content: T) -> Row:
    try:
        return parse(content)
    except FileFormatError as error:
        return Unreadable(error)


class JsonLines(_Lines):
    """A file with one JSON object per line."""

    def __init__(self, path: Path) -> None:
        place = f"{path}, line 1"
        super().__init__(path, names=json_object(line_text(first_line(str(path))[1], place), place))

    def _parser(self, names: Sequence[str]) -> Callable[[bytes], Sequence[Any]]:
        def parse(line: bytes) -> list[Any]:
            record = json_object(line_text(line, _LINE), _LINE, what="one JSON object")
            return [record.get(name) for name in names]

        return parse


class TabSeparated(_Lines):
    """A TSV file with a header; quotes have no special meaning."""

    def __init__(self, path: Path) -> None:
        start, header = first_line(str(path))
        names = line_text(header, f"{path}, line 1").split("\t")
        super().__init__(path, names=names, start=start + len(header))

    def count(self) -> int:
        return super().count() - 1

    def _parser(self, names: Sequence[str]) -> Callable[[bytes], Sequence[Any]]:
        check_header(self.names, names, str(self.paths[0]))
        indices = [self.names.index(name) for name in names]

        def parse(line: bytes) -> list[str]:
            fields = line_text(line, _LINE).split("\t")
            check_count(fields, self.names, _LINE)
            return [fields[index] for index in indices]

        return parse


class TextFiles(Source):
    """Plain text files as one table: each file is a column with the file's name, each line a row."""

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__(*paths, names=[path.name for path in paths])
        if len(set(self.names)) < len(self.names):
            msg = f"the text files of a table need different names, got {', '.join(self.names)}"
            raise InputError(msg)

    def count(self) -> int:
        counts = {path.name: count_lines(str(path)) for path in self.paths}
        if len(set(counts.values())) > 1:
            listing = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
            msg = f"the text files of a table must have the same number of lines: {listing}"
            raise InputError(msg)
        return next(iter(counts.values()))

    def rows(self, names: Sequence[str], mark: Mark | None = None) -> Iterator[tuple[Mark, Row]]:
        paths = [str(self.paths[self.names.index(name)]) for name in names]

        def parse(lines: Sequence[bytes]) -> list[str]:
            return [line_text(line, _LINE) for line in lines]

        with ExitStack() as stack:
            starts = zip(paths, mark or [0] * len(paths), strict=True)
            streams = [stack.enter_context(closing(lines_from(path, start))) for path, start in starts]
            while True:
                row = [next(stream, None) for stream in streams]
                lines = [line for line in row if line is not None]
                if not lines:
                    return
                if len(lines) < len(row):
                    shorter = names[row.index(None)]
                    msg = f"{shorter!r} has fewer lines than the other text files; all need the same number of lines"
                    raise InputError(msg)
                yield tuple(start for start, _ in lines), _parse_row(parse, [line for _, line in lines])


#: A file, a folder written by `Dataset.save_to_disk`, a pattern of file names; or several of them.
TablePaths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_KINDS: Mapping[str, Callable[[Path], Source]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
    ".tsv": TabSeparated,
}
#: Formats that must be converted first.
_NOT_READ = {".csv", ".json", ".xlsx", ".zip", ".npz"}


@dataclass(frozen=True)
class Table:
    """Consecutive files, with the columns that all of them have."""

    sources: tuple[Source, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
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
        """Iterate over the rows from a mark of a source on, each with the number of its source and its mark."""
        for number in range(source, len(self.sources)):
            for position, row in self.sources[number].rows(names, mark if number == source else None):
                yield number, position, row


def open_table(given: TablePaths) -> Table:
    """Open the table of one or several files, patterns or dataset folders."""
    tables = [given] if isinstance(given, str | os.PathLike) else list(given)
    paths = [path for table in tables for path in _files(os.fspath(table))]
    if not paths:
        msg = "no table given; name a file, a pattern of files or the folder of a dataset"
        raise InputError(msg)
    kinds = {_kind(path) for path in paths}
    if kinds == {None}:
        return Table((TextFiles(paths),))
    if None in kinds:
        texts = ", ".join(repr(path.name) for path in paths if _kind(path) is None)
        msg = f"plain text files cannot be combined with tables of other formats: {texts}"
        raise InputError(msg)
    return Table(tuple(kind(path) for path in paths if (kind := _kind(path)) is not None))


def _kind(path: Path) -> Callable[[Path], Source] | None:
    """The reader of a file; None for plain text."""
    name = path.name.lower().removesuffix(".gz")
    suffix = Path(name).suffix
    if suffix in _NOT_READ:
        msg = f"{str(path)!r}: {suffix} tables are not supported; convert to Parquet, Arrow, JSONL, TSV or plain text"
        raise InputError(msg)
    return _KINDS.get(suffix)


def _files(name: str) -> list[Path]:
    if glob.has_magic(name) and not os.path.exists(name):
        paths = sorted(glob.glob(name, recursive=True))
        if not paths:
            msg = f"no file matches {name!r}"
            raise InputError(msg)
        return [Path(path).absolute() for path in paths]
    path = Path(name).absolute()
    if path.is_dir():
        return _dataset_files(path)
    if not path.exists():
        msg = f"no such file: {name!r}"
        raise InputError(msg)
    return [path]


def _dataset_files(folder: Path) -> list[Path]:
    """Files of a Hugging Face dataset on disk, in the order of its `state.json`."""
    splits = folder / "dataset_dict.json"
    if splits.is_file():
        names = json.loads(splits.read_text(encoding="utf-8")).get("splits", [])
        msg = f"{str(folder)!r} is a dataset with splits; name the folder of one: {', '.join(names)}"
        raise InputError(msg)
    state = folder / "state.json"
    if not state.is_file():
        msg = f"folder {str(folder)!r} has no state.json, so it is not a saved dataset; name its files: FOLDER/*"
        raise InputError(msg)
    try:
        record = json.loads(state.read_text(encoding="utf-8"))
        files = [folder / entry["filename"] for entry in record["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{str(state)!r} does not list the dataset's files ({error!r}); save it again with save_to_disk()"
        raise FileFormatError(msg) from error
    if record.get("_indices_data_files") or record.get("_indices_files"):
        msg = f"the dataset in {str(folder)!r} has indices (shuffled or filtered); call flatten_indices(), save again"
        raise InputError(msg)
    return files
