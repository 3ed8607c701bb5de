"""Requests to a service and its answers, for both clients: retries, errors, and results as types of the library."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from nlgauge import errors
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.errors import NlgaugeError, NlgaugeWarning, RecipeError, ServiceError, user_stacklevel

if TYPE_CHECKING:
    from nlgauge.core.matrix import ScoreMatrix
    from nlgauge.core.rank import Ranking
    from nlgauge.studies.discourse import Discourse
    from nlgauge.studies.explain.corpus import CorpusSummary
    from nlgauge.studies.explain.explanation import Explanation, Explanations
    from nlgauge.studies.sensitivity.results import Sensitivity


Answer = TypeVar("Answer")

#: The answer to what may still be a job.
TOO_LARGE = 413

#: Answers after which it is worth to ask again.
BUSY = (429, 503)

#: States that a job stays in.
ENDED = ("done", "failed", "cancelled", "interrupted")


@dataclass(frozen=True)
class Ask(Generic[Answer]):
    """A request, and what is made of the body of its answer."""

    method: str
    path: str
    read: Callable[[bytes], Answer]
    body: bytes | None = None
    again: bool = True
    """Whether it may be sent again where it is not known what became of it."""

    @property
    def headers(self) -> dict[str, str]:
        """That the body is JSON."""
        return {} if self.body is None else {"Content-Type": "application/json"}


class Retries(NamedTuple):
    """How often to ask again, and how long to wait before: twice as long each time, but for what the service says."""

    times: int = 5
    first: float = 0.25
    longest: float = 30.0

    def delay(self, attempt: int, retry_after: str | None = None) -> float:
        """Seconds to wait after attempt 0, 1, ...; a little at random, so that clients do not come back together."""
        wait = min(self.longest, self.first * float(2**attempt)) * (0.75 + random.random() / 2)
        if retry_after is not None and retry_after.isdigit():
            wait = max(wait, min(self.longest, float(retry_after)))
        return wait


class JobState(NamedTuple):
    """A job, as the service last told of it."""

    id: str
    kind: str
    state: str
    """queued, running, done, failed, cancelled or interrupted"""
    done: int
    total: int | None
    unit: str
    problem: Mapping[str, Any] | None

    @property
    def ended(self) -> bool:
        """Whether it stays in this state."""
        return self.state in ENDED

    @classmethod
    def read(cls, content: bytes) -> JobState:
        """From JSON."""
        record = json.loads(content)
        names = ("id", "kind", "state", "problem")
        return cls(**{name: record[name] for name in names}, **record["progress"])

    def check(self) -> None:
        """Raise what the job failed with."""
        if self.state == "failed":
            raise _error(self.problem or {}, None)
        if self.state != "done":
            msg = f"job {self.id} has no result: it is {self.state}"
            raise ServiceError(msg)


def answer(ask: Ask[Answer], status: int, content: bytes) -> Answer:
    """What was asked for, or the error that the answer tells of: that of the library, where it was one."""
    if status < 300:
        try:
            return ask.read(content)
        except (ValueError, KeyError, TypeError) as error:
            msg = f"the service's answer to {ask.method} {ask.path} cannot be read: {error!r}"
            raise ServiceError(msg, status=status) from error
    try:
        record = json.loads(content)
        problem = record if isinstance(record, dict) else {}
    except ValueError:
        problem = {}
    raise _error(problem, status)


def _error(problem: Mapping[str, Any], status: int | None) -> NlgaugeError:
    said = problem.get("detail") or problem.get("title") or "the service gave no reason"
    kind = getattr(errors, str(problem.get("error", "")), None)
    if isinstance(kind, type) and issubclass(kind, NlgaugeError) and kind is not ServiceError:
        return kind(said)
    where = f" (status {status})" if status is not None else ""
    return ServiceError(f"the service refused{where}: {said}", status=status)


def submit_ask(kind: str, body: Mapping[str, Any]) -> Ask[JobState]:
    """Submit a job. It is not sent again where it may have arrived."""
    return Ask("POST", f"/v1/jobs/{kind}", JobState.read, as_json(body), again=False)


def get_ask(path: str, read: Callable[[bytes], Answer]) -> Ask[Answer]:
    """Ask for something that is there."""
    return Ask("GET", path, read)


def cancel_ask(name: str) -> Ask[JobState]:
    """Cancel a job."""
    return Ask("POST", f"/v1/jobs/{name}/cancel", JobState.read, b"{}")


def remove_ask(name: str) -> Ask[None]:
    """Remove a job."""
    return Ask("DELETE", f"/v1/jobs/{name}", lambda _: None)


def unreachable(url: str, error: Exception) -> ServiceError:
    """What to raise where there was no answer."""
    return ServiceError(f"the service at {url} does not answer: {error or type(error).__name__}")


def read_json(content: bytes) -> Any:
    """Whatever the answer is."""
    return json.loads(content)


def as_json(body: Mapping[str, Any]) -> bytes:
    """A request's body."""
    try:
        return json.dumps(body, ensure_ascii=True, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        msg = f"an option cannot be sent to a service: {error}; options are texts, numbers and true or false"
        raise RecipeError(msg) from error


def _record(content: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(content)
    for text in record.get("warnings", ()):
        warnings.warn(text, NlgaugeWarning, stacklevel=user_stacklevel())
    return record


def read_scores(content: bytes) -> ScoreTable:
    """Scores, as `nlgauge.score_systems` returns them."""
    return ScoreTable(tuple(Score.from_dict(one) for one in _record(content)["scores"]))


def read_matrix(content: bytes) -> ScoreMatrix:
    """That of `nlgauge.matrix`."""
    from nlgauge.core.matrix import ScoreMatrix  # imported where it is needed, here and below: scoring does not

    return ScoreMatrix.from_dict(_record(content)["matrix"])


def read_ranking(content: bytes) -> Ranking:
    """That of `nlgauge.rank`."""
    from nlgauge.core.rank import Ranking

    return Ranking.from_dict(_record(content)["ranking"])


def read_explanation(content: bytes) -> Explanation:
    """That of `nlgauge.explain_pair`."""
    from nlgauge.studies.explain.explanation import Explanation

    return Explanation.from_dict(_record(content)["explanation"])


def _read_explanations(content: bytes) -> Explanations:
    from nlgauge.studies.explain.explanation import Explanation, Explanations

    return Explanations(tuple(Explanation.from_dict(record) for record in _record(content)["explanations"]))


def _read_summary(content: bytes) -> CorpusSummary:
    from nlgauge.studies.explain.corpus import CorpusSummary

    return CorpusSummary.from_dict(_record(content)["summary"])


def _read_discourse(content: bytes) -> Discourse:
    from nlgauge.studies.discourse import Discourse

    return Discourse.from_dict(_record(content)["discourse"])


def _read_sensitivity(content: bytes) -> Sensitivity:
    from nlgauge.studies.sensitivity.results import Sensitivity

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
