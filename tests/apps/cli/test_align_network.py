"""`nlgauge align fit --method flow`, `gan-flow` and `fcnn`, on files of static word vectors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.conftest import SYSTEM_A, Refusal, Run, write_lines
from tests.studies.alignment.planted import planted

from nlgauge.errors import InputError
from nlgauge.vectors.network_maps import FlowMap
from nlgauge.vectors.transforms import load_map

WORDS, FREQUENT, WIDTH = 1000, 300, 8
PARALLEL = ("align", "fit", "--parallel", "left.txt", "right.txt", "--model", "both.vec", "--alignments", "links.txt")
SMALL = ("--hidden", "16", "--epochs", "2", "--batch", "64")


@pytest.fixture
def two_languages(folder: Path) -> Path:
    """One file of vectors with two languages in it; frequent words of one are those of the other, turned."""
    spaces, digits = planted(FREQUENT, WIDTH, noise=0.005), str.maketrans("0123456789", "abcdefghij")
    sides = [[f"{mark}{number:04d}".translate(digits) for number in range(WORDS)] for mark in "lr"]
    rare = np.random.default_rng(0).normal(size=(WORDS - FREQUENT, WIDTH))
    lines = []
    for words, vectors in zip(sides, (spaces.source, spaces.target[spaces.answer]), strict=True):
        rows = zip(words, [*vectors, *rare], strict=True)
        lines += [" ".join([word, *(f"{value:.5f}" for value in row)]) for word, row in rows]
    write_lines(folder / "both.vec", lines)
    for name, words in zip(("left", "right"), sides, strict=True):
        write_lines(folder / f"{name}.txt", [*[" ".join(words[start : start + 100]) for start in (0, 100, 200)] * 4])
        with (folder / f"{name}.txt").open("a") as file:
            file.write(" ".join(words[FREQUENT:]) + "\n")
    links = " ".join(f"{word}-{word}" for word in range(100))
    write_lines(folder / "links.txt", [*[links] * 12, ""])
    return folder


@pytest.mark.torch
def test_a_flow_with_its_curves(run: Run, two_languages: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    files = ("-o", "map.npz", "--curves", "curves.json", "--plot", "curves.svg", "--state", "fit.state")
    result = run(*PARALLEL, "--method", "flow", *SMALL, *files)
    assert (result.status, result.out) == (0, ""), result.err
    fitted = load_map(two_languages / "map.npz")
    assert isinstance(fitted, FlowMap)
    assert fitted.digest[:12] in result.err
    assert "flow of 1200 pairs of words from 12 pairs of texts (1 left out), epoch" in result.err
    curves = json.loads((two_languages / "curves.json").read_text())
    assert curves["digest"] == fitted.digest
    assert [point["epoch"] for point in curves["epochs"]] == [0, 1, 2]
    assert curves["epochs"][0]["loss"] is None
    assert "<svg" in (two_languages / "curves.svg").read_text()
    assert (
        run(*PARALLEL, "--method", "flow", *SMALL, "-o", "again.npz", "--state", "fit.state", "--quiet").status == 0
    )
    assert (two_languages / "again.npz").read_bytes() == (two_languages / "map.npz").read_bytes()


@pytest.mark.torch
def test_gan_flow_and_fcnn(run: Run, two_languages: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    texts = ("align", "fit", "--unsupervised", "left.txt", "right.txt", "--model", "both.vec", "--restarts", "1")
    texts += ("--start", "self-learning")  # the two languages of the file share no space
    result = run(*texts, "--method", "gan-flow", "--constraint", "cross-correlation", *SMALL, "-o", "gan.npz")
    assert result.status == 0, result.err
    assert "gan-flow of 300 pairs of words found, epoch" in result.err
    assert load_map(two_languages / "gan.npz").origin.method == "gan-flow"
    quick = ("--epochs", "1", "--batch", "64", "-o", "turn.npz")
    result = run(*texts, "--method", "adversarial", "--constraint", "procrustes", *quick)
    assert result.status == 0, result.err
    assert load_map(two_languages / "turn.npz").origin.method == "adversarial"
    kept = ("--state", "fcnn.state", "--curves", "fcnn.json", "--plot", "fcnn.svg")
    result = run(*PARALLEL, "--method", "fcnn", *SMALL, "-o", "fcnn.npz", *kept)
    assert result.status == 0, result.err
    assert json.loads((two_languages / "fcnn.json").read_text())["digest"][:12] in result.err
    assert load_map(two_languages / "fcnn.npz").origin.method == "fcnn"


def test_two_models_of_two_widths_with_parallel_text(run: Run, two_languages: Path) -> None:
    """The second model's vectors have two entries more, which say nothing."""
    lines = (two_languages / "both.vec").read_text().splitlines()
    write_lines(two_languages / "wide.vec", [f"{line} 0 0" for line in lines])
    texts = ("align", "fit", "--parallel", "left.txt", "right.txt", "--alignments", "links.txt")
    models = ("--source-model", "both.vec", "--target-model", "wide.vec")
    result = run(*texts, *models, "--method", "centred", "-o", "map.npz")
    assert result.status == 0, result.err
    fitted = load_map(two_languages / "map.npz")
    assert (fitted.width, fitted.width_of("target")) == (WIDTH, WIDTH + 2)
    assert "PCA of widths 8 and 10 to 8" in fitted.origin.note
    left, right = (np.loadtxt(lines[start : start + FREQUENT], usecols=range(1, WIDTH + 1)) for start in (0, WORDS))
    moved, kept = fitted.apply(left), fitted.apply(np.pad(right, ((0, 0), (0, 2))), side="target")
    distance = np.linalg.norm(moved[:, None] - kept[None], axis=2)
    assert (distance.argmin(axis=1) == np.arange(FREQUENT)).mean() > 0.99


