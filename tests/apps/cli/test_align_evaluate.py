"""`nlgauge align evaluate`, on static word vectors of two languages, one of which is the other turned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines

import nlgauge
from nlgauge.errors import RecipeError
from nlgauge.text.typology import Typology

WORDS, WIDTH, LENGTH = 240, 10, 8
HELD_OUT = ("align", "evaluate", "--parallel", "left.txt", "right.txt", "--model", "both.vec")


@pytest.fixture
def two_languages(folder: Path) -> Path:
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(WORDS, WIDTH))
    turned = vectors @ np.linalg.qr(chance.normal(size=(WIDTH, WIDTH)))[0]
    lines = []
    for mark, rows in (("l", vectors), ("r", turned)):
        lines += [" ".join([f"{mark}{n}", *(f"{value:.5f}" for value in row)]) for n, row in enumerate(rows)]
        texts = [" ".join(f"{mark}{n}" for n in range(index, index + LENGTH)) for index in range(0, WORDS, LENGTH)]
        write_lines(folder / {"l": "left.txt", "r": "right.txt"}[mark], texts)
    write_lines(folder / "both.vec", lines)
    write_lines(folder / "links.txt", [" ".join(f"{n}-{n}" for n in range(LENGTH))] * (WORDS // LENGTH))
    return folder


@pytest.mark.heavy
def test_evaluate_compares_maps_with_no_map(run: Run, two_languages: Path) -> None:
    texts = ("--parallel", "left.txt", "right.txt", "--model", "both.vec", "--alignments", "links.txt")
    assert run("align", "fit", *texts, "-o", "clp.npz", "--quiet").status == 0
    write_lines(two_languages / "human.txt", [str(n % 7) for n in range(WORDS // LENGTH)])
    rated = ("--rated", "left.txt", "right.txt", "human.txt")
    result = run(*HELD_OUT, "--alignments", "links.txt", "--maps", "clp.npz", *rated)
    assert result.status == 0, result.err
    none, clp = result.rows
    assert (none["map"], clp["map"]) == ("none", "clp.npz")
    assert float(none["induction cosine"]) < 0.2
    for column in ("induction cosine", "induction CSLS", "retrieval", "alignment F1"):
        assert float(clp[column]) == 1
    assert -1 <= float(clp["XMoverScore r"]) <= 1
    assert "240 linked words of 30 pairs of texts (0 left out); links: from --alignments" in result.err


def test_evaluate_fits_methods_to_other_texts(run: Run, refused: Refusal, two_languages: Path) -> None:
    result = run(*HELD_OUT, "--fit-on", "left.txt", "right.txt", "--methods", "centred", "lsq")
    assert result.status == 0, result.err
    assert [row["map"] for row in result.rows] == ["none", "centred", "lsq"]
    assert {row["alignment F1"] for row in result.rows} == {"-"}
    assert "links: word aligner" in result.err
    nearest = run(*HELD_OUT, "--fit-on", "left.txt", "right.txt", "--methods", "centred", "--links", "nearest")
    assert "this favours no map" in nearest.err
    # All words occur once, so that the aligner links them in their order, as the file does.
    given = ("--fit-on", "left.txt", "right.txt", "--fit-alignments", "links.txt", "--methods", "centred", "lsq")
    assert run(*HELD_OUT, *given).rows == result.rows
    write_lines(two_languages / "short.txt", ["0-0"])
    wrong = refused(1, *HELD_OUT, *given[:3], "--fit-alignments", "short.txt", "--quiet")
    assert "short.txt has 1 lines, but there are 30 pairs" in wrong


def test_maps_of_several_sizes_of_parallel_text(run: Run, refused: Refusal, two_languages: Path) -> None:
    """The rotation of eight pairs of texts is exact already; of all pairs it is the map of a fit without sizes."""
    sizes = ("--fit-on", "left.txt", "right.txt", "--methods", "clp", "umd", "--sizes", "8", "30", "--quiet")
    rows = run(*HELD_OUT, *sizes, "--alignments", "links.txt").rows
    assert [row["map"] for row in rows] == ["none", "clp, 8 pairs", "umd, 8 pairs", "clp, 30 pairs", "umd, 30 pairs"]
    assert float(rows[0]["induction CSLS"]) < 0.2
    assert float(rows[1]["induction CSLS"]) == float(rows[3]["induction CSLS"]) == 1
    whole = run(*HELD_OUT, *sizes[:6], "--alignments", "links.txt", "--quiet").rows
    assert list(whole[2].values())[1:] == list(rows[4].values())[1:]
    assert "--sizes has 31, but --fit-on has 30 pairs" in refused(
        2, *HELD_OUT, *sizes[:6], "--sizes", "31", "--quiet"
    )
    del two_languages


def test_overlap_of_held_out_and_fitting_texts_is_warned_of(run: Run, two_languages: Path) -> None:
    lines = (
        (two_languages / "left.txt").read_text().splitlines(),
        (two_languages / "right.txt").read_text().splitlines(),
    )
    for name, side in zip(("l2", "r2"), lines, strict=True):
        write_lines(two_languages / f"{name}.txt", side[10:])
        write_lines(two_languages / f"{name[0]}1.txt", side[:10])
    held = ("align", "evaluate", "--parallel", "l1.txt", "r1.txt", "--model", "both.vec", "--methods", "umd")
    assert "warning" not in run(*held, "--fit-on", "l2.txt", "r2.txt").err
    message = run(*held, "--fit-on", "left.txt", "right.txt").err
    assert "10 pairs of the held-out texts are also in --fit-on" in message


def test_maps_of_one_file_name_and_another_layer(run: Run, folder: Path) -> None:
    """Each map has its row; XMoverScore takes the layer that they are of, not its usual one (4)."""
    texts = ("--parallel", "a.txt", "ref.txt", "--model", "minilm", "--layer", "2", "--quiet")
    for name in ("one", "two"):
        (folder / name).mkdir()
        assert run("align", "fit", *texts, "--method", "umd", "-o", f"{name}/map.npz").status == 0
    write_lines(folder / "human.txt", ["1", "2", "3", "1", "2", "5"])
    maps = ("--maps", "one/map.npz", "two/map.npz", "one/map.npz")
    result = run("align", "evaluate", *texts, *maps, "--rated", "a.txt", "ref.txt", "human.txt")
    assert result.status == 0, result.err
    assert [row["map"] for row in result.rows] == ["none", "one/map.npz", "two/map.npz"]
    assert result.rows[1]["XMoverScore r"] == result.rows[2]["XMoverScore r"] != result.rows[0]["XMoverScore r"]


def test_invalid_evaluations_are_refused(run: Run, refused: Refusal, two_languages: Path) -> None:
    assert "--norms needs at least one value: a normalisation such as layer-norm" in run(*HELD_OUT, "--norms").err
    assert "add --maps FILE, --fit-on SOURCE TARGET, --norms NORM" in refused(2, *HELD_OUT)
    write_lines(
        two_languages / "other.vec", [f"l{n} {n} 1 2" for n in range(9)] + [f"r{n} 1 {n} 2" for n in range(9)]
    )
    fit = ("align", "fit", "--parallel", "left.txt", "right.txt", "--alignments", "links.txt", "-o", "clp.npz")
    assert run(*fit, "--model", "both.vec", "--quiet").status == 0
    other = ("align", "evaluate", "--parallel", "left.txt", "right.txt", "--model", "other.vec", "--maps", "clp.npz")
    assert "fitted on layer 0 of model 'both.vec'" in refused(1, *other, "--quiet")
    write_lines(two_languages / "human.txt", ["1"] * 29)
    short = ("--rated", "left.txt", "right.txt", "human.txt")
    assert "got 30, 30 and 29" in refused(1, *HELD_OUT, "--maps", "clp.npz", *short)
    few = ("align", "evaluate", "--parallel", "left.txt", "right.txt", "--model", "minilm", "--quiet")
    assert "needs at least 384; provide more parallel text" in refused(1, *few, "--fit-on", "a.txt", "ref.txt")
    write_lines(two_languages / "human.txt", ["good"] * 30)
    rated = ("--rated", "left.txt", "right.txt", "human.txt")
    assert "human.txt, line 1: expected a score, got 'good'" in refused(1, *HELD_OUT, "--maps", "clp.npz", *rated)


def test_a_sweep_over_layers_with_normalisations(run: Run, refused: Refusal, folder: Path) -> None:
    """Figures 6 and 7 of the paper: each row is what a run at that layer alone gives."""
    texts = ("align", "evaluate", "--parallel", "a.txt", "ref.txt", "--model", "minilm", "--quiet")
    write_lines(folder / "human.txt", ["1", "2", "3", "1", "2", "5"])
    rated = ("--rated", "a.txt", "ref.txt", "human.txt")
    norms = ("--norms", "position-norm-3", "layer-norm", "standardise")
    others = ("--fit-on", "b.txt", "ref.txt", "--methods", "umd")
    result = run(*texts, *rated, *norms, *others, "--layers", "2", "5", "--plot", "layers.png")
    assert result.status == 0, result.err
    names = ["none", "umd", "position-norm-3", "layer-norm", "standardise"]
    assert [(row["layer"], row["map"]) for row in result.rows] == [(n, name) for n in "25" for name in names]
    alone = run(*texts, *rated, *norms, *others, "--layer", "5").rows
    assert [{"layer": "5", **row} for row in alone] == result.rows[5:]
    sources, outputs = ((folder / name).read_text().splitlines() for name in ("a.txt", "ref.txt"))
    metric = "xmoverscore:aggregation=layer-2,transforms=layer-norm,model=minilm"
    segments = nlgauge.score(outputs, sources=sources, metric=metric).segments["score"]
    r = np.corrcoef(segments, [1, 2, 3, 1, 2, 5])[0, 1]
    layer_norm = next(row for row in result.rows if row["map"] == "layer-norm")
    assert float(layer_norm["XMoverScore r"]) == pytest.approx(r, abs=6e-5)
    assert (folder / "layers.png").read_bytes().startswith(b"\x89PNG")
    assert "unknown normalisation 'batch-norm'" in refused(2, *texts, "--norms", "batch-norm")
    assert "provide parallel texts to fit on" in refused(2, *texts, "--norms", "centre")
    assert "--layer" in refused(2, *texts, "--layers", "2", "--layer", "2")


def test_layers_of_a_model_without_a_default_layer(
    run: Run, two_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(encoder: object) -> int:
        raise RecipeError(str(encoder))

    monkeypatch.setattr("nlgauge.apps.cli.align_fit.default_layer", unknown)
    assert run(*HELD_OUT, "--norms", "layer-norm").status == 2
    assert run(*HELD_OUT, "--layers", "0").status == 0
    del two_languages


def test_normalisation_removes_a_planted_difference_of_means(run: Run, folder: Path) -> None:
    """The second language is the first, moved by a constant: the means of the languages are all that differs."""
    chance = np.random.default_rng(3)
    vectors = chance.normal(size=(WORDS, WIDTH))
    lines = []
    for mark, rows in (("l", vectors), ("r", vectors + 4 * chance.normal(size=WIDTH))):
        lines += [" ".join([f"{mark}{n}", *(f"{value:.5f}" for value in row)]) for n, row in enumerate(rows)]
        texts = [" ".join(f"{mark}{n}" for n in range(index, index + LENGTH)) for index in range(0, WORDS, LENGTH)]
        write_lines(folder / {"l": "left.txt", "r": "right.txt"}[mark], texts)
    write_lines(folder / "both.vec", lines)
    fit_on = ("--fit-on", "left.txt", "right.txt", "--methods", "umd", "--norms", "centre", "sequence-norm")
    none, _, centre, sequence = run(*HELD_OUT, *fit_on, "--quiet").rows
    assert float(none["induction cosine"]) < 0.9
    assert float(centre["induction cosine"]) == float(centre["retrieval"]) == 1
    assert float(sequence["induction cosine"]) == 1, "each text has the mean of its language, and words in one order"


def test_the_figure_of_sizes_has_a_curve_for_each_method(run: Run, two_languages: Path) -> None:
    fit_on = ("--fit-on", "left.txt", "right.txt", "--methods", "clp", "umd", "--sizes", "8", "30", "--quiet")
    assert run(*HELD_OUT, *fit_on, "--plot", "sizes.svg").status == 0
    drawn = (two_languages / "sizes.svg").read_text()
    assert all(text in drawn for text in ("pairs of texts", "clp", "umd", "none"))


def test_cosines_of_matched_and_random_words(run: Run, refused: Refusal, two_languages: Path) -> None:
    """A rotation hides the translations from the cosine; the map that finds it shows them."""
    texts = ("--parallel", "left.txt", "right.txt", "--model", "both.vec", "--alignments", "links.txt")
    assert run("align", "fit", *texts, "-o", "clp.npz", "--quiet").status == 0
    result = run("align", "cosines", *texts, "--transforms", "clp.npz", "clp.npz+layer-norm", "--plot", "c.png")
    assert result.status == 0, result.err
    none, clp, both = result.rows
    assert float(none["separation"]) < 0.7
    assert (clp["vectors"], clp["matched"], clp["separation"], both["matched"]) == (
        "clp.npz",
        "1.0000",
        "1.0000",
        "1.0000",
    )
    assert abs(float(clp["random"])) < 0.2
    assert "240 matched and as many random pairs" in result.err
    assert (two_languages / "c.png").stat().st_size > 1000
    assert "--links" in refused(2, "align", "cosines", *texts, "--links", "nearest")


def test_the_plane_of_centroids(run: Run, folder: Path) -> None:
    texts = ("align", "centroids", "--texts", "de=a.txt", "en=ref.txt", "fr=b.txt", "--model", "minilm", "--quiet")
    assert run(*texts, "--plot", "plane.svg").status == 0
    assert all(f"<!-- {code} -->" in (folder / "plane.svg").read_text() for code in ("de", "en", "fr"))


def test_centroids_are_correlated_with_typology(
    run: Run, refused: Refusal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features made by hand: German, English and French; the cosines are those of the first table."""
    answers = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0]], dtype=np.float32)
    table = Typology(("a", "b", "c"), {"deu": 0, "eng": 1, "fra": 2}, answers)
    monkeypatch.setattr("nlgauge.apps.cli.align.load_typology", lambda: table)
    texts = ("align", "centroids", "--texts", "de=a.txt", "en=ref.txt", "fr=b.txt", "--model", "minilm", "--quiet")
    plain, with_features = run(*texts).out, run(*texts, "--wals").out
    distances, correlations = with_features.split("\n\n")
    assert distances == plain.rstrip("\n")
    cosines = [float(line.split("\t")[3]) for line in plain.splitlines()[1:]]
    header, before, after = (line.split("\t") for line in correlations.splitlines())
    assert header == ["vectors", "pairs", "Kendall", "Pearson", "Spearman"]
    r = np.corrcoef(cosines, [2 / 3, 0, 1 / 3])[0, 1]
    assert before[:2] == ["before", "3"]
    assert float(before[3]) == pytest.approx(r, abs=0.01)
    assert before[1:] == after[1:]
    assert "three pairs of languages, got 2" in refused(1, *texts, "--wals", "--pivot", "en")
