"""Where nlgauge keeps what it downloads and remembers on this machine."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_dir"]


def cache_dir() -> Path:
    """The folder for models and digests: `$NLGAUGE_CACHE`, `$XDG_CACHE_HOME/nlgauge` or `~/.cache/nlgauge`.

    The folder need not exist; whoever writes into it creates it. The path is absolute, so that it
    still holds in a child process or after a change of directory.
    """
    own = os.environ.get("NLGAUGE_CACHE", "")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path there is invalid and to be ignored.
    if shared and Path(shared).is_absolute():
        return Path(shared) / "nlgauge"
    return Path("~/.cache/nlgauge").expanduser()
