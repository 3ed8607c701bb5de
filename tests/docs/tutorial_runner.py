"""Runs what a page tells its reader to type, and compares what comes out with what the page shows.

    ```console                  lines after "$ " are commands, the lines below each what it prints (both streams)
    ```console data             the same, where the data sets of NLGAUGE_DATA are at hand
    ```python                   run in one namespace for the whole page; an indented block below is what it prints
    ```csv judged.tsv           a second word is the name of a file that the reader saves
    ```bash, ```text, ...       shown, not run

A line "..." stands for any lines, "..." within a line for any characters. Numbers may differ in the last decimal that
is shown, and versions of packages do not count. Commands of nlgauge run in this process. One that fails is
followed by `$ echo $?`.

    python -m tests.docs.tutorial_runner docs/quickstart.md     writes what comes out into the page
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

#: Versions of packages, which differ between environments and move no score that a page shows.
_VERSION = re.compile(r"\b(onnxruntime-|numpy-|spacy-|nltk-|regex-|nlgauge[: ]|sacrebleu:|rouge_score:)[0-9][0-9.]*")
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d*\.\d+(?![\w.]*\w)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$]*\"")
_ANY = "..."


@dataclass(frozen=True)
class Step:
    """One thing that a reader does."""

    kind: str  # file, console or python
    text: str
    shown: str = ""
    tag: str = ""
    place: tuple[int, int] = (0, 0)  # of what is shown, in the page


def steps_of(page: str) -> list[Step]:
    """What a page has its reader do, in order."""
    return list(_steps(page))


def _steps(page: str) -> Iterator[Step]:
    for found in _FENCE.finditer(page):
        language, word, body, below = found.groups()
        if language == "console":
            yield from _commands(body, tag=word or "", start=found.start(3))
        elif word is not None:
            before = page[: found.start()].rstrip().rpartition("\n\n")[2]
            assert word in before, f"the reader of a block is not told that it is the file {word!r}"
            yield Step("file", body, tag=word)
        elif language == "python":
            yield Step("python", body, shown=_dedented(below), place=found.span(4))


def _commands(body: str, *, tag: str, start: int) -> Iterator[Step]:
    at = start
    for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
        if part.startswith("$ "):
            # A command goes on after a backslash.
            command = re.match(r"\$ ((?:[^\n]*\\\n)*[^\n]*)\n", part)
            assert command is not None, part
            text = command[1].replace("\\\n", " ")
            yield Step("console", text, part[command.end() :], tag, (at + command.end(), at + len(part)))
        else:
            assert not part.strip(), f"a block of commands begins with {part.strip()!r}"
        at += len(part)


def _dedented(block: str) -> str:
    return "".join(f"{line[4:]}\n" for line in block.strip("\n").split("\n")) if block.strip() else ""


@dataclass
class Reader:
    """Somebody who types what a page says, in a folder of their own."""

    folder: Path
    replaced: Mapping[str, str] = field(default_factory=dict)  # such as the address of a service
    may_fail: bool = False  # whether commands that fail need no `echo $?` after them
    status: int = 0
    names: dict[str, object] = field(default_factory=dict)

    def do(self, step: Step) -> str:
        """Take a step; what it prints."""
        text = step.text
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        printed = _in_words({"file": self._save, "console": self._type, "python": self._run}[step.kind], text, step)
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
            while found := re.fullmatch(r"([A-Z_]+)=(.*)", words[0]):
                stack.enter_context(mock.patch.dict(os.environ, {found[1]: found[2]}))
                words = words[1:]
            self._call(words, text)

    def _call(self, words: Sequence[str], text: str) -> None:
        if words[0] == "nlgauge" and not set("|$&;") & set(_QUOTED.sub("", text)):
            output = words[words.index(">") + 1] if ">" in words else None
            with contextlib.redirect_stdout(io.StringIO()) if output else contextlib.nullcontext() as kept:
                self.status = main([word for word in words[1:] if word not in (">", output)])
            if output:
                (self.folder / output).write_text(kept.getvalue(), encoding="utf-8")
        elif words[0] == "python":
            runpy.run_path(words[1], run_name="__main__")
        else:
            done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False, timeout=600)
            print(done.stdout + done.stderr, end="")
            self.status = done.returncode


def _in_words(do: Callable[[str, Step], None], text: str, step: Step) -> str:
    """What it prints, numbers and talk in the order in which a terminal shows them."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
        do(text, step)
    return printed.getvalue()


