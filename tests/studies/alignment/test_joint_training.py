"""An encoder trained on parallel words: does it do what it says, again and after an interruption?"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.extras import LazyModule
from tests.studies.alignment.two_languages import WORDS, bitext, word, write_encoder

import nlgauge
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import (
    ConvergenceWarning,
    InputError,
    ModelError,
    ModelNotFoundError,
    RecipeError,
    UnsupportedModelError,
)
from nlgauge.studies.alignment.joint_texts import Bitext, JointOptions, JointReport, linked_pairs
from nlgauge.studies.alignment.joint_training import WordVectors, train_joint_alignment

jsonschema = LazyModule("jsonschema")

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

LEARNING = {"learning_rate": 2e-3, "warm_up": 10}
SHORT = JointOptions(epochs=2, batch=6, save_every=3, **LEARNING)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("models") / "tiny-xlm-r")


def train(
    model: Path,
    folder: Path,
    texts: Bitext,
    options: JointOptions = SHORT,
    advance: Callable[[int], None] | None = None,
) -> JointReport:
    return train_joint_alignment(
        str(model), [texts], folder, options=options, threads=1, device="cpu", advance=advance
    )


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def alone(model: Path, engine: str = "torch") -> NDArray[np.float32]:
    """Languages x words x width: each word in a text of its own, the mean of its pieces in the last layer."""
    encoder = load_encoder(str(model), engine=engine, threads=1, device="cpu")
    rows = []
    for tokens in encoder.tokenizer.encode([word(language, number) for language in "ua" for number in range(WORDS)]):
        (layer,) = encoder.encode(tokens.ids[None].astype(np.int64), (encoder.layers,))
        row = layer[0][~tokens.is_special].mean(axis=0)
        rows.append(row / np.linalg.norm(row))
    return np.stack(rows).reshape(2, WORDS, -1)


@pytest.mark.parametrize("kind", ["xlm-r", "mbert"])
def test_translated_words_come_together_and_others_stay_apart(tmp_path: Path, kind: str) -> None:
    model = write_encoder(tmp_path / kind, kind)
    options = JointOptions(epochs=4, **LEARNING)
    trained = train(model, tmp_path / "aligned", bitext(200), options)
    start, *epochs = trained.epochs
    assert [point.epoch for point in epochs] == [1, 2, 3, 4]
    losses = [point.loss for point in epochs]
    assert losses[-1] < 0.4 * losses[0]
    assert (trained.pairs, trained.left_out, trained.ended) == (200, 0, "epochs")
    # In texts kept apart: linked words come nearer, the others do not fall together with them.
    assert epochs[-1].linked > start.linked + 0.2
    assert epochs[-1].linked - epochs[-1].unlinked > start.linked - start.unlinked + 0.1
    assert epochs[-1].unlinked < 0.7
    assert epochs[-1].found > max(0.9, start.found)
    # Words on their own, which were never trained on, by the engine that needs no torch: loaded by path.
    before, after = (alone(path, "onnx") for path in (model, trained.folder))
    words, same = np.arange(WORDS), np.eye(WORDS, dtype=bool)
    assert ((before[0] @ before[1].T).argmax(axis=1) == words).mean() < 0.2
    assert ((after[0] @ after[1].T).argmax(axis=1) == words).all()
    for first, second in ((0, 1), (0, 0), (1, 1)):  # of two languages, and of either
        apart = [float((rows[first] @ rows[second].T)[~same].mean()) for rows in (before, after)]
        assert apart[1] < apart[0] + 0.12, "words that do not translate each other have not become one"


def test_a_metric_takes_the_folder_by_its_path(tmp_path: Path, model: Path) -> None:
    trained = train(model, tmp_path / "aligned", bitext(200), JointOptions(epochs=2, **LEARNING))
    texts = bitext(10, seed=9)
    means = []
    for path in (model, trained.folder):
        score = nlgauge.score(
            list(texts.target), sources=list(texts.source), metric="bertscore:against=source,layer=2", model=str(path)
        )
        means.append(float(np.mean(score.f1)))
    assert means[1] > means[0] + 0.1
    assert f"model:aligned|weights:{trained.weights_digest[:12]}" in str(score.signature)
    report = json.loads((trained.folder / "joint-align.json").read_text())
    jsonschema.validate(report, JointReport.schema())
    assert report["options"]["seed"] == 0
    assert [point["loss"] is None for point in report["epochs"]] == [True, False, False]
    checkpoint = next((trained.folder / "checkpoints").iterdir())
    assert weights(checkpoint) == weights(trained.folder)
    assert load_encoder(str(checkpoint), threads=1).hidden_size == 32


def test_the_loss_is_that_of_texts_one_by_one(model: Path) -> None:
    """Equations 1 and 2 by hand: no padding, no batch, words averaged from the encoder's own vectors."""
    encoder = load_encoder(str(model), engine="torch", threads=1, device="cpu")
    first = load_encoder(str(write_encoder(model.parent / "other", "xlm-r", weight=3.0)), engine="torch", threads=1)
    pairs, _ = linked_pairs(encoder, [bitext(5)], layer=1)
    linked, drift = 0.0, {"source": 0.0, "target": 0.0}
    for pair in pairs:
        rows = {}
        for name, side in (("source", pair.source), ("target", pair.target)):
            for network in (encoder, first):
                (layer,) = network.encode(side.ids[None], (1,))
                rows[name, network is encoder] = np.stack(
                    [layer[0][side.words == number].mean(axis=0) for number in range(side.size)]
                )
            drift[name] += float(((rows[name, True] - rows[name, False]) ** 2).sum())
        x, y = rows["source", True][pair.links[:, 0]], rows["target", True][pair.links[:, 1]]
        linked += float(((x - y) ** 2).sum())
    for held, expected in (*drift.items(), ("both", sum(drift.values()))):
        words = WordVectors(torch, layer=1, device=torch.device("cpu"), padding=1)
        result = words.losses(encoder.network, first.network, pairs, held=held)
        assert float(result.linked.detach()) == pytest.approx(linked, rel=1e-5)
        assert float(result.drift.detach()) == pytest.approx(expected, rel=1e-5)
        assert result.links == sum(len(pair.links) for pair in pairs)
    assert linked > 0 < drift["source"]


