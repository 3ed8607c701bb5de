"""schemathesis over the OpenAPI description: whatever is sent, no error of the service, and answers as described.

Its own parametrisation does not run under the pytest of the tests, so its strategies are driven from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument, Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from tests.apps.service.conftest import started
from tests.strategies import any_text

import nlgauge

CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The description of a service that runs, in a process of its own: Hypothesis looks at what its own one draws."""
    flags = ("--max-rate", "1e9", "--max-queued-jobs", "20", "--keep-bytes", "1000000", "--preload")
    with started(tmp_path_factory.mktemp("fuzz"), *flags) as service:
        yield schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    log = service.log.read_text()
    assert "Traceback" not in log
    assert "a request failed" not in log
    assert "a job failed" not in log


def sent(described: Any, examples: int) -> Counter[int]:
    """Send cases of every operation, good ones and bad ones; how many of each status were answered."""
    actual: Counter[int] = Counter()

    def check(case: Any) -> None:
        answer = case.call(timeout=120)
        actual[answer.status_code] += 1
        assert "Traceback" not in answer.text
        case.validate_response(answer, checks=CHECKS)

    for operation in (result.ok() for result in described.get_all_operations()):
        for mode in GenerationMode:
            run = given(case=operation.as_strategy(generation_mode=mode))(check)
            chosen = settings(
                max_examples=examples,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate],
                derandomize=True,
                database=None,
            )
            try:
                chosen(run)()
            except (Unsatisfiable, InvalidArgument):
                assert mode is GenerationMode.NEGATIVE  # what takes nothing cannot be given anything wrong
    return actual


pairs = st.lists(st.tuples(any_text, any_text), min_size=1, max_size=4)
recipes = st.lists(
    st.sampled_from(["bertscore", "moverscore", "bleu", "chrf", "bertscore:idf=refs,rescale=yes", "smd"])
)


@given(pairs=pairs, metric=recipes.filter(len), alignments=st.booleans(), empty=st.sampled_from(["error", "zero"]))
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@pytest.mark.slow
def test_any_texts_get_scores_or_a_reason(described: Any, pairs: Any, **asked: Any) -> None:
    hyps, refs = zip(*pairs, strict=True)
    url = described.get_base_url().rstrip("/") + "/v1/score"
    answer = httpx2.post(url, json={"hyps": hyps, "refs": refs, **asked}, timeout=120, trust_env=False)
    assert answer.status_code in {200, 422}, answer.text
    if answer.status_code == 200:
        scores = [nlgauge.Score.from_dict(record) for record in answer.json()["scores"]]
        assert len(scores) == len(asked["metric"])
        assert all(len(score) == len(pairs) for score in scores)


@pytest.mark.slow
def test_no_case_makes_the_service_fail(described: Any) -> None:
    result = sent(described, examples=30)
    assert result.total() > 300
    assert {200, 202, 422} <= set(result)


@pytest.mark.long
def test_no_case_of_a_great_many_makes_the_service_fail(described: Any) -> None:
    result = sent(described, examples=400)
    print(f"{result.total()} cases, by status: {dict(sorted(result.items()))}")
    assert result.total() >= 10_000
