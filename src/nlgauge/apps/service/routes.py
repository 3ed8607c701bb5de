"""The OpenAPI description as a page for people: no script, no style in the page, nothing from elsewhere.

Swagger UI would be 1.5 MB of script, and sets styles inside the page, which the service's content policy forbids.

Endpoints that answer at once: what there is, scores, health.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from nlgauge._version import __version__
from nlgauge.apps.service.answers import scores_json, scores_tsv
from nlgauge.apps.service.calls import check_size
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.policy import allowed_words
from nlgauge.apps.service.schemas import Description, MetricRecord, ModelRecord, ScoreAnswer, ScoreRequest
from nlgauge.apps.service.service import Service
from nlgauge.core.metric import Metric
from nlgauge.core.registry import METRICS
from nlgauge.report.metrics import describe_metric, describe_option, metric_equation

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


router = APIRouter()

TSV = "text/tab-separated-values"


def service_of(request: Request) -> Service:
    """The service behind the application."""
    found: Service = request.app.state.service
    return found


def json_body(request: Request) -> None:
    """A form that a browser sends across sites without asking is never JSON."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        raise ProblemError(415, "the body must be application/json", kind="content-type")


Used = Annotated[Service, Depends(service_of)]


@router.post(
    "/v1/score",
    dependencies=[Depends(json_body)],
    response_class=Response,
    responses={200: {"model": ScoreAnswer, "content": {TSV: {"schema": {"type": "string"}}}}},
    summary="Score outputs of systems",
)
async def score(
    asked: ScoreRequest,
    service: Used,
    form: Annotated[Literal["json", "tsv"], Query(alias="format")] = "json",
) -> Response:
    """One metric or several, one system or several, with references or sources. For larger requests see jobs."""
    characters = check_size(asked, service.settings, job=False)
    call = service.caller.score(asked)
    scored = await service.score(call, texts=len(asked.texts()), characters=characters)
    if form == "tsv":
        return Response(scores_tsv(scored.scores, segments=asked.segments), media_type=f"{TSV}; charset=utf-8")
    return Response(
        scores_json(scored.scores, scored.warnings, segments=asked.segments), media_type="application/json"
    )


@router.get("/v1", summary="What this service is, and its limits")
async def description(service: Used) -> Description:
    """Version, engine and limits."""
    settings = service.settings
    return Description(
        nlgauge=__version__,
        engine=settings.engine,
        precision=settings.precision,
        instance=settings.instance,
        limits=settings.limits.__dict__,
    )


@router.get("/v1/metrics", summary="Metrics and their options")
def metrics(service: Used) -> list[MetricRecord]:
    """All metrics, with what requests may set, and whether they can be had here."""
    reasons = [service.policy.why_not(metric) for metric in METRICS.values()]
    return [
        record.model_copy(update={"available": reason is None, "reason": reason})
        for record, reason in zip(_records(), reasons, strict=True)
    ]


@cache
def _records() -> tuple[MetricRecord, ...]:
    return tuple(MetricRecord.model_validate(_described(metric)) for metric in METRICS.values())


@router.get("/v1/models", summary="Models")
def models(service: Used) -> list[ModelRecord]:
    """All models that the library knows, and whether requests may name them here."""
    return [ModelRecord.model_validate(record) for record in service.policy.models()]


@router.get("/healthz", response_class=PlainTextResponse, summary="Whether the process answers")
async def health() -> str:
    """Always ok."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse, summary="Whether requests are computed")
async def ready(service: Used) -> str:
    """Ok once models are loaded, and until the service is told to stop."""
    if not service.ready or not service.inference.alive:
        raise ProblemError(503, "starting or stopping", kind="not-ready", retry_after=2)
    return "ok\n"


@router.get("/metrics", response_class=PlainTextResponse, summary="Figures for Prometheus")
def figures(service: Used) -> Response:
    """Requests, batches, jobs, memory."""
    service.monitor.waiting.set(service.inference.waiting)
    service.monitor.queued.set(service.store.queued())
    return Response(service.monitor.text(), media_type=service.monitor.content_type)


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    """This description, for people."""
    return HTMLResponse(docs_page(request.app.openapi()))


@router.get("/docs.css", include_in_schema=False)
def docs_style() -> Response:
    """How the page looks."""
    return Response(STYLE, media_type="text/css")


def _described(metric: type[Metric]) -> dict[str, Any]:
    recipe = metric()
    options = [
        {**describe_option(recipe, name, about), "values": allowed_words(metric, name, about)}
        for name, about in metric.options().items()
    ]
    more = {"options": options, "equation": metric_equation(metric), "citation": metric.citation.strip()}
    return describe_metric(metric) | more
