"""Tables of human judgements: the form that every data set is read into.

A row is one output of one system for one segment. Columns are stored whole: texts and names as tuples, scores
as read-only float64 arrays in which NaN means that nobody judged the row.

`document_table` makes rows of documents out of rows of segments. The outputs of a system for the segments of a
document are joined, references and sources likewise. A document's score, by people or by a metric that came with the
data, is the mean over the segments that have one, unless people scored the document itself.
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

#: Columns of texts, names and marked errors; the optional ones may be None.
OPTIONAL_COLUMNS = ("source", "topic", "document", "hypothesis_errors", "source_errors")
_COLUMNS = ("segment", "system", "langpair", "hypothesis", "references", *OPTIONAL_COLUMNS)

#: Rows that a notebook shows.
_SHOWN_ROWS = 5

#: The system of a row whose data set does not say which system wrote it.
UNKNOWN_SYSTEM = ""


class Documents(NamedTuple):
    """All texts of one system's file, in parallel: what idf per system file is counted on."""

    sources: tuple[str, ...] | None
    hypotheses: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]


class ErrorSpan(NamedTuple):
    """An error that people marked in a text: first character, the one after the last, and how much it counts."""

    start: int
    end: int
    weight: float = 1.0


class SystemFiles(Protocol):
    """Where whole system files can be read when the table holds only the judged rows of them."""

    def documents(self, langpair: str, system: str) -> Documents:
        """All texts of one system's file, prepared as those of the table are."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class JudgementTable:
    """Outputs with human judgements.

    `human` maps a criterion to a score per row, and `default_criterion` names the one that is gold unless
    another is asked for (None where only whole systems were judged). `released` holds metric scores that
    came with the data. `system_scores` maps a language pair to the official score of each system.
    `human_systems` are peers written by people. Monolingual data has a language ("en") for a pair.
    `caveats` says of a score column what a user must know before taking it for gold.
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
    """What several systems wrote about, one row each; where there is none, the segment is."""
    document: tuple[str, ...] | None = None
    """The text that a segment is a sentence of."""
    hypothesis_errors: tuple[tuple[ErrorSpan, ...], ...] | None = None
    """Errors that people marked in the hypothesis; none in a row is no error, None that nobody looked for them."""
    source_errors: tuple[tuple[ErrorSpan, ...], ...] | None = None
    """Words of the source that are left out or translated wrongly, likewise."""
    released: Mapping[str, FloatArray] = field(default_factory=dict)
    distances: frozenset[str] = frozenset()
    """Names of the released scores that are better when they are lower."""
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
                msg = f"{self.name}: column {column!r} must hold a value per row, got the text {values!r}"
                raise InputError(msg)
            freeze(self, column, tuple(values))
            check_length(self, column, len(getattr(self, column)))
        for kind in ("human", "released"):
            columns = {name: self._frozen(name, values) for name, values in getattr(self, kind).items()}
            freeze(self, kind, MappingProxyType(columns))
        for kind in ("system_scores", "caveats"):
            freeze(self, kind, MappingProxyType(dict(getattr(self, kind))))
        if unknown := sorted(self.distances - set(self.released)):
            msg = f"{self.name}: {unknown[0]!r} is called a distance but is not a released score"
            raise InputError(msg)
        if both := set(self.human) & set(self.released):
            msg = f"{self.name}: {min(both)!r} is both a human criterion and a released score; rename one"
            raise InputError(msg)
        if self.default_criterion is not None and self.default_criterion not in self.human:
            gold = self.default_criterion
            msg = f"{self.name}: the gold criterion {gold!r} is not a column; there are {self.criteria!r}"
            raise InputError(msg)
        self._refuse_duplicates()

    def _frozen(self, name: str, values: Any) -> FloatArray:
        array = np.array(values, dtype=np.float64)
        if array.ndim != 1:
            msg = f"{self.name}: column {name!r} must hold one number per row, got shape {array.shape}"
            raise InputError(msg)
        check_length(self, name, len(array))
        if np.isinf(array).any():
            row = int(np.flatnonzero(np.isinf(array))[0])
            place = f"{self.name}: column {name!r}, segment {self.segment[row]!r}"
            msg = f"{place}: expected a finite number, or NaN for none, got {array[row]!r}"
            raise InputError(msg)
        array.setflags(write=False)
        return array

    def _refuse_duplicates(self) -> None:
        keys = list(zip(self.langpair, self.system, self.segment, strict=True))
        if len(set(keys)) == len(keys):
            return
        seen: dict[tuple[str, str, str], int] = {}
        for row, key in enumerate(keys):
            if (first := seen.setdefault(key, row)) != row:
                langpair, system, segment = key
                msg = (
                    f"{self.name}: segment {segment!r} of system {system!r}, {langpair}, stands in rows "
                    f"{first} and {row}; ids must be unique within a language pair and system"
                )
                raise InputError(msg)

    def __len__(self) -> int:
        return len(self.segment)

    def __repr__(self) -> str:
        pairs, systems = self.langpairs, len(self.systems)
        where = ", ".join(pairs) if len(pairs) < 4 else f"{len(pairs)} language pairs"
        judged = f"judged: {', '.join(self.criteria)}" if self.human else "no human scores of segments"
        released = f"; {len(self.released)} released scores" if self.released else ""
        count = f"{len(self)} rows, {systems} system{'s' * (systems != 1)}"
        return f"<JudgementTable {self.name}: {count}, {where or 'empty'}; {judged}{released}>"

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = [
            [
                *(self.langpair[at], self.system[at], self.segment[at], self.hypothesis[at]),
                " | ".join(self.references[at]),
                *(float(values[at]) for values in self.human.values()),
            ]
            for at in range(min(len(self), _SHOWN_ROWS))
        ]
        columns = ["langpair", "system", "segment", "hypothesis", "references", *self.human]
        more = [f"{len(self) - _SHOWN_ROWS} more rows"] if len(self) > _SHOWN_ROWS else []
        return html_table(columns, rows, caption=repr(self)[1:-1], notes=[*more, *self.notes], width=3)

    @property
    def langpairs(self) -> tuple[str, ...]:
        """Language pairs in the order of their first rows."""
        return tuple(dict.fromkeys(self.langpair))

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems in the order of their first rows; `UNKNOWN_SYSTEM` where the data set does not tell."""
        return tuple(dict.fromkeys(self.system))

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics in the order of their first rows; none where the data set has none."""
        return tuple(dict.fromkeys(self.topic or ()))

    @property
    def criteria(self) -> tuple[str, ...]:
        """Names of the human criteria."""
        return tuple(self.human)

    def gold(self, criterion: str | None = None) -> FloatArray:
        """The human scores of a criterion, by default of the data set's own gold one; NaN where nobody judged.

        A released score may be named too, with a warning: correlating with it says nothing about people.
        """
        name = self.default_criterion if criterion is None else criterion
        if name is None:
            msg = f"{self.name} has no human scores of segments, only of whole systems; use system_scores[langpair]"
            raise InputError(msg)
        if name in self.released:
            why = self.caveats.get(name, "a score that a metric gave, not a human score")
            msg = f"{self.name}: {name!r} is {why}; the human criteria are {', '.join(map(repr, self.criteria))}"
            warnings.warn(msg, DataWarning, stacklevel=2)
            return self.released[name]
        if name not in self.human:
            known = [*self.human, *self.released]
            msg = f"{self.name} has no criterion {name!r}; it has {', '.join(map(repr, known)) or 'none'}"
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
        """The rows of these language pairs, systems and topics."""
        keep = np.ones(len(self), dtype=bool)
        for column, wanted, known in (
            ("langpair", langpair, self.langpairs),
            ("system", system, self.systems),
            ("topic", topic, self.topics),
        ):
            if wanted is not None:
                names = set(select_known(wanted, known, f"{self.name}: {column}"))
                keep &= np.fromiter((value in names for value in getattr(self, column)), bool, len(self))
        return self.take(np.flatnonzero(keep))

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> JudgementTable:
        """The table of some rows, by index."""
        index = np.asarray(rows, dtype=np.intp).reshape(-1)
        outside = index[(index >= len(self)) | (index < -len(self))]
        if outside.size:
            msg = f"{self.name}: row {int(outside[0])} does not exist; there are {len(self)} rows, numbered from 0"
            raise InputError(msg)
        kept: dict[str, Any] = {}
        for column in _COLUMNS:
            values = getattr(self, column)
            kept[column] = None if values is None else tuple(values[row] for row in index)
        for kind in ("human", "released"):
            kept[kind] = {name: array[index] for name, array in getattr(self, kind).items()}
        pairs = set(kept["langpair"])
        kept["system_scores"] = {pair: scores for pair, scores in self.system_scores.items() if pair in pairs}
        return replace(self, **kept)

    def rows_of(self, langpair: str) -> NDArray[np.intp]:
        """Numbers of the rows of a language pair."""
        return np.array([row for row, pair in enumerate(self.langpair) if pair == langpair], dtype=np.intp)

    def first_rows(self, count: int) -> JudgementTable:
        """The first rows of each language pair and system."""
        if count < 1:
            msg = f"{self.name}: the number of rows must be at least 1, got {count!r}"
            raise RecipeError(msg)
        seen: Counter[tuple[str, str]] = Counter()
        kept = []
        for row, group in enumerate(zip(self.langpair, self.system, strict=True)):
            seen[group] += 1
            if seen[group] <= count:
                kept.append(row)
        return self.take(kept)

    def without_humans(self) -> JudgementTable:
        """The table without the peers that people wrote."""
        return self.take([row for row, system in enumerate(self.system) if system not in self.human_systems])

    def documents(self, langpair: str, system: str) -> Documents:
        """All texts of one system's file: the whole file where the data set has it, else the table's own rows."""
        if self.files is not None:
            return self.files.documents(langpair, system)
        part = self.where(langpair=langpair, system=system)
        return Documents(part.source, part.hypothesis, part.references)

    def document_of_rows(self) -> tuple[str, ...]:
        """The document of each row, where that is needed: an error where the data does not say."""
        if self.document is None:
            msg = (
                f"{self.name} does not say which document a row is of; name the document of each row "
                "(--document-ids FILE), or in data 'custom' their column (--set document=COLUMN)"
            )
            raise InputError(msg)
        return self.document

    def __reduce__(self) -> tuple[Any, ...]:
        # The read-only views of mappings do not pickle; their content does.
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
    """Refuse a column that does not have a value per row."""
    if length != len(table.segment):
        msg = f"{table.name}: column {column!r} has {length} values, but 'segment' has {len(table.segment)}"
        raise InputError(msg)


