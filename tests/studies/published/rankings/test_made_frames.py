"""Frames made from the outputs of a small package in the layout of WMT17."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.errors import InputError
from nlgauge.studies.paired_evaluation import FRAME_METRICS, RankingOptions
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.made_frames import is_wmt, make_frames, paper_name, read_frames, wanted_metrics
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.published.tables import PublishedFrames

FRAMES = PublishedFrames("WMT17 lv-en", "MT", 12, 4, 11)
WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "in", "mat", "hat", "red", "big"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four systems that lose more and more words of twelve references."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    references = [" ".join(rng.choice(WORDS, 9)) for _ in range(12)]
    names = {
        "references/newstest2017-lven-ref.en": references,
        "source/newstest2017-lven-src.lv": references,
    }
    for system in range(4):
        kept = [
            " ".join(word for word in text.split() if rng.random() > 0.12 * (system + 1)) or "x"
            for text in references
        ]
        names[f"system-outputs/lv-en/newstest2017.s{system}.1.lv-en"] = kept
    for name, lines in names.items():
        path = folder / "wmt17" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_frames_are_scores_of_all_systems(package: Path, tmp_path: Path) -> None:
    made = make_frames(package / "wmt17", FRAMES, ["BLEU", "JS_1"], save=tmp_path)
    bleu = made["BLEU"]
    assert (bleu.n, bleu.k) == (12, 4)
    lines = {
        name: (package / f"wmt17/system-outputs/lv-en/newstest2017.{name}.lv-en").read_text().splitlines()
        for name in bleu.systems
    }
    references = (package / "wmt17/references/newstest2017-lven-ref.en").read_text().splitlines()
    expected = nlgauge.score(lines["s0.1"], references, "bleu").segments["bleu"]
    assert bleu.values[:, bleu.systems.index("s0.1")] == pytest.approx(expected)
    assert not made["JS_1"].higher_is_better
    read = read_frames(tmp_path, FRAMES)
    assert set(read) == {"BLEU", "JS_1"}
    assert np.array_equal(read["JS_1"].oriented, made["JS_1"].oriented)


def test_recipes_have_the_names_of_the_paper() -> None:
    texts = {"a": ["A cat sat."], "b": ["A dog."]}
    for name in ("ROUGE_2", "ROUGE_L", "Chrfpp", "JS_2"):
        assert paper_name(nlgauge.score_systems(texts, ["A cat."], FRAME_METRICS[name])[0]) == name
    assert paper_name(nlgauge.score_systems(texts, ["A cat."], "chrf")[0]) is None
    assert wanted_metrics(["BLEU", "ROUGE_1", "JS_1"], {"BLEU", "ROUGE_1"}, {"BLEU"}) == ["ROUGE_1"]
    assert is_wmt(FRAMES)
    assert not is_wmt(replace(FRAMES, label="WMT19 lv-en"))


def test_rows_of_the_paper_are_computed_on_made_frames(package: Path, tmp_path: Path) -> None:
    table = replace(PAPER_TABLES["bt-table3"], frames=(FRAMES,))
    options = RankingOptions(score=("BLEU", "ROUGE_1"), frames=str(tmp_path))
    rows = ("WMT17 BLEU", "WMT17 ROUGE", "WMT17 BERTScore")
    result = reproduce(table, at=package, rankings=options, rows=rows)
    assert [row.has_ours for row in result.rows] == [True, True, False]
    # Standard errors are of draws from the paper's frames, so they judge no values on others.
    assert "other frames and other draws" in result.rows[0].reason
    assert "standard errors" not in result.rows[0].reason
    assert not result.rows[0].beyond
    assert any(note.startswith("frames of BLEU: ours, bleu|") for note in result.notes)
    assert {path.name for path in tmp_path.iterdir()} == {"wmt17.lv-en.BLEU.json", "wmt17.lv-en.ROUGE_1.json"}
    # Saved runs are read, and outputs are no longer needed.
    again = reproduce(table, rankings=RankingOptions(frames=str(tmp_path)), rows=rows)
    assert again.rows == result.rows
    mt = reproduce(
        replace(PAPER_TABLES["bt-figure4"], frames=(FRAMES,)), rankings=RankingOptions(frames=str(tmp_path))
    )
    assert next(row for row in mt.rows if row.name == "task MT").has_ours


def test_rouge_we_is_computed_with_word_vectors(package: Path, tmp_path: Path) -> None:
    table = replace(PAPER_TABLES["bt-table3"], frames=(FRAMES,))
    rows, options = ("WMT17 ROUGE-WE",), RankingOptions(score=("ROUGE_WE_1", "ROUGE_WE_2"), frames=str(tmp_path))
    without = reproduce(table, at=package, rankings=options, rows=rows)
    assert not without.rows[0].has_ours
    assert any("ROUGE_WE_1 needs word vectors" in reason for reason in without.missing)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0\ndog 0.9 0.1\nmat 0 1\nhat 0.1 0.9\n", encoding="utf-8")
    result = reproduce(table, at=package, rankings=options, rows=rows, vectors=str(vectors))
    assert all(cell.difference is not None for cell in result.rows[0].cells.values())
    score = nlgauge.score(["cat"], ["dog"], f"rouge-we:vectors={vectors}")
    assert paper_name(score) == "ROUGE_WE_1"
    assert score.system_score == 1.0
    assert set(read_frames(tmp_path, FRAMES)) == {"ROUGE_WE_1", "ROUGE_WE_2"}


def test_other_systems_than_in_print_are_refused(package: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the outputs of 9 systems, as in the paper, got 4"):
        make_frames(package / "wmt17", replace(FRAMES, systems=9), ["BLEU"])
    make_frames(package / "wmt17", FRAMES, ["BLEU"], save=tmp_path)
    with pytest.raises(InputError, match="expected 9 systems"):
        read_frames(tmp_path, replace(FRAMES, systems=9))
    (tmp_path / "wmt17.lv-en.again.json").write_bytes((tmp_path / "wmt17.lv-en.BLEU.json").read_bytes())
    with pytest.raises(InputError, match="two runs of WMT17 lv-en have scores of BLEU"):
        read_frames(tmp_path, FRAMES)
