"""Segment scores of real systems for simulations of early stopping, cached as one file per language pair and metric.

A frame has the scores of one metric: a row per segment, a column per system. Texts are scored on a sample of segments
(`score_groups`); published score frames of TAC and dialogue are read as they are. Runs of 20 segments stand for the
documents of WMT, which the data does not name; MQM names the talk of each segment.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import nlgauge
from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.loaders.wmt import WmtPackage
from nlgauge.studies.calibrate.scored_groups import score_groups

__all__ = ["Frame", "read_frames"]

#: Data sets of published scores.
SCORES = {name: f"{name}-scores" for name in ("tac08", "tac09", "tac11", "topicalchat", "personachat")}

#: Segments that stand for a document of WMT.
RUN = 20


@dataclass(frozen=True, eq=False)
class Frame:
    """Scores of one metric."""

    data: str
    langpair: str
    metric: str
    scores: NDArray[np.float64]
    """By segment and system; higher is better."""
    documents: NDArray[np.intp]
    """By segment, the number of its document."""

    @property
    def differences(self) -> NDArray[np.float64]:
        """By pair of systems, the paired differences."""
        first, second = np.triu_indices(self.scores.shape[1], 1)
        return (self.scores[:, first] - self.scores[:, second]).T


def read_frames(
    names: Sequence[str], folder: Path, cache: Path, metrics: Sequence[str], segments: int
) -> list[Frame]:
    """Read frames of data sets; scores of texts that are not in the cache are computed with int8 models."""
    cache.mkdir(parents=True, exist_ok=True)
    frames: list[Frame] = []
    for name in names:
        frames += _published(name, folder) if name in SCORES else _scored(name, folder, cache, metrics, segments)
    return frames


def _scored(name: str, folder: Path, cache: Path, metrics: Sequence[str], segments: int) -> Iterator[Frame]:
    """Read or compute the scores of a data set of texts."""
    for langpair in _langpairs(name, folder):
        files = {metric: cache / f"{name}-{langpair}-{metric}-{segments}-int8.npz" for metric in metrics}
        missing = [metric for metric, file in files.items() if not file.exists()]
        if missing:
            table = _table(name, langpair, folder)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
                groups = score_groups(
                    table, missing, segments=segments, run=RunOptions(precision="int8", empty="zero", threads=1)
                )
            for metric, group in zip(missing, groups, strict=True):
                scores = group.segments.T
                np.savez_compressed(files[metric], scores=scores, documents=_documents(table, len(scores)))
                print(f"{files[metric].name}: {scores.shape}", file=sys.stderr, flush=True)
        for metric, file in files.items():
            with np.load(file) as arrays:
                yield Frame(name, langpair, metric, arrays["scores"], arrays["documents"])


def _langpairs(name: str, folder: Path) -> list[str]:
    """Language pairs into English, or one empty name."""
    if not name.startswith("wmt"):
        return [""]
    package = WmtPackage(folder / name, 2000 + int(name.removeprefix("wmt")))
    return [langpair for langpair in package.outputs if langpair.endswith("-en")]


def _table(name: str, langpair: str, folder: Path) -> JudgementTable:
    if langpair:
        return load(name, folder, level="system", langpairs=[langpair])
    return load(name, folder)


def _documents(table: JudgementTable, count: int) -> NDArray[np.intp]:
    """Documents of the segments; runs of segments if the data has none."""
    segments = list(dict.fromkeys(table.segment))
    if table.document is None or len(segments) != count:
        return np.arange(count) // RUN
    of_segment = dict(zip(table.segment, table.document, strict=True))
    numbers = {document: number for number, document in enumerate(dict.fromkeys(table.document))}
    return np.array([numbers[of_segment[segment]] for segment in segments])


def _published(name: str, folder: Path) -> Iterator[Frame]:
    """Read published scores of 13 metrics; an instance is its own document."""
    table = load(SCORES[name], folder)
    systems = {system: number for number, system in enumerate(table.systems)}
    rows = [int(segment) for segment in table.segment]
    columns = [systems[system] for system in table.system]
    for metric, values in table.released.items():
        scores = np.full((max(rows) + 1, len(systems)), np.nan)
        scores[rows, columns] = values
        yield Frame(name, "", metric, scores, np.arange(len(scores)))
