"""Write how many published tables and cells nlgauge recomputes, into docs/published-tables.md and docs/index.md.

python -m docs.make_published RUN.json ...   store the counts of runs of `nlgauge study reproduce --all -o RUN.json`
python -m docs.make_published                write the counts into the pages
python -m docs.make_published --check        exit with status 1 if a page is not up to date

The counts are in docs/tables/reproduced.json. Of several runs, each table has the counts of the run with most of its
cells.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.count_rows import count_kinds, row_states
from docs.generated import write_or_check

from nlgauge.io.storage import json_text
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.overview import Overview, ReproducedEntry
from nlgauge.studies.published.verdicts import VERDICTS

DOCS = Path(__file__).parent
COUNTS = DOCS / "tables" / "reproduced.json"
TABLES_PAGE, INDEX = DOCS / "published-tables.md", DOCS / "index.md"
COMMAND = "python -m docs.make_published"

#: Papers by the first part of an id.
PAPERS = {
    "repro": "Chen, Belouadi, Eger 2022",
    "moverscore": "Zhao et al. 2019 (MoverScore)",
    "bertscore": "Zhang et al. 2020 (BERTScore)",
    "disco": "Zhao, Strube, Eger 2023 (DiscoScore)",
    "sentsim": "Song, Zhao, Specia 2021 (SentSim)",
    "xmoverscore": "Zhao et al. 2020 (XMoverScore)",
    "bt": "Peyrard et al. 2021",
    "density": "Zhao 2023, chapter 10",
    "explain": "Kaster, Zhao, Eger 2021",
}

#: Why a table was not run, by a pattern of its reason; the first match in the reason counts.
REASONS = {
    r"time limit": "the time limit",
    r"RR-seglevel\.csv": "RR-seglevel.csv of WMT, from its publisher",
    r"--model|no model|needs an encoder": "an encoder",
    r"language pair '?(en-\w\w)'? does not exist": "outputs of WMT17 from English",
    r"wmt16": "WMT16",
    r"wmt19": "WMT19",
    r"tac2009": "TAC 2009",
    r"mt-metrics-eval": "documents of WMT20",
    r"cocodataset|MSCOCO": "outputs of the MSCOCO systems",
    r"msr-compression": "the MSR compressions",
    r"submissions": "submissions to Eval4NLP",
    r"list of 153|stop words": "lists of stop words",
    r"no scores for CLB": "unreleased scores of CLB",
    r"large corpora": "large corpora for idf",
}


def store(paths: Sequence[Path]) -> None:
    """Store the counts of runs."""
    runs = [Overview.from_dict(json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    best: dict[str, dict[str, Any]] = {}
    for run in runs:
        for entry in run.entries:
            record = _record(entry)
            if entry.id not in best or record["cells"] > best[entry.id]["cells"]:
                best[entry.id] = record
    for name in PAPER_TABLES:
        best.setdefault(name, {"cells": 0, "needs": "hours of scoring"})
    options = [dict(run.options) for run in runs]
    of_lexical = next(row for row in count_kinds(list(row_states(runs))) if row[0] == "lexical")
    lexical = dict(zip(("rows", "recipe", "computed", "close", "explained"), of_lexical[1:], strict=True))
    content = {"options": options, "lexical": lexical, "tables": best}
    COUNTS.write_text(json_text(content), encoding="utf-8")


def _record(entry: ReproducedEntry) -> dict[str, Any]:
    cells = sum(entry.counts.values())
    record: dict[str, Any] = {"cells": cells, **{name: count for name, count in entry.counts.items() if count}}
    if entry.limited:
        record["limited"] = True
    if not cells:
        record["needs"] = _reason(entry.why_not_computed)
    return record


def _reason(text: str) -> str:
    matches = {match.start(): reason for pattern, reason in REASONS.items() if (match := re.search(pattern, text))}
    if matches:
        return matches[min(matches)]
    msg = f"no reason in REASONS for {text!r}; add a pattern"
    raise ValueError(msg)


def totals(tables: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    """Add the counts of tables."""
    counts: Counter[str] = Counter()
    for record in tables.values():
        counts["tables"] += 1
        counts["run"] += bool(record["cells"])
        counts["limited"] += bool(record["cells"] and record.get("limited"))
        counts.update({name: record.get(name, 0) for name in ("cells", *VERDICTS)})
    return counts


def counts_by_paper(content: Mapping[str, Any]) -> str:
    """Write the table of counts by paper, and why tables were not run or cut short."""
    tables: Mapping[str, Mapping[str, Any]] = content["tables"]
    lines = [f"| paper | tables | run | cells | {' | '.join(VERDICTS.values())} |"]
    lines.append(f"|---|{'--:|' * (3 + len(VERDICTS))}")
    groups = {
        title: {name: record for name, record in tables.items() if name.partition("-")[0] == prefix}
        for prefix, title in PAPERS.items()
    }
    for title, group in [*groups.items(), ("**all**", tables)]:
        counts = totals(group)
        cells = [counts[name] for name in ("tables", "run", "cells", *VERDICTS)]
        lines.append(f"| {title} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    runs = "; ".join(
        ", ".join(f"`--{name} {value}`" for name, value in options.items()) for options in content["options"]
    )
    limited = totals(tables)["limited"]
    lines += ["", f"Runs: {runs}. The time limit cut {limited} of these tables short."]
    lexical = content["lexical"]
    lines[-1] += (
        f" Of {lexical['rows']} rows of lexical metrics (BLEU-1 to -4, CDER, CharacTER, CIDEr, EED, METEOR, NIST, "
        f"PER, TER, WER), {lexical['recipe']} have a recipe and {lexical['computed']} were computed: "
        f"{lexical['close']} are within .02 of print in all cells, {lexical['explained']} differ for a known reason "
        "(`python -m docs.count_rows RUN.json --list`)."
    )
    if others := lexical["recipe"] - lexical["computed"]:
        lines[-1] += f" The data of the other {others} come from their publishers; tests compute them on made files."
    needed = Counter(record["needs"] for record in tables.values() if "needs" in record)
    lines += [
        "",
        f"Not run for want of: {', '.join(f'{reason} ({count})' for reason, count in needed.most_common())}.",
    ]
    return "\n".join(lines)


def sentence(content: Mapping[str, Any]) -> str:
    """Write the counts in one sentence."""
    counts = totals(content["tables"])
    judged = counts["cells"] - counts["other model"] - counts["not printed"]
    return (
        f"`nlgauge study reproduce --all` recomputed {counts['run']} of {counts['tables']} published tables and "
        f"figures with public data. Of "
        f"{judged:,} cells that need no other model than the published one, {counts['as published']:,} are as "
        f"published, {counts['close']:,} within .02, {counts['explained']:,} differ for a known reason and "
        f"{counts['unexplained']:,} are [unexplained](published-tables.md#all-tables-at-once)."
    )


def replace_block(text: str, block: str) -> str:
    """Replace what is between the marks of generated text.

    >>> replace_block("a\\n<!-- reproduced -->\\nold\\n<!-- end of reproduced -->\\nb", "new")
    'a\\n<!-- reproduced -->\\nnew\\n<!-- end of reproduced -->\\nb'
    """
    start, end = "<!-- reproduced -->\n", "\n<!-- end of reproduced -->"
    head, result, rest = text.partition(start)
    _, closed, tail = rest.partition(end)
    if not result or not closed:
        msg = f"the page needs the lines {start.strip()} and {end.strip()}"
        raise ValueError(msg)
    return f"{head}{start}{block}{end}{tail}"


def pages() -> dict[Path, str]:
    """The pages with current counts."""
    content = json.loads(COUNTS.read_text(encoding="utf-8"))
    blocks = {TABLES_PAGE: counts_by_paper(content), INDEX: sentence(content)}
    return {path: replace_block(path.read_text(encoding="utf-8"), block) for path, block in blocks.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Store counts, or write or check the pages."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if files := [Path(argument) for argument in arguments if argument != "--check"]:
        store(files)
    return write_or_check(arguments, pages(), COMMAND)


if __name__ == "__main__":
    sys.exit(main())
