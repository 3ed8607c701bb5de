"""MSR abstractive compression: shortened sentences and paragraphs with judgements of meaning and grammar.

    RawData/test.tsv, train.tsv, valid.tsv      compressions by people
    RawData/test_output.SYSTEM.tsv              outputs of four systems (one name is spelled test_outut)

A line is a source text and its compressions, separated by " ||| "; fields are separated by tabs:

    ID, domain, text ||| compression, judge or system, number of ratings, then per rating: code, two descriptions

The code of a rating stands for meaning (1 to 3) and grammar (1 to 3). An output has the means over its raters as
`meaning` and `grammar`, and the mean of both as `combined`. Its references are the compressions of people.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.data.loaders import TableBuilder, files_below, find_below
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.tables import Row, read_lines

#: Meaning and grammar by the code of a rating.
CODES = {
    "6": (3, 3),
    "7": (3, 2),
    "9": (3, 1),
    "11": (2, 3),
    "12": (2, 2),
    "14": (2, 1),
    "21": (1, 3),
    "22": (1, 2),
    "24": (1, 1),
}

_BETWEEN = "|||"
_OUTPUTS = re.compile(r"test_outp?ut\.(.+)\.tsv")
_RATING = 3
"""Fields of a rating."""


def load_compression(path: Path, *, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """Load the rated outputs of the systems, with the compressions of people as references."""
    select_known(langpairs, ["en"], "MSR compression: language")
    file = find_below(path, "test.tsv")
    if file is None:
        msg = f"{path}: no file 'test.tsv' in or below this folder; give the folder RawData of the data set"
        raise InputError(msg)
    references: dict[str, tuple[str, ...]] = {}
    for source, parts in _lines(file):
        references[source.text("id")] = tuple(part.text("text") for part in parts)
    build, unrated = TableBuilder(), 0
    for output in sorted(files_below(file.parent, "test_out*.tsv")):
        match = _OUTPUTS.fullmatch(output.name)
        if match is None:
            continue
        for source, parts in _lines(output):
            segment = source.text("id")
            if not references.get(segment):
                source.refuse("id", f"a text of {file.name} with compressions")
            for part in parts:
                ratings = [CODES[code] for code in part.value("ratings")]
                if not ratings:
                    unrated += 1
                    continue
                meaning, grammar = (sum(values) / len(values) for values in zip(*ratings, strict=True))
                build.add(
                    part,
                    segment=segment,
                    system=match[1],
                    langpair="en",
                    source=source.text("text"),
                    hypothesis=part.text("text"),
                    references=references[segment],
                    human={"meaning": meaning, "grammar": grammar, "combined": (meaning + grammar) / 2},
                )
    if not len(build):
        msg = f"{file.parent}: no rated outputs in files like 'test_output.t3.tsv'"
        raise InputError(msg)
    notes = (f"{unrated} outputs without ratings are left out",) if unrated else ()
    return build.table("msr-compression", default_criterion="combined", notes=notes)


def _lines(file: Path) -> Iterator[tuple[Row, list[Row]]]:
    """The source of each line, and its compressions."""
    name = os.fspath(file)
    for number, line in enumerate(read_lines(name), start=1):
        where = f"line {number}"
        first, *others = (part.strip(" ").split("\t") for part in line.split(_BETWEEN))
        if len(first) < 3:
            msg = f"{name}, {where}: expected ID, domain and text, separated by tabs, got {first!r}"
            raise FileFormatError(msg)
        source = Row(name, where, {"id": first[0].strip(), "text": first[2].strip()})
        yield source, [_compression(name, where, fields) for fields in others]


def _compression(name: str, where: str, fields: list[str]) -> Row:
    """A compression with the codes of its ratings."""
    fields = [field.strip() for field in fields]
    row = Row(name, where, dict(zip(("text", "judge", "count"), fields, strict=False)))
    count = row.integer("count", low=0, high=10_000)
    codes = fields[3 : 3 + _RATING * count : _RATING]
    if len(codes) < count or not set(codes) <= set(CODES):
        row = Row(name, where, {"ratings": codes})
        row.refuse("ratings", f"{count} ratings with the codes {', '.join(CODES)}")
    return Row(name, where, {**row.values, "ratings": codes})
