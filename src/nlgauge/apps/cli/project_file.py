"""Defaults of a project: `nlgauge.toml`, or `[tool.nlgauge]` in pyproject.toml.

    model = "mpnet"
    metric = ["bertscore:idf=refs", "chrf"]
    threads = 2

The first such file in the current folder or one above it is used; `NLGAUGE_CONFIG` names another file, or `none`. A
file that another user owns or may write to is not read, unless `NLGAUGE_CONFIG` names it. Settings are read by the
commands that score texts or build tables for scoring, never by the library. Flags, metric options and signatures take
precedence over settings, and signatures record them like any other choice. The commands `study reproduce`, `align`,
`build means`, `build bounds` and `serve` do not read settings: the paper, the languages or the operator choose the
model.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from nlgauge.apps.cli.flags import set_option
from nlgauge.core.kinds import Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import metric_class, metric_name, split_recipe
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.storage import toml_content


@dataclass(frozen=True, kw_only=True)
class Settings(OptionSet):
    """The settings of a file; None: not set."""

    called: ClassVar[str] = "keys"

    model: str | None = option(None, Text("the name of a model"), help="model of all metrics")
    metric: tuple[str, ...] | None = option(None, Many(Text("a metric"), least=1), help="metrics")
    threads: int | None = option(None, Int(1), help="number of threads")
    name: str = ""
    """The file."""


def find_settings(folder: Path) -> Settings | None:
    """Find the settings for a folder, or None."""
    config = os.environ.get("NLGAUGE_CONFIG", "")
    if config:
        return None if config.lower() == "none" else _read(Path(config))
    for parent in (folder, *folder.parents):
        for name in ("nlgauge.toml", "pyproject.toml"):
            path = parent / name
            if path.is_file() and _is_trusted(path) and (settings := _read(path)) is not None:
                return settings
    return None


def _is_trusted(path: Path) -> bool:
    """Whether only this user or root can have written a file; warn of others that name nlgauge.

    Settings choose the model, and a folder above the current one may be world-writable, such as /tmp. Groups are
    trusted, because many systems give each user a group.
    """
    if not hasattr(os, "getuid"):
        return True  # Windows
    try:
        entry, content, folder = path.lstat(), path.stat(), path.parent.stat()
    except OSError:
        return True  # the reader reports the error
    mine = (os.getuid(), 0)
    replaceable = folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX
    if entry.st_uid not in mine or content.st_uid not in mine:
        reason = "it belongs to another user"
    elif content.st_mode & stat.S_IWOTH or replaceable:
        reason = "other users may write to it, or to its folder"
    else:
        return True
    mentioned = path.name == "nlgauge.toml"
    if not mentioned:
        with contextlib.suppress(OSError):
            mentioned = b"tool.nlgauge" in path.read_bytes()
    if mentioned:
        # Printed also with --quiet, because the ignored file may choose another model.
        what = f"{str(path)!r} was not read, because {reason}; to use it, set NLGAUGE_CONFIG to its path"
        print(f"nlgauge: warning: {what}", file=sys.stderr)
    return False


def _read(path: Path) -> Settings | None:
    """Read the settings of a file; None for a project file without a table for nlgauge."""
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
    if not isinstance(content, dict):
        msg = f"{path.name}: expected keys {', '.join(Settings.options())}, got {content!r}"
        raise FileFormatError(msg)
    try:
        settings = Settings.of(content)
    except RecipeError as error:
        hint = "; [tool.nlgauge] is for pyproject.toml" if "tool" in content else ""
        msg = f"{path.name}: {error}{hint}"
        raise RecipeError(msg) from error
    # A relative model folder (./mine) is relative to the settings file.
    folder, model = path.parent.resolve(), settings.model
    if model is not None and model.startswith(("./", "../")) and folder != Path.cwd().resolve():
        model = str(folder / model)
    return replace(settings, model=model, name=path.name)


def apply_settings(args: argparse.Namespace) -> None:
    """Set the options that the command line left open from a settings file, and print them to stderr."""
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
    if "metric" in values:
        more = f" (the first of {len(settings.metric or ())})" if values["metric"] != settings.metric else ""
        values["metric"] = " ".join(values["metric"]) + more
    if values and not getattr(args, "quiet", False):
        chosen = ", ".join(f"{name}={value}" for name, value in values.items())
        print(f"nlgauge: {settings.name}: {chosen}", file=sys.stderr)


def _computes_scores(args: argparse.Namespace) -> bool:
    """Whether the command scores texts, rather than reading scores or metrics from files."""
    if args.command == "compare":
        return any(not name.endswith(".json") for name in args.hyps)
    if args.command == "score":
        return args.merge is None
    if "metric" in args.given or not hasattr(args, "metric"):
        return True
    if args.command == "study meta":
        from nlgauge.data.cards import find_data_card  # which the command imports anyway, and others need not

        return not args.scores and find_data_card(args.data).texts
    # These options read scores, words or a study from files, or released scores.
    return not any(getattr(args, name, None) for name in ("table", "gold", "scores", "study", "released"))


def _leaves_model_open(args: argparse.Namespace, metrics: Sequence[str]) -> bool:
    """Whether a metric uses a model that no flag, language or signature chooses."""
    if {"model", "lang"} & set(args.given) or any("|" in text for text in metrics):
        return False
    recipes = [(metric_class(metric_name(text)), split_recipe(text)[1]) for text in metrics]
    return any("model" in metric.options() and not {"model", "lang"} & own.keys() for metric, own in recipes)
