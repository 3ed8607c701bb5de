"""What the second stage of a run found: numbers by metric, system and segment.

Comparisons of several ranges can be joined in any order. They become plain data and back (`to_dict`, `from_dict`),
bit for bit, so that a file, a service or another machine can carry them. Each metric is named by the recipe part of
its signature, so that comparisons never meet the wrong recipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from nlgauge.clouds.alignments import Alignment, Flow, alignment_from_dict
from nlgauge.errors import FileFormatError, InputError
from nlgauge.recipes.results import Comparison

__all__ = ["BySystem", "Comparisons", "pack_systems", "unpack_systems"]

#: By system and segment.
BySystem: TypeAlias = Mapping[str, Mapping[int, Comparison]]

_FORMAT = "nlgauge-comparisons/1"


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of some metrics on some segments."""

    recipes: Mapping[int, str]
    """Recipe part of the signature, by number of the metric."""
    found: Mapping[int, BySystem]

    @classmethod
    def join(cls, parts: Iterable[Comparisons]) -> Comparisons:
        """All in one. Where parts overlap they must agree."""
        recipes: dict[int, str] = {}
        found: dict[int, dict[str, dict[int, Comparison]]] = {}
        for part in parts:
            for number, recipe in part.recipes.items():
                known = recipes.setdefault(number, recipe)
                if known != recipe:
                    msg = f"metric {number} must be one recipe in all comparisons, got {known!r} and {recipe!r}"
                    raise InputError(msg)
            for number, systems in part.found.items():
                for system, segments in systems.items():
                    target = found.setdefault(number, {}).setdefault(system, {})
                    for index in target.keys() & segments.keys():
                        if not _same(target[index], segments[index]):
                            msg = f"segment {index} of metric {number} was compared twice, with different results"
                            raise InputError(msg)
                    target.update(segments)
        return cls(recipes, found)

    def to_dict(self, *, alignments: bool = False) -> dict[str, Any]:
        """Plain values, ready for JSON; alignments are large and left out unless asked for."""
        return {
            "format": _FORMAT,
            "metrics": [
                {
                    "number": number,
                    "recipe": recipe,
                    "systems": pack_systems(self.found.get(number, {}), alignments=alignments),
                }
                for number, recipe in self.recipes.items()
            ],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Comparisons:
        """`to_dict` backwards."""
        if record.get("format") != _FORMAT:
            msg = f"format of comparisons must be {_FORMAT!r}, got {record.get('format')!r}"
            raise FileFormatError(msg)
        try:
            metrics = {int(one["number"]): one for one in record["metrics"]}
            return cls(
                {number: str(one["recipe"]) for number, one in metrics.items()},
                {number: unpack_systems(one["systems"]) for number, one in metrics.items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"the record is not one of comparisons: {error!r}"
            raise FileFormatError(msg) from error


def pack_systems(systems: BySystem, *, alignments: bool = False, offset: int = 0) -> dict[str, Any]:
    """Comparisons of one metric as plain columns; `offset` is taken off the segments' numbers."""
    packed = {}
    for system, segments in systems.items():
        indices = sorted(segments)
        columns: dict[str, Any] = {
            "segments": [index - offset for index in indices],
            "values": [segments[index].values.tolist() for index in indices],
            "zero_weight": [index - offset for index in indices if segments[index].zero_weight],
            "unconverged": [index - offset for index in indices if segments[index].unconverged],
        }
        if alignments:
            columns["alignments"] = [_plain_alignments(segments[index]) for index in indices]
        packed[system] = columns
    return packed


def unpack_systems(packed: Mapping[str, Any], *, offset: int = 0) -> dict[str, dict[int, Comparison]]:
    """`pack_systems` backwards."""
    found: dict[str, dict[int, Comparison]] = {}
    for system, columns in packed.items():
        zero, unconverged = set(columns["zero_weight"]), set(columns["unconverged"])
        kept = columns.get("alignments") or [None] * len(columns["segments"])
        found[system] = {
            index + offset: Comparison(
                np.array(values, dtype=np.float64), _alignments(records), index in zero, index in unconverged
            )
            for index, values, records in zip(columns["segments"], columns["values"], kept, strict=True)
        }
    return found


def _plain_alignments(comparison: Comparison) -> list[dict[str, Any] | None] | None:
    if comparison.alignments is None:
        return None
    return [None if one is None else one.to_dict() for one in comparison.alignments]


def _alignments(records: Iterable[Mapping[str, Any] | None] | None) -> tuple[Alignment | Flow | None, ...] | None:
    return None if records is None else tuple(alignment_from_dict(one) for one in records)


def _same(one: Comparison, other: Comparison) -> bool:
    flags = (one.zero_weight, one.unconverged) == (other.zero_weight, other.unconverged)
    return flags and np.array_equal(one.values, other.values, equal_nan=True)
