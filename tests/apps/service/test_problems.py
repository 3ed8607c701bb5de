"""Problem details: complete, short, and safe to send whatever a request held."""

from __future__ import annotations

import json

import pytest

from nlgauge import errors
from nlgauge.apps.service.problems import ProblemError, library_problem, problem_response, validation_problem


def test_a_problem_as_it_is_sent() -> None:
    answer = problem_response(ProblemError(429, "too often", kind="rate", retry_after=0.2, limit=5))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.media_type == "application/problem+json"
    assert json.loads(bytes(answer.body)) == {
        "type": "urn:nlgauge:problem:rate",
        "title": "Too many requests",
        "status": 429,
        "detail": "too often",
        "limit": 5,
    }


def test_half_surrogates_and_long_words_can_be_sent() -> None:
    body = bytes(problem_response(ProblemError(422, "\ud800" * 10_000)).body)
    assert len(body) < 13_000
    assert json.loads(body)["detail"].endswith(" ...")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InputError("x"), 422),
        (errors.RecipeError("x"), 422),
        (errors.SignatureError("x"), 422),
        (errors.BaselineError("x"), 422),
        (errors.ModelNotFoundError("x"), 422),
        (errors.MissingExtraError("x"), 422),
        (errors.ModelError("x"), 503),
    ],
)
def test_errors_of_the_library_keep_their_names(error: errors.NlgaugeError, status: int) -> None:
    problem = library_problem(error).to_dict()
    assert (problem["status"], problem["error"], problem["detail"]) == (status, type(error).__name__, "x")


def test_every_place_of_a_wrong_form_is_named_but_not_what_was_there() -> None:
    found = [
        {"loc": ("body", "systems", "a", number), "type": "string_type", "msg": "not a string", "input": "secret"}
        for number in range(30)
    ]
    problem = validation_problem(found).to_dict()
    assert problem["detail"] == "systems.a[0] must be a string (and 29 more)"
    assert len(problem["errors"]) == 10
    assert "secret" not in json.dumps(problem)
