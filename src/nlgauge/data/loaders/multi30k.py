"""Multi30k 2018: translations of image captions into German and French with standardised human scores.

    MMTsourcedict.json                  image -> English caption
    MMTgolddict_{de|fr}.json            image -> reference
    MMTtranslationdict_{de|fr}.json     image -> [[translation, z-score], ...]

In place of a translation stands now and then the name of the image's file (`30167206992_a67e763356.jpg`).
Such rows have a human score but no text; they are left out by default, and counted in a warning and a note.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import language_files, need_file
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.errors import DataWarning, FileFormatError
from nlgauge.files.records import Record, Row, json_document

__all__ = ["load_multi30k"]

_FILE_NAME = re.compile(r"\S+\.(jpe?g|png)", re.IGNORECASE)


def load_multi30k(
    path: Path, *, keep_file_names: bool = False, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """The files of a folder; a segment is `IMAGE#N`, the N-th translation of the image, and its topic the image.

    `keep_file_names=True` keeps rows whose translation is the name of a file, as published figures did.
    """
    targets = language_files(path, "MMTtranslationdict_*.json", r"MMTtranslationdict_([a-z]{2})\.json")
    files = {f"en-{target}": file for target, file in targets.items()}
    sources = json_document(need_file(path, "MMTsourcedict.json"))
    build = TableBuilder()
    notes: list[str] = []
    for langpair in select_known(langpairs, list(files), f"{path}: language pair"):
        target = langpair[-2:]
        gold = json_document(need_file(path, f"MMTgolddict_{target}.json"))
        found = _add_language(build, files[langpair], langpair, sources, gold, keep=keep_file_names)
        if found:
            done = "kept" if keep_file_names else "left out"
            notes.append(f"{langpair}: {found} translations are names of image files, not text; {done}")
    if notes:
        warnings.warn("multi30k: " + "; ".join(notes), DataWarning, stacklevel=2)
    return build.table("multi30k", default_criterion="z_score", notes=tuple(notes))


def _add_language(
    build: TableBuilder, path: Path, langpair: str, sources: Record, gold: Record, *, keep: bool
) -> int:
    file_names = 0
    for image, judged in json_document(path).items():
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
