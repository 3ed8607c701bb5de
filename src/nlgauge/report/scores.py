r"""Scores of several systems under several metrics, as text, JSON, TSV, LaTeX or Markdown.

    text    one block per metric, a blank line between blocks:
              NAME [(distance: lower is better)]
              [system] COMPONENT... [MAIN 95% low] [MAIN 95% high]     header, rule, one row per score
              signature: SIGNATURE                 once, when all rows share it; else
              signature: RECIPE PART               and per row   run of SYSTEM: RUN PART
              signature of SYSTEM: SIGNATURE       per row, when the recipes differ
              bootstrap: 95 % of 1000 resamples, seed 12345, expanded percentiles         (or: t interval: ...)
            with `segments`, a table "NAME, by segment" before each; BibTeX entries at the end
    JSON    {"nlgauge": VERSION, "scores": [...], ["citations": {NAME: BIBTEX}]}; a score is `Score.to_dict()`
            with segments it begins with "format" and ends with "digest": `nlgauge.load_scores` reads it back;
            with "interval" {component, mean, low, high, level, resamples, seed, method, n, clustered}, or null and
            "no_interval" (why); numbers in full
    TSV     [system] metric better COMPONENT... [interval low high] signature    one row per score; or
            [system] metric segment COMPONENT... [best_reference] signature      one row per segment
            metric is the title of its block of text: two recipes of one metric are told apart
    Markdown  the blocks of text as pipe tables, for pull requests
    LaTeX   a booktabs tabular, systems as rows, the metrics' components as columns; signatures as % comments

COMPONENT... is the union over all scores, with empty cells where a metric has no such component. The system
column is left out when no score has a system. No row is marked as best: a higher mean alone is no finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from nlgauge._version import __version__
from nlgauge.core.saved_scores import SavedScores
from nlgauge.core.score import Score
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.formats import json_text
from nlgauge.io.table import Cell, Span, Table

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval

Format = Literal["text", "json", "tsv", "latex", "markdown"]


@dataclass(frozen=True)
class Confidence:
    """How to make the interval around each score's main component (`nlgauge.stats.resampling.bootstrap_mean`)."""

    level: float = 0.95
    resamples: int = 1000
    seed: int = 12345
    documents: tuple[str, ...] | None = None
    """The document of each segment; whole documents are drawn then."""

    def __post_init__(self) -> None:
        from nlgauge.stats.numeric import LEAST_RESAMPLES  # which scores without intervals do not need

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
        """The level in per cent, without the noise of binary fractions."""
        return f"{100 * self.level:.10g}"


def render(
    scores: Sequence[Score],
    *,
    format: Format = "text",  # noqa: A002  # the word users know it by
    segments: bool = False,
    confidence: Confidence | None = None,
    width: int = 4,
    short: bool = False,
    citations: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
) -> str:
    """The scores as one string that ends with a newline; the module's docstring has the grammar.

    `width` (decimals) and `short` (abbreviated signatures) do not apply to JSON, which keeps full numbers
    and signatures that parse back. `citations` (BibTeX by metric) are part of text, Markdown and JSON only: TSV and
    LaTeX are read by other programs. `texts` are digests of what was compared with (`digests_of_texts`), for JSON
    with segments, which `nlgauge.load_scores` reads.
    """
    _check(scores, format, segments, confidence)
    if format == "json":
        return _json(scores, segments, confidence, citations, texts)
    if format == "tsv":
        names = {id(score): title for title, part in _by_recipe(scores) for score in part}
        if segments:
            return _segment_table(scores, names=names, short=short).to_tsv(width=width)
        return _score_table(scores, names, confidence, short).to_tsv(width=width)
    if format == "latex":
        return _latex_table(scores, confidence, short).to_latex(width=width)
    markdown = format == "markdown"
    write = Table.to_markdown if markdown else Table.to_text
    blocks: list[str] = []
    for title, part in _by_recipe(scores):
        if segments:
            names = {id(score): score.metric for score in part}
            blocks.append(write(_segment_table(part, names=names, caption=f"{title}, by segment"), width=width))
        blocks.append(write(_metric_table(title, part, confidence, short), width=width))
    before, after = ("```bibtex\n", "```\n") if markdown else ("", "")
    blocks += [f"{before}% {name}\n{entry.strip()}\n{after}" for name, entry in (citations or {}).items()]
    return "\n".join(blocks)