def test_invalid_options_of_networks_are_refused(refused: Refusal, two_languages: Path) -> None:
    parallel = (*PARALLEL, "-o", "m.npz")
    texts = ("align", "fit", "--unsupervised", "left.txt", "right.txt", "--model", "both.vec", "-o", "m.npz")
    assert "--method gan-flow needs --unsupervised" in refused(2, *parallel, "--method", "gan-flow")
    assert "--method adversarial needs --unsupervised" in refused(2, *parallel, "--method", "adversarial")
    turned = (*texts, "--method", "adversarial", "--hidden", "8")
    assert "--hidden is not used by this method" in refused(2, *turned)
    assert "--unsupervised takes only --method gan-flow or adversarial, got flow" in refused(
        2, *texts, "--method", "flow"
    )
    assert "--epochs is not used by this method" in refused(2, *parallel, "--epochs", "3")
    network = (*parallel, "--method", "fcnn")
    assert "--constraint is not used by this method" in refused(2, *network, "--constraint", "graph")
    assert "does not support --level sentence" in refused(
        2,
        "align",
        "fit",
        "--parallel",
        "left.txt",
        "right.txt",
        "--level",
        "sentence",
        "--method",
        "flow",
        "-o",
        "m.npz",
    )
    assert not (two_languages / "m.npz").exists()


def test_two_layers_of_one_model_with_parallel_text(run: Run, folder: Path) -> None:
    """The same English lines in layers 6 and 4: the map is of both, and a metric does not take it."""
    texts = [f"{text} Number {number}." for number in range(10) for text in SYSTEM_A]
    write_lines(folder / "long.txt", texts)
    fit = ("align", "fit", "--parallel", "long.txt", "long.txt", "--model", "minilm", "--method", "centred")
    assert run(*fit, "--layer", "6", "--target-layer", "4", "-o", "map.npz").status == 0
    origin = load_map(folder / "map.npz").origin
    assert (origin.layer, origin.target_layer, origin.target_model) == (6, 4, "minilm")
    with pytest.raises(InputError, match="maps vectors of model 'minilm' to its layer 4"):
        load_map(folder / "map.npz").check_model(origin.weights, layer=6, width=384)


def test_options_of_training_are_refused_before_anything_is_read(
    refused: Refusal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither texts nor models are there."""
    monkeypatch.setitem(sys.modules, "torch", sys)
    parallel = (*PARALLEL, "-o", "m.npz", "--method", "flow")
    texts = ("align", "fit", "--unsupervised", "left.txt", "right.txt", "-o", "m.npz", "--method", "gan-flow")
    assert "--hidden must be a whole number from 1, got '0'" in refused(2, *parallel, "--hidden", "0")
    assert "rounds need a fit without parallel text" in refused(2, *parallel, "--rounds", "2")
    assert "rounds need a constraint" in refused(2, *texts, "--rounds", "2")
    assert "needs known pairs" in refused(2, *texts, "--validation", "error")
    assert "--learning-rate must be a number from 0, got 'nan'" in refused(2, *parallel, "--learning-rate", "nan")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "pip install 'nlgauge[torch]'" in refused(1, *parallel)
    del folder


def test_without_torch_the_extra_is_named(
    refused: Refusal, two_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    message = refused(1, *PARALLEL, "--method", "flow", *SMALL, "-o", "m.npz", "--quiet")
    assert "pip install 'nlgauge[torch]'" in message
    assert not (two_languages / "m.npz").exists()


@pytest.mark.torch
def test_criteria_and_tasks_over_epochs(run: Run, refused: Refusal, two_languages: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    files = ("-o", "map.npz", "--epoch-maps", "maps", "--quiet")
    fitted = run(*PARALLEL, "--method", "fcnn", "--epochs", "3", "--batch", "64", *files)
    assert fitted.status == 0, fitted.err
    write_lines(two_languages / "human.txt", [str(n % 7) for n in range(13)])
    texts = ("--parallel", "left.txt", "right.txt", "--model", "both.vec", "--alignments", "links.txt")
    held_out = ("align", "evaluate", *texts, "--epoch-maps", "maps", "--rated", "left.txt", "right.txt", "human.txt")
    result = run(*held_out, "--plot", "tasks.svg")
    assert result.status == 0, result.err
    head = next(line for line in result.out.splitlines() if line.startswith("epoch"))
    assert head.split() == [
        "epoch",
        "semantic",
        "structural",
        "induction",
        "retrieval",
        "alignment",
        "XMoverScore",
        "r",
    ]
    assert "fcnn: criteria and tasks over epochs" in result.out
    assert "(0.4, 1]" in result.out
    assert "<svg" in (two_languages / "tasks.svg").read_text()
    # A map of the folder alone has the same values.
    alone = run("align", "evaluate", *texts, "--maps", "maps/epoch-002.npz", *held_out[-4:]).rows[1]
    values = next(line for line in result.out.splitlines() if line.split()[:1] == ["2"]).split()
    assert values[3:] == [alone[name] for name in ("induction CSLS", "retrieval", "alignment F1", "XMoverScore r")]
    assert "is not used with --epoch-maps" in refused(2, *held_out, "--maps", "map.npz")
