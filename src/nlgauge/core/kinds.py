"""Kinds of option values: how each is read from text, checked, and written in a signature.

`--help`, messages, signatures, request models and documentation use the kind of an option, so its values are listed
only once. A kind also tells whether its values are files to read or to write. Kinds that load a file, such as a model
or an idf table, are resources (`core/resources.py`).
"""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from nlgauge.errors import did_you_mean


class Kind(ABC):
    """Values of one kind."""

    metavar: ClassVar[str] = "NAME"
    """Default name of a value in help."""

    @property
    def names_file(self) -> bool:
        """Whether the values are files or folders."""
        return False

    @property
    @abstractmethod
    def values(self) -> str:
        """Description of the values, for messages of the form "must be ..."."""

    def problem(self, value: Any, more: str = "") -> str:
        """The reason why a value is invalid, for a message after the name of the option; `more` names more values."""
        return f"must be {self.values}{more}, got {value!r}"

    def parse(self, text: str) -> Any:
        """Parse text; raise ValueError if it is invalid."""
        return text

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return the value as a recipe stores it; raise ValueError if it is invalid."""

    def show(self, value: Any) -> str:
        """Format the value for a signature."""
        return str(value)

    def read(self, name: str, text: str) -> dict[str, str]:
        """Convert a signature field back to options, the inverse of `show`."""
        return {name: text}

    def words_of(self) -> tuple[str, ...]:
        """Values listed in help."""
        return ()

    def completions(self) -> tuple[str, ...]:
        """Values for shell completion."""
        return self.words_of()


class Choice(Kind):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def values(self) -> str:
        """The words."""
        return joined_by_or(self.words) if len(self.words) < 3 else f"one of {', '.join(self.words)}"

    def check(self, value: Any) -> str:
        """One of the words; True and False stand for yes and no."""
        if isinstance(value, bool) and {"yes", "no"} <= set(self.words):
            return "yes" if value else "no"
        if not isinstance(value, str) or value not in self.words:
            raise ValueError
        return value

    def words_of(self) -> tuple[str, ...]:
        """The words."""
        return self.words


@dataclass(eq=False)
class Pattern(Kind):
    """A word of a certain form, such as `layer-4`."""

    pattern: str
    values: str = ""

    def check(self, value: Any) -> str:
        """A text of the form."""
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise ValueError
        return value


@dataclass(eq=False)
class Text(Kind):
    """Any text, such as the name of a model; a path is taken as its text."""

    values: str = "a text"
    _: KW_ONLY
    empty: bool = False
    lower: bool = False
    known: Callable[[], Iterable[str]] | None = None
    """Texts for completion that are too many for help."""

    def check(self, value: Any) -> str:
        """The text."""
        text = as_text(value)
        if not text and not self.empty:
            raise ValueError
        return text.lower() if self.lower else text

    def completions(self) -> tuple[str, ...]:
        """Words of help, or the known texts."""
        return self.words_of() if self.known is None else tuple(self.known())


@dataclass(eq=False)
class Int(Kind):
    """A whole number, or a word (stored as None) that stands for a default."""

    metavar: ClassVar[str] = "N"
    least: int
    most: int | None = None
    _: KW_ONLY
    word: str = ""
    note: str = ""
    also: Sequence[str] = ()
    """Words that are also values."""

    @property
    def values(self) -> str:
        """The range and the words."""
        top = "" if self.most is None else f" to {self.most}"
        number = f"a whole number from {self.least}{top}{f' ({self.note})' if self.note else ''}"
        return joined_by_or([number, *(repr(word) for word in (*self.also, self.word) if word)])

    def parse(self, text: str) -> int | str | None:
        """A number, or the word."""
        if text == self.word:
            return None
        return text if text in self.also else int(text)

    def check(self, value: Any) -> int | str | None:
        """The number as a plain int."""
        if (value is None and self.word) or (isinstance(value, str) and value in self.also):
            return value
        if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < self.least:
            raise ValueError
        if self.most is not None and value > self.most:
            raise ValueError
        return int(value)

    def show(self, value: int | str | None) -> str:
        """The number or the word."""
        return self.word if value is None else str(value)


@dataclass(eq=False)
class Float(Kind):
    """A finite number in a range; `low` and `most` belong to it, `above` and `below` do not."""

    metavar: ClassVar[str] = "X"
    low: float = -math.inf
    below: float = math.inf
    _: KW_ONLY
    above: float = -math.inf
    most: float = math.inf
    unit: str = ""

    @property
    def values(self) -> str:
        """The range."""
        lower = f"from {self.low:g}" if math.isfinite(self.low) else ""
        lower = f"above {self.above:g}" if math.isfinite(self.above) else lower
        upper = f"below {self.below:g}" if math.isfinite(self.below) else ""
        if math.isfinite(self.most):
            lower = f"{lower} and at most {self.most:g}" if math.isfinite(self.above) else f"{lower} to {self.most:g}"
        ends = [end for end in (lower, upper) if end]
        number = f"a number of {self.unit}" if self.unit else "a number"
        return " ".join([number, ", ".join(ends)]) if ends else "a finite number"

    def parse(self, text: str) -> float:
        """A number."""
        return float(text)

    def check(self, value: Any) -> float:
        """The number as a plain float."""
        if isinstance(value, bool | str) or not math.isfinite(value):
            raise ValueError
        if not self.low <= value < self.below or value <= self.above or value > self.most:
            raise ValueError
        return float(value)

    def show(self, value: float) -> str:
        """The shortest text that parses to the same number."""
        short = f"{value:g}"
        return short if float(short) == value else repr(value)


class Flag(Kind):
    """Yes or no."""

    @property
    def values(self) -> str:
        """Both values."""
        return "True or False"

    def parse(self, text: str) -> bool:
        """From the words of a signature or a settings file."""
        words = {"yes": True, "no": False, "true": True, "false": False}
        if text.lower() not in words:
            raise ValueError
        return words[text.lower()]

    def check(self, value: Any) -> bool:
        """A plain bool; numpy's and 0 and 1 count."""
        if value not in (True, False) or isinstance(value, float):
            raise ValueError
        return bool(value)

    def show(self, value: bool) -> str:
        """As in other fields of a signature."""
        return "yes" if value else "no"


