"""`nlgauge align fit --unsupervised`, on files of static word vectors: one is the other, turned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.apps.cli.conftest import Refusal, Run, write_lines
from tests.studies.alignment.planted import planted

from nlgauge.errors import InputError
from nlgauge.vectors.remap import Remapping

#: Words of each text, and those that stand in it often enough to count.
WORDS, FREQUENT = 1000, 300
FIT = ("align", "fit", "--unsupervised", "left.txt", "right.txt", "--restarts", "1")
MODELS = ("--source-model", "left.vec", "--target-model", "right.vec")


def write_side(folder: Path, name: str, words: list[str], vectors: NDArray[Any]) -> None:
    lines = [" ".join([word, *(f"{value:.5f}" for value in row)]) for word, row in zip(words, vectors, strict=True)]
    write_lines(folder / f"{name}.vec", lines)
    frequent, rare = " ".join(words[:FREQUENT]), " ".join(words[FREQUENT:])
    write_lines(folder / f"{name}.txt", [*[frequent] * 4, rare])


@pytest.fixture
def two_languages(folder: Path) -> NDArray[Any]:
    frequent = planted(FREQUENT, 12, noise=0.005)
    rare = np.random.default_rng(0).normal(size=(WORDS - FREQUENT, 12))
    digits = str.maketrans("0123456789", "abcdefghij")
    left, right = ([f"{mark}{number:04d}".translate(digits) for number in range(WORDS)] for mark in "lr")
    write_side(folder, "left", left, np.concatenate([frequent.source, rare]))
    write_side(folder, "right", right, np.concatenate([frequent.target, rare]))
    return frequent.answer


@pytest.mark.heavy
def test_a_map_between_two_models_without_parallel_text(run: Run, folder: Path, two_languages: NDArray[Any]) -> None:
    result = run(*FIT, *MODELS, "-o", "map.npz")
    assert (result.status, result.out) == (0, ""), result.err
    fitted = Remapping.load(folder / "map.npz")
    assert "300 pairs of words found, criterion 1.000 (runs: 1.000)" in result.err
    assert fitted.digest[:12] in result.err
    origin = fitted.origin
    assert (origin.method, origin.model, origin.target_model) == ("unsupervised", "left.vec", "right.vec")
    left, right = (np.loadtxt(folder / f"{name}.vec", usecols=range(1, 13))[:FREQUENT] for name in ("left", "right"))
    distance = np.linalg.norm(fitted.apply(left)[:, None] - right[None], axis=2)
    assert (distance.argmin(axis=1) == two_languages).mean() > 0.99
    with pytest.raises(InputError, match=r"maps vectors of model 'left.vec' to 'right.vec'"):
        fitted.check_model(origin.weights, layer=0, width=12)
    assert run(*FIT, *MODELS, "-o", "again.npz", "--quiet") == (0, "", "")
    assert (folder / "again.npz").read_bytes() == (folder / "map.npz").read_bytes()


def test_fit_below_the_criterion_writes_no_file(refused: Refusal, folder: Path, two_languages: NDArray[Any]) -> None:
    del two_languages
    message = refused(1, *FIT, *MODELS, "-o", "map.npz", "--least-gain", "1", "--quiet")
    assert "no alignment found" in message
    assert not (folder / "map.npz").exists()


@pytest.mark.heavy
def test_start_and_known_translations(run: Run, refused: Refusal, folder: Path, two_languages: NDArray[Any]) -> None:
    """Known translations that are wrong refuse a right map."""
    digits = str.maketrans("0123456789", "abcdefghij")
    for name, shift in (("right", 0), ("wrong", 1)):
        pairs = [(f"l{i:04d}", f"r{two_languages[i + shift]:04d}") for i in range(20)]
        write_lines(folder / f"{name}.tsv", ["\t".join(pair).translate(digits) for pair in pairs])
    fit = (*FIT, *MODELS, "-o", "map.npz")
    assert run(*fit, "--known", "right.tsv", "--quiet").status == 0
    assert "precision 1.000 of 20 known translations" in Remapping.load(folder / "map.npz").origin.note
    assert "recovers 0.000 of 20 known translations" in refused(1, *fit, "--known", "wrong.tsv", "--quiet")
    write_lines(folder / "wrong.tsv", ["laaaa raaaa"])
    assert "wrong.tsv, line 1: expected a word, a tab" in refused(1, *fit, "--known", "wrong.tsv", "--quiet")
    assert "start 'identity' needs one model" in refused(2, *fit, "--start", "identity", "--quiet")
    assert "--least-precision" in refused(2, *fit, "--least-precision", "0.1")


def test_invalid_unsupervised_fits_are_refused(refused: Refusal, folder: Path, two_languages: NDArray[Any]) -> None:
    del two_languages
    same = ("align", "fit", "--unsupervised", "left.txt", "left.txt", "-o", "m.npz", *MODELS)
    assert "both sides are the same text" in refused(1, *same)
    (folder / "again.txt").write_text((folder / "left.txt").read_text() + "laaaa\n")
    first = ("align", "fit", "--unsupervised", "left.txt", "again.txt", "-o", "m.npz", "--model", "left.vec")
    assert "both sides have the same model and one language (100% of words are shared)" in refused(
        1, *first, "--quiet"
    )
    write_lines(folder / "short.txt", ["laaaa laaab"])
    short = ("align", "fit", "--unsupervised", "short.txt", "right.txt", "-o", "m.npz", *MODELS)
    assert "source text has 2 different words, but 1000 are needed" in refused(1, *short, "--quiet")
    assert "--unsupervised takes only --method gan-flow" in refused(2, *FIT, *MODELS, "-o", "m", "--method", "umd")
    parallel = ("align", "fit", "--parallel", "left.txt", "right.txt", "-o", "m.npz")
    assert "--seed is not used with --parallel" in refused(2, *parallel, "--seed", "1")
    assert not (folder / "m.npz").exists()


def test_invalid_search_options_are_refused_before_texts_are_read(refused: Refusal, folder: Path) -> None:
    """Neither texts nor models are there."""
    fit = (*FIT[:-2], *MODELS, "-o", "m.npz")
    assert "--restarts must be a whole number from 1" in refused(2, *fit, "--restarts", "0")
    assert "--seed must be a whole number from 0" in refused(2, *fit, "--seed", "-1")
    assert "--least-gain must be a number from 0 to 1, got 'nan'" in refused(2, *fit, "--least-gain", "nan")
    assert "--least-agreement must be a number from 0 to 1, got '40'" in refused(2, *fit, "--least-agreement", "40")
    del folder


def test_too_few_texts_are_refused_before_encoding(
    refused: Refusal, folder: Path, two_languages: NDArray[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    del two_languages

    def encode(*_: Any, **__: Any) -> None:
        pytest.fail("encoded")

    monkeypatch.setattr("nlgauge.studies.alignment.vocabulary.encode_texts", encode)
    write_lines(folder / "short.txt", ["laaaa laaab"])
    short = ("align", "fit", "--unsupervised", "short.txt", "right.txt", "-o", "m.npz", *MODELS)
    assert "source text has 2 different words" in refused(1, *short, "--quiet")
    (folder / "again.txt").write_text((folder / "left.txt").read_text() + "laaaa\n")
    first = ("align", "fit", "--unsupervised", "left.txt", "again.txt", "-o", "m.npz", "--model", "left.vec")
    assert "the same model and one language" in refused(1, *first, "--quiet")