def test_same_seed_same_bytes(tmp_path: Path, model: Path) -> None:
    texts = bitext(60)
    first, again = (train(model, tmp_path / name, texts) for name in ("first", "again"))
    assert weights(first.folder) == weights(again.folder)
    assert first.epochs[1:] == again.epochs[1:]
    other = train(model, tmp_path / "other", texts, SHORT.with_options(seed=1))
    assert weights(other.folder) != weights(first.folder)


@pytest.mark.parametrize("stop", [1, 5, 11])
def test_an_interrupted_training_goes_on_to_the_same_bytes(tmp_path: Path, model: Path, stop: int) -> None:
    texts = bitext(60)
    whole = train(model, tmp_path / "whole", texts)
    done = [0]

    def interrupt(count: int) -> None:
        done[0] += count
        if done[0] == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(model, tmp_path / "parts", texts, advance=interrupt)
    assert not (tmp_path / "parts" / "model.safetensors").exists()
    messages: list[int] = []
    parts = train(model, tmp_path / "parts", texts, advance=messages.append)
    assert messages[0] == stop // 3 * 3 or (stop >= 9 and messages[0] == 9)
    assert sum(messages) == 18
    assert weights(parts.folder) == weights(whole.folder)
    assert parts.epochs[1:] == whole.epochs[1:]


def test_more_epochs_go_on(tmp_path: Path, model: Path) -> None:
    texts = bitext(60)
    train(model, tmp_path / "on", texts, SHORT.with_options(epochs=1))
    on = train(model, tmp_path / "on", texts)
    assert weights(on.folder) == weights(train(model, tmp_path / "whole", texts).folder)
    with pytest.raises(RecipeError, match="2 epochs are finished, but epochs=1"):
        train(model, tmp_path / "on", texts, SHORT.with_options(epochs=1))
    with pytest.raises(InputError, match="a checkpoint of a training with another model, other texts or options"):
        train(model, tmp_path / "on", bitext(60, seed=1))
    (next((tmp_path / "on" / "checkpoints").iterdir()) / "training.pt").write_bytes(b"no")
    with pytest.raises(InputError, match="cannot read checkpoint"):
        train(model, tmp_path / "on", texts)


