"""Pairwise verdicts of human or model judges, read from files and compared by Bradley-Terry strengths.

A judge sees the outputs of two systems for an instance, one first and one second, and decides which is better. Judges
can prefer a position, so every comparison checks for this bias: a judge without it decides alike when a pair is
judged in both orders.

A row of a file is one verdict, with columns `instance` (or `id`, `segment`), `first`, `second` and `winner`. `first`
is the system whose output was shown first, unless a column `position` says that it was shown second (`2`, `second`).
The winner is the name of one of the two systems, `first` or `second` (also `A` or `B`, `1` or `2`), or `tie`. A name
that is also the word for the other position, such as that of a system `A` shown second, is refused.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.result import Result
from nlgauge.core.short_signature import format_signature
from nlgauge.data.score_files import ROLES, ScoreSpec, read_score_rows
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.numbers import format_count
from nlgauge.io.table import Table
from nlgauge.io.tables import Row
from nlgauge.stats.numeric import blocks
from nlgauge.stats.paired_tests import sign_test
from nlgauge.stats.resampling import FEW, Interval, bootstrap_counts
from nlgauge.studies.compare.comparison import ComparedSystems, CompareSettings
from nlgauge.studies.compare.paired_tests import (
    LEAST_FOR_A_VERDICT,
    LEAST_UNITS,
    NARROW,
    adjusted_p,
    strength_intervals,
)
from nlgauge.studies.compare.rankings import Wins, condorcet_winner, wins_with_ties
from nlgauge.studies.compare.strengths import bradley_terry, newman
from nlgauge.studies.compare.system_scores import Matrix
from nlgauge.studies.compare.tables import FOR_PROGRAMS, GAMES, STRENGTHS, join_tables, row_table

_Counts: TypeAlias = NDArray[np.int64]

#: Share of reversed verdicts above which a judge is unreliable.
_SHAKY = 0.25


class Verdict(NamedTuple):
    """A judge's decision between two outputs for an instance."""

    instance: str
    first: str
    """The system whose output the judge saw first."""
    second: str
    winner: Literal["first", "second", "tie"]


@dataclass(frozen=True)
class PositionCheck:
    """Counts that show whether a judge prefers the output at one position."""

    computed: ClassVar[tuple[str, ...]] = ("share_first",)

    first: int
    """Verdicts for the output that was shown first."""
    second: int
    ties: int
    swapped: int
    """Pairs of systems judged in both orders on an instance."""
    agreed: int
    """Swapped pairs with the same verdict both times."""
    first_twice: int
    """Swapped pairs where the first output was preferred in either order."""
    second_twice: int
    p_value: float
    """Two-sided sign test: of first against second among the reversed verdicts, or among all if none was swapped."""

    @property
    def share_first(self) -> float | None:
        """Share of the decided verdicts that went to the first output; .5 without bias, if orders are balanced."""
        decided = self.first + self.second
        return self.first / decided if decided else None

    def __str__(self) -> str:
        share = "" if self.share_first is None else f" ({self.share_first:.0%} of those decided)"
        first = format_count(self.first, "verdict")
        text = f"position: {first} for the output shown first{share}, {self.second} for the second"
        if self.swapped:
            text += f"; {self.agreed} of {self.swapped} pairs judged in both orders got the same verdict"
        return f"{text}; p = {self.p_value:.4g}"


@dataclass(frozen=True)
class VerdictRow:
    """One system."""

    system: str
    bradley_terry: float
    bt_interval: Interval | None
    """By resampling instances; None for fewer than four."""
    wins: int
    ties: int
    losses: int
    rank: int


@dataclass(frozen=True)
class VerdictPair:
    """Two systems; `first` is ranked before `second`. An instance counts once, however often it is judged."""

    first: str
    second: str
    wins: int
    """Instances on which most verdicts were for the first."""
    ties: int
    losses: int
    p_value: float
    """Two-sided sign test of wins against losses; 1 where there are none."""
    p_adjusted: float
    """The same corrected for the number of pairs."""
    significant: bool
    better: str | None
    """The system that is significantly better; None below ten instances."""


