"""The script of `nlgauge completion`, run by bash itself."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from tests.cli.conftest import Run

from nlgauge.cli.completion import completion_script
from nlgauge.registry import METRICS

BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def script() -> str:
    return completion_script("bash")


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["sc"], {"score"}),
        (["score", "a.txt", "--confidence-l"], {"--confidence-level"}),
        (["score", "a.txt", "--format", "mark"], {"markdown"}),
        (["score", "--metric", ""], set(METRICS)),
        (["idf", "bui"], {"build"}),
        (["score", "--multi"], {"--multiref"}),
        (["score", "a.t"], set()),
        (["completion", ""], {"--help", "bash", "zsh"}),
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
