"""Reports of sensitivity studies, stress tests and adversarial triples, as text, JSON, TSV, LaTeX or Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from nlgauge._version import __version__
from nlgauge.io.table import LINE, Cell, Table

if TYPE_CHECKING:
    from nlgauge.studies.sensitivity.results import Sensitivity, SettingEffect, SettingInfo
    from nlgauge.studies.stress.suite import Fall, StressTest
    from nlgauge.studies.stress.triples import TripleStudy

#: Flips listed one by one where they are not significant.
_LISTED = 10

_WHAT = {
    "segment": "agreement with people on segments",
    "topic": "agreement with people on the systems of a topic",
    "system": "agreement with people on systems",
    "score": "score of each system",
}


def sensitivity_report(
    result: Sensitivity,
    *,
    format: Literal["text", "json", "latex", "tsv", "markdown"] = "text",  # noqa: A002 - as the flag is called
    width: int = 4,
) -> str:
    """The whole result; the same result gives the same bytes."""
    if format == "json":
        return json.dumps(result.to_dict(), ensure_ascii=False, indent=2) + "\n"
    return "\n".join(table.write(format, width=width) for table in sensitivity_tables(result))


def sensitivity_tables(result: Sensitivity) -> list[Table]:
    """Overview, a table per metric, sweep and level, then what happens to ranks."""
    tables = [_overview(result)]
    tables += [_effect(one, result) for one in result.effects]
    if result.rankings:
        tables += [_ranks(result), *_flips(result)]
    tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *result.notes, *_signatures(result)))
    return tables


def _signatures(result: Sensitivity) -> list[str]:
    """That of each sweep's first setting, which the others differ from by their setting alone; JSON has them all."""
    firsts: dict[tuple[str, str], SettingInfo] = {}
    for one in result.settings:
        firsts.setdefault((one.metric, one.sweep), one)
    where: dict[tuple[str, str], list[str]] = {}
    for one in firsts.values():
        signature = next(iter(one.signatures.values()), "")
        where.setdefault((one.metric, signature), []).append(f"{one.sweep} {one.setting}")
    return [
        f"signature of {metric} ({', '.join(settings)}): {signature}"
        for (metric, signature), settings in where.items()
        if signature
    ]


def _overview(result: Sensitivity) -> Table:
    rows: list[list[Cell]] = []
    for one in result.effects:
        values = [value for value in one.average if value is not None]
        spread = max(values) - min(values) if values else None
        flips = [
            flip
            for rank in result.rankings
            if (rank.metric, rank.sweep) == (one.metric, one.sweep)
            for flip in rank.flips
        ]
        marks: list[Cell] = [len(flips), sum(flip.significant for flip in flips)] if result.rankings else []
        rows.append(
            [one.metric, one.sweep, one.level, len(one.settings), one.mean_cv, one.largest_rd, spread, *marks]
        )
    columns = ["metric", "sweep", "level", "settings", "CV %", "largest RD %", "range"]
    caption = f"{result.study} on {result.data}: how far settings move " + (result.agreement or "scores")
    return Table([*columns, *(["flips", "significant"] if result.rankings else [])], rows, caption)


def _effect(one: SettingEffect, result: Sensitivity) -> Table:
    two = len(one.settings) == 2
    rows: list[list[Cell]] = []
    for group, values in one.values.items():
        statistics: list[Cell] = [one.rd[group][1]] if two else []
        rows.append([group, *values, *statistics, one.cv[group], one.best[group] or ""])
    if len(one.values) > 1:
        rows.append(["average", *one.average, *([one.mean_rd[1]] if two else []), one.mean_cv, ""])
    columns = ["", *one.settings, *(["RD %"] if two else []), "CV %", "best"]
    if one.level == "score":
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    caption = f"{one.metric}, {one.sweep}: {_WHAT[one.level]}"
    if result.agreement and one.level != "score":
        caption += f" ({result.agreement})"
    sizes = [
        f"{setting}: {', '.join(f'{count} words {lang}'.rstrip() for lang, count in known.items())}"
        for setting in one.settings
        if one.sweep == "stopwords" and setting != "none" and (known := result.stopwords.get(setting))
    ]
    return Table(columns, rows, caption, notes=sizes)


def _ranks(result: Sensitivity) -> Table:
    rows: list[list[Cell]] = []
    for one in result.rankings:
        for setting, tau in list(zip(one.settings, one.taus, strict=True))[1:]:
            flips = [flip for flip in one.flips if flip.setting == setting]
            significant = sum(flip.significant for flip in flips)
            rows.append([one.metric, one.sweep, one.langpair, setting, tau, len(flips), significant])
    columns = ["metric", "sweep", "pair", "setting", "tau with base", "flips", "significant"]
    notes = [] if any(one.flips for one in result.rankings) else ["No pair of systems flips."]
    return Table(columns, rows, "Rankings of systems beside that of the sweep's first setting", notes)