@contextlib.contextmanager
def reading(folder: Path, **replaced: str) -> Iterator[Reader]:
    """A reader in a folder that holds the examples of the repository."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("nlp-capsule", "*.py"))
    before, path = Path.cwd(), list(sys.path)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield Reader(folder, replaced)
    finally:
        os.chdir(before)
        sys.path[:] = path


def difference(shown: str, got: str) -> str:
    """Empty where a page shows what came out; else both."""
    if _lines_match(shown.rstrip().split("\n"), got.rstrip().split("\n")):
        return ""
    return f"the page shows\n{shown}\nand what came out is\n{got}"


def _lines_match(shown: Sequence[str], got: Sequence[str]) -> bool:
    if not shown:
        return not got
    if shown[0].strip() == _ANY:
        return any(_lines_match(shown[1:], got[at:]) for at in range(len(got) + 1))
    return bool(got) and _line_matches(shown[0], got[0]) and _lines_match(shown[1:], got[1:])


def _line_matches(shown: str, got: str) -> bool:
    shown, got = _plain(shown), _plain(got)
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
    found = re.fullmatch(pattern, got)
    return found is not None and all(map(_close, numbers, found.groups()))


def _plain(line: str) -> str:
    """Without versions and without the widths of columns."""
    return re.sub(r"([ -])\1+", r"\1", _VERSION.sub(r"\1X", line)).strip()


def _close(shown: str, got: str) -> bool:
    decimals = len(shown.partition(".")[2])
    return len(got.partition(".")[2]) == decimals and abs(float(shown) - float(got)) < 1.5 * 10.0 ** -min(decimals, 5)


def check(page: Path, reader: Reader, *, tag: str = "") -> int:
    """Take all steps of a page that have this tag, and say which one shows something else; how many there were."""
    taken = 0
    for step in steps_of(page.read_text(encoding="utf-8")):
        if not _is_run(step, tag):
            continue
        problem = difference(step.shown, reader.do(step)) if step.kind != "file" else reader.do(step)
        assert not problem, f"{page.name}: {step.text.strip()}\n{problem}"
        taken += 1
    assert reader.may_fail or reader.status == 0, f"the last command of {page.name} ended with status {reader.status}"
    return taken


def written(page: str, reader: Reader, *, tag: str = "") -> str:
    """The page with what came out in the place of what it shows, where the two differ."""
    taken = [(step, reader.do(step)) for step in steps_of(page) if _is_run(step, tag)]
    for step, got in reversed(taken):  # from the end, so that places stay what they are
        if step.kind == "file" or not difference(step.shown, got):
            continue
        start, end = step.place
        lines = [f"    {line}".rstrip() for line in got.splitlines()] if step.kind == "python" else got.splitlines()
        before = "\n" if step.kind == "python" else ""
        page = page[:start] + before + "".join(f"{line}\n" for line in lines) + page[end:]
    return page


def _is_run(step: Step, tag: str) -> bool:
    return step.tag == tag if step.kind == "console" else not tag


if __name__ == "__main__":
    for name in sys.argv[1:]:
        at = Path(name).resolve()
        with tempfile.TemporaryDirectory() as temporary, reading(Path(temporary)) as somebody:
            at.write_text(written(at.read_text(encoding="utf-8"), somebody), encoding="utf-8")
