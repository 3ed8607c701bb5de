"""What a client says to a service and makes of its answers, whether it waits or awaits them."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from nlgauge import errors
from nlgauge.corpus.checks import make_corpus
from nlgauge.corpus.texts import References
from nlgauge.errors import NlgaugeError, NlgaugeWarning, ServiceError, user_stacklevel
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.signature import Signature
from nlgauge.scores import Score
from nlgauge.scoring import chosen_metrics

if TYPE_CHECKING:
    from nlgauge.explain.explanation import Explanation
    from nlgauge.sensitivity.results import Sensitivity

__all__ = [
    "BUSY",
    "RESULTS",
    "Ask",
    "JobState",
    "Retries",
    "answer",
    "cancel_ask",
    "explain_ask",
    "get_ask",
    "needs_a_job",
    "read_json",
    "remove_ask",
    "score_ask",
    "score_body",
    "sensitivity_body",
    "submit_ask",
    "unreachable",
]

Answer = TypeVar("Answer")

#: Up to so many texts and characters a request is sent without asking what the service takes.
_SURELY_TEXTS = 200
_SURELY_CHARACTERS = 200_000

#: Fields of a request that the library takes as options of a run.
_BESIDE = ("long", "empty", "alignments")

#: Fields of a request for a study that are no options of its metrics.
_OF_STUDY = ("preset", "lang", "alpha", "resamples", "seed")

#: Fields of a request for an explanation that are no options of its metric.
_OF_EXPLANATION = (
    *("words", "pieces", "shapley", "leave_one_out"),
    *("side", "component", "samples", "seed", "beside"),
)

#: Answers after which it is worth to ask again.
BUSY = (429, 503)

#: States that a job stays in.
_ENDED = ("done", "failed", "cancelled", "interrupted")


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
        return self.state in _ENDED

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


def score_body(
    systems: Mapping[str, Iterable[str]], refs: References | None, metrics: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The JSON of a request, from what `nlgauge.score_systems` takes.

    Texts are checked here as the library checks them, before they are sent.
    """
    given = {name: value for name, value in options.items() if name != "progress"}
    chosen = chosen_metrics(metrics, given.pop("metric", None))
    texts = {name: given.pop(name, None) for name in ("ref_streams", "sources")}
    corpus = make_corpus(systems, refs, **texts)
    body: dict[str, Any] = {name: given.pop(name) for name in _BESIDE if name in given}
    body["metrics"] = [_recipe_text(metric) for metric in chosen]
    if list(corpus.systems) == [""]:
        body["hyps"] = list(corpus.systems[""])
    else:
        body["systems"] = {name: list(texts) for name, texts in corpus.systems.items()}
    if all(corpus.references):
        body["refs"] = [list(group) for group in corpus.references]
    if corpus.sources is not None:
        body["sources"] = list(corpus.sources)
    return body | ({"options": given} if given else {})


def _recipe_text(metric: str | Metric | Signature) -> str:
    """A recipe as text: `bertscore:layer=4` for `BERTScore(layer=4)`."""
    if not isinstance(metric, Metric):
        return str(metric)
    known = metric.options()
    given = ",".join(f"{name}={known[name].kind.show(value)}" for name, value in metric.__dict__["_given"].items())
    return f"{metric.name}:{given}" if given else metric.name


def needs_a_job(body: Mapping[str, Any], limits: Mapping[str, float] | None) -> bool | None:
    """Whether a request is too large to be answered at once; None: only the service's limits can tell."""
    outputs = [body["hyps"]] if "hyps" in body else list(body["systems"].values())
    texts = [text for one in (*outputs, body.get("sources", ())) for text in one]
    texts += [text for group in body.get("refs", ()) for text in group]
    characters = sum(map(len, texts))
    if len(texts) <= _SURELY_TEXTS and characters <= _SURELY_CHARACTERS:
        return False
    if limits is None:
        return None
    return len(texts) > limits["texts"] or len(_json(body)) > limits["body_bytes"]


def submit_ask(kind: str, body: Mapping[str, Any]) -> Ask[JobState]:
    """Submit a job. It is not sent again where it may have arrived."""
    return Ask("POST", f"/v1/jobs/{kind}", JobState.read, _json(body), again=False)


def get_ask(path: str, read: Callable[[bytes], Answer]) -> Ask[Answer]:
    """Ask for something that is there."""
    return Ask("GET", path, read)


def cancel_ask(name: str) -> Ask[JobState]:
    """Cancel a job."""
    return Ask("POST", f"/v1/jobs/{name}/cancel", JobState.read, b"{}")


def score_ask(body: Mapping[str, Any]) -> Ask[list[Score]]:
    """Score at once."""
    return Ask("POST", "/v1/score", read_scores, _json(body))


def remove_ask(name: str) -> Ask[None]:
    """Remove a job."""
    return Ask("DELETE", f"/v1/jobs/{name}", lambda _: None)


def sensitivity_body(
    systems: Mapping[str, Iterable[str]], refs: References | None, metrics: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The JSON of a request for a study."""
    beside = {name: value for name, value in options.items() if name in _OF_STUDY}
    others = {name: value for name, value in options.items() if name not in _OF_STUDY}
    return score_body(systems, refs, metrics, others) | beside


def explain_ask(
    hyp: str,
    ref: str | Sequence[str] | None,
    *,
    metric: str | Metric | Signature,
    source: str | None,
    options: Mapping[str, Any],
) -> Ask[Explanation]:
    """Explain one pair."""
    body: dict[str, Any] = {name: value for name, value in options.items() if name in _OF_EXPLANATION}
    others = {name: value for name, value in options.items() if name not in _OF_EXPLANATION and name != "progress"}
    body |= {"hyp": hyp, "metric": _recipe_text(metric), "options": others}
    body |= {} if ref is None else {"ref": ref if isinstance(ref, str) else list(ref)}
    body |= {} if source is None else {"source": source}
    return Ask("POST", "/v1/explain", read_explanation, _json(body))


def unreachable(url: str, error: Exception) -> ServiceError:
    """What to raise where there was no answer."""
    return ServiceError(f"the service at {url} does not answer: {error or type(error).__name__}")


def read_json(content: bytes) -> Any:
    """Whatever the answer is."""
    return json.loads(content)


def read_scores(content: bytes) -> list[Score]:
    """Scores, as the library returns them; what it warned of is warned of here."""
    record = json.loads(content)
    _warn(record)
    return [Score.from_dict(one) for one in record["scores"]]


def read_sensitivity(content: bytes) -> Sensitivity:
    """A study's result, likewise."""
    from nlgauge.sensitivity.results import Sensitivity  # scoring has no need of it

    record = json.loads(content)
    _warn(record)
    return Sensitivity.from_dict(record["sensitivity"])


def read_explanation(content: bytes) -> Explanation:
    """An explanation, likewise."""
    from nlgauge.explain.explanation import Explanation  # scoring has no need of it

    record = json.loads(content)
    _warn(record)
    return Explanation.from_dict(record["explanation"])


#: What is made of the result of a job, by its kind.
RESULTS: dict[str, Callable[[bytes], Any]] = {
    "score": read_scores,
    "compare": read_json,
    "sensitivity": read_sensitivity,
}


def _warn(record: Mapping[str, Any]) -> None:
    for text in record.get("warnings", ()):
        warnings.warn(text, NlgaugeWarning, stacklevel=user_stacklevel())


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=True, allow_nan=False).encode()
