"""Parts: written and read back bit for bit, and merged."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.apps.cluster.tables import ONE_SYSTEM, corpus_table
from tests.extras import LazyModule

import nlgauge
import nlgauge.apps.cluster as many
from nlgauge.apps.cluster.parts import (
    Part,
    PartKey,
    UnwritableError,
    part_path,
    read_part,
    stored_key,
    write_file,
    write_part,
)
from nlgauge.apps.cluster.shards import read_plan
from nlgauge.core.registry import parse_metric
from nlgauge.errors import InputError

parquet = LazyModule("pyarrow.parquet")

KEY = PartKey("d" * 64, 10, 14, "0.0", "", ("chrf|beta:2", "bleu|max:4"))
HYPS, REFS = ["the cat sat", "a dog ran away", "rain"], ["the cat slept", "a dog ran", "rain fell"]


def made(path: Path, **changed: Any) -> Part:
    """A part of four rows, of which the second could not be scored."""
    scores = nlgauge.score_systems({"": HYPS}, REFS, metric=["chrf", "bleu"])
    part = Part(
        **{"key": KEY, "ids": ("a", "b", "c", "d"), "errors": {1: "null"}, "scores": tuple(scores), **changed}
    )
    write_part(path, part, [parse_metric("chrf"), parse_metric("bleu")], [""])
    return part


def test_a_part_comes_back_bit_for_bit(tmp_path: Path) -> None:
    part, again = made(tmp_path / "part.parquet"), read_part(tmp_path / "part.parquet")
    assert (again.key, again.ids, again.errors) == (part.key, part.ids, part.errors)
    assert [score.to_dict() for score in again.scores] == [score.to_dict() for score in part.scores]
    assert stored_key(tmp_path / "part.parquet") == KEY
    table = parquet.read_table(tmp_path / "part.parquet")
    assert table.column_names == ["id", "error", "chrf/chrf", "chrf/counts", "bleu/bleu", "bleu/counts"]
    assert table.column("chrf/chrf").to_pylist()[1] is None


def test_a_part_without_a_scored_row_has_the_columns_of_others(tmp_path: Path) -> None:
    made(tmp_path / "part.parquet", errors=dict.fromkeys(range(4), "null"), scores=())
    table = parquet.read_table(tmp_path / "part.parquet")
    assert table.column_names == ["id", "error", "chrf/chrf", "bleu/bleu"]
    assert read_part(tmp_path / "part.parquet").scores == ()


def test_numbers_keep_all_their_bits(tmp_path: Path) -> None:
    values = np.array([0.1 + 0.2, np.nextafter(1.0, 2.0), -0.0])
    scores = nlgauge.score_systems({"": HYPS}, REFS, metric=["chrf", "bleu"])
    record = scores[0].to_dict()
    for row, value in zip(record["segments"], values, strict=True):
        row["chrf"] = value
    made(tmp_path / "part.parquet", scores=(nlgauge.Score.from_dict(record), scores[1]))
    assert read_part(tmp_path / "part.parquet").scores[0].chrf.tobytes() == values.tobytes()


@pytest.mark.parametrize("content", [b"", b"no parquet", None])
def test_invalid_parts_are_errors(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "part.parquet"
    made(path)
    path.write_bytes(path.read_bytes()[:-30] if content is None else content)
    assert stored_key(path) is None
    with pytest.raises(InputError, match="is damaged or not a part written by nlgauge"):
        read_part(path)
    assert stored_key(tmp_path / "missing.parquet") is None


def test_a_flipped_bit_is_detected_or_harmless(tmp_path: Path) -> None:
    """In pages, in their headers, and in the metadata at the end: signatures, notes, names of columns."""
    path = tmp_path / "part.parquet"
    part, noticed = made(path), 0
    data = path.read_bytes()
    for index in range(0, len(data), 17):
        path.write_bytes(data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :])
        try:
            again = read_part(path)
        except InputError:
            noticed += 1
        else:
            assert (again.key, again.ids, again.errors) == (part.key, part.ids, part.errors)
            assert [score.to_dict() for score in again.scores] == [score.to_dict() for score in part.scores]
    assert noticed > len(data) / 17 / 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EIO])
def test_write_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError) as caught:
        write_file(tmp_path / "file", b"data")
    assert isinstance(caught.value, UnwritableError) == (number != errno.EIO)
    assert list(tmp_path.iterdir()) == []


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


def test_duplicate_rows_are_detected(parts: Path) -> None:
    plan = read_plan(parts)
    assert plan is not None
    path = part_path(parts, plan.shards[0])
    part = read_part(path)
    doubled = type(part)(part.key, (part.ids[0], part.ids[0], *part.ids[2:]), part.errors, part.scores)
    write_part(path, doubled, [parse_metric("chrf")], [""])
    with pytest.raises(InputError, match=r"the ids of the parts in .* differ from those of the input"):
        many.merge(parts)


def test_swapped_parts_are_detected(parts: Path) -> None:
    shutil.copy(parts / "part-00000.parquet", parts / "part-00001.parquet")
    with pytest.raises(InputError, match=r"'part-00001\.parquet' in .* belongs to another run: its start is 0"):
        many.merge(parts)


def test_a_folder_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a folder of parts: no plan\.json"):
        many.merge(tmp_path)


def test_a_shard_none_of_whose_rows_could_be_scored(tmp_path: Path) -> None:
    rows = [{"hyp": "", "ref": ""}, {"hyp": "text", "ref": "text"}]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    many.score(path, tmp_path / "parts", metric="chrf", shard_rows=1)
    merged = many.merge(tmp_path / "parts")
    assert [(error.row, error.id) for error in merged.errors] == [(0, "0")]
    assert len(merged.scores[0]) == 1
