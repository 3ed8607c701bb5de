"""What a run will take: a sample is scored here, and time, memory and cost are told for 1, 10 and 100 workers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from nlgauge.distributed.columns import Columns, ColumnsGiven, RowTexts
from nlgauge.distributed.counts import Counts, looks_at_table, scaled_over_table
from nlgauge.distributed.open_table import Table, TableGiven
from nlgauge.distributed.plan import Plan, check_shard_rows, input_digest, make_plan
from nlgauge.distributed.rows import ShardRows, failing_rows
from nlgauge.distributed.run import Call, resolve
from nlgauge.distributed.work import memory_in_use
from nlgauge.engine.compare import compare
from nlgauge.engine.finish import finish
from nlgauge.engine.prepare import Prepared, prepare
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.html import html_table
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.signature import Signature

__all__ = ["SAMPLE_PAIRS", "Estimate", "Prediction", "dry_run"]

#: Pairs that are scored to predict with.
SAMPLE_PAIRS = 2000

#: What a worker-hour of one processor costs on large clouds, in dollars, rounded (docs/cluster.md).
PRICE = 0.05

_WORKERS = (1, 10, 100)

#: Stretches of rows that the sample is taken from, spread over the table.
_STRETCHES = 20


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
    metrics: Sequence[str | Metric | Signature] | str | Metric | Signature | None = None,
    columns: ColumnsGiven | None = None,
    shard_rows: int | None = None,
    price: float = PRICE,
    workers: Sequence[int] = _WORKERS,
    **options: Any,
) -> Prediction:
    """Score a sample of 2,000 pairs with one thread, spread over the table, and predict; nothing is written.

    `price` is that of a worker for an hour. Other arguments are those of `nlgauge.distributed.score`.
    """
    if not price >= 0:
        msg = f"price must be a number, 0 or more, got {price!r}"
        raise RecipeError(msg)
    check_shard_rows(shard_rows)
    call = resolve(table, metrics, columns, options)
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
    starts = [plan.shards[len(plan.shards) * at // _STRETCHES] for at in range(_STRETCHES)]
    texts = []
    for shard in dict.fromkeys(starts):
        take = each * starts.count(shard)
        texts += [
            columns.texts(row)
            for _, (_, _, row) in zip(range(min(take, shard.rows)), _from(table, columns, shard), strict=False)
        ]
    return ShardRows(columns, ("",) * len(texts), tuple(texts))


def _from(table: Table, columns: Columns, shard: Any) -> Iterator[Any]:
    return table.rows(columns.names, shard.source, shard.mark)


def _timed(call: Call, plan: Plan, rows: ShardRows) -> tuple[float, int]:
    """Seconds for the rows that can be scored, and how many cannot."""
    whole = Counts().whole(call.recipes, call.options, plan.reference_count)

    def prepared(chosen: Sequence[int]) -> Prepared:
        return prepare(call.recipes, rows.corpus(chosen, whole), call.options, warn=False)

    errors = rows.unreadable | failing_rows(rows.readable, prepared)
    scored = [at for at in range(len(rows.texts)) if at not in errors and isinstance(rows.texts[at], RowTexts)]
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
        at = min(range(len(busy)), key=busy.__getitem__)
        busy[at] += shard.characters * per_character
    seconds = startup + max(busy)
    hours = sum(startup + one for one in busy) / 3600
    return Estimate(workers, seconds, gigabytes * len(busy), hours * price)
