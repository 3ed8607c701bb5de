"""A table whose rows are documents, out of one whose rows are segments of documents.

The outputs of a system for the segments of a document are joined, references and sources likewise. What people, or
metrics that came with the data, said of a document is the mean over the segments that have a score, unless people
scored the document itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nlgauge.corpus.documents import join_document
from nlgauge.data.table import FloatArray, JudgementTable
from nlgauge.errors import InputError

__all__ = ["DocumentKey", "document_table", "without_long_texts"]

#: Language pair, system, document.
DocumentKey = tuple[str, str, str]


def document_table(
    table: JudgementTable, *, human: Mapping[str, Mapping[DocumentKey, float]] | None = None
) -> JudgementTable:
    """The table with a row per document and system; the id of a document is its segment.

    `human` has scores that people gave to documents, by criterion; they take the place of means over segments.
    Documents come in the order of their first rows, segments in the order of theirs.
    """
    names = table.document_of_rows()
    groups: dict[DocumentKey, list[int]] = {}
    for row, key in enumerate(zip(table.langpair, table.system, names, strict=True)):
        groups.setdefault(key, []).append(row)
    rows = list(groups.values())
    joined = {name: _means(values, rows) for name, values in table.human.items()}
    for name, scores in (human or {}).items():
        joined[name] = np.array([scores.get(key, np.nan) for key in groups])
    default = table.default_criterion or next(iter(human or ()), None)
    by_mean = [name for name in joined if name not in (human or {})]
    said = f"; {', '.join(by_mean)}: the mean over segments" if by_mean else ""
    note = f"{len(table)} segments joined to {len(rows)} documents{said}"
    return replace(
        table,
        segment=tuple(document for _, _, document in groups),
        system=tuple(system for _, system, _ in groups),
        langpair=tuple(pair for pair, _, _ in groups),
        document=tuple(document for _, _, document in groups),
        hypothesis=_joined(table.hypothesis, rows),
        references=tuple(_references(table, own) for own in rows),
        source=None if table.source is None else _joined(table.source, rows),
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
    from nlgauge.models import resolve
    from nlgauge.text import TextTokenizer

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


def _joined(texts: Sequence[str], rows: Sequence[Sequence[int]]) -> tuple[str, ...]:
    return tuple(join_document(texts[row] for row in own) for own in rows)


def _references(table: JudgementTable, rows: Sequence[int]) -> tuple[str, ...]:
    groups = [table.references[row] for row in rows]
    if len({len(group) for group in groups}) > 1:
        document = table.document_of_rows()[rows[0]]
        msg = f"{table.name}: the segments of document {document!r} differ in their number of references"
        raise InputError(msg)
    return tuple(join_document(stream) for stream in zip(*groups, strict=True))


def _means(values: FloatArray, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """The mean of each document over what has a value; nan where nothing has."""
    found = np.full(len(rows), np.nan)
    for number, own in enumerate(rows):
        there = values[list(own)]
        there = there[~np.isnan(there)]
        if there.size:
            found[number] = there.mean()
    return found
