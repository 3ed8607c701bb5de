"""A study from texts to results: what moves, who flips, and that an interrupted run gives the same bytes."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlgauge
from nlgauge.data import JudgementTable
from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.report.sensitivity import sensitivity_report
from nlgauge.sensitivity import run as module
from nlgauge.sensitivity.presets import preset
from nlgauge.sensitivity.results import Movement
from nlgauge.sensitivity.run import StudyOptions, run_study, systems_table
from nlgauge.sensitivity.study import Study, Sweep
from nlgauge.stats import pearson

SUBJECTS = ["cat", "dog", "teacher", "doctor", "engine", "river", "king", "clock", "ship", "farmer"]
PLACES = ["garden", "school", "bridge", "forest", "tower", "harbour", "market", "castle", "station", "island"]
REFS = [f"the {one} is in the {other} of the town" for one, other in zip(SUBJECTS, PLACES, strict=True)]
#: Right words of content in telegram style; and all function words right, around a wrong word of content.
TERSE = [f"{one} {other} town" for one, other in zip(SUBJECTS, PLACES, strict=True)]
FLUENT = [
    f"the {one} is in the {other} of the moon" for one, other in zip(SUBJECTS, PLACES[3:] + PLACES[:3], strict=True)
]


@pytest.fixture
def stop(tmp_path: Path) -> str:
    path = tmp_path / "stop.txt"
    path.write_text("the\nis\nin\nof\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def study(stop: str) -> Study:
    return Study(
        ["moverscore:idf=none", "bertscore"],
        [Sweep({"stopwords": ["none", stop]}, "stopwords"), Sweep({"idf": ["original", "none", "random-1"]}, "idf")],
    )


@pytest.fixture
def table() -> JudgementTable:
    return systems_table({"terse": TERSE, "fluent": FLUENT}, REFS)


def test_a_study_with_a_known_flip(study: Study, table: JudgementTable) -> None:
    result = run_study(study, table)
    for metric in study.metrics:
        (ranking,) = [one for one in result.rankings if (one.metric, one.sweep) == (metric, "stopwords")]
        (flip,) = ranking.flips
        assert (flip.ahead, flip.behind) == ("fluent", "terse")
        assert flip.significant
        assert ranking.taus == (1.0, -1.0)
    text = sensitivity_report(result)
    assert "fluent  terse" in text


def test_values_are_those_of_separate_runs(study: Study, table: JudgementTable, stop: str) -> None:
    result = run_study(study, table)
    moved = result.movement("bertscore", "stopwords", "score")
    alone = nlgauge.score_systems(
        {"terse": TERSE, "fluent": FLUENT}, REFS, metrics=["bertscore", f"bertscore:stopwords={stop}"]
    )
    assert moved.values["terse"] == (alone[0].mean, alone[2].mean)
    assert moved.values["fluent"] == (alone[1].mean, alone[3].mean)
    original = result.movement("moverscore:idf=none", "idf", "score").values["fluent"][0]
    both = nlgauge.score_systems({"terse": TERSE, "fluent": FLUENT}, REFS, metrics=["moverscore:idf=both"])
    assert original == both[1].mean


def test_with_human_scores_the_correlation_moves(stop: str) -> None:
    gold = np.linspace(0, 1, 20) ** 2
    judged = JudgementTable(
        name="mine",
        segment=tuple(map(str, range(20))),
        system=("",) * 20,
        langpair=("de-en",) * 10 + ("cs-en",) * 10,
        hypothesis=tuple(TERSE + FLUENT),
        references=tuple((ref,) for ref in REFS * 2),
        human={"DA": gold},
        default_criterion="DA",
    )
    result = run_study(Study(["bertscore"], [Sweep({"stopwords": ["none", stop]})]), judged)
    (moved,) = result.movements
    assert (moved.level, result.agreement) == ("segment", "pearson with DA")
    for pair, texts, wanted in (("de-en", TERSE, gold[:10]), ("cs-en", FLUENT, gold[10:])):
        for at, words in enumerate(("none", stop)):
            score = nlgauge.score(texts, REFS, metric=f"bertscore:stopwords={words}")
            assert moved.values[pair][at] == pytest.approx(pearson(score.f1, wanted).value, abs=1e-12)
    first, second = moved.values["de-en"]
    assert moved.best["de-en"] == ("none" if first >= second else stop)
    assert any("no system level" in note for note in result.notes)


def test_movement_by_hand() -> None:
    moved = Movement("m", "s", "segment", ("x", "y", "z"), {"cs-en": (0.5, 0.6, 0.7), "de-en": (0.8, 0.4, 0.6)})
    # cs-en: mean .6, sd .1; de-en: mean .6, sd .2 (by n - 1).
    assert moved.cv == pytest.approx({"cs-en": 100 / 6, "de-en": 200 / 6})
    assert moved.mean_cv == pytest.approx(25.0)
    assert moved.rd["cs-en"] == pytest.approx((0, 20, 40))
    assert moved.rd["de-en"] == pytest.approx((0, -50, -25))
    assert moved.mean_rd == pytest.approx((0, -15, 7.5))
    assert moved.best == {"cs-en": "z", "de-en": "x"}
    assert moved.average == pytest.approx((0.65, 0.5, 0.65))
    missing = Movement("m", "s", "segment", ("x", "y"), {"cs-en": (0.0, None)})
    assert missing.cv == {"cs-en": None}
    assert missing.rd == {"cs-en": (None, None)}
    assert missing.best == {"cs-en": "x"}


def test_where_the_corpus_is_cut_moves_nothing(
    study: Study, table: JudgementTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sensitivity_report(run_study(study, table), format="json")
    monkeypatch.setattr(module, "_PIECE", 6)
    assert sensitivity_report(run_study(study, table), format="json") == whole


def test_a_second_run_scores_nothing(
    study: Study, table: JudgementTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "study.state"
    first = sensitivity_report(run_study(study, table, state=state), format="json")
    size = state.stat().st_size
    monkeypatch.setattr(module, "run_metrics", None)
    assert sensitivity_report(run_study(study, table, state=state), format="json") == first
    assert state.stat().st_size == size


def test_what_was_finished_is_not_used_for_other_texts_or_lists(
    study: Study, table: JudgementTable, tmp_path: Path, stop: str
) -> None:
    state = tmp_path / "study.state"
    run_study(study, table, state=state)
    Path(stop).write_text("town\n", encoding="utf-8")
    other = systems_table({"terse": TERSE, "fluent": [*FLUENT[:-1], "something else"]}, REFS)
    resumed = run_study(study, other, state=state)
    assert resumed.to_dict() == run_study(study, other).to_dict()


#: A run that is killed, as by a power cut, when its third piece is to be written.
_KILLED = """
import os, signal
from nlgauge.engine import checkpoint as state
from nlgauge.sensitivity import run as sensitivity
from nlgauge.sensitivity.study import Study, Sweep
texts = {texts!r}
sensitivity._PIECE = 6
add, calls = state.StudyState.add, []
def dying(self, pieces):
    calls.append(1)
    if len(calls) == 3:
        with open(self._path, "ab") as file:
            file.write(b'{{"key": "half a li')
            file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, pieces)
