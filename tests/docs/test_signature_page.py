"""docs/signature.md names every field that a signature can have."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nlgauge
from nlgauge.core.registry import built_in_metrics, signature_fields
from nlgauge.core.signature import MEANINGS, RUNNER_FIELDS

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "signature.md").read_text(encoding="utf-8")
METRICS = built_in_metrics()
FIELDS = PAGE.partition("## Fields")[2].partition("\n## ")[0]


def explained() -> set[str]:
    """Fields in the first column of the tables."""
    cells = [line.split("|")[1] for line in FIELDS.splitlines() if line.startswith("|")]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_every_field_is_in_a_table() -> None:
    # In a process of its own, because metrics that tests make declare fields too.
    code = (
        "import json, nlgauge.core.signature as s; from nlgauge.core.registry import built_in_metrics; "
        "built_in_metrics(); print(json.dumps(list(s.MEANINGS)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    fields = set(json.loads(out.stdout))
    # The generated tables of docs/metrics/*.md explain options; this page may name them too.
    options = {name for metric in METRICS.values() for name in metric.options()}
    assert fields - options <= explained() <= fields


@pytest.mark.parametrize("metric", METRICS)
def test_fields_of_a_metric_have_a_meaning(metric: str) -> None:
    assert set(signature_fields(METRICS[metric])) <= set(MEANINGS)


def test_fields_of_the_model_come_in_the_order_of_the_table() -> None:
    table = FIELDS.partition("| of the model and the library |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[1:] if line.startswith("| `")]
    assert tuple(name for cell in cells for name in re.findall(r"`(\w+)`", cell)) == RUNNER_FIELDS


def test_the_example_is_a_signature_of_today() -> None:
    example = next(line.strip() for line in PAGE.splitlines() if line.startswith("    bertscore|"))
    signature = nlgauge.Signature.parse(example)
    assert signature.recipe["sig"] == "1"
    assert list(signature.recipe) == [
        name for name in signature_fields(nlgauge.metrics.BERTScore) if name in signature.recipe
    ]
