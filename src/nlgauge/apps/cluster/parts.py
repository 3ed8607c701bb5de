"""Parts: the scores of a shard as a Parquet file, written atomically; and merging of all parts.

A row for each row of the shard: `id`, `error` (null where it was scored), and for each metric, system and component a
column `METRIC/COMPONENT` or `METRIC/SYSTEM/COMPONENT`. The file's metadata has a key `nlgauge` with input, rows,
signatures and version. A part is reused if all of these match; there is no other state.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from nlgauge._version import __version__
from nlgauge.apps.cluster.shards import IdDigest, Plan, RowShard, read_plan
from nlgauge.core.metric import Metric
from nlgauge.core.result import Document, from_plain, to_plain
from nlgauge.core.score import Score, SystemRecord, order_notes
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.io.packages import require
from nlgauge.io.storage import write_atomic
from nlgauge.stats.corpus_counts import CorpusCounts
from nlgauge.stats.resampling import Interval

_KEY = b"nlgauge"
#: Errors that stay until someone changes the folder; others, such as network errors, may pass.
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class UnwritableError(InputError):
    """The disk is full or writing is not permitted."""


class PartKey(NamedTuple):
    """Identity of a part."""

    input: str
    """Digest of the table."""
    start: int
    stop: int
    version: str
    frozen: str
    """Digest of the counts of the whole table; empty if no recipe needs them."""
    recipes: tuple[str, ...]
    """Recipe parts of the signatures."""

    @classmethod
    def of(cls, plan: Plan, shard: RowShard, recipes: Sequence[str], frozen: str) -> PartKey:
        """Identity of the part of a shard."""
        return cls(plan.input, shard.start, shard.stop, __version__, frozen, tuple(recipes))


class ScoreHead(NamedTuple):
    """The fields of a score that are not columns."""

    label: str
    metric: str
    system: str | None
    main: str
    components: tuple[str, ...]
    higher_is_better: bool
    distances: tuple[str, ...]
    signature: Signature
    notes: Mapping[str, tuple[int, ...]]
    corpus: Mapping[str, float]
    formula: str | None

    @classmethod
    def of(cls, label: str, score: Score) -> ScoreHead:
        """Extract the head of a score with this label."""
        formula = None if score.statistics is None else score.statistics.formula
        shared = {name: getattr(score, name) for name in _SAME}
        return cls(label=label, components=tuple(score.segments), notes=score.notes, formula=formula, **shared)


#: Fields that a score and its head have in common.
_SAME = ("metric", "system", "main", "higher_is_better", "distances", "signature", "corpus")


class _PartRecord(TypedDict):
    input: str
    start: int
    stop: int
    version: str
    frozen: str
    recipes: list[str]
    scores: list[ScoreHead]
    digest: str


@dataclass(frozen=True)
class Part(Document):
    """The scores of a shard; fields that are not columns are JSON in the metadata of the file."""

    format = "nlgauge-part/1"
    record = _PartRecord

    key: PartKey
    ids: tuple[str, ...]
    errors: Mapping[int, str]
    """By row of the shard."""
    scores: tuple[Score, ...]
    """Of the other rows, metric by metric; empty if no row could be scored."""


def part_path(folder: Path, shard: RowShard) -> Path:
    """Path of the part of a shard."""
    return folder / f"part-{shard.name}.parquet"


def write_file(path: Path, data: bytes) -> None:
    """Write a file completely or not at all, with a clear message for a full disk."""
    try:
        write_atomic(path, data)
    except OSError as error:
        if error.errno in _FULL:
            msg = (
                f"no space left in {str(path.parent)!r}; finished parts are complete, so free some space and run "
                "the same command again"
            )
            raise UnwritableError(msg) from error
        msg = f"cannot write {str(path)!r}: {error.strerror or error}"
        raise (UnwritableError if error.errno in _FORBIDDEN else InputError)(msg) from error


def write_part(path: Path, part: Part, metrics: Sequence[Metric], systems: Sequence[str]) -> None:
    """Write the scores of a shard; equal scores give equal bytes."""
    arrow = require("pyarrow", "cluster")
    scored_rows = np.array([row for row in range(len(part.ids)) if row not in part.errors], dtype=np.int64)
    columns: dict[str, Any] = {
        "id": arrow.array(part.ids, arrow.string()),
        "error": arrow.array([part.errors.get(row) for row in range(len(part.ids))], arrow.string()),
    }
    labels = _column_labels(metrics, systems)
    scores = {label: part.scores[row] for row, label in enumerate(labels)} if part.scores else {}
    for label, metric in labels.items():
        score = scores.get(label)
        for component in metric.components if score is None else score.segments:
            values = None if score is None else score.segments[component]
            columns[f"{label}/{component}"] = _column(values, scored_rows, len(part.ids), arrow.float64())
        if score is not None and score.best_reference is not None:
            column_name = f"{label}/best_reference"
            columns[column_name] = _column(score.best_reference, scored_rows, len(part.ids), arrow.int64())
        if score is not None and score.statistics is not None:
            columns[f"{label}/counts"] = _counts_column(score.statistics, scored_rows, len(part.ids))
    heads = [ScoreHead.of(label, score) for label, score in scores.items()]
    metadata = {"format": Part.format, **to_plain(part.key), "scores": to_plain(heads)}
    table = arrow.table(columns)
    table = table.replace_schema_metadata(
        {_KEY: json.dumps({**metadata, "digest": _compute_digest(table, metadata)})}
    )
    buffer = io.BytesIO()
    require("pyarrow.parquet", "cluster").write_table(table, buffer, compression="zstd", write_page_checksum=True)
    write_file(path, buffer.getvalue())


def _column_labels(metrics: Sequence[Metric], systems: Sequence[str]) -> dict[str, Metric]:
    """Column prefixes: the metric's name, numbered if several metrics have the same name, and the system."""
    total, counts, labels = Counter(metric.name for metric in metrics), Counter[str](), {}
    for metric in metrics:
        counts[metric.name] += 1
        name = metric.name + (f"#{counts[metric.name]}" if total[metric.name] > 1 else "")
        for system in systems:
            labels[f"{name}/{system}" if system else name] = metric
    return labels


