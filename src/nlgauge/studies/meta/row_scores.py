"""Scores of the rows of a judgement table: views of `Score` that map its segments to rows.

    RowScores         the scores of one metric on the rows of a table
    ScoredJudgements  a judgement table with the scores of its rows by several metrics

`score_judgements` computes them. Other scores are read from files (`imported_rows`), are part of the data
(`released_rows`), or are sentinels, which ignore quality (`sentinels_of`; Perrella et al. 2024, arXiv 2408.13831):
the length of an output, its overlap with the source, a random number. An evaluation in which a sentinel does well
does not measure quality, so every table shows them.

Human scores are higher for better outputs. `oriented` negates distances once, so correlations need no change of sign
later.

A file of another tool identifies outputs by columns `system` and `segment` (and `langpair`), or it has one row for
each row of the table, in the same order. Formats are those of `nlgauge.data.score_files`, without a full grid.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.core.score import Score
from nlgauge.core.signature import Signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.score_files import metric_name, open_score_file, score_columns, score_signature
from nlgauge.errors import FileFormatError, InputError, NlgaugeError, NlgaugeWarning, RecipeError, user_stacklevel
from nlgauge.io.table import HtmlCell, html_table
from nlgauge.io.tables import Row
from nlgauge.stats.numeric import Vector, numbers, orient

#: Length of the character n-grams that measure copying from the source.
_ORDER = 3


class ScoredRows(NamedTuple):
    """A score with the rows of the table that its segments belong to; all of one language pair."""

    langpair: str
    rows: NDArray[np.intp]
    score: Score


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of one metric on the rows of a table; nan for rows that were not scored."""

    name: str
    count: int
    """Rows of the table."""
    parts: tuple[ScoredRows, ...]
    failed: Mapping[str, NlgaugeError] = field(default_factory=dict)
    """Error that prevented scoring, by language pair."""
    signature: str = ""
    """Text shown instead of the signatures, for scores that no recipe can recompute."""

    def __repr__(self) -> str:
        return f"<RowScores {self.name}: {self.count}{'' if self.higher_is_better else ', lower is better'}>"

    @cached_property
    def values(self) -> Vector:
        """Main component of the score of each row."""
        values = np.full(self.count, np.nan)
        for part in self.parts:
            values[part.rows] = part.score.segments[part.score.main]
        values.flags.writeable = False
        return values

    @property
    def oriented(self) -> Vector:
        """Scores, with distances negated: higher is better."""
        return orient(self.values, higher_is_better=self.higher_is_better)

    @property
    def higher_is_better(self) -> bool:
        """Whether the main component is a similarity."""
        return all(part.score.higher_is_better for part in self.parts)

    @property
    def signatures(self) -> dict[str, str]:
        """Recipe part by language pair; if idf differs between systems, that of the first corpus."""
        texts: dict[str, str] = {}
        for part in self.parts:
            texts.setdefault(part.langpair, self.signature or part.score.signature.recipe_part)
        return texts

    @property
    def corpus(self) -> dict[tuple[str, str | None], float]:
        """Corpus score by language pair and system, for metrics such as BLEU whose score is not a mean."""
        scores = [(part.langpair, part.score) for part in self.parts]
        return {
            (langpair, score.system): score.corpus[score.main]
            for langpair, score in scores
            if score.main in score.corpus
        }

    def component(self, name: str) -> RowScores:
        """Return the same scores with another main component: `scores.component("recall")`."""
        parts = []
        for part in self.parts:
            score = part.score
            if name not in score.segments:
                msg = f"{self.name} has no component {name!r}; it has {', '.join(score.segments)}"
                raise RecipeError(msg)
            higher = score.higher_is_better and name not in score.distances
            parts.append(part._replace(score=replace(score, main=name, higher_is_better=higher)))
        return replace(self, name=f"{self.name} {name}", parts=tuple(parts))


