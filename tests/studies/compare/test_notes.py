"""Notes of a comparison: idf that is counted on each system's own output."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from tests.learned_files import save_learned

import nlgauge
from nlgauge.report.document import html_report
from nlgauge.studies.compare.repeated_runs import compare_run_tables
from nlgauge.studies.compare.system_scores import system_scores
from nlgauge.studies.compare.systems import compare_systems, own_idf_notes

REFERENCES = ["The cat sat on the mat.", "A dog ran under the tree.", "It was raining all day.", "She reads a book."]
SAME = "The dog sat under the tree."
SYSTEMS = {
    "a": ["The cat sat on a mat.", SAME, "Rain fell all day.", "She reads books."],
    "b": [
        "A cat sits on the mat.",
        SAME,
        "The day was rainy and the dog was wet.",
        "The woman reads the book all day.",
    ],
}
NOTE = (
    "moverscore counts idf on each system's own output, so the same output of two systems can get different "
    "scores; to avoid this, add idf=refs to the recipe: moverscore:idf=refs"
)


def score_of_the_same_output(recipe: str) -> tuple[float, float]:
    first, second = nlgauge.score_systems(SYSTEMS, REFERENCES, metric=[recipe])
    return first.segments[first.main][1], second.segments[second.main][1]


def notes_of(*recipes: str) -> list[list[str]]:
    comparison = compare_systems(nlgauge.score_systems(SYSTEMS, REFERENCES, metric=recipes))
    return [[note for note in metric.notes if "idf" in note] for metric in comparison.metrics]


def test_moverscore_notes_that_the_same_output_gets_different_scores() -> None:
    first, second = score_of_the_same_output("moverscore")
    assert abs(first - second) > 0.01
    assert notes_of("moverscore", "bertscore") == [[NOTE], []]


def test_the_recipe_that_the_note_names_gives_the_same_output_one_score() -> None:
    recipe = NOTE.rpartition(" ")[2]
    first, second = score_of_the_same_output(recipe)
    assert first == second
    assert notes_of(recipe) == [[]]


def test_two_recipes_of_a_metric_have_a_note_each_and_members_are_named(tmp_path: Path) -> None:
    assert notes_of("moverscore", "moverscore:n=2", "baryscore") == [[NOTE], [NOTE], [NOTE.replace("mover", "bary")]]
    assert notes_of(save_learned(tmp_path / "learned.json", ["moverscore", "bertscore"])) == [[NOTE]]


@pytest.mark.parametrize("signature", ["", "comet|scores:0123456789ab", "not a signature: at all"])
def test_scores_of_other_tools_have_no_note(signature: str) -> None:
    assert own_idf_notes(signature) == []


def test_all_reports_have_the_note_once() -> None:
    scores = system_scores(nlgauge.score_systems(SYSTEMS, REFERENCES, metric=["moverscore"]))
    result = compare_systems(scores)
    assert result.render().count(NOTE) == 1
    assert result.render("json").count(NOTE) == 1
    assert html.unescape(html_report(result, scores=scores)).count(NOTE) == 1
    (runs,) = compare_run_tables(scores, {"a": "one", "b": "other"})
    assert runs.render().count(NOTE) == 1
