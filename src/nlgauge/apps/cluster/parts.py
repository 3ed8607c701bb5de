"""Parts: the scores of a shard as a Parquet file, written to a temporary name and renamed; and all parts, merged.

A row for each row of the shard: `id`, `error` (null where it was scored), and for each metric, system and component a
column `METRIC/COMPONENT` or `METRIC/SYSTEM/COMPONENT`. What a part belongs to stands in the file's metadata under
`nlgauge`: input, rows, signatures, version. A part is used where all of it fits; nothing else is state.
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
#: Why a folder takes no file, now and later; other errors may pass, such as those of a network.
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class UnwritableError(InputError):
    """There is no room left for a file, or none may be written."""


class PartKey(NamedTuple):
    """What a part belongs to."""

    input: str
    """Digest of the table."""
    start: int
    stop: int
    version: str
    frozen: str
    """Digest of what was counted on the whole table; empty where recipes do not look at it."""
    recipes: tuple[str, ...]
    """Recipe parts of the signatures."""

    @classmethod
    def of(cls, plan: Plan, shard: RowShard, recipes: Sequence[str], frozen: str) -> PartKey:
        """Of the part that a shard becomes."""
        return cls(plan.input, shard.start, shard.stop, __version__, frozen, tuple(recipes))


class ScoreHead(NamedTuple):
    """What of a score is no column."""

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
        """Of the score under a label."""
        formula = None if score.statistics is None else score.statistics.formula
        same = {name: getattr(score, name) for name in _SAME}
        return cls(label=label, components=tuple(score.segments), notes=score.notes, formula=formula, **same)


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
    """The scores of a shard; what of them is no column is JSON in the metadata of the file."""

    format = "nlgauge-part/1"
    record = _PartRecord

    key: PartKey
    ids: tuple[str, ...]
    errors: Mapping[int, str]
    """By row of the shard."""
    scores: tuple[Score, ...]
    """Of the other rows, metric by metric; none where no row could be scored."""


def part_path(folder: Path, shard: RowShard) -> Path:
    """Where the part of a shard is."""
    return folder / f"part-{shard.name}.parquet"


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a full disk is said in words."""
    try:
        write_atomic(path, data)
    except OSError as error:
        if error.errno in _FULL:
            msg = (
                f"there is no room left in {str(path.parent)!r}; parts that are there are whole, so make room and "
                "run the same command again"
            )
            raise UnwritableError(msg) from error
        msg = f"cannot write {str(path)!r}: {error.strerror or error}"
        raise (UnwritableError if error.errno in _FORBIDDEN else InputError)(msg) from error


def write_part(path: Path, part: Part, metrics: Sequence[Metric], systems: Sequence[str]) -> None:
    """Write the scores of a shard; equal scores give equal bytes."""
    arrow = require("pyarrow", "cluster")
    scored = np.array([row for row in range(len(part.ids)) if row not in part.errors], dtype=np.int64)
    columns: dict[str, Any] = {
        "id": arrow.array(part.ids, arrow.string()),
        "error": arrow.array([part.errors.get(row) for row in range(len(part.ids))], arrow.string()),
    }
    labels = _labels(metrics, systems)
    scores = {label: part.scores[row] for row, label in enumerate(labels)} if part.scores else {}
    for label, metric in labels.items():
        score = scores.get(label)
        for component in metric.components if score is None else score.segments:
            values = None if score is None else score.segments[component]
            columns[f"{label}/{component}"] = _column(values, scored, len(part.ids), arrow.float64())
        if score is not None and score.best_reference is not None:
            named = f"{label}/best_reference"
            columns[named] = _column(score.best_reference, scored, len(part.ids), arrow.int64())
        if score is not None and score.statistics is not None:
            columns[f"{label}/counts"] = _counts_column(score.statistics, scored, len(part.ids))
    heads = [ScoreHead.of(label, score) for label, score in scores.items()]
    about = {"format": Part.format, **to_plain(part.key), "scores": to_plain(heads)}
    table = arrow.table(columns)
    table = table.replace_schema_metadata({_KEY: json.dumps({**about, "digest": _digest(table, about)})})
    buffer = io.BytesIO()
    require("pyarrow.parquet", "cluster").write_table(table, buffer, compression="zstd", write_page_checksum=True)
    write_file(path, buffer.getvalue())


