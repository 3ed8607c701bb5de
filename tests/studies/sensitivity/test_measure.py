"""A study from texts to results: what moves, who flips, and that an interrupted run gives the same bytes."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.samples import write_dated

import nlgauge
from nlgauge.core import compare as checkpoint_module
from nlgauge.core.compare import Checkpoint
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import correlate
from nlgauge.studies.sensitivity import measure as module
from nlgauge.studies.sensitivity import study as study_module
from nlgauge.studies.sensitivity.measure import StudyOptions, run_study, sensitivity, systems_table
from nlgauge.studies.sensitivity.results import SettingEffect
from nlgauge.studies.sensitivity.study import Study, Sweep, preset
from nlgauge.text.tokenizer import TextTokenizer

SUBJECTS = ["cat", "dog", "teacher", "doctor", "engine", "river", "king", "clock", "ship", "farmer"]
PLACES = ["garden", "school", "bridge", "forest", "tower", "harbour", "market", "castle", "station", "island"]
REFS = [f"the {this} is in the {other} of the town" for this, other in zip(SUBJECTS, PLACES, strict=True)]
#: Right words of content in telegram style; and all function words right, around a wrong word of content.
TERSE = [f"{this} {other} town" for this, other in zip(SUBJECTS, PLACES, strict=True)]
FLUENT = [
    f"the {this} is in the {other} of the moon" for this, other in zip(SUBJECTS, PLACES[3:] + PLACES[:3], strict=True)
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
    assert repr(result).startswith("<Sensitivity ")
    assert "\n" not in repr(result)
    assert "<td>stopwords</td>" in result._repr_html_()
    for metric in study.metric:
        (ranking,) = [item for item in result.rankings if (item.metric, item.sweep) == (metric, "stopwords")]
        (flip,) = ranking.flips
        assert (flip.ahead, flip.behind) == ("fluent", "terse")
        assert flip.significant
        assert ranking.taus == (1.0, -1.0)
    text = result.render()
    assert "fluent  terse" in text


def test_values_are_those_of_separate_runs(study: Study, table: JudgementTable, stop: str) -> None:
    result = run_study(study, table)
    moved = result.effect("bertscore", "stopwords", "score")
    alone = nlgauge.score_systems(
        {"terse": TERSE, "fluent": FLUENT}, REFS, metric=["bertscore", f"bertscore:stopwords={stop}"]
    )
    assert moved.groups["terse"].values == (alone[0].mean, alone[2].mean)
    assert moved.groups["fluent"].values == (alone[1].mean, alone[3].mean)
    original = result.effect("moverscore:idf=none", "idf", "score").groups["fluent"].values[0]
    both = nlgauge.score_systems({"terse": TERSE, "fluent": FLUENT}, REFS, metric=["moverscore:idf=both"])
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
        for index, words in enumerate(("none", stop)):
            score = nlgauge.score(texts, REFS, metric=f"bertscore:stopwords={words}")
            assert moved.groups[pair].values[index] == pytest.approx(correlate(score.f1, wanted).value, abs=1e-12)
    first, second = moved.groups["de-en"].values
    assert moved.groups["de-en"].best == ("none" if first >= second else stop)
    assert any("no system level" in note for note in result.notes)


def test_a_study_of_systems_in_one_call(table: JudgementTable) -> None:
    study = preset("punctuation", ["moverscore:n=1", "bertscore:layer=2"])
    expected = run_study(study, table, options=StudyOptions(seed=7, resamples=100))
    systems, metrics = {"terse": TERSE, "fluent": FLUENT}, ["moverscore:n=1", "bertscore"]
    options = {"seed": 7, "resamples": 100, "layer": 2, "threads": 1}
    assert sensitivity(systems, REFS, metrics, preset="punctuation", **options).to_dict() == expected.to_dict()
    with pytest.raises(RecipeError, match="preset must be one of stopwords, idf,"):
        sensitivity(systems, REFS, preset="everything")
    with pytest.raises(RecipeError, match="got the signature"):
        sensitivity(systems, REFS, "bertscore|layer:2")


def test_an_effect_by_hand() -> None:
    moved = SettingEffect.of(
        "m", "s", "segment", ("x", "y", "z"), {"cs-en": (0.5, 0.6, 0.7), "de-en": (0.8, 0.4, 0.6)}
    )
    # cs-en: mean .6, sd .1; de-en: mean .6, sd .2 (by n - 1).
    cs, de = moved.groups["cs-en"], moved.groups["de-en"]
    assert (cs.cv, de.cv) == pytest.approx((100 / 6, 200 / 6))
    assert moved.average.cv == pytest.approx(25.0)
    assert cs.rd == pytest.approx((0, 20, 40))
    assert de.rd == pytest.approx((0, -50, -25))
    assert moved.average.rd == pytest.approx((0, -15, 7.5))
    assert (cs.best, de.best) == ("z", "x")
    assert moved.average.values == pytest.approx((0.65, 0.5, 0.65))
    missing = SettingEffect.of("m", "s", "segment", ("x", "y"), {"cs-en": (0.0, None)})
    assert missing.groups["cs-en"] == ((0.0, None), None, (None, None), "x")


def test_where_the_corpus_is_cut_moves_nothing(
    study: Study, table: JudgementTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_study(study, table).render("json")
    monkeypatch.setattr(module, "_RANGE", 6)
    assert run_study(study, table, state=Checkpoint()).render("json") == whole


def test_a_second_run_scores_nothing(
    study: Study, table: JudgementTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "study.state"
    first = run_study(study, table, state=state).render("json")
    size = state.stat().st_size
    monkeypatch.setattr(checkpoint_module, "compare", None)
    assert run_study(study, table, state=state).render("json") == first
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


#: A run that is killed, as by a power cut, when its third range is to be written.
_KILLED = """
import os, signal
from nlgauge.core.compare import Checkpoint
from nlgauge.studies.sensitivity import measure
from nlgauge.studies.sensitivity.study import Study, Sweep
texts = {texts!r}
measure._RANGE = 6
add, calls = Checkpoint.add, []
def dying(self, found, **options):
    calls.append(1)
    if len(calls) == 3:
        with open(self._path, "ab") as file:
            file.write(b'{{"sum": "half a li')
            file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, found, **options)
