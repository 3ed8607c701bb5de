"""The plan of a run: which column is what, the rows of each shard, and counts that prove that all were scored.

A plan is a function of the input alone, so any number of jobs make the same one without talking to each other. It is
kept in the folder of parts (`plan.json`), and a resumed run follows it. Rows that cannot be scored are reported with
the reason.
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

#: What callers may say: roles with the names of columns, or patterns of such names.
ColumnsGiven: TypeAlias = Mapping[str, str | Sequence[str]]

_ROLES = ("hyp", "ref", "src", "id")


class RowTexts(NamedTuple):
    """What is scored in a row."""

    hyps: tuple[str, ...]
    """One for each system."""
    refs: tuple[str, ...]
    source: str | None


def parse_columns(text: str) -> dict[str, list[str]]:
    """Roles with names of columns; a role may stand several times.

    >>> parse_columns("hyp=system-a,hyp=system-b,ref=ref,id=key")
    {'hyp': ['system-a', 'system-b'], 'ref': ['ref'], 'id': ['key']}
    """
    columns: dict[str, list[str]] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals or not name:
            msg = f"columns are given as ROLE=NAME, such as hyp=mt,ref=ref,id=id; got {part!r}"
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
    """None: rows are known by their number."""

    @classmethod
    def choose(cls, given: ColumnsGiven | None, names: Sequence[str]) -> Columns:
        """From what a caller says and the names that the table has; without a word, columns that are called so."""
        if given is None:
            given = {role: role for role in _ROLES if role in names}
        for role in given:
            if role not in _ROLES:
                msg = f"a column is one of {', '.join(_ROLES)}, got {role!r}{did_you_mean(role, _ROLES)}"
                raise RecipeError(msg)
        patterns = {role: [value] if isinstance(value, str) else list(value) for role, value in given.items()}
        columns = dict.fromkeys(_ROLES, ()) | {role: _matching(patterns[role], names, role) for role in patterns}
        _refuse_two_roles(patterns, columns)
        if not columns["hyp"]:
            msg = f"no column of hypotheses was named (hyp=NAME); the table has: {', '.join(names)}"
            raise RecipeError(msg)
        for role in ("src", "id"):
            if len(columns[role]) > 1:
                msg = f"there can be one column {role}, got {', '.join(columns[role])}"
                raise RecipeError(msg)
        return cls(columns["hyp"], columns["ref"], *((*columns[role], None)[0] for role in ("src", "id")))

    @cached_property
    def names(self) -> list[str]:
        """Columns that must be read, each once, in the order that `texts` takes their values in."""
        named = (*self.hyps, *self.refs, self.source, self.id)
        return list(dict.fromkeys(name for name in named if name is not None))

    @cached_property
    def _places(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """Where in a row hypotheses and references are, and the names of their columns."""
        hyps, refs = ([(self.names.index(name), name) for name in role] for role in (self.hyps, self.refs))
        return hyps, refs

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems; one alone has none, as in `nlgauge.score`."""
        return self.hyps if len(self.hyps) > 1 else ("",)

    def identity(self, row: Sequence[Any] | Unreadable, number: int) -> str:
        """What a row is known by."""
        if self.id is None:
            return str(number)
        if isinstance(row, Unreadable):
            msg = f"row {number} has no id, because {row}; mend it, or leave out id= to number the rows"
            raise InputError(msg)
        value = row[self.names.index(self.id)]
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            msg = f"row {number}: column {self.id!r} must hold an id (a text or a whole number), got {value!r}"
            raise InputError(msg)
        identity = str(value)
        if not identity.isascii():
            check_encodable(identity, f"row {number}: the id in column {self.id!r}")
        return identity

    def texts(self, row: Sequence[Any] | Unreadable) -> RowTexts | Unreadable:
        """The texts of a row, or why it has none that can be scored."""
        if isinstance(row, Unreadable):
            return row
        hyp_places, ref_places = self._places
        try:
            hyps = tuple([_text(row[place], name) for place, name in hyp_places])
            refs = tuple([text for place, name in ref_places for text in _several(row[place], name)])
            source = None if self.source is None else _text(row[self.names.index(self.source)], self.source)
        except InputError as error:
            return Unreadable(error)
        if self.refs and not refs:
            return Unreadable(f"there is no reference in column {', '.join(self.refs)}")
        return RowTexts(hyps, refs, source)


