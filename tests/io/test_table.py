"""Tables: the grid holds whatever the cells are, in every form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.errors import InputError, RecipeError
from nlgauge.io.escapes import display_width
from nlgauge.io.table import Formatted, Marked, Paragraphs, Span, Table, fit_columns

ANY_TEXT = st.text(st.one_of(st.sampled_from("\t\n\r\x0b\x0c\x1c\x85\u2028\u2029\\\"'&%$[*"), st.characters()))
CELL = st.one_of(ANY_TEXT, st.integers(-9, 9), st.floats(-10, 10, allow_nan=False, allow_infinity=False), st.none())
TABLES = st.integers(1, 4).flatmap(
    lambda size: st.builds(
        Table,
        st.lists(ANY_TEXT, min_size=size, max_size=size),
        st.lists(st.lists(CELL, min_size=size, max_size=size), max_size=4),
        st.one_of(st.none(), ANY_TEXT),
        st.lists(ANY_TEXT, max_size=2),
    )
)


@given(table=TABLES)
def test_no_cell_breaks_the_tsv_grid(table: Table) -> None:
    text = table.to_tsv()
    lines = text.removesuffix("\n").split("\n")
    assert text.endswith("\n")
    assert len(lines) == 1 + len(table.rows)
    assert all(line.count("\t") == len(table.columns) - 1 for line in lines)
    assert "\r" not in text
    if text.strip("\n"):
        assert text.splitlines() == lines  # nor do readers that break lines at other characters
    text.encode()


@given(table=TABLES)
def test_no_cell_breaks_the_other_forms(table: Table) -> None:
    extra = len(table.notes) + (table.caption is not None)
    text = table.to_text()
    assert text.count("\n") == 2 + len(table.rows) + extra
    latex = table.to_latex()
    assert latex.count("\n") == 6 + len(table.rows) + extra
    rows = [line for line in latex.split("\n") if line.endswith(r" \\") and not line.startswith("%")]
    assert len(rows) == 1 + len(table.rows)
    assert all(len(row.replace(r"\&", "").split("&")) == len(table.columns) for row in rows)
    (text + latex).encode()


@given(table=TABLES)
def test_text_columns_are_aligned(table: Table) -> None:
    bare = Table([*table.columns, "end"], [[*row, "|"] for row in table.rows])
    header, rule, *rows = bare.to_text().split("\n")[:-1]
    assert {display_width(row) for row in rows} <= {display_width(rule) - len("end") + 1}
    assert display_width(header) == display_width(rule)


def test_table_as_text() -> None:
    table = Table(
        ["system", "f1", "segment", "note"],
        [["a", 0.5, 3, "x"], ["漢字", -12.25, 10, None], ["e\u0301t\u200de\u0301", -0.000001, None, "y"]],
        caption="bertscore",
        notes=["one", "two"],
    )
    assert table.to_text() == (
        "bertscore\n"
        "system        f1  segment  note\n"
        "------  --------  -------  ----\n"
        "a         0.5000        3  x\n"
        "漢字    -12.2500       10\n"
        "e\u0301t\u200de\u0301       0.0000           y\n"
        "one\n"
        "two\n"
    )
    assert table.to_text(width=0).split("\n")[4] == "漢字    -12       10"


def test_table_as_tsv() -> None:
    table = Table(["sys\ttem", "f1"], [["a\tb\nc\r", 0.5], [None, -0.00001]], caption="c", notes=["n"])
    assert table.to_tsv(width=2) == "sys\\ttem\tf1\na\\tb\\nc\\r\t0.50\n\t0.00\n"


def test_table_as_latex() -> None:
    table = Table(
        ["system", "precision", "f1 95% low", "w"],
        [["my_sys & co", 0.5, -0.25, None], ["[base] {50%}", 1.0, 0.0, 2]],
        caption="a\nb",
        notes=["signature: x|y"],
        spans=[Span(""), Span("bert_score", 2, "higher"), Span("bary", 1, "lower")],
    )
    assert table.to_latex(width=2) == (
        "% a\\nb\n"
        "\\begin{tabular}{lrrr}\n"
        "\\toprule\n"
        " & \\multicolumn{2}{c}{bert\\_score $\\uparrow$} & \\multicolumn{1}{c}{bary $\\downarrow$} \\\\\n"
        "\\cmidrule(lr){2-3} \\cmidrule(lr){4-4}\n"
        "system & precision & f1 95\\% low & w \\\\\n"
        "\\midrule\n"
        "my\\_sys \\& co & 0.50 & $-$0.25 &  \\\\\n"
        "{[}base] \\{50\\%\\} & 1.00 & 0.00 & 2 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "% signature: x|y\n"
    )


def test_table_as_markdown() -> None:
    table = Table(
        ["system", "f1"], [["a_b|c\n", -0.5], ["漢字", Marked(1.0)]], caption="a caption", notes=["# a note"]
    )
    assert table.to_markdown(width=2) == (
        "a caption\n\n| system | f1 |\n|---|--:|\n| a\\_b\\|c\\\\n | -0.50 |\n| 漢字 | **1.00** |\n\n\\# a note\n"
    )


def test_spans_name_the_columns_in_text_and_tsv() -> None:
    table = Table(["system", "f1"], [["a", 1.0]], spans=[Span(""), Span("bertscore", 1, "higher")])
    assert table.to_tsv(width=1) == "system\tbertscore f1\na\t1.0\n"
    assert table.to_text(width=1).startswith("system  bertscore f1\n")


def test_malformed_tables_are_refused() -> None:
    with pytest.raises(InputError, match=r"row 1 of the table needs 2 cells, got 1: \['b'\]"):
        Table(["a", "b"], [["a", 1], ["b"]])
    with pytest.raises(InputError, match="row 0, column 'b' of the table needs a finite number, got nan"):
        Table(["a", "b"], [["a", float("nan")]])
    with pytest.raises(InputError, match="spans must cover all 2 columns, got 1"):
        Table(["a", "b"], [], spans=[Span("x")])
    with pytest.raises(RecipeError, match=r"width \(number of decimals\) must be at least 0, got -1"):
        Table(["a"], [[1.0]]).to_text(width=-1)


def test_a_long_last_column_and_notes_go_on_below() -> None:
    table = Table(["id", "what"], [["a", "word " * 30 + "end"], ["b", "short"]], notes=["note: " + "word " * 30])
    text = table.to_text(line=60)
    assert max(map(len, text.splitlines())) <= 60
    assert [part for part in text.split() if "--" not in part] == [
        part for part in table.to_text().split() if "--" not in part
    ]
    assert [line[0] for line in text.splitlines()] == ["i", "-", "a", " ", " ", "b", "n", " ", " "]


def test_a_text_table_fits_the_terminal() -> None:
    columns = ["system", "score", "low", "high", "wins"]
    table = Table(columns, [["transformer-base-v2", 0.5, 0.25, 0.75, 3]], less_important=[2, 3])
    assert "low" in table.to_text()
    with fit_columns(40):
        lines = table.to_text().splitlines()
    assert lines[0].split() == ["system", "score", "wins"]
    note = "not shown at this width: low, high; use a wider terminal (COLUMNS) or another --format"
    assert " ".join(" ".join(lines[3:]).split()) == note
    assert all(len(line) <= 40 for line in lines)
    with fit_columns(26):
        lines = table.to_text().splitlines()
    assert lines[2] == "transf…se-v2  0.5000     3"
    with fit_columns(20):
        lines = table.to_text().splitlines()
    assert lines[2] == "transf…se-v2  0.5000"
    assert lines[3].startswith("not shown at")
    with fit_columns(40):
        assert table.to_tsv().count("\t") == 2 * (len(columns) - 1)


@given(table=TABLES)
def test_a_narrow_terminal_never_breaks_the_grid(table: Table) -> None:
    with fit_columns(20):
        lines = table.to_text().split("\n")
    assert len(lines) > len(table.rows) + 2


def test_text_at_the_end_of_a_row_and_paragraphs_are_wrapped_to_the_terminal() -> None:
    table = Table(["name", "what"], [["a", "one two three four five six seven eight nine ten eleven"]])
    with fit_columns(40):
        assert [len(line) <= 40 for line in table.to_text().splitlines()] == [True] * 4
        assert Paragraphs(["one two three four five six seven eight nine"]).write("text").count("\n") == 2
        assert Paragraphs(["one two three four five six seven eight nine"]).write("markdown").count("\n") == 1


def test_formatted_numbers_are_aligned_right() -> None:
    table = Table(["system", "BLEU"], [["a", Formatted("9.1*")], ["b", Formatted("10.25")]])
    assert table.to_text().splitlines()[2:] == ["a        9.1*", "b       10.25"]
    assert "|---|--:|" in table.to_markdown()
    assert r"\begin{tabular}{lr}" in table.to_latex()
