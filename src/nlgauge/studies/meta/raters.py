"""Agreement between human raters, with bootstrap intervals over items.

    result = rater_agreement({"anna": [1, 2, 3, None], "ben": [1, 2, 2, 4]}, scale="ordinal")

Measures: percent agreement, Cohen's kappa (of more than two raters the mean over their pairs, Light's kappa), Fleiss'
kappa and Krippendorff's alpha. `scale` is that of alpha, `weights` are those of Cohen's kappa. A measure that the
ratings do not allow has a reason instead of a value.

Items are resampled, with all their ratings. A resample in which all ratings are equal (for Light's kappa those of a
pair of raters) has no value; it is left out, and counted in a note.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int, Many, Text
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.numbers import format_count, format_level
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.io.tables import check_header, parse_table, read_bytes, suffix_format
from nlgauge.stats.numeric import LEAST_RESAMPLES, Vector
from nlgauge.stats.raters import (
    Codes,
    Estimates,
    Scale,
    Weights,
    cohen_kappa,
    encode_ratings,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from nlgauge.stats.resampling import bootstrap_counts, percentile_bounds

#: Ratings by rater; None and nan are missing.
Ratings: TypeAlias = Mapping[str, Sequence[Any]] | Mapping[str, NDArray[Any]]

#: Most categories for which kappas are computed; with more, ratings are measurements, for which alpha is made.
MOST_CATEGORIES = 500


@dataclass(frozen=True, kw_only=True)
class RaterOptions(OptionSet):
    """How ratings are compared."""

    called: ClassVar[str] = "agreement of raters"

    scale: Scale = option("nominal", Choice(*get_args(Scale)), help="scale of Krippendorff's alpha")
    weights: Weights = option(
        "none",
        Choice(*get_args(Weights)),
        help="weights of disagreements in Cohen's kappa, by distance",
    )
    order: tuple[str, ...] = option(
        (), Many(Text("a rating")), help="ratings that are words, from lowest to highest", metavar="RATING"
    )
    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(LEAST_RESAMPLES), help="number of resamples", hidden=True, limit=10_000)
    seed: int = seed_option()


class AgreementMeasure(NamedTuple):
    """A measure of agreement with its interval; nan, with a reason, where the ratings do not allow it."""

    name: str
    value: float
    low: float
    high: float
    observed: float
    """Observed disagreement."""
    expected: float
    """Disagreement expected by chance; nan for percent agreement and for means over pairs of raters."""
    items: int
    reason: str = ""


class RaterPair(NamedTuple):
    """Agreement of two raters on the items that both rated."""

    first: str
    second: str
    items: int
    percent: float
    kappa: float


@dataclass(frozen=True)
class RaterAgreement(Result):
    """Agreement of raters, overall and of each pair."""

    format = "nlgauge-raters-1"
    decimals = 3
    line = LINE

    raters: tuple[str, ...]
    items: int
    ratings: int
    categories: int
    measures: tuple[AgreementMeasure, ...]
    pairs: tuple[RaterPair, ...]
    options: RaterOptions
    notes: tuple[str, ...] = ()

    def measure(self, name: str) -> AgreementMeasure:
        """The measure of that name: percent agreement, Cohen's kappa, Fleiss' kappa or Krippendorff's alpha."""
        for measure in self.measures:
            if measure.name == name:
                return measure
        msg = f"no measure {name!r}; there are {', '.join(measure.name for measure in self.measures)}"
        raise RecipeError(msg)

    def tables(self, form: str = "text") -> list[Table]:
        """A row per measure; then, with three or more raters, a row per pair of raters."""
        columns = ["measure", "value", "low", "high", "observed", "expected", "items"]
        rows: list[list[Cell]] = [
            [measure.name, *map(_defined, measure[1:6]), measure.items] for measure in self.measures
        ]
        options = self.options
        how = f"alpha: {options.scale} scale; Cohen's kappa: {_WEIGHTED[options.weights]}"
        notes = [
            f"{len(self.raters)} raters, {format_count(self.items, 'item')}, {format_count(self.ratings, 'rating')}, "
            f"{self.categories} different values; {how}",
            f"low, high: {format_level(options.level)} bootstrap interval, {options.resamples} resamples of items, "
            f"seed {options.seed}; observed, expected: disagreement",
            *(f"{measure.name}: {measure.reason}" for measure in self.measures if measure.reason),
            *self.notes,
        ]
        tables = [Table(columns, rows, "agreement of raters", notes)]
        if len(self.raters) > 2 and form not in ("tsv", "csv"):
            pairs: list[list[Cell]] = [
                [pair.first, pair.second, pair.items, _defined(pair.percent), _defined(pair.kappa)]
                for pair in self.pairs
            ]
            tables.append(Table(["rater", "rater", "items", "percent", "kappa"], pairs, "pairs of raters"))
        return tables


