"""What a client makes of answers: the types that the library returns. What it warned of is warned of here."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nlgauge.errors import NlgaugeWarning, user_stacklevel
from nlgauge.files.html import HtmlList
from nlgauge.scores import Score, ScoreList
from nlgauge.service.exchange import read_json

if TYPE_CHECKING:
    from nlgauge.explain.corpus import CorpusSummary
    from nlgauge.explain.explanation import Explanation
    from nlgauge.features.run import Discourse
    from nlgauge.pairs.matrix import ScoreMatrix
    from nlgauge.pairs.rank import Ranking
    from nlgauge.sensitivity.results import Sensitivity

__all__ = ["RESULTS", "read_explanation", "read_matrix", "read_ranking", "read_scores"]


def _record(content: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(content)
    for text in record.get("warnings", ()):
        warnings.warn(text, NlgaugeWarning, stacklevel=user_stacklevel())
    return record


def read_scores(content: bytes) -> list[Score]:
    """Scores, as `nlgauge.score_systems` returns them."""
    return ScoreList(Score.from_dict(one) for one in _record(content)["scores"])


def read_matrix(content: bytes) -> ScoreMatrix:
    """That of `nlgauge.matrix`."""
    from nlgauge.pairs.matrix import ScoreMatrix  # imported where it is needed, here and below: scoring does not

    return ScoreMatrix.from_dict(_record(content)["matrix"])


def read_ranking(content: bytes) -> Ranking:
    """That of `nlgauge.rank`."""
    from nlgauge.pairs.rank import Ranking

    return Ranking.from_dict(_record(content)["ranking"])


def read_explanation(content: bytes) -> Explanation:
    """That of `nlgauge.explain_pair`."""
    from nlgauge.explain.explanation import Explanation

    return Explanation.from_dict(_record(content)["explanation"])


def _read_explanations(content: bytes) -> list[Explanation]:
    from nlgauge.explain.explanation import Explanation

    return HtmlList(Explanation.from_dict(one) for one in _record(content)["explanations"])


def _read_summary(content: bytes) -> CorpusSummary:
    from nlgauge.explain.corpus import CorpusSummary

    return CorpusSummary.from_dict(_record(content)["summary"])


def _read_discourse(content: bytes) -> Discourse:
    from nlgauge.features.run import Discourse

    return Discourse.from_dict(_record(content)["discourse"])


def _read_sensitivity(content: bytes) -> Sensitivity:
    from nlgauge.sensitivity.results import Sensitivity

    return Sensitivity.from_dict(_record(content)["sensitivity"])


#: What is made of the result of a job, by its kind.
RESULTS: dict[str, Callable[[bytes], Any]] = {
    "score": read_scores,
    "compare": read_json,
    "sensitivity": _read_sensitivity,
    "matrix": read_matrix,
    "rank": read_ranking,
    "explain-pairs": _read_explanations,
    "explain-corpus": _read_summary,
    "discourse": _read_discourse,
}
