"""Start-up of the command line: fast imports, and Ctrl-C without a traceback while modules load.

Programs that import the library are not affected."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from types import FrameType, TracebackType

#: The message for any failed allocation.
OUT_OF_MEMORY = "out of memory. Free some memory or raise the memory limit (ulimit -v); smaller models need less."

#: Messages of libraries that do not raise MemoryError.
_ALLOCATION_FAILED = (
    "std::bad_alloc",
    "Failed to allocate memory",
    "failed to map segment",
    "Cannot allocate memory",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed, in Python or in a library.

    >>> is_out_of_memory(RuntimeError("std::bad_alloc")), is_out_of_memory(RuntimeError("no such layer"))
    (True, False)
    """
    return isinstance(error, MemoryError) or any(text in str(error) for text in _ALLOCATION_FAILED)


def _leave(_: int, __: FrameType | None) -> None:
    # There is nothing to clean up yet, and an exception in a half-loaded module may be lost.
    with contextlib.suppress(OSError):  # stderr may be closed
        os.write(2, b"nlgauge: interrupted\n")
    os._exit(130)


def _report(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Report a lack of memory for shared libraries in one line, not as a traceback."""
    if is_out_of_memory(error):
        print(f"nlgauge: error: {OUT_OF_MEMORY}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


def _is_command() -> bool:
    """Whether this process is the command line."""
    module = sys.orig_argv[-len(sys.argv) - 1 :][:2] if sys.argv[:1] == ["-m"] else []
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    return module == ["-m", "nlgauge"] or program in {"nlgauge", "nlgauge.exe"}


def _guard_loading() -> None:
    """Until `loading_is_over`, end the process at once on an interrupt or a lack of memory."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # not in the main thread, which alone is interrupted
            signal.signal(signal.SIGINT, _leave)
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _report


def _load_fast() -> None:
    """Save a tenth of a second of CPU time while modules load."""
    # Threads of numpy's BLAS otherwise spin while they wait for the first product; 4 is the shortest wait.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    # Modules are not garbage; collecting while they load finds nothing.
    gc.disable()


def loading_is_over() -> None:
    """Restore KeyboardInterrupt and garbage collection."""
    if not gc.isenabled() and _IS_COMMAND:
        gc.freeze()
        gc.enable()
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.excepthook is _report:
        sys.excepthook = sys.__excepthook__


#: Evaluated once: `python -m` replaces the first word of sys.argv as soon as this package is loaded.
_IS_COMMAND = _is_command()

if _IS_COMMAND:
    _guard_loading()
    _load_fast()
