"""Options: each is declared once, with everything that is known about it.

    idf: str = option("none", IdfChoice("none", "refs", "both"), help="weights of tokens")

Parsing, checks and their messages, flags and help of the command line, request models of the service, fields of
signatures and the tables in the documentation are derived from it. Options of a metric are fields of its recipe
(`core/metric.py`); those of a run, a study, a command or the service are fields of an `OptionSet`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from nlgauge.core.kinds import Int, Kind
from nlgauge.errors import RecipeError, did_you_mean

if TYPE_CHECKING:
    from typing_extensions import Self

_KEY = "option"


class _ByProfile:
    """The value of an option that the profile sets when the recipe is made."""

    def __repr__(self) -> str:
        return "BY_PROFILE"

    def __reduce__(self) -> str:
        return "BY_PROFILE"  # one and the same object in every process


BY_PROFILE: Any = _ByProfile()

#: The same value in text.
PROFILE_WORD = "profile"


@dataclass(frozen=True)
class Option:
    """An option."""

    name: str
    default: Any
    kind: Kind
    help: str
    signed: bool = True
    """Whether it is a field of the signature; what is not chooses something that is."""
    optional: bool = False
    """Left out of a signature where it is as usual."""
    in_profile: bool = True
    """Whether another value than usual makes it another profile, shown by a star."""
    unset: str = ""
    """What an empty default stands for, in words."""
    required: bool = False
    """Whether nothing can be computed with the default."""
    needs: str = ""
    """Another option, or the flag of an input, without which this one means nothing."""
    hidden: bool = False
    """Whether only `--help-all` shows its flag."""
    flag: str = ""
    """A short flag, such as `-o`."""
    metavar: str = ""
    """The name of the value in help."""
    limit: float | None = None
    """The largest number that a service takes from a request."""
    local: bool = False
    """Whether it is decided where the work is done: a service sets it, not a request."""
    positional: bool = False
    """Whether a command takes the value without a flag."""
    project: bool = False
    """Whether the settings file of a project may set it."""

    @property
    def values(self) -> str:
        """The values in words."""
        return self.kind.values

    @property
    def default_text(self) -> str:
        """The default in words."""
        if self.default is BY_PROFILE:
            return "the profile's"
        if self.default is None:
            return str(getattr(self.kind, "word", "")) or "none"
        return self.kind.show(self.default) or self.unset or "none"

    def parse(self, value: Any) -> Any:
        """Parse a value if it is text."""
        if self.default is BY_PROFILE and isinstance(value, str) and value == PROFILE_WORD:
            return BY_PROFILE
        try:
            return self.kind.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            raise self.refusal(value) from error

    def check(self, value: Any, *, metric: str = "") -> Any:
        """Return the value as a recipe stores it, or raise an error that names the valid values."""
        try:
            return self.kind.check(self.kind.parse(value) if isinstance(value, str) else value)
        except (ValueError, TypeError) as error:
            raise self.refusal(value, metric=metric) from error

    def refusal(self, value: Any, *, metric: str = "") -> RecipeError:
        """The error for an invalid value."""
        name = f"option {self.name!r} of {metric}" if metric else self.name
        return RecipeError(f"{name} {self.problem(value)}")

    def problem(self, value: Any) -> str:
        """The reason why a value is invalid, without the name."""
        more = f", or {PROFILE_WORD!r} for the profile's" if self.default is BY_PROFILE else ""
        return self.kind.problem(value, more)


def option(default: Any, kind: Kind, *, help: str, **about: Any) -> Any:  # noqa: A002 - as argparse has it
    """A field of a recipe or of an `OptionSet` that can be set from text: `bertscore:layer=4`, `--layer 4`.

    Further keywords are fields of `Option`.
    """
    return field(default=default, metadata={_KEY: Option("", default, kind, help, **about)})


def options_of(entries: Iterable[Field[Any]]) -> dict[str, Option]:
    """Collect the options of dataclass fields by name."""
    options = {}
    for entry in entries:
        if (declared := entry.metadata.get(_KEY)) is not None:
            default = declared.default if entry.default is MISSING else entry.default
            options[entry.name] = replace(declared, name=entry.name, default=default)
    return options


def seed_option(default: int = 12345, *, needs: str = "") -> Any:
    """The option `seed`, shared by everything that draws random numbers."""
    return option(default, Int(0), help="random seed", hidden=True, needs=needs, limit=2**32 - 1)


@dataclass(frozen=True, kw_only=True)
class OptionSet:
    """Base of frozen dataclasses whose fields are options."""

    called: ClassVar[str] = "options"
    """Name of the options in messages and help."""
    flag_names: ClassVar[Mapping[str, str]] = {}
    """Flag names that differ from option names."""

    @classmethod
    @cache
    def options(cls) -> Mapping[str, Option]:
        """The options by name, in the order of their declaration."""
        return MappingProxyType(options_of(fields(cls)))

    @classmethod
    def flag_of(cls, name: str) -> str:
        """The flag of an option on the command line."""
        return f"--{cls.flag_names.get(name, name).replace('_', '-')}"

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Build from keywords; text is parsed, and unknown names are errors."""
        options = cls.options()
        for name in values:
            if name not in options:
                msg = f"unknown option {name!r}; {cls.called} are: {', '.join(options)}{did_you_mean(name, options)}"
                raise RecipeError(msg)
        return cls(**values)

    @classmethod
    def take(cls, options: dict[str, Any]) -> Self:
        """Build from keywords, and remove those that were used."""
        return cls.of({name: options.pop(name) for name in cls.options() if name in options})

    def with_options(self, **changes: Any) -> Self:
        """Copy with other values."""
        return self.of({name: getattr(self, name) for name in self.options()} | changes) if changes else self

    def __post_init__(self) -> None:
        for name, entry in self.options().items():
            value = getattr(self, name)
            if value is not None or entry.default is not None:
                object.__setattr__(self, name, entry.check(value))
        self.check()

    def check(self) -> None:
        """Refuse conflicting values."""

    def signed(self) -> dict[str, str]:
        """Format the options that are signed; options that need an unset option are left out."""
        return {
            name: entry.kind.show(getattr(self, name))
            for name, entry in self.options().items()
            if entry.signed and getattr(self, name) is not None and (not entry.needs or getattr(self, entry.needs))
        }

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain JSON values."""
        values = {name: getattr(self, name) for name in self.options()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
