"""The file of a plan: read as it was written, named by its digest, refused when it is damaged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nlgauge.encoders.int8 import Plan, Rounding, instruction_set
from nlgauge.errors import FileFormatError

PLAN = Plan(
    model="tiny",
    weights="ab" * 32,
    corpus="cd" * 32,
    about="some texts",
    method="by hand",
    inputs={"x": Rounding(-1.5, 2.5, (-13, 0, 13)), "y": Rounding(0.0, 4.0)},
    products={"first": "x", "second": "y"},
)


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    PLAN.save(path)
    assert Plan.load(path) == PLAN


def test_the_digest_is_of_model_corpus_method_and_numbers() -> None:
    assert replace(PLAN, model="another", about="the same texts").digest == PLAN.digest
    others = [
        replace(PLAN, weights="00" * 32),
        replace(PLAN, corpus="00" * 32),
        replace(PLAN, method="otherwise"),
        replace(PLAN, products={"first": "x"}),
        replace(PLAN, inputs={**PLAN.inputs, "y": Rounding(0.0, 4.5)}),
    ]
    assert len({PLAN.digest, *(other.digest for other in others)}) == 1 + len(others)


def test_a_signature_names_digest_engine_and_instructions() -> None:
    assert PLAN.signed("onnx") == f"int8@{PLAN.digest[:12]}.onnx.{instruction_set()}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"inputs": {"x": {"low": 0.5, "high": 1}}},
            "the range of 'x' must include 0 and not be empty, got 0.5 to 1.0",
        ),
        ({"inputs": {"x": {"low": 0, "high": 0}}}, "must include 0 and not be empty"),
        ({"inputs": {"x": {"low": 0, "high": "much"}}}, "'high' of 'x' must be a number"),
        ({"inputs": {"x": {"low": -1, "high": 1, "powers": [1]}}}, "'powers' of 'x' must be a text"),
        ({"inputs": []}, "'inputs' must be an object of objects"),
        ({"products": {"first": "nothing"}}, "'products' must be an object of names of inputs"),
        ({"method": 7}, "'method' must be a text, got 7"),
        ({"corpus": "ef" * 32}, "its digest does not match its numbers"),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(json.loads(PLAN.text()) | change), encoding="utf-8")
    with pytest.raises(FileFormatError, match=said):
        Plan.load(path)
