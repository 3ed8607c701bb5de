"""The script of `nlgauge completion`, run by bash itself, and typed into bash and zsh at a terminal."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Run

from nlgauge.apps.cli.lists import completion_script
from nlgauge.core.registry import METRICS

BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def script() -> str:
    return completion_script("bash")


@pytest.mark.heavy
@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["sc"], {"score"}),
        (["score", "a.txt", "--confidence-l"], {"--confidence-level"}),
        (["score", "a.txt", "--format", "mark"], {"markdown"}),
        (["score", "--metric", ""], set(METRICS)),
        (["score", "--metric", "chrf", "bertsc"], {"bertscore"}),
        (["score", "--metric", "chrf", "--quie"], {"--quiet"}),
        (["score", "--format", "text", "bertsc"], set()),
        (["build", "id"], {"idf"}),
        (["score", "--batch-t"], {"--batch-tokens"}),
        (["score", "a.t"], set()),
        (["completion", ""], {"bash", "zsh"}),
        (["build", ""], {"idf", "baseline", "bounds", "means", "int8"}),
        # Where a file is meant the shell completes it, also before its first letter.
        (["score", ""], set()),
        (["score", "a.txt", "--refs", ""], set()),
        (["serve", "--data", ""], set()),
        # Names that other commands list.
        (["show", "bert"], {"bertscore"}),
        (["study", "reproduce", "repro-table1"], {"repro-table1", *(f"repro-table1{number}" for number in range(6))}),
        (["study", "reproduce", "repro-table3", "--langp"], {"--langpairs"}),
        (["study", "meta", "--data", "wmt17"], {"wmt17", "wmt17-testset"}),
        (["data", "info", "mlq"], {"mlqe-pe"}),
        (["score", "--model", "mp"], {"mpnet"}),
        (["models", "pull", "mu"], {"muse"}),
    ],
)
def test_bash_completes(script: str, line: list[str], expected: set[str]) -> None:
    words = " ".join(f"'{word}'" for word in ["nlgauge", *line])
    program = (
        f"{script}\nCOMP_WORDS=({words})\nCOMP_CWORD={len(line)}\n_nlgauge\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run([BASH or "", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == expected


def test_the_command_prints_it_and_zsh_gets_its_bridge(run: Run, script: str) -> None:
    assert run("completion", "bash").out == script
    assert run("completion", "zsh").out == "autoload -U +X bashcompinit && bashcompinit\n" + script
    assert run("completion", "csh").status == 2


class Terminal:
    """A shell at a terminal of its own, which a process of its own makes: this one has threads, and must not fork."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", *words],
            cwd=folder,
            env=os.environ | {"TERM": "dumb"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.seen = ""

    def type(self, text: str, until: str) -> str:
        """Type, and wait for a line; what the pattern's group finds in it is returned."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(text.encode())
        ends = time.monotonic() + 300
        while (result := re.search(until, self.seen)) is None:
            assert time.monotonic() < ends, f"the shell did not answer: {self.seen!r}"
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                self.seen += self.process.stdout.read(65536).decode(errors="replace")
        self.seen = self.seen[result.end() :]
        return result[1].strip()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="needs a terminal of POSIX")
@pytest.mark.parametrize(
    ("words", "before"),
    [(["bash", "--norc", "-i"], ""), (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; ")],
    ids=["bash", "zsh"],
)
def test_a_tab_completes_at_a_terminal(tmp_path: Path, words: list[str], before: str) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"needs {words[0]}")
    (tmp_path / "script").write_text(completion_script(words[0]), encoding="utf-8")
    (tmp_path / "outputs.txt").write_text("", encoding="utf-8")
    shell = Terminal(words, tmp_path)
    try:
        shell.type(f"{before}source ./script; rm script; echo REA''DY\n", r"\n(READY)")
        for typed, expected in (
            ("nlgauge sc", "nlgauge score"),
            ("nlgauge score outp", "nlgauge score outputs.txt"),
            ("nlgauge score a.txt --format mark", "nlgauge score a.txt --format markdown"),
            ("nlgauge score --metric chrf berts", "nlgauge score --metric chrf bertscore"),
            ("nlgauge build id", "nlgauge build idf"),
            ("nlgauge score --refs ", "nlgauge score --refs outputs.txt"),
            ("nlgauge study reproduce repro-table3 --langp", "nlgauge study reproduce repro-table3 --langpairs"),
        ):
            # Control-A goes to the start of the line, so that what Tab made of it is an argument of echo.
            assert shell.type(f"{typed}\t\x01echo :\n", r"\n:([^\r\n]*)[\r\n]") == expected
    finally:
        shell.close()
