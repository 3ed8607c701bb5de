"""A folder with small input files in which commands of nlgauge run and are recorded.

Commands run in this process, through `python -m nlgauge`. The output of each is a block of a transcript:

    $ nlgauge score a.txt --refs ref.txt --format json      the command
    [status 1]                                              exit status if it is not 0
    [json, 120 lines]                                       stdout is JSON with 120 lines; recorded with short lines
    ...                                                     stdout
    [stderr]
    ...                                                     stderr
    [files] run.json                                        new files, if any

`cat FILE` shows a file written by a command, and `text FILE.html` the text of a page.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import html.parser
import io
import json
import math
import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.frozen.inputs import write_inputs

#: Significant digits in the repository; `--all-digits` records all.
DIGITS = 9

#: A number with decimals or an exponent. Integers (counts, ranks, seeds) count as text.
NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][+-]\d))(?:[eE][+-]?\d+)?(?![\w.]*\w)")

#: Versions of packages, which differ between environments.
_VERSION = re.compile(
    r"(\b(?:onnxruntime-|openvino-|numpy-|scipy-|spacy-|nlgauge[: ]|sacrebleu:|rouge_score:|regex-)|\"nlgauge\": \")"
    r"[0-9][0-9.]*[0-9]"
)

#: Message of argparse about a wrong choice, whose quotation marks depend on the version of Python.
_CHOICES = re.compile(r"\(choose from [^)]*\)")

#: Environment variables that change the output of commands.
_ENVIRONMENT = {"COLUMNS": "100", "LINES": "40", "NLGAUGE_OFFLINE": "1", "NO_COLOR": "1"}
_UNSET = ("NLGAUGE_DATA", "NLGAUGE_CONFIG", "NLGAUGE_API_KEY", "NLGAUGE_SERVICE", "FORCE_COLOR", "PYTHONWARNINGS")

#: The only models of a workplace.
_MODELS = ("minilm", "mpnet", "spacy-en", "wordnet")


@dataclass
class Workplace:
    """The folder, and the settings of its records."""

    folder: Path
    cache: Path
    digits: int | None = DIGITS
    replaced: dict[str, str] = field(default_factory=dict)

    @property
    def all_digits(self) -> bool:
        """Whether to skip rounding and masking, to compare two commits on one machine."""
        return self.digits is None

    def run(self, command: str, *, masks: Mapping[str, str] | None = None) -> str:
        """Run a command and return its block of the transcript. Masks replace digests of computed numbers."""
        before = _files(self.folder)
        status, out, err = self._call(command)
        lines = [f"$ {command}"] + [f"[status {status}]"] * (status != 0)
        lines += self._printed(out)
        lines += ["[stderr]", *err.splitlines()] * bool(err)
        if changed := sorted(name for name, state in _files(self.folder).items() if before.get(name) != state):
            lines.append(f"[files] {' '.join(changed)}")
        text = "".join(f"{line.rstrip()}\n" for line in lines)
        return self.clean(text, masks=masks)

    def transcript(self, commands: list[str], *, masks: Mapping[str, str] | None = None) -> str:
        """Run several commands and return their blocks."""
        return "\n".join(self.run(command, masks=masks) for command in commands)

    def clean(self, text: str, *, masks: Mapping[str, str] | None = None) -> str:
        """Remove local folders; unless all digits are recorded, also remove versions and round numbers."""
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        text = _CHOICES.sub(lambda choices: choices[0].replace("'", ""), text)
        if self.digits is None:
            return text
        for pattern, new in (masks or {}).items():
            text = re.sub(pattern, new, text)
        return NUMBER.sub(lambda number: _rounded(number[0], self.digits or DIGITS), _VERSION.sub(r"\1X", text))

    def json(self, value: Any, *, masks: Mapping[str, str] | None = None) -> str:
        """Format a value as JSON with short lines."""
        return self.clean(short_json(value) + "\n", masks=masks)

    def _printed(self, out: str) -> list[str]:
        try:
            value = json.loads(out) if out[:1] in ("{", "[") else None
        except ValueError:
            value = None
        if value is None:
            return out.splitlines()
        return [f"[json, {len(out.splitlines())} lines]", *short_json(value).splitlines()]

    def _call(self, command: str) -> tuple[int, str, str]:
        words = shlex.split(command)
        if words[0] == "cat":
            return 0, Path(words[1]).read_text(encoding="utf-8"), ""
        if words[0] == "text":
            return 0, page_text(Path(words[1]).read_text(encoding="utf-8")), ""
        output = words.index(">") if ">" in words else len(words)
        variables = dict(word.split("=", 1) for word in words[: words.index("nlgauge")])
        with mock.patch.dict(os.environ, variables):
            status, out, err = call(words[words.index("nlgauge") + 1 : output])
        if output < len(words):
            Path(words[output + 1]).write_text(out, encoding="utf-8")
            out = ""
        return status, out, err


def call(words: list[str]) -> tuple[int, str, str]:
    """Run `python -m nlgauge WORDS` in this process: status, stdout and stderr."""
    with (
        mock.patch.object(sys, "argv", ["nlgauge", *words]),
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            runpy.run_module("nlgauge", run_name="__main__", alter_sys=True)
        except SystemExit as leaving:
            status = int(leaving.code or 0)
    return status, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def workplace(*, digits: int | None = DIGITS) -> Iterator[Workplace]:
    """Use a temporary folder with the inputs as working directory, and a fixed environment."""
    cache = _model_cache()
    with tempfile.TemporaryDirectory(prefix="nlgauge-frozen-") as name, mock.patch.dict(os.environ, _ENVIRONMENT):
        place = Workplace(Path(name).resolve() / "work", cache, digits)
        place.folder.mkdir()
        for variable in _UNSET:
            os.environ.pop(variable, None)
        os.environ["NLGAUGE_CACHE"] = str(place.cache)
        place.replaced |= {str(place.folder): "FOLDER", str(place.cache): "CACHE", sys.prefix: "PREFIX"}
        write_inputs(place.folder)
        before = Path.cwd()
        os.chdir(place.folder)
        try:
            yield place
        finally:
            os.chdir(before)


@functools.cache
def _model_cache() -> Path:
    """A cache with only the models of a workplace, which shares the files computed from them.

    It lasts as long as the process, because loaded models refer to their files.
    """
    models = []
    for model in _MODELS:
        status, out, err = call(["models", "path", model])
        assert status == 0, f"{err.strip()}; the frozen outputs need: nlgauge models pull {' '.join(_MODELS)}"
        models.append(Path(out.strip()))
    folder = Path(tempfile.mkdtemp(prefix="nlgauge-frozen-cache-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "models").mkdir()
    for model_folder in models:
        (folder / "models" / model_folder.name).symlink_to(model_folder)
    for name in ("digests", "graphs"):
        if (shared := models[0].parents[1] / name).is_dir():
            (folder / name).symlink_to(shared)
    return folder


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    files = {}
    for path in folder.rglob("*"):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = (path.stat().st_size, path.stat().st_mtime_ns)
    return files


def _rounded(number: str, digits: int) -> str:
    """Round a number to at most this many significant digits."""
    shown = re.sub(r"[eE].*|\D", "", number).lstrip("0")
    if len(shown) <= digits:
        return number
    value = f"{float(number):.{digits}g}"
    return value if re.search(r"[.e]", value) else f"{value}.0"


def short_json(value: Any, indent: int = 0) -> str:
    """Format JSON with short lines: a list or object is on one line if it fits.

    >>> print(short_json({"a": [1, 2], "b": "x" * 100}))
    {
      "a": [1, 2],
      "b": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    }
    """
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(str(value))
    if not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    if _width(value) + indent <= 110:
        return json.dumps(value, ensure_ascii=False)
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {short_json(value[key], indent + 2)}" for key in value
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [inner + short_json(item, indent + 2) for item in value]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"


def _width(value: Any) -> int:
    """Width on one line; all numbers count with equal length, so lines break at the same places on every machine."""
    if isinstance(value, float):
        return 11
    if isinstance(value, list):
        return 2 + sum(_width(item) + 2 for item in value)
    if isinstance(value, dict):
        return 2 + sum(_width(key) + _width(item) + 4 for key, item in value.items())
    return len(json.dumps(value, ensure_ascii=False))


class _PageText(html.parser.HTMLParser):
    """Extracts the text of a page with one line per table row, and counts the shapes of its figures."""

    _LINE_ENDS = frozenset(
        {"p", "div", "li", "h1", "h2", "h3", "h4", "tr", "caption", "section", "summary", "details"}
        | {"figcaption", "pre", "title", "svg"}
    )

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.inside: Counter[str] = Counter()
        self.shapes: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside[tag] += 1
        if self.inside["svg"]:
            self.shapes[tag] += 1
        self._separate(tag)

    def handle_endtag(self, tag: str) -> None:
        self.inside[tag] -= 1
        self._separate(tag)

    def handle_data(self, data: str) -> None:
        if not self.inside["style"] and not self.inside["script"]:
            self.parts.append(re.sub(r"\s+", " ", data))

    def _separate(self, tag: str) -> None:
        if tag in self._LINE_ENDS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" | ")


def page_text(page: str) -> str:
    """Extract the text of an HTML page."""
    parser = _PageText()
    parser.feed(page)
    lines = (
        re.sub(r"( \|)+", " |", re.sub(" +", " ", line)).strip(" |") for line in "".join(parser.parts).split("\n")
    )
    shapes = ", ".join(f"{count} {tag}" for tag, count in sorted(parser.shapes.items()))
    return "".join(f"{line}\n" for line in lines if line) + f"figures: {shapes}\n"
