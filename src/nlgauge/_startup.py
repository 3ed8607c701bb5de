"""Ctrl-C while the modules of the command line are still being loaded: one line and status 130, no traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

__all__ = ["loading_is_over"]


def _leave(_: int, __: FrameType | None) -> None:
    # Nothing was begun, so there is nothing to clean up. A half-loaded module may not survive an exception.
    with contextlib.suppress(OSError):  # stderr may be closed
        os.write(2, b"nlgauge: interrupted\n")
    os._exit(130)


def _is_command() -> bool:
    """Whether this process is the command line, and not a program that imports the library."""
    module = sys.orig_argv[-len(sys.argv) - 1 :][:2] if sys.argv[:1] == ["-m"] else []
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    return module == ["-m", "nlgauge"] or program in {"nlgauge", "nlgauge.exe"}


def _guard_loading() -> None:
    """Until `loading_is_over`, an interrupt ends the process at once; only if it is the command line."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # not in the main thread, which alone is interrupted
            signal.signal(signal.SIGINT, _leave)


def loading_is_over() -> None:
    """From here on an interrupt is a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_guard_loading()
