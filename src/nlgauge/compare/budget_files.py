"""What was spent on each system, from a file: a table with a column `system`, and whatever else it has."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nlgauge.data.score_files import read_table
from nlgauge.errors import FileFormatError, InputError
from nlgauge.files.lines import read_bytes

__all__ = ["Budgets", "read_budgets"]

#: By system and by what is counted, such as {"big": {"GPU hours": 12, "parameters": "110M"}}.
Budgets = dict[str, dict[str, str | float]]


def read_budgets(path: str | os.PathLike[str], systems: Sequence[str]) -> Budgets:
    """The budgets of these systems; an empty cell is not known, and a system that is not there is an error."""
    name = os.fspath(path)
    found: Budgets = {}
    for row in read_table(name, read_bytes(name)):
        system = row.label("system")
        if system in found:
            msg = f"{row.at('system')}: the budget of {system!r} stands there already; keep one"
            raise FileFormatError(msg)
        if system not in systems:
            msg = f"{row.at('system')}: there is no system {system!r} to compare; there are {', '.join(systems)}"
            raise InputError(msg)
        values = {key: value for key, value in row.values.items() if key != "system" and value not in ("", None)}
        found[system] = {
            key: value if isinstance(value, int | float) else str(value) for key, value in values.items()
        }
    return found
