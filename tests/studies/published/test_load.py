"""Files of published tables are read strictly: what means nothing is refused, with the file and the entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.errors import FileFormatError
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.load import PrintedItem, load_inventory, load_tables, parse_printed
from nlgauge.studies.published.tables import Column, PaperTable, PublishedModel

SMALL = """
source = "Somebody 2020, {}; code: nowhere"

[texts]
long = "it takes long"

[models]
BERT = { name = "bert-base", aliases = ["bert"] }

[columns]
seven = [{ langpairs = ["cs-en", "en-cs"], data = "wmt17", agreement = "darr", only_shown = ["en-cs"], mean = "avg" }]

[[methods]]
rows = ["[PF] BERT"]
recipe = "bertscore"
model = "BERT"

[[methods]]
rows = ["P *"]
component = "precision"

[tables.x-table1]
title = "a table"
place = "Table 1"
decimals = 2
notes = ["$long", "a note"]
columns = ["seven", { criteria = ["coherence"], prefix = "S ", data = "summeval", options = { systems = ["M1"] } }]
printed = '''
columns | cs-en en-cs S_coherence
P BERT  |   .97     - 1452
F BERT  |  .95*   .94 |  -
other   |
'''

[[tables.x-table1.methods]]
rows = ["other"]
note = "$long"

[tables.x-table1.keys]
other = ["a", "b"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "paper.toml"


def read_tables(file: Path, text: str) -> tuple[PaperTable, ...]:
    file.write_text(text, encoding="utf-8")
    return load_tables(file)


def read_inventory(file: Path, text: str) -> tuple[PrintedItem, ...]:
    file.write_text(text, encoding="utf-8")
    return load_inventory(file)


def test_columns_rows_and_methods_of_a_table(file: Path) -> None:
    (table,) = read_tables(file, SMALL)
    assert (table.id, table.source) == ("x-table1", "Somebody 2020, Table 1; code: nowhere")
    assert table.notes == ("it takes long", "a note")
    coherence = Question("summeval", criterion="coherence", options=(("systems", ("M1",)),))
    assert table.columns == (
        Column("cs-en", Question("wmt17", agreement="darr"), "cs-en"),
        Column("en-cs", None, "en-cs"),
        Column("avg", over=("cs-en", "en-cs")),
        Column("S coherence", coherence),
    )
    precision, f, other = table.rows
    assert precision.published == {"cs-en": 0.97, "S coherence": 1452}
    assert (precision.recipe, precision.component) == ("bertscore", "precision")
    assert precision.model == PublishedModel("bert-base", ("bert",))
    assert (f.published, f.starred, f.component) == ({"cs-en": 0.95, "en-cs": 0.94}, {"cs-en"}, "")
    assert (other.published, other.note, other.key) == ({}, "it takes long", ("a", "b"))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("[texts]", "[text]", "toml: unknown key 'text'; known keys: source, texts"),
        (
            "decimals = 2",
            "decimal = 2",
            "toml, tables.x-table1: unknown key 'decimal'; known keys: title, kind",
        ),
        ("decimals = 2", "rows = []", "toml, tables.x-table1: unknown key 'rows'"),
        ("decimals = 2", "decimals = '2'", "toml, tables.x-table1: decimals must be a whole number, got '2'"),
        ("decimals = 2", "kind = 'ranking'", "toml, tables.x-table1: kind must be one of 'agreement'"),
        ("recipe =", "recipes =", "toml, tables.x-table1, row 'P BERT': unknown key 'recipes'"),
        ('recipe = "bertscore"', "recipe = 3", "recipe must be a text, got 3"),
        ('recipe = "bertscore"', "key = ['a']", "toml, tables.x-table1, row 'P BERT': unknown key 'key'"),
        ('"P *"', '"Q *"', r"toml: methods of 'Q \*' match no row"),
        (
            'rows = ["other"]',
            'rows = ["others"]',
            "toml, tables.x-table1: methods of 'others' match no row",
        ),
        ('other = ["a', 'others = ["a', "toml, tables.x-table1, keys: unknown key 'others'"),
        ('model = "BERT"', 'model = "Bert"', "unknown model 'Bert'; known: BERT"),
        ('"$long", "a', '"$short", "a', "toml, tables.x-table1: unknown text 'short'; known: long"),
        ('["seven"', '["eight"', "unknown list of columns 'eight'; known: seven"),
        ("langpairs =", "labels = ['x'], langpairs =", "needs langpairs, criteria or labels, got labels, langpairs"),
        ("prefix = ", "prefixes = ", "toml, tables.x-table1, columns: unknown key 'prefixes'"),
        ('place = "Table 1"', "", "toml, tables.x-table1: missing place"),
        ('title = "a table"', "", "toml, tables.x-table1: missing key 'title'"),
        ("{ name =", "{ names =", "toml, models.BERT: unknown key 'names'"),
        ("title =", "title", "toml is not valid TOML"),
        (
            "P BERT  |",
            "F BERT  |",
            "toml, tables.x-table1, printed, line 3: 'F BERT': duplicate row",
        ),
    ],
)
def test_invalid_files_are_errors(file: Path, old: str, new: str, why: str) -> None:
    assert old in SMALL
    with pytest.raises(FileFormatError, match=why):
        read_tables(file, SMALL.replace(old, new))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("BLEU .5", "text, line 1: expected 'NAME | VALUES', got 'BLEU .5'"),
        ("BLEU | .5", "line 1: 'BLEU': 1 values; the columns are a, b c"),
        ("columns | a d\nBLEU | .5 .6", "line 1: 'd' is not a column; the columns are a, b c"),
        ("X | .5 .6\nX | .6 .7", "line 2: 'X': duplicate row"),
        ("X | .5 O.6", "line 1: 'X': 'O.6' is not a number"),
    ],
)
def test_printed_values_are_checked(text: str, why: str) -> None:
    with pytest.raises(FileFormatError, match=why):
        parse_printed(text, ["a", "b c"])


def test_names_of_columns_and_cells_may_have_blanks() -> None:
    rows = parse_printed("columns | 15_cs-en avg\nF | first_+_keep -", ["avg", "15 cs-en"], names=True)
    assert rows["F"].values == {"15 cs-en": "first + keep"}


def test_inventory_has_entries_parts_and_reasons(file: Path) -> None:
    text = """
    [texts]
    no = "no result"
    [papers.X]
    "Table 1" = ["x-table1"]
    "Table 2" = { entries = ["x-table2"], part = "half" }
    "Figure 1" = "$no"
    """
    assert read_inventory(file, text) == (
        PrintedItem("X", "Table 1", ("x-table1",)),
        PrintedItem("X", "Table 2", ("x-table2",), part="half"),
        PrintedItem("X", "Figure 1", reason="no result"),
    )
    with pytest.raises(FileFormatError, match="toml, X, Table 2: unknown key 'parts'"):
        read_inventory(file, text.replace("part =", "parts ="))
    with pytest.raises(FileFormatError, match="toml, X, Figure 1: unknown text 'yes'; known: no"):
        read_inventory(file, text.replace("$no", "$yes"))
    with pytest.raises(FileFormatError, match="toml, X, Table 1: entries must be a list, got 3"):
        read_inventory(file, text.replace('["x-table1"]', "3"))
