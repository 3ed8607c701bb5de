r"""Tables of scores of several systems under several metrics.

    text    one block per metric, a blank line between blocks:
              NAME [(distance: lower is better)]
              [system] COMPONENT... [MAIN 95% low] [MAIN 95% high]     header, rule, one row per score
              signature: SHORT                     once, when all rows share it; else
              signature of SYSTEM: SHORT           per row
              SYSTEM: COUNT segments with ...      per row with a count that is not 0
            with full signatures (`signature_form`) instead
              signature: SIGNATURE                 once, when all rows share it; else
              signature: RECIPE PART               and per row   run of SYSTEM: RUN PART
              signature of SYSTEM: SIGNATURE       per row, when the recipes differ
              bootstrap: 95 % of 1000 resamples, seed 12345, expanded percentiles     (or: Student's t interval, ...)
            with `segments`, a table "NAME, by segment" before each
    TSV, CSV  [system] metric better COMPONENT... [interval low high] signature    one row per score; or
            [system] metric segment COMPONENT... [best_reference] signature      one row per segment
            metric is the title of its block in text, so two recipes of one metric have different names
    Markdown, HTML  the blocks of text, for pull requests and notebooks
    LaTeX   a booktabs tabular, systems as rows, the metrics' components as columns; signatures as % comments

COMPONENT... is the union over all scores, with empty cells where a metric has no such component. The system
column is left out if no score has a system. No row is marked as best: a higher mean alone is not a finding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from nlgauge.core.score import Score, describe_count
from nlgauge.core.short_signature import prints_full_signatures
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import Cell, Span, Table

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval


@dataclass(frozen=True)
class Confidence:
    """Options of the confidence interval of each score's main component."""

    level: float = 0.95
    resamples: int = 1000
    seed: int = 12345
    documents: tuple[str, ...] | None = None
    """The document of each segment, to draw whole documents."""

    def __post_init__(self) -> None:
        from nlgauge.stats.numeric import (
            LEAST_RESAMPLES,
        )  # imported here because tables without intervals do not need it

        for name, value, fits, expected in (
            ("level", self.level, 0 < self.level < 1, "between 0 and 1"),
            ("resamples", self.resamples, self.resamples >= LEAST_RESAMPLES, f"at least {LEAST_RESAMPLES}"),
            ("seed", self.seed, self.seed >= 0, "at least 0"),
        ):
            if not fits:
                msg = f"confidence {name} must be {expected}, got {value!r}"
                raise RecipeError(msg)

    @property
    def percent(self) -> str:
        """The level in per cent, rounded to 10 digits."""
        return f"{100 * self.level:.10g}"


def score_tables(
    scores: Sequence[Score],
    form: str,
    *,
    segments: bool = False,
    confidence: Confidence | None = None,
) -> list[Table]:
    """The scores as tables; the module's docstring has the grammar."""
    if form in ("tsv", "csv"):
        names = metric_titles(scores)
        if segments:
            return [_segment_table(scores, names=names, signed=True)]
        return [_score_table(scores, names, confidence)]
    if form == "latex":
        return [_latex_table(scores, confidence)]
    tables: list[Table] = []
    for title, part in _by_recipe(scores):
        if segments:
            names = {id(score): score.metric for score in part}
            tables.append(_segment_table(part, names=names, caption=f"{title}, by segment"))
        tables.append(_metric_table(title, part, confidence))
    return tables


def metric_titles(scores: Sequence[Score]) -> dict[int, str]:
    """The title of each score by its identity: the metric, and the fields that differ between its recipes."""
    return {id(score): title for title, part in _by_recipe(scores) for score in part}


def check_scores(scores: Sequence[Score], form: str, *, segments: bool, confidence: Confidence | None) -> None:
    """Refuse options that do not go together, and scores that are not numbers."""
    if segments and form == "latex":
        msg = "LaTeX tables have no rows for segments; use text, json or tsv, or leave out segments"
        raise RecipeError(msg)
    if segments and confidence is not None and form in ("tsv", "csv"):
        msg = "tables of segments in TSV and CSV have no intervals; leave out confidence or segments"
        raise RecipeError(msg)
    if not scores:
        msg = "no scores to print: expected at least one"
        raise InputError(msg)
    for score in scores:
        label = f"{score.metric} of {score.system!r}" if score.system is not None else score.metric
        if not len(score):
            msg = f"{label} has no segments; score at least one"
            raise InputError(msg)
        for component, values in score.segments.items():
            if not np.isfinite(values).all():
                index = int(np.flatnonzero(~np.isfinite(values))[0])
                msg = f"{label}, segment {index}: {component} must be a finite number, got {float(values[index])!r}"
                raise InputError(msg)


