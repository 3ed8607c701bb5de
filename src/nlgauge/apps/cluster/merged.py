"""Merged parts: the scores of all rows, none missing and none double; and a prediction of what a run takes.

The prediction scores a sample here and estimates time, memory and cost for 1, 10 and 100 workers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from nlgauge._version import __version__
from nlgauge.apps.cluster.columns import Columns, ColumnsGiven, RowTexts
from nlgauge.apps.cluster.counts import Counts, looks_at_table, scaled_over_table
from nlgauge.apps.cluster.driver import Call, resolve
from nlgauge.apps.cluster.parts import Part, part_path, read_part
from nlgauge.apps.cluster.shards import (
    IdDigest,
    Plan,
    ShardRows,
    failing_rows,
    input_digest,
    make_plan,
    read_plan,
)
from nlgauge.apps.cluster.worker import memory_in_use
from nlgauge.core.compare import compare
from nlgauge.core.finish import finish
from nlgauge.core.prepare import Prepared, prepare
from nlgauge.core.records import Document
from nlgauge.core.score import Score, SystemRecord
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.scoring import Metrics
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.formats import html_table
from nlgauge.io.large_tables import Table, TableGiven
from nlgauge.stats.resampling import Interval

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import TableKeywords

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
        said = f"{scored} of {self.rows} rows scored, in {self.shards} shards; input {self.input[:12]}"
        return f"{self.scores._repr_html_()}<p><small>{said}</small></p>"

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
    scores = ScoreTable(tuple(_with_errors(Score.merge(of_place), len(errors)) for of_place in by_place.values()))
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


def _with_errors(score: Score, errors: int) -> Score:
    """Rows that were left out are counted in the signature."""
    if not errors:
        return score
    signature = score.signature
    return replace(
        score, signature=Signature(signature.metric, signature.recipe, {**signature.run, "errors": str(errors)})
    )


#: Pairs that are scored to predict with.
SAMPLE_PAIRS = 2000

#: What a worker-hour of one processor costs on large clouds, in dollars, rounded (docs/cluster.md).
PRICE = 0.05

_WORKERS = (1, 10, 100)

#: Stretches of rows that the sample is taken from, spread over the table.
_STRETCHES = 20


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(3725)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class Estimate(NamedTuple):
    """What a run takes on so many workers of one thread."""

    workers: int
    seconds: float
    gigabytes: float
    """Memory of all workers."""
    cost: float


@dataclass(frozen=True)
class Prediction:
    """What a run will take."""

    rows: int
    pairs: int
    shards: int
    sampled: int
    """Pairs that were scored."""
    errors: int
    """Rows of the sample that cannot be scored."""
    rate: float
    """Pairs a second of one worker."""
    startup: float
    """Seconds until a worker has loaded its models."""
    gigabytes: float
    """Memory of a worker."""
    price: float
    """Of a worker for an hour."""
    estimates: tuple[Estimate, ...]

    def _repr_html_(self) -> str:
        caption = f"{self.pairs} pairs in {self.shards} shards, {self.rate:.0f} pairs a second of one worker"
        return html_table(Estimate._fields, self.estimates, caption=caption, width=1)


def dry_run(
    table: TableGiven,
    *,
    metric: Metrics | None = None,
    columns: ColumnsGiven | None = None,
    shard_rows: int | None = None,
    price: float = PRICE,
    workers: Sequence[int] = _WORKERS,
    **options: Unpack[TableKeywords],
) -> Prediction:
    """Score a sample of 2,000 pairs with one thread, spread over the table, and predict; nothing is written.

    `price` is that of a worker for an hour. Other arguments are those of `nlgauge.apps.cluster.score`.
    """
    if not price >= 0:
        msg = f"price must be a number, 0 or more, got {price!r}"
        raise RecipeError(msg)
    call = resolve(table, metric, columns, shard_rows, options)
    call = replace(call, options=replace(call.options, threads=call.options.threads or 1))
    plan = make_plan(call.table, call.columns, digest=input_digest(call.table, call.columns), shard_rows=shard_rows)
    began = time.perf_counter()
    call.signatures(plan, Counts())  # loads the models
    startup = time.perf_counter() - began
    rows = _sample(call.table, call.columns, plan)
    seconds, errors = _timed(call, plan, rows)
    pairs = (len(rows.ids) - errors) * len(call.columns.systems)
    rate = pairs / seconds
    gigabytes = memory_in_use() / 2**30
    estimates = [_estimate(plan, count, rate, startup, gigabytes, price) for count in workers]
    return Prediction(
        plan.rows, plan.pairs, len(plan.shards), pairs, errors, rate, startup, gigabytes, price, tuple(estimates)
    )


def _sample(table: Table, columns: Columns, plan: Plan) -> ShardRows:
    """Rows from stretches all over the table, because its beginning may be unlike the rest."""
    wanted = max(1, SAMPLE_PAIRS // len(columns.systems))
    each = -(-wanted // _STRETCHES)
    starts = [plan.shards[len(plan.shards) * stretch // _STRETCHES] for stretch in range(_STRETCHES)]
    texts = []
    for shard in dict.fromkeys(starts):
        take = each * starts.count(shard)
        texts += [
            columns.texts(row)
            for _, (_, _, row) in zip(
                range(min(take, shard.rows)), table.rows(columns.names, shard.source, shard.mark), strict=False
            )
        ]
    return ShardRows(columns, ("",) * len(texts), tuple(texts))


def _timed(call: Call, plan: Plan, rows: ShardRows) -> tuple[float, int]:
    """Seconds for the rows that can be scored, and how many cannot."""
    whole = Counts().whole(call.recipes, call.options, plan.reference_count)

    def prepared(chosen: Sequence[int]) -> Prepared:
        return prepare(call.recipes, rows.corpus(chosen, whole), call.options, warn=False)

    errors = rows.unreadable | failing_rows(rows.readable, prepared)
    scored = [row for row in range(len(rows.texts)) if row not in errors and isinstance(rows.texts[row], RowTexts)]
    if not scored:
        msg = f"none of the {len(rows.texts)} sampled rows can be scored; the first: {next(iter(errors.values()))}"
        raise InputError(msg)
    began = time.perf_counter()
    made = prepared(scored)
    finish(made, compare(made), warn=False)
    seconds = time.perf_counter() - began
    if looks_at_table(call.recipes) and not any(map(scaled_over_table, call.recipes)):
        began = time.perf_counter()
        prepared(scored)  # the first pass counts on the texts of all shards
        seconds += time.perf_counter() - began
    return seconds, len(errors)


def _estimate(plan: Plan, workers: int, rate: float, startup: float, gigabytes: float, price: float) -> Estimate:
    """Shards go to whoever is free, longest first; how long each takes goes by its characters."""
    total = sum(shard.characters for shard in plan.shards) or 1
    per_character = plan.pairs / rate / total
    busy = [0.0] * min(workers, len(plan.shards))
    for shard in plan.longest_first:
        worker = min(range(len(busy)), key=busy.__getitem__)
        busy[worker] += shard.characters * per_character
    seconds = startup + max(busy)
    hours = sum(startup + work for work in busy) / 3600
    return Estimate(workers, seconds, gigabytes * len(busy), hours * price)
