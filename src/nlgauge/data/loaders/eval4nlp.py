"""Eval4NLP 2021: translations with the words marked that are wrong, and those of the source that they come from.

ro-en-dev.tar.gz
    dev.src, dev.mt                 sources and translations, tokenised, a sentence per line
    dev.src-tags, dev.tgt-tags      0 or 1 per word: 1 is an error
    dev.da                          direct assessment of the sentence
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import archive_members, language_files
from nlgauge.data.table import ErrorSpan, JudgementTable, select_known
from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.files.lines import split_lines
from nlgauge.files.records import Row, unequal_lines
from nlgauge.text.words import split_words

__all__ = ["load_eval4nlp"]

_SPLITS = ("dev", "test21")
_FILES = ("src", "mt", "src-tags", "tgt-tags", "da")


def load_eval4nlp(path: Path, *, split: str = "", langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """The archives `{pair}-{split}.tar.gz` of a folder; the errors are spans of words.

    `split` is dev or test21; it must be named where a language pair is there in both.
    """
    if split not in ("", *_SPLITS):
        msg = f"split must be one of {', '.join(_SPLITS)}, got {split!r}"
        raise RecipeError(msg)
    files = language_files(path, "*.tar.gz", rf"([a-z]{{2}}-[a-z]{{2}})-(?:{split or '|'.join(_SPLITS)})\.tar\.gz")
    for langpair in files:
        if not split and all((path / f"{langpair}-{one}.tar.gz").is_file() for one in _SPLITS):
            msg = f"{path}: {langpair} is there as {' and '.join(_SPLITS)}; choose with split={_SPLITS[0]}"
            raise RecipeError(msg)
    build = TableBuilder()
    for langpair in select_known(langpairs, list(files), f"{path}: language pair"):
        _add_archive(build, files[langpair], langpair)
    return build.table("eval4nlp", default_criterion="da")


def _add_archive(build: TableBuilder, path: Path, langpair: str) -> None:
    split = path.name.removesuffix(".tar.gz").rpartition("-")[2]
    members = archive_members(path, *(f"{split}.{kind}" for kind in _FILES))
    columns = {kind: split_lines(data, name) for kind, (name, data) in zip(_FILES, members, strict=True)}
    for kind, (name, _) in zip(_FILES, members, strict=True):
        if len(columns[kind]) != len(columns["src"]):
            raise unequal_lines(name, len(columns[kind]), members[0][0], len(columns["src"]))
    for number, values in enumerate(zip(*columns.values(), strict=True), start=1):
        row = Row(f"{path}", f"line {number}", dict(zip(_FILES, values, strict=True)))
        build.add(
            row,
            segment=str(number),
            langpair=langpair,
            source=row.text("src"),
            hypothesis=row.text("mt"),
            hypothesis_errors=_errors(row, "mt", "tgt-tags"),
            source_errors=_errors(row, "src", "src-tags"),
            human={"da": row.number("da")},
        )


def _errors(row: Row, text: str, tags: str) -> tuple[ErrorSpan, ...]:
    words, marks = split_words(row.text(text), "blanks"), row.text(tags).split()
    if len(words) != len(marks) or not set(marks) <= {"0", "1"}:
        msg = f"{row.at(tags)}: expected 0 or 1 for each of the {len(words)} words of {text!r}, got {len(marks)} tags"
        raise FileFormatError(msg)
    return tuple(ErrorSpan(word.start, word.end) for word, mark in zip(words, marks, strict=True) if mark == "1")