def test_what_holds_words_apart_is_the_second_term(tmp_path: Path, model: Path) -> None:
    """Without it nothing but the distance of translations counts, and the pivot moves further."""
    texts = bitext(100)
    moved = {}
    for weight in (0.0, 1.0):
        options = JointOptions(epochs=2, hold_weight=weight, **LEARNING)
        aligned = train(model, tmp_path / f"held-{weight}", texts, options)
        moved[weight] = aligned.epochs[-1].drift
    assert moved[0.0] > 3 * moved[1.0]


def test_a_training_that_diverges_ends_with_its_last_checkpoint(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, options = bitext(60), JointOptions(epochs=1, batch=6, save_every=2)
    good = train(model, tmp_path / "good", texts, options)
    assert good.ended == "epochs"
    monkeypatch.setattr(JointOptions, "rate", lambda self, step: 1e-3 if step < 5 else 1e30)
    with pytest.warns(
        ConvergenceWarning,
        match=r"after 5 steps: .*; the result is checkpoint step-0000004; a lower learning rate may",
    ):
        ended = train(model, tmp_path / "some", texts, options)
    assert ended.ended == "diverged"
    assert np.isfinite(alone(ended.folder)).all()
    assert json.loads((ended.folder / "joint-align.json").read_text())["ended"] == "diverged"
    rare = JointOptions(epochs=1, batch=6, save_every=100)
    with pytest.raises(InputError, match=r"diverged after \d steps.*nothing was written; a lower learning rate"):
        train(model, tmp_path / "none", texts, rare)
    assert not (tmp_path / "none" / "model.safetensors").exists()


def test_training_refuses_too_few_pairs_and_invalid_options(tmp_path: Path, model: Path) -> None:
    with pytest.raises(InputError, match=r"19 pairs of texts have a link between words \(0 were dropped\), too few"):
        train(model, tmp_path / "few", bitext(19))
    nothing = bitext(30)
    with pytest.raises(InputError, match="0 pairs of texts have a link"):
        train(model, tmp_path / "none", Bitext(nothing.source, nothing.target, [()] * 30))
    with pytest.raises(ModelNotFoundError):
        train_joint_alignment("./not-here", [bitext(30)], tmp_path / "unknown")
    with pytest.raises(UnsupportedModelError, match="has its own engine and cannot be trained"):
        train_joint_alignment(_static(tmp_path), [bitext(30)], tmp_path / "static")
    with pytest.raises(RecipeError, match="has layers 0 to 2"):
        train(model, tmp_path / "layer", bitext(30), JointOptions(layer=3))
    with pytest.raises(InputError, match="is the folder of the original model"):
        train(model, model, bitext(30))
    shutil.copytree(model, tmp_path / "taken")
    with pytest.raises(InputError, match="contains another model"):
        train(model, tmp_path / "taken", bitext(30))
    broken = write_encoder(tmp_path / "broken", weight=float("nan"))
    with pytest.raises(ModelError, match="the vectors of model 'broken' are not finite"):
        train(broken, tmp_path / "nan", bitext(30))
    (tmp_path / "file").write_text("")
    unread = Bitext(nothing.source, nothing.target)
    for closed in (tmp_path / "file" / "below", tmp_path / "file"):
        with pytest.raises(InputError, match=r"cannot write to the folder .* is not a folder"):
            train_joint_alignment(str(model), [unread], closed, reading=lambda _: pytest.fail("read before"))
    assert not (tmp_path / "few").exists(), "nothing is made before there is something to write"
    for options, why in (
        ({"hold": "pivot"}, "hold must be one of target, source, both"),
        ({"epochs": 0}, "epochs must be a whole number from 1"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number from 0"),
    ):
        with pytest.raises(RecipeError, match=why):
            JointOptions(**options)


def _static(folder: Path) -> str:
    lines = [f"{word(language, number)} 1 {number}" for language in "ua" for number in range(WORDS)]
    (folder / "words.vec").write_text("\n".join(lines) + "\n")
    return str(folder / "words.vec")


def test_words_that_are_linked_by_nearest_neighbours(tmp_path: Path, model: Path) -> None:
    read: list[int] = []
    trained = train_joint_alignment(
        str(model),
        [bitext(60, links=False)],
        tmp_path / "aligned",
        options=SHORT,
        threads=1,
        device="cpu",
        reading=read.append,
    )
    assert sum(read) == 60
    assert trained.epochs[-1].loss < trained.epochs[1].loss
    assert trained.links > 60
