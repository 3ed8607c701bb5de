"""New columns for batches of a table."""

from __future__ import annotations

import pickle

import pytest

import nlgauge
from nlgauge.apps.compat import BatchScorer

BATCH = {"mt": ["A cat sat.", "Rain fell."], "ref": [["A cat lay.", "A cat sat."], ["It rained."]], "id": [1, 2]}


def test_a_batch_gets_a_column_per_component() -> None:
    scorer = BatchScorer(hyp="mt", ref="ref", metric="bertscore", prefix="bs")
    result = pickle.loads(pickle.dumps(scorer))(BATCH)  # as a worker gets it
    expected = nlgauge.score(BATCH["mt"], BATCH["ref"])  # type: ignore[arg-type]
    assert list(result) == ["bs_precision", "bs_recall", "bs_f1"]
    assert result["bs_f1"] == expected.f1.tolist()
    assert result["bs_f1"] == [
        item for index in (0, 1) for item in scorer({k: v[index : index + 1] for k, v in BATCH.items()})["bs_f1"]
    ]


def test_batch_errors() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="whole corpus"):
        BatchScorer(hyp="mt", ref="ref", options={"idf": "refs"})
    with pytest.raises(nlgauge.errors.InputError, match="contains a single text, not a batch; use map"):
        BatchScorer(hyp="mt", ref="ref", metric="chrf")({"mt": "abc", "ref": "abd"})
    with pytest.raises(
        nlgauge.errors.InputError, match=r"refs\[1\]: expected a string or a list of strings, got None"
    ):
        BatchScorer(hyp="mt", ref="ref", metric="chrf")({"mt": ["a", "b"], "ref": ["a", None]})
    with pytest.raises(nlgauge.errors.InputError, match="no column 'hyp'"):
        BatchScorer(hyp="hyp", ref="ref")(BATCH)
