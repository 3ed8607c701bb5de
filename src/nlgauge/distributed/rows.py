"""The rows of a shard: texts that can be scored, and why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from nlgauge.corpus.texts import Corpus, WholeCorpus
from nlgauge.distributed.columns import Columns, RowTexts, Unreadable
from nlgauge.distributed.open_table import Table
from nlgauge.distributed.plan import RowShard
from nlgauge.errors import FileFormatError, InputError

__all__ = ["ShardRows", "failing_rows", "read_rows"]


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


def failing_rows(rows: Sequence[int], attempt: Callable[[Sequence[int]], object]) -> dict[int, str]:
    """Rows that make an attempt fail by themselves, with what it says of them.

    An attempt at all rows costs one attempt where none fails; else halves are tried, and halves of those that fail.
    """
    try:
        if rows:
            attempt(rows)
    except FileFormatError:
        raise  # a file that a recipe names, not a text
    except InputError as error:
        if len(rows) == 1:
            return {rows[0]: str(error).removeprefix("segment 0: ")}
        middle = len(rows) // 2
        return failing_rows(rows[:middle], attempt) | failing_rows(rows[middle:], attempt)
    return {}
