"""Published tables on hybrid systems, on a small package written here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.cards import load
from nlgauge.studies.meta.levels import SummedCounts, hybrid_results
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.published import agreement as agreement_module
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.published.runs import data_at
from nlgauge.studies.published.tables import PaperTable

SCORES = {"A.1": 0.4, "B.2": -0.7, "C.3": 0.1}
OUTPUTS = {
    "A.1": ["the cat sat", "a dog ran home", "it rained"],
    "B.2": ["cat", "dogs", "the sun shone"],
    "C.3": ["a cat sat here", "nobody ran", "rain fell today"],
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    def write(name: str, *lines: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    write("references/newstest2018-csen-ref.en", "the cat sat here", "the dog ran home", "rain fell today")
    for system, lines in OUTPUTS.items():
        write(f"system-outputs/cs-en/newstest2018.{system}.cs-en", *lines)
    write("DA-syslevel.csv", "LP HUMAN SYSTEM", *(f"cs-en {score} {system}" for system, score in SCORES.items()))
    return tmp_path


@pytest.fixture(autouse=True)
def few_hybrids(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in (("HYBRIDS", 200), ("CHOSEN_FROM", 10), ("REPEATS", 50)):
        monkeypatch.setattr(agreement_module, name, number)


def hybrid_table(number: int) -> PaperTable:
    table = PAPER_TABLES[f"bertscore-table{number}"]
    assert table.kind == "hybrids"
    return table


@pytest.mark.parametrize(("number", "measure"), [(21, "pearson"), (23, "hits_at_1"), (24, "mrr"), (25, "diff")])
def test_hybrids_mix_two_systems_at_their_official_scores(package: Path, number: int, measure: str) -> None:
    result = reproduce(hybrid_table(number), at=package, model="none", langpairs="cs-en", rows="CHARACTER")
    judged = load("wmt18", package, langpairs="cs-en")
    scored = score_judgements(judged, ["character:similar=0"]).metrics[0].oriented.reshape(3, 3)
    human = np.repeat([[SCORES[name]] for name in OUTPUTS], 3, axis=1)
    repeats = 1 if measure == "pearson" else 50
    (expected,) = hybrid_results(
        {"character": scored}, human, hybrids=200, mixed="two", chosen_from=10, repeats=repeats
    )
    (row,) = result.rows
    assert row.cells["cs-en"].ours == pytest.approx(getattr(expected, measure))
    assert row.cells["cs-en"].published == {21: 0.960, 23: 0.146, 24: 0.349, 25: 3.77}[number]


def test_hybrids_of_error_rates_sum_edits_and_words(package: Path) -> None:
    result = reproduce(hybrid_table(21), at=package, model="none", langpairs="cs-en", rows="WER")
    # Edits of A.1, B.2 and C.3 by hand, for references of 4, 4 and 3 words.
    edits = np.array([[1, 1, 3], [3, 4, 3], [1, 3, 0]])
    counts = np.stack([edits, np.broadcast_to([4, 4, 3], (3, 3))], axis=2).astype(float)
    human = np.repeat([[SCORES[name]] for name in OUTPUTS], 3, axis=1)
    rates = SummedCounts(counts, lambda totals: -totals[:, 0] / totals[:, 1])
    (expected,) = hybrid_results({"wer": rates}, human, hybrids=200, mixed="two", chosen_from=10, repeats=1)
    assert result.rows[0].cells["cs-en"].ours == pytest.approx(expected.pearson)


def test_a_system_without_an_output_for_each_segment_has_no_hybrids(package: Path) -> None:
    (package / "DA-syslevel.csv").write_text("LP HUMAN SYSTEM\ncs-en 0.4 A.1\n", encoding="utf-8")
    result = reproduce(hybrid_table(2), at=package, model="none", langpairs="cs-en", rows="BLEU")
    assert result.rows[0].cells["cs-en"].ours is None
    assert any("hybrids need two systems with human scores" in what for what in result.missing)


def test_columns_from_english_are_only_shown_beside_those_to_english() -> None:
    table = PAPER_TABLES["bertscore-table2"]
    asked = {column.label for column in table.questions if column.question is not None}
    assert asked == {f"{lang}-en" for lang in ("cs", "de", "et", "fi", "ru", "tr", "zh")}
    assert table.rows[0].published["en-cs"] == 0.993
    assert PAPER_TABLES["bertscore-table22"].default_model == "muse"


def test_a_package_without_the_language_pairs_of_a_table_is_missing(package: Path) -> None:
    assert data_at(PAPER_TABLES["bertscore-table19"], package) == {"wmt18": True}
    assert data_at(PAPER_TABLES["bertscore-table20"], package) == {"wmt18": False}, "from English"
    result = reproduce(PAPER_TABLES["bertscore-table20"], at=package, model="none", langpairs="en-de", rows="BLEU")
    (what,) = result.missing
    assert what.startswith("wmt18: language pair 'en-de' does not exist; choose from: 'cs-en'; available at ")