def _column(values: Any, scored_rows: Any, rows: int, kind: Any) -> Any:
    """Values of the scored rows, null in the others."""
    arrow = require("pyarrow", "cluster")
    if values is None:
        return arrow.nulls(rows, kind)
    if len(scored_rows) == rows:
        return arrow.array(values, kind)
    is_null = np.ones(rows, dtype=bool)
    is_null[scored_rows] = False
    spread = np.zeros(rows, dtype=values.dtype)
    spread[scored_rows] = values
    return arrow.array(spread, kind, mask=is_null)


def _counts_column(statistics: CorpusCounts, scored_rows: Any, rows: int) -> Any:
    arrow = require("pyarrow", "cluster")
    lists: list[list[float] | None] = [None] * rows
    # Mean lengths of several references may be fractions (TER); all other counts are whole numbers.
    whole = bool((statistics.counts == statistics.counts.round()).all())
    values = statistics.counts.astype(np.int64) if whole else statistics.counts
    for row, counts in zip(scored_rows.tolist(), values.tolist(), strict=True):
        lists[row] = counts
    return arrow.array(lists, arrow.list_(arrow.int64() if whole else arrow.float64()))


def _compute_digest(table: Any, metadata: Mapping[str, Any]) -> str:
    """sha256 of all values and metadata; Parquet's own checksums do not cover headers and metadata."""
    arrow = require("pyarrow", "cluster")
    state = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if arrow.types.is_floating(column.type) or arrow.types.is_integer(column.type):
            nulls = column.is_null().to_numpy(zero_copy_only=False)
            values = nulls.tobytes() + column.fill_null(0).to_numpy().tobytes()
        else:
            values = json.dumps(column.to_pylist()).encode()
        state.update(b"%b:%d:%b" % (name.encode(), len(values), values))
    return state.hexdigest()


