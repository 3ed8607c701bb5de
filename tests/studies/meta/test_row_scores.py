"""Views of the scores of rows: given, imported, and sentinels that look at no quality."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, RecipeError
from nlgauge.studies.meta.row_scores import copied_share, given_rows, imported_rows, sentinels_of
from nlgauge.studies.meta.score_judgements import score_judgements


def made_table(*, sources: bool = True) -> JudgementTable:
    return JudgementTable(
        name="made",
        segment=("0", "1", "0", "1"),
        system=("a",) * 4,
        langpair=("de-en", "de-en", "cs-en", "cs-en"),
        hypothesis=("a cat", "dog dog", "x", "dog"),
        references=(("a cat sat",), ("a dog",), ("x",), ("dog",)),
        human={},
        default_criterion=None,
        source=("a cat sat", "Hund", "y", "dog") if sources else None,
    )


def test_given_scores_are_one_score_per_language_pair() -> None:
    scores = given_rows(made_table(), "wer", [0.1, 0.2, np.nan, 0.4], higher_is_better=False)
    assert [(part.langpair, part.score.metric, len(part.score)) for part in scores.parts] == [
        ("de-en", "wer", 2),
        ("cs-en", "wer", 2),
    ]
    assert np.array_equal(scores.oriented, [-0.1, -0.2, np.nan, -0.4], equal_nan=True)
    assert repr(scores) == "<RowScores wer: 4, lower is better>"
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0] = 2


def test_row_scores_are_the_scores_of_the_metric() -> None:
    (scores,) = score_judgements(made_table(), ["rouge1"]).metrics
    assert [part.score.system for part in scores.parts] == ["a", "a"]
    recall = scores.component("recall")
    assert recall.name == "rouge1 recall"
    assert recall.values[0] == scores.parts[0].score.segments["recall"][0]
    with pytest.raises(RecipeError, match="rouge1 has no component 'f2'; it has"):
        scores.component("f2")


def test_sentinels_do_not_depend_on_quality() -> None:
    length, random, copy = sentinels_of(made_table())
    assert length.values.tolist() == [5, 7, 1, 3]
    # "a cat" has the trigrams "a c", " ca", "cat", all of them in the source; "dog dog" shares none with "Hund".
    assert copy.values.tolist() == [1, 0, 0, 1]
    assert [item.name for item in (length, random, copy)] == ["sentinel-length", "sentinel-random", "sentinel-copy"]
    assert length.signatures["cs-en"] == "sentinel:length|unit:characters"
    assert np.array_equal(random.values, sentinels_of(made_table())[1].values)
    assert not np.array_equal(random.values, sentinels_of(made_table(), seed=1)[1].values)
    assert [item.name for item in sentinels_of(made_table(sources=False))] == ["sentinel-length", "sentinel-random"]


def test_a_trigram_counts_as_often_as_the_source_has_it() -> None:
    assert copied_share("aaaa", "aaa") == 0.5


#: Two language pairs; system b has no segment 2 in the first.
ROWS = [("de-en", "a", "1"), ("de-en", "a", "2"), ("de-en", "b", "1"), ("fr-en", "a", "1")]


@pytest.fixture
def table() -> JudgementTable:
    langpair, system, segment = zip(*ROWS, strict=True)
    return JudgementTable(
        name="own",
        segment=segment,
        system=system,
        langpair=langpair,
        hypothesis=("h",) * 4,
        references=(("r",),) * 4,
        human={"score": np.arange(4.0)},
        default_criterion="score",
    )


def write(folder: Path, *rows: str, name: str = "comet.csv") -> str:
    (folder / name).write_text("\n".join(rows) + "\n")
    return str(folder / name)


FULL = ["lp,system,id,score", *(f"{pair},{system},{index},{n / 10}" for n, (pair, system, index) in enumerate(ROWS))]


def test_rows_are_found_by_language_pair_system_and_segment(table: JudgementTable, tmp_path: Path) -> None:
    turned = [FULL[0], *FULL[:0:-1]]
    (result,) = imported_rows(table, [write(tmp_path, *turned)])
    assert (result.name, result.higher_is_better) == ("comet", True)
    assert result.values.tolist() == [0.0, 0.1, 0.2, 0.3]
    assert set(result.signatures) == {"de-en", "fr-en"}
    assert result.signatures["de-en"].startswith("comet|scores:")


def test_a_file_without_ids_has_a_row_for_each_row(table: JudgementTable, tmp_path: Path) -> None:
    ter, judge = imported_rows(
        table, [write(tmp_path, "ter,judge,why", "3,1,x", "2,2,y", "1,3,z", "0,4,w")], lower_is_better=["ter"]
    )
    assert ter.oriented.tolist() == [-3, -2, -1, 0]
    assert judge.oriented.tolist() == [1, 2, 3, 4]
    with pytest.raises(FileFormatError, match="2 rows, but own has 4 judged outputs; give one row"):
        imported_rows(table, [write(tmp_path, "ter", "3", "2")])


def test_files_that_do_not_match_the_table_are_errors(table: JudgementTable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no score for segment '2' of 'a' \(de-en\) and 1 more rows of own"):
        imported_rows(table, [write(tmp_path, *FULL[:2], *FULL[4:])])
    with pytest.raises(
        FileFormatError, match=r"line 6: segment '1' of 'a' \(de-en\) has two scores \(the first is in line 2\)"
    ):
        imported_rows(table, [write(tmp_path, *FULL, FULL[1])])
    with pytest.raises(FileFormatError, match=r"line 3, column 'score': expected a number, got \"\""):
        imported_rows(table, [write(tmp_path, *[row.replace("0.1", "") for row in FULL])])
    with pytest.raises(RecipeError, match="lower_is_better names 'ter', which is not one of comet"):
        imported_rows(table, [write(tmp_path, *FULL)], lower_is_better=["ter"])
    with pytest.raises(RecipeError, match="several metrics are in one column"):
        imported_rows(table, [write(tmp_path, "metric,id,score", "x,1,2")])


def test_rows_of_other_outputs_are_left_out_and_counted(table: JudgementTable, tmp_path: Path) -> None:
    with pytest.warns(NlgaugeWarning, match="1 of 5 scores are of outputs that are not in own"):
        (result,) = imported_rows(table, [write(tmp_path, *FULL, "cs-en,a,1,.5")])
    assert result.values.tolist() == [0.0, 0.1, 0.2, 0.3]
