"""What a study is: sweeps, presets, TOML."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.core.registry import parse_metric
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.metrics.baryscore import BaryScore
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.studies.sensitivity.measure import run_study, systems_table
from nlgauge.studies.sensitivity.study import (
    PRESETS,
    SAMPLE,
    Setting,
    Study,
    Sweep,
    load_study,
    preset,
    random_sample,
    refused_value,
    with_setting,
)


def recipe(metric: str, **values: str) -> object:
    setting = Setting(tuple(values), tuple(values.values()))
    return with_setting(parse_metric(metric), setting, lang="de", idf_files={"random-1": "drawn.idf"})


def test_a_setting_changes_the_fields_of_the_base_and_no_other() -> None:
    assert recipe("moverscore:n=2", punctuation="keep", subwords="all") == MoverScore(
        n=2, punctuation="keep", subwords="all"
    )
    assert recipe("bertscore:idf=refs", layer="3") == BERTScore(idf="refs", layer=3)


def test_values_that_only_a_study_has() -> None:
    assert recipe("moverscore", idf="original") == MoverScore(idf="both")
    assert recipe("bertscore", idf="original") == BERTScore(idf="refs")
    assert recipe("baryscore", idf="original") == BaryScore(idf="both")
    assert recipe("moverscore", idf="random-1") == MoverScore(idf="drawn.idf")
    assert recipe("bertscore", stopwords="iso") == BERTScore(stopwords="iso-de")
    assert recipe("bertscore", stopwords="iso-en") == BERTScore(stopwords="iso-en")
    assert recipe("moverscore", layer="3") == MoverScore(aggregation="layer-3")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_makes_recipes(name: str) -> None:
    study = preset(name)
    for metric, sweep in study.pairs():
        for setting in sweep.settings:
            with_setting(study.recipes[metric], setting, lang="en", idf_files={})
    assert study.name == name


def test_the_grids_of_the_paper() -> None:
    # Chen et al. (2022): original + 4 random corpora; six cells; removal of punctuation is the base of its RD.
    idf = {sweep.name: [s.label for s in sweep.settings] for sweep in preset("idf").sweeps}
    assert idf == {
        "idf": ["original", "none"],
        "idf-random": ["original", "random-1", "random-2", "random-3", "random-4"],
    }
    (cells,) = preset("subwords-x-punctuation").sweeps
    assert len(cells.settings) == 6
    assert cells.settings[0].label == "first + drop-ascii"
    (punctuation,) = preset("punctuation").sweeps
    assert [s.label for s in punctuation.settings] == ["drop-ascii", "keep"]
    assert [s.label for s in preset("layers").sweeps[0].settings] == ["6", "5", "4", "3", "2", "1"]


def test_metric_without_the_field_is_left_out_with_a_note() -> None:
    study = preset("subwords", ["moverscore", "sentsim"])
    assert [metric for metric, _ in study.pairs()] == ["moverscore"]
    assert study.skipped() == ("sentsim has no option subwords: sweep 'subwords' left out",)


def test_values_that_a_metric_does_not_accept_are_errors() -> None:
    recipe = parse_metric("ds-focus")
    assert refused_value(recipe, Setting(("subwords",), ("average",))) == ""
    message = "ds-focus does not accept subwords=first, only last or average"
    assert refused_value(recipe, Setting(("subwords",), ("first",))) == message
    texts = ["A cat sat.", "A dog ran."]
    table = systems_table({"a": texts, "b": texts[::-1]}, texts)
    with pytest.raises(
        RecipeError,
        match=rf"'subwords' has no sweep that can run here: .*{message}; left out.*\(--study FILE\)",
    ):
        run_study(preset("subwords", ["ds-focus"]), table)
    study = Study("bertscore", [Sweep({"multiref": ["best-f", "bset-f"]})])
    with pytest.raises(RecipeError, match="study 'study': bertscore does not accept multiref=bset-f, only "):
        run_study(study, table)


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'metric = ["moverscore", "bertscore:idf=refs"]\n'
        '[[sweep]]\nstopwords = ["none", "iso"]\n'
        '[[sweep]]\nname = "cells"\nsubwords = ["first", "all"]\npunctuation = ["keep", "drop-ascii"]\n'
        "[[sweep]]\nlayer = [1, 2]\n",
        encoding="utf-8",
    )
    study = load_study(path)
    assert study.name == "mine"
    assert study.metric == ("moverscore", "bertscore:idf=refs")
    assert [sweep.name for sweep in study.sweeps] == ["stopwords", "cells", "layer"]
    assert [s.label for s in study.sweeps[1].settings] == [
        "first + keep",
        "first + drop-ascii",
        "all + keep",
        "all + drop-ascii",
    ]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("metric = [", "is not valid TOML: "),
        ('metric = ["moverscore"]', r"\[\[sweep\]\]"),
        ('colour = 1\n[[sweep]]\nn = ["1", "2"]', "colour"),
        ('[[sweep]]\ncolour = ["1", "2"]', "colour"),
        ('[[sweep]]\nn = ["1"]', "two or more"),
        ('[[sweep]]\nn = "12"', "list"),
        ('metric = ["bleu"]\n[[sweep]]\nn = ["1", "2"]', "bleu"),
        ('metric = [1]\n[[sweep]]\nn = ["1", "2"]', "list of texts"),
    ],
)
def test_invalid_study_files_are_errors(tmp_path: Path, content: str, named: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises((FileFormatError, RecipeError), match=named):
        load_study(path)


def test_missing_file_and_unknown_preset_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml"):
        load_study(tmp_path / "none.toml")
    with pytest.raises(RecipeError, match="stopwords"):
        preset("stop-words")
    with pytest.raises(RecipeError, match="only used by the presets 'idf' and 'all'"):
        preset("stopwords", idf_corpora=["a.txt"])


def test_sweeps_must_have_different_names() -> None:
    with pytest.raises(RecipeError, match="must have different names"):
        Study(["moverscore"], [Sweep({"n": ["1", "2"]}), Sweep({"n": ["1", "3"]})])


def test_random_corpora_are_seeded_and_differ() -> None:
    texts = [f"text {number}" for number in range(5000)]
    first = random_sample(texts, 1)
    assert len(first) == len(set(first)) == SAMPLE
    assert first == random_sample(texts, 1)
    assert first != random_sample(texts, 2)
    assert first != random_sample(texts, 1, seed=1)
    assert len(random_sample(texts[:100], 1)) == 50, "a sample of everything would be the same each time"


def test_a_missing_study_file_names_the_presets() -> None:
    with pytest.raises(InputError, match=r"no study file 'nofile.toml'.*\(preset=\) instead: stopwords, idf"):
        load_study("nofile.toml")
