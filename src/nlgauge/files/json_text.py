"""JSON as people and `diff` read it: an object or a list of plain values stands on one line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nlgauge.errors import InputError

__all__ = ["json_text"]

#: Made once: `json.dumps` makes one for every call that has options.
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def json_text(value: Any) -> str:
    """The value as strict JSON with a newline at its end; what JSON has no word for (nan) is an `InputError`.

    >>> print(json_text({"mean": 0.5, "rows": [{"segment": 0}, {"segment": 1}]}), end="")
    {
      "mean": 0.5,
      "rows": [
        {"segment": 0},
        {"segment": 1}
      ]
    }
    """
    try:
        text = _laid_out(value, "")
    except ValueError as error:
        msg = f"the result holds a value that JSON has no word for: {error}"
        raise InputError(msg) from error
    # A system named by a file whose name is not UTF-8 holds half surrogates; only JSON's escape prints them.
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _laid_out(value: Any, pad: str) -> str:
    items = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else []
    if not any(isinstance(one, Mapping | list | tuple) for one in items):
        return _ENCODE(value)
    inner = pad + "  "
    parts = [_laid_out(one, inner) for one in items]
    if isinstance(value, Mapping):
        parts = [f"{_ENCODE(name)}: {part}" for name, part in zip(value, parts, strict=True)]
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    return opening + "\n" + ",\n".join(inner + part for part in parts) + f"\n{pad}{closing}"
