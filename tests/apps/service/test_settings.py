"""What an operator may decide, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlgauge.apps.service.settings import Limits, Settings, default_folder, is_loopback
from nlgauge.errors import RecipeError

KEY = "k" * 16


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "scores.example.org", "10.0.0.1"])
def test_public_address_needs_a_key_or_insecure(host: str) -> None:
    with pytest.raises(RecipeError, match="--insecure"):
        Settings(host=host)
    assert Settings(host=host, keys=(KEY,)).host == host
    assert Settings(host=host, insecure=True).insecure


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.53", "::1", "localhost"])
def test_loopback_needs_no_key(host: str) -> None:
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
        {"root_path": "scores"},
        {"batch_wait": -1},
        {"threads": 0},
        {"threads": 1.5},
        {"batch_tokens": 0},
        {"preload": ("x",)},
        {"engine": "abacus"},
        {"precision": "fp64"},
        {"stop_seconds": -1.0},
        {"stop_seconds": float("inf")},
        {"stop_seconds": float("nan")},
        {"trust_proxy": "x"},
        {"trust_proxy": "*"},
        {"trust_proxy": "127.0.0.1,x"},
        {"host_names": ("a b",)},
        {"host_names": ("",)},
        {"host_names": ("scores.example.org:8443",)},
        {"host_names": ("https://scores.example.org",)},
        {"allow_origins": ("*",)},
        {"allow_origins": ("null",)},
        {"allow_origins": ("javascript:x",)},
        {"allow_origins": ("example.org",)},
        {"allow_origins": ("https://example.org/",)},
        {"allow_origins": ("https://Example.org",)},
        {"allow_origins": ("https://example.org:443",)},
        {"allow_origins": ("https://user@example.org",)},
    ],
)
def test_invalid_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecipeError) as refused:
        Settings(**wrong)
    assert not any(key in str(refused.value) for key in wrong.get("keys", ()))


def test_valid_values_are_accepted() -> None:
    Settings(
        threads=1,
        preload=("minilm", "sentence-transformers/all-MiniLM-L6-v2"),
        stop_seconds=0,
        trust_proxy="127.0.0.1, 10.0.0.0/8,::1",
        host_names=("scores.example.org", "nlgauge_1", "192.168.1.5", "[fe80::1]"),
        allow_origins=("https://example.org", "http://localhost:3000", "http://[::1]:8080"),
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"threads": 0}, "threads must be a whole number from 1, got 0"),
        ({"preload": ("x",)}, "--preload: unknown model 'x'; see 'nlgauge models list'"),
        ({"allow_origins": ("*",)}, r"--allow-origin must be one site such as https://example.org, .*, got '\*'"),
        ({"limits": {"seconds": float("inf")}}, "seconds must be a number above 0, got inf"),
        ({"limits": {"texts": 1.5}}, "texts must be a whole number from 1, got 1.5"),
    ],
)
def test_invalid_setting_names_value_and_accepted_values(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Settings(**{name: Limits(**value) if name == "limits" else value for name, value in wrong.items()})


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(Settings(keys=(KEY,)))


def test_limits_must_be_positive() -> None:
    with pytest.raises(RecipeError, match="texts must be a whole number from 1, got 0"):
        Limits(texts=0)


def test_accepted_hosts() -> None:
    assert Settings().accepted_hosts == {"localhost", "127.0.0.1", "[::1]"}
    everywhere = Settings(host="0.0.0.0", keys=(KEY,), host_names=("Scores.Example.org",))
    assert everywhere.accepted_hosts == {"localhost", "127.0.0.1", "[::1]", "scores.example.org"}
    assert "[fe80::1]" in Settings(host="fe80::1", insecure=True).accepted_hosts


def test_default_folder_of_jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_cache: Path) -> None:
    monkeypatch.delenv("NLGAUGE_SERVICE_DATA", raising=False)
    assert default_folder() == own_cache / "service"
    monkeypatch.setenv("NLGAUGE_SERVICE_DATA", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own"
