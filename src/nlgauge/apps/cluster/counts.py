"""Counts over the whole table, which recipes need before anything is scored: found by shard, merged and frozen.

Document frequencies add up, and ranges of SentSim's parts take the lowest and the highest. So scores are those of one
call over all rows. (BLEU's and chrF's counts add up at the end: they stay with the parts.)
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypedDict

from nlgauge._version import __version__
from nlgauge.apps.cluster.parts import write_file
from nlgauge.apps.cluster.shards import Plan, RowShard
from nlgauge.core.compare import Comparisons
from nlgauge.core.corpus import WholeCorpus
from nlgauge.core.metric import Metric, base_metrics
from nlgauge.core.prepare import Prepared, as_asked
from nlgauge.core.result import Document, from_plain
from nlgauge.core.run_options import RunOptions
from nlgauge.core.tokens import IdfTables
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.metrics.sentsim import SentSim
from nlgauge.text.idf import IdfTable

#: Shards whose tables are in memory together while they are merged.
_MERGED_AT_ONCE = 100


class _TablesRecord(TypedDict):
    shared: dict[str, Any] | None
    systems: dict[str, dict[str, Any]]


class _CountsRecord(TypedDict):
    idf: dict[str, _TablesRecord]
    bounds: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Counts:
    """Counts of some rows, or of all."""

    record: ClassVar[type] = _CountsRecord

    idf: Mapping[str, IdfTables] = field(default_factory=dict)
    """By what is counted: encoding, references or sources, choice of table. Labels come when all is counted."""
    bounds: Mapping[int, Bounds] = field(default_factory=dict)
    """By number of the metric."""

    @classmethod
    def merge(cls, parts: Sequence[Counts]) -> Counts:
        """Of all rows together."""
        tables: dict[str, list[IdfTables]] = {}
        bounds: dict[int, list[Bounds]] = {}
        for part in parts:
            for key, table in part.idf.items():
                tables.setdefault(key, []).append(table)
            for number, limits in part.bounds.items():
                bounds.setdefault(number, []).append(limits)
        merged = {number: Bounds.merge(limits) for number, limits in bounds.items()}
        return cls({key: _merge_tables(several) for key, several in tables.items()}, merged)

    @property
    def digest(self) -> str:
        """sha256 of the numbers."""
        idf = {
            key: [
                "" if tables.shared is None else tables.shared.digest,
                {name: own.digest for name, own in tables.by_system.items()},
            ]
            for key, tables in self.idf.items()
        }
        bounds = {str(number): limits.digest for number, limits in self.bounds.items()}
        return text_digest(json.dumps({"format": "nlgauge-counts/1", "idf": idf, "bounds": bounds}, sort_keys=True))

    def whole(self, recipes: Sequence[Metric], options: RunOptions, reference_count: str) -> WholeCorpus:
        """What the engine must know of the table when it looks at a part of it."""
        counted: dict[Any, dict[str, Any]] = {}
        for metric in _counting(recipes, options):
            tables = self.idf.get(_key(metric))
            if tables is not None and tables.shared is not None:
                label = f"{metric.idf_choice}[{short_digest(tables.shared.digest)}]"
                labelled = replace(tables, label=label)
                counted.setdefault((metric.encoding, metric.against), {})[metric.idf_choice] = labelled
        return WholeCorpus(reference_count, counted)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "idf": {
                key: {
                    "shared": None if tables.shared is None else tables.shared.content(),
                    "systems": {name: own.content() for name, own in tables.by_system.items()},
                }
                for key, tables in self.idf.items()
            },
            "bounds": {
                str(number): limits.content() | {"digest": limits.digest} for number, limits in self.bounds.items()
            },
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Counts:
        """`to_dict` backwards."""
        idf = {
            key: IdfTables(
                "",
                IdfTable.from_content(entry["shared"] | {"digest": ""}),
                {name: IdfTable.from_content(own | {"digest": ""}) for name, own in entry["systems"].items()},
            )
            for key, entry in record["idf"].items()
        }
        return cls(idf, {int(number): Bounds.from_content(entry) for number, entry in record["bounds"].items()})


@dataclass(frozen=True)
class FrozenCounts(Document):
    """Counts of all rows, as they are frozen for the second pass."""

    format = "nlgauge-frozen-counts/1"

    counts: Counts


@dataclass(frozen=True)
class ShardCounts(Document):
    """What the first pass found in a shard, and what of it the second need not compute again."""

    format = "nlgauge-counts/1"

    counts: Counts
    scored: tuple[int, ...]
    """Rows of the shard."""
    errors: Mapping[int, str]
    comparisons: Comparisons
    """Of metrics that are scaled over the table, by place among the scored rows."""


def looks_at_table(recipes: Iterable[Metric]) -> bool:
    """Whether a first pass is needed."""
    return any(
        scaled_over_table(metric) or (isinstance(metric, VectorMetric) and metric.counts_idf)
        for metric in base_metrics(recipes)
    )


def scaled_over_table(metric: Metric) -> bool:
    """Whether scores are scaled by ranges over all rows, after they were compared."""
    return isinstance(metric, SentSim) and metric.whole_corpus


def check_countable(recipes: Iterable[Metric]) -> None:
    """Refuse recipes whose look at the corpus cannot be taken shard by shard."""
    for metric in base_metrics(recipes):
        if metric.whole_corpus and not scaled_over_table(metric):
            msg = f"{metric.name} looks at all texts of a run at once, so that it cannot be scored shard by shard"
            raise RecipeError(msg)


def count_shard(prepared: Prepared, comparisons: Comparisons) -> Counts:
    """What recipes count on the texts at hand; `comparisons` are those of metrics that are scaled over the table."""
    members = [member for group in prepared.groups for member in group.metrics.values()]
    idf = {_key(member.metric): member.state.idf for member in members if member.metric.counts_idf}
    bounds = {}
    for number, by_system in comparisons.by_metric.items():
        metric = prepared.metrics[number].metric
        assert isinstance(metric, SentSim)
        rows = {system: [by_row[row] for row in range(len(prepared))] for system, by_row in by_system.items()}
        bounds[number] = Bounds.merge([Bounds.extremes(parts) for parts in metric.part_values(rows).values()])
    return Counts(idf, bounds)


def counts_path(folder: Path, plan: Plan, shard: RowShard) -> Path:
    """Where the counts of a shard are; a digest of what they belong to is in the name."""
    owner = [ShardCounts.format, __version__, plan.input, shard.start, shard.stop, list(plan.recipes)]
    return folder / f"counts-{shard.name}-{short_digest(text_digest(json.dumps(owner)))}.json.gz"


def write_counts(folder: Path, plan: Plan, shard: RowShard, counts: ShardCounts) -> None:
    """Keep the counts of a shard; equal counts give equal bytes."""
    _write(counts_path(folder, plan, shard), counts, compresslevel=1)


def read_counts(folder: Path, plan: Plan, shard: RowShard, *, tables: bool) -> ShardCounts:
    """The counts of a shard; without the tables, which one who scores it takes from the frozen file."""
    path = counts_path(folder, plan, shard)
    try:
        record = json.loads(gzip.decompress(path.read_bytes()))
        if not tables:
            record["counts"] = Counts().to_dict()
        counts: ShardCounts = from_plain(ShardCounts, record)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        msg = f"{str(path)!r}, what was counted on a shard, cannot be read ({error}); delete it and run again"
        raise InputError(msg) from error
    return counts


def freeze(folder: Path, plan: Plan) -> Counts:
    """Merge the counts of all shards, and keep them in a file that is named by their digest."""
    merged = Counts()
    shards = (read_counts(folder, plan, shard, tables=True) for shard in plan.shards)
    counts = (shard.counts for shard in shards if shard.scored)
    while some := list(islice(counts, _MERGED_AT_ONCE)):
        merged = Counts.merge([merged, *some])
    for bounds in merged.bounds.values():
        bounds.check_width()
    _write(_frozen_path(folder, merged.digest), FrozenCounts(merged), compresslevel=6)
    return merged


def _write(path: Path, document: Document, *, compresslevel: int) -> None:
    data = json.dumps(document.to_document()).encode()
    write_file(path, gzip.compress(data, compresslevel=compresslevel, mtime=0))


def read_frozen(folder: Path, digest: str) -> Counts:
    """The counts of all rows, under the digest that a job names."""
    path = _frozen_path(folder, digest)
    try:
        counts = Counts.from_dict(json.loads(gzip.decompress(path.read_bytes()))["counts"])
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        msg = f"{str(path)!r}, what was counted on the whole table, cannot be read ({error}); run again"
        raise InputError(msg) from error
    if counts.digest != digest:
        msg = f"{str(path)!r} is damaged: its numbers are not those of its digest; delete it and run again"
        raise InputError(msg)
    return counts


def _frozen_path(folder: Path, digest: str) -> Path:
    return folder / f"frozen-{short_digest(digest)}.json.gz"


def _counting(recipes: Iterable[Metric], options: RunOptions) -> Iterator[VectorMetric[Any]]:
    for leaf in base_metrics(recipes):
        metric = as_asked(leaf, options)
        if isinstance(metric, VectorMetric) and metric.counts_idf:
            yield metric


def _key(metric: VectorMetric[Any]) -> str:
    """What is counted: the same for metrics that share a table."""
    return json.dumps([*metric.encoding, metric.against, metric.idf_choice])


def _merge_tables(parts: Sequence[IdfTables]) -> IdfTables:
    shared = IdfTable.merge([part.shared for part in parts if part.shared is not None])
    return IdfTables(
        "", shared, {name: IdfTable.merge([part.by_system[name] for part in parts]) for name in parts[0].by_system}
    )
