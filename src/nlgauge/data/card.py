"""What is known about a data set: where it is published, what it holds, which options its loader takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nlgauge.data.known_files import KNOWN_FILES, FileSet
from nlgauge.data.options import OptionKind, check_option, option_kinds, parse_option
from nlgauge.data.table import JudgementTable
from nlgauge.errors import RecipeError

__all__ = ["DataCard"]

#: Values that a card fixes and a user may still change.
_SWITCHES = {"level", "detokenise"}


@dataclass(frozen=True)
class DataCard:
    """A data set known by name.

    `rows` counts its table per language pair; `folders` are where it may lie in a path. A card that is `generic`
    stands for a layout: the folder or file gives its name.
    """

    name: str
    title: str
    gold: str
    published: str
    citation: str
    loader: Callable[..., JudgementTable]
    rows: Mapping[str, int] = field(default_factory=dict)
    folders: tuple[str, ...] = ("",)
    licence: str = "see the publisher"
    pitfall: str = ""
    check_options: Mapping[str, Any] = field(default_factory=dict)
    generic: bool = False
    texts: bool = True
    """False where it has scores of metrics only: there is nothing to score."""
    whole_texts: bool = False
    """Whether a row is a whole document, such as a summary, where the data does not say of which document it is."""

    @property
    def files(self) -> tuple[FileSet, ...]:
        """What its files are called, with their digests."""
        return KNOWN_FILES.get(self.name, ())

    @property
    def options(self) -> Mapping[str, OptionKind]:
        """What `load` takes for this data set, besides `langpairs`, with the kind of value of each."""
        fixed = self.loader.keywords if isinstance(self.loader, partial) else {}
        # A fixed value is the data set's own; only switches among them are for users.
        hidden = {"langpairs", *(set(fixed) - _SWITCHES)}
        return {name: kind for name, kind in option_kinds(self.loader).items() if name not in hidden}

    def parse_options(self, texts: Iterable[str]) -> dict[str, Any]:
        """Options from texts `KEY=VALUE`, each read as its kind says."""
        found: dict[str, Any] = {}
        for text in texts:
            key, equals, value = text.partition("=")
            if not equals or not key:
                msg = f"an option of {self.name} is KEY=VALUE, got {text!r}"
                raise RecipeError(msg)
            self._check_known(key)
            if key in found:
                msg = f"option {key!r} is given twice, again as {text!r}; put several names between commas"
                raise RecipeError(msg)
            found[key] = parse_option(key, self.options[key], value)
        return found

    def check_given(self, options: Mapping[str, Any]) -> None:
        """Refuse an option that the data set does not have, or a value of another kind."""
        for name, value in options.items():
            self._check_known(name)
            check_option(name, self.options[name], value)

    def _check_known(self, option: str) -> None:
        if option not in self.options:
            known = ", ".join(["langpairs", *self.options])
            msg = f"{self.name} takes no option {option!r}; it takes: {known}"
            raise RecipeError(msg)
