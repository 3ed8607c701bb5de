"""What a run will take, from a sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nlgauge.apps.cluster as many
from nlgauge.apps.cluster import merged as prediction
from nlgauge.errors import InputError, RecipeError


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_sample_from_all_over_the_table_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "SAMPLE_PAIRS", 40)
    rows = [{"hyp": None if at % 10 == 9 else f"text {at}", "ref": f"reference {at}"} for at in range(1000)]
    found = many.dry_run(write(tmp_path / "t.jsonl", rows), metric="chrf", shard_rows=10, price=3.6)
    assert (found.rows, found.pairs, found.shards) == (1000, 1000, 100)
    assert found.sampled + found.errors == 40
    assert found.errors == 0  # the two first rows of twenty shards
    one, ten, hundred = found.estimates
    assert [one.workers for one in found.estimates] == [1, 10, 100]
    assert one.seconds == pytest.approx(found.startup + 1000 / found.rate)
    assert hundred.seconds < ten.seconds < one.seconds
    assert one.cost == pytest.approx(one.seconds / 3600 * 3.6)
    assert hundred.gigabytes == pytest.approx(100 * found.gigabytes)
    assert list(tmp_path.iterdir()) == [tmp_path / "t.jsonl"]


def test_recipes_of_two_passes_can_be_predicted(tmp_path: Path) -> None:
    rows = [{"hyp": f"the cat sat {at}", "ref": f"a cat sat {at}"} for at in range(6)]
    found = many.dry_run(write(tmp_path / "t.jsonl", rows), metric="bertscore:idf=refs")
    assert found.sampled == 6


def test_what_cannot_be_predicted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"hyp": "text", "ref": "text"}]
    with pytest.raises(RecipeError, match="price must be"):
        many.dry_run(write(tmp_path / "t.jsonl", rows), metric="chrf", price=-1)
    rows = [{"hyp": None, "ref": "text"}]
    with pytest.raises(InputError, match="can be scored"):
        many.dry_run(write(tmp_path / "t.jsonl", rows), metric="chrf")
