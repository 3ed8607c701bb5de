"""Compares a recorded file with what comes out now, and names the lines that differ.

Text is equal, but for the widths of columns. A number may differ by 2e-6, relative to its size where that is above 1,
because processors round the last bits of single precision otherwise; in tables, by one in the last decimal shown.
"""

from __future__ import annotations

import difflib
import fnmatch
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.frozen.workplace import NUMBER

TOLERANCE = 2e-6


@dataclass(frozen=True)
class Looser:
    """Numbers that may differ by more, with the reason."""

    file: str  # a pattern, of files below outputs/
    command: str  # found in the command of the block; empty: the whole file
    tolerance: float
    reason: str


#: All exceptions.
EXCEPTIONS = (
    Looser(
        "scores/baryscore-profile-released.json",
        "",
        math.inf,
        "the published defect that the profile reproduces makes rounding decide",
    ),
    Looser(
        "service/answers.txt",
        r"result\?format=json \(sensitivity\)",
        1e-4,
        "relative differences in per cent of scores near each other magnify the last bits",
    ),
    Looser("reports/sensitivity.txt", "--format json", 1e-4, "as in the answer of the service"),
    Looser(
        "computed/tables.txt",
        "moverscore-table3 --data bagel",
        1e-3,
        "a rank correlation: texts whose scores differ in the last bits only are ranked by rounding",
    ),
)


@dataclass(frozen=True)
class Difference:
    """A line that is not as recorded."""

    file: str
    line: int  # in the recorded file, from 1
    old: str
    new: str
    command: str = ""

    def __str__(self) -> str:
        after = f" ({self.command})" if self.command else ""
        return f"{self.file}, line {self.line}{after}\n    recorded: {self.old}\n    now:      {self.new}"


def differences(file: str, recorded: str, current: str) -> list[Difference]:
    """Lines of a file that are not as recorded; all of them."""
    if recorded == current:
        return []
    old, new = recorded.splitlines(), current.splitlines()
    contexts = list(_contexts(file, old))
    found = []
    for old_at, new_at in _aligned(old, new):
        one = old[old_at] if old_at is not None else ""
        other = new[new_at] if new_at is not None else ""
        line = old_at if old_at is not None else min(_last(found), len(old) - 1)
        context = contexts[max(line, 0)] if contexts else _Context("", False, TOLERANCE)
        if old_at is None or new_at is None or not _same(one, other, context):
            shown = [text if at is not None else "(no such line)" for text, at in ((one, old_at), (other, new_at))]
            found.append(Difference(file, line + 1, *shown, context.command))
    return found


def _last(found: list[Difference]) -> int:
    return found[-1].line - 1 if found else 0


@dataclass(frozen=True)
class _Context:
    command: str
    in_full: bool  # numbers with all their digits, not rounded for a table
    tolerance: float


def _contexts(file: str, lines: list[str]) -> Iterator[_Context]:
    """What applies to each line of a transcript."""
    command, in_full = "", file.endswith(".json")
    for line in lines:
        if line.startswith("$ "):
            command, in_full = line, file.endswith(".json")
        elif re.match(r"\[json, [\w ]+\]$", line):
            in_full = True
        elif line in ("[stderr]",) or line.startswith("[files]"):
            in_full = False
        rules = [
            rule.tolerance
            for rule in EXCEPTIONS
            if fnmatch.fnmatch(file, rule.file) and (not rule.command or re.search(rule.command, command))
        ]
        yield _Context(command, in_full, max([TOLERANCE, *rules]))


def _aligned(old: list[str], new: list[str]) -> Iterator[tuple[int | None, int | None]]:
    """Pairs of line numbers that belong together."""
    left, right = ([_shape(line) for line in lines] for lines in (old, new))
    if len(left) == len(right):
        yield from ((at, at) for at in range(len(left)))
        return
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for at in range(max(i2 - i1, j2 - j1)):
            yield (i1 + at if i1 + at < i2 else None), (j1 + at if j1 + at < j2 else None)


def _shape(line: str) -> str:
    """A line without its numbers and the widths of its columns."""
    indent = len(line) - len(line.lstrip())
    return line[:indent] + re.sub(r"([ -])\1+", r"\1", NUMBER.sub("#", line[indent:]))


def _same(old: str, new: str, context: _Context) -> bool:
    if old == new:
        return True
    if _shape(old) != _shape(new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(one == other or _close(one, other, context) for one, other in pairs)


def _close(old: str, new: str, context: _Context) -> bool:
    one, other = float(old), float(new)
    tolerance = context.tolerance * max(1.0, abs(one))
    if not context.in_full:
        tolerance = max(tolerance, 1.01 * 10.0 ** -max(map(_decimals, (old, new))))
    return abs(one - other) <= tolerance


def _decimals(number: str) -> int:
    digits, _, exponent = number.lower().partition("e")
    return len(digits.partition(".")[2]) - int(exponent or 0)
