"""Options of a recipe: each is described once, with the values it takes.

    idf: str = option("none", IdfChoice("none", "refs", "both"), help="weights of tokens", short="i")

Parsing, checks and their messages, flags and help of the command line, fields of a signature in and out, what the
short signature calls them, and the tables in the documentation follow from it.

A `Kind` is how values are read from text, checked, and written in a signature, so nothing else lists the values
again. A file or a model that an option names is a kind of its own (`core/resources.py`).
"""

from __future__ import annotations

import difflib
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field
from typing import Any

from nlgauge.errors import RecipeError

__all__ = [
    "BY_PROFILE",
    "Choice",
    "JoinedNames",
    "JoinedNumbers",
    "Kind",
    "Number",
    "Option",
    "Pattern",
    "Text",
    "Whole",
    "did_you_mean",
    "joined_by_or",
    "option",
]


#: Letters that the start of a name must have to stand for it.
_LEAST_START = 3


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to put behind a message, or nothing where no known name is near or starts alike.

    >>> did_you_mean("bertscor", ["bertscore", "bleu"])
    "; did you mean 'bertscore'?"
    >>> did_you_mean("mover", ["moverscore", "xmoverscore"])
    "; did you mean 'moverscore'?"
    """
    spellings = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), spellings, n=1, cutoff=0.7)
    if not near and len(name) >= _LEAST_START:
        near = [one for one in spellings if one.startswith(name.casefold())]
    return f"; did you mean {spellings[near[0]]!r}?" if near else ""


class Kind(ABC):
    """Values of one kind."""

    @property
    @abstractmethod
    def values(self) -> str:
        """The values in words, as they stand after "must be"."""

    def parse(self, text: str) -> Any:
        """A value from text; a ValueError where the text is none."""
        return text

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value as a recipe keeps it; a ValueError where it is none."""

    def show(self, value: Any) -> str:
        """The value in a signature."""
        return str(value)

    def read(self, name: str, text: str) -> dict[str, str]:
        """The options behind what a signature says under `name`: `show` backwards."""
        return {name: text}


class Choice(Kind):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def values(self) -> str:
        """The words."""
        return joined_by_or(self.words) if len(self.words) < 3 else f"one of {', '.join(self.words)}"

    def check(self, value: Any) -> str:
        """One of the words; True and False read well in Python where they are yes and no."""
        if isinstance(value, bool) and {"yes", "no"} <= set(self.words):
            return "yes" if value else "no"
        if not isinstance(value, str) or value not in self.words:
            raise ValueError
        return value


class Pattern(Kind):
    """A word of a certain form, such as `layer-4`."""

    def __init__(self, pattern: str, values: str) -> None:
        self._pattern = re.compile(pattern)
        self._values = values

    @property
    def values(self) -> str:
        """The forms."""
        return self._values

    def check(self, value: Any) -> str:
        """A text of the form."""
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValueError
        return value


class Text(Kind):
    """Any text, such as the name of a model; a path is taken as its text."""

    def __init__(self, values: str, *, empty: bool = False, lower: bool = False) -> None:
        self._values = values
        self._empty = empty
        self._lower = lower

    @property
    def values(self) -> str:
        """What the text says."""
        return self._values

    def check(self, value: Any) -> str:
        """The text."""
        text = as_text(value)
        if not text and not self._empty:
            raise ValueError
        return text.lower() if self._lower else text


class Whole(Kind):
    """A whole number, or a word (kept as None) that leaves the choice to something else."""

    def __init__(self, least: int, *, word: str = "", note: str = "", also: Sequence[str] = ()) -> None:
        self.least = least
        self.word = word
        self._note = note
        self._also = tuple(also)
        """Words that are values of their own."""

    @property
    def values(self) -> str:
        """The range and the words."""
        number = f"a whole number from {self.least}{f' ({self._note})' if self._note else ''}"
        return joined_by_or([number, *(repr(word) for word in (*self._also, self.word) if word)])

    def parse(self, text: str) -> int | str | None:
        """A number, or the word."""
        if text == self.word:
            return None
        return text if text in self._also else int(text)

    def check(self, value: Any) -> int | str | None:
        """The number as a plain int."""
        if (value is None and self.word) or (isinstance(value, str) and value in self._also):
            return value
        if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < self.least:
            raise ValueError
        return int(value)

    def show(self, value: int | str | None) -> str:
        """The number or the word."""
        return self.word if value is None else str(value)


class Number(Kind):
    """A finite number in a range."""

    def __init__(self, low: float = -math.inf, below: float = math.inf) -> None:
        self._low, self._below = low, below

    @property
    def values(self) -> str:
        """The range."""
        if math.isinf(self._low) and math.isinf(self._below):
            return "a finite number"
        return f"a number from {self._low:g}, below {self._below:g}"

    def parse(self, text: str) -> float:
        """A number."""
        return float(text)

    def check(self, value: Any) -> float:
        """The number as a plain float."""
        if isinstance(value, bool | str) or not math.isfinite(value) or not self._low <= value < self._below:
            raise ValueError
        return float(value)

    def show(self, value: float) -> str:
        """As short as it can be without being another number."""
        short = f"{value:g}"
        return short if float(short) == value else repr(value)


class JoinedNames(Kind):
    """Some of a list of names, each once, joined by +; or `all`."""

    def __init__(self, *names: str) -> None:
        self.names = names

    @property
    def values(self) -> str:
        """The names."""
        return f"some of {', '.join(self.names)}, each once, joined by +; or all"

    def check(self, value: Any) -> str:
        """The names, `all` spelt out."""
        if value == "all":
            return "+".join(self.names)
        chosen = as_text(value).split("+")
        if not set(chosen) <= set(self.names) or len(set(chosen)) < len(chosen):
            raise ValueError
        return "+".join(chosen)


class JoinedNumbers(Kind):
    """Numbers joined by +, or a word that stands for some."""

    def __init__(self, *, word: str = "", finite: bool = True) -> None:
        self._word = word
        self._finite = finite

    @property
    def values(self) -> str:
        """What may be joined."""
        numbers = "numbers" if self._finite else "numbers, inf or -inf,"
        return joined_by_or([*([repr(self._word)] if self._word else []), f"{numbers} joined by +"])

    def check(self, value: Any) -> str:
        """The text, its numbers looked at."""
        text = as_text(value)
        if text != self._word or not text:
            for number in map(float, text.split("+")):
                if math.isnan(number) or (self._finite and math.isinf(number)):
                    raise ValueError
        return text


def joined_by_or(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> joined_by_or(["v1", "v2", "web"])
    'v1, v2 or web'
    """
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def as_text(value: Any) -> str:
    """A string, or a path as one."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError
    return text


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