state.StudyState.add = dying
study = Study({metrics!r}, [Sweep(f, n) for f, n in {sweeps!r}])
sensitivity.run_study(study, sensitivity.systems_table(texts[0], texts[1]), state={path!r})
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_run_goes_on_and_gives_the_same_bytes(
    study: Study, table: JudgementTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE", 6)
    whole = sensitivity_report(run_study(study, table), format="json")
    state = tmp_path / "study.state"
    code = _KILLED.format(
        texts=({"terse": TERSE, "fluent": FLUENT}, REFS),
        metrics=list(study.metrics),
        sweeps=[({k: list(v) for k, v in sweep.factors.items()}, sweep.name) for sweep in study.sweeps],
        path=str(state),
    )
    left = subprocess.run([sys.executable, "-c", code], env=os.environ, timeout=120, check=False)
    assert left.returncode == -signal.SIGKILL
    assert state.read_bytes().endswith(b"half a li")
    scored: list[int] = []
    original = module.run_metrics

    def counting(recipes: Any, corpus: Any, options: Any) -> Any:
        scored.append(len(corpus))
        return original(recipes, corpus, options)

    monkeypatch.setattr(module, "run_metrics", counting)
    assert sensitivity_report(run_study(study, table, state=state), format="json") == whole
    assert scored == [3, 1], "ten segments in pieces of three: two were finished, two were left"
    assert all(json.loads(line) for line in state.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("content", ["years of work\n", "years of work", '{"format": 1}\n', "[]\n"])
def test_a_file_that_is_no_state_is_left_alone(
    study: Study, table: JudgementTable, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"thesis\.txt"):
        run_study(study, table, state=path)
    assert path.read_text(encoding="utf-8") == content


def test_a_large_corpus_is_an_idf_variant(table: JudgementTable, tmp_path: Path) -> None:
    corpus = tmp_path / "large.txt"
    corpus.write_text("\n".join(REFS) + "\n", encoding="utf-8")
    study = Study(["bertscore"], [Sweep({"idf": ["original", f"corpus:{corpus}"]})])
    (moved,) = run_study(study, table).movements
    # Counted on the same documents, it is the same table.
    assert all(first == second for first, second in moved.values.values())


def test_a_list_that_is_not_installed_is_left_out_and_named(
    table: JudgementTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    importlib.import_module("nlgauge.text.stopwords")._by_name.cache_clear()  # another test may have read the list
    pytest.importorskip("stopwordsiso")
    study = Study(["bertscore"], [Sweep({"stopwords": ["none", "spacy", "iso"]})])
    result = run_study(study, table)
    assert result.movements[0].settings == ("none", "iso")
    assert any("'spacy' left out" in note for note in result.notes)
    assert result.stopwords["iso"]["en"] > 100
    with pytest.raises(nlgauge.MissingExtraError):
        run_study(Study(["bertscore"], [Sweep({"stopwords": ["none", "spacy-en"]})]), table)


@pytest.mark.filterwarnings("ignore::nlgauge.UnknownWordWarning")
def test_models_are_a_factor_too(table: JudgementTable, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    words = sorted({word for text in REFS for word in text.split()})
    rng = np.random.default_rng(1)
    vectors.write_text("".join(f"{word} {' '.join(map(str, rng.normal(size=4)))}\n" for word in words), "utf-8")
    study = Study(["bertscore"], [Sweep({"model": ["minilm", str(vectors)], "idf": ["none", "random-1"]})])
    (moved,) = run_study(study, table).movements
    assert len(set(moved.values["terse"])) == 4


@pytest.mark.filterwarnings("ignore::nlgauge.TruncationWarning")
def test_case_and_truncation_are_factors_too() -> None:
    """MiniLM reads lower case only, so case moves nothing; the multilingual model tells the two apart."""
    shouted = [text.upper() for text in FLUENT]
    table = systems_table({"shouted": shouted, "fluent": FLUENT}, REFS)
    factors = {"casing": ["keep", "lower"], "cut": ["model", "6"]}
    result = run_study(Study.one_at_a_time(["bertscore", "bertscore:model=muse"], factors), table)
    assert result.movement("bertscore", "casing", "score").values["shouted"] == pytest.approx(
        (nlgauge.score(FLUENT, REFS).mean,) * 2
    )
    kept, lowered = result.movement("bertscore:model=muse", "casing", "score").values["shouted"]
    assert kept is not None
    assert lowered is not None
    assert kept < lowered == pytest.approx(nlgauge.score(FLUENT, REFS, model="muse").mean)
    short = nlgauge.score(FLUENT, REFS, cut=6)
    assert short.counts["truncated"] == len(REFS)
    assert result.movement("bertscore", "cut", "score").values["fluent"] == pytest.approx(
        (nlgauge.score(FLUENT, REFS).mean, short.mean)
    )
    assert short.signature.recipe["cut"] == "6"


def test_what_scales_over_a_corpus_is_no_base_of_a_study() -> None:
    with pytest.raises(RecipeError, match="freeze its bounds"):
        Study(["sentsim"], [Sweep({"combine": ["sss+wmd", "sss+bertscore"]})])


def test_options_are_checked() -> None:
    for wrong in ({"agreement": "rmse"}, {"ddof": 2}, {"levels": ("paragraph",)}, {"alpha": 0}):
        with pytest.raises(RecipeError):
            StudyOptions(**wrong)  # type: ignore[arg-type]


def test_a_model_of_one_layer_has_no_sweep_of_layers() -> None:
    study = preset("all", ["moverscore:model=muse"])
    assert "layers" not in [sweep.name for sweep in study.sweeps]
    assert any("needs a model of two layers" in note for note in study.skipped())
    with pytest.raises(RecipeError, match="needs a model of two layers or more; of moverscore:model=muse one has 0"):
        preset("layers", ["moverscore:model=muse"])


def test_systems_beside_their_source(stop: str) -> None:
    """Idf as published is none for this profile, so that switching it off moves nothing."""
    table = systems_table({"terse": TERSE, "fluent": FLUENT}, None, sources=REFS)
    study = Study(
        ["xmoverscore:idf=refs"], [Sweep({"idf": ["original", "none"]}), Sweep({"stopwords": ["none", stop]})]
    )
    result = run_study(study, table)
    base = nlgauge.score(TERSE, sources=REFS, metric="xmoverscore")
    movement = result.movement("xmoverscore:idf=refs", "idf", "score")
    assert movement.values["terse"] == pytest.approx((base.mean, base.mean))
    assert any("what the recipe says of it is not used" in note for note in result.notes)
    assert "refs:source" in result.settings[0].signatures["en"]
