"""Tables of human judgements: the common form of all data sets.

A row is one output of one system for one segment. The table stores columns: texts and names as tuples, scores as
read-only float64 arrays in which NaN marks a row without a judgement.

`document_table` joins segments to documents: outputs, references and sources of a document's segments become one
text. A document's score, human or released with the data, is the mean over its scored segments, unless there is a
human score of the document itself.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import join_document
from nlgauge.errors import DataWarning, InputError, RecipeError
from nlgauge.io.table import HtmlCell, html_table

FloatArray = NDArray[np.float64]

#: Columns with texts, names and marked errors; optional ones may be None.
OPTIONAL_COLUMNS = ("source", "topic", "document", "hypothesis_errors", "source_errors")
_COLUMNS = ("segment", "system", "langpair", "hypothesis", "references", *OPTIONAL_COLUMNS)

#: Number of rows shown in a notebook.
_SHOWN_ROWS = 5

#: System name of rows whose data set does not name the system.
UNKNOWN_SYSTEM = ""


class Documents(NamedTuple):
    """All texts of one system's file, in parallel. Idf per system file is counted on these."""

    sources: tuple[str, ...] | None
    hypotheses: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]


class ErrorSpan(NamedTuple):
    """An error that an annotator marked in a text: start, end (exclusive) and weight."""

    start: int
    end: int
    weight: float = 1.0


