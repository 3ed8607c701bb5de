"""The OpenAPI description as a page for people: no script, no style in the page, nothing from elsewhere.

Swagger UI would be 1.5 MB of script, and sets styles inside the page, which the service's content policy forbids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

__all__ = ["STYLE", "docs_page"]

STYLE = """\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8886; padding: .5rem 0 1rem; }
h2 { font: 600 1.05rem ui-monospace, monospace; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: .8rem 0 .2rem; }
nav ul, dl { margin: 0; padding: 0; }
nav li { list-style: none; }
dt { padding-top: .3rem; }
dt span { opacity: .75; }
dd { margin: 0 0 0 1.2rem; padding-bottom: .3rem; border-bottom: 1px solid #8883; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
pre { overflow: auto; padding: .6rem; background: #8881; }
"""


def docs_page(description: Mapping[str, Any]) -> str:
    """The whole page."""
    about = description["info"]
    parts = [
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1>",
        f"<p>{escape(about.get('description', ''))}</p>",
        '<p>For programs: <a href="openapi.json">openapi.json</a>. For people: <a href="./">the page</a>.</p>',
    ]
    found = [
        (method, path, operation)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]
    links = "".join(
        f'<li><a href="#{_anchor(method, path)}"><code>{method.upper()} {escape(path)}</code></a> '
        f"{escape(operation.get('summary', ''))}</li>"
        for method, path, operation in found
    )
    parts.append(f"<nav><ul>{links}</ul></nav>")
    parts += [_operation(description, *one) for one in found]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>nlgauge</title>'
    style = '<link rel="stylesheet" href="docs.css">'
    return f'<!doctype html><html lang="en"><head>{head}{style}</head><body>{"".join(parts)}</body></html>\n'


def _operation(whole: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]) -> str:
    parts = [
        f'<h2 id="{_anchor(method, path)}">{method.upper()} {escape(path)}</h2>',
        f"<p>{_words(operation.get('summary', ''))}. {_words(operation.get('description', ''))}</p>",
    ]
    given = [
        (one["name"], _type(one.get("schema", {})), one.get("description") or one["schema"].get("description", ""))
        for one in operation.get("parameters", ())
    ]
    if given:
        parts.append(_list("Parameters", given))
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        schema = _resolved(whole, body)
        parts.append(_list("Fields of the body", _fields(schema)))
        for example in schema.get("examples", ()):
            parts.append(f"<pre>{escape(json.dumps(example, indent=2))}</pre>")
    good = {status: answer for status, answer in operation["responses"].items() if status < "400"}
    for status, answer in good.items():
        types = ", ".join(answer.get("content", {})) or "no content"
        parts.append(f"<p>{escape(status)}: <code>{escape(types)}</code></p>")
    errors = [
        (status, "", answer["description"]) for status, answer in operation["responses"].items() if status >= "400"
    ]
    parts.append(f"<details><summary>errors</summary>{_list('Status', errors)}</details>")
    return f"<section>{''.join(parts)}</section>"


def _fields(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, one in schema.get("properties", {}).items():
        default = f" (default: {json.dumps(one['default'])})" if one.get("default") is not None else ""
        yield name, _type(one), one.get("description", "") + default


def _list(title: str, rows: Iterable[tuple[str, str, str]]) -> str:
    items = "".join(
        f"<dt><code>{escape(name)}</code> <span>{escape(kind)}</span></dt><dd>{_words(what)}</dd>"
        for name, kind, what in rows
    )
    return f"<h3>{escape(title)}</h3><dl>{items}</dl>"


def _words(text: str) -> str:
    """Text with what stands between back-ticks as code.

    >>> _words("a < `b`")
    'a &lt; <code>b</code>'
    """
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _anchor(method: str, path: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{method}{path}".lower()).strip("-")


def _type(schema: Mapping[str, Any]) -> str:
    """The type in words.

    >>> _type({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string'
    """
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if schema.get("type") == "array":
        return f"list of {_grouped(_type(schema.get('items', {})))}"
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return f"object of {_grouped(_type(schema['additionalProperties']))}"
    return str(schema.get("type", schema.get("const", "")))


def _grouped(kind: str) -> str:
    return f"({kind})" if " | " in kind else kind


def _resolved(whole: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Mapping[str, Any] = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found
