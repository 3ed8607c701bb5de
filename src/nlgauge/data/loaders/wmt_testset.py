"""WMT17 direct assessments as one TSV per language pair, lower-cased and Moses-tokenised as they stand.

    testset_{pair}.tsv: LP source translation reference HUMAN_score sentBLEU, no quoting

560 rows per pair, 435 for lv-en. The text is kept as it is: scores on it are not those of the official
protocol (`wmt17`), which detokenises. The rows do not say which system wrote them. Some sources went through a
spreadsheet: quotes around them, and doubled quotes in them; translations and references did not.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import language_files
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.errors import FileFormatError
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import delimited_rows, spreadsheet_quoted, unquoted

__all__ = ["load_wmt_testset"]

_COLUMNS = ("LP", "source", "translation", "reference", "HUMAN_score", "sentBLEU")


def load_wmt_testset(
    path: Path, *, unquote: bool = False, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """The files `testset_{pair}.tsv` of a folder; a segment's id is its row, from 1.

    `unquote=True` takes a spreadsheet's quotes off the sources, which then are those of the WMT package.
    """
    files = language_files(path, "testset_*.tsv", r"testset_([a-z]{2}-[a-z]{2})\.tsv")
    build = TableBuilder()
    quoted = 0
    for langpair in select_known(langpairs, list(files), f"{path}: language pair"):
        name = str(files[langpair])
        for number, row in enumerate(delimited_rows(read_bytes(name), name, needed=_COLUMNS), start=1):
            if row.text("LP") != langpair:
                msg = f"{row.at('LP')}: expected {langpair!r} as in the file's name, got {row.text('LP')!r}"
                raise FileFormatError(msg)
            source = row.text("source")
            quoted += spreadsheet_quoted(source)
            build.add(
                row,
                segment=str(number),
                langpair=langpair,
                source=unquoted(source) if unquote else source,
                hypothesis=row.text("translation"),
                references=(row.text("reference"),),
                human={"HUMAN_score": row.number("HUMAN_score")},
                released={"sentBLEU": row.number("sentBLEU")},
            )
    done = "taken off" if unquote else "kept; unquote=True takes them off"
    notes = (f"{quoted} sources carry the quotes of a spreadsheet ({done})",) if quoted else ()
    return build.table("wmt17-testset", default_criterion="HUMAN_score", notes=notes)