def select_known(wanted: str | Iterable[str] | None, known: Sequence[str], what: str) -> tuple[str, ...]:
    """The names asked for (None: all), each of which must be known."""
    if wanted is None:
        return tuple(known)
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"{what} {unknown[0]!r} is not here" if unknown else f"{what}: an empty list chooses nothing"
        msg = f"{problem}; there are: {', '.join(map(repr, known)) or 'none'}"
        raise RecipeError(msg)
    return tuple(dict.fromkeys(names))


#: Language pair, system, document.
DocumentKey = tuple[str, str, str]


def document_table(
    table: JudgementTable, *, human: Mapping[str, Mapping[DocumentKey, float]] | None = None
) -> JudgementTable:
    """The table with a row per document and system; the id of a document is its segment.

    `human` has scores that people gave to documents, by criterion; they take the place of means over segments.
    Documents come in the order of their first rows, segments in the order of theirs.
    """
    names, source = table.document_of_rows(), table.source
    groups: dict[DocumentKey, list[int]] = {}
    for row, key in enumerate(zip(table.langpair, table.system, names, strict=True)):
        groups.setdefault(key, []).append(row)
    rows = list(groups.values())
    joined = {name: _means(values, rows) for name, values in table.human.items()}
    for name, scores in (human or {}).items():
        joined[name] = np.array([scores.get(key, np.nan) for key in groups])
    default = table.default_criterion or next(iter(human or ()), None)
    by_mean = [name for name in joined if name not in (human or {})]
    means = f"; {', '.join(by_mean)}: the mean over segments" if by_mean else ""
    note = f"{len(table)} segments joined to {len(rows)} documents{means}"
    return replace(
        table,
        segment=tuple(document for _, _, document in groups),
        system=tuple(system for _, system, _ in groups),
        langpair=tuple(pair for pair, _, _ in groups),
        document=tuple(document for _, _, document in groups),
        hypothesis=tuple(join_document(table.hypothesis[row] for row in own) for own in rows),
        references=tuple(_references(table, own) for own in rows),
        source=source and tuple(join_document(source[row] for row in own) for own in rows),
        topic=None,
        hypothesis_errors=None,
        source_errors=None,
        human=joined,
        default_criterion=default,
        released={name: _means(values, rows) for name, values in table.released.items()},
        notes=(*table.notes, note),
        files=None,
    )


