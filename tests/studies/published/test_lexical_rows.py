"""Rows of lexical metrics whose data come from their publishers: each is computed on made files in their layout."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.count_rows import LEXICAL, row_states
from tests.data.test_captions import write_captions, write_compressions
from tests.studies.published.test_study import REFS, SYSTEMS, package, write

from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import reproduce

#: Tables whose data are not public, with the language pair of the made files.
TABLES = {
    "moverscore-table4": "",
    "bertscore-table5": "",
    "bertscore-table29": "",
    "bertscore-table10": "",
    "bertscore-table6": "",
    "bertscore-table30": "",
    "bertscore-table16": "en-cs",
    "bertscore-table17": "cs-en",
    "bertscore-table18": "en-cs",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, write_files in (("coco-captions", write_captions), ("msr-compression", write_compressions)):
        (folder / name).mkdir()
        write_files(folder / name)
    package(folder / "wmt17", 2017, "cs-en", "en-cs")
    package(folder / "wmt18", 2018, "cs-en", "en-cs")
    for file in folder.glob("wmt1?/references/*-encs-ref.en"):
        file.rename(file.with_suffix(".cs"))
    worse = [(pair, index, name) for pair in ("cs-en", "en-cs") for index in range(1, 7) for name in ("B.2", "C.3")]
    ranks = [f"{pair} newstest2018 {index} A.1 {name}" for pair, index, name in worse]
    write(folder / "wmt18/RR-seglevel.csv", "DATA SID BETTER WORSE", *ranks)
    pairs = [
        "\t".join((text, REFS[i], "1" if name == "A.1" else "0"))
        for name, texts in SYSTEMS.items()
        for i, text in enumerate(texts)
    ]
    numbered = [f"{number}\t{pair}" for number, pair in enumerate(pairs)]
    write(folder / "paws_qqp/dev_and_test.tsv", "id\tsentence1\tsentence2\tlabel", *numbered)
    quora = [f"{number}\t{number}\t{number}\t{pair}" for number, pair in enumerate(pairs)]
    write(folder / "QQP/dev.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", *quora)
    return folder


def test_other_rows_have_public_data() -> None:
    counts = [state.table in TABLES for state in row_states() if state.kind in LEXICAL]
    assert (len(counts), sum(counts)) == (107, 32)


@pytest.mark.parametrize(("table", "langpair"), TABLES.items())
def test_lexical_rows_are_computed_on_files_of_their_layout(data: Path, table: str, langpair: str) -> None:
    names = [state.name for state in row_states() if state.table == table and state.kind in LEXICAL]
    result = reproduce(PAPER_TABLES[table], at=str(data), model="none", rows=names, langpairs=langpair or None)
    compared = {
        row.name: [label for label, cell in row.cells.items() if cell.difference is not None] for row in result.rows
    }
    assert set(compared) == set(names)
    assert all(compared.values()), (compared, result.missing)
