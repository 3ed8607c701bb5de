"""Streams that are closed or full, and interrupts at any time: a line in words and an honest status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal
from tests.extras import skip_without

from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.load import release_models


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command.replace("nlgauge", f"'{sys.executable}' -m nlgauge", 1),
        shell=True,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.mark.heavy
def test_closed_stdout_is_an_error_before_scoring(folder: Path) -> None:
    skip_without("sacrebleu")
    result = shell("nlgauge score a.txt --refs ref.txt >&-", folder)
    assert (result.returncode, result.stderr) == (
        1, "nlgauge: error: standard output is closed; name a file with -o FILE\n"
    )  # fmt: skip
    written = shell("nlgauge score a.txt --refs ref.txt -m chrf -o out.txt >&-", folder)
    assert (written.returncode, written.stderr) == (0, "")
    assert "chrf" in (folder / "out.txt").read_text()
    listing = shell("nlgauge list >&-", folder)
    assert (listing.returncode, listing.stderr) == (1, "nlgauge: error: standard output is closed\n")


@pytest.mark.heavy
def test_errors_do_not_go_to_stdout_when_stderr_is_closed(folder: Path) -> None:
    result = shell("nlgauge score nothing.txt --refs ref.txt 2>&-", folder)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")
    wrong = shell("nlgauge score a.txt --refs ref.txt --decimals x 2>&-", folder)
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.heavy
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", ["--help", "--version", "score --help"])
def test_help_that_could_not_be_written_is_a_failure(folder: Path, words: str) -> None:
    result = shell(f"nlgauge {words} >/dev/full", folder)
    assert result.returncode == 1
    assert result.stderr.startswith("nlgauge: error: ")
    assert "Traceback" not in result.stderr


def test_an_interrupt_while_modules_load_leaves_no_traceback(folder: Path) -> None:
    marker = folder / "begun"
    # Python loads this before anything else. It says when the library's modules come, and waits as a slow disk would.
    (folder / "sitecustomize.py").write_text(
        "import builtins, pathlib, sys, time\n"
        "original = builtins.__import__\n"
        "def slow(name, *rest, **more):\n"
        "    if name == 'nlgauge._version' and 'nlgauge._startup' in sys.modules:\n"
        f"        pathlib.Path({str(marker)!r}).touch()\n"
        "        time.sleep(60)\n"
        "    return original(name, *rest, **more)\n"
        "builtins.__import__ = slow\n",
        encoding="utf-8",
    )
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    child = subprocess.Popen(
        [sys.executable, "-m", "nlgauge", "score", "a.txt", "--refs", "ref.txt"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 300
        while not marker.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
        child.communicate()
    assert (child.returncode, out, err) == (130, "", "nlgauge: interrupted\n")


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space")
@pytest.mark.parametrize("megabytes", [60, 300], ids=["while-modules-load", "while-the-model-loads"])
def test_too_little_memory_is_an_error_without_traceback(folder: Path, megabytes: int) -> None:
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))

    done = subprocess.run(
        [sys.executable, "-m", "nlgauge", "score", "a.txt", "--refs", "ref.txt"],
        cwd=folder,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # whose threads would take most of it
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    # The last line: libraries may print their own before it.
    assert done.stderr.splitlines()[-1].startswith("nlgauge: error: out of memory. ")


def test_an_engine_without_memory_is_one_line_without_its_source_path(
    refused: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def session(*_: object) -> None:
        msg = "/onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:368 Failed to allocate memory for 84 bytes"
        raise RuntimeError(msg)

    release_models()
    monkeypatch.setattr(OnnxEncoder, "_session", session)
    message = refused(1, "score", "a.txt", "--refs", "ref.txt")
    assert "out of memory" in message
    assert "onnxruntime" not in message


def test_importing_the_library_leaves_interrupts_alone() -> None:
    code = "import signal, nlgauge; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.stdout == "True\n"


NOT_UTF8 = b"\xff\xfe.txt"


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="file systems elsewhere take names of characters only")
@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        (("compare", "a.txt", NOT_UTF8, "--refs", "ref.txt", "-m", "chrf", "--report", "x.html"), 0, r"\xff\xfe"),
        (("score", NOT_UTF8, "--refs", "ref.txt", "-m", "chrf", "-f", "tsv"), 0, r"\xff\xfe"),
        (("score", "--table", b"\xff.tsv", "--columns", "hyp=h,ref=r", "--parts", "p", "-m", "chrf"), 0, "1 of 1"),
        (
            ("score", "--table", NOT_UTF8, "--columns", "hyp=h,ref=r", "--parts", "p", "-m", "chrf"),
            2,
            "no column 'h'",
        ),
    ],
    ids=["report", "tsv", "table", "no such column"],
)
def test_a_file_name_that_is_not_utf8(folder: Path, command: tuple[str | bytes, ...], status: int, says: str) -> None:
    """In a process, because the streams of a test take any text."""
    Path(os.fsdecode(folder / os.fsdecode(NOT_UTF8))).write_bytes((folder / "b.txt").read_bytes())
    Path(os.fsdecode(folder / os.fsdecode(b"\xff.tsv"))).write_bytes(b"h\tr\na b\ta c\nd e\td e\n")
    done = subprocess.run([sys.executable, "-m", "nlgauge", *command], cwd=folder, capture_output=True, check=False)
    assert done.returncode == status, done.stderr
    assert says in (done.stdout + done.stderr).decode()
    assert b"Traceback" not in done.stderr
    assert b"lost sys.stderr" not in done.stderr
    if "--report" in command:
        assert r"\xff\xfe" in (folder / "x.html").read_text(encoding="utf-8")
