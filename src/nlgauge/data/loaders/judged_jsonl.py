"""BAGEL, SFHOTEL, SummEval and Newsroom as JSONL.

    {"id" | "doc", "system"?, "source", "hypothesis", "references": [...], "human": {criterion: score, ...}}

Text to text (SummEval, Newsroom): `doc` is the segment and the topic. Data to text (BAGEL, SFHOTEL): `source` is
a meaning representation, many of which stand behind several utterances, so it is the topic; the system that
wrote an utterance is not told.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import need_file
from nlgauge.data.table import UNKNOWN_SYSTEM, JudgementTable, select_known
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import json_lines

__all__ = ["load_judged_jsonl"]


def load_judged_jsonl(
    path: Path,
    *,
    file: str,
    criteria: tuple[str, ...],
    systems: str | Iterable[str] | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """One such file; every line must have all `criteria`, of which the first is the default gold.

    `systems` keeps the rows of some: the DiscoScore paper leaves out the extractive ones of SummEval.
    """
    select_known(langpairs, ["en"], f"{file}: language")
    name = str(need_file(path, file))
    build = TableBuilder()
    for row in json_lines(read_bytes(name), name):
        document = "doc" in row.values
        human = row.inner("human")
        segment = row.label("doc" if document else "id")
        build.add(
            row,
            segment=segment,
            system=row.label("system") if document else UNKNOWN_SYSTEM,
            langpair="en",
            topic=segment if document else row.text("source"),
            source=row.text("source"),
            hypothesis=row.text("hypothesis"),
            references=row.texts("references"),
            human={criterion: human.number(criterion) for criterion in criteria},
        )
    table = build.table(file, default_criterion=criteria[0])
    return table if systems is None else table.where(system=systems)
