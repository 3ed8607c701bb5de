"""Parts joined: the scores of all rows, and the proof that none is missing or there twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from nlgauge._version import __version__
from nlgauge.distributed.parts import Part, part_path, read_part
from nlgauge.distributed.plan import IdDigest, Plan, read_plan
from nlgauge.errors import InputError
from nlgauge.recipes.signature import Signature
from nlgauge.scores import Score, ScoreList
from nlgauge.stats import Interval

__all__ = ["Merged", "RowError", "merge"]

_FORMAT = "nlgauge-summary/1"

#: Rows that could not be scored which a summary names one by one.
_NAMED_ERRORS = 20


@dataclass(frozen=True)
class RowError:
    """A row that could not be scored."""

    row: int
    id: str
    error: str


@dataclass(frozen=True)
class Merged:
    """The result of a run over many shards."""

    scores: tuple[Score, ...]
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
        return f"{ScoreList(self.scores)._repr_html_()}<p><small>{said}</small></p>"

    def summary(self, intervals: Mapping[int, Interval] | None = None) -> dict[str, Any]:
        """Plain values without segments; `intervals` by place of a score."""
        records = [score.to_dict(segments=False) for score in self.scores]
        for record in records:
            del record["noted_segments"]  # as many as there are rows
        for place, interval in (intervals or {}).items():
            records[place]["interval"] = interval._asdict()
        return {
            "format": _FORMAT,
            "nlgauge": __version__,
            "input": self.input,
            "ids": self.ids,
            "rows": self.rows,
            "scored": self.rows - len(self.errors),
            "errors": len(self.errors),
            "first_errors": [vars(one) for one in self.errors[:_NAMED_ERRORS]],
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
        errors += [RowError(start + at, part.ids[at], text) for at, text in part.errors.items()]
        for place, score in enumerate(part.scores):
            by_place.setdefault(place, []).append(score)
    if (ids.count, ids.hexdigest()) != (plan.rows, plan.ids):
        msg = (
            f"the parts in {str(folder)!r} hold {ids.count} ids and the input {plan.rows}, or others (digest "
            f"{ids.hexdigest()[:12]}, expected {plan.ids[:12]}); rows are missing or double, so run again elsewhere"
        )
        raise InputError(msg)
    scores = tuple(_with_errors(Score.merge(found), len(errors)) for found in by_place.values())
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
