"""Parts joined, and the proof that none is missing or there twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.apps.cluster.tables import ONE_SYSTEM, corpus_table

import nlgauge.apps.cluster as many
from nlgauge.apps.cluster.parts import part_path, read_part, write_part
from nlgauge.apps.cluster.shards import read_plan
from nlgauge.core.registry import parse_metric
from nlgauge.errors import InputError


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    corpus_table(tmp_path / "pairs.parquet")
    many.score(tmp_path / "pairs.parquet", tmp_path / "parts", metric="chrf", columns=ONE_SYSTEM, shard_rows=4)
    return tmp_path / "parts"


def test_a_summary_names_what_was_scored(parts: Path) -> None:
    merged = many.merge(parts)
    plan = read_plan(parts)
    assert plan is not None
    summary = json.loads(merged.text())
    assert summary["ids"] == plan.ids
    assert summary["input"] == plan.input
    assert (summary["rows"], summary["scored"], summary["shards"]) == (10, 10, 3)
    assert "segments" not in summary["scores"][0]
    assert merged.text() == many.merge(parts).text()


def test_rows_that_are_there_twice_are_noticed(parts: Path) -> None:
    plan = read_plan(parts)
    assert plan is not None
    path = part_path(parts, plan.shards[0])
    part = read_part(path)
    doubled = type(part)(part.key, (part.ids[0], part.ids[0], *part.ids[2:]), part.errors, part.scores)
    write_part(path, doubled, [parse_metric("chrf")], [""])
    with pytest.raises(InputError, match="rows are missing or double"):
        many.merge(parts)


def test_parts_under_each_others_names_are_noticed(parts: Path) -> None:
    shutil.copy(parts / "part-00000.parquet", parts / "part-00001.parquet")
    with pytest.raises(InputError, match=r"'part-00001\.parquet' in .* belongs to another run: its start is 0"):
        many.merge(parts)


def test_a_folder_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no folder of parts: it has no plan\.json"):
        many.merge(tmp_path)


def test_a_shard_none_of_whose_rows_could_be_scored(tmp_path: Path) -> None:
    rows = [{"hyp": "", "ref": ""}, {"hyp": "text", "ref": "text"}]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    many.score(path, tmp_path / "parts", metric="chrf", shard_rows=1)
    merged = many.merge(tmp_path / "parts")
    assert [(one.row, one.id) for one in merged.errors] == [(0, "0")]
    assert len(merged.scores[0]) == 1
