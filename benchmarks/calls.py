"""Count the calls of nlgauge's functions in a command: `python -m benchmarks.calls score a.txt --refs r.txt`.

Also counts how often two calls in a row are in different files. Comprehensions and lambdas are not counted. Run it
twice, because the first run may fill caches.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import nlgauge

__all__ = ["main"]

_SOURCE = str(Path(nlgauge.__file__).parent)
_NOT_COUNTED = {"<module>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<lambda>"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of nlgauge, and print the counts to standard error."""
    from nlgauge.apps.cli import main as run

    calls: Counter[str] = Counter()
    files: list[str] = []

    def count(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_SOURCE) and code.co_name not in _NOT_COUNTED:
            files.append(code.co_filename.removeprefix(_SOURCE + "/"))
            calls[f"{files[-1]} {code.co_name}"] += 1

    sys.setprofile(count)
    try:
        status = run(sys.argv[1:] if argv is None else argv)
    finally:
        sys.setprofile(None)
    changes = sum(file != before for before, file in zip(["", *files], files, strict=False))
    print(f"{len(files):,} calls, {changes:,} changes of file, {len(set(files))} files", file=sys.stderr)
    for name, number in calls.most_common(20):
        print(f"{number:6d} {name}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
