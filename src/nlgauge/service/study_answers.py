"""Answers beside scores as bytes: pairs of texts, rankings, explanations, studies; JSON as `to_dict` has it."""

from __future__ import annotations

from collections.abc import Sequence

from nlgauge._version import __version__
from nlgauge.explain.corpus import CorpusSummary
from nlgauge.explain.explanation import Explanation
from nlgauge.features.run import Discourse
from nlgauge.pairs.matrix import ScoreMatrix
from nlgauge.pairs.rank import Ranking
from nlgauge.report.corpus import render_corpus
from nlgauge.report.discourse import render_discourse
from nlgauge.report.ranking import render_ranking
from nlgauge.report.sensitivity import sensitivity_report
from nlgauge.report.table import Cell, Table
from nlgauge.sensitivity.results import Sensitivity
from nlgauge.service.answers import compact_json

__all__ = [
    "discourse_results",
    "explanations_results",
    "matrix_json",
    "matrix_tsv",
    "ranking_json",
    "ranking_tsv",
    "sensitivity_results",
    "summary_results",
]


def matrix_json(found: ScoreMatrix, warnings: Sequence[str]) -> bytes:
    """The answer to a request for all pairs."""
    return compact_json({"nlgauge": __version__, "matrix": found.to_dict(), "warnings": list(warnings)})


def matrix_tsv(found: ScoreMatrix) -> bytes:
    """The main component: a row per hypothesis, a column per reference, with all digits."""
    names = ["hypothesis", *map(str, range(found.shape[1]))]
    rows: list[list[Cell]] = [[at, *row] for at, row in enumerate(found.scores.tolist())]
    return Table(names, rows).to_tsv(width=17).encode()


def ranking_json(found: Ranking, warnings: Sequence[str]) -> bytes:
    """The answer to a request to rank."""
    record = {"ranking": found.to_dict(candidates=True), "warnings": list(warnings)}
    return compact_json({"nlgauge": __version__, **record})


def ranking_tsv(found: Ranking) -> bytes:
    """A row per candidate, the best of a segment first."""
    return render_ranking(found, format="tsv", width=17).encode()


def explanations_results(found: Sequence[Explanation], warnings: Sequence[str], *, matrix: bool) -> dict[str, bytes]:
    """All that can be downloaded of explained pairs."""
    records = [one.to_dict(matrix=matrix) for one in found]
    return {"json": compact_json({"nlgauge": __version__, "explanations": records, "warnings": list(warnings)})}


def summary_results(found: CorpusSummary, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of the words that carry a score."""
    record = {"nlgauge": __version__, "summary": found.to_dict(), "warnings": list(warnings)}
    return {"json": compact_json(record), "tsv": render_corpus(found, format="tsv", width=17).encode()}


def discourse_results(found: Discourse, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of features of documents, by format."""
    record = {"nlgauge": __version__, "discourse": found.to_dict(segments=True), "warnings": list(warnings)}
    tables = {
        name: render_discourse(found, format="tsv", segments=name == "segments", width=17).encode(
            "utf-8", "backslashreplace"
        )
        for name in ("tsv", "segments")
    }
    return {"json": compact_json(record), **tables}


def sensitivity_results(found: Sensitivity, warnings: Sequence[str]) -> dict[str, bytes]:
    """All that can be downloaded of a study, by format."""
    record = {"nlgauge": __version__, "sensitivity": found.to_dict(), "warnings": list(warnings)}
    return {"json": compact_json(record), "tsv": sensitivity_report(found, format="tsv").encode()}
