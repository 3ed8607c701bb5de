"""Answers as bytes: scores, pairs, rankings, explanations and studies, as JSON (the library's `to_dict`) or TSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from nlgauge._version import __version__
from nlgauge.core.corpus import Corpus
from nlgauge.core.matrix import ScoreMatrix
from nlgauge.core.rank import Ranking
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.report.html.alignments import alignment_record, explain_for_report
from nlgauge.report.html.document import html_report
from nlgauge.report.html.inputs import ReportTexts, differing_segments
from nlgauge.studies.compare.comparison import SystemComparison
from nlgauge.studies.compare.sentences import plain_verdicts
from nlgauge.studies.compare.sources import system_scores
from nlgauge.studies.discourse import Discourse
from nlgauge.studies.explain.corpus import CorpusSummary
from nlgauge.studies.explain.explanation import Explanation
from nlgauge.studies.sensitivity.results import Sensitivity

#: Segments of a report that have alignments: those on which systems differ most.
_EXPLAINED = 200


def compact_json(record: Any) -> bytes:
    """JSON without blanks, in UTF-8; half surrogates, which UTF-8 cannot hold, as JSON's escapes."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def scores_json(scores: Sequence[Score], warnings: Sequence[str], *, segments: bool = True) -> bytes:
    """The answer to a request to score."""
    record = ScoreTable(tuple(scores)).to_dict(segments=segments)
    return compact_json({"nlgauge": __version__, **record, "warnings": list(warnings)})


def scores_tsv(scores: Sequence[Score], *, segments: bool) -> bytes:
    """A row per score, or per segment, with all digits."""
    return ScoreTable(tuple(scores)).render("tsv", segments=segments, decimals=17).encode("utf-8", "backslashreplace")


def score_results(scores: Sequence[Score], warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of a job that scored, by format."""
    return {
        "json": scores_json(scores, warnings),
        "tsv": scores_tsv(scores, segments=False),
        "segments": scores_tsv(scores, segments=True),
    }


def comparison_json(
    comparison: SystemComparison, scores: Sequence[Score], warnings: Sequence[str], *, segments: bool = True
) -> bytes:
    """The answer to a request to compare."""
    records = ScoreTable(tuple(scores)).to_dict(segments=segments)["scores"]
    record = {"comparison": comparison.to_dict(), "scores": records, "verdicts": plain_verdicts(comparison)}
    return compact_json({"nlgauge": __version__, **record, "warnings": list(warnings)})


def comparison_tsv(comparison: SystemComparison, *, table: Literal["tsv", "pairs"] = "tsv") -> bytes:
    """A row per system, or per pair of systems."""
    return comparison.render(table, decimals=17).encode("utf-8", "backslashreplace")


def comparison_results(
    comparison: SystemComparison, scores: Sequence[Score], corpus: Corpus, warnings: Sequence[str]
) -> dict[str, bytes]:
    """All that can be downloaded of a comparison, by format; the report is one HTML file."""
    tables = system_scores(scores)
    explanations = explain_for_report(scores, differing_segments(tables, _EXPLAINED))
    references = list(corpus.references) if all(corpus.references) else None
    texts = ReportTexts(corpus.systems, references, corpus.sources)
    page = html_report(comparison, scores=tables, texts=texts, explanations=explanations)
    return {
        "json": comparison_json(comparison, scores, warnings),
        "tsv": comparison_tsv(comparison),
        "pairs": comparison_tsv(comparison, table="pairs"),
        "segments": scores_tsv(scores, segments=True),
        "html": page.encode("utf-8", "backslashreplace"),
    }


def explanation_json(found: Explanation, warnings: Sequence[str], *, matrix: bool) -> bytes:
    """The answer to a request to explain."""
    record = {"nlgauge": __version__, "explanation": found.to_dict(matrix=matrix), "warnings": list(warnings)}
    return compact_json(record)


def alignment_json(found: Explanation, warnings: Sequence[str]) -> bytes:
    """The same for a page: the report and the page of the service draw it alike."""
    record = {"nlgauge": __version__, "alignment": alignment_record(found.to_dict()), "warnings": list(warnings)}
    return compact_json(record)


def matrix_json(found: ScoreMatrix, warnings: Sequence[str]) -> bytes:
    """The answer to a request for all pairs."""
    return compact_json({"nlgauge": __version__, "matrix": found.to_dict(), "warnings": list(warnings)})


def matrix_tsv(found: ScoreMatrix) -> bytes:
    """The main component: a row per hypothesis, a column per reference, with all digits."""
    return found.render("tsv", decimals=17).encode()


def ranking_json(found: Ranking, warnings: Sequence[str]) -> bytes:
    """The answer to a request to rank."""
    record = {"ranking": found.to_dict(), "warnings": list(warnings)}
    return compact_json({"nlgauge": __version__, **record})


def ranking_tsv(found: Ranking) -> bytes:
    """A row per candidate, the best of a segment first."""
    return found.render("tsv", decimals=17).encode()


def explanations_results(found: Sequence[Explanation], warnings: Sequence[str], *, matrix: bool) -> dict[str, bytes]:
    """All that can be downloaded of explained pairs."""
    records = [one.to_dict(matrix=matrix) for one in found]
    return {"json": compact_json({"nlgauge": __version__, "explanations": records, "warnings": list(warnings)})}


def summary_results(found: CorpusSummary, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of the words that carry a score."""
    record = {"nlgauge": __version__, "summary": found.to_dict(), "warnings": list(warnings)}
    return {"json": compact_json(record), "tsv": found.render("tsv", decimals=17).encode()}


def discourse_results(found: Discourse, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of features of documents, by format."""
    record = {"nlgauge": __version__, "discourse": found.to_dict(), "warnings": list(warnings)}
    tables = {"tsv": found.render("tsv", decimals=17), "segments": found.document_table().to_tsv(width=17)}
    encoded = {name: text.encode("utf-8", "backslashreplace") for name, text in tables.items()}
    return {"json": compact_json(record), **encoded}


def sensitivity_results(found: Sensitivity, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of a study, by format."""
    record = {"nlgauge": __version__, "sensitivity": found.to_dict(), "warnings": list(warnings)}
    return {"json": compact_json(record), "tsv": found.render("tsv").encode()}
