"""Compare a recorded file with the current output, and list the lines that differ.

Text must be equal except for the widths of columns. Numbers may differ by 2e-6 (relative to values above 1), because
processors round the last bits of single precision differently; in tables, by one in the last decimal.
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
    """An exception with a larger tolerance, and its reason."""

    file: str  # pattern of files in outputs/
    command: str  # substring of the command of the block; empty: the whole file
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
    """A line that differs from the recorded one."""

    file: str
    line: int  # in the recorded file, from 1
    old: str
    new: str
    command: str = ""

    def __str__(self) -> str:
        after = f" ({self.command})" if self.command else ""
        return f"{self.file}, line {self.line}{after}\n    recorded: {self.old}\n    now:      {self.new}"


def differences(file: str, recorded: str, current: str) -> list[Difference]:
    """All lines of a file that differ from the recorded ones."""
    if recorded == current:
        return []
    old, new = recorded.splitlines(), current.splitlines()
    contexts = list(_contexts(file, old))
    result = []
    for old_at, new_at in _aligned(old, new):
        recorded_line = old[old_at] if old_at is not None else ""
        other = new[new_at] if new_at is not None else ""
        line = old_at if old_at is not None else min(_last(result), len(old) - 1)
        context = contexts[max(line, 0)] if contexts else _Context("", False, TOLERANCE)
        if old_at is None or new_at is None or not _same(recorded_line, other, context):
            shown = [
                text if i is not None else "(no such line)" for text, i in ((recorded_line, old_at), (other, new_at))
            ]
            result.append(Difference(file, line + 1, *shown, context.command))
    return result


def _last(result: list[Difference]) -> int:
    return result[-1].line - 1 if result else 0


@dataclass(frozen=True)
class _Context:
    command: str
    in_full: bool  # numbers with all digits, not rounded for a table
    tolerance: float


def _contexts(file: str, lines: list[str]) -> Iterator[_Context]:
    """Context of each line of a transcript."""
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
    """Pairs of corresponding line numbers."""
    left, right = ([_shape(line) for line in lines] for lines in (old, new))
    if len(left) == len(right):
        yield from ((i, i) for i in range(len(left)))
        return
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for i in range(max(i2 - i1, j2 - j1)):
            yield (i1 + i if i1 + i < i2 else None), (j1 + i if j1 + i < j2 else None)


def _shape(line: str) -> str:
    """Line without numbers and column widths."""
    indent = len(line) - len(line.lstrip())
    return line[:indent] + re.sub(r"([ -])\1+", r"\1", NUMBER.sub("#", line[indent:]))


def _same(old: str, new: str, context: _Context) -> bool:
    if old == new:
        return True
    if _shape(old) != _shape(new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(left == right or _close(left, right, context) for left, right in pairs)


def _close(old: str, new: str, context: _Context) -> bool:
    left, right = float(old), float(new)
    tolerance = context.tolerance * max(1.0, abs(left))
    if not context.in_full:
        tolerance = max(tolerance, 1.01 * 10.0 ** -max(map(_decimals, (old, new))))
    return abs(left - right) <= tolerance


def _decimals(number: str) -> int:
    digits, _, exponent = number.lower().partition("e")
    return len(digits.partition(".")[2]) - int(exponent or 0)
