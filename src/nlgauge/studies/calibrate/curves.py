"""Frozen agreement curves, and what they say about a difference between two systems.

A curve belongs to one metric on one kind of data, such as outputs of WMT17 and WMT18. It holds only for scores of the
same recipe: the same options, model and layer. Precisions other than that of the fit are listed with the largest
change of a difference between two systems that was measured; the interval of a statement is widened by it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nlgauge.core.registry import metric_title
from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.result import fields_to_plain, from_fields
from nlgauge.core.signature import ENGINE_FIELDS, Signature
from nlgauge.encoders.base import DEFAULT_PRECISION, precision_name
from nlgauge.errors import NlgaugeError, SignatureError
from nlgauge.io.numbers import format_level, format_number
from nlgauge.io.storage import ContentError, FrozenTable, short_digest, text_digest
from nlgauge.metrics.parts.learned_weights import recipe_of_member
from nlgauge.stats.agreement_curve import AgreementFit, ReliabilityBin

#: Shipped curves by name, and their files.
_SHIPPED = {
    "wmt": ("wmt_text", "wmt_minilm", "wmt_mpnet", "wmt_muse"),
    "summeval": ("summeval",),
    "tac": ("tac",),
}

#: The choice that switches statements off.
NONE = "none"

#: A comparison needs at least this share of the segments that a system of the curve has.
_LEAST_SHARE = 0.1


class Band(NamedTuple):
    """A curve's interval on a grid of differences."""

    sizes: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class LeftOut(NamedTuple):
    """Agreement of pairs predicted by curves of the other groups."""

    groups: str
    """What is left out: `year`, `langpair` or `system`."""
    error: float
    """Calibration error: mean distance of predicted and observed agreement in ten bins."""
    brier: float
    """Brier score."""
    brier_of_p: float
    """Brier score of a curve over 1 - p of the pairs."""
    brier_of_log_p: float
    """Brier score of a curve over the logarithm of p."""
    bins: tuple[ReliabilityBin, ...]


class AgreementCurve(NamedTuple):
    """The curve of one metric."""

    metric: str
    """Its recipe as text, such as `bertscore:model=mpnet`."""
    fields: Mapping[str, str]
    """The signature fields that its scores depend on."""
    precision: str
    """Precision of the scores that it was fitted to."""
    tolerances: Mapping[str, float]
    """Largest change of a difference in another precision."""
    fit: AgreementFit
    """Ceiling, scale and shape."""
    pairs: int
    segments: int
    """Segments of a system, on average."""
    largest: float
    """The largest difference of the pairs; the curve says nothing about larger ones."""
    band: Band
    observed: tuple[ReliabilityBin, ...]
    """Pairs by the size of their difference (`predicted`: the mean size)."""
    left_out: tuple[LeftOut, ...]


class Origin(NamedTuple):
    """The data behind curves, and how they were fitted."""

    name: str
    """Such as `WMT17-18`."""
    domain: str
    """Such as `news translated into English`."""
    data: tuple[str, ...]
    langpairs: tuple[str, ...]
    criterion: str
    """Human rating."""
    references: int | None
    """Number of references used; None for all."""
    sample: int | None
    """Segments drawn for each language pair; None for all."""
    seed: int
    level: float
    """Confidence level of the band."""
    resampled: str
    """What was resampled for the band."""
    resamples: int


@dataclass(frozen=True)
class AgreementCurves(FrozenTable):
    """Curves of several metrics on the same data."""

    FORMAT: ClassVar[str] = "nlgauge-agreement-curves/1"
    KIND: ClassVar[str] = "file of agreement curves"
    COMMAND: ClassVar[str] = "nlgauge study calibrate"

    origin: Origin
    curves: tuple[AgreementCurve, ...]

    @cached_property
    def digest(self) -> str:
        """sha256 of the content."""
        return text_digest(json.dumps({"format": self.FORMAT} | self.content(), sort_keys=True))

    def content(self) -> dict[str, Any]:
        """The content of a file."""
        return fields_to_plain(self)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> AgreementCurves:
        """Curves from the content of a file; the numbers that statements use are checked."""
        try:
            curves: AgreementCurves = from_fields(cls, content)
        except (TypeError, ValueError, AttributeError, NlgaugeError) as error:
            raise ContentError(str(error)) from error
        for curve in curves.curves:
            _check_curve(curve)
        return curves

    def find(self, signature: str | Signature) -> AgreementCurve | None:
        """The curve of a score's recipe; None if there is none."""
        fields, precision = recipe_fields(signature)
        for curve in self.curves:
            if fields == dict(curve.fields) and (precision == curve.precision or precision in curve.tolerances):
                return curve
        return None


def _check_curve(curve: AgreementCurve) -> None:
    grid = curve.band
    numbers = [*curve.fit, curve.largest, *curve.tolerances.values(), *grid.sizes, *grid.low, *grid.high]
    if not all(map(math.isfinite, numbers)):
        msg = f"the numbers of {curve.metric!r} must be finite"
        raise ContentError(msg)
    if not (0 <= curve.fit.ceiling <= 1 and curve.fit.scale > 0 and curve.fit.shape > 0 and curve.largest > 0):
        msg = f"{curve.metric!r} needs a ceiling from 0 to 1, and scale, shape and largest difference above 0"
        raise ContentError(msg)
    if not len(grid.sizes) == len(grid.low) == len(grid.high) > 1 or list(grid.sizes) != sorted(grid.sizes):
        msg = f"the band of {curve.metric!r} must have equally many sizes, in ascending order, and ends"
        raise ContentError(msg)