def without_long_texts(table: JudgementTable, longest: int) -> JudgementTable:
    """The rows none of whose texts has more than `longest` word pieces: those of minilm, which are BERT's, with [CLS]
    and [SEP].

    Published evaluations of documents leave out what BERT would cut; here that is a choice, and counted in the notes.
    """
    from nlgauge.io.store.resolve import resolve
    from nlgauge.text.tokenizer import TextTokenizer

    files = resolve("minilm")
    tokenizer = TextTokenizer.from_folder(files.path, positions=None, digest=files.tokenizer_digest)
    rows = [(text, *group) for text, group in zip(table.hypothesis, table.references, strict=True)]
    texts = list(dict.fromkeys(text for row in rows for text in row))
    pieces = dict(zip(texts, (len(tokens) + tokens.cut for tokens in tokenizer.encode(texts)), strict=True))
    kept = [number for number, row in enumerate(rows) if all(pieces[text] <= longest for text in row)]
    if not kept:
        msg = f"{table.name}: every row has a text of more than {longest} word pieces; give a higher number"
        raise InputError(msg)
    note = f"{len(table) - len(kept)} of {len(table)} rows left out: a text of more than {longest} word pieces"
    return replace(table.take(kept), notes=(*table.notes, note))


def _references(table: JudgementTable, rows: Sequence[int]) -> tuple[str, ...]:
    groups = [table.references[row] for row in rows]
    if len({len(group) for group in groups}) > 1:
        document = table.document_of_rows()[rows[0]]
        msg = f"{table.name}: the segments of document {document!r} differ in their number of references"
        raise InputError(msg)
    return tuple(join_document(stream) for stream in zip(*groups, strict=True))


def _means(values: FloatArray, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """The mean of each document over what has a value; nan where nothing has."""
    present = (values[own][~np.isnan(values[own])] for own in map(list, rows))
    return np.array([own.mean() if own.size else np.nan for own in present], dtype=np.float64)
