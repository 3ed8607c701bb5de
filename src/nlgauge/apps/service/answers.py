"""Answers as bytes: the result of an operation as JSON (the library's `to_dict`), as tables, or as a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nlgauge._version import __version__
from nlgauge.apps.service.request_models import OperationRequest
from nlgauge.core.operations import Operation
from nlgauge.errors import InputError
from nlgauge.report.html.alignments import alignment_record, explain_for_report
from nlgauge.report.html.document import html_report
from nlgauge.report.html.inputs import ReportTexts, differing_segments
from nlgauge.studies.compare.system_scores import system_scores

TSV = "text/tab-separated-values"

#: Segments of a report that have alignments: those on which systems differ most.
_EXPLAINED = 200

#: Formats of single operations that are not tables.
_FURTHER: dict[str, tuple[str, ...]] = {"compare": ("html",), "explain": ("alignment",)}

#: What a description says of them.
FORMAT_HELP = (
    "tsv: the main table; segments: a row per segment; pairs: a row per pair of systems; html: a report; "
    "alignment: what a page shows of an explanation"
)


def formats(operation: Operation) -> tuple[str, ...]:
    """The formats that the result of an operation can be had in."""
    return ("json", "tsv", *operation.result_class.further, *_FURTHER.get(operation.name, ()))


def media_type(form: str) -> str:
    """The media type of a format."""
    if form in {"json", "alignment"}:
        return "application/json"
    return f"{'text/html' if form == 'html' else TSV}; charset=utf-8"


def answer(request: OperationRequest, result: Any, form: str, warnings: Sequence[str]) -> bytes:
    """A result in a format."""
    if form == "json":
        return _compact_json({"nlgauge": __version__, **_record(request, result), "warnings": list(warnings)})
    if form == "alignment":
        shown = alignment_record(result.to_dict())
        return _compact_json({"nlgauge": __version__, "alignment": shown, "warnings": list(warnings)})
    text = _report(result) if form == "html" else result.render(form, decimals=17)
    return text.encode("utf-8", "backslashreplace")


def answers(request: OperationRequest, result: Any, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of a job, by format."""
    return {form: answer(request, result, form, warnings) for form in formats(request.operation)}


def answer_schema(operation: Operation) -> dict[str, Any]:
    """The JSON Schema of an answer."""
    schema = operation.result_class.schema()
    schema.pop("$schema")
    if "alignment" not in _FURTHER.get(operation.name, ()):
        return schema
    head = {name: schema["properties"][name] for name in ("nlgauge", "warnings")}
    shown = {"type": "object", "properties": head | {"alignment": {"type": "object"}}, "required": ["alignment"]}
    return {"anyOf": [schema, shown]}


def _record(request: OperationRequest, result: Any) -> dict[str, Any]:
    """Plain values; a request says whether they have segments, or matrices."""
    record: dict[str, Any] = result.to_dict(**{name: getattr(request, name) for name in request.parts})
    return record


def _report(result: Any) -> str:
    """A comparison as one HTML file."""
    corpus = result.scores[0].origin.corpus
    tables = system_scores(result.scores)
    explanations = explain_for_report(result.scores, differing_segments(tables, _EXPLAINED))
    references = list(corpus.references) if all(corpus.references) else None
    texts = ReportTexts(corpus.systems, references, corpus.sources)
    return html_report(result.comparison, scores=tables, texts=texts, explanations=explanations)


def _compact_json(record: Any) -> bytes:
    """JSON without blanks, in UTF-8; half surrogates, which UTF-8 cannot hold, as JSON's escapes."""
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:  # scores must be numbers; elsewhere null stands for what is not a finite number
        msg = f"the result holds a value that JSON has no word for: {error}"
        raise InputError(msg) from error
    return text.encode("utf-8", "backslashreplace")
