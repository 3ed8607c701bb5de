"""Pairwise verdicts of human or model judges, read from files and compared by Bradley-Terry strengths.

A judge sees the outputs of two systems for an instance, one first and one second, and says which is better. Judges
prefer a position as well as a text, so every comparison comes with a check for it: where a pair was judged in both
orders, a judge without bias decides alike.

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
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.result import Result
from nlgauge.data.score_files import ROLES, ScoreSpec, read_score_rows
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.table import Table, counted
from nlgauge.io.tables import Row
from nlgauge.stats.numeric import BLOCK_CELLS
from nlgauge.stats.paired_tests import holm, sign_test
from nlgauge.stats.resampling import FEW, Interval, bootstrap_counts
from nlgauge.studies.compare.draws import LEAST_UNITS, NARROW, strength_intervals
from nlgauge.studies.compare.paired_tests import LEAST_FOR_A_VERDICT
from nlgauge.studies.compare.rankings import Wins, condorcet_winner, pair_indices, policy_wins
from nlgauge.studies.compare.settings import CompareSettings, TiePolicy
from nlgauge.studies.compare.strengths import bradley_terry, newman
from nlgauge.studies.compare.system_scores import Matrix
from nlgauge.studies.compare.tables import FOR_PROGRAMS, GAMES, STRENGTHS, join_tables, row_table

#: From this share of reversed verdicts on, a judge mostly looks at places.
_SHAKY = 0.25


class Verdict(NamedTuple):
    """What a judge says about two outputs for one instance."""

    instance: str
    first: str
    """The system whose output the judge saw first."""
    second: str
    winner: Literal["first", "second", "tie"]


@dataclass(frozen=True)
class PositionCheck:
    """Does the judge prefer a place?"""

    computed: ClassVar[tuple[str, ...]] = ("share_first",)

    first: int
    """Verdicts for the output that was shown first."""
    second: int
    ties: int
    swapped: int
    """Pairs of systems judged in both orders on an instance."""
    agreed: int
    """Of these, those with the same verdict both times."""
    first_twice: int
    """Of these, those where the first output was preferred in either order."""
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
        first = counted(self.first, "verdict")
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
    """Two systems; `first` comes before `second` in the ranking. An instance has one voice, however often judged."""

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
class VerdictComparison(Result):
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
    """All pairs, in the order of `systems`."""

    def tables(self, form: str = "text") -> list[Table]:
        """Systems by the Bradley-Terry strength that verdicts give them."""
        judge, digest, _ = self.name.partition("|")
        caption = f"{judge}: {counted(self.verdicts, 'verdict')} on {counted(self.instances, 'instance')}"
        notes = [str(self.position), *self.notes]
        notes += [f"verdicts: {self.name}"] * bool(digest) + [f"signature: {self.signature}"]
        table = row_table(self.systems, {"rank": "rank", "system": "system"} | STRENGTHS | GAMES, caption, notes)
        return [join_tables([(self.name, table)]) if form in FOR_PROGRAMS else table]


def compare_verdicts(
    verdicts: Sequence[Verdict], *, name: str = "judge", settings: CompareSettings | None = None
) -> VerdictComparison:
    """Bradley-Terry strengths from verdicts, with intervals by resampling instances and a check for position bias.

    >>> said = [Verdict(str(at), "a", "b", "first" if at % 3 else "second") for at in range(12)]
    >>> [(row.system, round(row.bradley_terry, 3)) for row in compare_verdicts(said).systems]
    [('a', 0.667), ('b', 0.333)]
    """
    settings = settings or CompareSettings()
    _check(verdicts)
    systems = list(dict.fromkeys(name for verdict in verdicts for name in (verdict.first, verdict.second)))
    counted = _count(verdicts, systems)
    games = policy_wins(counted, settings.ties)
    found = bradley_terry(games)
    instances = len({verdict.instance for verdict in verdicts})
    intervals: list[Interval | None] = [None] * len(systems)
    if instances >= LEAST_UNITS:
        draws = _strength_draws(verdicts, systems, settings)
        intervals = strength_intervals(found.strengths, draws, instances, settings)
    order = np.argsort(-found.strengths, kind="stable")
    rows = tuple(
        VerdictRow(
            systems[at],
            float(found.strengths[at]),
            intervals[at],
            int(counted.strict[at].sum()),
            int(counted.ties[at].sum()),
            int(counted.strict[:, at].sum()),
            1 + int((found.strengths > found.strengths[at]).sum()),
        )
        for at in order
    )
    total = (counted.strict + counted.strict.T + counted.ties).astype(np.float64)
    shares = np.divide(counted.strict, total, out=np.full(total.shape, np.nan), where=total > 0)
    winner = condorcet_winner(counted.strict)
    position = _position(verdicts)
    voices = _instance_wins(verdicts, systems)
    return VerdictComparison(
        name,
        rows,
        shares[np.ix_(order, order)],
        sign_test(voices.strict, voices.strict.T)[np.ix_(order, order)],
        len(verdicts),
        instances,
        None if winner is None else systems[winner],
        found.connected,
        position,
        _notes(position, rows, counted, instances, connected=found.connected),
        settings.signature().replace("compare|", "compare-verdicts|", 1),
        _pairs(voices, [systems[at] for at in order], order, settings),
    )


def _instance_wins(verdicts: Sequence[Verdict], systems: Sequence[str]) -> Wins:
    """As `_count`, with one voice per instance: several verdicts on it (both orders, several judges) go together."""
    balance: Counter[tuple[str, str, str]] = Counter()
    for instance, first, second, winner in verdicts:
        turned = first > second
        one, other = (second, first) if turned else (first, second)
        balance[instance, one, other] += {"first": 1, "second": -1, "tie": 0}[winner] * (-1 if turned else 1)
    return _count(
        [
            Verdict(instance, one, other, "first" if total > 0 else "second" if total < 0 else "tie")
            for (instance, one, other), total in balance.items()
        ],
        systems,
    )


def _pairs(
    voices: Wins, names: Sequence[str], order: NDArray[np.intp], settings: CompareSettings
) -> tuple[VerdictPair, ...]:
    """Sign tests of all pairs of systems, which are named in the order of the ranking."""
    rows, columns = pair_indices(len(names))
    if not rows.size:
        return ()
    strict, tied = voices.strict[np.ix_(order, order)], voices.ties[np.ix_(order, order)]
    p_values = sign_test(strict[rows, columns], strict[columns, rows])
    adjusted = holm(p_values) if settings.correction == "holm" else p_values
    found = []
    for i, j, p, corrected in zip(rows, columns, p_values, adjusted, strict=True):
        wins, ties, losses = int(strict[i, j]), int(tied[i, j]), int(strict[j, i])
        significant = bool(corrected < settings.alpha) and wins + ties + losses >= LEAST_FOR_A_VERDICT
        better = names[i if wins > losses else j] if significant else None
        found.append(
            VerdictPair(names[i], names[j], wins, ties, losses, float(p), float(corrected), significant, better)
        )
    return tuple(found)


def _check(verdicts: Sequence[Verdict]) -> None:
    if not verdicts:
        msg = "there are no verdicts to compare systems by"
        raise InputError(msg)
    for number, verdict in enumerate(verdicts):
        if verdict.winner not in ("first", "second", "tie"):
            msg = f"verdict {number}: the winner must be first, second or tie, got {verdict.winner!r}"
            raise InputError(msg)
        if verdict.first == verdict.second:
            msg = f"verdict {number} compares system {verdict.first!r} with itself"
            raise InputError(msg)


def _count(verdicts: Sequence[Verdict], systems: Sequence[str]) -> Wins:
    at = {name: number for number, name in enumerate(systems)}
    strict, ties = (np.zeros((len(systems), len(systems)), dtype=np.int64) for _ in range(2))
    for _, first, second, winner in verdicts:
        i, j = at[first], at[second]
        if winner == "tie":
            ties[i, j] += 1
            ties[j, i] += 1
        else:
            strict[(i, j) if winner == "first" else (j, i)] += 1
    return Wins(strict, ties)


def _strength_draws(verdicts: Sequence[Verdict], systems: Sequence[str], settings: CompareSettings) -> Matrix:
    """Strengths in resamples of instances, each with all its verdicts."""
    games, k = _games_by_instance(verdicts, systems, settings), len(systems)
    found = []
    step = max(1, BLOCK_CELLS // k**2)
    for counts in bootstrap_counts(games.shape[0], settings.resamples, settings.seed):
        for at in range(0, len(counts), step):
            wins = (games.T @ counts[at : at + step].T).T.reshape(-1, k, k)
            found.append(newman(np.asarray(wins, dtype=np.float64))[0])
    return np.concatenate(found)


def _games_by_instance(verdicts: Sequence[Verdict], systems: Sequence[str], settings: CompareSettings) -> Any:
    """Sparse: instances x (systems * systems), wins by the policy for ties."""
    from scipy.sparse import csr_array

    at = {name: number for number, name in enumerate(systems)}
    lines = {name: number for number, name in enumerate(dict.fromkeys(verdict.instance for verdict in verdicts))}
    entries = [
        (lines[verdict.instance], row * len(systems) + column, share)
        for verdict in verdicts
        for row, column, share in _wins(at[verdict.first], at[verdict.second], verdict.winner, settings.ties)
    ]
    rows, cells, shares = zip(*entries, strict=True) if entries else ((), (), ())
    # Entries of the same place add up.
    return csr_array((np.array(shares, dtype=np.float64), (rows, cells)), shape=(len(lines), len(systems) ** 2))


def _wins(i: int, j: int, winner: str, ties: TiePolicy) -> list[tuple[int, int, float]]:
    """Who beats whom, and how much of a win it is."""
    if winner != "tie":
        return [(i, j, 1.0) if winner == "first" else (j, i, 1.0)]
    if ties == "half":
        return [(i, j, 0.5), (j, i, 0.5)]
    return [(max(i, j), min(i, j), 1.0)] if ties == "second" else []


def _position(verdicts: Sequence[Verdict]) -> PositionCheck:
    said = Counter(verdict.winner for verdict in verdicts)
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
    counts = (twice["first"], twice["second"]) if twice["swapped"] else (said["first"], said["second"])
    p_value = sign_test(*(np.array([count]) for count in counts))[0]
    return PositionCheck(
        said["first"],
        said["second"],
        said["tie"],
        twice["swapped"],
        twice["agreed"],
        twice["first"],
        twice["second"],
        float(p_value),
    )


def _notes(
    position: PositionCheck, rows: Sequence[VerdictRow], counted: Wins, instances: int, *, connected: bool
) -> tuple[str, ...]:
    said = []
    place = "first" if position.first_twice + position.first > position.second_twice + position.second else "second"
    if not position.swapped:
        said.append("no pair was judged in both orders, so a preference for a place cannot be told from quality")
        if position.p_value < 0.05:
            said.append(f"the {place} output won unusually often (p = {position.p_value:.2g})")
    else:
        reversed_ = 1 - position.agreed / position.swapped
        if position.p_value < 0.05:
            said.append(f"the judge prefers the {place} output (p = {position.p_value:.2g})")
        if reversed_ > _SHAKY:
            said.append(f"{reversed_:.0%} of {position.swapped} pairs judged in both orders got different verdicts")
    if instances < LEAST_UNITS:
        said.append(f"{instances} instance{'s' * (instances != 1)}: no intervals, and no difference is significant")
    elif instances < LEAST_FOR_A_VERDICT:
        said.append(f"{instances} instances: fewer than {LEAST_FOR_A_VERDICT}, so no difference is significant")
    if LEAST_UNITS <= instances < FEW:
        said.append(NARROW)
    if not connected:
        said.append("wins do not lead from every system to every other one: the sizes of strengths mean nothing")
    never = [row.system for row in rows if row.wins == 0 and row.losses]
    if never:
        said.append(f"{', '.join(never)} never won")
    always = [row.system for row in rows if row.losses == 0 and row.wins]
    if always:
        said.append(f"{', '.join(always)} never lost")
    if not counted.strict.any():
        said.append("all verdicts are ties")
    return tuple(said)


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
        msg = f"{path}: no column names the instance of a verdict ({', '.join(ROLES['segment'])}); say which one does"
        raise RecipeError(msg)
    instance = named or usual[0]
    return [_verdict(row, instance) for row in rows]


def _verdict(row: Row, instance: str) -> Verdict:
    first, second = row.label("first"), row.label("second")
    if first == second:
        msg = f"{row.at('second')}: the two systems of a verdict must differ, got {first!r} twice"
        raise FileFormatError(msg)
    winner = _winner(row, first, second)
    if "position" in row.values and _shown_second(row):
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
                f"{row.at('winner')}: {value!r} is the name of the {place} system, and also means "
                f"{'a tie' if word in _TIES else 'that the other one won'}; give the systems other names in the file"
            )
            raise FileFormatError(msg)
        return "first" if value == first else "second"
    if word not in _FIRST + _SECOND + _TIES:
        row.refuse("winner", f"{first!r}, {second!r}, 'first', 'second' or 'tie'")
    if word in _TIES:
        return "tie"
    return "first" if word in _FIRST else "second"


def _shown_second(row: Row) -> bool:
    """Whether the system in the column `first` was shown second."""
    value = row.label("position").casefold()
    if value not in _FIRST + _SECOND:
        row.refuse("position", "1 or 2: the place at which the first system's output was shown")
    return value in _SECOND
