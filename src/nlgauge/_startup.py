"""While the modules of the command line are being loaded: Ctrl-C is one line and status 130, and no time is wasted.

None of this touches a program that imports the library."""

from __future__ import annotations

import contextlib
import gc
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
    """Until `loading_is_over`, an interrupt ends the process at once."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # not in the main thread, which alone is interrupted
            signal.signal(signal.SIGINT, _leave)


def _load_fast() -> None:
    """Leave out work that moves no result: together a tenth of a second of processor time."""
    # Threads of numpy's BLAS otherwise spin while they wait for the first product; 4 is the shortest wait.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    # Modules are not garbage, however often they are searched for it.
    gc.disable()


def loading_is_over() -> None:
    """From here on an interrupt is a KeyboardInterrupt again, and garbage is collected."""
    if not gc.isenabled() and _is_command():
        gc.freeze()
        gc.enable()
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if _is_command():
    _guard_loading()
    _load_fast()
