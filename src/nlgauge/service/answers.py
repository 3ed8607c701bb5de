"""Scores and studies as bytes: JSON as the library's own `to_dict`, and TSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nlgauge._version import __version__
from nlgauge.report.scores import render
from nlgauge.report.sensitivity import sensitivity_report
from nlgauge.scores import Score
from nlgauge.sensitivity.results import Sensitivity

__all__ = ["compact_json", "score_results", "scores_json", "scores_tsv", "sensitivity_results"]


def compact_json(record: Any) -> bytes:
    """JSON without blanks, in UTF-8; half surrogates, which UTF-8 cannot hold, as JSON's escapes."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def scores_json(scores: Sequence[Score], warnings: Sequence[str], *, segments: bool = True) -> bytes:
    """The answer to a request to score."""
    records = [score.to_dict(segments=segments) for score in scores]
    return compact_json({"nlgauge": __version__, "scores": records, "warnings": list(warnings)})


def scores_tsv(scores: Sequence[Score], *, segments: bool) -> bytes:
    """A row per score, or per segment, with all digits."""
    return render(scores, format="tsv", segments=segments, width=17).encode("utf-8", "backslashreplace")


def score_results(scores: Sequence[Score], warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of a job that scored, by format."""
    return {
        "json": scores_json(scores, warnings),
        "tsv": scores_tsv(scores, segments=False),
        "segments": scores_tsv(scores, segments=True),
    }


def sensitivity_results(found: Sensitivity, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of a study, by format."""
    record = {"nlgauge": __version__, "sensitivity": found.to_dict(), "warnings": list(warnings)}
    return {"json": compact_json(record), "tsv": sensitivity_report(found, format="tsv").encode()}
