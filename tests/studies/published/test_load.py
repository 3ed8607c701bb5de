"""Files of published tables are read strictly: what means nothing is refused, with the file and the entry."""

from __future__ import annotations

import pytest

from nlgauge.errors import FileFormatError
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.inventory import PrintedItem, parse_inventory
from nlgauge.studies.published.load import parse_printed, parse_tables
from nlgauge.studies.published.tables import Column, Mean, PublishedModel

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


def test_columns_rows_and_methods_of_a_table() -> None:
    (table,) = parse_tables(SMALL)
    assert (table.id, table.source) == ("x-table1", "Somebody 2020, Table 1; code: nowhere")
    assert table.notes == ("it takes long", "a note")
    coherence = Question("summeval", criterion="coherence", options=(("systems", ("M1",)),))
    assert table.columns == (
        Column("cs-en", Question("wmt17", agreement="darr"), "cs-en"),
        Column("en-cs", None, "en-cs"),
        Mean("avg", ("cs-en", "en-cs")),
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
        ("[texts]", "[text]", "text: unknown key 'text'; known are source, texts"),
        ("decimals = 2", "decimal = 2", "text, tables.x-table1: unknown key 'decimal'; known are title, source"),
        ("decimals = 2", "rows = []", "text, tables.x-table1: unknown key 'rows'"),
        ("decimals = 2", "decimals = '2'", "text, tables.x-table1: decimals cannot be '2'"),
        ("decimals = 2", "kind = 'ranking'", "text, tables.x-table1: kind cannot be 'ranking'"),
        ("recipe =", "recipes =", r"text, methods of \[PF\] BERT: unknown key 'recipes'"),
        ('recipe = "bertscore"', "recipe = 3", "recipe cannot be 3"),
        ('recipe = "bertscore"', "key = ['a']", r"text, methods of \[PF\] BERT: unknown key 'key'"),
        ('"P *"', '"Q *"', r"text: methods of 'Q \*': there is no such row"),
        ('rows = ["other"]', 'rows = ["others"]', "text, tables.x-table1: methods of 'others': there is no such row"),
        ('other = ["a', 'others = ["a', "text, tables.x-table1, keys: unknown key 'others'"),
        ('model = "BERT"', 'model = "Bert"', "no model is called 'Bert'; there are BERT"),
        ('"$long", "a', '"$short", "a', "text, tables.x-table1: no text is called 'short'; there are long"),
        ('["seven"', '["eight"', "no list of columns is called 'eight'; there are seven"),
        ("langpairs =", "labels = ['x'], langpairs =", "has langpairs, criteria or labels, got labels, langpairs"),
        ("prefix = ", "prefixes = ", "text, tables.x-table1, columns: unknown key 'prefixes'"),
        ('place = "Table 1"', "", "text, tables.x-table1: say where it stands"),
        ('title = "a table"', "", "text, tables.x-table1: title is missing"),
        ("{ name =", "{ names =", "text, models.BERT: unknown key 'names'"),
        ("title =", "title", "text is not TOML"),
        ("P BERT  |", "F BERT  |", "text, tables.x-table1, printed, line 3: 'F BERT': a second row of that name"),
    ],
)
def test_what_means_nothing_is_refused(old: str, new: str, why: str) -> None:
    assert old in SMALL
    with pytest.raises(FileFormatError, match=why):
        parse_tables(SMALL.replace(old, new))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("BLEU .5", "text, line 1: expected 'NAME | VALUES', got 'BLEU .5'"),
        ("BLEU | .5", "line 1: 'BLEU': 1 values; its columns are a, b c"),
        ("columns | a d\nBLEU | .5 .6", "line 1: 'd' is not a column; there are a, b c"),
        ("X | .5 .6\nX | .6 .7", "line 2: 'X': a second row of that name"),
        ("X | .5 O.6", "line 1: 'X': 'O.6' is not a number"),
    ],
)
def test_values_in_print_are_checked(text: str, why: str) -> None:
    with pytest.raises(FileFormatError, match=why):
        parse_printed(text, ["a", "b c"])


def test_names_of_columns_and_cells_may_have_blanks() -> None:
    rows = parse_printed("columns | 15_cs-en avg\nF | first_+_keep -", ["avg", "15 cs-en"], names=True)
    assert rows["F"].values == {"15 cs-en": "first + keep"}


def test_inventory_has_entries_parts_and_reasons() -> None:
    text = """
    [texts]
    no = "no result"
    [papers.X]
    "Table 1" = ["x-table1"]
    "Table 2" = { entries = ["x-table2"], part = "half" }
    "Figure 1" = "$no"
    """
    assert parse_inventory(text) == (
        PrintedItem("X", "Table 1", ("x-table1",)),
        PrintedItem("X", "Table 2", ("x-table2",), part="half"),
        PrintedItem("X", "Figure 1", reason="no result"),
    )
    with pytest.raises(FileFormatError, match="text, X, Table 2: unknown key 'parts'"):
        parse_inventory(text.replace("part =", "parts ="))
    with pytest.raises(FileFormatError, match="text, X, Figure 1: no text is called 'yes'; there are no"):
        parse_inventory(text.replace("$no", "$yes"))
    with pytest.raises(FileFormatError, match="text, X, Table 1: expected a list of entries"):
        parse_inventory(text.replace('["x-table1"]', "3"))