class SystemFiles(Protocol):
    """Reader of complete system files, for tables that contain only their judged rows."""

    def documents(self, langpair: str, system: str) -> Documents:
        """Read all texts of one system's file, preprocessed like those of the table."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class JudgementTable:
    """Outputs with human judgements.

    `human` maps a criterion to a score per row. `default_criterion` is the default gold criterion (None if only
    systems were judged). `released` contains metric scores that came with the data. `system_scores` maps a language
    pair to the official score of each system. `human_systems` are peers written by people. Monolingual data has a
    language ("en") in place of a pair. `caveats` maps a score column to a warning for users who take it as gold.
    """

    name: str
    segment: tuple[str, ...]
    system: tuple[str, ...]
    langpair: tuple[str, ...]
    hypothesis: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    human: Mapping[str, FloatArray]
    default_criterion: str | None
    source: tuple[str, ...] | None = None
    topic: tuple[str, ...] | None = None
    """Topic that several systems wrote about, one row each; without topics, the segment takes this role."""
    document: tuple[str, ...] | None = None
    """Document that contains the segment."""
    hypothesis_errors: tuple[tuple[ErrorSpan, ...], ...] | None = None
    """Errors marked in the hypothesis: an empty row has no error, None means that errors were not annotated."""
    source_errors: tuple[tuple[ErrorSpan, ...], ...] | None = None
    """Words of the source that were omitted or mistranslated, in the same form."""
    released: Mapping[str, FloatArray] = field(default_factory=dict)
    distances: frozenset[str] = frozenset()
    """Names of released scores for which lower is better."""
    system_scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    human_systems: frozenset[str] = frozenset()
    caveats: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    citation: str = ""
    files: SystemFiles | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze = object.__setattr__
        for column in _COLUMNS:
            values = getattr(self, column)
            if values is None and column in OPTIONAL_COLUMNS:
                continue
            if isinstance(values, str):
                msg = f"{self.name}: column {column!r} needs a value per row, got the text {values!r}"
                raise InputError(msg)
            freeze(self, column, tuple(values))
            check_length(self, column, len(getattr(self, column)))
        for kind in ("human", "released"):
            columns = {name: self._frozen(name, values) for name, values in getattr(self, kind).items()}
            freeze(self, kind, MappingProxyType(columns))
        for kind in ("system_scores", "caveats"):
            freeze(self, kind, MappingProxyType(dict(getattr(self, kind))))
        if unknown := sorted(self.distances - set(self.released)):
            msg = f"{self.name}: {unknown[0]!r} is listed in distances but is not a released score"
            raise InputError(msg)
        if duplicates := set(self.human) & set(self.released):
            msg = f"{self.name}: {min(duplicates)!r} is both a human criterion and a released score; rename one"
            raise InputError(msg)
        if self.default_criterion is not None and self.default_criterion not in self.human:
            gold = self.default_criterion
            msg = f"{self.name}: the gold criterion {gold!r} is not among the human criteria {self.criteria!r}"
            raise InputError(msg)
        self._refuse_duplicates()

    def _frozen(self, name: str, values: Any) -> FloatArray:
        array = np.array(values, dtype=np.float64)
        if array.ndim != 1:
            msg = f"{self.name}: column {name!r} needs one number per row, got shape {array.shape}"
            raise InputError(msg)
        check_length(self, name, len(array))
        if np.isinf(array).any():
            row = int(np.flatnonzero(np.isinf(array))[0])
            location = f"{self.name}: column {name!r}, segment {self.segment[row]!r}"
            msg = f"{location}: expected a finite number, or NaN for a missing one, got {array[row]!r}"
            raise InputError(msg)
        array.setflags(write=False)
        return array

    def _refuse_duplicates(self) -> None:
        keys = list(zip(self.langpair, self.system, self.segment, strict=True))
        if len(set(keys)) == len(keys):
            return
        first_rows: dict[tuple[str, str, str], int] = {}
        for row, key in enumerate(keys):
            if (first := first_rows.setdefault(key, row)) != row:
                langpair, system, segment = key
                msg = (
                    f"{self.name}: segment {segment!r} of system {system!r}, {langpair}, occurs in rows "
                    f"{first} and {row}; ids must be unique within a language pair and system"
                )
                raise InputError(msg)

    def __len__(self) -> int:
        return len(self.segment)

    def __repr__(self) -> str:
        pairs, systems = self.langpairs, len(self.systems)
        langpairs = ", ".join(pairs) if len(pairs) < 4 else f"{len(pairs)} language pairs"
        judged = f"judged: {', '.join(self.criteria)}" if self.human else "no human scores of segments"
        released = f"; {len(self.released)} released scores" if self.released else ""
        count = f"{len(self)} rows, {systems} system{'s' * (systems != 1)}"
        return f"<JudgementTable {self.name}: {count}, {langpairs or 'empty'}; {judged}{released}>"

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = [
            [
                *(self.langpair[i], self.system[i], self.segment[i], self.hypothesis[i]),
                " | ".join(self.references[i]),
                *(float(values[i]) for values in self.human.values()),
            ]
            for i in range(min(len(self), _SHOWN_ROWS))
        ]
        columns = ["langpair", "system", "segment", "hypothesis", "references", *self.human]
        hidden_rows = [f"{len(self) - _SHOWN_ROWS} more rows"] if len(self) > _SHOWN_ROWS else []
        return html_table(columns, rows, caption=repr(self)[1:-1], notes=[*hidden_rows, *self.notes], width=3)

    @property
    def langpairs(self) -> tuple[str, ...]:
        """Language pairs in order of first occurrence."""
        return tuple(dict.fromkeys(self.langpair))

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems in order of first occurrence; `UNKNOWN_SYSTEM` if the data set does not name them."""
        return tuple(dict.fromkeys(self.system))

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics in order of first occurrence; empty if the data set has none."""
        return tuple(dict.fromkeys(self.topic or ()))

    @property
    def criteria(self) -> tuple[str, ...]:
        """Names of the human criteria."""
        return tuple(self.human)

    def gold(self, criterion: str | None = None) -> FloatArray:
        """Human scores of a criterion, by default the data set's gold criterion; NaN for rows without a judgement.

        A released metric score can be named too; it raises a warning because it is not a human judgement.
        """
        name = self.default_criterion if criterion is None else criterion
        if name is None:
            msg = (
                f"{self.name} has human scores of systems only, not of segments; use --level system (Python: "
                "system_scores[langpair])"
            )
            raise InputError(msg)
        if name in self.released:
            caveat = self.caveats.get(name, "a metric score, not a human score")
            msg = f"{self.name}: {name!r} is {caveat}; the human criteria are {', '.join(map(repr, self.criteria))}"
            warnings.warn(msg, DataWarning, stacklevel=2)
            return self.released[name]
        if name not in self.human:
            names = [*self.human, *self.released]
            msg = f"{self.name} has no criterion {name!r}; the criteria are {', '.join(map(repr, names)) or 'none'}"
            raise RecipeError(msg)
        if name in self.caveats:
            warnings.warn(f"{self.name}: {name!r} is {self.caveats[name]}", DataWarning, stacklevel=2)
        return self.human[name]

    def where(
        self,
        *,
        langpair: str | Iterable[str] | None = None,
        system: str | Iterable[str] | None = None,
        topic: str | Iterable[str] | None = None,
    ) -> JudgementTable:
        """Select the rows of these language pairs, systems and topics."""
        keep = np.ones(len(self), dtype=bool)
        for column, wanted, values in (
            ("langpair", langpair, self.langpairs),
            ("system", system, self.systems),
            ("topic", topic, self.topics),
        ):
            if wanted is not None:
                names = set(select_known(wanted, values, f"{self.name}: {column}"))
                keep &= np.fromiter((value in names for value in getattr(self, column)), bool, len(self))
        return self.take(np.flatnonzero(keep))

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> JudgementTable:
        """Select rows by index."""
        index = np.asarray(rows, dtype=np.intp).reshape(-1)
        outside = index[(index >= len(self)) | (index < -len(self))]
        if outside.size:
            msg = f"{self.name}: no row {int(outside[0])}; the table has {len(self)} rows, numbered from 0"
            raise InputError(msg)
        columns: dict[str, Any] = {}
        for column in _COLUMNS:
            values = getattr(self, column)
            columns[column] = None if values is None else tuple(values[row] for row in index)
        for kind in ("human", "released"):
            columns[kind] = {name: array[index] for name, array in getattr(self, kind).items()}
        pairs = set(columns["langpair"])
        columns["system_scores"] = {pair: scores for pair, scores in self.system_scores.items() if pair in pairs}
        return replace(self, **columns)

    def rows_of(self, langpair: str) -> NDArray[np.intp]:
        """Row indices of a language pair."""
        return np.array([row for row, pair in enumerate(self.langpair) if pair == langpair], dtype=np.intp)

    def first_rows(self, count: int) -> JudgementTable:
        """Select the first rows of each language pair and system."""
        if count < 1:
            msg = f"{self.name}: the number of rows must be at least 1, got {count!r}"
            raise RecipeError(msg)
        counts: Counter[tuple[str, str]] = Counter()
        rows = []
        for row, group in enumerate(zip(self.langpair, self.system, strict=True)):
            counts[group] += 1
            if counts[group] <= count:
                rows.append(row)
        return self.take(rows)

    def without_humans(self) -> JudgementTable:
        """Drop the peers written by people."""
        return self.take([row for row, system in enumerate(self.system) if system not in self.human_systems])

    def documents(self, langpair: str, system: str) -> Documents:
        """All texts of one system: its complete file if the data set has it, else its rows in the table."""
        if self.files is not None:
            return self.files.documents(langpair, system)
        part = self.where(langpair=langpair, system=system)
        return Documents(part.source, part.hypothesis, part.references)

    def document_of_rows(self) -> tuple[str, ...]:
        """Document of each row; an error if the data has no documents."""
        if self.document is None:
            msg = (
                f"{self.name} has no document ids; give one per row with --document-ids FILE, or for data set "
                "'custom' name their column with --set document=COLUMN"
            )
            raise InputError(msg)
        return self.document

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views of mappings cannot be pickled, plain dicts can.
        values = [getattr(self, entry.name) for entry in fields(self)]
        plain = [dict(value) if isinstance(value, MappingProxyType) else value for value in values]
        return type(self), tuple(plain)


@dataclass(frozen=True)
class RankedPairs:
    """Strict human preferences between two systems on one segment (relative ranking, as of WMT18 and WMT19)."""

    name: str
    langpair: tuple[str, ...]
    segment: tuple[str, ...]
    better: tuple[str, ...]
    worse: tuple[str, ...]
    citation: str = ""

    def __post_init__(self) -> None:
        for column in ("langpair", "better", "worse"):
            check_length(self, column, len(getattr(self, column)))
        for row, (better, worse) in enumerate(zip(self.better, self.worse, strict=True)):
            if better == worse:
                msg = f"{self.name}, row {row}: {better!r} is ranked against itself; drop the row"
                raise InputError(msg)

    def __len__(self) -> int:
        return len(self.segment)


def check_length(table: JudgementTable | RankedPairs, column: str, length: int) -> None:
    """Raise InputError for a column without exactly one value per row."""
    if length != len(table.segment):
        msg = f"{table.name}: column {column!r} has {length} values, but 'segment' has {len(table.segment)}"
        raise InputError(msg)


def select_known(wanted: str | Iterable[str] | None, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Names to select (None: all); an unknown name is an error."""
    if wanted is None:
        return tuple(known)
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"{what} {unknown[0]!r} does not exist" if unknown else f"{what}: the list of names is empty"
        msg = f"{problem}; choose from: {', '.join(map(repr, known)) or 'none'}"
        raise RecipeError(msg)
    return tuple(dict.fromkeys(names))


