"""Defaults of a project: `nlgauge.toml`, or `[tool.nlgauge]` in pyproject.toml.

    model = "mpnet"
    metric = ["bertscore:idf=refs", "chrf"]
    threads = 2

The first file that has any, in the current folder or one above it, counts; `NLGAUGE_CONFIG` names another one, or
`none`. A file that another user owns or may write to is not read, unless `NLGAUGE_CONFIG` names it. Settings are read
by the commands that score texts or freeze tables for scoring, never by the library: a program says what it wants. A
flag, a metric's own option and a signature come before them, and what they chose is in the signature like any other
choice. Commands that recompute a published table (`study reproduce`), bring languages together (`align`,
`build means`, `build bounds`) or run for others (`serve`) do not read them: there the model is named by a paper, is
one across languages, or is the operator's choice.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nlgauge.apps.cli.flags import set_option
from nlgauge.core.options import did_you_mean
from nlgauge.core.registry import metric_class, metric_name, split_recipe
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.formats import toml_content

_KEYS = ("model", "metric", "threads")


@dataclass(frozen=True)
class Settings:
    """What a file says; None is what it leaves open."""

    name: str
    model: str | None = None
    metric: tuple[str, ...] | None = None
    threads: int | None = None

    @classmethod
    def of(cls, content: Any, *, name: str) -> Settings:
        """From the keys of a file, each checked."""
        if not isinstance(content, dict):
            msg = f"{name}: expected keys {', '.join(_KEYS)}, got {content!r}"
            raise FileFormatError(msg)
        for key in content:
            if key not in _KEYS:
                hint = "; [tool.nlgauge] is for pyproject.toml" if key == "tool" else did_you_mean(key, _KEYS)
                msg = f"{name}: unknown key {key!r}; there are {', '.join(_KEYS)}{hint}"
                raise RecipeError(msg)
        model, metrics, threads = (content.get(key) for key in _KEYS)
        metrics = [metrics] if isinstance(metrics, str) else metrics
        texts = isinstance(metrics, list) and bool(metrics) and all(isinstance(one, str) for one in metrics)
        whole = isinstance(threads, int) and not isinstance(threads, bool) and threads > 0
        for key, value, fits, expected in (
            ("model", model, isinstance(model, str) and bool(model), "the name of a model"),
            ("metric", metrics, texts, "a metric or a list of metrics"),
            ("threads", threads, whole, "a whole number from 1"),
        ):
            if value is not None and not fits:
                msg = f"{name}: {key} must be {expected}, got {value!r}"
                raise RecipeError(msg)
        return cls(name, model, None if metrics is None else tuple(metrics), threads)


def find_settings(folder: Path) -> Settings | None:
    """The settings that hold in a folder, or None."""
    named = os.environ.get("NLGAUGE_CONFIG", "")
    if named:
        return None if named.lower() == "none" else _read(Path(named))
    for place in (folder, *folder.parents):
        for name in ("nlgauge.toml", "pyproject.toml"):
            path = place / name
            if path.is_file() and _is_trusted(path) and (found := _read(path)) is not None:
                return found
    return None


def _is_trusted(path: Path) -> bool:
    """Whether nobody but this user, or root, can have written a file; one that others may have written is named.

    Settings choose the model, and a folder above the current one may be anybody's, such as /tmp. Groups are trusted:
    many systems give each user one of their own.
    """
    if not hasattr(os, "getuid"):
        return True  # Windows
    try:
        entry, content, folder = path.lstat(), path.stat(), path.parent.stat()
    except OSError:
        return True  # whoever reads it says what is wrong with it
    mine = (os.getuid(), 0)
    replaceable = folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX
    if entry.st_uid not in mine or content.st_uid not in mine:
        reason = "it belongs to another user"
    elif content.st_mode & stat.S_IWOTH or replaceable:
        reason = "other users may write to it, or to its folder"
    else:
        return True
    if path.name == "nlgauge.toml" or _mentions_nlgauge(path):
        # Also with --quiet: what is left out here may change the model.
        what = f"{str(path)!r} was not read, because {reason}; to use it, set NLGAUGE_CONFIG to its path"
        print(f"nlgauge: warning: {what}", file=sys.stderr)
    return False


def _mentions_nlgauge(path: Path) -> bool:
    """Whether a project file may have settings of nlgauge."""
    try:
        return b"tool.nlgauge" in path.read_bytes()
    except OSError:
        return False


def _read(path: Path) -> Settings | None:
    """What a file says; None for a project file that says nothing about nlgauge."""
    project = path.name == "pyproject.toml"
    try:
        text = path.read_text(encoding="utf-8")
        if project and "nlgauge" not in text:
            return None
        content = toml_content(text)
    except FileNotFoundError as error:
        msg = f"no such file: {str(path)!r}, which NLGAUGE_CONFIG names"
        raise InputError(msg) from error
    except (OSError, ValueError) as error:  # that of TOML is a ValueError
        msg = f"{str(path)!r} cannot be read: {error}"
        raise FileFormatError(msg) from error
    if project:
        tool = content.get("tool")
        if not isinstance(tool, dict) or "nlgauge" not in tool:
            return None
        content = tool["nlgauge"]
    found = Settings.of(content, name=path.name)
    return replace(found, model=_beside(path, found.model))


def _beside(path: Path, model: str | None) -> str | None:
    """The model; a folder that is written as a path (./mine) lies beside the file, wherever the command is given."""
    folder = path.parent.resolve()
    if model is None or not model.startswith(("./", "../")) or folder == Path.cwd().resolve():
        return model
    return str(folder / model)


def apply_settings(args: argparse.Namespace) -> None:
    """Set the options that a settings file may set and the command line left open, and say so on stderr."""
    options = [name for name, entry in getattr(args, "declared", {}).items() if entry.project]
    if not options or (settings := find_settings(Path.cwd())) is None:
        return
    values: dict[str, Any] = {}
    if _computes_scores(args):
        if "metric" in options and settings.metric is not None and "metric" not in args.given:
            values["metric"] = settings.metric[: args.declared["metric"].kind.most]
        metrics = values.get("metric") or getattr(args, "metric", None) or ("bertscore",)
        if "model" in options and settings.model is not None and _leaves_model_open(args, metrics):
            values["model"] = settings.model
    if settings.threads is not None and "threads" in args.declared and "threads" not in args.given:
        values["threads"] = settings.threads
    for name, value in values.items():
        set_option(args, name, value)
    if values and not getattr(args, "quiet", False):
        print(f"nlgauge: {settings.name}: {_describe(values, settings)}", file=sys.stderr)


def _describe(values: Mapping[str, Any], settings: Settings) -> str:
    """What a settings file chose, for the user to see."""
    texts = {name: str(value) for name, value in values.items()}
    if "metric" in values:
        more = f" (the first of {len(settings.metric or ())})" if values["metric"] != settings.metric else ""
        texts["metric"] = " ".join(values["metric"]) + more
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _computes_scores(args: argparse.Namespace) -> bool:
    """Whether the command scores texts itself: not where scores come from files, or metrics from a study."""
    if args.command == "compare":
        return any(not name.endswith(".json") for name in args.hyps)
    if args.command == "score":
        return args.merge is None
    if "metric" in args.given or not hasattr(args, "metric"):
        return True
    if args.command == "study meta":
        from nlgauge.data.cards import find_data_card  # which the command imports anyway, and others need not

        return not args.scores and find_data_card(args.data).texts
    if args.command in {"study ensemble", "build norms"}:
        return False
    # Files of scores, of words or of a study, and scores that came with data.
    return not any(getattr(args, name, None) for name in ("table", "gold", "scores", "study", "released"))


def _leaves_model_open(args: argparse.Namespace, metrics: Sequence[str]) -> bool:
    """Whether no flag, language or signature chooses the model, and a metric has one to choose."""
    if {"model", "lang"} & set(args.given) or any("|" in text for text in metrics):
        return False
    recipes = [(metric_class(metric_name(text)), split_recipe(text)[1]) for text in metrics]
    return any("model" in metric.options() and not {"model", "lang"} & own.keys() for metric, own in recipes)
