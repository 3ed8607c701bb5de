"""Unit tests of the JavaScript of report and page, run by Node.js (`tests/scripts`)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed; run: make js-tools")
def test_scripts_pass_their_unit_tests() -> None:
    files = sorted(map(str, SCRIPTS.glob("*.test.js")))
    assert files
    run = subprocess.run(["node", "--test", *files], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
