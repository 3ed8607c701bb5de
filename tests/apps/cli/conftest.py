"""Runs the command line, in this process (fast) or in one of its own, in a folder with small files."""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from docs.write_schemas import FOLDER
from tests.extras import LazyModule

from nlgauge.apps.cli import main

jsonschema = LazyModule("jsonschema")

#: Two systems and a reference: six segments of unequal length, no two scores alike.
SYSTEM_A = [
    "The cat sat on the mat.",
    "A dog barked at the postman all morning.",
    "He bought bread, milk and three apples.",
    "Rain is expected in the north tomorrow.",
    "Nobody knew the answer.",
    "The train to Leeds leaves at noon from platform four.",
]
SYSTEM_B = [
    "There is a cat.",
    "The postman was barked at by a dog.",
    "Three apples and a loaf were bought.",
    "It will be sunny everywhere.",
    "Who knows?",
    "Leeds is a city in Yorkshire.",
]
REFERENCE = [
    "The cat was sitting on the mat.",
    "All morning the dog barked at the mailman.",
    "He bought three apples, some bread and milk.",
    "Tomorrow rain is likely in northern areas.",
    "No one knew the answer.",
    "From platform four, the Leeds train leaves at midday.",
]
SECOND_REFERENCE = [
    "A cat sat upon a mat.",
    "A dog barked at the postman the whole morning.",
    "He purchased milk, apples and bread.",
    "The north expects rain tomorrow.",
    "The answer was known to nobody.",
    "At noon the train for Leeds departs.",
]


class Result(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def scores(self) -> list[dict[str, Any]]:
        """The scores of JSON output."""
        result: list[dict[str, Any]] = json.loads(self.out)["scores"]
        return result

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of TSV output."""
        header, *lines = (line.split("\t") for line in self.out.splitlines())
        return [dict(zip(header, line, strict=True)) for line in lines]


Run = Callable[..., Result]
Refusal = Callable[..., str]


def write_lines(path: Path, lines: list[str]) -> str:
    """A text file with a segment per line; returns its name."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path.name


def check_schema(path: str | Path) -> None:
    """A JSON file that a command wrote is what the schema that is shipped for its format describes."""
    record = json.loads(Path(path).read_text(encoding="utf-8"))
    schema = json.loads((FOLDER / f"{record['format'].replace('/', '-')}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(record)


def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, and nothing in the hub's cache, whatever the machine has there."""
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    for module in ("nlgauge.io.store.resolve", "nlgauge.io.store.fetch"):
        # By import_module, because the package's attribute `resolve` is the function.
        monkeypatch.setattr(importlib.import_module(module), "cached_snapshot", lambda *_, **__: None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a.txt, b.txt, ref.txt and ref2.txt."""
    for name, lines in (
        ("a.txt", SYSTEM_A),
        ("b.txt", SYSTEM_B),
        ("ref.txt", REFERENCE),
        ("ref2.txt", SECOND_REFERENCE),
    ):
        write_lines(tmp_path / name, lines)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")  # wide tables keep their columns
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in this process: status, stdout and stderr."""

    def command(*argv: str, stdin: bytes | None = None) -> Result:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        try:
            status = main(argv)
        except SystemExit as leaving:  # how argparse ends
            status = leaving.code if isinstance(leaving.code, int) else 0
        return Result(status, *capsys.readouterr())

    return command


@pytest.fixture
def refused(run: Run) -> Refusal:
    """A command that fails as promised: the status, nothing on stdout, one line on stderr, which is returned."""

    def command(status: int, *argv: str, **options: Any) -> str:
        result = run(*argv, **options)
        assert result.status == status, result
        assert result.out == ""
        assert result.err.startswith("nlgauge: error: "), result.err
        assert result.err.endswith("\n")
        assert result.err.count("\n") == 1, "an error is one line"
        return result.err

    return command


@pytest.fixture
def process(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A command in a process of its own, for what only a process shows: pipes, signals, start-up."""

    def command(
        *argv: str, environment: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            [sys.executable, "-m", "nlgauge", *argv],
            cwd=folder,
            env=os.environ | (environment or {}),
            encoding="utf-8",
            timeout=300,
            check=False,
            **options,
        )

    return command
