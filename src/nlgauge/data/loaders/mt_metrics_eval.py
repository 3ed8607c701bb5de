"""Test sets in the folder layout of mt-metrics-eval, which holds the WMT metrics tasks from 2019 on.

    sources/{pair}.txt                          documents/{pair}.docs            DOMAIN DOCUMENT per line
    references/{pair}.{NAME}.txt                system-outputs/{pair}/{NAME}.txt
    human-scores/{pair}.{NAME}.{LEVEL}.score    metric-scores/{pair}/{NAME}-{REF}.{LEVEL}.score

A line of a score file is `SYSTEM SCORE`; at level `seg` each system has a block of one line per segment, in order;
`None` is a missing human score. Levels `seg` and `sys` are read, and `doc` where documents are asked for: a block of
one line per document, in the order of the file of documents. A reference that stands among the outputs is a peer
written by people; the one that outputs are held against is left out of the peers. A document is no topic: systems
are compared segment by segment, and the documents are a column of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nlgauge.corpus.documents import document_rows
from nlgauge.data.documents import DocumentKey, document_table, without_long_texts
from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import language_files
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import Row, delimited_rows, read_lines, unequal_lines

__all__ = ["load_mt_metrics_eval"]

_Scores = dict[str, dict[str, list[float]]]

#: Tried in this order where a folder has several human scores or references and none is asked for.
_USUAL_GOLD = ("mqm", "esa")
_USUAL_REFERENCES = ("refA", "refa", "ref")


def load_mt_metrics_eval(
    path: Path,
    *,
    gold: str | None = None,
    references: str | Iterable[str] | None = None,
    metrics: bool = True,
    unit: str = "segment",
    longest: int | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """The folder of one test set.

    `gold` names a human score, `references` the references to hold outputs against; where there are several and
    none is asked for, MQM and refA are taken. `metrics=False` leaves the released metric scores unread.

    With `unit="document"` a row is a document of a system: its segments joined, with the score that people gave to
    the document where the folder has one (`.doc.score`), else the mean over its segments. `longest` leaves out rows
    with a text of more word pieces, as published evaluations of documents do (512).
    """
    if unit not in ("segment", "document"):
        msg = f"unit must be segment or document, got {unit!r}"
        raise RecipeError(msg)
    files = language_files(path / "sources", "*.txt", r"([A-Za-z_]+-[A-Za-z_]+)\.txt")
    build = TableBuilder()
    people: set[str] = set()
    official: dict[str, dict[str, float]] = {}
    judged: set[str] = set()
    default: str | None = None
    of_documents: dict[str, dict[DocumentKey, float]] = {}
    for langpair in select_known(langpairs, list(files), f"{path}: language pair"):
        part = _Part(path, langpair, references)
        known = sorted({name for name, level in part.human_files if level != "doc" or unit == "document"})
        default = (
            _default_gold(path, langpair, known) if gold is None else select_known(gold, known, f"{path}: gold")[0]
        )
        human = {name: part.blocks(file) for (name, level), file in part.human_files.items() if level == "seg"}
        judged |= set(human)
        released = {name: part.blocks(file) for name, file in part.metric_files.items()} if metrics else {}
        if default is not None and (default, "sys") in part.human_files:
            whole = part.blocks(part.human_files[default, "sys"], length=1)
            official[langpair] = {system: score for system, (score,) in whole.items() if not math.isnan(score)}
        people |= part.people
        part.add_to(build, human, released)
        if unit == "document":
            for name, scores in part.document_scores().items():
                of_documents.setdefault(name, {}).update(scores)
    table = build.table(
        path.name,
        default_criterion=default if default in judged else None,
        system_scores=official,
        human_systems=frozenset(people),
    )
    if unit == "document":
        table = document_table(table, human=of_documents)
        if default in of_documents:
            table = replace(table, default_criterion=default)
    return table if longest is None else without_long_texts(table, longest)


class _Part:
    """The files of one language pair, checked against the source file's number of lines."""

    def __init__(self, path: Path, langpair: str, references: str | Iterable[str] | None) -> None:
        self.langpair = langpair
        self.source_file = path / "sources" / f"{langpair}.txt"
        self.sources = read_lines(self.source_file)
        start = re.escape(langpair)
        found = {match[1]: file for match, file in _matching(path / "references", rf"{start}\.([^.]+)\.txt")}
        self.references = {
            name: self._parallel(found[name]) for name in _wanted(path, langpair, references, list(found))
        }
        folder = path / "system-outputs" / langpair
        everyone = {match[1]: file for match, file in _matching(folder, r"(.+)\.txt")}
        self.outputs = {name: file for name, file in everyone.items() if name not in self.references}
        if not self.outputs:
            msg = f"{folder}: expected files 'SYSTEM.txt', got none"
            raise InputError(msg)
        self.people = set(found) & set(self.outputs)
        score = rf"{start}\.(.+)\.(seg|doc|sys)\.score"
        self.human_files = {(match[1], match[2]): file for match, file in _matching(path / "human-scores", score)}
        metrics = _matching(path / "metric-scores" / langpair, r"(.+)\.seg\.score")
        self.metric_files = {match[1]: file for match, file in metrics}
        self.documents: list[str] | None = None
        if (file := path / "documents" / f"{langpair}.docs").is_file():
            rows = list(
                delimited_rows(read_bytes(str(file)), str(file), columns=("DOMAIN", "DOCUMENT"), separator=None)
            )
            if len(rows) != len(self.sources):
                raise unequal_lines(file, len(rows), self.source_file, len(self.sources))
            self.documents = [row.text("DOCUMENT") for row in rows]

    def _parallel(self, file: Path) -> list[str]:
        lines = read_lines(file)
        if len(lines) != len(self.sources):
            raise unequal_lines(file, len(lines), self.source_file, len(self.sources))
        return lines

    def blocks(self, file: Path, *, length: int | None = None) -> dict[str, list[float]]:
        """Scores by system, one per segment unless `length` says otherwise; NaN for `None`."""
        expected = len(self.sources) if length is None else length
        known = set(self.outputs) | set(self.references)
        found: dict[str, list[float]] = {}
        for row in delimited_rows(read_bytes(str(file)), str(file), columns=("SYSTEM", "SCORE"), separator=None):
            system = row.text("SYSTEM")
            if system not in known:
                msg = f"{row.at('SYSTEM')}: {system!r} has no file in system-outputs/{self.langpair}"
                raise FileFormatError(msg)
            scores = found.setdefault(system, [])
            scores.append(math.nan if row.text("SCORE") == "None" else row.number("SCORE"))
            if len(scores) > expected:
                msg = f"{row.at('SYSTEM')}: more than {expected} scores of {system!r}"
                raise FileFormatError(msg)
        for system, scores in found.items():
            if len(scores) != expected:
                msg = f"{file}, column 'SCORE': expected {expected} scores of {system!r}, got {len(scores)}"
                raise FileFormatError(msg)
        return found

    def document_scores(self) -> dict[str, dict[DocumentKey, float]]:
        """By criterion what people said of documents."""
        if self.documents is None:
            msg = f"documents/{self.langpair}.docs is missing, so there are no documents; leave out unit=document"
            raise InputError(msg)
        names = list(document_rows(self.documents))
        return {
            criterion: {
                (self.langpair, system, name): score
                for system, scores in self.blocks(file, length=len(names)).items()
                for name, score in zip(names, scores, strict=True)
            }
            for (criterion, level), file in self.human_files.items()
            if level == "doc"
        }

    def add_to(self, build: TableBuilder, human: _Scores, released: _Scores) -> None:
        """Add every line of every system."""
        for system, file in self.outputs.items():
            for at, text in enumerate(self._parallel(file)):
                build.add(
                    Row(str(file), f"line {at + 1}", {}),
                    segment=str(at + 1),
                    system=system,
                    langpair=self.langpair,
                    source=self.sources[at],
                    document=None if self.documents is None else self.documents[at],
                    hypothesis=text,
                    references=tuple(lines[at] for lines in self.references.values()),
                    human={
                        name: scores[system][at] if system in scores else math.nan for name, scores in human.items()
                    },
                    released={name: scores[system][at] for name, scores in released.items() if system in scores},
                )


def _matching(folder: Path, pattern: str) -> list[tuple[re.Match[str], Path]]:
    if not folder.is_dir():
        return []
    return [(match, file) for file in sorted(folder.iterdir()) if (match := re.fullmatch(pattern, file.name))]


def _wanted(path: Path, langpair: str, asked: str | Iterable[str] | None, known: list[str]) -> tuple[str, ...]:
    if asked is not None:
        return select_known(asked, known, f"{path}, {langpair}: reference")
    if len(known) <= 1:
        return tuple(known)
    for usual in _USUAL_REFERENCES:
        if usual in known:
            return (usual,)
    msg = f"{path}, {langpair}: several references ({', '.join(known)}); say which to use (references=...)"
    raise RecipeError(msg)


def _default_gold(path: Path, langpair: str, known: list[str]) -> str | None:
    for usual in _USUAL_GOLD:
        if usual in known:
            return usual
    if len(known) > 1:
        msg = f"{path}, {langpair}: several human scores ({', '.join(known)}); say which is gold (gold=...)"
        raise RecipeError(msg)
    return known[0] if known else None
