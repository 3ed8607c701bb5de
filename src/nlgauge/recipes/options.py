"""Options of a recipe: each says all there is to know about it, once.

    idf: str = option("none", IdfChoice("none", "refs", "both"), help="weights of tokens", short="i")

Parsing, checks and their messages, flags and help of the command line, fields of a signature in and out, what the
short signature calls them, and the tables in the documentation follow from it.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, field
from typing import Any

from nlgauge.errors import RecipeError
from nlgauge.recipes.kinds import Kind

__all__ = ["BY_PROFILE", "Option", "option"]

_KEY = "option"


class _ByProfile:
    """The value of an option that is left to the profile, until the recipe is made."""

    def __repr__(self) -> str:
        return "BY_PROFILE"

    def __reduce__(self) -> str:
        return "BY_PROFILE"  # one and the same object in every process


BY_PROFILE: Any = _ByProfile()

#: How text says the same.
PROFILE_WORD = "profile"


@dataclass(frozen=True)
class Option:
    """What is known about an option."""

    name: str
    default: Any
    kind: Kind
    help: str
    short: str = ""
    """In a short signature."""
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
        """A value, parsed where it is text."""
        if self.default is BY_PROFILE and isinstance(value, str) and value == PROFILE_WORD:
            return BY_PROFILE
        try:
            return self.kind.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            raise self.refusal(value) from error

    def check(self, value: Any) -> Any:
        """The value as a recipe keeps it, or an error that names option, values and value."""
        try:
            return self.kind.check(self.kind.parse(value) if isinstance(value, str) else value)
        except (ValueError, TypeError) as error:
            raise self.refusal(value) from error

    def refusal(self, value: Any) -> RecipeError:
        """What to raise for a value that is none."""
        more = f", or {PROFILE_WORD!r} for the profile's" if self.default is BY_PROFILE else ""
        return RecipeError(f"{self.name} must be {self.values}{more}, got {value!r}")


def option(
    default: Any,
    kind: Kind,
    *,
    help: str,  # noqa: A002 - as argparse has it
    short: str = "",
    signed: bool = True,
    optional: bool = False,
    in_profile: bool = True,
    unset: str = "",
    required: bool = False,
) -> Any:
    """A field of a recipe that can be set from text: `bertscore:layer=4`, `--layer 4`."""
    about = Option("", default, kind, help, short, signed, optional, in_profile, unset, required)
    return field(default=default, metadata={_KEY: about})


def option_of(entry: Field[Any]) -> Option | None:
    """The option behind a field of a dataclass, with its name."""
    about = entry.metadata.get(_KEY)
    if about is None:
        return None
    default = about.default if entry.default is MISSING else entry.default
    values = {name: getattr(about, name) for name in about.__dataclass_fields__}
    return Option(**(values | {"name": entry.name, "default": default}))
