"""`nlgauge score --fit-on`: a re-mapping fitted, applied and signed in one call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines

WORDS, WIDTH, LENGTH = 120, 6, 6
SCORE = ("score", "out.txt", "--source", "src.txt", "--model", "both.vec", "-m")
FIT_ON = ("--fit-on", "train.l", "train.r")


@pytest.fixture
def two_languages(folder: Path) -> Path:
    """Vectors of a language, and the same turned; the last lines are scored."""
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(WORDS, WIDTH))
    turned = vectors @ np.linalg.qr(chance.normal(size=(WIDTH, WIDTH)))[0]
    entries = []
    for mark, rows in (("l", vectors), ("r", turned)):
        entries += [" ".join([f"{mark}{n}", *(f"{value:.6f}" for value in row)]) for n, row in enumerate(rows)]
        texts = [" ".join(f"{mark}{n}" for n in range(start, start + LENGTH)) for start in range(0, WORDS, LENGTH)]
        write_lines(folder / f"train.{mark}", texts[:-3])
        write_lines(folder / {"l": "src.txt", "r": "out.txt"}[mark], texts[-3:])
    write_lines(folder / "both.vec", entries)
    return folder


def test_translations_get_the_highest_score_once_the_spaces_meet(run: Run, two_languages: Path) -> None:
    """The map is exact, so that the distance of a translation is 0 and its score 1."""
    plain = run(*SCORE, "xmoverscore:n=1", "-f", "json", "--segments")
    fitted = run(*SCORE, "xmoverscore:n=1", *FIT_ON, "-f", "json", "--segments")
    assert fitted.status == 0, fitted.err
    assert "xmoverscore: clp of 102 pairs of words from 17 pairs of texts (0 left out)" in fitted.err
    assert max(row["score"] for row in plain.scores[0]["segments"]) < 0.9
    assert [row["score"] for row in fitted.scores[0]["segments"]] == pytest.approx([1.0] * 3, abs=1e-5)
    assert "transforms:clp[" in fitted.scores[0]["signature"]
    del two_languages


def test_it_equals_a_map_from_align_fit_and_its_signature(run: Run, two_languages: Path) -> None:
    parallel = ("--parallel", "train.l", "train.r", "--model", "both.vec", "--method", "centred")
    assert run("align", "fit", *parallel, "-o", "centred.npz", "--quiet").status == 0
    by_hand = run(*SCORE, "xmoverscore:n=2,transforms=centred.npz", "-f", "json", "--segments", "--quiet")
    (two_languages / "kept").mkdir()
    options = ("--fit-method", "centred", "--fit-output", "kept/centred.npz", "--quiet")
    at_once = run(*SCORE, "xmoverscore:n=2", *FIT_ON, *options, "-f", "json", "--segments")
    assert (at_once.status, at_once.err) == (0, "")
    assert at_once.scores == by_hand.scores
    again = run(*SCORE, "xmoverscore:n=2,transforms=kept/centred.npz", "-f", "json", "--segments", "--quiet")
    assert again.scores == by_hand.scores
    assert (two_languages / "kept/centred.npz").read_bytes() == (two_languages / "centred.npz").read_bytes()


def test_words_and_sentences_get_a_map_each(run: Run, two_languages: Path) -> None:
    metrics = ("xmoverscore:n=1", "xmoverscore:unit=sentence", "bertscore:against=source")
    result = run(*SCORE, *metrics, *FIT_ON, "-f", "json", "--segments")
    assert result.status == 0, result.err
    assert "xmoverscore: clp of 17 pairs of sentences" in result.err
    for record in result.scores:
        values = [row[record["main"]] for row in record["segments"]]
        assert values == pytest.approx([1.0] * 3, abs=1e-4)
    del two_languages


def test_what_cannot_be_fitted_is_refused(run: Run, refused: Refusal, two_languages: Path) -> None:
    bleu = ("score", "out.txt", "-s", "src.txt", "-r", "out.txt", "-m", "bleu", *FIT_ON)
    assert "--fit-on: a map changes vectors of the source, which bleu does not compare" in run(*bleu, "--quiet").err
    write_lines(two_languages / "short.txt", ["r1"])
    assert "got 17 and 1 lines" in refused(1, *SCORE, "xmoverscore", "--fit-on", "train.l", "short.txt")
    assert "--fit-method" in refused(2, *SCORE, "xmoverscore", "--fit-method", "umd")
    both = ("xmoverscore:n=1", "xmoverscore:unit=sentence", *FIT_ON, "--fit-output", "map.npz", "--quiet")
    assert "score them separately" in refused(2, *SCORE, *both)
    assert not (two_languages / "map.npz").exists()
    overlap = run(*SCORE, "xmoverscore", "--fit-on", "src.txt", "out.txt", "--fit-method", "umd")
    assert "3 of the scored sources are also in --fit-on" in overlap.err
