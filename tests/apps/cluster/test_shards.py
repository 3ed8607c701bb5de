"""Plans: which column is what, shards that cover a table, ids that are unique."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nlgauge.apps.cluster import shards as plan_module
from nlgauge.apps.cluster.executors import Shard
from nlgauge.apps.cluster.shards import Columns, IdDigest, Plan, RowTexts, make_plan, parse_columns, read_plan
from nlgauge.core.result import from_plain, to_plain
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.large_tables import Unreadable, open_table

NAMES = ["id", "sys-a", "sys-b", "ref", "ref2", "source"]


def test_columns_are_chosen_by_name_pattern_or_default() -> None:
    chosen = Columns.choose({"hyp": "sys-*", "ref": ["ref2", "ref"], "src": "source", "id": "id"}, NAMES)
    assert chosen == Columns(("sys-a", "sys-b"), ("ref2", "ref"), "source", "id")
    assert chosen.systems == ("sys-a", "sys-b")
    assert from_plain(Columns, to_plain(chosen)) == chosen
    assert Columns.choose(None, ["hyp", "ref", "more"]) == Columns(("hyp",), ("ref",))
    assert Columns(("hyp",)).systems == ("",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hyps": "sys-a"}, "unknown column role 'hyps'; the roles are hyp, ref, src, id"),
        ({"hyp": "sys-c"}, r"no column 'sys-c' \(hyp\).*its columns are id, sys-a"),
        ({"ref": "ref"}, "no column of hypotheses; name it with --columns hyp=COLUMN"),
        ({"hyp": "ref", "id": "sys-*"}, "id must be a single column, got sys-a, sys-b"),
        ({"hyp": ["sys-a", "sys-a"]}, "hyp=sys-a is given twice"),
        ({"hyp": "*", "ref": "ref"}, r"column 'ref' matches both ref= and hyp=\*"),
    ],
)
def test_wrong_columns_are_errors(given: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Columns.choose(given, NAMES)


def test_a_name_that_several_columns_have_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"has 2 columns called 'mt' \(hyp\)"):
        Columns.choose({"hyp": "mt"}, ["mt", "ref", "mt"])
    assert Columns.choose({"hyp": "ref", "ref": "ref"}, NAMES) == Columns(("ref",), ("ref",))  # by name: on purpose


@pytest.mark.parametrize("text", ["hyp", "hyp=", "hyp=a,ref"])
def test_columns_are_given_as_pairs(text: str) -> None:
    with pytest.raises(RecipeError, match="columns have the form ROLE=NAME"):
        parse_columns(text)


def test_rows_can_have_different_numbers_of_references() -> None:
    columns = Columns(("hyp",), ("one", "more"), None, "id")
    assert columns.texts(["h", "r", ["s", "t"], 7]) == RowTexts(("h",), ("r", "s", "t"), None)
    assert columns.texts(["h", None, ["s"], 7]) == RowTexts(("h",), ("s",), None)
    assert columns.identity(["h", "r", [], 7], 3) == "7"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([None, "r", None, 1], "column 'hyp': expected a text, got None"),
        ([3.5, "r", None, 1], "column 'hyp': expected a text, got 3.5"),
        (["h", None, [], 1], "no reference in column one, more"),
        (["h", ["r", 2], None, 1], "column 'one': expected a text, got 2"),
        (["\ud83d", "r", None, 1], "column 'hyp'"),
        (Unreadable("the line is no JSON"), "the line is no JSON"),
    ],
)
def test_reasons_why_a_row_cannot_be_scored(row: Any, reason: str) -> None:
    result = Columns(("hyp",), ("one", "more"), None, "id").texts(row)
    assert isinstance(result, Unreadable)
    assert reason in result


@pytest.mark.parametrize(
    "row",
    [["h", None], ["h", ""], ["h", True], ["h", 1.5], ["h", "a\ud83d"], Unreadable("the line is no JSON")],
)
def test_a_row_without_an_id_is_refused(row: Any) -> None:
    with pytest.raises(InputError, match="row 5"):
        Columns(("hyp",), (), None, "id").identity(row, 5)
    assert Columns(("hyp", "id")).identity(row, 5) == "5"


COLUMNS = Columns(("hyp",), ("ref",), None, "id")


def planned(path: Path, rows: list[dict[str, Any]], columns: Columns = COLUMNS, **options: Any) -> Plan:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return make_plan(open_table(path), columns, digest="d", **options)


def numbered(count: int, length: int = 4) -> list[dict[str, Any]]:
    return [{"id": index, "hyp": "h" * length, "ref": "r"} for index in range(count)]


def test_shards_cover_all_rows_once(tmp_path: Path) -> None:
    plan = planned(tmp_path / "t.jsonl", numbered(10), shard_rows=4)
    assert [(shard.start, shard.stop) for shard in plan.shards] == [(0, 4), (4, 8), (8, 10)]
    assert [shard.characters for shard in plan.shards] == [20, 20, 10]
    assert (plan.rows, plan.pairs, plan.reference_count) == (10, 10, "1")
    (tmp_path / "plan.json").write_bytes(plan.content())
    assert read_plan(tmp_path) == plan


def test_shards_begin_at_multiples(tmp_path: Path) -> None:
    plan = planned(tmp_path / "t.jsonl", numbered(20), shard_rows=3, multiple=8)
    assert [shard.start for shard in plan.shards] == [0, 8, 16]


def test_long_rows_end_a_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "_MOST_CHARACTERS", 100)
    plan = planned(tmp_path / "t.jsonl", [*numbered(2, length=99), *numbered(10)[2:]], shard_rows=6)
    assert [(shard.start, shard.stop) for shard in plan.shards] == [(0, 1), (1, 2), (2, 8), (8, 10)]


@pytest.mark.parametrize(
    ("rows", "systems", "size"), [(10, 1, 256), (1_000_000, 1, 1953), (50_000_000, 1, 5_000), (15_000, 500, 10)]
)
def test_shards_are_neither_small_nor_large(rows: int, systems: int, size: int) -> None:
    assert plan_module._default_rows(rows, systems) == size


def test_the_longest_shards_come_first_and_are_dealt_out_to_jobs(tmp_path: Path) -> None:
    rows = [row for index in range(6) for row in numbered(1, length=[5, 50, 7, 90, 30, 1][index])]
    for index, row in enumerate(rows):
        row["id"] = index
    plan = planned(tmp_path / "t.jsonl", rows, shard_rows=1)
    assert [shard.number for shard in plan.longest_first] == [3, 1, 4, 2, 0, 5]
    assert [Shard(job, 2).shard_numbers(plan) for job in (1, 2)] == [{3, 4, 0}, {1, 2, 5}]


@pytest.mark.parametrize(("number", "of"), [(0, 3), (4, 3), (1, 0), (True, 3)])
def test_jobs_are_numbered_from_one(number: int, of: int) -> None:
    with pytest.raises(RecipeError):
        Shard(number, of)


def test_duplicate_ids_are_errors(tmp_path: Path) -> None:
    rows = numbered(6)
    rows[4]["id"] = "1"  # a text that says what the number of another row does
    with pytest.raises(InputError, match="rows 1 and 4 have the same id '1'"):
        planned(tmp_path / "t.jsonl", rows)


def test_ids_of_one_hash_are_no_duplicates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdDigest, "add", lambda *_: b"12345678")
    assert planned(tmp_path / "t.jsonl", numbered(3)).rows == 3


def test_id_digest_separates_ids() -> None:
    digests = []
    for ids in (["a", "bc"], ["ab", "c"], ["abc"]):
        digest = IdDigest()
        for token_id in ids:
            digest.add(token_id)
        digests.append(digest.hexdigest())
    assert len(set(digests)) == 3


def test_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("id\thyp\tref\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no rows"):
        make_plan(open_table(tmp_path / "t.tsv"), COLUMNS, digest="d")
