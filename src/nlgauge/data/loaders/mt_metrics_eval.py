"""Loaders of WMT test sets from 2019 on: the folders of mt-metrics-eval, and MQM annotations.

Test sets in the folder layout of mt-metrics-eval, which holds the WMT metrics tasks from 2019 on.

    sources/{pair}.txt                          documents/{pair}.docs            DOMAIN DOCUMENT per line
    references/{pair}.{NAME}.txt                system-outputs/{pair}/{NAME}.txt
    human-scores/{pair}.{NAME}.{LEVEL}.score    metric-scores/{pair}/{NAME}-{REF}.{LEVEL}.score

A line of a score file is `SYSTEM SCORE`; at level `seg` each system has a block of one line per segment, in order;
`None` is a missing human score. Levels `seg` and `sys` are read, and `doc` for tables of documents: a block of one
line per document, in the order of the file of documents. A reference among the outputs is a peer written by people;
the one that outputs are compared with is not a peer. Documents are not topics: systems are compared segment by
segment, and documents are a separate column.

MQM annotations: errors marked by raters as spans, one line each, with category and severity.

    mqm_ted_zhen.tsv    system doc doc_id seg_id rater source target category severity
                        the span is between <v> and </v> in `target`, or in `source` for an omission

The score of an output is minus the sum of its errors' weights, averaged over raters:
25 for a non-translation, 5 for a major error, 0.1 for minor punctuation, 1 for any other minor error (Freitag et al.
2021). References are among the systems of the file; the others are compared with one of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from nlgauge.core.corpus import document_rows
from nlgauge.data.judgements import (
    DocumentKey,
    ErrorSpan,
    JudgementTable,
    document_table,
    select_known,
    without_long_texts,
)
from nlgauge.data.loaders import TableBuilder, language_files, parallel_lines
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.tables import Row, read_lines, read_tsv, unequal_lines

_Scores = dict[str, dict[str, list[float]]]

#: Default choice, in this order, if a folder has several human scores or references.
_USUAL_GOLD = ("mqm", "esa")
_USUAL_REFERENCES = ("refA", "refa", "ref")


def load_mt_metrics_eval(
    path: Path,
    *,
    gold: str | None = None,
    references: str | Iterable[str] | None = None,
    released: bool = True,
    unit: str = "segment",
    longest: int | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """Load the folder of one test set.

    `gold` names a human score, `references` the references to compare outputs with; the defaults for several are MQM
    and refA. `released=False` skips the released metric scores.

    With `unit="document"` a row is a document of a system: its segments joined, with the human score of the document
    if the folder has one (`.doc.score`), else the mean over its segments. `longest` drops rows with a text of more
    word pieces, like published evaluations of documents (512).
    """
    if unit not in ("segment", "document"):
        msg = f"unit must be segment or document, got {unit!r}"
        raise RecipeError(msg)
    sources = language_files(path / "sources", "*.txt", r"([A-Za-z_]+-[A-Za-z_]+)\.txt", None)
    build = TableBuilder()
    human_systems: set[str] = set()
    official: dict[str, dict[str, float]] = {}
    judged: set[str] = set()
    default: str | None = None
    document_scores: dict[str, dict[DocumentKey, float]] = {}
    for langpair in select_known(langpairs, list(sources), f"{path}: language pair"):
        part = _LanguagePairFiles(path, langpair, references)
        criteria = sorted({name for name, level in part.human_files if level != "doc" or unit == "document"})
        message = f"{path}, {langpair}: several human scores ({', '.join(criteria)}); choose one with gold=NAME"
        chosen = _choose_names(gold, criteria, f"{path}: gold", _USUAL_GOLD, message)
        default = chosen[0] if chosen else None
        human = {name: part.blocks(file) for (name, level), file in part.human_files.items() if level == "seg"}
        judged |= set(human)
        metric_scores = {name: part.blocks(file) for name, file in part.metric_files.items()} if released else {}
        if default is not None and (default, "sys") in part.human_files:
            scores_of_systems = part.blocks(part.human_files[default, "sys"], length=1)
            official[langpair] = {
                system: score for system, (score,) in scores_of_systems.items() if not math.isnan(score)
            }
        human_systems |= part.human_systems
        part.add_to(build, human, metric_scores)
        if unit == "document":
            for name, scores in part.document_scores().items():
                document_scores.setdefault(name, {}).update(scores)
    table = build.table(
        path.name,
        default_criterion=default if default in judged else None,
        system_scores=official,
        human_systems=frozenset(human_systems),
    )
    if unit == "document":
        table = document_table(table, human=document_scores)
        if default in document_scores:
            table = replace(table, default_criterion=default)
    return table if longest is None else without_long_texts(table, longest)


class _LanguagePairFiles:
    """Files of one language pair, checked against the number of lines of the source file."""

    def __init__(self, path: Path, langpair: str, references: str | Iterable[str] | None) -> None:
        self.langpair = langpair
        self.source_file = path / "sources" / f"{langpair}.txt"
        self.sources = read_lines(self.source_file)
        start = re.escape(langpair)
        files = {match[1]: file for match, file in _match_files(path / "references", rf"{start}\.([^.]+)\.txt")}
        message = f"several references ({', '.join(files)}); choose with references=NAME"
        location = f"{path}, {langpair}"
        chosen = _choose_names(
            references, list(files), f"{location}: reference", _USUAL_REFERENCES, f"{location}: {message}"
        )
        self.references = {name: self.lines(files[name]) for name in chosen}
        folder = path / "system-outputs" / langpair
        outputs = {match[1]: file for match, file in _match_files(folder, r"(.+)\.txt")}
        self.outputs = {name: file for name, file in outputs.items() if name not in self.references}
        if not self.outputs:
            msg = f"{folder}: expected files 'SYSTEM.txt', got none"
            raise InputError(msg)
        self.human_systems = set(files) & set(self.outputs)
        score = rf"{start}\.(.+)\.(seg|doc|sys)\.score"
        self.human_files = {(match[1], match[2]): file for match, file in _match_files(path / "human-scores", score)}
        metrics = _match_files(path / "metric-scores" / langpair, r"(.+)\.seg\.score")
        self.metric_files = {match[1]: file for match, file in metrics}
        self.documents: list[str] | None = None
        if (file := path / "documents" / f"{langpair}.docs").is_file():
            rows = list(read_tsv(file, columns=("DOMAIN", "DOCUMENT"), separator=None))
            if len(rows) != len(self.sources):
                raise unequal_lines(file, len(rows), self.source_file, len(self.sources))
            self.documents = [row.text("DOCUMENT") for row in rows]

    def lines(self, file: Path) -> list[str]:
        """Read the lines of a file parallel to the sources."""
        return parallel_lines(file, self.source_file, len(self.sources))

    def blocks(self, file: Path, *, length: int | None = None) -> dict[str, list[float]]:
        """Read scores by system, `length` each (default: one per segment); NaN for `None`."""
        expected = len(self.sources) if length is None else length
        systems = set(self.outputs) | set(self.references)
        scores_of: dict[str, list[float]] = {}
        for row in read_tsv(file, columns=("SYSTEM", "SCORE"), separator=None):
            system = row.text("SYSTEM")
            if system not in systems:
                msg = f"{row.location('SYSTEM')}: {system!r} has no file in system-outputs/{self.langpair}"
                raise FileFormatError(msg)
            scores = scores_of.setdefault(system, [])
            scores.append(math.nan if row.text("SCORE") == "None" else row.number("SCORE"))
            if len(scores) > expected:
                msg = f"{row.location('SYSTEM')}: more than {expected} scores of {system!r}"
                raise FileFormatError(msg)
        for system, scores in scores_of.items():
            if len(scores) != expected:
                msg = f"{file}, column 'SCORE': expected {expected} scores of {system!r}, got {len(scores)}"
                raise FileFormatError(msg)
        return scores_of

    def document_scores(self) -> dict[str, dict[DocumentKey, float]]:
        """Read human scores of documents, by criterion."""
        if self.documents is None:
            msg = f"documents/{self.langpair}.docs is missing, so documents are unknown; omit unit=document"
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
            for i, text in enumerate(self.lines(file)):
                build.add(
                    Row(str(file), f"line {i + 1}", {}),
                    segment=str(i + 1),
                    system=system,
                    langpair=self.langpair,
                    source=self.sources[i],
                    document=None if self.documents is None else self.documents[i],
                    hypothesis=text,
                    references=tuple(lines[i] for lines in self.references.values()),
                    human={
                        name: scores[system][i] if system in scores else math.nan for name, scores in human.items()
                    },
                    released={name: scores[system][i] for name, scores in released.items() if system in scores},
                )


def _match_files(folder: Path, pattern: str) -> list[tuple[re.Match[str], Path]]:
    if not folder.is_dir():
        return []
    return [(match, file) for file in sorted(folder.iterdir()) if (match := re.fullmatch(pattern, file.name))]


def _choose_names(
    names: str | Iterable[str] | None, choices: Sequence[str], what: str, usual: Sequence[str], message: str
) -> tuple[str, ...]:
    """Names to use: those of the caller, else the usual one or the only one; `several` is the error message."""
    if names is not None:
        return select_known(names, choices, what)
    if len(choices) <= 1:
        return tuple(choices)
    for name in usual:
        if name in choices:
            return (name,)
    raise RecipeError(message)


_COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")

#: Names of references in these files: ref, refA, refB, ref.A.
_REFERENCE = re.compile(r"ref\.?[A-Z]?")

_WEIGHTS = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0}
_NON_TRANSLATION, _MINOR_PUNCTUATION = 25.0, 0.1


def mqm_weight(category: str, severity: str) -> float | None:
    """Weight of an error; None for an unknown severity.

    >>> mqm_weight("Fluency/Punctuation", "Minor"), mqm_weight("Fluency/Grammar", "Minor")
    (0.1, 1.0)
    """
    if category.casefold().startswith("non-translation"):
        return _NON_TRANSLATION
    if severity.casefold() == "minor" and category.casefold() == "fluency/punctuation":
        return _MINOR_PUNCTUATION
    return _WEIGHTS.get(severity.casefold())


def load_mqm(
    path: Path,
    *,
    references: str = "refB",
    humans: bool = False,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """Load the files `mqm_ted_{pair}.tsv` of a folder, or one of them.

    `references` is the system that the others are compared with, by default `refB`, because raters placed `ref` of
    TED zh-en below every system. `humans=True` keeps the other references among the systems.
    """
    if path.is_file():
        match = re.search(r"_([a-z]{2})([a-z]{2})\.tsv$", path.name)
        pair = f"{match[1]}-{match[2]}" if match else "und"
        files = dict.fromkeys(select_known(langpairs, [pair], f"{path}: language pair"), path)
    else:
        name = r"mqm_ted_([a-z]{2})([a-z]{2})\.tsv"
        files = language_files(path, "mqm_ted_*.tsv", name, langpairs, pair=r"\1-\2")
    build = TableBuilder()
    human_systems: set[str] = set()
    for langpair, file in files.items():
        human_systems |= _add_file(build, file, langpair, references, humans=humans)
    notes = (
        f"compared with {references!r}; references among the systems: {', '.join(sorted(human_systems)) or 'none'}",
    )
    return build.table("mqm", default_criterion="mqm", human_systems=frozenset(human_systems), notes=notes)


def _add_file(build: TableBuilder, path: Path, langpair: str, reference: str, *, humans: bool) -> set[str]:
    """Add the outputs of all systems but the reference; return those written by people."""
    items: dict[tuple[str, str], list[Row]] = {}
    for row in read_tsv(path, needed=_COLUMNS):
        segment = f"{row.label('doc')}:{row.label('seg_id')}"
        items.setdefault((row.label("system"), segment), []).append(row)
    systems = list(dict.fromkeys(system for system, _ in items))
    if reference not in systems:
        msg = f"{path}: references={reference!r} is not a system of the file; its systems are: {', '.join(systems)}"
        raise RecipeError(msg)
    human_peers = {system for system in systems if _REFERENCE.fullmatch(system)} - {reference}
    for (system, segment), rows in items.items():
        if system == reference or (system in human_peers and not humans):
            continue
        if (reference, segment) not in items:
            msg = f"{rows[0].location()}: segment {segment!r} has no line of the reference {reference!r}"
            raise FileFormatError(msg)
        _add_item(build, rows, segment, langpair, _remove_marks(items[reference, segment][0], "target"))
    return human_peers if humans else set()


def _add_item(build: TableBuilder, rows: list[Row], segment: str, langpair: str, reference: str) -> None:
    first = rows[0]
    errors: dict[str, list[ErrorSpan]] = {"target": [], "source": []}
    for row in rows:
        weight = mqm_weight(row.text("category"), row.text("severity"))
        if weight is None:
            row.refuse("severity", "one of Major, Minor, Neutral, No-error")
        for column, spans in errors.items():
            if _remove_marks(row, column) != _remove_marks(first, column):
                row.refuse(column, f"the same text as in {first.where}, except for the marks")
            spans += [ErrorSpan(start, end, weight) for start, end in _find_spans(row.text(column))]
    raters = {row.label("rater") for row in rows}
    total = sum(mqm_weight(row.text("category"), row.text("severity")) or 0.0 for row in rows)
    build.add(
        first,
        segment=segment,
        system=first.label("system"),
        langpair=langpair,
        document=first.label("doc"),
        source=_remove_marks(first, "source"),
        hypothesis=_remove_marks(first, "target"),
        references=(reference,),
        hypothesis_errors=tuple(errors["target"]),
        source_errors=tuple(errors["source"]),
        human={"mqm": -total / len(raters)},
    )


def _remove_marks(row: Row, column: str) -> str:
    return re.sub(r"</?v>", "", row.text(column))


def _find_spans(text: str) -> list[tuple[int, int]]:
    """Find the spans between <v> and </v>, as offsets in the text without marks; an unclosed span ends with the text.

    >>> _find_spans("a <v>b</v> c"), _find_spans("<v>ab")
    ([(2, 3)], [(0, 2)])
    """
    spans: list[tuple[int, int]] = []
    start, removed = None, 0
    for match in re.finditer(r"</?v>", text):
        position = match.start() - removed
        removed += len(match[0])
        if match[0] == "<v>":
            start = position
        elif start is not None:
            spans.append((start, position))
            start = None
    return spans if start is None else [*spans, (start, len(text) - removed)]
