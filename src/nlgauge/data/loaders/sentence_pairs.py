"""Pairs of English sentences without a system behind them: STS-B, and triples with a paraphrase and a lookalike.

    sts_en.tsv        score, first, second                     no header; score 0 to 5
    out_paws.tsv      label, A, B or C, nine metric scores     no header, quoted as CSV; label 1: a paraphrase, 0: not
    out_freitag.tsv   the same; C is A with its nouns in another order

Each A stands in two lines, with its paraphrase B and with its lookalike C; so A is the topic.
The metric columns are those of the linguistic-factor study, without its unused one (D13; their
order is confirmed by the shares of B over C that the study's scores give).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import need_file
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.files.csv_files import quoted_rows
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import delimited_rows, spreadsheet_quoted, unquoted

__all__ = ["load_paws", "load_sts"]

_PAWS_METRICS = (
    "bertscore",
    "laser",
    "muse",
    "moverscore",
    "sbert",
    "sbert_wk",
    "labse",
    "msbert",
    "bleurt",
)


def load_sts(
    path: Path,
    *,
    file: str = "sts_en.tsv",
    unquote: bool = False,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """STS-B: the first sentence is the hypothesis, the second the reference; a segment's id is its line, from 1.

    `unquote=True` takes the quotes of a spreadsheet off the sentences that carry them.
    """
    select_known(langpairs, ["en"], "STS: language")
    name = str(need_file(path, file))
    build = TableBuilder()
    quoted = 0
    rows = delimited_rows(read_bytes(name), name, columns=("score", "first", "second"))
    for line, row in enumerate(rows, start=1):
        sentences = [row.text("first"), row.text("second")]
        quoted += sum(map(spreadsheet_quoted, sentences))
        first, second = map(unquoted, sentences) if unquote else sentences
        build.add(
            row,
            segment=str(line),
            langpair="en",
            hypothesis=first,
            references=(second,),
            human={"similarity": row.number("score")},
        )
    done = "taken off" if unquote else "kept; unquote=True takes them off"
    notes = (f"{quoted} sentences carry the quotes of a spreadsheet ({done})",) if quoted else ()
    return build.table("sts", default_criterion="similarity", notes=notes)


def load_paws(
    path: Path, *, file: str = "out_paws.tsv", langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """PAWS, or triples in its form: A is the reference, B or C the hypothesis; gold is `paraphrase`, 1 or 0."""
    select_known(langpairs, ["en"], "PAWS: language")
    name = str(need_file(path, file))
    build = TableBuilder()
    rows = quoted_rows(read_bytes(name), name, ("label", "first", "second", *_PAWS_METRICS))
    for line, row in enumerate(rows, start=1):
        build.add(
            row,
            segment=str(line),
            langpair="en",
            topic=row.text("first"),
            hypothesis=row.text("second"),
            references=(row.text("first"),),
            human={"paraphrase": float(row.integer("label", low=0, high=1))},
            released={metric: row.number(metric) for metric in _PAWS_METRICS},
        )
    return build.table(Path(file).stem.removeprefix("out_"), default_criterion="paraphrase")
