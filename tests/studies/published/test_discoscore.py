"""Tables of DiscoScore: what is declared, and what public data gives beside print."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from nlgauge.data.cards import load
from nlgauge.errors import RecipeError
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.published.runs import Reproduction, compared_cell

#: Two of 66 pairs of systems that change places.
TWO_SWAPS = 2 * 100 * 2 / 66 + 0.01


def ours(matches: Reproduction, row: str) -> list[float]:
    (cells,) = [item.cells for item in matches.rows if item.name == row]
    return [value for cell in cells.values() if isinstance(value := cell.ours, float)]


def test_all_twelve_tables_are_included() -> None:
    names = [name for name in PAPER_TABLES if name.startswith("disco-table")]
    assert names == [f"disco-table{number}" for number in range(1, 13)]


def test_a_value_without_a_sign_in_print_is_compared_without_ours() -> None:
    # D6.16: tau is -51.52 here, and 45.45 in print.
    assert compared_cell(45.45, -51.52, absolute=True).difference == pytest.approx(6.07)
    assert compared_cell(45.45, -51.52).difference == pytest.approx(-96.97)


def test_values_of_table_7_that_seven_systems_cannot_have() -> None:
    # D6.11: without ties, tau of 7 systems is an odd multiple of 1/21.
    possible = [100 * number / 21 for number in range(-21, 22, 2)]
    rows = {row.name: row for row in PAPER_TABLES["disco-table7"].rows}
    impossible = {
        (name, label): value
        for name, row in rows.items()
        for label, value in row.published.items()
        if label != "average" and min(abs(value - item) for item in possible) > 0.02
    }
    assert set(impossible.values()) == {42.58, 51.52}
    assert {name for name, _ in impossible} == {"BARTScore", "PRISM"}


def test_missing_data_is_named() -> None:
    for number in (6, 12):
        result = reproduce(PAPER_TABLES[f"disco-table{number}"], model="none")
        assert all(cell.ours is None for row in result.rows for cell in row.cells.values())
        assert "mt-metrics-eval" in result.missing[0]
    result = reproduce(PAPER_TABLES["disco-table8"], model="none", rows="BARTScore (max)")
    assert result.rows[0].reason == "no model here"


def test_a_table_of_features_takes_no_model() -> None:
    table = PAPER_TABLES["disco-table9"]
    assert table.kind == "features"
    with pytest.raises(RecipeError, match="disco-table9 is a table on features of texts; leave out --model"):
        reproduce(table, model="minilm")
    result = reproduce(table)
    assert [text.partition(":")[0] for text in result.missing] == [
        "data set summeval",
        "data set newsroom",
        "data set mt-metrics-eval",
    ]


REFERENCE = ("The cat saw a dog.", "The cat ran, and the cat slept.")
OUTPUTS = {
    "copy": REFERENCE,
    "half": ("The cat saw a dog.", "It left, and slept."),
    "none": ("Ships sail.", "Nobody knows why."),
}


@pytest.fixture
def wmt20(tmp_path: Path) -> Path:
    """A folder that holds `wmt20`: a document of three systems, ranked by people as by BLEU, in de-en backwards."""

    def write(name: str, lines: Iterable[str]) -> None:
        file = tmp_path / "wmt20" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    ratings = {"cs-en": ("wmt-raw", 90, 60, 30), "de-en": ("wmt-raw", 30, 60, 90), "zh-en": ("mqm", 0, -1, -2)}
    for pair, (gold, *scores) in ratings.items():
        write(f"sources/{pair}.txt", "xy")
        write(f"documents/{pair}.docs", ("news one", "news one"))
        write(f"references/{pair}.ref.txt", REFERENCE)
        for system, lines in OUTPUTS.items():
            write(f"system-outputs/{pair}/{system}.txt", lines)
        lines = [f"{system} {score}" for system, score in zip(OUTPUTS, scores, strict=True) for _ in REFERENCE]
        write(f"human-scores/{pair}.{gold}.seg.score", lines)
    return tmp_path


def test_documents_of_wmt20_from_a_folder(wmt20: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-table12"], at=wmt20, model="none", rows=["BLEU", "PRISM"])
    assert ours(result, "BLEU") == pytest.approx([100, -100])
    assert result.rows[1].reason == "no model here"
    assert [text for text in result.missing if "language pair 'ja-en' does not exist" in text]
    assert (
        reproduce(PAPER_TABLES["disco-table12"], at=wmt20 / "wmt20", model="none", rows="BLEU").rows[0]
        == result.rows[0]
    )


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoFocusWarning")
def test_missing_ratings_of_wmt20_are_listed(wmt20: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-table6"], at=wmt20, rows="*DS-Focus (NN)")
    # The cat is in two mentions or more of the reference and its copy only: all distances are 0.
    assert ours(result, "*DS-Focus (NN)") == []
    assert [text for text in result.missing if "metric is constant" in text]
    assert [text for text in result.missing if "gold 'psqm' does not exist; choose from: 'mqm'" in text]


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoNounWarning")
def test_features_of_documents_of_wmt20(wmt20: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-table11"], at=wmt20, data="mt-metrics-eval", rows=["Frequency (NN)"])
    # The copy is left out; 4 mentions of 2 nouns in the reference are more than one mention of each in the others.
    assert ours(result, "Frequency (NN)") == pytest.approx([100, 0, 0] * 2)
    result = reproduce(PAPER_TABLES["disco-table9"], at=wmt20, data="mt-metrics-eval", rows=["systems"])
    assert ours(result, "systems") == [3, 3]


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoNounWarning")
def test_rows_on_entities_read_word_vectors(wmt20: Path) -> None:
    vectors = wmt20 / "vectors.txt"
    vectors.write_text("cat 1 0\ndog 0.9 0.1\n", encoding="utf-8")
    table = PAPER_TABLES["disco-table12"]
    shown = reproduce(table, at=wmt20, model="none", rows="Lexical Graph").rows[0]
    assert shown.reason == "published values only: needs word vectors (--vectors FILE)"
    assert all(cell.ours is None for cell in shown.cells.values())
    result = reproduce(table, at=wmt20, model="none", rows="Lexical Graph", vectors=vectors)
    # The copy's sentences share the cat; those of the others share nothing, so that two of three pairs are told.
    assert ours(result, "Lexical Graph") == pytest.approx([100 * (2 / 6**0.5), -100 * (2 / 6**0.5)])
    assert result.rows[0].reason == "other word vectors; Dep2Vec in the paper"
    assert result.rows[0].recipe == f"lexical-graph:vectors={vectors}"
    features = PAPER_TABLES["disco-table11"]
    asked = {"at": wmt20, "data": "mt-metrics-eval", "rows": "Frequency (Entity)"}
    # Cat and dog are one entity of four mentions in the reference, of two in the one sentence of "half".
    assert ours(reproduce(features, **asked, vectors=vectors), "Frequency (Entity)") == pytest.approx([100, 0, 0] * 2)
    assert reproduce(features, **asked).rows[0].reason == "published values only: needs word vectors (--vectors FILE)"


def test_unused_word_vectors_are_an_error() -> None:
    with pytest.raises(RecipeError, match="no row of disco-table7 uses word vectors; leave out --vectors"):
        reproduce(PAPER_TABLES["disco-table7"], vectors="glove.txt")
    with pytest.raises(RecipeError, match=r"'a,b\.txt' contains a comma"):
        reproduce(PAPER_TABLES["disco-table1"], vectors="a,b.txt")


def test_systems_with_other_documents_are_measured_beside_their_own_references(wmt20: Path) -> None:
    long = " ".join(["The cat saw a dog."] * 120)
    (wmt20 / "wmt20/system-outputs/cs-en/none.txt").write_text(f"{long}\n{long}\n", encoding="utf-8")
    rows = ["hypotheses per system", "systems", "good foci per hypothesis"]
    result = reproduce(PAPER_TABLES["disco-table9"], at=wmt20, data="mt-metrics-eval", rows=rows)
    by_name = {row.name: row.cells["cs-en"].ours for row in result.rows}
    # The document of more than 512 word pieces is left out; the copy has one good focus, the cat, and "half" none.
    assert by_name == {"systems": 2, "hypotheses per system": 1, "good foci per hypothesis": pytest.approx(0.5)}


def test_the_abstractive_systems_of_summeval(data_folder: Path) -> None:
    (options,) = {column.question.options for column in PAPER_TABLES["disco-table1"].questions if column.question}
    table = load("summeval", data_folder, **dict(options))
    # Others take sentences from the article (D6.14).
    assert set(table.systems) == {f"M{number}" for number in (*range(8, 16), 17, 20, 22, 23)}
    assert len(table) == 1200
    with pytest.raises(RecipeError, match="system 'M3' does not exist"):
        load("summeval", data_folder, systems="M3")


@pytest.mark.slow
def test_cohesion_on_summeval_is_within_two_swaps_of_print(data_folder: Path) -> None:
    rows = ("RC", "LC", "Entity Graph", "Lexical Chain", "frequency only")
    result = reproduce(PAPER_TABLES["disco-table1"], at=data_folder, model="none", rows=rows)
    for row in result.rows:
        if row.name != "frequency only":
            assert all(abs(cell.difference or 0.0) <= TWO_SWAPS for cell in row.cells.values()), row.name
            assert all(value < 0 for value in ours(result, row.name)), "all run against people (D6.16)"
    # Without an encoder, counts of common nouns follow people as well as DS-Focus with lower layers of MiniLM.
    assert all(value > 35 for value in ours(result, "frequency only"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoNounWarning")  # of six summaries of Newsroom
def test_statistics_of_the_data_are_near_print(data_folder: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-table9"], at=data_folder)
    by_name = {row.name: row.cells for row in result.rows}
    for name in ("references", "systems", "hypotheses per system"):
        assert all(cell.difference in (0, None) for cell in by_name[name].values())
    assert by_name["sentences per hypothesis"]["SummEval"].ours == pytest.approx(3.13, abs=0.1)
    assert by_name["foci per hypothesis"]["SummEval"].ours == pytest.approx(15.18, abs=2)
    assert by_name["hypotheses with good foci, %"]["NeR18"].ours == pytest.approx(43.80, abs=5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoNounWarning")  # of six summaries of Newsroom
def test_summaries_repeat_more_than_references(data_folder: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-table11"], at=data_folder, data="newsroom", rows=["Frequency (NN)"])
    shares = ours(result, "Frequency (NN)")
    assert sum(shares) == pytest.approx(100)
    assert shares[2] > shares[0], "summaries repeat more than references"
