"""One BLAS thread while pairs are compared: their products are small, and their bits must not depend on a count.

The number of BLAS threads belongs to the process. So threads that compare at the same time share one limit: the first
sets it, the last takes it back.
"""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["one_blas_thread"]


class _SharedLimit:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._controller: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                if self._controller is None:
                    from threadpoolctl import ThreadpoolController

                    self._controller = ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


#: `with one_blas_thread:`
one_blas_thread = _SharedLimit()