def _labels(metrics: Sequence[Metric], systems: Sequence[str]) -> dict[str, Metric]:
    """How columns begin: the metric's name, with a number where there are several of one name, and the system."""
    total, seen, labels = Counter(metric.name for metric in metrics), Counter[str](), {}
    for metric in metrics:
        seen[metric.name] += 1
        name = metric.name + (f"#{seen[metric.name]}" if total[metric.name] > 1 else "")
        for system in systems:
            labels[f"{name}/{system}" if system else name] = metric
    return labels


def _column(values: Any, scored: Any, rows: int, kind: Any) -> Any:
    """Values of the scored rows, null in the others."""
    arrow = require("pyarrow", "cluster")
    if values is None:
        return arrow.nulls(rows, kind)
    if len(scored) == rows:
        return arrow.array(values, kind)
    missing = np.ones(rows, dtype=bool)
    missing[scored] = False
    spread = np.zeros(rows, dtype=values.dtype)
    spread[scored] = values
    return arrow.array(spread, kind, mask=missing)


def _counts_column(statistics: CorpusCounts, scored: Any, rows: int) -> Any:
    arrow = require("pyarrow", "cluster")
    lists: list[list[int] | None] = [None] * rows
    for row, counts in zip(scored.tolist(), statistics.counts.astype(np.int64).tolist(), strict=True):
        lists[row] = counts
    return arrow.array(lists, arrow.list_(arrow.int64()))


def _digest(table: Any, about: Mapping[str, Any]) -> str:
    """sha256 of all values and of what is said about them: Parquet's own checksums leave out headers and metadata."""
    arrow = require("pyarrow", "cluster")
    state = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
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
        msg = f"its content has digest {digest[:12]}, not {stored[:12]}"
        raise ValueError(msg)


def stored_key(path: Path) -> PartKey | None:
    """What a part belongs to; None where it is not there, or damaged and must be made again."""
    if not path.exists():
        return None
    arrow = require("pyarrow", "cluster")
    try:
        metadata = require("pyarrow.parquet", "cluster").read_schema(path).metadata or {}
    except (arrow.ArrowException, OSError, ValueError):
        return None
    if _KEY not in metadata:  # whole, and somebody else's: perhaps the very table that is scored
        msg = f"{str(path)!r} is a Parquet file that nlgauge did not write; give another folder to --parts"
        raise InputError(msg)
    try:
        return _key(json.loads(metadata[_KEY]))
    except (KeyError, ValueError, TypeError):
        return None


def _key(about: Mapping[str, Any]) -> PartKey:
    if about["format"] != Part.format:
        raise ValueError(about["format"])
    key: PartKey = from_plain(PartKey, about)
    return key


