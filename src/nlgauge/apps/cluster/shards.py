"""The plan of a run: roles of columns, rows of each shard, and counts that verify that all rows were scored.

A plan is a function of the input alone, so all jobs of a run make the same plan without communication. It is stored
in the folder of parts (`plan.json`), and a resumed run follows it. Rows that cannot be scored are reported with the
reason.
"""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.core.corpus import Corpus, WholeCorpus
from nlgauge.core.result import Document, from_plain
from nlgauge.errors import FileFormatError, InputError, NlgaugeError, RecipeError, did_you_mean
from nlgauge.io.large_tables import Mark, Table, Unreadable
from nlgauge.io.storage import file_digest, text_digest
from nlgauge.text.tokenizer import check_encodable

#: Columns by role, as names or patterns.
ColumnsGiven: TypeAlias = Mapping[str, str | Sequence[str]]

_ROLES = ("hyp", "ref", "src", "id")


class RowTexts(NamedTuple):
    """Texts of a row."""

    hyps: tuple[str, ...]
    """One per system."""
    refs: tuple[str, ...]
    source: str | None


def parse_columns(text: str) -> dict[str, list[str]]:
    """Parse roles with column names; a role can occur several times.

    >>> parse_columns("hyp=system-a,hyp=system-b,ref=ref,id=key")
    {'hyp': ['system-a', 'system-b'], 'ref': ['ref'], 'id': ['key']}
    """
    columns: dict[str, list[str]] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals or not name:
            msg = f"columns have the form ROLE=NAME, such as hyp=mt,ref=ref,id=id; got {part!r}"
            raise RecipeError(msg)
        columns.setdefault(role.strip(), []).append(name.strip())
    return columns


