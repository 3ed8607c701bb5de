"""The data behind a published table: which columns are asked for, and what of it is here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nlgauge.data import JudgementTable, RankedPairs, WmtPackage, find_data_card, load, load_wmt_rankings, locate
from nlgauge.data.table import select_known
from nlgauge.encoders import Encoder, load_encoder
from nlgauge.errors import FileFormatError, InputError, MissingExtraError, ModelError, NlgaugeError, RecipeError
from nlgauge.meta.question import Question
from nlgauge.meta.relative_ranking import ranked_rows
from nlgauge.models.catalog import find_card
from nlgauge.models.fetch import cached_card
from nlgauge.models.hub import cached_snapshot
from nlgauge.published.table import Column, Mean, PaperTable
from nlgauge.recipes.run_options import RunOptions

__all__ = [
    "NO_MODEL",
    "DataSlice",
    "JudgedRows",
    "data_at",
    "find_judged",
    "find_model",
    "kept_columns",
    "models_at",
    "or_missing",
    "slice_of",
]

#: The name of a model that computes only what needs none: lexical metrics and released scores.
NO_MODEL = "none"

#: Relative rankings of a WMT package.
_RANKINGS = "RR-seglevel.csv"


class DataSlice(NamedTuple):
    """Columns that are answered by the same rows of a data set."""

    data: str
    options: tuple[tuple[str, Any], ...]
    langpair: str
    """Empty: all of its language pairs."""
    ranked: bool


class JudgedRows(NamedTuple):
    """Rows to score, with the ranked pairs where people's side is these."""

    table: JudgementTable
    pairs: RankedPairs | None


def slice_of(question: Question, langpair: str, *, data: str = "") -> DataSlice:
    """The rows that answer a question for a language pair, or those of another data set that stand for them."""
    return DataSlice(data or question.data, () if data else question.options, langpair, question.ranked)


@contextmanager
def or_missing(what: str, missing: dict[str, None]) -> Iterator[None]:
    """Enter what cannot be computed as missing, with the reason, so that the rest of a table stays.

    A broken file stays an error: what is read from it cannot be trusted elsewhere either.
    """
    try:
        yield
    except FileFormatError:
        raise
    except NlgaugeError as error:
        missing[f"{what}: {error}"] = None


def data_at(table: PaperTable, at: str | os.PathLike[str] | None) -> dict[str, bool]:
    """Whether each data set of a published table lies under a folder, with what of it the table needs.

    That is a language pair of its columns, and rankings where all depends on them.
    """
    asked = [column.question for column in table.questions if column.question is not None]
    unranked = {row.data for row in table.rows if row.data} | {one.data for one in asked if not one.ranked}
    ranked = {one.data for one in asked if one.ranked} - unranked
    found = {}
    for name in table.data:
        place = None if at is None else locate(find_data_card(name), at)
        found[name] = (
            place is not None
            and (name not in ranked or (place / _RANKINGS).is_file())
            and _has_outputs(name, place, [one.langpair for one in table.questions if one.question in asked])
        )
    return found


def _has_outputs(name: str, place: Path, langpairs: Iterable[str]) -> bool:
    """Whether a package of WMT has outputs of one of the language pairs; other data sets have all of theirs."""
    if not re.fullmatch(r"wmt1[789]", name):
        return True
    try:
        return not set(langpairs).isdisjoint(WmtPackage(place, _year(name)).outputs)
    except InputError:
        return False


def model_at(name: str) -> bool:
    """Whether a model can be had without the network: one of nlgauge's that was fetched, or a folder of the hub's."""
    card = find_card(name)
    if card is not None:
        return cached_card(card) is not None
    return cached_snapshot(name) is not None


def models_at(table: PaperTable) -> dict[str, bool]:
    """The models in print and the one that stands in for them, with whether each is here; empty if none is needed."""
    names = {model.name: model.published.partition("huggingface.co/")[2] or model.name for model in table.models}
    if not names:
        return {}
    return {name: model_at(place) for name, place in names.items()} | {
        table.default_model: model_at(table.default_model)
    }


def kept_columns(
    table: PaperTable,
    *,
    langpairs: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
    levels: str | Iterable[str] | None = None,
) -> tuple[Column | Mean, ...]:
    """The columns of these language pairs, data sets and levels, with the averages that lack none of theirs."""
    asked = [column.question for column in table.questions if column.question is not None]
    pairs = select_known(langpairs, table.langpairs, f"{table.id}: language pair")
    sets = select_known(data, table.data, f"{table.id}: data set")
    wanted = select_known(levels, list(dict.fromkeys(one.level for one in asked)), f"{table.id}: level")
    kept = {
        column.label
        for column in table.questions
        if column.langpair in pairs
        and (column.question is None or (column.question.data in sets and column.question.level in wanted))
    }
    # An average of fewer columns than in print would be another number under the same name.
    for column in table.columns:
        if isinstance(column, Mean) and set(column.over) <= kept:
            kept.add(column.label)  # print also has averages of averages
    return tuple(column for column in table.columns if column.label in kept)


def find_judged(part: DataSlice, at: str | os.PathLike[str] | None, missing: dict[str, None]) -> JudgedRows | None:
    """The rows of a part; None where they are not here, with an entry of what is missing."""
    card = find_data_card(part.data)
    place = None if at is None else locate(card, at)
    if place is None:
        where = "no folder of data was given (--at PATH)" if at is None else f"not under {os.fspath(at)!r}"
        missing[f"data set {card.name}: {where}; published at {card.published}"] = None
        return None
    try:
        # Rankings first: they are small, and without them the texts are of no use.
        pairs = load_wmt_rankings(place, year=_year(part.data), langpairs=part.langpair) if part.ranked else None
        table = load(part.data, place, langpairs=part.langpair or None, **dict(part.options))
    except FileFormatError:
        raise
    except (InputError, RecipeError, MissingExtraError) as error:
        what = str(error).removeprefix(f"{part.data}: ")
        missing[f"{part.data}: {what}; published at {card.published}"] = None
        return None
    return JudgedRows(table, None) if pairs is None else JudgedRows(ranked_rows(table, pairs), pairs)


def find_model(table: PaperTable, model: str, options: RunOptions, missing: dict[str, None]) -> Encoder | None:
    """The model; None where it is not here, with entries of what is missing and of the published ones."""
    try:
        return load_encoder(model, **options.loading)
    except (ModelError, MissingExtraError) as error:
        missing[f"model {model!r}: {error}"] = None
        for one in table.models:
            missing[f"published model {one.name}: {one.published}"] = None
        return None


def _year(data: str) -> int:
    return 2000 + int(data.removeprefix("wmt"))
