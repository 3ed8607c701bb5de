"""`nlgauge compare --gate`: its options, its two systems and its exit status."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from nlgauge.core.kinds import Flag, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import RecipeError
from nlgauge.studies.compare.gates import GateResult

#: Exit status when the new system is significantly worse than the old one.
GATE_FAILED = 3
#: Exit status with --strict when the test cannot decide.
GATE_UNDECIDED = 4


@dataclass(frozen=True, kw_only=True)
class GateOptions(OptionSet):
    """Options of the gate."""

    gate: bool = option(
        False, Flag(), help=f"exit status {GATE_FAILED} if the second system is significantly worse than the first"
    )
    strict: bool = option(
        False,
        Flag(),
        help=f"exit status {GATE_UNDECIDED} if the gate is undecided",
        needs="gate",
    )
    base: str | None = option(
        None, Text("a system"), help="system to compare with (default: the first of two)", needs="gate", hidden=True
    )
    new: str | None = option(
        None, Text("a system"), help="system that is tested (default: the second of two)", needs="gate", hidden=True
    )
    gate_metric: str | None = option(
        None,
        Text("a metric"),
        help="the only metric that decides (default: each can fail the gate)",
        needs="gate",
        hidden=True,
        metavar="METRIC",
    )


def gate_systems(systems: Sequence[str], args: argparse.Namespace) -> tuple[str, str]:
    """The systems of --base and --new; by default the only two."""
    if len(systems) < 2:
        msg = f"--gate needs two systems, got {len(systems)}: nlgauge compare base.txt new.txt --refs ref.txt --gate"
        raise RecipeError(msg)
    if len(systems) > 2 and (args.base is None or args.new is None):
        msg = f"--gate takes two of the {len(systems)} systems: name them with --base NAME --new NAME"
        raise RecipeError(msg)
    chosen = (args.base or systems[0], args.new or systems[1])
    for flag, name in zip(("--base", "--new"), chosen, strict=True):
        if name not in systems:
            msg = f"{flag}: unknown system {name!r}; systems: {', '.join(map(repr, systems))}"
            raise RecipeError(msg)
    if chosen[0] == chosen[1]:
        msg = f"--gate compares two systems, but --base and --new are both {chosen[0]!r}"
        raise RecipeError(msg)
    return chosen


def gate_status(decision: GateResult, *, strict: bool) -> int:
    """The exit status of a decision."""
    if decision.failed:
        return GATE_FAILED
    return GATE_UNDECIDED if strict and not decision.passed else 0
