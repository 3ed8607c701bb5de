"""MLQE-PE: direct assessments of machine translation without references, one tar.gz per language pair.

    {pair}-test.tar.gz with {pair}/test20.{pair}.df.short.tsv
        index|segid original translation scores mean z_scores z_mean model_scores, no quoting
    and {pair}/test20.doc_ids, one per row

Gold is `z_mean`, the mean of the raters' standardised scores. `model_scores` is the log-likelihood that the
translation model gave its own output; it was once correlated with by mistake (D22), so it loads as a released
score and warns when it is asked for as gold.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import archive_members, language_files
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.files.lines import split_lines
from nlgauge.files.records import delimited_rows, unequal_lines

__all__ = ["load_mlqe"]

_COLUMNS = ("original", "translation", "mean", "z_mean", "model_scores")
_CAVEAT = "a log-likelihood of the translation model, not a human score"


def load_mlqe(path: Path, *, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """The archives `{pair}-test.tar.gz` of a folder, with the document of each segment."""
    files = language_files(path, "*-test.tar.gz", r"([a-z]{2}-[a-z]{2})-test\.tar\.gz")
    build = TableBuilder()
    for langpair in select_known(langpairs, list(files), f"{path}: language pair"):
        _add_archive(build, files[langpair], langpair)
    return build.table("mlqe-pe", default_criterion="z_mean", caveats={"model_scores": _CAVEAT})


def _add_archive(build: TableBuilder, path: Path, langpair: str) -> None:
    short = langpair.replace("-", "")
    members = archive_members(path, f"test20.{short}.df.short.tsv", "test20.doc_ids")
    name, data = members[0]
    rows = list(delimited_rows(data, name, needed=_COLUMNS))
    ids_name, ids = members[1]
    _, *documents = split_lines(ids, ids_name)  # the first line is a header
    if len(documents) != len(rows):
        raise unequal_lines(ids_name, len(documents) + 1, name, len(rows) + 1)
    for row, document in zip(rows, documents, strict=True):
        build.add(
            row,
            segment=row.label("index" if "index" in row.values else "segid"),
            langpair=langpair,
            source=row.text("original"),
            hypothesis=row.text("translation"),
            document=document,
            human={"z_mean": row.number("z_mean"), "mean": row.number("mean")},
            released={"model_scores": row.number("model_scores")},
        )