@dataclass(frozen=True, eq=False)
class VerdictComparison(ComparedSystems[VerdictPair], Result):
    """Systems compared by verdicts."""

    format = "nlgauge-verdicts-1"

    name: str
    """Of the judge, with the digest of a file after `|`."""
    systems: tuple[VerdictRow, ...]
    """Best first."""
    win_matrix: Matrix
    """In the order of `systems`: share of the verdicts on a pair that the row's system won; nan without verdicts."""
    p_matrix: Matrix
    """Sign test of every pair of systems over instances, uncorrected; 1 where there are no verdicts."""
    verdicts: int
    instances: int
    condorcet: str | None
    connected: bool
    position: PositionCheck
    notes: tuple[str, ...]
    signature: str
    pairs: tuple[VerdictPair, ...] = ()

    @property
    def metric(self) -> str:  # type: ignore[override]  # a field of other comparisons
        """The judge."""
        return self.name

    def tables(self, form: str = "text") -> list[Table]:
        """Systems by the Bradley-Terry strength that verdicts give them."""
        judge, digest, _ = self.name.partition("|")
        caption = f"{judge}: {format_count(self.verdicts, 'verdict')} on {format_count(self.instances, 'instance')}"
        notes = [str(self.position), *self.notes]
        notes += [f"verdicts: {self.name}"] * bool(digest) + [f"signature: {format_signature(self.signature)}"]
        table = row_table(self.systems, {"rank": "rank", "system": "system"} | STRENGTHS | GAMES, caption, notes)
        return [join_tables([(self.name, table)]) if form in FOR_PROGRAMS else table]


def compare_verdicts(
    verdicts: Sequence[Verdict], *, name: str = "judge", settings: CompareSettings | None = None
) -> VerdictComparison:
    """Bradley-Terry strengths from verdicts, with intervals by resampling instances and a check for position bias.

    >>> verdicts = [Verdict(str(i), "a", "b", "first" if i % 3 else "second") for i in range(12)]
    >>> [(row.system, round(row.bradley_terry, 3)) for row in compare_verdicts(verdicts).systems]
    [('a', 0.667), ('b', 0.333)]
    """
    settings = settings or CompareSettings()
    _check(verdicts)
    systems = list(dict.fromkeys(system for verdict in verdicts for system in (verdict.first, verdict.second)))
    votes = _votes(verdicts, systems)
    wins, voices = _count(votes, len(systems)), _count(_one_per_instance(votes), len(systems))
    fit = bradley_terry(wins_with_ties(wins, settings.ties))
    strengths, instances = fit.strengths, len({verdict.instance for verdict in verdicts})
    intervals: list[Interval | None] = [None] * len(systems)
    if instances >= LEAST_UNITS:
        draws = _strength_draws(votes, len(systems), settings)
        intervals = strength_intervals(strengths, draws, instances, settings)
    order = np.argsort(-strengths, kind="stable")
    rows = tuple(
        VerdictRow(
            system=systems[i],
            bradley_terry=float(strengths[i]),
            bt_interval=intervals[i],
            wins=int(wins.strict[i].sum()),
            ties=int(wins.ties[i].sum()),
            losses=int(wins.strict[:, i].sum()),
            rank=1 + int((strengths > strengths[i]).sum()),
        )
        for i in order
    )
    ranked = np.ix_(order, order)
    total = (wins.strict + wins.strict.T + wins.ties).astype(np.float64)
    shares = np.divide(wins.strict, total, out=np.full(total.shape, np.nan), where=total > 0)
    p_matrix = sign_test(voices.strict, voices.strict.T)[ranked]
    condorcet = condorcet_winner(wins.strict)
    position = _position(verdicts)
    return VerdictComparison(
        name,
        rows,
        shares[ranked],
        p_matrix,
        len(verdicts),
        instances,
        None if condorcet is None else systems[condorcet],
        fit.connected,
        position,
        _notes(position, rows, instances, connected=fit.connected),
        settings.signature().replace("compare|", "compare-verdicts|", 1),
        _pairs([row.system for row in rows], voices.strict[ranked], voices.ties[ranked], p_matrix, settings),
    )


def _pairs(
    names: Sequence[str], strict: _Counts, ties: _Counts, p_matrix: Matrix, settings: CompareSettings
) -> tuple[VerdictPair, ...]:
    """Pairs of systems, all in the order of the ranking."""
    rows, columns = np.triu_indices(len(names), 1)
    p_values = p_matrix[rows, columns]
    pairs = []
    for i, j, p, adjusted in zip(
        rows.tolist(), columns.tolist(), p_values, adjusted_p(p_values, settings), strict=True
    ):
        won, tied, lost = int(strict[i, j]), int(ties[i, j]), int(strict[j, i])
        significant = bool(adjusted < settings.alpha) and won + tied + lost >= LEAST_FOR_A_VERDICT
        better = names[i if won > lost else j] if significant else None
        pairs.append(VerdictPair(names[i], names[j], won, tied, lost, float(p), float(adjusted), significant, better))
    return tuple(pairs)


