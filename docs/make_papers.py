"""Generate docs/papers.md from docs/tables/papers.tsv (what of the papers works), and check it against the code.

python -m docs.make_papers            write the page
python -m docs.make_papers --check    exit with status 1 if it is not up to date, or a row is wrong

A row of the table is one item of a paper: a method, a data set, a table or a claim. `state` is one of `STATES`; every
other state than "works" needs a reason; that of a row that works names what of it nobody can get. `where` lists,
separated by semicolons, what the code must have:

    bertscore, bertscore:idf=refs      a metric, or a recipe that can be read
    nlgauge study meta --agreement     a command, with its options
    bertscore-table1, repro-figure*    an entry of `nlgauge study reproduce`, or a pattern for several
    wmt17                              a data set
    src/nlgauge/text/tokenizer.py      a file or folder of the repository
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from docs.generated import write_or_check

from nlgauge.apps.cli import build_parser
from nlgauge.core.registry import METRICS, metric_name, parse_metric
from nlgauge.data.cards import DATA_CARDS
from nlgauge.errors import NlgaugeError
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.text.words import STOPWORD_SOURCES

DOCS = Path(__file__).parent
TABLE = DOCS / "tables" / "papers.tsv"
PAGE = DOCS / "papers.md"
COMMAND = "python -m docs.make_papers"

#: States of an item, with their meaning.
STATES: Mapping[str, str] = {
    "works": "computed by nlgauge; a reason names the part that needs data, models or tools that are not available",
    "partly": "a part of it is missing, or the printed form cannot be chosen",
    "missing": "could be done, and is not",
    "cannot be done": "needs data, models or text that nobody can get",
    "not planned": "outside the scope of nlgauge",
}

HEAD = f"""\
# What of the papers works

Methods, data sets, tables and claims of the papers on BERTScore, MoverScore, SentSim, the reproducibility of these
metrics, and of Zhao's dissertation (chapters 2 to 13), with where to find each in nlgauge. Printed values next to
ours: [published tables](published-tables.md). Generated from `docs/tables/papers.tsv` by `{COMMAND}`, which checks
that every named metric, command, table, data set and file exists.
"""


class Item(NamedTuple):
    """An item of a paper."""

    id: str
    paper: str
    item: str
    state: str
    where: str
    reason: str

    @property
    def places(self) -> list[str]:
        """What the code must have."""
        return [place for part in self.where.split(";") if (place := part.strip())]


def read_items(path: Path = TABLE) -> list[Item]:
    """Read the table."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if tuple(rows[0]) != Item._fields:
        msg = f"{path.name}: expected the columns {', '.join(Item._fields)}, got {', '.join(rows[0])}"
        raise ValueError(msg)
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(Item._fields):
            msg = f"{path.name}, line {number}: expected {len(Item._fields)} cells, got {len(row)}"
            raise ValueError(msg)
    return [Item(*row) for row in rows[1:]]


def find_problems(items: Iterable[Item]) -> Iterator[str]:
    """Find rows whose state, reason or places are wrong."""
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            yield f"{item.id}: the id is not unique"
        seen.add(item.id)
        if item.state not in STATES:
            yield f"{item.id}: unknown state {item.state!r}; use one of {', '.join(STATES)}"
        elif item.state == "works" and not item.places:
            yield f"{item.id}: 'works' needs where it is"
        elif item.state != "works" and not item.reason:
            yield f"{item.id}: {item.state!r} needs a reason"
        for place in item.places:
            if problem := find_place_problem(place):
                yield f"{item.id}: {problem}"


def find_place_problem(place: str) -> str:
    """Why a place does not exist; an empty text if it does.

    >>> find_place_problem("bertscore:idf=refs"), find_place_problem("nlgauge score --refs")
    ('', '')
    >>> find_place_problem("nlgauge score --nothing")
    "command 'score' has no option --nothing"
    """
    if place.startswith("nlgauge "):
        return _find_command_problem(place.removeprefix("nlgauge ").split())
    if "/" in place:
        return "" if (DOCS.parent / place).exists() else f"no file {place!r}"
    if metric_name(place) in METRICS:
        try:
            metric = parse_metric(place)
        except NlgaugeError as error:
            return str(error)
        words = getattr(metric, "stopwords", "none")  # any other name would be that of a file
        known = words == "none" or words.partition("-")[0] in STOPWORD_SOURCES
        return "" if known else f"no list of stop words {words!r}"
    if place in DATA_CARDS or any(fnmatchcase(name, place) for name in PAPER_TABLES):
        return ""
    return f"{place!r} is no metric, command, table, data set or file"


def _find_command_problem(words: Sequence[str]) -> str:
    names = [word for word in words if not word.startswith("--")]
    parser: argparse.ArgumentParser = _parser()
    for name in names:
        below = _commands_below(parser)
        if name not in below:
            return f"no command {' '.join(names)!r}"
        parser = below[name]
    flags = [word for word in words if word.startswith("--") and word not in parser._option_string_actions]
    return f"command {' '.join(names)!r} has no option {', '.join(flags)}" if flags else ""


@cache
def _parser() -> argparse.ArgumentParser:
    return build_parser()


def _commands_below(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def page(items: Sequence[Item]) -> str:
    """Write the page: counts by paper, then a table per paper."""
    papers = list(dict.fromkeys(item.paper for item in items))
    parts = [HEAD, *[f"- **{state}**: {meaning}" for state, meaning in STATES.items()], ""]
    parts += [f"| paper | items | {' | '.join(STATES)} |", f"|---|--:|{'--:|' * len(STATES)}"]
    for paper in [*papers, ""]:
        counts = Counter(item.state for item in items if not paper or item.paper == paper)
        cells = [paper or "**all**", str(counts.total()), *(str(counts[state]) for state in STATES)]
        parts.append(f"| {' | '.join(cells)} |")
    for paper in papers:
        parts += ["", f"## {paper}", "", "| id | item | state | where | reason |", "|---|---|---|---|---|"]
        for item in items:
            if item.paper == paper:
                where = ", ".join(f"`{place}`" for place in item.places)
                cells = [item.id, item.item, item.state, where, item.reason]
                parts.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(parts).replace("|  |", "| |").replace("|  |", "| |") + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page."""
    arguments = sys.argv[1:] if arguments is None else arguments
    items = read_items()
    problems = list(find_problems(items))
    for problem in problems:
        print(f"{TABLE.name}, {problem}")
    return max(int(bool(problems)), write_or_check(arguments, {PAGE: page(items)}, COMMAND))


if __name__ == "__main__":
    sys.exit(main())
