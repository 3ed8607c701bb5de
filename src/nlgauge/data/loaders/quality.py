"""Loaders of translation quality data: MLQE-PE, Multi30k 2018 and Eval4NLP 2021.

MLQE-PE: direct assessments of machine translation without references, one tar.gz per language pair.

    {pair}-test.tar.gz with {pair}/test20.{pair}.df.short.tsv
        index|segid original translation scores mean z_scores z_mean model_scores, no quoting
    and {pair}/test20.doc_ids, one per row

Gold is `z_mean`, the mean of the raters' standardised scores. `model_scores` is the log-likelihood that the
translation model gave its own output; it was once correlated with by mistake (D22), so it loads as a released
score and warns when it is asked for as gold.

Multi30k 2018: translations of image captions into German and French with standardised human scores.

    MMTsourcedict.json                  image -> English caption
    MMTgolddict_{de|fr}.json            image -> reference
    MMTtranslationdict_{de|fr}.json     image -> [[translation, z-score], ...]

In place of a translation stands now and then the name of the image's file (`30167206992_a67e763356.jpg`).
Such rows have a human score but no text; they are left out by default, and counted in a warning and a note.

Eval4NLP 2021: translations with the words marked that are wrong, and those of the source that they come from.

ro-en-dev.tar.gz
    dev.src, dev.mt                 sources and translations, tokenised, a sentence per line
    dev.src-tags, dev.tgt-tags      0 or 1 per word: 1 is an error
    dev.da                          direct assessment of the sentence
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.judgements import ErrorSpan, JudgementTable
from nlgauge.data.loaders.common import TableBuilder, archive_members, language_files, need_file
from nlgauge.errors import DataWarning, FileFormatError, RecipeError
from nlgauge.io.tables import Record, Row, read_json, read_tsv, split_lines, unequal_lines
from nlgauge.text.words import split_words

_COLUMNS = ("original", "translation", "mean", "z_mean", "model_scores")
_CAVEAT = "a log-likelihood of the translation model, not a human score"


def load_mlqe(path: Path, *, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """The archives `{pair}-test.tar.gz` of a folder, with the document of each segment."""
    build = TableBuilder()
    files = language_files(path, "*-test.tar.gz", r"([a-z]{2}-[a-z]{2})-test\.tar\.gz", langpairs)
    for langpair, file in files.items():
        _add_archive(build, file, langpair)
    return build.table("mlqe-pe", default_criterion="z_mean", caveats={"model_scores": _CAVEAT})


def _add_archive(build: TableBuilder, path: Path, langpair: str) -> None:
    short = langpair.replace("-", "")
    members = archive_members(path, f"test20.{short}.df.short.tsv", "test20.doc_ids")
    name, data = members[0]
    rows = list(read_tsv(name, data=data, needed=_COLUMNS))
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


_FILE_NAME = re.compile(r"\S+\.(jpe?g|png)", re.IGNORECASE)


def load_multi30k(
    path: Path, *, keep_file_names: bool = False, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """The files of a folder; a segment is `IMAGE#N`, the N-th translation of the image, and its topic the image.

    `keep_file_names=True` keeps rows whose translation is the name of a file, as published figures did.
    """
    name = r"MMTtranslationdict_([a-z]{2})\.json"
    files = language_files(path, "MMTtranslationdict_*.json", name, langpairs, pair=r"en-\1")
    sources = read_json(need_file(path, "MMTsourcedict.json"))
    build = TableBuilder()
    notes: list[str] = []
    for langpair, file in files.items():
        gold = read_json(need_file(path, f"MMTgolddict_{langpair[-2:]}.json"))
        file_names = _add_language(build, file, langpair, sources, gold, keep=keep_file_names)
        if file_names:
            done = "kept" if keep_file_names else "left out"
            notes.append(f"{langpair}: {file_names} translations are names of image files, not text; {done}")
    if notes:
        warnings.warn("multi30k: " + "; ".join(notes), DataWarning, stacklevel=2)
    return build.table("multi30k", default_criterion="z_score", notes=tuple(notes))


def _add_language(
    build: TableBuilder, path: Path, langpair: str, sources: Record, gold: Record, *, keep: bool
) -> int:
    file_names = 0
    for image, judged in read_json(path).items():
        row = Row(str(path), f"item {image!r}", {"translations": judged, "source": sources.get(image)})
        if image not in sources or image not in gold:
            msg = f"{row.at()}: the image has no {'source' if image not in sources else 'reference'}"
            raise FileFormatError(msg)
        if not isinstance(judged, list):
            row.refuse("translations", "a list of [translation, score]")
        reference = Row(str(path), row.where, {"reference": gold[image]}).text("reference")
        for index, pair in enumerate(judged):
            if not isinstance(pair, list) or len(pair) != 2:
                row.refuse("translations", "a list of [translation, score]")
            cells = Row(str(path), f"{row.where}[{index}]", {"translation": pair[0], "score": pair[1]})
            text = cells.text("translation")
            if _FILE_NAME.fullmatch(text):
                file_names += 1
                if not keep:
                    continue
            build.add(
                cells,
                segment=f"{image}#{index}",
                langpair=langpair,
                topic=image,
                source=row.text("source"),
                hypothesis=text,
                references=(reference,),
                human={"z_score": cells.number("score")},
            )
    return file_names


_SPLITS = ("dev", "test21")
_FILES = ("src", "mt", "src-tags", "tgt-tags", "da")


def load_eval4nlp(path: Path, *, split: str = "", langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """The archives `{pair}-{split}.tar.gz` of a folder; the errors are spans of words.

    `split` is dev or test21; it must be named where a language pair is there in both.
    """
    if split not in ("", *_SPLITS):
        msg = f"split must be one of {', '.join(_SPLITS)}, got {split!r}"
        raise RecipeError(msg)
    name = rf"([a-z]{{2}}-[a-z]{{2}})-(?:{split or '|'.join(_SPLITS)})\.tar\.gz"
    for langpair in language_files(path, "*.tar.gz", name, None):
        if not split and all((path / f"{langpair}-{one}.tar.gz").is_file() for one in _SPLITS):
            msg = f"{path}: {langpair} is there as {' and '.join(_SPLITS)}; choose with split={_SPLITS[0]}"
            raise RecipeError(msg)
    build = TableBuilder()
    for langpair, file in language_files(path, "*.tar.gz", name, langpairs).items():
        _add_tagged_archive(build, file, langpair)
    return build.table("eval4nlp", default_criterion="da")


def _add_tagged_archive(build: TableBuilder, path: Path, langpair: str) -> None:
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