def _flips(result: Sensitivity) -> list[Table]:
    """A table where there are flips, none where there are not."""
    found = [(one, flip) for one in result.rankings for flip in one.flips]
    if not found:
        return []
    weak = [pair for pair in found if not pair[1].significant]
    shown = [pair for pair in found if pair[1].significant] + weak[:_LISTED]
    rows: list[list[Cell]] = [
        [
            one.metric,
            one.sweep,
            one.langpair,
            flip.setting,
            flip.ahead,
            flip.behind,
            flip.base_difference,
            flip.difference,
            flip.p,
            "untested" if flip.p is None else "yes" if flip.significant else "no",
        ]
        for one, flip in shown
    ]
    columns = ["metric", "sweep", "pair", "setting", "ahead", "behind", "base diff", "diff", "p", "significant"]
    notes = [f"{len(weak) - _LISTED} more that are not significant"] if len(weak) > _LISTED else []
    if any(flip.p is None for _, flip in shown):
        units = "documents" if result.options.get("documents") else "segments"
        notes.append(f"untested: the two systems have too few {units} in common for a paired test")
    return [Table(columns, rows, "Pairs of systems whose order flips", notes)]


def render_stress(test: StressTest, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The result as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **test.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    rows = []
    for one in test.metrics:
        own = [] if one.paraphrase is None else [one.paraphrase]
        rows += [_row(one.metric, fall) for fall in (*own, *one.falls)]
    columns = [
        "metric",
        "perturbation",
        "meaning",
        "changed",
        "fall",
        "low",
        "high",
        "way",
        "below paraphrase",
        "lo",
        "hi",
    ]
    if not test.paraphrases:
        columns, rows = columns[:8], [row[:8] for row in rows]
    table = Table(columns, rows, "how far metrics fall", list(_notes(test)))
    return table.write(format, width=width, line=LINE)


def _row(metric: str, fall: Fall) -> list[Cell]:
    ends: list[Cell] = [None, None] if fall.fall is None else [fall.fall.low, fall.fall.high]
    below = fall.below_paraphrase
    shares: list[Cell] = [None, None, None] if below is None else [below.mean, below.low, below.high]
    meaning = "kept" if fall.keeps_meaning else "changed"
    return [metric, fall.perturbation, meaning, fall.changed, fall.mean, *ends, fall.way, *shares]


def _notes(test: StressTest) -> Iterator[str]:
    yield f"signature: {test.signature}"
    yield (
        f"changed: of {test.size} texts, scored against {test.against}; {test.unchanged} could not be changed by any "
        "perturbation"
    )
    yield f"fall: mean score before minus after, over the texts changed; low, high: {test.level:.0%} interval"
    yield "way: the fall as a share of that to an unrelated text (the next one): 0 not moved, 1 like another text"
    if test.paraphrases:
        yield "below paraphrase: share of perturbed texts that score below the paraphrase, which they all should"
        yield "  where the meaning is changed, and none where it is kept"
    for one in test.metrics:
        unrelated = "" if one.unrelated is None else f", unrelated texts {one.unrelated:.3f}"
        yield f"{one.metric}: {one.signature}; as they were {one.original:.3f}{unrelated}"


def render_triples(study: TripleStudy, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The result as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **study.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    rows: list[list[Cell]] = []
    for one in study.metrics:
        found = study.interval(one)
        ends: list[Cell] = [None, None] if found is None else [found.low, found.high]
        means: list[Cell] = [float(one.paraphrase.mean()), float(one.lookalike.mean())]
        rows.append([one.metric, one.share, *ends, one.ties, *means, one.effect])
    with_b, with_c = study.triples.overlaps.mean(axis=1)
    skipped = f"; {study.triples.skipped} texts left out, no triple could be made of them" * bool(
        study.triples.skipped
    )
    notes = [
        f"signature: {study.signature}",
        f"{len(study.triples)} triples; overlap of A with paraphrases B {with_b:.3f}, with lookalikes C {with_c:.3f}"
        + skipped,
        f"B wins: share of triples with m(A, B) above m(A, C); low, high: {study.level:.0%} interval",
        "effect: mean of m(A, B) - m(A, C) in deviations of the metric; below 0 it prefers lookalikes",
        *(f"{one.metric}: {one.signature}" for one in study.metrics if one.signature),
    ]
    columns = ["metric", "B wins", "low", "high", "ties", "m(A,B)", "m(A,C)", "effect"]
    table = Table(columns, rows, f"adversarial triples: {study.triples.name}", notes)
    return table.write(format, width=width, line=LINE)
