"""Pairs of sentences with linguistic factors and the scores of metrics, as the linguistic-factor study released them.

    out_wmt_mono.tsv    hypothesis, reference, then columns of numbers         no header; tabs, quoted as CSV
    out_wmt_de.tsv      foreign sentence, English sentence, then columns

Columns are those of the study (Kaster, Zhao, Eger 2021; D12 and D13 say what its metrics are):

    sem         human score                         mor          cosine of mean retrofitted word vectors
    syn         1 - tree edit distance / nodes      lex          BLEU-1; of a foreign sentence its translation
    lex_words   the same, translated word by word   fasttext     not used in the study
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import need_file
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.files.csv_files import quoted_rows
from nlgauge.files.lines import read_bytes

__all__ = ["load_factor_scores"]

_ENGLISH = (
    "sem", "syn", "mor", "lex", "fasttext", "bertscore", "laser", "muse", "moverscore", "sbert", "sbert_wk", "labse",
    "msbert", "bleurt",
)  # fmt: skip
_GERMAN = ("sem", "syn", "mor", "lex_words", "lex", "fasttext", "laser", "muse", "xmoverscore", "labse", "msbert")
#: No features of Chinese words match those of English ones, so there is no MOR.
_CHINESE = tuple(name for name in _GERMAN if name != "mor")

_COLUMNS = {"mono": _ENGLISH, "de": _GERMAN, "zh": _CHINESE}


def load_factor_scores(
    path: Path, *, files: str, across: str = "", langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """The files of a data set (`wmt`, `sts`, `mlqe`); a segment's id is its line, from 1.

    `across` is empty for English beside English. Across languages it says where English stands, as `en-` or `-en`,
    and sentences are compared with sources.
    """
    kinds = {"en": "mono"} if not across else {_pair(across, foreign): foreign for foreign in ("de", "zh")}
    known = [pair for pair, kind in kinds.items() if path.is_dir() or path.name == f"out_{files}_{kind}.tsv"]
    build = TableBuilder()
    for pair in select_known(langpairs, known, f"out_{files}: language pair"):
        kind = kinds[pair]
        name = str(need_file(path, f"out_{files}_{kind}.tsv"))
        columns = _COLUMNS[kind]
        for line, row in enumerate(quoted_rows(read_bytes(name), name, ("first", "second", *columns)), start=1):
            first, second = row.text("first"), row.text("second")
            hypothesis, other = (second, first) if across == "-en" else (first, second)
            build.add(
                row,
                segment=str(line),
                langpair=pair,
                hypothesis=hypothesis,
                references=() if across else (other,),
                source=other if across else None,
                human={"sem": row.number("sem")},
                released={column: row.number(column) for column in columns[1:]},
            )
    return build.table(f"out_{files}", default_criterion="sem")


def _pair(across: str, foreign: str) -> str:
    return f"{foreign}{across}" if across.startswith("-") else f"{across}{foreign}"
