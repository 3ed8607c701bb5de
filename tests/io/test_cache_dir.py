"""The cache is where the user says, else where the platform says."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.io.storage import cache_dir


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NLGAUGE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


def test_own_variable_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"


def test_xdg_comes_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "nlgauge"


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_home_where_xdg_is_empty_or_invalid(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("NLGAUGE_CACHE", "")
    assert cache_dir() == tmp_path / "home" / ".cache" / "nlgauge"


def test_tilde_and_relative_folders_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_CACHE", "~/models")
    assert cache_dir() == tmp_path / "home" / "models"
    monkeypatch.setenv("NLGAUGE_CACHE", "here")
    monkeypatch.chdir(tmp_path)
    before = cache_dir()
    assert before == tmp_path / "here"


def test_asking_creates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "own"))
    cache_dir()
    assert not (tmp_path / "own").exists()
