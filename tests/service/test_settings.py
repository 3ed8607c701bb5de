"""What an operator may decide, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlgauge.errors import RecipeError
from nlgauge.service.settings import Limits, Settings, default_folder, is_loopback

KEY = "k" * 16


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "scores.example.org", "10.0.0.1"])
def test_another_address_needs_a_key_or_a_word(host: str) -> None:
    with pytest.raises(RecipeError, match="--insecure"):
        Settings(host=host)
    assert Settings(host=host, keys=(KEY,)).host == host
    assert Settings(host=host, insecure=True).insecure


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.53", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    assert is_loopback(host)
    assert Settings(host=host).keys == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"keys": ("short",)},
        {"keys": ("with a blank in the middle",)},
        {"keys": ("ké" * 10,)},
        {"instance": "a-b"},
        {"instance": "x" * 17},
        {"port": 70_000},
        {"batch_wait": 2},
        {"batch_wait": -1},
    ],
)
def test_values_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecipeError) as refused:
        Settings(**wrong)
    assert not any(key in str(refused.value) for key in wrong.get("keys", ()))


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(Settings(keys=(KEY,)))


def test_limits_are_above_nothing() -> None:
    with pytest.raises(RecipeError, match="limit texts must be above 0, got 0"):
        Limits(texts=0)


def test_hosts_that_are_answered() -> None:
    assert Settings().accepted_hosts == {"localhost", "127.0.0.1", "[::1]"}
    everywhere = Settings(host="0.0.0.0", keys=(KEY,), host_names=("Scores.Example.org",))
    assert everywhere.accepted_hosts == {"localhost", "127.0.0.1", "[::1]", "scores.example.org"}
    assert "[fe80::1]" in Settings(host="fe80::1", insecure=True).accepted_hosts


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_cache: Path) -> None:
    monkeypatch.delenv("NLGAUGE_SERVICE_DATA", raising=False)
    assert default_folder() == own_cache / "service"
    monkeypatch.setenv("NLGAUGE_SERVICE_DATA", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own"
