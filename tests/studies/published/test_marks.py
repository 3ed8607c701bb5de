"""Rows that no other row significantly outperforms, and intervals of averages."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t as student

from nlgauge.data.judgements import JudgementTable, RankedPairs
from nlgauge.errors import RecipeError
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.meta.row_scores import released_rows
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.marks import ScoredColumn, average_intervals, best_rows
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.published.runs import JudgedRows, slice_of
from nlgauge.studies.published.tables import Column, PaperTable, TableRow

RNG = np.random.default_rng(3)
HUMAN = RNG.normal(size=200)
NOISE = RNG.normal(size=(2, 200))


def williams_p(first: NDArray[np.float64], second: NDArray[np.float64], human: NDArray[np.float64]) -> float:
    """One-sided p by the formula of Graham and Baldwin (2014), written out here."""
    r12, r13, r23 = (np.corrcoef(x, y)[0, 1] for x, y in ((first, human), (second, human), (first, second)))
    n, k = human.size, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    below = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    return float(student.sf((r12 - r13) * math.sqrt((n - 1) * (1 + r23) / below), n - 3))


@pytest.mark.parametrize(("spread", "is_marked"), [(0.52, True), (1.2, False)])
def test_row_is_marked_if_the_best_is_not_significantly_better(spread: float, is_marked: bool) -> None:
    first, second = HUMAN + 0.5 * NOISE[0], HUMAN + spread * NOISE[1]
    assert (williams_p(first, second, HUMAN) > 0.05) == is_marked
    best = best_rows({"first": first, "second": second, "same": first}, HUMAN, kind="pearson", test="williams")
    assert best == ("first", "second", "same") if is_marked else ("first", "same")


def test_constant_row_is_not_marked() -> None:
    vectors = {"a": HUMAN + NOISE[0], "constant": np.zeros(200)}
    assert best_rows(vectors, HUMAN, kind="pearson", test="williams") == ("a",)


def write_pair(folder: Path, pair: str, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=rows)
    good = human + 0.3 * rng.normal(size=rows)
    texts = ["".join(map(str, digits)) for digits in rng.integers(0, 10, (rows, 12))]
    lines = ["LP\tsource\ttranslation\treference\tHUMAN_score\tsentBLEU"]
    lines += [f"{pair}\ts\t{texts[i]}\t0123456789\t{human[i]}\t{good[i]}" for i in range(rows)]
    (folder / f"testset_{pair}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def two_pairs(tmp_path: Path) -> Path:
    for seed, pair in enumerate(("cs-en", "lv-en")):
        write_pair(tmp_path, pair, 60, seed)
    return tmp_path


def table(**fields: object) -> PaperTable:
    pairs = ("cs-en", "lv-en")
    columns = (*(Column(pair, Question("wmt17-testset"), pair) for pair in pairs), Column("avg", over=pairs))
    rows = (TableRow("good", released="sentBLEU"), TableRow("bad", recipe="chrf"))
    return replace(PaperTable("small", "a small table", "nowhere", columns, rows), **fields)


def test_best_rows_of_a_table_are_marked_in_every_format(two_pairs: Path) -> None:
    result = reproduce(table(test="williams"), at=two_pairs, model="none")
    assert {row.name: row.best for row in result.rows} == {"good": ("cs-en", "lv-en"), "bad": ()}
    value = f"{result.rows[0].cells['cs-en'].ours:.3f}"
    assert f"{value}*" in result.render("text")
    assert f"**{value}**" in result.render("markdown")
    assert f"<b>{value}</b>" in result._repr_html_()
    assert "no other computed row is significantly better (Williams' test" in result.render("text")
    assert type(result).from_dict(result.to_dict()).rows[0].best == ("cs-en", "lv-en")
    assert all(not row.best for row in reproduce(table(), at=two_pairs, model="none").rows)


def test_average_has_an_interval_narrower_than_its_parts(two_pairs: Path) -> None:
    result = reproduce(table(), at=two_pairs, model="none", intervals=True)
    bad = next(row for row in result.rows if row.name == "bad")
    for label, (low, high) in bad.intervals.items():
        ours = bad.cells[label].ours
        assert isinstance(ours, float)
        assert low < ours < high
    width = {label: high - low for label, (low, high) in bad.intervals.items()}
    # Two independent pairs of equal size: the average varies by 1 / sqrt(2) as much.
    assert width["avg"] / np.mean([width["cs-en"], width["lv-en"]]) == pytest.approx(2**-0.5, rel=0.15)
    assert "95 % interval" in result.render("text")
    assert not any(row.intervals for row in reproduce(table(), at=two_pairs, model="none").rows)


def test_interval_of_an_average_needs_all_its_parts() -> None:
    columns = (Column("a"), Column("b"), Column("avg", over=("a", "b")))
    draws = {("x", "a"): np.linspace(0, 1, 101)}
    assert average_intervals(columns, draws, ["x"], scale=100) == {("x", "a"): pytest.approx((2.5, 97.5))}


def test_tau_of_ranked_pairs_is_tested_by_the_bootstrap() -> None:
    # 40 segments, two systems; "s0" is always preferred. The released metric knows it, the other one is wrong
    # on every second segment.
    rng = np.random.default_rng(0)
    segments = tuple(str(i) for i in range(40) for _ in range(2))
    right = np.tile([1.0, 0.0], 40)
    half = np.where(np.repeat(np.arange(40) % 2, 2) == 0, right, 1 - right)
    near = np.where(np.repeat(np.arange(40) < 1, 2), 1 - right, right)
    judged = JudgementTable(
        "made",
        segments,
        ("s0", "s1") * 40,
        ("de-en",) * 80,
        ("text",) * 80,
        (("reference",),) * 80,
        {"da": rng.normal(size=80)},
        "da",
        released={"right": right, "half": half, "near": near},
    )
    names = tuple(str(i) for i in range(40))
    pairs = RankedPairs("made", ("de-en",) * 40, names, ("s0",) * 40, ("s1",) * 40)
    column = Column("de-en", Question("made", agreement="darr"), "de-en")
    scores = {name: released_rows(judged, name) for name in ("right", "half", "near")}
    scored = ScoredColumn(column, JudgedRows(judged, pairs, slice_of(column.question, column.langpair)), scores)
    # One wrong pair of 40 is absent from more than a third of all resamples, twenty from none.
    assert set(scored.best("williams")) == {"right", "near"}
    assert scored.draws()["right"] == pytest.approx(np.ones(1000))


def test_tables_that_bold_by_a_test_name_it() -> None:
    tested = {name for name, table in PAPER_TABLES.items() if table.test}
    numbers = (1, 2, 4, 9, *range(12, 23))
    assert tested == {f"bertscore-table{number}" for number in numbers}


@pytest.mark.parametrize("name", ["bt-table1", "explain-table3", "bertscore-table21", "repro-table9"])
def test_intervals_are_refused_where_they_have_no_effect(name: str) -> None:
    with pytest.raises(RecipeError, match="leave out --intervals"):
        reproduce(PAPER_TABLES[name], intervals=True)