def _matching(patterns: Sequence[str], names: Sequence[str], role: str) -> tuple[str, ...]:
    """Names of columns that the patterns fit, each once."""
    matches: dict[str, None] = {}
    for pattern in patterns:
        own = [pattern] if pattern in names else [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not own:
            hint = did_you_mean(pattern, names)
            msg = f"the table has no column {pattern!r} ({role}){hint}; it has: {', '.join(names)}"
            raise RecipeError(msg)
        if patterns.count(pattern) > 1:
            msg = f"{role}={pattern} was given twice; a column counts once"
            raise RecipeError(msg)
        matches |= dict.fromkeys(own)
    for name in matches:
        if names.count(name) > 1:
            msg = f"the table has {names.count(name)} columns called {name!r} ({role}); rename all but one"
            raise RecipeError(msg)
    return tuple(matches)


def _refuse_two_roles(patterns: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> None:
    """A column may be named under two roles, but a pattern must not take in what has a role of its own."""
    for role, other in itertools.permutations(patterns, 2):
        for name in columns[role]:
            if name in columns[other] and name not in patterns[role]:
                wide = ", ".join(patterns[role])
                msg = f"column {name!r} is {other}=, and {role}={wide} takes it in too; give a narrower pattern"
                raise RecipeError(msg)


def _text(value: Any, column: str) -> str:
    if isinstance(value, Unreadable) or not isinstance(value, str):
        msg = f"column {column!r}: expected a text, got {value!r}"
        raise InputError(msg)
    if not value.isascii():
        check_encodable(value, f"column {column!r}")
    return value


def _several(value: Any, column: str) -> tuple[str, ...]:
    """A text, a list of texts, or none where a row has fewer references than others."""
    several = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(_text(text, column) for text in several)


PLAN = "plan.json"

#: Pairs of a shard, where nobody says otherwise. The least: what a shard costs beside scoring is little then. The
#: most: a kill costs little, and 1,000 workers have enough shards each (benchmarks/cluster_simulation.py). And how
#: many shards are aimed at between the two.
_LEAST_PAIRS, _MOST_PAIRS, _SHARDS = 256, 5_000, 512

#: Characters after which a shard ends however few rows it has: its texts and tokens stay in memory.
_MOST_CHARACTERS = 32_000_000


@dataclass(frozen=True)
class RowShard:
    """Rows [start, stop) of the table."""

    number: int
    start: int
    stop: int
    source: int
    """The file that its first row is in."""
    mark: Mark
    """Where in that file."""
    characters: int
    """Of all its texts: what its time grows with."""

    @property
    def rows(self) -> int:
        """How many."""
        return self.stop - self.start

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.number:05d}"


@dataclass(frozen=True)
class Plan(Document):
    """What a run does, whoever does it."""

    format = "nlgauge-plan/1"

    paths: tuple[str, ...]
    columns: Columns
    input: str
    """sha256 of the files' bytes and of which column is what."""
    rows: int
    ids: str
    """sha256 of all ids in order."""
    reference_count: str
    """References per row, `var` where the number varies; 0 without references."""
    shards: tuple[RowShard, ...]
    shard_rows: int | None = None
    """Rows of a shard, where somebody asked for so many."""
    recipes: tuple[str, ...] = ()
    """Recipe parts of the signatures, as they are on one row: another recipe makes another folder."""

    @property
    def longest_first(self) -> list[RowShard]:
        """Shards in the order of work: a long one that begins last would leave all other workers waiting."""
        return sorted(self.shards, key=lambda shard: (-shard.characters, shard.number))

    @property
    def pairs(self) -> int:
        """Outputs of systems."""
        return self.rows * len(self.columns.systems)

    def content(self) -> bytes:
        """The plan as bytes of a file."""
        return (json.dumps(self.to_document()) + "\n").encode()


def read_plan(folder: Path) -> Plan | None:
    """The plan in a folder of parts; None where there is none yet."""
    path = folder / PLAN
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != Plan.format:
            msg = f"{str(path)!r} is a plan in format {record['format']!r}, expected {Plan.format!r}"
            raise FileFormatError(msg)
        plan: Plan = from_plain(Plan, record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{str(path)!r} is not a plan of nlgauge ({error!r}); give another folder to --parts"
        raise FileFormatError(msg) from error
    if record["nlgauge"] != __version__:
        msg = (
            f"the parts in {str(folder)!r} were begun with nlgauge {record['nlgauge']}, and this is {__version__}, "
            "which may score otherwise; go on with that version, or give another folder to --parts"
        )
        raise InputError(msg)
    return plan


def input_digest(table: Table, columns: Columns) -> str:
    """sha256 of the files' bytes, in order, and of which column is what."""
    files = [file_digest(path) for path in table.paths]
    roles = {"hyp": columns.hyps, "ref": columns.refs, "src": columns.source, "id": columns.id}
    return text_digest(json.dumps([files, roles]))


def check_count(value: object, what: str) -> None:
    """Refuse what is no number of rows or workers."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        msg = f"{what} must be a whole number, at least 1, got {value!r}"
        raise RecipeError(msg)


def make_plan(
    table: Table, columns: Columns, *, digest: str, shard_rows: int | None = None, multiple: int = 1
) -> Plan:
    """Read the table once: where shards start, whether ids are unique, how many references rows have.

    Shards begin at multiples of `multiple` rows.
    """
    rows = table.count()
    if rows == 0:
        msg = f"the table {', '.join(map(str, table.paths))} has no rows"
        raise InputError(msg)
    step = -(-(shard_rows or _automatic_rows(rows, len(columns.systems))) // multiple) * multiple
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
    if (read := len(hashes) // 8) != rows:
        msg = f"the table has {read} rows where {rows} were expected; it changed while it was read"
        raise InputError(msg)
    _refuse_duplicates(table, columns, np.frombuffer(hashes, dtype=np.uint64))
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


def _automatic_rows(rows: int, systems: int) -> int:
    pairs = min(max(rows * systems // _SHARDS, _LEAST_PAIRS), _MOST_PAIRS)
    return max(1, pairs // systems)


class IdDigest:
    """sha256 of ids in order; a length before each, so that no two lists run together alike."""

    def __init__(self) -> None:
        self._state = hashlib.sha256()
        self.count = 0

    def add(self, identity: str) -> bytes:
        """Take in an id; its own hash of eight bytes."""
        data = identity.encode("utf-8", "surrogatepass")
        self._state.update(b"%d:%b" % (len(data), data))
        self.count += 1
        return hashlib.blake2b(data, digest_size=8).digest()

    def hexdigest(self) -> str:
        """Of all so far."""
        return self._state.hexdigest()


def _refuse_duplicates(table: Table, columns: Columns, hashes: NDArray[np.uint64]) -> None:
    """Eight bytes an id, so that 50 million take 400 MB; rows are read again only where two hashes are the same."""
    if columns.id is None:
        return
    values, counts = np.unique(hashes, return_counts=True)
    suspects = set(np.flatnonzero(np.isin(hashes, values[counts > 1])).tolist())
    if not suspects:
        return
    seen: dict[str, int] = {}
    for number, (_, _, row) in enumerate(table.rows(columns.names)):
        if number in suspects:
            identity = columns.identity(row, number)
            if identity in seen:
                msg = (
                    f"rows {seen[identity]} and {number} have one id, {identity!r} (column {columns.id!r}); ids must "
                    "differ, or leave out id= to number the rows"
                )
                raise InputError(msg)
            seen[identity] = number


#: Rows of a shard that may fail with an error that is no word of nlgauge's about a text.
_MOST_UNFORESEEN = 10


@dataclass(frozen=True)
class ShardRows:
    """What a shard holds."""

    columns: Columns
    ids: tuple[str, ...]
    texts: tuple[RowTexts | Unreadable, ...]

    @property
    def readable(self) -> list[int]:
        """Rows, from 0 in the shard, that have texts."""
        return [number for number, row in enumerate(self.texts) if isinstance(row, RowTexts)]

    @property
    def unreadable(self) -> dict[int, str]:
        """Why the others have none."""
        return {number: str(row) for number, row in enumerate(self.texts) if isinstance(row, Unreadable)}

    def corpus(self, rows: Sequence[int], whole: WholeCorpus) -> Corpus:
        """Some of the rows as the engine takes them, as a part of the whole table."""
        readable = [row for number in rows if isinstance(row := self.texts[number], RowTexts)]
        return Corpus(
            {system: [row.hyps[place] for row in readable] for place, system in enumerate(self.columns.systems)},
            [row.refs for row in readable],
            sources=None if self.columns.source is None else [row.source or "" for row in readable],
            whole=whole,
        )


def read_rows(table: Table, columns: Columns, shard: RowShard) -> ShardRows:
    """The rows [start, stop) that a shard names."""
    rows = islice(table.rows(columns.names, shard.source, shard.mark), shard.rows)
    ids, texts = [], []
    for number, (_, _, row) in enumerate(rows, start=shard.start):
        ids.append(columns.identity(row, number))
        texts.append(columns.texts(row))
    if len(texts) != shard.rows:
        msg = f"rows {shard.start} to {shard.stop} were expected, and {len(texts)} are there; the input has changed"
        raise InputError(msg)
    return ShardRows(columns, tuple(ids), tuple(texts))


def may_be_of_a_row(error: Exception) -> bool:
    """Whether an error may be that of a text; not of a recipe, of a file that it names, or of the machine."""
    if isinstance(error, NlgaugeError):
        return isinstance(error, InputError) and not isinstance(error, FileFormatError)
    return not isinstance(error, OSError | MemoryError)


def reason_of(error: Exception) -> str:
    """An error as a report has it."""
    return str(error) if isinstance(error, NlgaugeError) else f"{type(error).__name__}: {error}"


def failing_rows(rows: Sequence[int], attempt: Callable[[Sequence[int]], object]) -> dict[int, str]:
    """Rows that make an attempt fail by themselves, with what it says of them.

    An attempt at all rows costs one attempt where none fails; else halves are tried, and halves of those that fail.
    Where many rows fail in a way that nobody foresaw, it is not the rows: the error is raised.
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
