"""Two files of word vectors in one model, one of which is the other turned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines

import nlgauge

WORDS, WIDTH, LENGTH = 120, 6, 6


@pytest.fixture
def two_files(folder: Path) -> Path:
    """Word wN of the source is translated by vN; word "in" is in both files with different meanings."""
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(WORDS, WIDTH))
    turned = vectors @ np.linalg.qr(chance.normal(size=(WIDTH, WIDTH)))[0]
    for name, mark, rows in (("src.vec", "w", vectors), ("tgt.vec", "v", turned)):
        lines = [" ".join([f"{mark}{n}", *(f"{value:.6f}" for value in row)]) for n, row in enumerate(rows)]
        own = chance.normal(size=WIDTH)
        write_lines(folder / name, [*lines, " ".join(["in", *(f"{value:.6f}" for value in own)])])
        texts = [" ".join(f"{mark}{n}" for n in range(i, i + LENGTH)) for i in range(0, WORDS, LENGTH)]
        write_lines(folder / f"{name[:3]}.txt", texts)
    write_lines(folder / "links.txt", [" ".join(f"{n}-{n}" for n in range(LENGTH))] * (WORDS // LENGTH))
    return folder


FILES = ("--source-model", "src.vec", "--target-model", "tgt.vec")
FIT = ("align", "fit", "--parallel", "src.txt", "tgt.txt", "--alignments", "links.txt", *FILES, "--quiet")


def test_translations_meet_in_one_space(run: Run, two_files: Path) -> None:
    assert run(*FIT, "--method", "rcsls", "-o", "map.npz").status == 0
    result = run("align", "join", "map.npz", *FILES, "-o", "joined")
    assert result.status == 0, result.err
    assert f"joined.vec, joined.npz: {2 * WORDS + 1} words, 1 in both languages" in result.err
    metric = f"xmoverscore:n=1,model={two_files}/joined.vec,transforms={two_files}/joined.npz"
    sources = (two_files / "src.txt").read_text().splitlines()
    targets = (two_files / "tgt.txt").read_text().splitlines()
    right = nlgauge.score(targets, sources=sources, metric=metric)
    wrong = nlgauge.score(targets[::-1], sources=sources, metric=metric)
    assert min(right.score) > 0.95, "the rotation is exact, so that each word is where its translation is"
    assert max(wrong.score) < min(right.score) - 0.3
    assert right.signature.recipe["transforms"].startswith("rcsls[")
    # "in" is another word on either side: it is not matched with itself.
    same = nlgauge.score(["in"], sources=["in"], metric=metric).score[0]
    assert same < 0.95


def test_files_of_another_map_are_refused(run: Run, refused: Refusal, two_files: Path) -> None:
    assert run(*FIT, "--method", "clp", "-o", "map.npz").status == 0
    turned = ("--source-model", "tgt.vec", "--target-model", "src.vec")
    assert "was fitted on 'src.vec' for the source, not on 'tgt.vec'" in refused(
        1, "align", "join", "map.npz", *turned, "-o", "joined"
    )
    assert not (two_files / "joined.vec").exists()