def _check(verdicts: Sequence[Verdict]) -> None:
    if not verdicts:
        msg = "expected at least one verdict, got none"
        raise InputError(msg)
    for number, verdict in enumerate(verdicts):
        if verdict.winner not in ("first", "second", "tie"):
            msg = f"verdict {number}: the winner must be first, second or tie, got {verdict.winner!r}"
            raise InputError(msg)
        if verdict.first == verdict.second:
            msg = f"verdict {number} compares system {verdict.first!r} with itself"
            raise InputError(msg)


class _Votes(NamedTuple):
    """Verdicts as numbers; the first of two systems has the lower number, wherever it was shown."""

    instance: _Counts
    first: _Counts
    second: _Counts
    result: _Counts
    """1 for the first system, -1 for the second, 0 for a tie."""


def _votes(verdicts: Sequence[Verdict], systems: Sequence[str]) -> _Votes:
    instances = {name: number for number, name in enumerate(dict.fromkeys(verdict.instance for verdict in verdicts))}
    numbers = {name: number for number, name in enumerate(systems)}
    results = {"first": 1, "second": -1, "tie": 0}
    rows = [(instances[name], numbers[a], numbers[b], results[winner]) for name, a, b, winner in verdicts]
    instance, shown_first, shown_second, result = np.array(rows).T
    first, second = np.minimum(shown_first, shown_second), np.maximum(shown_first, shown_second)
    return _Votes(instance, first, second, np.where(shown_first == first, result, -result))


def _one_per_instance(votes: _Votes) -> _Votes:
    """Merge the verdicts on an instance (both orders, several judges) into one."""
    places, where = np.unique(np.stack(votes[:3]), axis=1, return_inverse=True)
    balance = np.bincount(where.ravel(), weights=votes.result)
    return _Votes(places[0], places[1], places[2], np.sign(balance).astype(np.int64))


def _count(votes: _Votes, k: int) -> Wins:
    counts = {result: np.zeros((k, k), dtype=np.int64) for result in (1, -1, 0)}
    for result, matrix in counts.items():
        np.add.at(matrix, (votes.first[votes.result == result], votes.second[votes.result == result]), 1)
    return Wins(counts[1] + counts[-1].T, counts[0] + counts[0].T)


def _strength_draws(votes: _Votes, k: int, settings: CompareSettings) -> Matrix:
    """Strengths in resamples of instances, each with all its verdicts."""
    from scipy.sparse import csr_array

    _, first, second, result = votes
    tie = {"half": (0.5, 0.5), "second": (0.0, 1.0), "drop": (0.0, 0.0)}[settings.ties]
    shares = [np.where(result == 0, share, result == side) for share, side in zip(tie, (1, -1), strict=True)]
    cells = np.concatenate([first * k + second, second * k + first])
    # Instances x (systems * systems); entries of the same place add up.
    shape = (int(votes.instance.max()) + 1, k**2)
    games = csr_array((np.concatenate(shares), (np.tile(votes.instance, 2), cells)), shape=shape)
    draws = []
    for counts in bootstrap_counts(shape[0], settings.resamples, settings.seed):
        for part in blocks(len(counts), k**2):
            wins = (games.T @ counts[part].T).T.reshape(-1, k, k)
            draws.append(newman(np.asarray(wins, dtype=np.float64))[0])
    return np.concatenate(draws)


def _position(verdicts: Sequence[Verdict]) -> PositionCheck:
    winners = Counter(verdict.winner for verdict in verdicts)
    by_order: dict[tuple[str, str, str], str] = {
        (verdict.instance, verdict.first, verdict.second): verdict.winner for verdict in verdicts
    }
    twice: Counter[str] = Counter()
    for (instance, first, second), winner in by_order.items():
        other = by_order.get((instance, second, first))
        if other is None or first > second:
            continue
        twice["swapped"] += 1
        twice["agreed"] += {winner, other} == {"first", "second"} or winner == other == "tie"
        twice["first"] += winner == other == "first"
        twice["second"] += winner == other == "second"
    decided = twice if twice["swapped"] else winners
    p_value = float(sign_test(np.array([decided["first"]]), np.array([decided["second"]]))[0])
    both = (twice["swapped"], twice["agreed"], twice["first"], twice["second"])
    return PositionCheck(winners["first"], winners["second"], winners["tie"], *both, p_value)