#: Language pair, system, document.
DocumentKey = tuple[str, str, str]


def document_table(
    table: JudgementTable, *, human: Mapping[str, Mapping[DocumentKey, float]] | None = None
) -> JudgementTable:
    """Join segments to documents: a row per document and system, with the document id as segment id.

    `human` has human scores of documents by criterion; they replace means over segments. Documents are in order of
    their first rows, segments in row order.
    """
    names, source = table.document_of_rows(), table.source
    groups: dict[DocumentKey, list[int]] = {}
    for row, key in enumerate(zip(table.langpair, table.system, names, strict=True)):
        groups.setdefault(key, []).append(row)
    rows = list(groups.values())
    human_means = {name: _mean_scores(values, rows) for name, values in table.human.items()}
    for name, scores in (human or {}).items():
        human_means[name] = np.array([scores.get(key, np.nan) for key in groups])
    default = table.default_criterion or next(iter(human or ()), None)
    by_mean = [name for name in human_means if name not in (human or {})]
    means = f"; {', '.join(by_mean)}: the mean over segments" if by_mean else ""
    note = f"{len(table)} segments joined to {len(rows)} documents{means}"
    return replace(
        table,
        segment=tuple(document for _, _, document in groups),
        system=tuple(system for _, system, _ in groups),
        langpair=tuple(pair for pair, _, _ in groups),
        document=tuple(document for _, _, document in groups),
        hypothesis=tuple(join_document(table.hypothesis[row] for row in segments) for segments in rows),
        references=tuple(_join_references(table, segments) for segments in rows),
        source=source and tuple(join_document(source[row] for row in segments) for segments in rows),
        topic=None,
        hypothesis_errors=None,
        source_errors=None,
        human=human_means,
        default_criterion=default,
        released={name: _mean_scores(values, rows) for name, values in table.released.items()},
        notes=(*table.notes, note),
        files=None,
    )