def _score_table(scores: Sequence[Score], names: Mapping[int, str], confidence: Confidence | None) -> Table:
    bounds = [] if confidence is None else ["interval", "low", "high"]
    columns = [*system_column(scores), "metric", "better", *components_of(scores), *bounds, "signature"]
    records: list[dict[str, Cell]] = []
    for score in scores:
        record: dict[str, Cell] = {
            "system": score.system,
            "metric": names[id(score)],
            "better": _better_of_all(score),
        }
        record |= score.system_scores
        if confidence is not None:
            interval = interval_of(score, confidence)
            record["interval"] = f"none: {interval}" if isinstance(interval, str) else f"{score.main} {interval}"
            if not isinstance(interval, str):
                record |= {"low": interval.low, "high": interval.high}
        records.append(record | {"signature": str(score.signature)})
    return Table(columns, _rows(columns, records))


def _segment_table(
    scores: Sequence[Score], *, names: Mapping[int, str], caption: str | None = None, signed: bool = False
) -> Table:
    """A row per segment; `signed` adds a column with the signature, which text has below the table."""
    extra = ["best_reference"] * any(score.best_reference is not None for score in scores)
    extra += ["signature"] * signed
    better = ["better"] * signed  # text has it in the caption
    columns = [*system_column(scores), "metric", *better, "segment", *components_of(scores), *extra]
    rows: list[list[Cell]] = []
    for score in scores:
        fixed: dict[str, Cell] = {"system": score.system, "metric": names[id(score)], "better": _better_of_all(score)}
        if signed:
            fixed["signature"] = str(score.signature)
        rows += _rows(columns, [fixed | row for row in score.rows()])
    return Table(columns, rows, caption)


def _metric_table(title: str, scores: Sequence[Score], confidence: Confidence | None) -> Table:
    columns = [*system_column(scores), *_mean_columns(scores, confidence)]
    records = [{"system": score.system, **_means(score, confidence)} for score in scores]
    caption = title + ("" if scores[0].higher_is_better else " (distance: lower is better)")
    if scores[0].distances:
        caption += f" (lower is better: {', '.join(scores[0].distances)})"
    notes = _signature_notes(scores) + _interval_notes(scores, confidence)
    return Table(columns, _rows(columns, records), caption, notes)


def _latex_table(scores: Sequence[Score], confidence: Confidence | None) -> Table:
    systems = list(dict.fromkeys(score.system for score in scores))
    columns = system_column(scores)
    spans = [Span("")] * len(columns)
    rows: list[list[Cell]] = [[system] * len(columns) for system in systems]
    notes: list[str] = []
    for title, part in _by_recipe(scores):
        names = _mean_columns(part, confidence)
        columns = [*columns, *names]
        spans = [*spans, Span(title, len(names), _better(part[0]), part[0].distances)]
        means = {score.system: _means(score, confidence) for score in part}
        for row, system in zip(rows, systems, strict=True):
            row += _rows(names, [means.get(system, {})])[0]
        notes += _signature_notes(part)
        if part[0].distances:
            notes.append(f"{title}: lower is better: {', '.join(part[0].distances)}")
    notes += _interval_notes(scores, confidence)
    return Table(columns, rows, notes=notes, spans=spans)


def _by_recipe(scores: Sequence[Score]) -> list[tuple[str, list[Score]]]:
    """Scores of one table, with its title.

    If a system has scores of two recipes of a metric, each recipe has its table, and the titles contain the fields
    that differ.
    """
    groups: dict[tuple[str, bool], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.metric, score.higher_is_better), []).append(score)
    titled: list[tuple[str, list[Score]]] = []
    for (metric, _), group in groups.items():
        parts = _split_repeated(group)
        if len(parts) == 1:
            titled.append((metric, group))
            continue
        recipes = [part[0].signature.recipe for part in parts]
        keys = [key for key in recipes[0] if len({recipe.get(key) for recipe in recipes}) > 1]
        for number, (part, recipe) in enumerate(zip(parts, recipes, strict=True), start=1):
            differing = ", ".join(f"{key}:{recipe[key]}" for key in keys if key in recipe) or str(number)
            titled.append((f"{metric} ({differing})", part))
    return titled


