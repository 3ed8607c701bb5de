"""`nlgauge serve`: from flags to settings, and what is refused before anything listens."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from nlgauge.apps.cli import build_parser, main
from nlgauge.apps.service import server
from nlgauge.apps.service.settings import Settings

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
KEY = "a-key-that-is-long-enough"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Settings that a service would have been started with."""
    result: list[Settings] = []
    monkeypatch.setattr(server, "serve", lambda settings, on_start: result.append(settings))
    monkeypatch.delenv("NLGAUGE_API_KEY", raising=False)
    return result


def test_defaults(served: list[Settings]) -> None:
    assert main(["serve"]) == 0
    assert served == [Settings()]


def test_flags_become_settings(served: list[Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text(f"{KEY}-1\n{KEY}-2\n")
    monkeypatch.setenv("NLGAUGE_API_KEY", KEY)
    flags = f"--host 0.0.0.0 --port 9000 --data {tmp_path} --key-file {tmp_path / 'keys'} --models minilm muse"
    assert main(["serve", *flags.split(), "--preload", "--max-texts", "5", "--keep-days", "0.5"]) == 0
    (result,) = served
    assert (result.host, result.port, result.folder, result.models) == ("0.0.0.0", 9000, tmp_path, ("minilm", "muse"))
    assert result.keys == (KEY, f"{KEY}-1", f"{KEY}-2")
    assert result.preload == ()
    assert (result.limits.texts, result.limits.keep_days) == (5, 0.5)


@pytest.mark.parametrize(
    ("flags", "status", "says"),
    [
        ("--host 0.0.0.0", 2, "--insecure"),
        ("--port 99999", 2, "--port must be a whole number from 0 to 65535, got '99999'"),
        ("--threads 0", 2, "--threads must be a whole number from 1, got '0'"),
        (
            "--models minilm --preload mpnet",
            2,
            "'mpnet' is not offered; add it to the offered ones: --models minilm mpnet",
        ),
        ("--host 999.1.1.1 --insecure", 2, "host '999.1.1.1' is not a valid address"),
        ("--data no-such/folder", 1, "/no-such' does not exist; create it first"),
        ("--preload x", 2, "--preload: unknown model 'x'; see 'nlgauge models list'"),
        ("--stop-seconds -1", 2, "--stop-seconds must be a number of seconds from 0, below 86400, got '-1'"),
        ("--max-seconds inf", 2, "--max-seconds must be a number above 0, got 'inf'"),
        ("--trust-proxy x", 2, "--trust-proxy must be an IP address or network"),
        ("--host-name a,b", 2, "--host-name must be a name such as scores.example.org"),
        ("--allow-origin javascript:x", 2, "--allow-origin must be one site such as https://example.org"),
        ("--allow-origin *", 2, "--allow-origin must be one site such as https://example.org"),
        ("--max-texts 0", 2, "--max-texts must be a whole number from 1"),
        ("--key-file nowhere", 1, "key file 'nowhere' cannot be read"),
    ],
)
def test_invalid_settings_are_refused_before_loading(
    served: list[Settings], capsys: pytest.CaptureFixture[str], flags: str, status: int, says: str
) -> None:
    assert main(["serve", *flags.split()]) == status
    assert says in capsys.readouterr().err
    assert served == []


@pytest.mark.parametrize("content", ["", "\n \n\t\n"])
def test_a_key_file_without_a_key_is_refused(
    served: list[Settings], tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (tmp_path / "keys").write_text(content)
    assert main(["serve", "--key-file", str(tmp_path / "keys")]) == 1
    assert f"the key file {str(tmp_path / 'keys')!r} is empty" in capsys.readouterr().err
    assert served == []


@pytest.mark.parametrize("content", ["", "  "])
def test_an_empty_variable_for_the_key_is_refused(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    monkeypatch.setenv("NLGAUGE_API_KEY", content)
    assert main(["serve"]) == 2
    assert "NLGAUGE_API_KEY is set but empty" in capsys.readouterr().err
    assert served == []


def test_without_the_extra_the_command_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "nlgauge.apps.service.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 1
    assert "pip install 'nlgauge[service]'" in capsys.readouterr().err


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", "--port", port, "--data", str(tmp_path)]) == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((ROOT / "deploy").iterdir()) if "serve" in path.read_text(encoding="utf-8")],
    ids=lambda path: path.name,
)
def test_files_for_deployment_name_flags_that_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    commands = " ".join(re.findall(r"nlgauge serve[^\n#]*", text.replace('", "', " ")))
    known = build_parser("serve")._subparsers._group_actions[0].choices["serve"]._option_string_actions  # type: ignore[union-attr]
    named = re.findall(r"--[a-z][a-z-]+", commands)
    assert named
    assert set(named) <= set(known)


def test_a_file_is_no_folder_for_jobs(
    served: list[Settings], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("text")
    assert main(["serve", "--data", str(tmp_path / "a.txt")]) == 1
    assert "a.txt' is a file; name a folder for the jobs of the service" in capsys.readouterr().err
    assert served == []
