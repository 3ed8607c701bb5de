"""Roles of the columns of a table: hypotheses, references, sources, ids."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from nlgauge.core.options import did_you_mean
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.large_tables import Unreadable
from nlgauge.text.tokenizer import check_encodable

#: What callers may say: roles with the names of columns, or patterns of such names.
ColumnsGiven: TypeAlias = Mapping[str, str | Sequence[str]]

_ROLES = ("hyp", "ref", "src", "id")


class RowTexts(NamedTuple):
    """What is scored in a row."""

    hyps: tuple[str, ...]
    """One for each system."""
    refs: tuple[str, ...]
    source: str | None


def parse_columns(text: str) -> dict[str, list[str]]:
    """Roles with names of columns; a role may stand several times.

    >>> parse_columns("hyp=system-a,hyp=system-b,ref=ref,id=key")
    {'hyp': ['system-a', 'system-b'], 'ref': ['ref'], 'id': ['key']}
    """
    columns: dict[str, list[str]] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals or not name:
            msg = f"columns are given as ROLE=NAME, such as hyp=mt,ref=ref,id=id; got {part!r}"
            raise RecipeError(msg)
        columns.setdefault(role.strip(), []).append(name.strip())
    return columns


@dataclass(frozen=True)
class Columns:
    """Columns by role; each column of hypotheses is a system."""

    hyps: tuple[str, ...]
    refs: tuple[str, ...] = ()
    source: str | None = None
    id: str | None = None
    """None: rows are known by their number."""

    @classmethod
    def choose(cls, given: ColumnsGiven | None, names: Sequence[str]) -> Columns:
        """From what a caller says and the names that the table has; without a word, columns that are called so."""
        if given is None:
            given = {role: role for role in _ROLES if role in names}
        for role in given:
            if role not in _ROLES:
                msg = f"a column is one of {', '.join(_ROLES)}, got {role!r}{did_you_mean(role, _ROLES)}"
                raise RecipeError(msg)
        patterns = {role: [value] if isinstance(value, str) else list(value) for role, value in given.items()}
        columns = dict.fromkeys(_ROLES, ()) | {role: _matching(patterns[role], names, role) for role in patterns}
        _refuse_two_roles(patterns, columns)
        if not columns["hyp"]:
            msg = f"no column of hypotheses was named (hyp=NAME); the table has: {', '.join(names)}"
            raise RecipeError(msg)
        for role in ("src", "id"):
            if len(columns[role]) > 1:
                msg = f"there can be one column {role}, got {', '.join(columns[role])}"
                raise RecipeError(msg)
        return cls(columns["hyp"], columns["ref"], *((*columns[role], None)[0] for role in ("src", "id")))

    @cached_property
    def names(self) -> list[str]:
        """Columns that must be read, each once, in the order that `texts` takes their values in."""
        named = (*self.hyps, *self.refs, self.source, self.id)
        return list(dict.fromkeys(name for name in named if name is not None))

    @cached_property
    def _places(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """Where in a row hypotheses and references are, and the names of their columns."""
        hyps, refs = ([(self.names.index(name), name) for name in role] for role in (self.hyps, self.refs))
        return hyps, refs

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems; one alone has none, as in `nlgauge.score`."""
        return self.hyps if len(self.hyps) > 1 else ("",)

    def identity(self, row: Sequence[Any] | Unreadable, number: int) -> str:
        """What a row is known by."""
        if self.id is None:
            return str(number)
        if isinstance(row, Unreadable):
            msg = f"row {number} has no id, because {row}; mend it, or leave out id= to number the rows"
            raise InputError(msg)
        value = row[self.names.index(self.id)]
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            msg = f"row {number}: column {self.id!r} must hold an id (a text or a whole number), got {value!r}"
            raise InputError(msg)
        identity = str(value)
        if not identity.isascii():
            check_encodable(identity, f"row {number}: the id in column {self.id!r}")
        return identity

    def texts(self, row: Sequence[Any] | Unreadable) -> RowTexts | Unreadable:
        """The texts of a row, or why it has none that can be scored."""
        if isinstance(row, Unreadable):
            return row
        hyp_places, ref_places = self._places
        try:
            hyps = tuple([_text(row[place], name) for place, name in hyp_places])
            refs = tuple([text for place, name in ref_places for text in _several(row[place], name)])
            source = None if self.source is None else _text(row[self.names.index(self.source)], self.source)
        except InputError as error:
            return Unreadable(error)
        if self.refs and not refs:
            return Unreadable(f"there is no reference in column {', '.join(self.refs)}")
        return RowTexts(hyps, refs, source)


def _matching(patterns: Sequence[str], names: Sequence[str], role: str) -> tuple[str, ...]:
    """Names of columns that the patterns fit, each once."""
    matches: dict[str, None] = {}
    for pattern in patterns:
        own = [pattern] if pattern in names else [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not own:
            hint = did_you_mean(pattern, names)
            msg = f"the table has no column {pattern!r} ({role}){hint}; it has: {', '.join(names)}"
            raise RecipeError(msg)
        if patterns.count(pattern) > 1:
            msg = f"{role}={pattern} was given twice; a column counts once"
            raise RecipeError(msg)
        matches |= dict.fromkeys(own)
    for name in matches:
        if names.count(name) > 1:
            msg = f"the table has {names.count(name)} columns called {name!r} ({role}); rename all but one"
            raise RecipeError(msg)
    return tuple(matches)


def _refuse_two_roles(patterns: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> None:
    """A column may be named under two roles, but a pattern must not take in what has a role of its own."""
    for role, other in itertools.permutations(patterns, 2):
        for name in columns[role]:
            if name in columns[other] and name not in patterns[role]:
                wide = ", ".join(patterns[role])
                msg = f"column {name!r} is {other}=, and {role}={wide} takes it in too; give a narrower pattern"
                raise RecipeError(msg)


def _text(value: Any, column: str) -> str:
    if isinstance(value, Unreadable) or not isinstance(value, str):
        msg = f"column {column!r}: expected a text, got {value!r}"
        raise InputError(msg)
    if not value.isascii():
        check_encodable(value, f"column {column!r}")
    return value


def _several(value: Any, column: str) -> tuple[str, ...]:
    """A text, a list of texts, or none where a row has fewer references than others."""
    several = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(_text(text, column) for text in several)