def _split_repeated(scores: Sequence[Score]) -> list[list[Score]]:
    """Split scores so that a part has no system twice."""
    parts: list[list[Score]] = []
    for score in scores:
        for part in parts:
            if all(other.system != score.system for other in part):
                part.append(score)
                break
        else:
            parts.append([score])
    return parts


def system_column(scores: Sequence[Score]) -> list[str]:
    """The name of the system column, or nothing if no score has a system."""
    return ["system"] * any(score.system is not None for score in scores)


def components_of(scores: Sequence[Score]) -> list[str]:
    """The components of all scores, each once."""
    return list(dict.fromkeys(name for score in scores for name in score.segments))


def _mean_columns(scores: Sequence[Score], confidence: Confidence | None) -> list[str]:
    mains = [] if confidence is None else dict.fromkeys(s.main for s in scores if s.has_interval())
    return [*components_of(scores), *(name for main in mains for name in _bound_names(main, confidence))]


def _means(score: Score, confidence: Confidence | None) -> dict[str, Cell]:
    means: dict[str, Cell] = dict(score.system_scores)
    if confidence is not None and not isinstance(interval := interval_of(score, confidence), str):
        means |= zip(_bound_names(score.main, confidence), (interval.low, interval.high), strict=True)
    return means


def _better(score: Score) -> Literal["higher", "lower"]:
    return "higher" if score.higher_is_better else "lower"


def _better_of_all(score: Score) -> str:
    """The direction of the main component, and of others that are opposite: `higher, lower: ds_focus`."""
    return _better(score) + (f", lower: {' '.join(score.distances)}" if score.distances else "")


def interval_of(score: Score, confidence: Confidence) -> Interval | str:
    """The interval of the system score, or the reason why there is none."""
    try:
        return score.interval(**asdict(confidence))
    except InputError as error:
        if score.has_interval():
            raise
        return str(error)


def _interval_notes(scores: Sequence[Score], confidence: Confidence | None) -> list[str]:
    """Method of the intervals, and the reasons of scores without one."""
    if confidence is None:
        return []
    intervals = [interval_of(score, confidence) for score in scores]
    methods = [str(interval) for interval in intervals if not isinstance(interval, str)]
    reasons = [f"no interval: {reason}" for reason in intervals if isinstance(reason, str)]
    return [*dict.fromkeys(methods), *dict.fromkeys(reasons)]


def _bound_names(main: str, confidence: Confidence | None) -> list[str]:
    return [] if confidence is None else [f"{main} {confidence.percent}% {end}" for end in ("low", "high")]


def _rows(columns: Sequence[str], records: Iterable[Mapping[str, Cell]]) -> list[list[Cell]]:
    return [[_cell(record.get(name)) for name in columns] for record in records]


def _cell(value: Cell) -> Cell:
    """The value, or an empty cell for nan, which only notebooks show; `check_scores` refuses it elsewhere."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _signature_notes(scores: Sequence[Score]) -> list[str]:
    """The signatures; what all scores share is printed once."""
    if not prints_full_signatures():
        return _short_notes(scores)
    signatures = [str(score.signature) for score in scores]
    if len(set(signatures)) == 1:
        return [f"signature: {signatures[0]}"]
    names = _names(scores)
    parts = [signature.partition("||") for signature in signatures]
    if len({recipe for recipe, _, _ in parts}) == 1:
        runs = [f"run of {name}: {run}" for name, (_, _, run) in zip(names, parts, strict=True)]
        return [f"signature: {parts[0][0]}", *runs]
    return [f"signature of {name}: {text}" for name, text in zip(names, signatures, strict=True)]


def _short_notes(scores: Sequence[Score]) -> list[str]:
    """The short signatures, and the counts of each run that are not 0."""
    names = _names(scores)
    signatures = [score.signature.short() for score in scores]
    if len(set(signatures)) == 1:
        notes = [f"signature: {signatures[0]}"]
    else:
        notes = [f"signature of {name}: {text}" for name, text in zip(names, signatures, strict=True)]
    for name, score in zip(names, scores, strict=True):
        counts = [
            describe_count(key, int(text))
            for key, text in score.signature.run.items()
            if text.isdigit() and text != "0" and key != "range"  # a digest can consist of digits
        ]
        head = "" if len(scores) == 1 and score.system is None else f"{name}: "
        notes += [f"{head}{', '.join(counts)}"] * bool(counts)
    return notes


def _names(scores: Sequence[Score]) -> list[str]:
    return [score.system or f"score {number}" for number, score in enumerate(scores, start=1)]
