"""Finished comparisons in a file, so that an interrupted run goes on where it was.

A line is a JSON object: what one metric found on one range of segments. Its key is a digest of all that this depends
on: the recipe part of the signature, which names every model, table and file by its digest; the idf tables of the
systems; the texts of the range; and this library. So a line is used where it fits, whatever run asks for it, and
never where it does not. Each line has a checksum: one that was changed is not used, and computed again.

A run only adds lines, each in one write; what a kill left of the last one is cut off. Numbers are written with all
their digits, so a run that was interrupted gives the bytes of one that was not.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from nlgauge._version import __version__
from nlgauge.core.compare import (
    BySystem,
    Comparisons,
    PackedSystem,
    compare,
    pack_systems,
    unpack_systems,
    whole_groups,
)
from nlgauge.core.corpus import Corpus
from nlgauge.core.prepare import Prepared, segment_texts
from nlgauge.core.records import Document, schema_of
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, user_stacklevel
from nlgauge.io.storage import write_atomic

_LINE = re.compile(rb'\{"sum": "([0-9a-f]{64})", ("key": "([0-9a-f]{64})", "systems": .*)\}', re.DOTALL)


def compare_with_checkpoint(prepared: Prepared, segments: range, checkpoint: Checkpoint) -> Comparisons:
    """What `compare` gives for the segments; only what the checkpoint lacks is computed, and then kept there.

    Alignments are not kept: where they are asked for, everything is computed.
    """
    if prepared.options.alignments:
        return compare(prepared, segments)
    keys = _keys(prepared, segments)
    # Recipes that come to the same are computed once.
    missing = {key: number for number, key in reversed(keys.items()) if key not in checkpoint}
    if missing:
        made = compare(prepared, segments, only=set(missing.values()))
        checkpoint.add({key: made.found[number] for key, number in missing.items()}, offset=segments.start)
    return Comparisons(
        {number: prepared.metrics[number].signature.recipe_part for number in keys},
        {number: checkpoint.get(key, offset=segments.start) for number, key in keys.items()},
    )


class _Line(TypedDict):
    sum: str
    key: str
    systems: dict[str, PackedSystem]


class Checkpoint(Document):
    """Comparisons by key; kept in memory, and in a file where one is named.

    The first line of the file has its format, each other line what one metric found on one range of segments.
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
        """The comparisons of that key; `offset` is the number of their first segment."""
        return unpack_systems(json.loads(self._lines[key])["systems"], offset=offset)

    def add(self, found: Mapping[str, BySystem], *, offset: int = 0) -> None:
        """Keep comparisons by key, on disk before this returns."""
        for key, systems in found.items():
            body = json.dumps({"key": key, "systems": pack_systems(systems, offset=offset)})[1:-1].encode()
            self._lines[key] = b'{"sum": "%b", %b}' % (hashlib.sha256(body).hexdigest().encode(), body)
        if self._path is None or not found:
            return
        try:
            with open(self._path, "ab") as file:
                file.write(b"".join(self._lines[key] + b"\n" for key in found))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            msg = f"the state cannot be written to {str(self._path)!r}: {error.strerror}"
            raise InputError(msg) from error

    def _read(self, path: Path) -> None:
        try:
            data = path.read_bytes() if path.exists() else b""
            if _HEAD.startswith(data):  # new, or killed before its first line was whole
                path.write_bytes(_HEAD)
                return
            if not data.startswith(_HEAD):
                msg = f"{str(path)!r} is not a state file ({self.format}); name one, or a file that does not exist"
                raise FileFormatError(msg)
            end = data.rfind(b"\n") + 1
            if end < len(data):  # a line that was never finished
                os.truncate(path, end)
            damaged = self._take(data[:end].split(b"\n")[1:-1])
            if damaged:
                _warn_of_damage(path, damaged)
                write_atomic(path, _HEAD + b"".join(line + b"\n" for line in self._lines.values()))
        except OSError as error:
            msg = f"the state cannot be kept in {str(path)!r}: {error.strerror}"
            raise InputError(msg) from error

    def _take(self, lines: list[bytes]) -> list[int]:
        """Keep the lines that are as they were written; numbers of the others."""
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
        about = {name: schema[name] for name in ("$schema", "title", "description")}
        return about | {"anyOf": [head | {"additionalProperties": False}, schema_of(_Line)]}


_HEAD = json.dumps({"format": Checkpoint.format}).encode() + b"\n"


def _keys(prepared: Prepared, segments: range) -> dict[int, str]:
    """By number of the metric; the texts are hashed once for all metrics that look at the same ones."""
    digests: dict[tuple[int, range], str] = {}
    keys = {}
    for number, one in prepared.compared.items():
        wanted = whole_groups([one], segments)
        place = id(one.corpus), wanted
        if place not in digests:
            digests[place] = _texts_digest(one.corpus, wanted)
        what = [
            __version__,
            one.signature.recipe_part,
            {system: dict(own) for system, own in one.run_fields.items()},
            digests[place],
            segments.start - wanted.start,
            len(segments),
        ]
        keys[number] = hashlib.sha256(json.dumps(what).encode()).hexdigest()
    return keys


def _texts_digest(corpus: Corpus, segments: range) -> str:
    state = hashlib.sha256(json.dumps(list(corpus.systems)).encode())
    for index in segments:
        state.update(json.dumps(segment_texts([corpus], index)).encode() + b"\n")
    return state.hexdigest()


def _warn_of_damage(path: Path, lines: list[int]) -> None:
    many = f"lines {', '.join(map(str, lines))} were" if len(lines) > 1 else f"line {lines[0]} was"
    msg = f"{str(path)!r}: {many} changed after being written; dropped, and computed again"
    warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