def _check(scores: Sequence[Score], format_: str, segments: bool, confidence: Confidence | None) -> None:
    if format_ not in get_args(Format):
        msg = f"format must be one of {', '.join(get_args(Format))}, got {format_!r}"
        raise RecipeError(msg)
    if segments and format_ == "latex":
        msg = "LaTeX tables have no rows for segments; ask for text, json or tsv, or leave out segments"
        raise RecipeError(msg)
    if segments and confidence is not None and format_ == "tsv":
        msg = "an interval belongs to a system, not to a segment's row in TSV; leave out confidence or segments"
        raise RecipeError(msg)
    if not scores:
        msg = "nothing to report: expected at least one score, got none"
        raise InputError(msg)
    for score in scores:
        of = f"{score.metric} of {score.system!r}" if score.system is not None else score.metric
        if not len(score):
            msg = f"{of} has no segments, so it has no mean; score at least one segment"
            raise InputError(msg)
        for component, values in score.segments.items():
            if not np.isfinite(values).all():
                index = int(np.flatnonzero(~np.isfinite(values))[0])
                msg = f"{of} has {component} = {float(values[index])!r} at segment {index}; expected a number"
                raise InputError(msg)


def _json(
    scores: Sequence[Score],
    segments: bool,
    confidence: Confidence | None,
    citations: Mapping[str, str] | None,
    texts: Mapping[str, str] | None,
) -> str:
    records = []
    for score in scores:
        record = score.to_dict(segments=segments)
        rows = record.pop("segments", None)
        if confidence is not None:
            interval = _interval(score, confidence)
            record["interval"] = (
                None if isinstance(interval, str) else {"component": score.main, **interval._asdict()}
            )
            if isinstance(interval, str):
                record["no_interval"] = interval
        if rows is not None:
            record["segments"] = rows  # last, because it is long
        records.append(record)
    output: dict[str, Any] = {"nlgauge": __version__, "scores": records}
    if segments:
        # Complete, so it is a file of saved scores too; what else stands in it is no part of its digest.
        saved = SavedScores(tuple(scores), dict(texts or {}))
        output = {"format": saved.FORMAT} | saved.content() | output | {"digest": saved.digest}
    if citations is not None:
        output["citations"] = dict(citations)
    return json_text(output)


def _score_table(
    scores: Sequence[Score], names: Mapping[int, str], confidence: Confidence | None, short: bool
) -> Table:
    bounds = [] if confidence is None else ["interval", "low", "high"]
    columns = [*_system_column(scores), "metric", "better", *_components(scores), *bounds, "signature"]
    records: list[dict[str, Cell]] = []
    for score in scores:
        record: dict[str, Cell] = {
            "system": score.system,
            "metric": names[id(score)],
            "better": _better_of_all(score),
        }
        record |= score.system_scores
        if confidence is not None:
            interval = _interval(score, confidence)
            record["interval"] = f"none: {interval}" if isinstance(interval, str) else f"{score.main} {interval}"
            if not isinstance(interval, str):
                record |= {"low": interval.low, "high": interval.high}
        records.append(record | {"signature": _signature(score, short)})
    return Table(columns, _rows(columns, records))


def _segment_table(
    scores: Sequence[Score], *, names: Mapping[int, str], caption: str | None = None, short: bool | None = None
) -> Table:
    """One row per segment; the signature is in a column unless `short` is None (text has it below)."""
    extra = ["best_reference"] * any(score.best_reference is not None for score in scores)
    extra += ["signature"] * (short is not None)
    better = ["better"] * (short is not None)  # a caption says it in text
    columns = [*_system_column(scores), "metric", *better, "segment", *_components(scores), *extra]
    rows: list[list[Cell]] = []
    for score in scores:
        fixed: dict[str, Cell] = {"system": score.system, "metric": names[id(score)], "better": _better_of_all(score)}
        if short is not None:
            fixed["signature"] = _signature(score, short)
        rows += _rows(columns, [fixed | row for row in score.rows()])
    return Table(columns, rows, caption)


def _metric_table(title: str, scores: Sequence[Score], confidence: Confidence | None, short: bool) -> Table:
    columns = [*_system_column(scores), *_mean_columns(scores, confidence)]
    records = [{"system": score.system, **_means(score, confidence)} for score in scores]
    caption = title + ("" if scores[0].higher_is_better else " (distance: lower is better)")
    if scores[0].distances:
        caption += f" (lower is better: {', '.join(scores[0].distances)})"
    notes = _signature_notes(scores, short) + _interval_notes(scores, confidence)
    return Table(columns, _rows(columns, records), caption, notes)


def _latex_table(scores: Sequence[Score], confidence: Confidence | None, short: bool) -> Table:
    systems = list(dict.fromkeys(score.system for score in scores))
    columns = _system_column(scores)
    spans = [Span("")] * len(columns)
    rows: list[list[Cell]] = [[system] * len(columns) for system in systems]
    notes: list[str] = []
    for title, part in _by_recipe(scores):
        names = _mean_columns(part, confidence)
        columns = [*columns, *names]
        spans = [*spans, Span(title, len(names), _better(part[0]), part[0].distances)]
        found = {score.system: _means(score, confidence) for score in part}
        for row, system in zip(rows, systems, strict=True):
            row += _rows(names, [found.get(system, {})])[0]
        notes += _signature_notes(part, short)
        if part[0].distances:
            notes.append(f"{title}: lower is better: {', '.join(part[0].distances)}")
    notes += _interval_notes(scores, confidence)
    return Table(columns, rows, notes=notes, spans=spans)


