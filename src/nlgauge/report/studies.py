"""Results of studies as text, JSON, TSV, LaTeX or Markdown.

Agreement with human judgements:

text    metrics as rows, language pairs as columns, their average; a star marks what no metric beats significantly;
        the last row has the number of judgements, systems or pairs; signatures below the last table
TSV     one row per metric and language pair, with interval, rank and signature: numbers in full
LaTeX   as text, with bold for the star; so is Markdown
JSON    everything
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from nlgauge._version import __version__
from nlgauge.io.table import LINE, Cell, Marked, Table, counted
from nlgauge.studies.meta.questions import Question

if TYPE_CHECKING:
    from nlgauge.studies.discourse import Discourse
    from nlgauge.studies.ensembles import EnsembleSearch
    from nlgauge.studies.meta.evaluation import AgreementTable

_NAMES = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    "kendall": "Kendall's tau-b",
    "acc-eq": "pairwise accuracy with calibrated ties (acc_eq)",
    "differences": "Pearson's r of differences within an item",
    "spa": "soft pairwise accuracy",
    "auc": "area under the ROC curve",
}


def render_agreement(results: Sequence[AgreementTable], *, format: str = "text", width: int = 3) -> str:  # noqa: A002
    """All tables of a call."""
    if format == "json":
        record = {"nlgauge": __version__, "tables": [result.to_dict() for result in results]}
        return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "tsv":
        return _rows(results).to_tsv(width=6)
    tables = [_grid(result, "*" if format == "text" else "bold:") for result in results]
    if tables:  # once for all of them: they come from one scoring
        signatures = dict.fromkeys(line for result in results for line in _signatures(result))
        tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, *signatures])
    return "\n".join(one.write(format, width=width) for one in tables)


def _grid(result: AgreementTable, mark: str) -> Table:
    averaged = len(result.langpairs) > 1
    columns = ["metric", *result.langpairs, *(["average"] if averaged else [])]
    rows: list[list[Cell]] = []
    shared = _shared_notes(result)
    notes = [f"{langpair}: {note}" for langpair, note in shared.items()]
    averages = result.averages
    for name, row in result.cells.items():
        cells: list[Cell] = [name]
        for langpair in result.langpairs:
            cell = row[langpair]
            missing = not math.isfinite(cell.value)
            cells.append(None if missing else Marked(cell.value) if cell.unbeaten else cell.value)
            if cell.note and langpair not in shared:
                notes.append(f"{name}, {langpair}: {cell.note}")
        if averaged:
            cells.append(averages[name] if math.isfinite(averages[name]) else None)
        rows.append(cells)
    if rows:
        what = "pairs" if result.agreement in ("acc-eq", "differences", "spa") else "systems"
        what = what if what == "pairs" or result.level == "system" else "judgements"
        rows.append([f"n ({what})", *result.counts.values(), *([None] if averaged else [])])
    caption = f"{result.data}: {_NAMES[result.agreement]} with {result.criterion}, {result.level} level"
    return Table(columns, rows, caption, [*_explained(result, mark), *notes])


def _shared_notes(result: AgreementTable) -> dict[str, str]:
    """By language pair, the note that all metrics have there: it is said once."""
    shared = {}
    for langpair in result.langpairs:
        notes = {row[langpair].note for row in result.cells.values()}
        if len(notes) == 1 and len(result.cells) > 1 and (note := notes.pop()):
            shared[langpair] = note
    return shared


def _explained(result: AgreementTable, mark: str) -> list[str]:
    """What the mark means, or why there is none."""
    options, notes = result.options, list(result.notes)
    if result.agreement == "spa":
        notes.append(f"p values from {options.get('resamples')} draws, seed {options.get('seed')}")
    if not result.mark:
        if not Question(agreement=result.agreement).testable:
            notes.append(f"no metric is marked: there is no significance test for {_NAMES[result.agreement]}")
        elif options.get("test") == "none":
            notes.append("no metric is marked: no significance test was asked for")
        return notes
    return [*notes, f"{mark} {result.mark}"]


def _signatures(result: AgreementTable) -> list[str]:
    """A signature per metric; where idf tables differ by language pair, that of the first, and a word on it."""
    notes = []
    for name, by_pair in result.signatures.items():
        distinct = list(dict.fromkeys(by_pair.values()))
        if distinct:
            rest = f" (and {len(distinct) - 1} more, which differ in their idf tables)" if len(distinct) > 1 else ""
            notes.append(f"signature of {name}: {distinct[0]}{rest}")
    return notes


def _rows(results: Sequence[AgreementTable]) -> Table:
    columns = ["data", "level", "agreement", "criterion", "metric", "langpair", "value", "low", "high"]
    columns += ["rank", "unbeaten", "count", "note", "signature"]
    rows: list[list[Cell]] = []
    for result in results:
        for name, row in result.cells.items():
            for langpair, cell in row.items():
                numbers = [value if math.isfinite(value) else None for value in (cell.value, cell.low, cell.high)]
                fixed: list[Cell] = [result.data, result.level, result.agreement, result.criterion, name, langpair]
                signature = result.signatures.get(name, {}).get(langpair, "")
                rows.append(
                    [*fixed, *numbers, cell.rank, "yes" if cell.unbeaten else "no", cell.count, cell.note, signature]
                )
    return Table(columns, rows)


_NOTES = (
    "D: share of pairs of a hypothesis and a reference with more of the feature in the hypothesis (Eq. 4 of the "
    "DiscoScore paper). Its Table 11 counts the other way round, as in the last column (D6.10). Pairs of equal texts "
    "are left out.",
)


def render_discourse(
    found: Discourse,
    *,
    format: Literal["text", "json", "tsv", "latex", "markdown"] = "text",  # noqa: A002 - as the flag is called
    segments: bool = False,
    width: int = 4,
) -> str:
    """The features; with `segments` those of every document instead of their means (in JSON, beside them)."""
    if format == "json":
        record = {"nlgauge": __version__, **found.to_dict(segments=segments)}
        return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    table = _documents(found) if segments else _means(found)
    return table.write(format, width=width, line=LINE)


def _means(found: Discourse) -> Table:
    beside = found.references is not None
    columns = ["system", "feature", "mean", *(["references", "D", "equal", "ref higher"] if beside else [])]
    rows: list[list[Cell]] = []
    for system in found.systems:
        for feature in found.features:
            row: list[Cell] = [system, feature, found.mean(system, feature)]
            if beside:
                one = found.separations[system].get(feature)
                row.append(found.reference_mean(feature))
                row += [None] * 3 if one is None else [one.hypothesis_higher, one.equal, one.reference_higher]
            rows.append(row)
    lacking = {name or "hyps": at for name, at in found.no_noun.items()}
    lacking["references"] = found.references_without_noun
    without = [f"{name}: {counted(len(at), 'document')} without a noun" for name, at in lacking.items() if at]
    return Table(columns, rows, notes=[*(_NOTES if beside else ()), *without, f"settings: {found.settings}"])


def _documents(found: Discourse) -> Table:
    rows: list[list[Cell]] = []
    for system in found.systems:
        for at in range(len(found)):
            rows.append(
                [system, at, "hypothesis", *(float(found.hypotheses[system][name][at]) for name in found.features)]
            )
    if found.references is not None:
        for at in range(len(found)):
            for number in range(len(found.references[found.features[0]][at])):
                values = [float(found.references[name][at][number]) for name in found.features]
                rows.append(["", at, f"reference {number}", *values])
    return Table(["system", "document", "text", *found.features], rows)


def render_search(found: EnsembleSearch, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The result as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **found.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    rows: list[list[Cell]] = [
        [" + ".join(one.members), one.correlation, 100 * one.gain, 100 * one.held_out_gain, one.chosen]
        for one in found.pairs
    ]
    rows += [[name, value, None, None, None] for name, value in zip(found.metrics, found.singles, strict=True)]
    low, high = found.held_out_range()
    notes = [
        f"{found.data}: {found.rows} rows, {', '.join(found.langpairs)}; Pearson with people, averaged over these",
        "gain %: over the better member, all rows; held out: on halves whose other half gave the norms",
        f"chosen: in how many of {len(found.choices)} splits (seed {found.seed}) it was the best of the first half",
        f"best pair over best single metric, both chosen on one half: {100 * found.search_gain:+.1f} % there, "
        f"{100 * found.held_out_gain:+.1f} % on the other (95 % of splits: {100 * low:+.1f} to {100 * high:+.1f})",
    ]
    table = Table(["metrics", "correlation", "gain %", "held out %", "chosen"], rows, "ensembles of two", notes)
    return table.write(format, width=width, line=LINE)
