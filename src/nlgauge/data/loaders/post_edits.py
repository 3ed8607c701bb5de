"""Post-edited translations with HTER, as in the quality estimation tasks of WMT and the second part of MLQE-PE.

    en-de-test20/test20.src, test20.mt, test20.pe, test20.hter      parallel lines

The post-edit (`.pe`) is the reference. HTER is the number of edits from a translation to its post-edit, divided by
the words of the post-edit, so lower is better: the criterion `quality` is 1 - HTER, and `hter` the published value.
The language pair is that in the name of the folder or, without one, "und".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.data.loaders import TableBuilder, files_below, parallel_lines
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.tables import Row, read_lines

_PAIR = re.compile(r"(?<![a-z])([a-z]{2}-[a-z]{2})(?![a-z])")
_TEXTS = ("src", "mt", "pe")


def load_post_edits(path: Path, *, split: str = "", langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """Load all files `*.hter` in or below a folder; `split` selects those of one name, such as test20."""
    if path.is_file():
        path = path.parent
    files = sorted(files_below(path, f"**/{split or '*'}.hter"))
    if not files:
        msg = f"{path}: no file named like '{split or 'test'}.hter'; give the folder of the post-edits"
        raise InputError(msg)
    by_pair: dict[str, Path] = {}
    for file in files:
        matches = _PAIR.findall(file.parent.name)
        pair = matches[-1] if matches else "und"
        if pair in by_pair:
            msg = f"{path}: several files of {pair}, {by_pair[pair]} and {file}; choose one with split={file.stem}"
            raise RecipeError(msg)
        by_pair[pair] = file
    build = TableBuilder()
    for pair in select_known(langpairs, list(by_pair), f"{path}: language pair"):
        file = by_pair[pair]
        rates = read_lines(file)
        columns = {name: parallel_lines(file.with_suffix(f".{name}"), file, len(rates)) for name in _TEXTS}
        for number, values in enumerate(zip(*columns.values(), rates, strict=True), start=1):
            row = Row(str(file), f"line {number}", dict(zip((*_TEXTS, "hter"), values, strict=True)))
            hter = row.number("hter")
            build.add(
                row,
                segment=str(number),
                langpair=pair,
                source=row.text("src"),
                hypothesis=row.text("mt"),
                references=(row.text("pe"),),
                human={"quality": 1 - hter, "hter": hter},
            )
    return build.table("post-edits", default_criterion="quality")
