"""How long outputs are next to their references: an analysis that a package adds to nlgauge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nlgauge.plugin import DOCUMENTS, Choice, Operation, OptionSet, Result, Table, make_corpus, option


@dataclass(frozen=True, kw_only=True)
class LengthOptions(OptionSet):
    """How a text is measured."""

    called = "length"

    unit: str = option("words", Choice("words", "characters"), help="unit of length")


class SystemLength(NamedTuple):
    """The length of one system's outputs."""

    system: str
    mean: float
    ratio: float
    """Mean length divided by that of the references; nan without references."""


@dataclass(frozen=True)
class Lengths(Result):
    """Mean lengths of outputs by system."""

    format = "nlgauge-lengths-1"
    decimals = 2

    unit: str
    systems: tuple[SystemLength, ...]

    def tables(self, form: str = "text") -> list[Table]:
        rows = [[row.system, row.mean, None if row.ratio != row.ratio else row.ratio] for row in self.systems]
        return [Table(["system", self.unit, "ratio"], rows)]


def lengths(
    systems: Mapping[str, Iterable[str]], refs: Sequence[str | Sequence[str]] | None = None, **options: Any
) -> Lengths:
    """Measure how long the outputs of systems are, next to their references.

    >>> lengths({"a": ["The cat sat down."]}, ["The cat sat."]).systems[0].mean
    4.0
    """
    settings = LengthOptions.of(options)
    corpus = make_corpus(systems, refs, alone=True)
    expected = _mean([text for group in corpus.references for text in group], settings.unit)
    means = {name: _mean(texts, settings.unit) for name, texts in corpus.systems.items()}
    rows = tuple(
        SystemLength(name, mean, mean / expected if expected else float("nan")) for name, mean in means.items()
    )
    return Lengths(settings.unit, rows)


def _mean(texts: Iterable[str], unit: str) -> float:
    counts = [len(text.split()) if unit == "words" else len(text) for text in texts]
    return sum(counts) / len(counts) if counts else float("nan")


OPERATION = Operation(
    name="lengths",
    function=lengths,
    inputs=DOCUMENTS,
    options=(LengthOptions,),
    result=Lengths,
    metric="none",
    help="measure how long outputs are next to their references",
    example="nlgauge lengths system.txt --refs reference.txt --unit characters",
)