@dataclass(eq=False)
class Many(Kind):
    """Several values of one kind, kept as a tuple.

    A flag with `again` may be given several times, and one with `empty` without a value.
    """

    kind: Kind
    _: KW_ONLY
    least: int = 0
    most: int | None = None
    again: bool = False
    empty: bool = False

    @property
    def metavar(self) -> str:  # type: ignore[override]  # a constant of other kinds
        """The metavar of one value."""
        return self.kind.metavar

    @property
    def values(self) -> str:
        """The number of values and their kind."""
        if self.most is None:
            return f"one or more: {self.kind.values.removeprefix('one of ')}"
        return f"{self.most} values, each {self.kind.values}" if self.most > 1 else f"one value: {self.kind.values}"

    def problem(self, value: Any, more: str = "") -> str:
        """Name the first invalid value, and the closest valid one."""
        if not isinstance(value, Iterable):
            return f"must be a list, got {value!r}"
        items = [value] if isinstance(value, str) else list(value)
        for item in items:
            try:
                self.kind.check(self.kind.parse(item) if isinstance(item, str) else item)
            except (ValueError, TypeError):
                words = self.words_of()
                valid = f"choose from {', '.join(words)}" if words else f"each value must be {self.kind.values}"
                hint = did_you_mean(item, words) if isinstance(item, str) else ""
                return f"does not accept {item!r}; {valid}{more}{hint}"
        number = self.least if self.most is None else self.most
        count = "one value" if number == 1 else f"{number} values"
        return f"must be {'at least ' if self.most is None else ''}{count}, got {len(items)}"

    def parse(self, text: str) -> tuple[Any, ...]:
        """One value is a list of one."""
        return (self.kind.parse(text),)

    def check(self, value: Any) -> tuple[Any, ...]:
        """Each value checked."""
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise TypeError
        items = tuple(self.kind.check(self.kind.parse(item) if isinstance(item, str) else item) for item in value)
        if len(items) < self.least or (self.most is not None and len(items) > self.most):
            raise ValueError
        return items

    def show(self, value: Sequence[Any]) -> str:
        """Joined by +."""
        return "+".join(self.kind.show(item) for item in value)

    def words_of(self) -> tuple[str, ...]:
        """As for one value."""
        return self.kind.words_of()

    @property
    def names_file(self) -> bool:
        """Whether the values are files."""
        return self.kind.names_file

    def completions(self) -> tuple[str, ...]:
        """As for one value."""
        return self.kind.completions()


class _Path(Text):
    names_file = True


@dataclass(eq=False)
class InputFile(_Path):
    """A file that is read."""

    metavar: ClassVar[str] = "FILE"
    values: str = "a file"


@dataclass(eq=False)
class TextColumn(InputFile):
    """Texts in a file: one per line, or a column of a table."""

    values: str = "FILE, FILE.tsv:COLUMN, FILE.csv:COLUMN, FILE.jsonl:KEY or -"


@dataclass(eq=False)
class OutputFile(_Path):
    """A file that is written."""

    metavar: ClassVar[str] = "FILE"
    values: str = "a file to write"


@dataclass(eq=False)
class FigureFile(OutputFile):
    """A figure that is drawn."""

    values: str = "a file .png, .svg or .pdf"


@dataclass(eq=False)
class Folder(_Path):
    """A folder."""

    metavar: ClassVar[str] = "FOLDER"
    values: str = "a folder"

    def check(self, value: Any) -> str:
        """A path without a NUL character."""
        text = super().check(value)
        if "\0" in text:
            raise ValueError
        return text


class NameList(Kind):
    """Some names of a list, each once, joined by +; or `all`."""

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


@dataclass(eq=False)
class NumberList(Kind):
    """Numbers joined by +, or a word that stands for some."""

    _: KW_ONLY
    word: str = ""
    finite: bool = True

    @property
    def values(self) -> str:
        """The numbers or the word."""
        numbers = "numbers" if self.finite else "numbers, inf or -inf,"
        return joined_by_or([*([repr(self.word)] if self.word else []), f"{numbers} joined by +"])

    def check(self, value: Any) -> str:
        """The text, if its numbers are valid."""
        text = as_text(value)
        if text != self.word or not text:
            for number in map(float, text.split("+")):
                if math.isnan(number) or (self.finite and math.isinf(number)):
                    raise ValueError
        return text


def joined_by_or(words: Sequence[str]) -> str:
    """Join words for a sentence.

    >>> joined_by_or(["v1", "v2", "web"])
    'v1, v2 or web'
    """
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def as_text(value: Any) -> str:
    """Convert a path to a string."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError
    return text
