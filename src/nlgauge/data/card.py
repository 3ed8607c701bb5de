"""The card of a data set: where it is published, what it holds, its files, and the options of its loader.

An option has the kind of value that the loader takes:

flag      bool            true, yes, on or 1; false, no, off or 0
number    int             a whole number
name      str             one name
names     str, several    names between commas; nothing after `=` is none
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import RecipeError
from nlgauge.io.toml_records import build_record, read_entries

OptionKind: TypeAlias = Literal["flag", "number", "name", "names"]

_FLAGS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def option_kinds(loader: Callable[..., Any]) -> dict[str, OptionKind]:
    """The kind of each keyword of a loader, by name."""
    hints = get_type_hints(loader)
    return {name: _kind(hints[name]) for name in list(inspect.signature(loader).parameters)[1:]}


def _kind(hint: Any) -> OptionKind:
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if bool in kinds:
        return "flag"
    if int in kinds:
        return "number"
    return "names" if any(get_origin(one) is not None for one in kinds) else "name"


def parse_option(name: str, kind: OptionKind, text: str) -> Any:
    """The value that a text such as that of `--set NAME=TEXT` stands for; one that is not understood is refused."""
    if kind == "flag":
        if text.lower() not in _FLAGS:
            msg = f"{name} must be true or false (yes or no, on or off), got {text!r}"
            raise RecipeError(msg)
        return _FLAGS[text.lower()]
    if kind == "number":
        if not (text.isascii() and text.isdigit()):
            msg = f"{name} must be a whole number, got {text!r}"
            raise RecipeError(msg)
        return int(text)
    if kind == "names":
        return tuple(text.split(",")) if text else ()
    if not text or "," in text:
        msg = f"{name} must be one name, got {text!r}"
        raise RecipeError(msg)
    return text


def check_option(name: str, kind: OptionKind, value: Any) -> None:
    """Refuse a value of another kind: the text "no" would count as true."""
    if kind == "flag" and not isinstance(value, bool):
        msg = f"{name} must be True or False, got {value!r}"
        raise RecipeError(msg)
    if kind == "number" and (not isinstance(value, int) or isinstance(value, bool)):
        msg = f"{name} must be a whole number, got {value!r}"
        raise RecipeError(msg)


@dataclass(frozen=True)
class FileSet:
    """Files that belong together: an entry of known_files.toml, which explains the fields.

    `files` is None for any number of them.
    """

    pattern: str
    files: int | None = 1
    digest: str = ""
    shared: bool = False


@cache
def known_files() -> Mapping[str, tuple[FileSet, ...]]:
    """The files of known_files.toml by data set."""
    path = Path(__file__).with_name("known_files.toml")
    return {
        name: tuple(_read_file_set(entry, where=f"{path.name}: {name}") for entry in entries)
        for name, entries in read_entries(path).items()
    }


def _read_file_set(entry: Any, *, where: str) -> FileSet:
    if isinstance(entry, dict) and entry.get("files") == "any":  # TOML has no null
        rest = {key: value for key, value in entry.items() if key != "files"}
        return build_record(FileSet, rest, where=where, files=None)
    return build_record(FileSet, entry, where=where)


@dataclass(frozen=True, kw_only=True)
class DataCard:
    """A data set known by name: an entry of cards.toml, which explains the fields."""

    name: str
    title: str
    gold: str
    published: str
    citation: str
    loader: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    folders: tuple[str, ...] = ("",)
    licence: str = "see the publisher"
    pitfall: str = ""
    check_options: Mapping[str, Any] = field(default_factory=dict)
    generic: bool = False
    texts: bool = True
    whole_texts: bool = False

    @property
    def files(self) -> tuple[FileSet, ...]:
        """What its files are called, with their digests."""
        return known_files().get(self.name, ())

    def import_loader(self) -> Callable[..., JudgementTable]:
        """The loader, imported only now: to list data sets takes none."""
        module, _, function = self.loader.partition(":")
        loader: Callable[..., JudgementTable] = getattr(import_module(f"nlgauge.data.loaders.{module}"), function)
        return loader

    def read(self, path: Path, **options: Any) -> JudgementTable:
        """The table of the files at a path."""
        return self.import_loader()(path, **{**self.defaults, **self.fixed, **options})

    @property
    def options(self) -> Mapping[str, OptionKind]:
        """What `load` takes for this data set, besides `langpairs`, with the kind of value of each."""
        hidden = {"langpairs", *self.fixed, *self.hidden}
        return {name: kind for name, kind in option_kinds(self.import_loader()).items() if name not in hidden}

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
