"""Runs over shards, and predictions of what they take."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.apps.cluster.tables import (
    ONE_SYSTEM,
    QUIET,
    TEXT_METRICS,
    as_bytes,
    corpus_rows,
    corpus_table,
    in_one_call,
    merged_bytes,
    run,
)
from tests.core.corpora import small_corpus
from tests.extras import LazyModule
from tests.samples import write_dated

import nlgauge
import nlgauge.apps.cluster as many
from nlgauge.apps.cluster import driver as run_module
from nlgauge.apps.cluster import shards as plan_module
from nlgauge.apps.cluster import worker as work_module
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import InputError, RecipeError, SignatureError

arrow = LazyModule("pyarrow")
parquet = LazyModule("pyarrow.parquet")

#: Recipes that look at a pair, at all texts, at neighbours; of vectors, of counts, of members.
RECIPES = [
    "bertscore:model=hash,layer=1,unknown=score",
    "bertscore:model=hash,layer=2,idf=refs,unknown=score",
    "bertscore:model=hash,layer=1,idf=both,lowercase=yes,unknown=score",
    "moverscore:model=hash,idf=both,unknown=score",
    "sentsim:model=hash,against=refs,layer=1,combine=bertscore+wmd,unknown=score",
    "bleu",
    "chrf",
    "rougel",
]

pytestmark = QUIET


# --- the same numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 7, 100])
@pytest.mark.parametrize("references", [1, 2])
def test_shards_of_any_size_give_what_one_call_gives(tmp_path: Path, rows: int, references: int) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet", 23, references=references)
    done = run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=RECIPES, shard_rows=rows)
    assert (done.done, done.missing, done.errors) == (-(-23 // rows), 0, 0)
    assert merged_bytes(tmp_path / "parts") == as_bytes(in_one_call(corpus, RECIPES))


def test_a_number_of_references_that_varies_is_that_of_the_whole_table(tmp_path: Path) -> None:
    corpus = small_corpus(6)
    columns = corpus_rows(corpus)
    columns["ref"] = [[group[0]] if index else [group[0], "another"] for index, group in enumerate(corpus.references)]
    parquet.write_table(arrow.table(columns), tmp_path / "pairs.parquet")
    metrics = ["bertscore:model=hash,layer=1,unknown=score", "chrf"]
    run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metrics, shard_rows=1)
    expected = nlgauge.score_systems(corpus.systems, columns["ref"], metric=metrics)
    assert merged_bytes(tmp_path / "parts") == as_bytes(expected)
    assert expected[0].signature.recipe["refs"] == "var"


def test_neighbours_that_a_recipe_looks_at_are_in_one_shard(tmp_path: Path) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet", 20)
    metrics = ["bertscore:model=hash,layer=1,transforms=position-norm,unknown=score"]
    done = run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metrics, shard_rows=3)
    assert done.shards == 3
    assert run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metrics, shard_rows=3).skipped == 3
    assert merged_bytes(tmp_path / "parts") == as_bytes(in_one_call(corpus, metrics))


def test_the_same_run_twice_gives_the_same_bytes(tmp_path: Path, table: Path) -> None:
    for name in ("one", "other"):
        run(table, tmp_path / name, metric=RECIPES)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "other").iterdir())
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes() for name in files)


def test_one_system_has_no_name_as_in_one_call(tmp_path: Path) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet")
    run(tmp_path / "pairs.parquet", tmp_path / "parts", columns=ONE_SYSTEM)
    alone = nlgauge.score_systems({"": corpus.systems["fluent"]}, corpus.references, metric=TEXT_METRICS)
    assert merged_bytes(tmp_path / "parts") == as_bytes(alone)


def test_a_learned_metric_and_its_members(tmp_path: Path) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet", 9)
    metrics = ["learned", "bertscore"]
    run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metrics)
    assert merged_bytes(tmp_path / "parts") == as_bytes(in_one_call(corpus, metrics))


# --- going on ------------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = work_module.write_part
    written: list[Path] = []

    def stopped(path: Path, *rest: Any) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        real(path, *rest)

    monkeypatch.setattr(work_module, "write_part", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(table, tmp_path / "parts", metric=RECIPES)
    monkeypatch.undo()
    stamps = {path: path.stat().st_mtime_ns for path in written}
    done = run(table, tmp_path / "parts", metric=RECIPES)
    assert (done.done, done.skipped) == (1, 2)
    assert stamps == {path: path.stat().st_mtime_ns for path in written}
    run(table, tmp_path / "uninterrupted", metric=RECIPES)
    assert merged_bytes(tmp_path / "parts") == merged_bytes(tmp_path / "uninterrupted")


def test_a_part_that_was_cut_off_is_made_again(tmp_path: Path, table: Path) -> None:
    run(table, tmp_path / "parts")
    whole = merged_bytes(tmp_path / "parts")
    part = tmp_path / "parts" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    assert run(table, tmp_path / "parts").done == 1
    assert merged_bytes(tmp_path / "parts") == whole


def test_a_table_that_was_moved_is_the_same_table(tmp_path: Path, table: Path) -> None:
    run(table, tmp_path / "parts", executor=many.Shard(1, 2))
    moved = table.rename(tmp_path / "moved.parquet")
    assert run(moved, tmp_path / "parts").complete


@pytest.mark.parametrize("metrics", [["chrf"], ["bertscore:model=hash,layer=1,idf=refs,unknown=score"]])
def test_jobs_of_an_array_do_their_own_shards(tmp_path: Path, metrics: list[str]) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet")
    jobs = [
        run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metrics, executor=many.Shard(job, 3), shard_rows=1)
        for _ in range(2)  # the second time for recipes of two passes
        for job in (1, 2, 3)
    ]
    assert sum(job.done for job in jobs) == 10
    assert [job.waiting for job in jobs[:3]] == [metrics != ["chrf"]] * 2 + [False]
    assert jobs[-1].complete
    assert merged_bytes(tmp_path / "parts") == as_bytes(in_one_call(corpus, metrics))


# --- what is refused -----------------------------------------------------------------------------------


def test_changed_input_is_an_error(tmp_path: Path, table: Path) -> None:
    run(table, tmp_path / "parts")
    corpus_table(table, fluent=["something else"] * 10)
    with pytest.raises(InputError, match=r"the input differs from that of the parts in"):
        run(table, tmp_path / "parts")


def test_input_replaced_by_one_of_the_same_size_and_date(tmp_path: Path, own_cache: Path) -> None:
    rows = b'{"id": "a", "hyp": "the cat %b", "ref": "the cat sat"}\n'
    table = write_dated(tmp_path / "pairs.jsonl", rows % b"sat")
    columns = {"hyp": "hyp", "ref": "ref", "id": "id"}
    run(table, tmp_path / "parts", columns=columns)
    write_dated(table, rows % b"ran")
    with pytest.raises(InputError, match="the input differs from that of the parts"):
        run(table, tmp_path / "parts", columns=columns)


def test_other_columns_need_another_folder(tmp_path: Path, table: Path) -> None:
    run(table, tmp_path / "parts")
    with pytest.raises(InputError, match="the input differs from that of the parts"):
        run(table, tmp_path / "parts", columns=ONE_SYSTEM)


def test_other_metrics_or_options_need_another_folder(tmp_path: Path, table: Path) -> None:
    run(table, tmp_path / "parts")
    with pytest.raises(InputError, match="scores of chrf, bleu, but this run has chrf; choose another folder"):
        run(table, tmp_path / "parts", metric=["chrf"])
    with pytest.raises(InputError, match=r"different signature .*beta: 2, now 3"):
        run(table, tmp_path / "parts", metric=["chrf:beta=3", "bleu"])


def test_another_version_needs_another_folder(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(table, tmp_path / "parts")
    monkeypatch.setattr(plan_module, "__version__", "9.9.9")
    with pytest.raises(InputError, match=r"were written by nlgauge .* but this is 9\.9\.9"):
        run(table, tmp_path / "parts")


def test_a_part_of_another_run_in_the_folder(tmp_path: Path, table: Path) -> None:
    run(table, tmp_path / "parts")
    run(table, tmp_path / "others", shard_rows=3)
    shutil.copy(tmp_path / "others/part-00001.parquet", tmp_path / "parts/part-00001.parquet")
    with pytest.raises(InputError, match=r"part-00001\.parquet' belongs to another run \(start is 3, expected 4"):
        run(table, tmp_path / "parts")
    with pytest.raises(InputError, match=r"part-00001.parquet' in .* belongs to another run: its start is 3"):
        many.merge(tmp_path / "parts")


def test_shard_size_must_match_existing_parts(tmp_path: Path, table: Path) -> None:
    run(table, tmp_path / "parts", executor=many.Shard(1, 2))
    with pytest.raises(InputError, match="have 4 rows each; omit --shard-rows"):
        run(table, tmp_path / "parts", shard_rows=5)
    assert run(table, tmp_path / "parts", shard_rows=None).complete


def test_signature_must_match(tmp_path: Path, table: Path) -> None:
    wrong = str(in_one_call(small_corpus(), ["chrf"])[0].signature).replace("beta:2", "beta:2|oops:1")
    with pytest.raises((SignatureError, RecipeError)):
        run(table, tmp_path / "parts", metric=[wrong])


def test_alignments_are_an_error(tmp_path: Path, table: Path) -> None:
    with pytest.raises(RecipeError, match="parts do not contain alignments"):
        run(table, tmp_path / "parts", alignments=True)


def test_a_table_without_scorable_rows_is_an_error(tmp_path: Path) -> None:
    corpus_table(tmp_path / "pairs.parquet", fluent=[None] * 10)
    with pytest.raises(InputError, match=r"none of the 10 rows can be scored; the first error: .* a text, got None"):
        run(tmp_path / "pairs.parquet", tmp_path / "parts", columns=ONE_SYSTEM)
    corpus_table(tmp_path / "empty.parquet", fluent=[""] * 10, ref=[""] * 10)
    with pytest.raises(InputError, match=r"with texts can be scored; the last error: .*both empty"):
        run(tmp_path / "empty.parquet", tmp_path / "parts", columns=ONE_SYSTEM)


def test_a_table_that_begins_with_many_rows_without_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_SAMPLED_ROWS", 3)
    corpus_table(tmp_path / "pairs.parquet", fluent=[None] * 8 + ["a text"] * 2)
    assert run(tmp_path / "pairs.parquet", tmp_path / "parts", columns=ONE_SYSTEM).errors == 8


def test_files_of_other_programs_are_not_overwritten(tmp_path: Path, table: Path) -> None:
    own = table.rename(tmp_path / "part-00000.parquet")
    before = own.read_bytes()
    with pytest.raises(InputError, match=r"part-00000\.parquet' is a Parquet file of another program"):
        run(own, tmp_path)
    assert own.read_bytes() == before


def test_two_first_runs_at_once_have_one_plan(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = run_module.make_plan

    def slow(*given: Any, **options: Any) -> Any:
        monkeypatch.undo()
        run(table, tmp_path / "parts")  # another job, which is quicker
        return real(*given, **options)

    monkeypatch.setattr(run_module, "make_plan", slow)
    with pytest.raises(InputError, match="scores of chrf, bleu, but this run has chrf"):
        run(table, tmp_path / "parts", metric=["chrf"])
    monkeypatch.setattr(run_module, "make_plan", slow)
    shutil.rmtree(tmp_path / "parts")
    assert run(table, tmp_path / "parts").skipped == 3
    assert not list((tmp_path / "parts").glob(".*"))


@pytest.mark.parametrize("name", ["parts", "pairs.parquet"])
def test_a_machine_that_does_not_see_the_files_ends_the_run(tmp_path: Path, table: Path, name: str) -> None:
    done = run(table, tmp_path / "parts")
    (tmp_path / name).rename(tmp_path / "elsewhere")
    with pytest.raises(work_module.NotSharedError, match="on this machine") as caught:
        work_module.Worker(work_module.Job(str(done.folder), (), RunOptions()))
    assert work_module.ends_run(caught.value)


def test_an_invalid_plan_is_an_error(tmp_path: Path, table: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/plan.json").write_text(json.dumps({"format": "other"}), encoding="utf-8")
    with pytest.raises(InputError, match="has format 'other'"):
        run(table, tmp_path / "parts")


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_sample_from_all_over_the_table_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "SAMPLE_PAIRS", 40)
    rows = [
        {"hyp": None if index % 10 == 9 else f"text {index}", "ref": f"reference {index}"} for index in range(1000)
    ]
    result = many.dry_run(write(tmp_path / "t.jsonl", rows), metric="chrf", shard_rows=10, price=3.6)
    assert (result.rows, result.pairs, result.shards) == (1000, 1000, 100)
    assert result.sampled + result.errors == 40
    assert result.errors == 0  # the two first rows of twenty shards
    first, ten, hundred = result.estimates
    assert [estimate.workers for estimate in result.estimates] == [1, 10, 100]
    assert first.seconds == pytest.approx(result.startup + 1000 / result.rate)
    assert hundred.seconds < ten.seconds < first.seconds
    assert first.cost == pytest.approx(first.seconds / 3600 * 3.6)
    assert hundred.gigabytes == pytest.approx(100 * result.gigabytes)
    assert list(tmp_path.iterdir()) == [tmp_path / "t.jsonl"]


def test_recipes_of_two_passes_can_be_predicted(tmp_path: Path) -> None:
    rows = [{"hyp": f"the cat sat {index}", "ref": f"a cat sat {index}"} for index in range(6)]
    result = many.dry_run(write(tmp_path / "t.jsonl", rows), metric="bertscore:idf=refs")
    assert result.sampled == 6


def test_prediction_errors(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"hyp": "text", "ref": "text"}]
    with pytest.raises(RecipeError, match="price must be"):
        many.dry_run(write(tmp_path / "t.jsonl", rows), metric="chrf", price=-1)
    rows = [{"hyp": None, "ref": "text"}]
    with pytest.raises(InputError, match="can be scored"):
        many.dry_run(write(tmp_path / "t.jsonl", rows), metric="chrf")
