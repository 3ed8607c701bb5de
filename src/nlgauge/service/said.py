"""What the library warns of, collected by the call that it belongs to.

Python's warnings belong to the process, and many calls are under way in a service at once. So one function receives
all warnings of the process and hands each to the thread that gave it.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from nlgauge.errors import NlgaugeWarning

__all__ = ["collected_warnings"]

#: As `warnings` keeps it: action, message, category, module, line.
_ALWAYS = ("always", None, NlgaugeWarning, None, 0)

_collecting = threading.local()
_installing = threading.Lock()


@contextlib.contextmanager
def collected_warnings(said: list[str]) -> Iterator[None]:
    """Add what the library warns of inside, in this thread, to the list, each warning once.

    >>> said = []
    >>> with collected_warnings(said):
    ...     warnings.warn("short", NlgaugeWarning)
    >>> said
    ['short']
    """
    _install()
    before = getattr(_collecting, "said", None)
    _collecting.said = said
    try:
        yield
    finally:
        _collecting.said = before


def _install() -> None:
    """Receive the warnings of the process; again where somebody else has received or filtered them meanwhile.

    `warnings.catch_warnings` in two threads may leave the filters of one of them behind.
    """
    with _installing:
        if not isinstance(warnings.showwarning, _Receiver):
            warnings.showwarning = _Receiver(warnings.showwarning)
        if warnings.filters[:1] != [_ALWAYS]:
            warnings.simplefilter("always", NlgaugeWarning)


class _Receiver:
    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        said = getattr(_collecting, "said", None)
        if said is None or not issubclass(category, NlgaugeWarning):
            self._before(message, category, *rest, **more)
        elif str(message) not in said:
            said.append(str(message))
