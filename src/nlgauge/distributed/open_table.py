"""From what a caller names (files, patterns, folders) to one table."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from nlgauge.distributed.tables import ArrowFile, JsonLines, Mark, ParquetFile, Row, Source, TabSeparated, TextFiles
from nlgauge.errors import FileFormatError, InputError

__all__ = ["Table", "TableGiven", "open_table"]

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