def _notes(
    position: PositionCheck, rows: Sequence[VerdictRow], instances: int, *, connected: bool
) -> tuple[str, ...]:
    notes = []
    place = "first" if position.first_twice + position.first > position.second_twice + position.second else "second"
    if not position.swapped:
        notes.append("no pair was judged in both orders, so position bias cannot be separated from quality")
        if position.p_value < 0.05:
            notes.append(f"the output shown {place} won unusually often (p = {position.p_value:.2g})")
    else:
        reversed_ = 1 - position.agreed / position.swapped
        if position.p_value < 0.05:
            notes.append(f"the judge prefers the output shown {place} (p = {position.p_value:.2g})")
        if reversed_ > _SHAKY:
            notes.append(f"{reversed_:.0%} of {position.swapped} pairs judged in both orders got different verdicts")
    if instances < LEAST_UNITS:
        notes.append(
            f"{instances} instance{'s' * (instances != 1)}: too few. Intervals need at least {LEAST_UNITS}; below "
            f"{LEAST_FOR_A_VERDICT} no difference is called significant"
        )
    elif instances < LEAST_FOR_A_VERDICT:
        notes.append(f"{instances} instances: below {LEAST_FOR_A_VERDICT} no difference is called significant")
    if LEAST_UNITS <= instances < FEW:
        notes.append(NARROW)
    if not connected:
        notes.append("some systems never won against a group of others, so the sizes of strengths are not meaningful")
    never_won = [row.system for row in rows if row.wins == 0 and row.losses]
    never_lost = [row.system for row in rows if row.losses == 0 and row.wins]
    for systems, what in ((never_won, "won"), (never_lost, "lost")):
        notes += [f"{', '.join(systems)} never {what}"] if systems else []
    if not any(row.wins for row in rows):
        notes.append("all verdicts are ties")
    return tuple(notes)


_FIRST = ("first", "a", "1")
_SECOND = ("second", "b", "2")
_TIES = ("tie", "draw", "equal", "both", "neither", "none", "0")

#: Columns that every file of verdicts has, besides that of the instance.
_COLUMNS = ("first", "second", "winner")


def is_verdict_file(spec: str | os.PathLike[str]) -> bool:
    """Whether a file of scores holds verdicts instead: it has the columns `first`, `second` and `winner`."""
    path = ScoreSpec.parse(os.fspath(spec)).path
    if path.lower().removesuffix(".gz").endswith(".json"):
        return False
    row = next(read_score_rows(path))
    return all(name in row.values for name in _COLUMNS)


def read_verdicts(spec: str | os.PathLike[str], *, columns: Mapping[str, str] | None = None) -> list[Verdict]:
    """The verdicts in a TSV, CSV or JSONL file; `columns` names the column `segment` where it is not a usual one."""
    path = ScoreSpec.parse(os.fspath(spec)).path
    rows = list(read_score_rows(path))
    named = (columns or {}).get("segment")
    usual = [name for name in ("instance", *ROLES["segment"]) if name in rows[0].values]
    if named is None and not usual:
        msg = f"{path}: no column for the instance of a verdict ({', '.join(ROLES['segment'])}); name one in columns"
        raise RecipeError(msg)
    instance = named or usual[0]
    return [_verdict(row, instance) for row in rows]


def _verdict(row: Row, instance: str) -> Verdict:
    first, second = row.label("first"), row.label("second")
    if first == second:
        msg = f"{row.location('second')}: the two systems of a verdict must differ, got {first!r} twice"
        raise FileFormatError(msg)
    winner = _winner(row, first, second)
    if "position" in row.values:
        position = row.label("position").casefold()
        if position not in _FIRST + _SECOND:
            row.refuse("position", "1 or 2: the place at which the first system's output was shown")
        if position in _SECOND:
            turned: dict[str, Literal["first", "second", "tie"]] = {"first": "second", "second": "first"}
            return Verdict(row.label(instance), second, first, turned.get(winner, "tie"))
    return Verdict(row.label(instance), first, second, winner)


def _winner(row: Row, first: str, second: str) -> Literal["first", "second", "tie"]:
    value = row.label("winner")
    word = value.casefold()
    if value in (first, second):
        place, other = ("first", _SECOND) if value == first else ("second", _FIRST)
        if word in (*other, *_TIES):
            msg = (
                f"{row.location('winner')}: {value!r} is the name of the {place} system, and also means "
                f"{'a tie' if word in _TIES else 'that the other one won'}; rename the systems in the file"
            )
            raise FileFormatError(msg)
        return "first" if value == first else "second"
    if word not in _FIRST + _SECOND + _TIES:
        row.refuse("winner", f"{first!r}, {second!r}, 'first', 'second' or 'tie'")
    if word in _TIES:
        return "tie"
    return "first" if word in _FIRST else "second"
