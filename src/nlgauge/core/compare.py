"""The second stage of a run: compare each hypothesis with its references, for any range of segments.

A range is computed in *windows*: ranges of segments whose vectors fit in memory together. The vectors of a window are
dropped before the next one starts, so memory does not grow with the corpus. A text that several systems, references
or metrics of a window share is encoded and represented once per role.

The values of a segment do not depend on the range, nor on earlier computations. (Metrics that process segments in
groups get whole groups, whatever the range.) Ranges can be computed at the same time, in threads, or in processes
that each run `prepare`.

The result are `Comparisons`: numbers by metric, system and segment. Those of several ranges can be joined in any
order. They convert to plain data and back (`to_dict`, `from_dict`) bit for bit, for a file or another machine. Each
metric is identified by the recipe part of its signature, so comparisons never get mixed up with another recipe.

A `Checkpoint` keeps finished comparisons in a file, so an interrupted run can continue. A line is a JSON object with
the comparisons of one metric on one range of segments. Its key is a digest of everything the values depend on: the
recipe part of the signature, which contains the digest of every model, table and file; the idf tables of the systems;
the texts of the range; and the version of this library. Any run with the same key can use the line. Each line has a
checksum; a damaged line is dropped and computed again. A run only appends lines, each in one write; an unfinished
last line is cut off. Numbers are written with all their digits, so an interrupted run gives the same bytes as an
uninterrupted one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypedDict

import numpy as np

from nlgauge._version import __version__
from nlgauge.core.corpus import Corpus
from nlgauge.core.engine import Block, BlockPairs, Place, Window, compare_windows, fill, layers_of, window_budget
from nlgauge.core.metric import Comparison
from nlgauge.core.prepare import Prepared, PreparedMetric, segment_texts
from nlgauge.core.result import Document, schema_of
from nlgauge.encoders.base import Encoder
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, user_stacklevel
from nlgauge.io.storage import write_atomic
from nlgauge.text.tokenizer import Tokens

#: By system and segment.
BySystem: TypeAlias = Mapping[str, Mapping[int, Comparison]]

_FORMAT = "nlgauge-comparisons/1"


class PackedSystem(TypedDict):
    """Comparisons of one metric and system as columns."""

    segments: list[int]
    values: list[list[list[float]]]
    """By segment and reference, a value per component."""
    zero_weight: list[int]
    unconverged: list[int]


class _PackedMetric(TypedDict):
    number: int
    recipe: str
    systems: dict[str, PackedSystem]


class _PackedComparisons(TypedDict):
    format: str
    metrics: list[_PackedMetric]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of some metrics on some segments."""

    record: ClassVar[type] = _PackedComparisons

    recipes: Mapping[int, str]
    """Recipe part of the signature, by number of the metric."""
    by_metric: Mapping[int, BySystem]

    @classmethod
    def join(cls, parts: Iterable[Comparisons]) -> Comparisons:
        """Join parts. Overlapping parts must have equal values."""
        recipes: dict[int, str] = {}
        by_metric: dict[int, dict[str, dict[int, Comparison]]] = {}
        for part in parts:
            for number, recipe in part.recipes.items():
                first = recipes.setdefault(number, recipe)
                if first != recipe:
                    msg = f"cannot join comparisons: metric {number} is {first!r} in one and {recipe!r} in another"
                    raise InputError(msg)
            for number, systems in part.by_metric.items():
                for system, segments in systems.items():
                    target = by_metric.setdefault(number, {}).setdefault(system, {})
                    for index in target.keys() & segments.keys():
                        left, right = target[index], segments[index]
                        flags = (left.zero_weight, left.unconverged) == (right.zero_weight, right.unconverged)
                        if not flags or not np.array_equal(left.values, right.values, equal_nan=True):
                            msg = (
                                "cannot join comparisons: they have different results for "
                                f"segment {index} of metric {number}"
                            )
                            raise InputError(msg)
                    target.update(segments)
        return cls(recipes, by_metric)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; alignments are large and left out."""
        return {
            "format": _FORMAT,
            "metrics": [
                {"number": number, "recipe": recipe, "systems": pack_systems(self.by_metric.get(number, {}))}
                for number, recipe in self.recipes.items()
            ],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Comparisons:
        """Read the result of `to_dict`."""
        if record.get("format") != _FORMAT:
            msg = f"format of comparisons must be {_FORMAT!r}, got {record.get('format')!r}"
            raise FileFormatError(msg)
        try:
            metrics = {int(metric["number"]): metric for metric in record["metrics"]}
            return cls(
                {number: str(metric["recipe"]) for number, metric in metrics.items()},
                {number: unpack_systems(metric["systems"]) for number, metric in metrics.items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"not a record of comparisons: {error!r}"
            raise FileFormatError(msg) from error


def pack_systems(systems: BySystem, *, offset: int = 0) -> dict[str, PackedSystem]:
    """Convert the comparisons of one metric to plain columns; `offset` is subtracted from segment numbers."""
    packed: dict[str, PackedSystem] = {}
    for system, segments in systems.items():
        indices = sorted(segments)
        packed[system] = {
            "segments": [index - offset for index in indices],
            "values": [segments[index].values.tolist() for index in indices],
            "zero_weight": [index - offset for index in indices if segments[index].zero_weight],
            "unconverged": [index - offset for index in indices if segments[index].unconverged],
        }
    return packed


def unpack_systems(packed: Mapping[str, Any], *, offset: int = 0) -> dict[str, dict[int, Comparison]]:
    """Read the result of `pack_systems`."""
    systems: dict[str, dict[int, Comparison]] = {}
    for system, columns in packed.items():
        zero, unconverged = set(columns["zero_weight"]), set(columns["unconverged"])
        systems[system] = {
            index + offset: Comparison(
                np.array(values, dtype=np.float64), zero_weight=index in zero, unconverged=index in unconverged
            )
            for index, values in zip(columns["segments"], columns["values"], strict=True)
        }
    return systems


def compare(prepared: Prepared, segments: range | None = None, *, only: Collection[int] | None = None) -> Comparisons:
    """Compare the segments (default: all) under every metric of vectors, or under the metrics numbered `only`."""
    segments = prepared.segments if segments is None else segments
    if segments.step != 1 or not 0 <= segments.start <= segments.stop <= len(prepared):
        msg = f"segments must be a range within 0 to {len(prepared)} in steps of 1, got {segments!r}"
        raise InputError(msg)
    by_metric: dict[int, dict[str, dict[int, Comparison]]] = {}

    def collect(number: int, pairs: BlockPairs) -> None:
        (row,) = pairs.block.rows
        by_metric[number][row.system or ""][row.number] = Comparison(
            pairs.values, pairs.alignments, bool(pairs.weightless), bool(pairs.unconverged)
        )

    for group in prepared.groups:
        chosen = {number: metric for number, metric in group.metrics.items() if only is None or number in only}
        if chosen:
            members = list(chosen.values())
            for number, metric in chosen.items():
                by_metric[number] = {system: {} for system in metric.corpus.systems}
            planned = [
                Window(distinct_texts(members, span), partial(_blocks_of_segments, span))
                for span in windows(members, segments, len(layers_of(members)))
            ]
            compare_windows(chosen, planned, prepared.options, collect)
    recipes = {number: prepared.metrics[number].signature.recipe_part for number in sorted(by_metric)}
    return Comparisons(recipes, by_metric)


def _blocks_of_segments(segments: range, prepared: PreparedMetric) -> Iterator[Block]:
    """One block per system output: the output with the references of its segment."""
    corpus = prepared.corpus
    for index in segments:
        columns = [Place(text, None, index) for text in corpus.references[index]]
        for system, hypotheses in corpus.systems.items():
            yield Block([Place(hypotheses[index], system, index)], columns)


def planned_encodings(prepared: Prepared) -> Iterator[tuple[Encoder, tuple[int, ...], list[Tokens]]]:
    """The distinct texts that `compare` will encode, by encoder and layers.

    A server uses it to encode the texts of several runs together before it compares them.
    """
    for group in prepared.groups:
        members = list(group.metrics.values())
        tokens = members[0].tokenized.tokens
        texts = distinct_texts(members, prepared.segments)
        yield group.encoder, layers_of(members), [tokens[text] for text in texts]


def windows(metrics: Sequence[PreparedMetric], segments: range, layers: int) -> Iterator[range]:
    """Split `segments` into ranges whose tokens fit in memory; each has at least one segment, or group."""
    tokens, budget = metrics[0].tokenized.tokens, window_budget(metrics[0].tokenized.encoder, layers)
    blocks = _cut(segments, group_size(metrics))
    for window in fill(blocks, partial(distinct_texts, metrics), lambda text: len(tokens[text]), budget):
        yield range(window[0].start, window[-1].stop)


def ranges(prepared: Prepared, outputs: int) -> Iterator[range]:
    """Split all segments into ranges of about `outputs` system outputs; scores do not depend on the split."""
    size = group_size(prepared.compared.values())
    step = max(1, outputs // len(prepared.corpus.systems) // size) * size
    return (range(start, min(start + step, len(prepared))) for start in range(0, len(prepared), step))


def distinct_texts(metrics: Sequence[PreparedMetric], segments: range) -> list[str]:
    """All texts that the segments need, each once; for metrics of groups, the texts of whole groups."""
    views: list[Corpus] = list({id(metric.corpus): metric.corpus for metric in metrics}.values())
    expanded = whole_groups(metrics, segments)
    stand_in = [""] if any(metric.zero_unknown for metric in metrics) else []
    texts = itertools.chain(stand_in, *[segment_texts(views, index) for index in expanded])
    return list(dict.fromkeys(texts))


def group_size(metrics: Iterable[PreparedMetric]) -> int:
    """Number of segments that are processed together."""
    return math.lcm(*(prepared.metric.group for prepared in metrics))


def whole_groups(metrics: Sequence[PreparedMetric], segments: range) -> range:
    """Extend the segments to whole groups."""
    size, count = group_size(metrics), len(metrics[0].corpus)
    return range(segments.start - segments.start % size, min(-(-segments.stop // size) * size, count))


def _cut(segments: range, size: int) -> Iterator[range]:
    """Split the segments at multiples of `size`."""
    start = segments.start
    while start < segments.stop:
        stop = min(start - start % size + size, segments.stop)
        yield range(start, stop)
        start = stop


_LINE = re.compile(rb'\{"sum": "([0-9a-f]{64})", ("key": "([0-9a-f]{64})", "systems": .*)\}', re.DOTALL)


def compare_with_checkpoint(prepared: Prepared, segments: range, checkpoint: Checkpoint) -> Comparisons:
    """Like `compare`, but compute only what the checkpoint does not contain, and add it there.

    Alignments are not stored: with `alignments`, everything is computed.
    """
    if prepared.options.alignments:
        return compare(prepared, segments)
    keys = _make_keys(prepared, segments)
    # Equal recipes are computed once.
    missing = {key: number for number, key in reversed(keys.items()) if key not in checkpoint}
    if missing:
        new = compare(prepared, segments, only=set(missing.values()))
        checkpoint.add({key: new.by_metric[number] for key, number in missing.items()}, offset=segments.start)
    return Comparisons(
        {number: prepared.metrics[number].signature.recipe_part for number in keys},
        {number: checkpoint.get(key, offset=segments.start) for number, key in keys.items()},
    )


class _Line(TypedDict):
    sum: str
    key: str
    systems: dict[str, PackedSystem]


class Checkpoint(Document):
    """Comparisons by key, in memory and optionally in a file.

    The first line of the file is its format. Each other line has the comparisons of one metric on one range of
    segments.
    """

    format = "nlgauge-checkpoint/1"
    record = _Line

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._lines: dict[str, bytes] = {}
        if self._path is not None:
            self._read(self._path)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    def get(self, key: str, *, offset: int = 0) -> BySystem:
        """The comparisons with that key; `offset` is the number of their first segment."""
        return unpack_systems(json.loads(self._lines[key])["systems"], offset=offset)

    def add(self, comparisons: Mapping[str, BySystem], *, offset: int = 0) -> None:
        """Add comparisons by key; they are on disk when this returns."""
        for key, systems in comparisons.items():
            body = json.dumps({"key": key, "systems": pack_systems(systems, offset=offset)})[1:-1].encode()
            self._lines[key] = b'{"sum": "%b", %b}' % (hashlib.sha256(body).hexdigest().encode(), body)
        if self._path is None or not comparisons:
            return
        try:
            with open(self._path, "ab") as file:
                file.write(b"".join(self._lines[key] + b"\n" for key in comparisons))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            msg = f"cannot write state file {str(self._path)!r}: {error.strerror}"
            raise InputError(msg) from error

    def _read(self, path: Path) -> None:
        try:
            data = path.read_bytes() if path.exists() else b""
            if _HEAD.startswith(data):  # new, or interrupted within its first line
                path.write_bytes(_HEAD)
                return
            if not data.startswith(_HEAD):
                msg = f"{str(path)!r} is not a state file ({self.format}); choose another file, or a new one"
                raise FileFormatError(msg)
            end = data.rfind(b"\n") + 1
            if end < len(data):  # an unfinished line
                os.truncate(path, end)
            damaged = self._load_lines(data[:end].split(b"\n")[1:-1])
            if damaged:
                lines = f"lines {', '.join(map(str, damaged))}" if len(damaged) > 1 else f"line {damaged[0]}"
                msg = f"{str(path)!r}: wrong checksum in {lines}; these results are dropped and computed again"
                warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
                write_atomic(path, _HEAD + b"".join(line + b"\n" for line in self._lines.values()))
        except OSError as error:
            msg = f"cannot use state file {str(path)!r}: {error.strerror}"
            raise InputError(msg) from error

    def _load_lines(self, lines: list[bytes]) -> list[int]:
        """Load the lines with a correct checksum; return the numbers of the others."""
        damaged = []
        for number, line in enumerate(lines, start=2):
            parts = _LINE.fullmatch(line)
            if parts is None or hashlib.sha256(parts[2]).hexdigest().encode() != parts[1]:
                damaged.append(number)
                continue
            self._lines[parts[3].decode()] = line
        return damaged

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of a line."""
        schema = super().schema()
        head = {"type": "object", "properties": {"format": schema["properties"]["format"]}, "required": ["format"]}
        header = {name: schema[name] for name in ("$schema", "title", "description")}
        return header | {"anyOf": [head | {"additionalProperties": False}, schema_of(_Line)]}


_HEAD = json.dumps({"format": Checkpoint.format}).encode() + b"\n"


def _make_keys(prepared: Prepared, segments: range) -> dict[int, str]:
    """Keys by number of the metric; metrics that read the same texts share their digest."""
    digests: dict[tuple[int, range], str] = {}
    keys = {}
    for number, metric in prepared.compared.items():
        expanded = whole_groups([metric], segments)
        texts = id(metric.corpus), expanded
        if texts not in digests:
            digests[texts] = _digest_texts(metric.corpus, expanded)
        dependencies = [
            __version__,
            metric.signature.recipe_part,
            {system: dict(own) for system, own in metric.run_fields.items()},
            digests[texts],
            segments.start - expanded.start,
            len(segments),
        ]
        keys[number] = hashlib.sha256(json.dumps(dependencies).encode()).hexdigest()
    return keys


def _digest_texts(corpus: Corpus, segments: range) -> str:
    state = hashlib.sha256(json.dumps(list(corpus.systems)).encode())
    for index in segments:
        state.update(json.dumps(segment_texts([corpus], index)).encode() + b"\n")
    return state.hexdigest()