_WEIGHTED = {"none": "unweighted", "linear": "linear weights", "quadratic": "quadratic weights"}


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def load_ratings(
    path: str | os.PathLike[str], *, columns: Sequence[str] = (), missing: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Read a table (.tsv, .csv or .jsonl) with a column per rater and a row per item.

    `columns` are the raters, by default all columns. Empty cells and the words `missing` are missing ratings. If all
    ratings are numbers they are read as numbers.
    """
    name = os.fspath(path)
    form = suffix_format(name)
    header, rows = parse_table(read_bytes(name), name, "tsv" if form == "text" else form)
    wanted = list(columns or header)
    check_header(header, wanted, name)
    absent = {"", *missing}
    ratings: dict[str, list[Any]] = {column: [] for column in wanted}
    for row in rows:
        for column in wanted:
            value = row.values.get(column)
            if isinstance(value, (list, dict, bool)):
                msg = f"{name}, {row.where}, column {column!r}: expected a number or a text, got {value!r}"
                raise FileFormatError(msg)
            text = "" if value is None else str(value).strip()
            ratings[column].append(None if text in absent else text)
    numbers = {text: _number(text) for cells in ratings.values() for text in cells if text is not None}
    if None in numbers.values():
        return ratings
    return {column: [None if text is None else numbers[text] for text in cells] for column, cells in ratings.items()}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def rater_agreement(ratings: Ratings, **options: Any) -> RaterAgreement:
    """Measure the agreement of raters; options are `RaterOptions`.

    `ratings` has a list per rater, all for the same items; None and nan are missing. They are numbers or words; words
    need `order=` for weights and for the ordinal and the interval scale, on which they are then 1, 2, 3 ...
    """
    settings = RaterOptions.of(options)
    columns = _columns(ratings)
    categories, values = _categories(columns, settings)
    codes = encode_ratings(list(columns.values()), categories)
    codes = codes[(codes >= 0).sum(axis=1) >= 2]
    if len(codes) < 2:
        msg = f"agreement needs at least 2 items with 2 ratings, got {len(codes)}"
        raise InputError(msg)
    draws = [np.ones((1, len(codes)))]
    draws += [part.astype(np.float64) for part in bootstrap_counts(len(codes), settings.resamples, settings.seed)]
    study = _Study(tuple(columns), codes, values, np.vstack(draws), settings)
    measures = tuple(study.measures())
    notes = [*_identifiers(columns), *study.notes]
    items = len(next(iter(columns.values())))
    if dropped := items - len(codes):
        notes.append(f"{format_count(dropped, 'item')} with fewer than two ratings left out")
    return RaterAgreement(
        tuple(columns),
        len(codes),
        int((codes >= 0).sum()),
        len(categories),
        measures,
        tuple(study.pairs),
        settings,
        tuple(notes),
    )


def _columns(ratings: Ratings) -> dict[str, list[Any]]:
    columns = {
        str(name): [None if value is None or value != value else value for value in list(cells)]
        for name, cells in ratings.items()
    }
    if len(columns) < 2:
        msg = f"agreement needs a column for each of at least two raters, got {len(columns)}: {', '.join(columns)!r}"
        raise InputError(msg)
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        msg = f"each rater needs one rating per item, None where it is missing; {counts}"
        raise InputError(msg)
    return columns


def _identifiers(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Notes on columns that look like names of items: no rating occurs twice, though others do in other columns."""
    given = {name: [value for value in cells if value is not None] for name, cells in columns.items()}
    unique = [name for name, cells in given.items() if len(cells) > 2 and len(set(cells)) == len(cells)]
    if len(unique) == len(columns):
        return []
    return [f"{name} has no rating twice; if it is not a rater, leave the column out (--raters)" for name in unique]


def _categories(columns: Mapping[str, Sequence[Any]], settings: RaterOptions) -> tuple[list[Any], Vector]:
    """The categories, lowest first, and their values; without an order and numbers, these are positions."""
    present = {value for cells in columns.values() for value in cells if value is not None}
    if settings.order:
        unknown = sorted(word for word in map(_word, present) if word not in settings.order)
        if unknown or len(set(settings.order)) < len(settings.order):
            problem = f"{unknown[0]!r} is missing" if unknown else "a rating occurs twice"
            msg = f"order must name each rating once, from lowest to highest: {problem} in {' '.join(settings.order)}"
            raise RecipeError(msg)
        named = {_word(value): value for value in present}
        categories = [named.get(word, word) for word in settings.order]
        return categories, np.arange(1.0, len(categories) + 1)
    words = [value for value in present if isinstance(value, (str, bytes))]
    if words:
        if settings.scale != "nominal" or settings.weights != "none":
            what = f"scale {settings.scale!r}" if settings.scale != "nominal" else f"weights {settings.weights!r}"
            msg = f"{what} needs ratings that are numbers, or their order from lowest to highest; got {words[0]!r}"
            raise RecipeError(msg)
        categories = sorted(present, key=str)
        return categories, np.arange(1.0, len(categories) + 1)
    categories = sorted(present)
    return categories, np.array(categories, dtype=np.float64)


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


class _Study:
    """Measures of encoded ratings; the first draw counts each item once."""

    def __init__(
        self, raters: tuple[str, ...], codes: Codes, values: Vector, draws: Vector, settings: RaterOptions
    ) -> None:
        self.raters, self.codes, self.values, self.draws, self.settings = raters, codes, values, draws, settings
        self.notes: list[str] = []
        self.pairs: list[RaterPair] = []

    def measures(self) -> Iterator[AgreementMeasure]:
        """All measures."""
        yield self._measure("percent agreement", percent_agreement(self.codes, self.draws))
        crowded = len(self.values) > MOST_CATEGORIES
        many = f"more than {MOST_CATEGORIES} different ratings; alpha on the interval scale suits measurements"
        name = "Cohen's kappa" if len(self.raters) == 2 else "Light's kappa"
        yield _undefined(name, many) if crowded else self._measure(name, self._cohen())
        totals = (self.codes >= 0).sum(axis=1)
        if crowded:
            yield _undefined("Fleiss' kappa", many)
        elif np.ptp(totals):
            reason = f"items have {totals.min()} to {totals.max()} ratings, it needs the same number for each"
            yield _undefined("Fleiss' kappa", f"{reason}; alpha allows for missing ratings")
        else:
            yield self._measure("Fleiss' kappa", fleiss_kappa(self.codes, self.draws))
        estimates = krippendorff_alpha(self.codes, self.values, self.draws, scale=self.settings.scale)
        yield self._measure("Krippendorff's alpha", estimates)

    def _cohen(self) -> Estimates:
        """Cohen's kappa; of several raters the mean over their pairs, without those that share no item."""
        parts = []
        for i, j in combinations(range(len(self.raters)), 2):
            both = (self.codes[:, i] >= 0) & (self.codes[:, j] >= 0)
            first, second = self.codes[both, i], self.codes[both, j]
            names = self.raters[i], self.raters[j]
            if not both.any():
                self.pairs.append(RaterPair(*names, 0, math.nan, math.nan))
                self.notes.append(f"{names[0]} and {names[1]} rated no item together")
                continue
            weights = self.settings.weights
            part = cohen_kappa(first, second, self.values, self.draws[:, both], weights=weights)
            self.pairs.append(RaterPair(*names, first.size, float((first == second).mean()), float(part.value[0])))
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        mean = np.mean([part.value for part in parts], axis=0)
        observed = np.mean([part.observed for part in parts], axis=0)
        return Estimates(mean, observed, np.full(mean.shape, np.nan))

    def _measure(self, name: str, estimates: Estimates) -> AgreementMeasure:
        value, observed, expected = (float(part[0]) for part in estimates)
        if math.isnan(value):
            whose = "" if len(self.raters) == 2 or not name.startswith("Light") else " of a pair of raters"
            reason = f"all ratings{whose} are equal, so no disagreement is expected"
            return AgreementMeasure(name, value, math.nan, math.nan, observed, expected, len(self.codes), reason)
        drawn = estimates.value[1:]
        defined = drawn[np.isfinite(drawn)]
        if left_out := drawn.size - defined.size:
            self.notes.append(f"{name}: {format_count(left_out, 'resample')} without a value left out")
        low, high = percentile_bounds(defined[:, None], level=self.settings.level, units=len(self.codes))
        return AgreementMeasure(name, value, float(low[0]), float(high[0]), observed, expected, len(self.codes))


def _undefined(name: str, reason: str) -> AgreementMeasure:
    return AgreementMeasure(name, math.nan, math.nan, math.nan, math.nan, math.nan, 0, reason)