def _by_recipe(scores: Sequence[Score]) -> list[tuple[str, list[Score]]]:
    """Scores that belong in one table, with its title.

    A system may come twice under one metric, by two recipes; then each recipe has its table, and the fields
    on which they differ are in the titles.
    """
    groups: dict[tuple[str, bool], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.metric, score.higher_is_better), []).append(score)
    titled: list[tuple[str, list[Score]]] = []
    for (metric, _), group in groups.items():
        parts = _turns(group)
        recipes = [part[0].signature.recipe for part in parts]
        keys = [key for key in recipes[0] if len({recipe.get(key) for recipe in recipes}) > 1]
        for number, (part, recipe) in enumerate(zip(parts, recipes, strict=True), start=1):
            differing = ", ".join(f"{key}:{recipe[key]}" for key in keys if key in recipe) or str(number)
            titled.append((metric if len(parts) == 1 else f"{metric} ({differing})", part))
    return titled


def _turns(scores: Sequence[Score]) -> list[list[Score]]:
    """The scores split so that no system comes twice in one part."""
    parts: list[list[Score]] = []
    for score in scores:
        for part in parts:
            if all(other.system != score.system for other in part):
                part.append(score)
                break
        else:
            parts.append([score])
    return parts


def _system_column(scores: Sequence[Score]) -> list[str]:
    return ["system"] * any(score.system is not None for score in scores)


def _components(scores: Sequence[Score]) -> list[str]:
    return list(dict.fromkeys(name for score in scores for name in score.segments))


def _mean_columns(scores: Sequence[Score], confidence: Confidence | None) -> list[str]:
    mains = [] if confidence is None else dict.fromkeys(s.main for s in scores if s.has_interval())
    return [*_components(scores), *(name for main in mains for name in _bound_names(main, confidence))]


def _means(score: Score, confidence: Confidence | None) -> dict[str, Cell]:
    means: dict[str, Cell] = dict(score.system_scores)
    if confidence is not None and not isinstance(interval := _interval(score, confidence), str):
        means |= zip(_bound_names(score.main, confidence), (interval.low, interval.high), strict=True)
    return means


def _better(score: Score) -> Literal["higher", "lower"]:
    return "higher" if score.higher_is_better else "lower"


def _better_of_all(score: Score) -> str:
    """Of the main component, and of others that are the other way round: `higher, lower: ds_focus`."""
    return _better(score) + (f", lower: {' '.join(score.distances)}" if score.distances else "")


def _interval(score: Score, confidence: Confidence) -> Interval | str:
    """Of the system's score; or why there is none, where that is no mean and its counts are not here."""
    try:
        return score.interval(**asdict(confidence))
    except InputError as error:
        if score.has_interval():
            raise
        return str(error)


def _interval_notes(scores: Sequence[Score], confidence: Confidence | None) -> list[str]:
    """How the intervals were made, and why some scores have none."""
    if confidence is None:
        return []
    found = [_interval(score, confidence) for score in scores]
    made = [str(interval) for interval in found if not isinstance(interval, str)]
    return [*dict.fromkeys(made), *dict.fromkeys(f"no interval: {why}" for why in found if isinstance(why, str))]


def _bound_names(main: str, confidence: Confidence | None) -> list[str]:
    return [] if confidence is None else [f"{main} {confidence.percent}% {end}" for end in ("low", "high")]


def _rows(columns: Sequence[str], records: Iterable[Mapping[str, Cell]]) -> list[list[Cell]]:
    return [[record.get(name) for name in columns] for record in records]


def _signature(score: Score, short: bool) -> str:
    return score.signature.short() if short else str(score.signature)


def _signature_notes(scores: Sequence[Score], short: bool) -> list[str]:
    """As little text as says everything: what all scores share stands once."""
    signatures = [_signature(score, short) for score in scores]
    if len(set(signatures)) == 1:
        return [f"signature: {signatures[0]}"]
    names = [score.system or f"score {number}" for number, score in enumerate(scores, start=1)]
    parts = [signature.partition("||") for signature in signatures]
    if len({recipe for recipe, _, _ in parts}) == 1:
        runs = [f"run of {name}: {run}" for name, (_, _, run) in zip(names, parts, strict=True)]
        return [f"signature: {parts[0][0]}", *runs]
    return [f"signature of {name}: {text}" for name, text in zip(names, signatures, strict=True)]
