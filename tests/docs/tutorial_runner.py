"""Run the commands and code of a page, and compare their output with the output shown on the page.

    ```console                  lines after "$ " are commands, followed by their output (both streams)
    ```console data             the same, only if the data sets of NLGAUGE_DATA are available
    ```python                   run in one namespace for the whole page; an indented block below is its output
    ```csv judged.tsv           a second word is the name of a file to save
    ```bash, ```text, ...       not run

A line "..." matches any lines, "..." within a line any characters. Numbers may differ in the last shown decimal, and
versions of packages are ignored. Commands of nlgauge run in this process. `$ echo $?` must follow a command that
fails.

    python -m tests.docs.tutorial_runner docs/quickstart.md     write the actual output into the page
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from nlgauge.apps.cli import main

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())

_FENCE = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$\n?((?:\n*(?:    [^\n]*\n)+)?)", re.DOTALL | re.MULTILINE)

#: Versions of packages, which differ between environments without changing the shown scores.
_VERSION = re.compile(r"\b(onnxruntime-|numpy-|spacy-|nltk-|regex-|nlgauge[: ]|sacrebleu:|rouge_score:)[0-9][0-9.]*")
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d*\.\d+(?![\w.]*\w)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$]*\"")
_ANY = "..."
#: A line of progress, printed every 30 seconds, so only on a busy machine.
_PROGRESS = re.compile(r"^nlgauge: .+ [\d,]+ of [\d,]+ .*(?:%\)| left)\n", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A file, command or code block of a page."""

    kind: str  # file, console or python
    text: str
    shown: str = ""
    tag: str = ""
    place: tuple[int, int] = (0, 0)  # start and end of the shown output in the page


def steps_of(page: str) -> list[Step]:
    """Steps of a page in order."""
    return list(_steps(page))


def _steps(page: str) -> Iterator[Step]:
    for match in _FENCE.finditer(page):
        language, word, body, below = match.groups()
        if language == "console":
            yield from _commands(body, tag=word or "", start=match.start(3))
        elif word is not None:
            before = page[: match.start()].rstrip().rpartition("\n\n")[2]
            assert word in before, f"the text before a block does not name its file {word!r}"
            yield Step("file", body, tag=word)
        elif language == "python":
            yield Step("python", body, shown=_dedented(below), place=match.span(4))


def _commands(body: str, *, tag: str, start: int) -> Iterator[Step]:
    position = start
    for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
        if part.startswith("$ "):
            # A backslash continues a command.
            command = re.match(r"\$ ((?:[^\n]*\\\n)*[^\n]*)\n", part)
            assert command is not None, part
            text = command[1].replace("\\\n", " ")
            yield Step("console", text, part[command.end() :], tag, (position + command.end(), position + len(part)))
        else:
            assert not part.strip(), f"a block of commands starts with {part.strip()!r}"
        position += len(part)


def _dedented(block: str) -> str:
    return "".join(f"{line[4:]}\n" for line in block.strip("\n").split("\n")) if block.strip() else ""


@dataclass
class Reader:
    """Runs the steps of a page in a separate folder."""

    folder: Path
    replaced: Mapping[str, str] = field(default_factory=dict)  # such as the address of a service
    may_fail: bool = False  # whether commands may fail without `echo $?` after them
    status: int = 0
    names: dict[str, object] = field(default_factory=dict)

    def do(self, step: Step) -> str:
        """Run a step and return its output."""
        text = step.text
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        printed = _run_captured(
            {"file": self._save, "console": self._type, "python": self._run}[step.kind], text, step
        )
        for old, new in self.replaced.items():
            printed = printed.replace(new, old)
        return printed

    def _save(self, text: str, step: Step) -> None:
        path = self.folder / step.tag
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _run(self, text: str, step: Step) -> None:
        exec(compile(text, "page", "exec"), self.names)

    def _type(self, text: str, step: Step) -> None:
        if text == "echo $?":
            print(self.status)
            self.status = 0
            return
        assert self.may_fail or self.status == 0, f"before {text!r}, a command ended with status {self.status}"
        words = shlex.split(text)
        with contextlib.ExitStack() as stack:
            while match := re.fullmatch(r"([A-Z_]+)=(.*)", words[0]):
                stack.enter_context(mock.patch.dict(os.environ, {match[1]: match[2]}))
                words = words[1:]
            self._call(words, text)

    def _call(self, words: Sequence[str], text: str) -> None:
        if words[0] == "nlgauge" and not set("|$&;") & set(_QUOTED.sub("", text)):
            output = words[words.index(">") + 1] if ">" in words else None
            with contextlib.redirect_stdout(io.StringIO()) if output else contextlib.nullcontext() as captured:
                self.status = main([word for word in words[1:] if word not in (">", output)])
            if output:
                (self.folder / output).write_text(captured.getvalue(), encoding="utf-8")
        elif words[0] == "python":
            runpy.run_path(words[1], run_name="__main__")
        else:
            process = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False, timeout=600)
            print(process.stdout + process.stderr, end="")
            self.status = process.returncode


