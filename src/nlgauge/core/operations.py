"""Operations: functions of the library that the command line, the service and its clients offer.

    Operation(
        name="rank",
        function="nlgauge.core.rank:rank",
        inputs=CANDIDATES,
        result="nlgauge.core.rank:Ranking",
        help="choose the best of several candidates for each segment",
    )

From this follow the command `nlgauge rank`, `POST /v1/rank` and `/v1/jobs/rank` with answers in JSON and TSV,
`Client.rank` and `AsyncClient.rank`, completion and the reference page. The function takes the inputs by name, then
`metric=` and the options of the metric, of the run and of the operation as keywords, and returns a `Result`.
A package adds operations by the entry point `nlgauge.operations`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from nlgauge.errors import RecipeError

if TYPE_CHECKING:  # the list of commands needs neither
    from nlgauge.core.options import Option, OptionSet
    from nlgauge.core.result import Result

#: text: one text. texts: a text per segment. references: a text or several per segment. groups: several texts per
#: segment. systems: texts by the name of a system.
Shape = Literal["text", "text-or-several", "texts", "references", "groups", "systems"]


@dataclass(frozen=True)
class Input:
    """An input of a function: texts under a name."""

    name: str
    shape: Shape
    help: str
    required: bool = False

    def places(self, value: Any) -> Iterator[tuple[str, str]]:
        """Yield all texts of a value, each with its location for messages."""
        if value is None:
            return
        if isinstance(value, str):
            yield self.name, value
        elif self.shape == "systems":
            for system, texts in value.items():
                name = f"system {system!r}, segment " if system else "hyps, segment "
                yield from ((f"{name}{segment}", text) for segment, text in enumerate(texts))
        elif self.shape == "groups":
            for segment, group in enumerate(value):
                yield from ((f"{self.name}[{segment}][{number}]", text) for number, text in enumerate(group))
        else:
            for segment, group in enumerate(value):
                texts = [group] if isinstance(group, str) else group
                yield from ((f"{self.name}, segment {segment}", text) for text in texts)


_REFS = Input("refs", "references", "references of each segment: one text or several")
_SOURCES = Input("sources", "texts", "source texts, one per segment, for metrics that compare with the source")

#: First words of commands that operations may have.
GROUPS = ("", "explain", "study", "build")

#: The inputs of operations. Operations of packages use one of these, which every interface can read.
SYSTEMS = (Input("systems", "systems", "outputs of each system", required=True), _REFS, _SOURCES)
SEGMENTS = (Input("hyps", "texts", "outputs of one system, one per segment", required=True), _REFS, _SOURCES)
CANDIDATES = (Input("candidates", "groups", "candidates of each segment", required=True), _REFS, _SOURCES)
DOCUMENTS = (Input("systems", "systems", "documents by system name", required=True), _REFS)
LISTS = (
    Input("a", "texts", "hypotheses, one row each", required=True),
    Input("b", "texts", "references or sources, one column each (default: the same texts)"),
)
PAIR = (
    Input("hyp", "text", "system output", required=True),
    Input("ref", "text-or-several", "reference, or several"),
    Input("source", "text", "source text"),
)


def load(reference: Any) -> Any:
    """Import the object of `module:name`; return other objects unchanged."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A function of the library, with everything that its interfaces need.

    Function, options and result may be given as `module:name`; they are imported when they are first used, so that
    listing the operations imports none of them.
    """

    name: str
    """Name of the command and of the service endpoints; client methods have the name of the function."""
    function: Callable[..., Any] | str
    inputs: tuple[Input, ...]
    result: type[Result] | str
    help: str
    """One line: an imperative phrase."""
    options: tuple[type[OptionSet] | str, ...] = ()
    metric: Literal["one", "several", "none"] = "one"
    """Number of metrics."""
    group: str = ""
    """The group of its command, such as `study`."""
    at_once: bool = True
    """Whether the service also answers without a job."""
    pairs: Callable[..., int] | str | None = None
    """Function that counts the compared pairs of texts, if there are more than one per segment."""
    command: bool | str = True
    """Whether a command follows from this. `module:name` names a function that changes it: it takes the `Command`
    that follows, and returns another one."""
    example: str = ""
    """Example for the help of the command."""
    without: tuple[str, ...] = ()
    """Options of a run, or of its option sets, that it does not support."""

    def __post_init__(self) -> None:
        if self.inputs not in (SYSTEMS, SEGMENTS, CANDIDATES, DOCUMENTS, LISTS, PAIR):
            msg = f"operation {self.name!r}: inputs must be SYSTEMS, SEGMENTS, CANDIDATES, DOCUMENTS, LISTS or PAIR"
            raise RecipeError(msg)
        if self.command and (self.inputs == PAIR or self.group not in GROUPS):
            fix = "set command=False" if self.inputs == PAIR else f"use one of {', '.join(map(repr, GROUPS))}"
            what = "a pair of texts" if self.inputs == PAIR else f"the group {self.group!r}"
            msg = f"operation {self.name!r}: no command is possible for {what}; {fix}"
            raise RecipeError(msg)

    @property
    def spelling(self) -> str:
        """The command without `nlgauge`."""
        return f"{self.group} {self.name.removeprefix(f'{self.group}-')}".strip()

    def check_command(self, others: Collection[str]) -> None:
        """Refuse a command that already exists."""
        if self.spelling in others:
            msg = (
                f"operation {self.name!r}: 'nlgauge {self.spelling}' already exists; give the operation another "
                "name or group, or uninstall its package"
            )
            raise RecipeError(msg)

    @property
    def call(self) -> Callable[..., Any]:
        """The function."""
        function: Callable[..., Any] = load(self.function)
        return function

    @property
    def result_class(self) -> type[Result]:
        """The class of the function's result."""
        result: type[Result] = load(self.result)
        return result

    @property
    def default_metric(self) -> Any:
        """The function's default metric."""
        parameter = inspect.signature(self.call).parameters.get("metric")
        return (parameter.default if parameter is not None and parameter.default is not parameter.empty else "") or (
            "bertscore"
        )

    @property
    def option_sets(self) -> tuple[type[OptionSet], ...]:
        """The option sets of the operation."""
        return tuple(map(load, self.options))

    @property
    def method(self) -> str:
        """The name of the function and of the client method."""
        function = self.function
        return function.rpartition(":")[2] if isinstance(function, str) else function.__name__

    @property
    def request_options(self) -> dict[str, Option]:
        """The options that a service request may set, in addition to those of the metric.

        Options about files and output are excluded, and options that need them (`Option.needs`).
        """
        from nlgauge.core.run_options import RunOptions  # listing operations does not need it

        sets: tuple[type[OptionSet], ...] = (
            self.option_sets if self.metric == "none" else (*self.option_sets, RunOptions)
        )
        options = {name: entry for group in sets for name, entry in group.options().items()}
        offered = {
            name: entry
            for name, entry in options.items()
            if not entry.local and not entry.kind.names_file and name not in self.without
        }
        return {name: entry for name, entry in offered.items() if not entry.needs or entry.needs in offered}

    def places(self, inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield all texts of a call, each with its location."""
        for entry in self.inputs:
            yield from entry.places(inputs.get(entry.name))

    def count_pairs(self, inputs: Mapping[str, Any]) -> int:
        """Count the pairs of texts that a call compares, 0 if it does not define this."""
        count = load(self.pairs)
        return 0 if count is None else count(**{entry.name: inputs.get(entry.name) for entry in self.inputs})


@cache
def added_operations() -> tuple[Operation, ...]:
    """Load the operations of installed packages."""
    from importlib.metadata import entry_points  # slow, and most commands do not need it

    loaded = []
    for point in entry_points(group="nlgauge.operations"):
        operation = point.load()
        if not isinstance(operation, Operation):
            msg = f"the entry point {point.name!r} of nlgauge.operations must be an Operation, got {operation!r}"
            raise RecipeError(msg)
        loaded.append(operation)
    return tuple(loaded)


def check_names(operations: Sequence[Operation]) -> None:
    """Refuse operations or functions with the same name."""
    for names in ([operation.name for operation in operations], [operation.method for operation in operations]):
        for name in names:
            if names.count(name) > 1:
                msg = f"two operations are named {name!r}; uninstall one of their packages"
                raise RecipeError(msg)