def without_long_texts(table: JudgementTable, longest: int) -> JudgementTable:
    """Drop rows with a text of more than `longest` word pieces of minilm (BERT's vocabulary), with [CLS] and [SEP].

    Published evaluations of documents drop texts that BERT would truncate; here it is an option, and a note has the
    count.
    """
    from nlgauge.io.store.resolve import resolve
    from nlgauge.text.tokenizer import TextTokenizer

    files = resolve("minilm")
    tokenizer = TextTokenizer.from_folder(files.path, positions=None, digest=files.tokenizer_digest)
    rows = [(text, *group) for text, group in zip(table.hypothesis, table.references, strict=True)]
    texts = list(dict.fromkeys(text for row in rows for text in row))
    pieces = dict(zip(texts, (len(tokens) + tokens.cut for tokens in tokenizer.encode(texts)), strict=True))
    short_rows = [number for number, row in enumerate(rows) if all(pieces[text] <= longest for text in row)]
    if not short_rows:
        msg = f"{table.name}: every row has a text of more than {longest} word pieces; give a higher number"
        raise InputError(msg)
    note = f"{len(table) - len(short_rows)} of {len(table)} rows left out: a text of more than {longest} word pieces"
    return replace(table.take(short_rows), notes=(*table.notes, note))


def _join_references(table: JudgementTable, rows: Sequence[int]) -> tuple[str, ...]:
    groups = [table.references[row] for row in rows]
    if len({len(group) for group in groups}) > 1:
        document = table.document_of_rows()[rows[0]]
        msg = f"{table.name}: the segments of document {document!r} differ in their number of references"
        raise InputError(msg)
    return tuple(join_document(stream) for stream in zip(*groups, strict=True))


def _mean_scores(values: FloatArray, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Mean per document over its values; NaN for a document without any."""
    scores = (values[segments][~np.isnan(values[segments])] for segments in map(list, rows))
    return np.array([segments.mean() if segments.size else np.nan for segments in scores], dtype=np.float64)