def _check_digest(stored: str, digest: str) -> None:
    if stored != digest:
        msg = f"checksum {digest[:12]}, expected {stored[:12]}"
        raise ValueError(msg)


def stored_key(path: Path) -> PartKey | None:
    """Read the identity of a part; None if the part is missing or damaged and must be scored again."""
    if not path.exists():
        return None
    arrow = require("pyarrow", "cluster")
    try:
        metadata = require("pyarrow.parquet", "cluster").read_schema(path).metadata or {}
    except (arrow.ArrowException, OSError, ValueError):
        return None
    if _KEY not in metadata:  # a valid file of another program, perhaps the input table
        msg = f"{str(path)!r} is a Parquet file of another program; choose another folder with --parts"
        raise InputError(msg)
    try:
        return _read_key(json.loads(metadata[_KEY]))
    except (KeyError, ValueError, TypeError):
        return None


def _read_key(metadata: Mapping[str, Any]) -> PartKey:
    if metadata["format"] != Part.format:
        raise ValueError(metadata["format"])
    key: PartKey = from_plain(PartKey, metadata)
    return key


def read_part(path: Path) -> Part:
    """Read a part, bit for bit."""
    arrow = require("pyarrow", "cluster")
    try:
        table = require("pyarrow.parquet", "cluster").read_table(path, page_checksum_verification=True)
        metadata = json.loads((table.schema.metadata or {})[_KEY])
        key = _read_key(metadata)
        _check_digest(metadata.pop("digest"), _compute_digest(table, metadata))
    except (arrow.ArrowException, OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        msg = f"{str(path)!r} is damaged or not a part written by nlgauge ({error}); delete it and run again"
        raise InputError(msg) from error
    errors = {row: text for row, text in enumerate(table.column("error").to_pylist()) if text is not None}
    keep = arrow.array([row for row in range(len(table)) if row not in errors], arrow.int64())
    scored_rows = table.take(keep) if errors else table
    scores = tuple(_score(scored_rows, from_plain(ScoreHead, head)) for head in metadata["scores"])
    return Part(key, tuple(table.column("id").to_pylist()), errors, scores)


def _score(table: Any, head: ScoreHead) -> Score:
    best, counts = f"{head.label}/best_reference", f"{head.label}/counts"
    statistics = None
    if head.formula is not None:
        statistics = CorpusCounts(head.formula, np.array(table.column(counts).to_pylist(), dtype=np.float64))
    return Score(
        segments={name: table.column(f"{head.label}/{name}").to_numpy() for name in head.components},
        notes=order_notes(head.notes),
        best_reference=table.column(best).to_numpy() if best in table.column_names else None,
        statistics=statistics,
        **{name: getattr(head, name) for name in _SAME},
    )


#: Number of failed rows listed in a summary.
_NAMED_ERRORS = 20


@dataclass(frozen=True)
class RowError:
    """A row that could not be scored."""

    row: int
    id: str
    error: str


class _SystemSummary(SystemRecord, total=False):
    distances: list[str]
    corpus: dict[str, float]
    interval: dict[str, Any]


class _Summary(TypedDict):
    input: str
    ids: str
    rows: int
    scored: int
    errors: int
    first_errors: list[RowError]
    shards: int
    scores: list[_SystemSummary]


@dataclass(frozen=True)
class Merged(Document):
    """Result of a run over many shards."""

    format = "nlgauge-summary/1"
    record = _Summary

    scores: ScoreTable
    """Scores of the rows without errors, bit for bit those of one call of `nlgauge.score_systems`."""
    rows: int
    errors: tuple[RowError, ...]
    ids: str
    """sha256 of all ids, in order."""
    input: str
    """sha256 of the input."""
    shards: int

    def _repr_html_(self) -> str:
        count = self.rows - len(self.errors)
        caption = f"{count} of {self.rows} rows scored, in {self.shards} shards; input {self.input[:12]}"
        return f"{self.scores._repr_html_()}<p><small>{caption}</small></p>"

    def summary(self, intervals: Mapping[int, Interval] | None = None) -> dict[str, Any]:
        """Convert to plain values without segments; `intervals` by index of a score."""
        records = self.scores.to_dict(segments=False)["scores"]
        for record in records:
            del record["noted_segments"]  # as many as there are rows
        for index, interval in (intervals or {}).items():
            records[index]["interval"] = interval._asdict()
        return {
            "format": self.format,
            "nlgauge": __version__,
            "input": self.input,
            "ids": self.ids,
            "rows": self.rows,
            "scored": self.rows - len(self.errors),
            "errors": len(self.errors),
            "first_errors": [vars(error) for error in self.errors[:_NAMED_ERRORS]],
            "shards": self.shards,
            "scores": records,
        }

    def text(self, intervals: Mapping[int, Interval] | None = None) -> str:
        """Summary as JSON; equal results give equal bytes."""
        return json.dumps(self.summary(intervals), indent=2) + "\n"


def merge(folder: str | PathLike[str]) -> Merged:
    """Join the parts in a folder in row order; a missing part or one of another run is an error."""
    path = Path(folder)
    plan = read_plan(path)
    if plan is None:
        msg = f"{str(folder)!r} is not a folder of parts: no plan.json; create one with 'nlgauge score --parts'"
        raise InputError(msg)
    _check_complete(path, plan)
    errors: list[RowError] = []
    by_index: dict[int, list[Score]] = {}
    ids = IdDigest()
    for start, part in _read_parts(path, plan):
        for identity in part.ids:
            ids.add(identity)
        errors += [RowError(start + row, part.ids[row], text) for row, text in part.errors.items()]
        for index, score in enumerate(part.scores):
            by_index.setdefault(index, []).append(score)
    if (ids.count, ids.hexdigest()) != (plan.rows, plan.ids):
        msg = (
            f"the ids of the parts in {str(folder)!r} differ from those of the input: {ids.count} ids, expected "
            f"{plan.rows} (checksum {ids.hexdigest()[:12]}, expected {plan.ids[:12]}); run again with another folder"
        )
        raise InputError(msg)
    scores = ScoreTable(tuple(_count_errors(Score.merge(parts), len(errors)) for parts in by_index.values()))
    if not scores:
        msg = f"none of the {plan.rows} rows could be scored; the first error: {errors[0].error}"
        raise InputError(msg)
    return Merged(scores, plan.rows, tuple(errors), plan.ids, plan.input, len(plan.shards))


def _read_parts(folder: Path, plan: Plan) -> Iterator[tuple[int, Part]]:
    """Iterate over parts with their first row; check that all belong to one run."""
    first: Part | None = None
    for shard in plan.shards:
        part = read_part(part_path(folder, shard))
        first = first or part
        expected = first.key._replace(input=plan.input, start=shard.start, stop=shard.stop, version=__version__)
        if part.key != expected:
            field = next(name for name in expected._fields if getattr(part.key, name) != getattr(expected, name))
            msg = (
                f"{part_path(folder, shard).name!r} in {str(folder)!r} belongs to another run: its {field} is "
                f"{getattr(part.key, field)!r}, expected {getattr(expected, field)!r}; delete it and run again"
            )
            raise InputError(msg)
        yield shard.start, part


def _check_complete(folder: Path, plan: Plan) -> None:
    missing = [shard for shard in plan.shards if not part_path(folder, shard).exists()]
    if missing:
        names = ", ".join(part_path(folder, shard).name for shard in missing[:5])
        ellipsis = ", ..." if len(missing) > 5 else ""
        msg = (
            f"{len(missing)} of {len(plan.shards)} parts are missing in {str(folder)!r} ({names}{ellipsis}); run the "
            "same 'nlgauge score --parts' again to score only those"
        )
        raise InputError(msg)


def _count_errors(score: Score, errors: int) -> Score:
    """Add the number of rows without scores to the signature."""
    head, run = score.signature, {"errors": str(errors)} if errors else {}
    return replace(score, signature=Signature(head.metric, head.recipe, {**head.run, **run}))
