"""BERTScore agrees with the scores of bert-score 0.3.13 (origin: `about` in the golden files)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlgauge

NAMES = {"P": "precision", "R": "recall", "F": "f1"}
SETTINGS = [
    ("minilm", 4, "none"),
    ("minilm", 4, "refs"),
    ("minilm", 6, "none"),
    ("minilm", 6, "refs"),
    ("mpnet", 9, "none"),
    ("mpnet", 9, "refs"),
]


def agrees(score: nlgauge.Score, golden: dict[str, list[float]]) -> None:
    for key, name in NAMES.items():
        np.testing.assert_allclose(score.segments[name], golden[key], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("model", "layer", "idf"), SETTINGS)
def test_thirty_pairs(thirty_pairs: dict[str, Any], model: str, layer: int, idf: str) -> None:
    score = nlgauge.score(
        [pair["hyp"] for pair in thirty_pairs["pairs"]],
        [pair["ref"] for pair in thirty_pairs["pairs"]],
        metric=nlgauge.BERTScore(model=model, layer=layer, idf=idf),
    )
    suffix = "noidf" if idf == "none" else "idf"
    agrees(score, thirty_pairs["scores"][f"{model}.bertscore.L{layer}.{suffix}"])


@pytest.mark.parametrize(("layer", "idf"), [(4, "none"), (4, "refs"), (6, "none"), (6, "refs")])
def test_wmt17_czech_english(data_folder: Path, layer: int, idf: str) -> None:
    """First 100 rows of the test set; golden file beside the data."""
    path = data_folder.parent / "golden" / "minilm_wmt17_cs-en.json"
    if not path.is_file():
        pytest.skip("minilm_wmt17_cs-en.json is not beside the data")
    golden = json.loads(path.read_text(encoding="utf-8"))["cs-en"]["scores"]
    lines = (data_folder / "wmt17/testset/testset_cs-en.tsv").read_text(encoding="utf-8").split("\n")
    header, rows = lines[0].split("\t"), [line.split("\t") for line in lines[1:101]]
    score = nlgauge.score(
        [row[header.index("translation")] for row in rows],
        [row[header.index("reference")] for row in rows],
        metric=nlgauge.BERTScore(model="minilm", layer=layer, idf=idf),
    )
    agrees(score, golden[f"bertscore.L{layer}.{'noidf' if idf == 'none' else 'idf'}"])


def test_default_layers_are_the_tables() -> None:
    for model, layer in (("minilm", "4"), ("mpnet", "7")):
        assert nlgauge.score(["a cat"], ["the cat"], model=model).signature.recipe["layer"] == layer
