"""Write files generated from the code, or check that they are up to date.

python -m docs.make_operations            write the files of a generator
python -m docs.make_operations --check    exit with status 1 if a file is not up to date
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nlgauge.core.options import BY_PROFILE, Option

#: Header of a table of options.
TABLE_HEAD = ("| option | values | default | meaning |", "|---|---|---|---|")


def write_or_check(
    arguments: Sequence[str], files: Mapping[Path, str], command: str, *, existing: Iterable[Path] = ()
) -> int:
    """Write the files, or with `--check` list those that are not up to date.

    Of the `existing` files, those that are no longer generated are removed or listed.
    """
    unwanted = [path for path in existing if path not in files]
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in (*stale, *unwanted):
            print(f"{path.parent.name}/{path.name} is not up to date: {command}")
        return int(bool(stale or unwanted))
    for path in unwanted:
        path.unlink()
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return 0


def option_row(entry: Option, name: str = "") -> str:
    """Format an option as a row of a table."""
    text = str(entry.default) if isinstance(entry.default, bool) else entry.default_text
    default = f"`{text}`"
    if entry.default is BY_PROFILE or entry.required:
        default = "required" if entry.required else text
    elif entry.unset or (entry.default in (None, "", ()) and not getattr(entry.kind, "word", "")):
        default = entry.unset
    cells = (name or f"`{entry.name}`", entry.values, default, entry.help)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |".replace("|  |", "| |")