@dataclass(frozen=True)
class Columns:
    """Columns by role; each column of hypotheses is a system."""

    hyps: tuple[str, ...]
    refs: tuple[str, ...] = ()
    source: str | None = None
    id: str | None = None
    """None: the row number is the id."""

    @classmethod
    def choose(cls, columns_of_role: ColumnsGiven | None, names: Sequence[str]) -> Columns:
        """Match the caller's names or patterns with the table's columns; by default, columns named like the roles."""
        if columns_of_role is None:
            columns_of_role = {role: role for role in _ROLES if role in names}
        for role in columns_of_role:
            if role not in _ROLES:
                msg = f"unknown column role {role!r}; the roles are {', '.join(_ROLES)}{did_you_mean(role, _ROLES)}"
                raise RecipeError(msg)
        patterns = {
            role: [value] if isinstance(value, str) else list(value) for role, value in columns_of_role.items()
        }
        columns = dict.fromkeys(_ROLES, ()) | {role: _match_columns(patterns[role], names, role) for role in patterns}
        _check_roles(patterns, columns)
        if not columns["hyp"]:
            listed = ", ".join(names)
            msg = (
                f"the table has no column of hypotheses; name it with --columns hyp=COLUMN; the columns are {listed}"
            )
            raise RecipeError(msg)
        for role in ("src", "id"):
            if len(columns[role]) > 1:
                msg = f"{role} must be a single column, got {', '.join(columns[role])}"
                raise RecipeError(msg)
        return cls(columns["hyp"], columns["ref"], *((*columns[role], None)[0] for role in ("src", "id")))

    @cached_property
    def names(self) -> list[str]:
        """Columns to read, without duplicates, in the order expected by `texts`."""
        candidates = (*self.hyps, *self.refs, self.source, self.id)
        return list(dict.fromkeys(name for name in candidates if name is not None))

    @cached_property
    def _places(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """Indices and names of the columns of hypotheses and of references."""
        hyps, refs = ([(self.names.index(name), name) for name in role] for role in (self.hyps, self.refs))
        return hyps, refs

    @property
    def systems(self) -> tuple[str, ...]:
        """System names; a single system has none, as in `nlgauge.score`."""
        return self.hyps if len(self.hyps) > 1 else ("",)

    def identity(self, row: Sequence[Any] | Unreadable, number: int) -> str:
        """Id of a row."""
        if self.id is None:
            return str(number)
        if isinstance(row, Unreadable):
            msg = f"row {number} has no id: {row}; fix the row, or omit id= to number the rows"
            raise InputError(msg)
        value = row[self.names.index(self.id)]
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            msg = f"row {number}: column {self.id!r} needs an id (a text or a whole number), got {value!r}"
            raise InputError(msg)
        identity = str(value)
        if not identity.isascii():
            check_encodable(identity, f"row {number}: the id in column {self.id!r}")
        return identity

    def texts(self, row: Sequence[Any] | Unreadable) -> RowTexts | Unreadable:
        """Read the texts of a row, or the reason why it cannot be scored."""
        if isinstance(row, Unreadable):
            return row
        hyp_places, ref_places = self._places
        try:
            hyps = tuple([_read_text(row[index], name) for index, name in hyp_places])
            refs = tuple([text for index, name in ref_places for text in _read_texts(row[index], name)])
            source = None if self.source is None else _read_text(row[self.names.index(self.source)], self.source)
        except InputError as error:
            return Unreadable(error)
        if self.refs and not refs:
            return Unreadable(f"no reference in column {', '.join(self.refs)}")
        return RowTexts(hyps, refs, source)


def _match_columns(patterns: Sequence[str], names: Sequence[str], role: str) -> tuple[str, ...]:
    """Column names that match the patterns, without duplicates."""
    matches: dict[str, None] = {}
    for pattern in patterns:
        hits = [pattern] if pattern in names else [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not hits:
            hint = did_you_mean(pattern, names)
            msg = f"the table has no column {pattern!r} ({role}); its columns are {', '.join(names)}{hint}"
            raise RecipeError(msg)
        if patterns.count(pattern) > 1:
            msg = f"{role}={pattern} is given twice; name each column once"
            raise RecipeError(msg)
        matches |= dict.fromkeys(hits)
    for name in matches:
        if names.count(name) > 1:
            msg = f"the table has {names.count(name)} columns called {name!r} ({role}); rename all but one"
            raise RecipeError(msg)
    return tuple(matches)


def _check_roles(patterns: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> None:
    """Raise RecipeError if a pattern matches a column of another role; naming a column for two roles is allowed."""
    for role, other_role in itertools.permutations(patterns, 2):
        for name in columns[role]:
            if name in columns[other_role] and name not in patterns[role]:
                listed = ", ".join(patterns[role])
                msg = f"column {name!r} matches both {other_role}= and {role}={listed}; use a narrower pattern"
                raise RecipeError(msg)


def _read_text(value: Any, column: str) -> str:
    if isinstance(value, Unreadable) or not isinstance(value, str):
        msg = f"column {column!r}: expected a text, got {value!r}"
        raise InputError(msg)
    if not value.isascii():
        check_encodable(value, f"column {column!r}")
    return value


def _read_texts(value: Any, column: str) -> tuple[str, ...]:
    """Read a text, a list of texts, or nothing if a row has fewer references than others."""
    texts = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(_read_text(text, column) for text in texts)


PLAN = "plan.json"

#: Default number of pairs per shard. From the minimum on, the overhead of a shard is small. Up to the maximum, a
#: killed worker loses little, and 1,000 workers have enough shards each (benchmarks/cluster_simulation.py). Between
#: the two, the number of shards is constant.
_LEAST_PAIRS, _MOST_PAIRS, _SHARDS = 256, 5_000, 512

#: Number of characters after which a shard ends regardless of its rows: its texts and tokens stay in memory.
_MOST_CHARACTERS = 32_000_000


@dataclass(frozen=True)
class RowShard:
    """Rows [start, stop) of the table."""

    number: int
    start: int
    stop: int
    source: int
    """File of its first row."""
    mark: Mark
    """Position in that file."""
    characters: int
    """Length of all its texts; time is proportional to it."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def name(self) -> str:
        """Name in its files."""
        return f"{self.number:05d}"


@dataclass(frozen=True)
class Plan(Document):
    """Input, columns, shards and recipes of a run, the same for all jobs."""

    format = "nlgauge-plan/1"

    paths: tuple[str, ...]
    columns: Columns
    input: str
    """sha256 of the files' bytes and the roles of columns."""
    rows: int
    ids: str
    """sha256 of all ids in order."""
    reference_count: str
    """References per row, `var` if the number varies; 0 without references."""
    shards: tuple[RowShard, ...]
    shard_rows: int | None = None
    """Rows per shard, if set by the caller."""
    recipes: tuple[str, ...] = ()
    """Recipe parts of the signatures, determined on one row; another recipe needs another folder."""

    @property
    def longest_first(self) -> list[RowShard]:
        """Shards in order of work; a long shard at the end would leave all other workers waiting."""
        return sorted(self.shards, key=lambda shard: (-shard.characters, shard.number))

    @property
    def pairs(self) -> int:
        """Number of outputs of all systems."""
        return self.rows * len(self.columns.systems)

    def content(self) -> bytes:
        """Serialise the plan."""
        return (json.dumps(self.to_document()) + "\n").encode()


def read_plan(folder: Path) -> Plan | None:
    """Read the plan in a folder of parts; None if there is none yet."""
    path = folder / PLAN
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != Plan.format:
            msg = f"{str(path)!r} has format {record['format']!r}, expected {Plan.format!r}"
            raise FileFormatError(msg)
        plan: Plan = from_plain(Plan, record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{str(path)!r} is not a plan of nlgauge ({error!r}); choose another folder with --parts"
        raise FileFormatError(msg) from error
    if record["nlgauge"] != __version__:
        msg = (
            f"the parts in {str(folder)!r} were written by nlgauge {record['nlgauge']}, but this is {__version__}, "
            "whose scores may differ; use that version, or choose another folder with --parts"
        )
        raise InputError(msg)
    return plan


def input_digest(table: Table, columns: Columns) -> str:
    """sha256 of the files' bytes, in order, and the roles of columns."""
    files = [file_digest(path) for path in table.paths]
    roles = {"hyp": columns.hyps, "ref": columns.refs, "src": columns.source, "id": columns.id}
    return text_digest(json.dumps([files, roles]))


def check_count(value: object, what: str) -> None:
    """Raise RecipeError unless a number of rows or workers is a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        msg = f"{what} must be a whole number, at least 1, got {value!r}"
        raise RecipeError(msg)


def make_plan(
    table: Table, columns: Columns, *, digest: str, shard_rows: int | None = None, multiple: int = 1
) -> Plan:
    """Read the table once to find starts of shards, duplicate ids and the number of references per row.

    Shards begin at multiples of `multiple` rows.
    """
    rows = table.count()
    if rows == 0:
        msg = f"the table {', '.join(map(str, table.paths))} has no rows"
        raise InputError(msg)
    step = -(-(shard_rows or _default_rows(rows, len(columns.systems))) // multiple) * multiple
    starts: list[tuple[int, int, Mark]] = []
    characters: list[int] = []
    ids, hashes, reference_counts = IdDigest(), bytearray(), set[int]()
    for number, (source, mark, row) in enumerate(table.rows(columns.names)):
        size = number - starts[-1][0] if starts else 0
        full = size >= step or (size > 0 and characters[-1] >= _MOST_CHARACTERS)
        if not starts or (full and size % multiple == 0):
            starts.append((number, source, mark))
            characters.append(0)
        hashes += ids.add(columns.identity(row, number))
        texts = columns.texts(row)
        if isinstance(texts, RowTexts):
            reference_counts.add(len(texts.refs))
            characters[-1] += sum(map(len, (*texts.hyps, *texts.refs, texts.source or "")))
    if len(hashes) // 8 != rows:
        msg = f"the table has {len(hashes) // 8} rows, expected {rows}; it changed during reading"
        raise InputError(msg)
    _check_unique(table, columns, np.frombuffer(hashes, dtype=np.uint64))
    stops = [*(start for start, *_ in starts[1:]), rows]
    shards = zip(starts, stops, characters, strict=True)
    return Plan(
        tuple(map(str, table.paths)),
        columns,
        digest,
        rows,
        ids.hexdigest(),
        str(min(reference_counts)) if len(reference_counts) == 1 else "var",
        tuple(
            RowShard(number, first[0], stop, *first[1:], size) for number, (first, stop, size) in enumerate(shards)
        ),
        shard_rows,
    )


def _default_rows(rows: int, systems: int) -> int:
    pairs = min(max(rows * systems // _SHARDS, _LEAST_PAIRS), _MOST_PAIRS)
    return max(1, pairs // systems)


class IdDigest:
    """sha256 of ids in order; a length before each makes the digest unambiguous."""

    def __init__(self) -> None:
        self._state = hashlib.sha256()
        self.count = 0

    def add(self, identity: str) -> bytes:
        """Add an id and return its own hash of eight bytes."""
        data = identity.encode("utf-8", "surrogatepass")
        self._state.update(b"%d:%b" % (len(data), data))
        self.count += 1
        return hashlib.blake2b(data, digest_size=8).digest()

    def hexdigest(self) -> str:
        """Digest of all ids so far."""
        return self._state.hexdigest()


def _check_unique(table: Table, columns: Columns, hashes: NDArray[np.uint64]) -> None:
    """Raise InputError for a duplicate id.

    Hashes take eight bytes per id, 400 MB for 50 million. Rows are read again only if two hashes are equal.
    """
    if columns.id is None:
        return
    values, counts = np.unique(hashes, return_counts=True)
    suspects = set(np.flatnonzero(np.isin(hashes, values[counts > 1])).tolist())
    if not suspects:
        return
    first_rows: dict[str, int] = {}
    for number, (_, _, row) in enumerate(table.rows(columns.names)):
        if number in suspects:
            identity = columns.identity(row, number)
            if identity in first_rows:
                msg = (
                    f"rows {first_rows[identity]} and {number} have the same id {identity!r} (column "
                    f"{columns.id!r}); make ids unique, or omit id= to number the rows"
                )
                raise InputError(msg)
            first_rows[identity] = number


#: Maximum number of rows of a shard that may fail with an unexpected error.
_MOST_UNFORESEEN = 10


@dataclass(frozen=True)
class ShardRows:
    """Rows of a shard."""

    columns: Columns
    ids: tuple[str, ...]
    texts: tuple[RowTexts | Unreadable, ...]

    @property
    def readable(self) -> list[int]:
        """Rows with texts, numbered from 0 in the shard."""
        return [number for number, row in enumerate(self.texts) if isinstance(row, RowTexts)]

    @property
    def unreadable(self) -> dict[int, str]:
        """Errors of the other rows."""
        return {number: str(row) for number, row in enumerate(self.texts) if isinstance(row, Unreadable)}

    def corpus(self, rows: Sequence[int], whole: WholeCorpus) -> Corpus:
        """Build a corpus of some rows, as a part of the whole table."""
        readable = [row for number in rows if isinstance(row := self.texts[number], RowTexts)]
        return Corpus(
            {system: [row.hyps[index] for row in readable] for index, system in enumerate(self.columns.systems)},
            [row.refs for row in readable],
            sources=None if self.columns.source is None else [row.source or "" for row in readable],
            whole=whole,
        )


def read_rows(table: Table, columns: Columns, shard: RowShard) -> ShardRows:
    """Read the rows [start, stop) of a shard."""
    rows = islice(table.rows(columns.names, shard.source, shard.mark), shard.rows)
    ids, texts = [], []
    for number, (_, _, row) in enumerate(rows, start=shard.start):
        ids.append(columns.identity(row, number))
        texts.append(columns.texts(row))
    if len(texts) != shard.rows:
        msg = f"expected {shard.rows} rows from row {shard.start}, got {len(texts)}; the input has changed"
        raise InputError(msg)
    return ShardRows(columns, tuple(ids), tuple(texts))


def may_be_of_a_row(error: Exception) -> bool:
    """Whether a text can be the cause of an error, as opposed to a recipe, one of its files, or the machine."""
    if isinstance(error, NlgaugeError):
        return isinstance(error, InputError) and not isinstance(error, FileFormatError)
    return not isinstance(error, OSError | MemoryError)


def reason_of(error: Exception) -> str:
    """Format an error for a report."""
    return str(error) if isinstance(error, NlgaugeError) else f"{type(error).__name__}: {error}"


def failing_rows(rows: Sequence[int], attempt: Callable[[Sequence[int]], object]) -> dict[int, str]:
    """Find the rows that make an attempt fail by themselves, with their errors.

    The first attempt is with all rows. If it fails, each half is tried, then the halves of failing halves, and so on.
    If many rows fail with unexpected errors, the rows are not the cause, and the error is raised.
    """
    unforeseen = 0

    def failing(rows: Sequence[int]) -> dict[int, str]:
        nonlocal unforeseen
        try:
            if rows:
                attempt(rows)
        except Exception as error:
            if not may_be_of_a_row(error):
                raise
            if len(rows) > 1:
                middle = len(rows) // 2
                return failing(rows[:middle]) | failing(rows[middle:])
            unforeseen += not isinstance(error, InputError)
            if unforeseen > _MOST_UNFORESEEN:
                raise
            return {rows[0]: reason_of(error).removeprefix("segment 0: ")}
        return {}

    return failing(rows)
