"""What recipes count on a table, shard by shard."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from docs.write_schemas import FOLDER
from pyarrow.parquet import read_schema
from tests.apps.cluster.tables import ONE_SYSTEM, corpus_table, merged_bytes
from tests.extras import LazyModule

import nlgauge.apps.cluster as many
from nlgauge.apps.cluster import counts as counts_module
from nlgauge.apps.cluster.counts import Counts, read_frozen
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.testing import hash_encoder
from nlgauge.text.idf import IdfTable

jsonschema = LazyModule("jsonschema")

pytestmark = pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")

METRICS = ["bertscore:model=hash,layer=1,idf=both,unknown=score"]


def score(folder: Path) -> None:
    with hash_encoder():
        many.score(folder / "pairs.parquet", folder / "parts", metric=METRICS, columns=ONE_SYSTEM, shard_rows=2)


def frozen_file(folder: Path) -> Path:
    (result,) = (folder / "parts").glob("frozen-*")
    return result


def test_json_files_of_a_run_match_their_schema(tmp_path: Path) -> None:
    corpus_table(tmp_path / "pairs.parquet", fluent=["A text.", None, *["Another text."] * 8])
    score(tmp_path)
    parts = tmp_path / "parts"
    written = [json.loads((parts / "plan.json").read_text()), json.loads(many.merge(parts).text())]
    written += [json.loads(gzip.decompress(path.read_bytes())) for path in sorted(parts.glob("*.json.gz"))]
    written += [json.loads(read_schema(path).metadata[b"nlgauge"]) for path in sorted(parts.glob("part-*"))]
    assert {record["format"] for record in written} == {
        f"nlgauge-{name}/1" for name in ("plan", "summary", "counts", "frozen-counts", "part")
    }
    for record in written:
        schema = json.loads((FOLDER / f"{record['format'].replace('/', '-')}.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(record)


def test_tables_merge_in_any_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_table(tmp_path / "pairs.parquet")
    score(tmp_path)
    whole, name = merged_bytes(tmp_path / "parts"), frozen_file(tmp_path).name
    for path in (tmp_path / "parts").glob("[fp]*-*"):
        path.unlink()
    monkeypatch.setattr(counts_module, "_MERGED_AT_ONCE", 2)
    score(tmp_path)
    assert frozen_file(tmp_path).name == name
    assert merged_bytes(tmp_path / "parts") == whole


def test_document_frequencies_add_up() -> None:
    tables = [IdfTable(count, np.array([count, 1, 0]), "t") for count in (2, 5)]
    merged = IdfTable.merge(tables)
    assert merged.documents == 7
    assert merged.frequency.tolist() == [7, 2, 0]
    with pytest.raises(InputError, match="cannot merge idf tables of different tokenizers"):
        IdfTable.merge([tables[0], IdfTable(1, np.array([1]), "other")])


def test_ranges_take_the_lowest_and_the_highest() -> None:
    merged = Counts.merge([Counts(bounds={0: Bounds({"wmd": ends}, {}, 2)}) for ends in ((0.5, 0.5), (0.1, 0.4))])
    assert merged.bounds[0] == Bounds({"wmd": (0.1, 0.5)}, {}, 4)
    with pytest.raises(InputError, match=r"all 2 values are 0\.5"):
        Bounds({"wmd": (0.5, 0.5)}, {}, 2).check_width()


def test_modified_frozen_counts_are_errors(tmp_path: Path) -> None:
    corpus_table(tmp_path / "pairs.parquet")
    score(tmp_path)
    frozen_file(tmp_path).rename(tmp_path / "parts" / f"frozen-{'0' * 12}.json.gz")
    with pytest.raises(InputError, match="is damaged: the checksum does not match"):
        read_frozen(tmp_path / "parts", "0" * 64)
    with pytest.raises(InputError, match="cannot read the counts of the whole table"):
        read_frozen(tmp_path / "parts", "1" * 64)


def test_error_names_a_damaged_file_of_counts(tmp_path: Path) -> None:
    corpus_table(tmp_path / "pairs.parquet")
    score(tmp_path)
    damaged = next((tmp_path / "parts").glob("counts-00003-*"))
    damaged.write_bytes(b"damaged")
    with pytest.raises(
        InputError, match=r"cannot read the counts of a shard in .*counts-00003-.*; delete the file and run again"
    ):
        score(tmp_path)
    damaged.unlink()
    score(tmp_path)


class Odd(BERTScore):
    """Looks at all texts in a way of its own."""

    name = "odd"
    whole_corpus = True


def test_metrics_that_need_all_texts_cannot_be_sharded() -> None:
    with pytest.raises(RecipeError, match="odd needs all texts at once"):
        counts_module.check_countable([Odd()])