Checkpoint.add = dying
study = Study({metrics!r}, [Sweep(f, n) for f, n in {sweeps!r}])
measure.run_study(study, measure.systems_table(texts[0], texts[1]), state={path!r})
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_run_goes_on_and_gives_the_same_bytes(
    study: Study, table: JudgementTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RANGE", 6)
    whole = run_study(study, table).render("json")
    state = tmp_path / "study.state"
    code = _KILLED.format(
        texts=({"terse": TERSE, "fluent": FLUENT}, REFS),
        metrics=list(study.metric),
        sweeps=[({k: list(v) for k, v in sweep.factors.items()}, sweep.name) for sweep in study.sweeps],
        path=str(state),
    )
    left = subprocess.run([sys.executable, "-c", code], env=os.environ, timeout=300, check=False)
    assert left.returncode == -signal.SIGKILL
    assert state.read_bytes().endswith(b"half a li")
    scored: list[int] = []
    original = checkpoint_module.compare

    def counting(prepared: Any, segments: range, **options: Any) -> Any:
        scored.append(len(segments))
        return original(prepared, segments, **options)

    monkeypatch.setattr(checkpoint_module, "compare", counting)
    assert run_study(study, table, state=state).render("json") == whole
    assert scored == [3, 1], "ten segments in ranges of three: two were finished, two were left"
    assert all(json.loads(line) for line in state.read_text(encoding="utf-8").splitlines())


def test_a_corpus_is_tokenised_and_hashed_once_however_many_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        name: [f"{name} {subject} {index}" for index in range(10) for subject in SUBJECTS] for name in ("a", "b", "c")
    }
    refs = texts.pop("c")
    tokenised, hashed = [], []
    encode, digest = TextTokenizer.encode, checkpoint_module._digest_texts

    def counting_tokens(self: Any, matches: Any) -> Any:
        tokenised.extend(matches)
        return encode(self, matches)

    def counting_hashes(corpus: Any, segments: range) -> Any:
        hashed.extend(segments)
        return digest(corpus, segments)

    monkeypatch.setattr(TextTokenizer, "encode", counting_tokens)
    monkeypatch.setattr(checkpoint_module, "_digest_texts", counting_hashes)
    monkeypatch.setattr(module, "_RANGE", 20)
    state = tmp_path / "study.state"
    study = Study(["bertscore:idf=refs"], [Sweep({"multiref": ["best-f", "mean"]})])
    run_study(study, systems_table(texts, refs), state=state)
    assert len(state.read_text(encoding="utf-8").splitlines()) == 1 + 2 * 10, "two settings, ten ranges"
    assert (len(tokenised), len(hashed)) == (300, 100), "three texts to a segment"