def _run_captured(do: Callable[[str, Step], None], text: str, step: Step) -> str:
    """Run a step and return both output streams in the order of a terminal."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
        do(text, step)
    return _PROGRESS.sub("", printed.getvalue())


@contextlib.contextmanager
def reading(folder: Path, **replaced: str) -> Iterator[Reader]:
    """Create a reader in a folder with the examples of the repository."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("nlp-capsule", "*.py"))
    before, path = Path.cwd(), list(sys.path)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield Reader(folder, replaced)
    finally:
        os.chdir(before)
        sys.path[:] = path


def difference(shown: str, actual: str) -> str:
    """Describe a difference between shown and actual output; empty if they match."""
    if _lines_match(shown.rstrip().split("\n"), actual.rstrip().split("\n")):
        return ""
    return f"the page shows\n{shown}\nand the actual output is\n{actual}"


def _lines_match(shown: Sequence[str], actual: Sequence[str]) -> bool:
    if not shown:
        return not actual
    if shown[0].strip() == _ANY:
        return any(_lines_match(shown[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and _line_matches(shown[0], actual[0]) and _lines_match(shown[1:], actual[1:])


def _line_matches(shown: str, actual: str) -> bool:
    shown, actual = _normalise(shown), _normalise(actual)
    numbers: list[str] = []
    pattern = ""
    for part in re.split(rf"({_NUMBER.pattern}|{re.escape(_ANY)})", shown):
        if part == _ANY:
            pattern += ".*"
        elif _NUMBER.fullmatch(part):
            numbers.append(part)
            pattern += r"([+-]?\d*\.\d+)"
        else:
            pattern += re.escape(part)
    match = re.fullmatch(pattern, actual)
    return match is not None and all(map(_close, numbers, match.groups()))


def _normalise(line: str) -> str:
    """Remove versions and the widths of columns."""
    return re.sub(r"([ -])\1+", r"\1", _VERSION.sub(r"\1X", line)).strip()


def _close(shown: str, actual: str) -> bool:
    decimals = len(shown.partition(".")[2])
    return len(actual.partition(".")[2]) == decimals and abs(float(shown) - float(actual)) < 1.5 * 10.0 ** -min(
        decimals, 5
    )


def check(page: Path, reader: Reader, *, tag: str = "") -> int:
    """Run all steps of a page with this tag, fail at the first wrong output, and return the number of steps."""
    steps = 0
    for step in steps_of(page.read_text(encoding="utf-8")):
        if not _is_run(step, tag):
            continue
        problem = difference(step.shown, reader.do(step)) if step.kind != "file" else reader.do(step)
        assert not problem, f"{page.name}: {step.text.strip()}\n{problem}"
        steps += 1
    assert reader.may_fail or reader.status == 0, f"the last command of {page.name} ended with status {reader.status}"
    return steps


def written(page: str, reader: Reader, *, tag: str = "") -> str:
    """Replace differing output in a page by the actual output."""
    outputs = [(step, reader.do(step)) for step in steps_of(page) if _is_run(step, tag)]
    for step, actual in reversed(outputs):  # from the end, because a replacement moves later positions
        if step.kind == "file" or not difference(step.shown, actual):
            continue
        start, end = step.place
        lines = (
            [f"    {line}".rstrip() for line in actual.splitlines()] if step.kind == "python" else actual.splitlines()
        )
        before = "\n" if step.kind == "python" else ""
        page = page[:start] + before + "".join(f"{line}\n" for line in lines) + page[end:]
    return page


def _is_run(step: Step, tag: str) -> bool:
    return step.tag == tag if step.kind == "console" else not tag


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as temporary, reading(Path(temporary)) as reader:
            path.write_text(written(path.read_text(encoding="utf-8"), reader), encoding="utf-8")
