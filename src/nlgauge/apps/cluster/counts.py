"""Counts over the whole table, needed before scoring: computed per shard, merged and frozen.

Document frequencies are summed, and ranges of SentSim's parts are the minimum and maximum. So scores equal those of
one call over all rows. (BLEU's and chrF's counts are summed at the end: they stay with the parts.)
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
from nlgauge.core.prepare import Prepared, with_windows
from nlgauge.core.result import Document, from_plain
from nlgauge.core.run_options import RunOptions
from nlgauge.core.tokens import IdfTables
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.metrics.sentsim import SentSim
from nlgauge.text.idf import IdfTable

#: Number of shards whose tables are in memory at once while merging.
_MERGED_AT_ONCE = 100


class _TablesRecord(TypedDict):
    shared: dict[str, Any] | None
    systems: dict[str, dict[str, Any]]


class _CountsRecord(TypedDict):
    idf: dict[str, _TablesRecord]
    bounds: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Counts:
    """Counts of some or all rows."""

    record: ClassVar[type] = _CountsRecord

    idf: Mapping[str, IdfTables] = field(default_factory=dict)
    """By encoding, references or sources, and choice of table. Labels are set after counting."""
    bounds: Mapping[int, Bounds] = field(default_factory=dict)
    """By number of the metric."""

    @classmethod
    def merge(cls, parts: Sequence[Counts]) -> Counts:
        """Merge the counts of several shards."""
        tables: dict[str, list[IdfTables]] = {}
        bounds: dict[int, list[Bounds]] = {}
        for part in parts:
            for key, table in part.idf.items():
                tables.setdefault(key, []).append(table)
            for number, limits in part.bounds.items():
                bounds.setdefault(number, []).append(limits)
        merged = {number: Bounds.merge(limits) for number, limits in bounds.items()}
        return cls({key: _merge_tables(tables_of_key) for key, tables_of_key in tables.items()}, merged)

    @property
    def digest(self) -> str:
        """sha256 of the counts."""
        idf = {
            key: [
                "" if tables.shared is None else tables.shared.digest,
                {name: table.digest for name, table in tables.by_system.items()},
            ]
            for key, tables in self.idf.items()
        }
        bounds = {str(number): limits.digest for number, limits in self.bounds.items()}
        return text_digest(json.dumps({"format": "nlgauge-counts/1", "idf": idf, "bounds": bounds}, sort_keys=True))

    def whole(self, recipes: Sequence[Metric], options: RunOptions, reference_count: str) -> WholeCorpus:
        """Statistics of the whole table that the engine needs to score a part of it."""
        tables_of: dict[Any, dict[str, Any]] = {}
        for metric in _iter_counting_metrics(recipes, options):
            tables = self.idf.get(_table_key(metric))
            if tables is not None and tables.shared is not None:
                label = f"{metric.idf_choice}[{short_digest(tables.shared.digest)}]"
                labelled = replace(tables, label=label)
                tables_of.setdefault((metric.encoding, metric.against), {})[metric.idf_choice] = labelled
        return WholeCorpus(reference_count, tables_of)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values."""
        return {
            "idf": {
                key: {
                    "shared": None if tables.shared is None else tables.shared.content(),
                    "systems": {name: table.content() for name, table in tables.by_system.items()},
                }
                for key, tables in self.idf.items()
            },
            "bounds": {
                str(number): limits.content() | {"digest": limits.digest} for number, limits in self.bounds.items()
            },
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Counts:
        """Inverse of `to_dict`."""
        idf = {
            key: IdfTables(
                "",
                IdfTable.from_content(entry["shared"] | {"digest": ""}),
                {name: IdfTable.from_content(table | {"digest": ""}) for name, table in entry["systems"].items()},
            )
            for key, entry in record["idf"].items()
        }
        return cls(idf, {int(number): Bounds.from_content(entry) for number, entry in record["bounds"].items()})


@dataclass(frozen=True)
class FrozenCounts(Document):
    """Counts of all rows, frozen for the second pass."""

    format = "nlgauge-frozen-counts/1"

    counts: Counts


@dataclass(frozen=True)
class ShardCounts(Document):
    """Result of the first pass on a shard, with comparisons that the second pass reuses."""

    format = "nlgauge-counts/1"

    counts: Counts
    scored: tuple[int, ...]
    """Rows of the shard."""
    errors: Mapping[int, str]
    comparisons: Comparisons
    """Of metrics that are scaled over the table, by index among the scored rows."""


def needs_table_counts(recipes: Iterable[Metric]) -> bool:
    """Whether a first pass is needed."""
    return any(
        scaled_over_table(metric) or (isinstance(metric, VectorMetric) and metric.counts_idf)
        for metric in base_metrics(recipes)
    )


def scaled_over_table(metric: Metric) -> bool:
    """Whether scores are scaled by ranges over all rows after comparison."""
    return isinstance(metric, SentSim) and metric.whole_corpus


def check_countable(recipes: Iterable[Metric]) -> None:
    """Raise RecipeError for metrics that cannot be scored shard by shard."""
    for metric in base_metrics(recipes):
        if metric.whole_corpus and not scaled_over_table(metric):
            msg = f"{metric.name} needs all texts at once and cannot be scored in shards; use nlgauge.score"
            raise RecipeError(msg)


def count_shard(prepared: Prepared, comparisons: Comparisons) -> Counts:
    """Count on the texts of a shard; `comparisons` are those of metrics that are scaled over the table."""
    members = [member for group in prepared.groups for member in group.metrics.values()]
    idf = {_table_key(member.metric): member.state.idf for member in members if member.metric.counts_idf}
    bounds = {}
    for number, by_system in comparisons.by_metric.items():
        metric = prepared.metrics[number].metric
        assert isinstance(metric, SentSim)
        rows = {system: [by_row[row] for row in range(len(prepared))] for system, by_row in by_system.items()}
        bounds[number] = Bounds.merge([Bounds.extremes(parts) for parts in metric.part_values(rows).values()])
    return Counts(idf, bounds)


def counts_path(folder: Path, plan: Plan, shard: RowShard) -> Path:
    """Path of the counts of a shard; its name contains a digest of version, input, rows and recipes."""
    owner = [ShardCounts.format, __version__, plan.input, shard.start, shard.stop, list(plan.recipes)]
    return folder / f"counts-{shard.name}-{short_digest(text_digest(json.dumps(owner)))}.json.gz"


def write_counts(folder: Path, plan: Plan, shard: RowShard, counts: ShardCounts) -> None:
    """Write the counts of a shard; equal counts give equal bytes."""
    _write(counts_path(folder, plan, shard), counts, compresslevel=1)


def read_counts(folder: Path, plan: Plan, shard: RowShard, *, tables: bool) -> ShardCounts:
    """Read the counts of a shard; scoring needs no tables because it reads them from the frozen file."""
    path = counts_path(folder, plan, shard)
    try:
        record = json.loads(gzip.decompress(path.read_bytes()))
        if not tables:
            record["counts"] = Counts().to_dict()
        counts: ShardCounts = from_plain(ShardCounts, record)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        msg = f"cannot read the counts of a shard in {str(path)!r} ({error}); delete the file and run again"
        raise InputError(msg) from error
    return counts


def freeze(folder: Path, plan: Plan) -> Counts:
    """Merge the counts of all shards and write them to a file named by their digest."""
    merged = Counts()
    shards = (read_counts(folder, plan, shard, tables=True) for shard in plan.shards)
    counts = (shard.counts for shard in shards if shard.scored)
    while batch := list(islice(counts, _MERGED_AT_ONCE)):
        merged = Counts.merge([merged, *batch])
    for bounds in merged.bounds.values():
        bounds.check_width()
    _write(_frozen_path(folder, merged.digest), FrozenCounts(merged), compresslevel=6)
    return merged


def _write(path: Path, document: Document, *, compresslevel: int) -> None:
    data = json.dumps(document.to_document()).encode()
    write_file(path, gzip.compress(data, compresslevel=compresslevel, mtime=0))


def read_frozen(folder: Path, digest: str) -> Counts:
    """Read the counts of all rows with this digest."""
    path = _frozen_path(folder, digest)
    try:
        counts = Counts.from_dict(json.loads(gzip.decompress(path.read_bytes()))["counts"])
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        msg = f"cannot read the counts of the whole table in {str(path)!r} ({error}); run again"
        raise InputError(msg) from error
    if counts.digest != digest:
        msg = f"{str(path)!r} is damaged: the checksum does not match; delete the file and run again"
        raise InputError(msg)
    return counts


def _frozen_path(folder: Path, digest: str) -> Path:
    return folder / f"frozen-{short_digest(digest)}.json.gz"


def _iter_counting_metrics(recipes: Iterable[Metric], options: RunOptions) -> Iterator[VectorMetric[Any]]:
    for leaf in base_metrics(recipes):
        metric = with_windows(leaf, options)
        if isinstance(metric, VectorMetric) and metric.counts_idf:
            yield metric


def _table_key(metric: VectorMetric[Any]) -> str:
    """Key of a table of counts, equal for metrics that share it."""
    return json.dumps([*metric.encoding, metric.against, metric.idf_choice])


def _merge_tables(parts: Sequence[IdfTables]) -> IdfTables:
    shared = IdfTable.merge([part.shared for part in parts if part.shared is not None])
    return IdfTables(
        "", shared, {name: IdfTable.merge([part.by_system[name] for part in parts]) for name in parts[0].by_system}
    )