def test_a_recipe_is_parsed_once(study: Study, table: JudgementTable, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    original = study_module.parse_metric

    def counting(metric: str) -> Any:
        parsed.append(metric)
        return original(metric)

    monkeypatch.setattr(study_module, "parse_metric", counting)
    run_study(Study(study.metric, study.sweeps), table)
    assert parsed == list(study.metric)


def test_a_large_corpus_is_an_idf_variant(table: JudgementTable, tmp_path: Path) -> None:
    corpus = tmp_path / "large.txt"
    corpus.write_text("\n".join(REFS) + "\n", encoding="utf-8")
    study = Study(["bertscore"], [Sweep({"idf": ["original", f"corpus:{corpus}"]})])
    (moved,) = run_study(study, table).movements
    # Counted on the same documents, it is the same table.
    assert all(first == second for first, second in (row.values for row in moved.groups.values()))


def test_replaced_corpus_of_the_same_date_is_counted_again(tmp_path: Path) -> None:
    from nlgauge.encoders.load import load_encoder
    from nlgauge.studies.sensitivity.study import idf_table

    tokenizer = load_encoder("minilm").tokenizer
    corpus = write_dated(tmp_path / "large.txt", b"a cat\na dog\n")
    before = idf_table(f"corpus:{corpus}", tokenizer, [])
    write_dated(corpus, b"a cat\nno cat\n")
    assert idf_table(f"corpus:{corpus}", tokenizer, []).digest != before.digest


def test_a_list_that_is_not_installed_is_left_out_and_named(
    table: JudgementTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    importlib.import_module("nlgauge.text.words")._by_name.cache_clear()  # another test may have read the list
    pytest.importorskip("stopwordsiso")
    study = Study(["bertscore"], [Sweep({"stopwords": ["none", "spacy", "iso"]})])
    result = run_study(study, table)
    assert result.movements[0].settings == ("none", "iso")
    assert any("'spacy' left out" in note for note in result.notes)
    assert result.stopwords["iso"]["en"] > 100
    with pytest.raises(nlgauge.errors.MissingExtraError):
        run_study(Study(["bertscore"], [Sweep({"stopwords": ["none", "spacy-en"]})]), table)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")
def test_models_are_a_factor_too(table: JudgementTable, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    words = sorted({word for text in REFS for word in text.split()})
    rng = np.random.default_rng(1)
    vectors.write_text("".join(f"{word} {' '.join(map(str, rng.normal(size=4)))}\n" for word in words), "utf-8")
    study = Study(["bertscore"], [Sweep({"model": ["minilm", str(vectors)], "idf": ["none", "random-1"]})])
    (moved,) = run_study(study, table).movements
    assert len(set(moved.groups["terse"].values)) == 4


@pytest.mark.filterwarnings("ignore::nlgauge.errors.TruncationWarning")
def test_case_and_truncation_are_factors_too() -> None:
    """MiniLM reads lower case only, so case moves nothing; the multilingual model tells the two apart."""
    shouted = [text.upper() for text in FLUENT]
    table = systems_table({"shouted": shouted, "fluent": FLUENT}, REFS)
    sweeps = [Sweep({"lowercase": ["no", "yes"]}), Sweep({"max_tokens": ["model", "6"]})]
    result = run_study(Study(["bertscore", "bertscore:model=muse"], sweeps), table)
    assert result.effect("bertscore", "lowercase", "score").groups["shouted"].values == pytest.approx(
        (nlgauge.score(FLUENT, REFS).mean,) * 2
    )
    kept, lowered = result.effect("bertscore:model=muse", "lowercase", "score").groups["shouted"].values
    assert kept is not None
    assert lowered is not None
    assert kept < lowered == pytest.approx(nlgauge.score(FLUENT, REFS, model="muse").mean)
    short = nlgauge.score(FLUENT, REFS, max_tokens=6)
    assert short.counts["truncated"] == len(REFS)
    assert result.effect("bertscore", "max_tokens", "score").groups["fluent"].values == pytest.approx(
        (nlgauge.score(FLUENT, REFS).mean, short.mean)
    )
    assert short.signature.recipe["max_tokens"] == "6"


@pytest.mark.parametrize("state", [None, Checkpoint()])
def test_what_scales_over_a_corpus_can_be_studied(
    table: JudgementTable, state: Checkpoint | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RANGE", 6)
    recipe = "sentsim:against=refs,model=minilm"
    study = Study([recipe, "bertscore"], [Sweep({"combine": ["sss+wmd", "bertscore+wmd"]}), Sweep({"layer": [3, 6]})])
    effect = run_study(study, table, state=state).effect(recipe, "combine", "score")
    systems = {"terse": TERSE, "fluent": FLUENT}
    for index, combine in enumerate(("sss+wmd", "bertscore+wmd")):
        alone = nlgauge.score_systems(systems, REFS, metric=[f"{recipe},combine={combine}"])
        assert [effect.groups[name].values[index] for name in systems] == [score.mean for score in alone]


def test_one_warning_names_pairs_segments_and_settings(tmp_path: Path) -> None:
    words = tmp_path / "all.txt"
    words.write_text("\n".join({word for text in TERSE[:2] for word in text.split()}), encoding="utf-8")
    table = systems_table({"terse": TERSE, "fluent": FLUENT}, REFS)
    study = Study(["bertscore", "bertscore:layer=2"], [Sweep({"stopwords": ["none", str(words)]})])
    with pytest.warns(nlgauge.errors.ZeroWeightWarning) as caught:
        run_study(study, table)
    (warning,) = caught
    assert warning.filename == __file__
    settings = f"bertscore, stopwords {words}; bertscore:layer=2, stopwords {words}"
    assert str(warning.message).endswith(f"all tokens count equally: en, 2 segments (0, 1) under {settings}")


def test_what_holds_of_all_settings_is_said_once() -> None:
    table = systems_table({"terse": ["", *TERSE[1:]], "fluent": FLUENT}, REFS)
    with pytest.warns(
        nlgauge.errors.EmptyTextWarning, match=r"^empty texts: en, 1 segment \(0\) under all settings$"
    ) as caught:
        run_study(Study(["bertscore"], [Sweep({"layer": ["2", "4", "6"]})]), table)
    assert len(caught) == 1


def test_options_are_checked() -> None:
    for wrong in ({"agreement": "rmse"}, {"ddof": 2}, {"levels": ("paragraph",)}, {"alpha": 0}):
        with pytest.raises(RecipeError):
            StudyOptions(**wrong)  # type: ignore[arg-type]


def test_a_model_of_one_layer_has_no_sweep_of_layers() -> None:
    study = preset("all", ["moverscore:model=muse"])
    assert "layers" not in [sweep.name for sweep in study.sweeps]
    assert any("needs models with two or more layers" in note for note in study.skipped())
    with pytest.raises(RecipeError, match="needs models with two or more layers; one of moverscore:model=muse has 0"):
        preset("layers", ["moverscore:model=muse"])


def test_study_of_systems_and_sources(stop: str) -> None:
    """Idf as published is none for this profile, so that switching it off moves nothing."""
    table = systems_table({"terse": TERSE, "fluent": FLUENT}, None, sources=REFS)
    study = Study(
        ["xmoverscore:idf=refs"], [Sweep({"idf": ["original", "none"]}), Sweep({"stopwords": ["none", stop]})]
    )
    result = run_study(study, table)
    base = nlgauge.score(TERSE, sources=REFS, metric="xmoverscore")
    movement = result.effect("xmoverscore:idf=refs", "idf", "score")
    assert movement.groups["terse"].values == pytest.approx((base.mean, base.mean))
    assert any("the value in the recipe is ignored" in note for note in result.notes)
    assert "refs:source" in result.settings[0].signatures["en"]


def test_flips_are_tested_over_documents(study: Study) -> None:
    texts = {"terse": TERSE, "fluent": FLUENT}
    few = systems_table(texts, REFS, documents=["one"] * 5 + ["two"] * 5)
    result = run_study(study, few, options=StudyOptions(documents=True))
    assert "flips are tested by permuting whole documents, not segments: 2 (en)" in result.notes
    assert result.to_dict()["options"]["documents"] is True
    flips = [flip for ranking in result.rankings for flip in ranking.flips]
    assert flips
    assert all(flip.p is None for flip in flips), "two documents are too few"
    assert "too few documents in common" in result.render()
    single = systems_table(texts, REFS, documents=[str(index) for index in range(10)])
    plain = run_study(study, systems_table(texts, REFS))
    assert run_study(study, single, options=StudyOptions(documents=True)).rankings == plain.rankings


def test_documents_that_are_not_known_are_refused_before_the_work(study: Study, table: JudgementTable) -> None:
    with pytest.raises(InputError, match="has no document ids"):
        run_study(study, table, options=StudyOptions(documents=True))
    torn = replace(table, document=tuple(map(str, range(len(table)))))
    with pytest.raises(InputError, match="segment '0' of en belongs to two documents: '0' and '10'"):
        run_study(study, torn, options=StudyOptions(documents=True))
