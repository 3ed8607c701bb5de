"""Labelled texts from available data sets in their published layouts.

    languages   segments of WMT18 in eight languages; the label is the language
    domains     English: news, captions of pictures, talks, answers of a hotel's and a restaurant's assistant
    systems     outputs of WMT18 into English from German; the label is the system
    outputs     outputs of WMT18 in all directions; labels are the language, that of the source, and the system

A text of training and a text of the test never translate the same segment.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nlgauge.errors import InputError, RecipeError

__all__ = ["TASKS", "LabelledTexts", "Split", "load_task"]

_PACKAGE = "wmt18"


class LabelledTexts(NamedTuple):
    """Texts, and the labels of each by number."""

    texts: list[str]
    owned: list[frozenset[int]]


class Split(NamedTuple):
    """A task: training, development and test texts."""

    training: LabelledTexts
    development: LabelledTexts
    """For choices, such as the penalty of the baseline; a tenth."""
    test: LabelledTexts
    labels: tuple[str, ...]


class _Row(NamedTuple):
    text: str
    labels: tuple[str, ...]
    segment: str
    """Rows of one segment stay together."""


def load_task(name: str, folder: Path, *, most: int | None = None, seed: int = 0) -> Split:
    """One of `TASKS` from the data sets in `folder`; of each label (of the last, if a text has several) `most` texts.

    A fifth of the segments, drawn by `seed`, is the test, a tenth the development set.
    """
    if name not in TASKS:
        msg = f"unknown task {name!r}; there are {', '.join(TASKS)}"
        raise RecipeError(msg)
    rows = _at_most(TASKS[name](folder), most, seed)
    labels = tuple(sorted({label for row in rows for label in row.labels}))
    if len(labels) < 2:
        msg = f"no texts for the task {name!r} below {folder}"
        raise InputError(msg)
    numbers = {label: number for number, label in enumerate(labels)}
    segments = sorted({row.segment for row in rows})
    order = np.random.default_rng([seed, 1]).permutation(len(segments))
    share = {segments[part]: place / len(segments) for place, part in enumerate(order)}
    parts: list[LabelledTexts] = [LabelledTexts([], []) for _ in range(3)]
    for row in rows:
        part = 2 if share[row.segment] < 0.2 else 1 if share[row.segment] < 0.3 else 0
        parts[part].texts.append(row.text)
        parts[part].owned.append(frozenset(numbers[label] for label in row.labels))
    return Split(parts[0], parts[1], parts[2], labels)


def _languages(folder: Path) -> Iterator[_Row]:
    """Sources and references alike, so that no language comes from one kind of text only."""
    for side in ("source", "references"):
        for path in _files(folder / _PACKAGE / side):
            pair = path.name.split("-")[1]
            for number, line in enumerate(_lines(path)):
                # A test set of one direction is the other's the other way round.
                yield _Row(line, (path.suffix[1:],), f"{'-'.join(sorted((pair[:2], pair[2:])))} {number}")


def _domains(folder: Path) -> Iterator[_Row]:
    for path in _files(folder / _PACKAGE / "references", ending=".en"):
        for number, line in enumerate(_lines(path)):
            yield _Row(line.lower(), ("news",), f"{path.name} {number}")
    captions = json.loads(_one(folder / "multi30k" / "MMTsourcedict.json").read_text(encoding="utf-8"))
    for picture, text in captions.items():
        yield _Row(str(text).lower(), ("captions",), picture)
    with _one(folder / "mqm" / "mqm_ted_zhen.tsv").open(encoding="utf-8", newline="") as lines:
        for record in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            text = record["target"].replace("<v>", "").replace("</v>", "")
            if record["system"] != "ref":
                yield _Row(text.lower(), ("talks",), f"talk {record['seg_id']}")
    for name, domain in (("bagel", "restaurants"), ("sfhot", "hotels")):
        for line in _lines(folder / "d2t" / f"{name}.jsonl"):
            record = json.loads(line)
            for text in record["references"]:
                yield _Row(text.lower(), (domain,), f"{domain} {record['source']}")


def _systems(folder: Path) -> Iterator[_Row]:
    for row in _outputs(folder, ending=".de-en"):
        yield row._replace(labels=row.labels[2:])


def _outputs(folder: Path, *, ending: str = "") -> Iterator[_Row]:
    for path in _files(folder / _PACKAGE / "system-outputs", ending=ending, below=True):
        system, _, pair = path.name.split(".", 1)[1].rpartition(".")
        source, _, target = pair.partition("-")
        name = system.rpartition(".")[0].lower()
        for number, line in enumerate(_lines(path)):
            segment = f"{'-'.join(sorted((source, target)))} {number}"
            yield _Row(line, (f"into {target}", f"from {source}", name), segment)


TASKS: dict[str, Callable[[Path], Iterator[_Row]]] = {
    "languages": _languages,
    "domains": _domains,
    "systems": _systems,
    "outputs": _outputs,
}


def _at_most(rows: Iterable[_Row], most: int | None, seed: int) -> list[_Row]:
    """Each text once under the labels it has, and of each last label `most`, drawn by `seed`."""
    by_label: dict[str, dict[_Row, None]] = {}
    for row in rows:
        if row.text.strip():
            by_label.setdefault(row.labels[-1], {})[row] = None
    selected: list[_Row] = []
    for number, label in enumerate(sorted(by_label)):
        candidates = list(by_label[label])
        order = np.random.default_rng([seed, 0, number]).permutation(len(candidates))[:most]
        selected.extend(candidates[i] for i in sorted(order.tolist()))
    return selected


def _files(folder: Path, *, ending: str = "", below: bool = False) -> list[Path]:
    paths = sorted(folder.glob("*/*" if below else "*"))
    if not paths:
        msg = f"no files in {folder}; where NLGAUGE_DATA points there must be a folder {folder.parent.name}"
        raise InputError(msg)
    return [path for path in paths if path.name.endswith(ending)]


def _one(path: Path) -> Path:
    if not path.is_file():
        msg = f"{path} is not there"
        raise InputError(msg)
    return path


def _lines(path: Path) -> list[str]:
    return _one(path).read_text(encoding="utf-8").rstrip("\n").split("\n")