def read_part(path: Path) -> Part:
    """Read a part back, bit for bit."""
    arrow = require("pyarrow", "cluster")
    try:
        table = require("pyarrow.parquet", "cluster").read_table(path, page_checksum_verification=True)
        about = json.loads((table.schema.metadata or {})[_KEY])
        key = _key(about)
        _check_digest(about.pop("digest"), _digest(table, about))
    except (arrow.ArrowException, OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        msg = f"{str(path)!r} is no part that nlgauge wrote, or it is damaged ({error}); delete it and run again"
        raise InputError(msg) from error
    errors = {row: text for row, text in enumerate(table.column("error").to_pylist()) if text is not None}
    keep = arrow.array([row for row in range(len(table)) if row not in errors], arrow.int64())
    scored = table.take(keep) if errors else table
    scores = tuple(_score(scored, from_plain(ScoreHead, head)) for head in about["scores"])
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


#: Rows that could not be scored which a summary names one by one.
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
    """The result of a run over many shards."""

    format = "nlgauge-summary/1"
    record = _Summary

    scores: ScoreTable
    """Of the rows that were scored: what `nlgauge.score_systems` gives for them in one call, bit for bit."""
    rows: int
    errors: tuple[RowError, ...]
    ids: str
    """sha256 of all ids, in order."""
    input: str
    """sha256 of the input."""
    shards: int

    def _repr_html_(self) -> str:
        scored = self.rows - len(self.errors)
        caption = f"{scored} of {self.rows} rows scored, in {self.shards} shards; input {self.input[:12]}"
        return f"{self.scores._repr_html_()}<p><small>{caption}</small></p>"

    def summary(self, intervals: Mapping[int, Interval] | None = None) -> dict[str, Any]:
        """Plain values without segments; `intervals` by place of a score."""
        records = self.scores.to_dict(segments=False)["scores"]
        for record in records:
            del record["noted_segments"]  # as many as there are rows
        for place, interval in (intervals or {}).items():
            records[place]["interval"] = interval._asdict()
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
        """The summary as JSON; equal results give equal bytes."""
        return json.dumps(self.summary(intervals), indent=2) + "\n"


def merge(folder: str | PathLike[str]) -> Merged:
    """Join the parts in a folder, in the order of the rows; refused where one is missing or belongs elsewhere."""
    where = Path(folder)
    plan = read_plan(where)
    if plan is None:
        msg = f"{str(folder)!r} is no folder of parts: it has no plan.json; make one with 'nlgauge score --parts'"
        raise InputError(msg)
    _refuse_missing(where, plan)
    errors: list[RowError] = []
    by_place: dict[int, list[Score]] = {}
    ids = IdDigest()
    for start, part in _parts(where, plan):
        for identity in part.ids:
            ids.add(identity)
        errors += [RowError(start + row, part.ids[row], text) for row, text in part.errors.items()]
        for place, score in enumerate(part.scores):
            by_place.setdefault(place, []).append(score)
    if (ids.count, ids.hexdigest()) != (plan.rows, plan.ids):
        msg = (
            f"the parts in {str(folder)!r} hold {ids.count} ids and the input {plan.rows}, or others (digest "
            f"{ids.hexdigest()[:12]}, expected {plan.ids[:12]}); rows are missing or double, so run again elsewhere"
        )
        raise InputError(msg)
    scores = ScoreTable(tuple(_count_errors(Score.merge(parts), len(errors)) for parts in by_place.values()))
    if not scores:
        msg = f"none of the {plan.rows} rows could be scored; the first: {errors[0].error}"
        raise InputError(msg)
    return Merged(scores, plan.rows, tuple(errors), plan.ids, plan.input, len(plan.shards))


def _parts(folder: Path, plan: Plan) -> Iterator[tuple[int, Part]]:
    """Each part with its first row; all of one run."""
    first: Part | None = None
    for shard in plan.shards:
        part = read_part(part_path(folder, shard))
        first = first or part
        wanted = first.key._replace(input=plan.input, start=shard.start, stop=shard.stop, version=__version__)
        if part.key != wanted:
            other = next(name for name in wanted._fields if getattr(part.key, name) != getattr(wanted, name))
            msg = (
                f"{part_path(folder, shard).name!r} in {str(folder)!r} belongs to another run: its {other} is "
                f"{getattr(part.key, other)!r}, expected {getattr(wanted, other)!r}; delete it and run again"
            )
            raise InputError(msg)
        yield shard.start, part


def _refuse_missing(folder: Path, plan: Plan) -> None:
    missing = [shard for shard in plan.shards if not part_path(folder, shard).exists()]
    if missing:
        named = ", ".join(part_path(folder, shard).name for shard in missing[:5])
        more = ", ..." if len(missing) > 5 else ""
        msg = (
            f"{len(missing)} of {len(plan.shards)} parts are missing in {str(folder)!r} ({named}{more}); run "
            "the same 'nlgauge score --parts' again, which makes only those"
        )
        raise InputError(msg)


def _count_errors(score: Score, errors: int) -> Score:
    """Rows that were left out are counted in the signature."""
    head, run = score.signature, {"errors": str(errors)} if errors else {}
    return replace(score, signature=Signature(head.metric, head.recipe, {**head.run, **run}))
