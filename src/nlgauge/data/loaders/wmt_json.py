"""WMT15 and WMT16 segments as JSON, with the scores that metrics got on them.

    {15|16}_{pair}_formated.json: id -> {system: {wmt15: {generated_sentence, scores: {human, ...}}},
                                         references_sentences}

Sentences end in a line feed, which is no part of the text. A released score is a number or a list of one.
The one system is called after the task; which system wrote a sentence is not told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import language_files
from nlgauge.data.table import UNKNOWN_SYSTEM, JudgementTable, select_known
from nlgauge.files.records import Row, json_document, row_of

__all__ = ["load_wmt_json"]

_TASKS = ("wmt15", "wmt16")


def load_wmt_json(path: Path, *, year: int, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """The files `{year}_{pair}_formated.json` of a folder; gold is `human`, direct assessment."""
    files = language_files(path, f"{year}_*_formated.json", rf"{year}_([a-z]{{2}}-[a-z]{{2}})_formated\.json")
    build = TableBuilder()
    for langpair in select_known(langpairs, list(files), f"{path}: language pair"):
        _add_file(build, files[langpair], langpair)
    table = build.table(f"wmt{year}", default_criterion="human")
    # BaryScore's variants are transport costs; the other released scores are similarities.
    return replace(table, distances=frozenset(name for name in table.released if "nbarycenters" in name))


def _add_file(build: TableBuilder, path: Path, langpair: str) -> None:
    name = str(path)
    for segment, item in json_document(path).items():
        row = row_of(item, name, f"item {segment!r}")
        references = tuple(text.removesuffix("\n") for text in row.texts("references_sentences"))
        outputs = row.inner("system")
        for system in outputs.values:
            output = outputs.inner(system)
            scores = output.inner("scores")
            build.add(
                output,
                segment=segment,
                system=UNKNOWN_SYSTEM if system in _TASKS else system,
                langpair=langpair,
                hypothesis=output.text("generated_sentence").removesuffix("\n"),
                references=references,
                human={"human": scores.number("human")},
                released={key: _number(scores, key) for key in scores.values if key != "human"},
            )


def _number(scores: Row, key: str) -> float:
    value = scores.value(key)
    if isinstance(value, list):
        if len(value) != 1:
            scores.refuse(key, "a number or a list of one number")
        return Row(scores.file, scores.where, {key: value[0]}).number(key)
    return scores.number(key)