@dataclass(frozen=True, eq=False, repr=False)
class ScoredJudgements:
    """A judgement table with the scores of its rows: rows x metrics."""

    table: JudgementTable
    metrics: tuple[RowScores, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", tuple(self.metrics))
        check_distinct(self.names)
        for metric in self.metrics:
            check_count(metric, self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<ScoredJudgements {self.table.name}: {len(self)} rows x {', '.join(self.names) or 'no metric'}>"

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = []
        for pair in self.table.langpairs:
            of_pair = self.table.rows_of(pair)
            for metric in self.metrics:
                values = metric.values[of_pair]
                values = values[np.isfinite(values)]
                spread = (float(values.mean()), float(values.std())) if len(values) else (None, None)
                better = "higher" if metric.higher_is_better else "lower"
                rows.append([pair, metric.name, better, len(values), *spread])
        columns = ["langpair", "metric", "better", "rows", "mean", "deviation"]
        return html_table(columns, rows, caption=repr(self)[1:-1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(metric.name for metric in self.metrics)

    @property
    def oriented(self) -> dict[str, Vector]:
        """Scores of the rows, by metric; higher is better."""
        return {metric.name: metric.oriented for metric in self.metrics}

    def __getitem__(self, name: str) -> RowScores:
        for metric in self.metrics:
            if metric.name == name:
                return metric
        msg = f"{self.table.name} has no scores of {name!r}; it has those of {', '.join(self.names) or 'no metric'}"
        raise RecipeError(msg)

    def add(self, *more: RowScores) -> ScoredJudgements:
        """Return the table with further metrics; a metric whose name is taken is renamed to `NAME (2)`."""
        metrics = {metric.name: metric for metric in self.metrics}
        for metric in more:
            name, number = metric.name, 2
            while name in metrics:
                name, number = f"{metric.name} ({number})", number + 1
            metrics[name] = replace(metric, name=name)
        return ScoredJudgements(self.table, tuple(metrics.values()))


def check_distinct(names: Sequence[str]) -> None:
    """Raise an error if two metrics have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            msg = f"two metrics are called {name!r}; give them different names"
            raise InputError(msg)


def check_count(metric: RowScores, table: JudgementTable) -> None:
    """Raise an error if the number of scores is not the number of rows."""
    if metric.count != len(table):
        msg = (
            f"{metric.name!r} must have a score for each of the {len(table)} rows of {table.name}, got {metric.count}"
        )
        raise InputError(msg)


def given_rows(
    table: JudgementTable,
    name: str,
    values: ArrayLike,
    *,
    higher_is_better: bool = True,
    signature: Signature | None = None,
) -> RowScores:
    """Wrap external scores, one for each row of a table, as those of a metric.

    There is a `Score` for each language pair; its signature is the name unless a signature is given.
    """
    column = numbers(values, f"scores of {name!r}")
    if column.shape != (len(table),):
        msg = (
            f"{name!r} must have a score for each of the {len(table)} rows of {table.name}, got shape {column.shape}"
        )
        raise InputError(msg)
    signature = signature or Signature(name, {})
    parts = []
    for pair in table.langpairs:
        rows = table.rows_of(pair)
        score = Score(name, pair, {"score": column[rows]}, "score", higher_is_better, signature, {})
        parts.append(ScoredRows(pair, rows, score))
    return RowScores(name, len(table), tuple(parts))


def released_rows(table: JudgementTable, name: str) -> RowScores:
    """Scores that are part of the data; distances are those in `table.distances`."""
    if name not in table.released:
        msg = f"{table.name} has no released score {name!r}; it has {', '.join(table.released) or 'none'}"
        raise RecipeError(msg)
    higher = name not in table.distances
    return given_rows(table, name, table.released[name], higher_is_better=higher, signature=Signature("released", {}))


def sentinels_of(table: JudgementTable, *, seed: int = 12345) -> tuple[RowScores, ...]:
    """Sentinels, which every metric should beat: length in characters, random, and copying if there are sources."""
    sentinels = {
        "length|unit:characters": np.array([len(text) for text in table.hypothesis], dtype=np.float64),
        f"random|seed:{seed}": np.random.default_rng(seed).random(len(table)),
    }
    if table.source is not None:
        shares = [copied_share(text, source) for text, source in zip(table.hypothesis, table.source, strict=True)]
        sentinels[f"copy|order:{_ORDER}"] = np.array(shares)
    return tuple(
        replace(given_rows(table, f"sentinel-{text.partition('|')[0]}", values), signature=f"sentinel:{text}")
        for text, values in sentinels.items()
    )


def copied_share(text: str, source: str) -> float:
    """Share of the character n-grams of a text that are also in the source; 0 for texts shorter than one n-gram.

    >>> copied_share("abcd", "abcx")
    0.5
    """
    grams, source_grams = (
        Counter(string[start : start + _ORDER] for start in range(len(string) - _ORDER + 1))
        for string in (text, source)
    )
    return (grams & source_grams).total() / grams.total() if grams else 0.0


#: Language pair, system and segment of a row; language pair and system are empty if the file has no such column.
Key = tuple[str, str, str]


def imported_rows(
    table: JudgementTable,
    specs: Sequence[str | os.PathLike[str]],
    *,
    columns: Mapping[str, str] | None = None,
    lower_is_better: Collection[str] = (),
) -> tuple[RowScores, ...]:
    """Read scores of the rows of a table from files; options are those of `read_score_file`.

    Every row of the table must have exactly one score. Scores of other outputs are left out and counted.
    """
    imported = []
    for spec in specs:
        named, data, rows, roles = open_score_file(spec, columns)
        if "metric" in roles:
            msg = f"{named.path}: scores of several metrics are in one column; use one column per metric"
            raise RecipeError(msg)
        chosen = named.columns or score_columns(rows[0], roles, named)
        indices = _match_rows(table, rows, roles, named.path)
        for column in chosen:
            name = metric_name(column, chosen, named)
            imported.append(
                given_rows(
                    table,
                    name,
                    [rows[index].number(column) for index in indices],
                    higher_is_better=name not in lower_is_better,
                    signature=score_signature(name, data, lower_is_better),
                )
            )
    names = [metric.name for metric in imported]
    for name in lower_is_better:
        if name not in names:
            msg = f"lower_is_better names {name!r}, which is not one of {', '.join(names)}"
            raise RecipeError(msg)
    return tuple(imported)


def _match_rows(table: JudgementTable, rows: Sequence[Row], roles: Mapping[str, str], file: str) -> Sequence[int]:
    """Index of the row of the file that scores each row of the table."""
    if "segment" not in roles:
        if len(rows) != len(table):
            msg = (
                f"{file} has {len(rows)} rows, but {table.name} has {len(table)} judged outputs; give one row per "
                "judged output in the order of the data set, or add a column 'segment'"
            )
            raise FileFormatError(msg)
        return range(len(rows))
    indices: dict[Key, int] = {}
    for index, row in enumerate(rows):
        langpair, system = (row.label(roles[role]) if role in roles else "" for role in ("langpair", "system"))
        key = (langpair, system, row.label(roles["segment"]))
        if key in indices:
            msg = f"{row.location()}: {_format_key(key)} has two scores (the first is in {rows[indices[key]].where})"
            raise FileFormatError(msg)
        indices[key] = index
    keys = [
        (langpair if "langpair" in roles else "", system if "system" in roles else "", segment)
        for langpair, system, segment in zip(table.langpair, table.system, table.segment, strict=True)
    ]
    missing = [key for key in keys if key not in indices]
    if missing:
        more = f" and {len(missing) - 1} more rows" if len(missing) > 1 else ""
        msg = f"{file} has no score for {_format_key(missing[0])}{more} of {table.name}"
        raise InputError(msg)
    extra = len(indices) - len(set(keys))
    if extra:
        msg = f"{file}: {extra} of {len(indices)} scores are of outputs that are not in {table.name}; ignored"
        warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
    return [indices[key] for key in keys]


def _format_key(key: Key) -> str:
    langpair, system, segment = key
    return f"segment {segment!r}" + (f" of {system!r}" if system else "") + (f" ({langpair})" if langpair else "")
