"""The files of deploy/ work together: services with the flags of the unit, behind nginx with its configuration."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.apps.service.conftest import KEY, Running, started

DEPLOY = next(folder for folder in Path(__file__).resolve().parents if (folder / "deploy").is_dir()) / "deploy"
UNIT = (DEPLOY / "nlgauge@.service").read_text(encoding="utf-8")
NAME = "scores.example.org"

PAIR = {"hyps": ["A cat sat on the mat."], "refs": ["The cat sat on the mat."], "metric": ["chrf"]}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def flags(port: int, keys: Path) -> list[str]:
    """Those of the unit for a port, but for the port itself."""
    (command,) = re.findall(r"^ExecStart=\S+ serve (.*)$", UNIT, flags=re.MULTILINE)
    given = command.replace("${CREDENTIALS_DIRECTORY}/keys", str(keys)).replace("--port %i", "")
    return given.replace("%i", str(port)).split()


@contextlib.contextmanager
def proxied(folder: Path, ports: list[int]) -> Iterator[httpx2.Client]:
    """nginx before services on these ports; a client that reaches it by the name of the configuration."""
    certificate, key = folder / "scores.pem", folder / "scores.key"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    own = free_port()
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    changes = {
        "listen 443 ssl": f"listen 127.0.0.1:{own} ssl",
        "/etc/ssl/scores.pem": str(certificate),
        "/etc/ssl/scores.key": str(key),
        "127.0.0.1:8765": f"127.0.0.1:{ports[0]}",
        "127.0.0.1:8766": f"127.0.0.1:{ports[1]}",
        "876[56]": f"{ports[0]}|{ports[1]}",
    }
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    temporary = "".join(
        f"{kind}_temp_path {folder / kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off;\npid {folder / 'pid'};\nerror_log {folder / 'error.log'};\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{text}\n}}\n"
    )
    command = ["nginx", "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            assert process.poll() is None, (folder / "error.log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", own)):
                break
            time.sleep(0.05)
        with httpx2.Client(
            base_url=f"https://127.0.0.1:{own}", headers={"Host": NAME}, verify=False, timeout=120, trust_env=False
        ) as client:
            yield client
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("nginx") is None or shutil.which("openssl") is None,
    reason="needs nginx and openssl (apt-get install)",
)
def test_services_of_the_unit_answer_behind_the_proxy(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY}\n")
    ports = [free_port(), free_port()]
    services: list[Running] = []
    with contextlib.ExitStack() as stack:
        for port in ports:
            folder = tmp_path / str(port)
            folder.mkdir()
            # As nginx hands a job to the process whose number begins the job's name.
            services.append(stack.enter_context(started(folder, "--preload", *flags(port, keys), port=port)))
        client = stack.enter_context(proxied(tmp_path, ports))
        assert client.get("/healthz").text == "ok\n"
        assert "<title>nlgauge</title>" in client.get("/").text
        assert client.get("/v1").status_code == 401
        allowed = {"X-API-Key": KEY}
        own = {**allowed, "Origin": f"https://{NAME}"}
        assert client.post("/v1/score", json=PAIR, headers=own).status_code == 200
        for _ in range(4):
            answer = client.post("/v1/jobs/score", json=PAIR, headers=allowed)
            assert answer.status_code == 202
            where = answer.headers["location"]
            assert all(client.get(where, headers=allowed).status_code == 200 for _ in range(4))
    assert '"status": 421' not in "".join(service.log.read_text() for service in services)


def test_the_unit_does_not_start_without_a_key_and_reaches_this_machine_only() -> None:
    assert "LoadCredential=keys:/etc/nlgauge/keys" in UNIT
    assert "EnvironmentFile=-" not in UNIT
    assert "--key-file ${CREDENTIALS_DIRECTORY}/keys" in UNIT
    assert "IPAddressDeny=any\nIPAddressAllow=localhost\n" in UNIT


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
@pytest.mark.parametrize("name", ["nlgauge@8765.service", "nlgauge-models.service"])
def test_systemd_reads_the_units(tmp_path: Path, name: str) -> None:
    for path in DEPLOY.glob("*.service"):
        text = path.read_text(encoding="utf-8").replace("/opt/nlgauge/bin/nlgauge", "/bin/true")
        (tmp_path / path.name.replace("@", "@8765")).write_text(text)
    result = subprocess.run(["systemd-analyze", "verify", str(tmp_path / name)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "Unknown" not in result.stderr
