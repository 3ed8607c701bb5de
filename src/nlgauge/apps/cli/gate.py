"""`nlgauge compare --gate`: its options, its two systems, its messages and its exit status."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from nlgauge.apps.cli.common import write_output
from nlgauge.apps.cli.flags import Flags, refuse_flags
from nlgauge.apps.wording import in_flags
from nlgauge.core.kinds import Flag, Float, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import NlgaugeError, RecipeError
from nlgauge.studies.compare.gates import GateNotRun, GateResult, NoDecision
from nlgauge.studies.compare.stopping import StopRule

#: Exit status when the new system is significantly worse than the old one.
GATE_FAILED = 3
#: Exit status with --strict when the test cannot decide.
GATE_UNDECIDED = 4


@dataclass(frozen=True, kw_only=True)
class GateOptions(OptionSet):
    """Options of the gate."""

    gate: bool = option(False, Flag(), help=f"exit status {GATE_FAILED} if the second is significantly worse")
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
    min_agreement: float | None = option(
        None,
        Float(above=0.5, most=1),
        help="fail only if raters agreed with drops as large as this one in at least the share P, such as 0.8",
        needs="gate",
        metavar="P",
    )
    gate_metric: str | None = option(
        None,
        Text("a metric"),
        help="the only metric that decides (default: each can fail the gate)",
        needs="gate",
        hidden=True,
        metavar="METRIC",
    )


#: Options of the gate that a comparison until certain has, too.
MARGIN_FLAGS = Flags(
    StopRule,
    "gate",
    only=["margin", "min_segments"],
    change={
        "margin": {"help": "loss that is accepted, in units of the metric"},
        "min_segments": {"hidden": True},
    },
)


def check_gate(args: argparse.Namespace) -> None:
    """Refuse options of the gate without it."""
    if not args.gate and not args.until_certain:
        refuse_flags(args, ["margin", "min_segments"], "is for --gate or --until-certain; add one of them")
    if args.until_certain:
        refuse_flags(args, ["min_agreement"], "needs the difference on all segments; leave out --until-certain")
    if args.margin is not None:
        refuse_flags(args, ["smallest_difference"], "and --margin both name a difference; leave one out")


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


@contextlib.contextmanager
def write_not_run(args: argparse.Namespace) -> Iterator[None]:
    """Write a record for programs if there is no decision because of an error; the message goes to stderr as well."""
    try:
        yield
    except NlgaugeError as error:
        if args.gate and args.format == "json":
            reason = in_flags(str(error), vars(args))
            write_output(args.output, GateNotRun(NoDecision("not-run", reason)).render("json"))
        raise


def write_and_decide(args: argparse.Namespace, decision: GateResult | None, write: Callable[[], None]) -> int:
    """Write the results, print the decision and return the exit status."""
    status = 0
    if decision is not None and not decision.passed:
        status = GATE_FAILED if decision.failed else GATE_UNDECIDED if args.strict else 0
    try:
        write()
    except (NlgaugeError, OSError) as error:
        if not status:
            raise
        # A gate that failed keeps its status, even if a file cannot be written or the reader went away.
        if not isinstance(error, BrokenPipeError):
            print(f"nlgauge: error: {in_flags(str(error), vars(args))}", file=sys.stderr)
    # The gate's sentence is the first line of text, which is on the terminal already.
    seen = args.output == "-" and args.format not in ("json", "tsv", "csv") and sys.stdout.isatty()
    if decision is not None and not seen and not (decision.passed and args.quiet):
        print(f"nlgauge: {decision.headline}", file=sys.stderr)
    return status