def recipe_fields(signature: str | Signature) -> tuple[dict[str, str], str]:
    """The signature fields that a difference depends on, with the number of references; and the precision."""
    parsed = Signature.parse(signature) if isinstance(signature, str) else signature
    fields = recipe_of_member(parsed)
    fields.pop("precision", None)
    precisions = {precision_name(parsed.recipe[key]) for key in ENGINE_FIELDS if key in parsed.recipe}
    fields["metric"] = parsed.metric
    fields["refs"] = parsed.recipe.get("refs", "")
    return fields, "+".join(sorted(precisions)) or DEFAULT_PRECISION


@dataclass(frozen=True)
class HumanAgreement:
    """How often human raters preferred the same system at a difference of this size."""

    metric: str
    title: str
    """The metric as papers print it."""
    first: str
    second: str
    difference: float
    """Size of the difference of the scores."""
    share: float
    """Share of pairs of systems in which raters preferred the same one."""
    low: float
    high: float
    level: float
    raters: str
    """Whose raters they were."""
    domain: str
    pairs: int
    """Pairs of systems behind the curve."""
    largest: float
    """The largest difference among them."""
    curve: str
    """First digits of the curves' digest."""

    sentence: str
    """The statement, with its interval and whose raters they were."""

    @property
    def beyond(self) -> bool:
        """Whether the difference is larger than that of any pair; then the share is that of the largest one."""
        return self.difference > self.largest


def _sentence(statement: HumanAgreement, decimals: int) -> str:
    size = "a difference this large"
    if statement.beyond:
        largest = format_number(statement.largest, decimals)
        size = f"a difference of {largest} (the largest of {statement.pairs} pairs)"
    who = f"{statement.raters} system pairs" + (f" ({statement.domain})" if statement.domain else "")
    low, high = (f"{100 * end:.0f}" for end in (statement.low, statement.high))
    return (
        f"{statement.title} differs by {format_number(statement.difference, decimals)}; among {who} with {size}, "
        f"human raters preferred the same system in {100 * statement.share:.0f} % "
        f"({format_level(statement.level)} interval {low}-{high} %)."
    )


def human_agreement(
    curves: Sequence[AgreementCurves],
    *,
    metric: str,
    signature: str,
    first: str,
    second: str,
    difference: float,
    segments: int,
    decimals: int = 4,
) -> HumanAgreement | None:
    """The statement about a difference; None if no curve fits the recipe, or if there are too few segments.

    A comparison needs a tenth of the segments that a system of the curve has: the difference of fewer is mostly
    chance, which the curve does not contain.
    """
    match = find_curve(curves, signature)
    if match is None or segments < _LEAST_SHARE * match[1].segments:
        return None
    file, curve = match
    size = abs(difference)
    _, precision = recipe_fields(signature)
    tolerance = 0.0 if precision == curve.precision else curve.tolerances[precision]
    share = float(curve.fit.predict(min(size, curve.largest)))
    low, high = (
        float(np.interp(min(max(0.0, size + change), curve.largest), curve.band.sizes, ends))
        for change, ends in ((-tolerance, curve.band.low), (tolerance, curve.band.high))
    )
    statement = HumanAgreement(
        metric=metric,
        title=metric_title(metric, signature),
        first=first,
        second=second,
        difference=size,
        share=share,
        low=min(low, share),
        high=max(high, share),
        level=file.origin.level,
        raters=file.origin.name,
        domain=file.origin.domain,
        pairs=curve.pairs,
        largest=curve.largest,
        curve=short_digest(file.digest),
        sentence="",
    )
    return replace(statement, sentence=_sentence(statement, decimals))


def find_curve(
    curves: Sequence[AgreementCurves], signature: str | Signature
) -> tuple[AgreementCurves, AgreementCurve] | None:
    """The first curve of a score's recipe, with its file."""
    if not signature:
        return None
    try:
        parsed = Signature.parse(signature) if isinstance(signature, str) else signature
    except SignatureError:  # scores of another tool
        return None
    for file in curves:
        curve = file.find(parsed)
        if curve is not None:
            return file, curve
    return None


def load_curves(choice: str) -> tuple[AgreementCurves, ...]:
    """Shipped curves by name (`wmt`, `summeval`, `tac`), those of a file, or none."""
    if choice == NONE:
        return ()
    if choice in _SHIPPED:
        return _load_shipped(choice)
    return (AgreementCurves.load(Path(choice)),)


@cache
def _load_shipped(name: str) -> tuple[AgreementCurves, ...]:
    folder = files("nlgauge.studies.calibrate") / "shipped"
    texts = [(folder / f"{part}.json").read_text(encoding="utf-8") for part in _SHIPPED[name]]
    return tuple(AgreementCurves.from_content(json.loads(text)) for text in texts)


class CurvesChoice(Resource):
    """Agreement curves for statements about human raters."""

    def __init__(self) -> None:
        super().__init__(*_SHIPPED, NONE, file="a file made by 'nlgauge study calibrate'")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The curves; comparisons load them without a context."""
        return Loaded(value, load_curves(value))
