"""What the command line does before its modules are loaded, and a program that imports the library does not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_SAY = "import gc, os; print(gc.isenabled(), os.environ.get('OPENBLAS_THREAD_TIMEOUT'))"


def said(code: str, *arguments: str, **environment: str) -> str:
    run = [sys.executable, "-c", code, *arguments]
    known = {key: text for key, text in os.environ.items() if key != "OPENBLAS_THREAD_TIMEOUT"}
    return subprocess.run(run, env=known | environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_program_that_imports_the_library_is_left_as_it_is() -> None:
    assert said(f"import nlgauge, nlgauge.apps.cli\n{_SAY}") == "True None"


@pytest.mark.parametrize(("environment", "timeout"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_the_command_line_loads_fast_and_collects_garbage_again(environment: dict[str, str], timeout: str) -> None:
    loading = f"import sys\nsys.argv = ['nlgauge']\nimport nlgauge\n{_SAY}\n"
    over = f"from nlgauge._startup import loading_is_over\nloading_is_over()\n{_SAY}"
    assert said(loading + over, **environment).split("\n") == [f"False {timeout}", f"True {timeout}"]


def test_python_m_collects_garbage_again() -> None:
    """Python puts the path of the module into sys.argv once it has imported the package."""
    loading = f"import sys\nsys.argv = ['-m']\nsys.orig_argv = ['python', '-m', 'nlgauge']\nimport nlgauge\n{_SAY}\n"
    over = f"sys.argv = ['__main__.py']\nfrom nlgauge._startup import loading_is_over\nloading_is_over()\n{_SAY}"
    assert said(loading + over).split("\n") == ["False 4", "True 4"]


def test_a_caller_who_switched_garbage_collection_off_keeps_it_off() -> None:
    code = f"import gc; gc.disable()\nfrom nlgauge._startup import loading_is_over\nloading_is_over()\n{_SAY}"
    assert said(code) == "False None"
