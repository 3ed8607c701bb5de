"""One BLAS thread for products whose bits must not depend on a thread count: `with one_blas_thread: ...`

The number of BLAS threads belongs to the process. So threads of ours that need the limit at the same time share it:
the first sets it, the last takes it back.
"""

from __future__ import annotations

import sys
import threading
from typing import Any


class _SharedLimit:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._modules = -1
        self._controller: Any = None
        self._limits: list[Any] = []

    def __enter__(self) -> None:
        with self._lock:
            # Looking for BLAS libraries takes milliseconds, and only an import can have brought another one.
            fresh = len(sys.modules) != self._modules
            if fresh:
                from threadpoolctl import ThreadpoolController

                self._controller = ThreadpoolController()
                self._modules = len(sys.modules)
            if fresh or self._users == 0:
                self._clear_control()
                self._limits.append(self._controller.limit(limits=1, user_api="blas"))
                self._clear_control()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            while self._users == 0 and self._limits:
                self._clear_control()
                self._limits.pop().restore_original_limits()
                self._clear_control()

    def _clear_control(self) -> None:
        """Let any thread set the number: threadpoolctl ignores all threads but the first, from its version 3.8 on."""
        for library in self._controller.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


one_blas_thread = _SharedLimit()
