"""Problem details: complete, short, and safe to send."""

from __future__ import annotations

import json

import pytest

from nlgauge import errors
from nlgauge.apps.service.problems import ProblemError, library_problem, problem_response, validation_problem


def test_problem_details_of_a_rate_limit() -> None:
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


def test_details_may_have_half_surrogates_and_are_shortened() -> None:
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


def test_an_option_at_the_top_of_a_request_is_referred_to_options() -> None:
    error = {"loc": ("body", "layer"), "type": "extra_forbidden", "msg": "extra"}
    assert validation_problem([error], ["hyps", "options"]).detail == (
        "unknown field 'layer'; put it into 'options', with the other options of metrics"
    )
    assert validation_problem([error], ["hyps"]).detail == "unknown field 'layer'"


def test_validation_errors_name_places_but_not_values() -> None:
    result = [
        {"loc": ("body", "systems", "a", number), "type": "string_type", "msg": "not a string", "input": "secret"}
        for number in range(30)
    ]
    problem = validation_problem(result).to_dict()
    assert problem["detail"] == "field 'systems.a[0]' must be a string (and 29 more problems)"
    assert len(problem["errors"]) == 10
    assert "secret" not in json.dumps(problem)


def test_unknown_field_suggests_the_closest_name() -> None:
    result = [{"type": "extra_forbidden", "loc": ("body", "hyp"), "msg": "Extra inputs are not permitted"}]
    problem = validation_problem(result, ["hyps", "systems", "refs"]).to_dict()
    assert problem["detail"] == "unknown field 'hyp'; did you mean 'hyps'?"
    assert problem["errors"] == [{"where": "body.hyp", "what": "unknown field 'hyp'; did you mean 'hyps'?"}]


def test_value_of_several_types_is_one_error() -> None:
    result = [
        {"type": "string_type", "loc": ("body", "refs", 1, "str"), "msg": "Input should be a valid string"},
        {"type": "list_type", "loc": ("body", "refs", 1, "list[str]"), "msg": "Input should be a valid list"},
    ]
    assert validation_problem(result).to_dict()["detail"] == "field 'refs[1]' must be a string or a list"


def test_system_may_be_named_like_a_type() -> None:
    result = [{"type": "string_type", "loc": ("body", "systems", "str", 0), "msg": ""}]
    assert validation_problem(result).to_dict()["errors"][0]["where"] == "body.systems.str[0]"
