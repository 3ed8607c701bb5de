"""The rows of a shard: texts that can be scored, and why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from nlgauge.corpus.texts import Corpus, WholeCorpus
from nlgauge.distributed.columns import Columns, RowTexts, Unreadable
from nlgauge.distributed.open_table import Table
from nlgauge.distributed.plan import RowShard
from nlgauge.errors import FileFormatError, InputError, NlgaugeError

__all__ = ["ShardRows", "failing_rows", "may_be_of_a_row", "read_rows", "reason_of"]

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
        return [at for at, row in enumerate(self.texts) if isinstance(row, RowTexts)]

    @property
    def unreadable(self) -> dict[int, str]:
        """Why the others have none."""
        return {at: str(row) for at, row in enumerate(self.texts) if isinstance(row, Unreadable)}

    def corpus(self, rows: Sequence[int], whole: WholeCorpus) -> Corpus:
        """Some of the rows as the engine takes them, as a part of the whole table."""
        found = [row for at in rows if isinstance(row := self.texts[at], RowTexts)]
        return Corpus(
            {system: [row.hyps[place] for row in found] for place, system in enumerate(self.columns.systems)},
            [row.refs for row in found],
            sources=None if self.columns.source is None else [row.source or "" for row in found],
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
