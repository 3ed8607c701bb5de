"""Training: it learns, it can be repeated, and how it fares beside a bag of words."""

from __future__ import annotations

import doctest
import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="torch is not installed")

from nlp_capsule import (  # noqa: E402
    EURLEX,
    CapsuleConfig,
    LabelledTexts,
    Split,
    TrainingPlan,
    label_quality,
    load_pairs,
    load_task,
    new_network,
    score_labels,
    train,
    train_candidates,
)
from nlp_capsule.cli import main  # noqa: E402
from nlp_capsule.experiments import (  # noqa: E402
    ANSWER_PLAN,
    SMALL_PLAN,
    Sizes,
    compare_answers,
    compare_eurlex,
    compare_labels,
)
from nlp_capsule.rounds import compare_rounds, draw_rounds, measure_rounds  # noqa: E402
from nlp_capsule.training import _partly_unknown, new_candidates  # noqa: E402

from nlgauge.errors import InputError, RecipeError  # noqa: E402

SMALL = CapsuleConfig(vocabulary=30, labels=6, words=8, dimensions=16, filters=4, capsule=8, compressed=8)


def planted(texts: int = 240) -> tuple[np.ndarray, list[frozenset[int]]]:
    """Two of six labels for each text; a word of each label's own says so, anywhere in it."""
    chance = np.random.default_rng(0)
    rows = chance.integers(8, 30, size=(texts, 8))
    owned = []
    for row in rows:
        labels = chance.permutation(6)[:2]
        row[chance.permutation(8)[:2]] = 2 + labels
        owned.append(frozenset(labels.tolist()))
    return rows, owned


@pytest.mark.parametrize("loss", ["bce", "margin", "spread"])
def test_it_learns_what_was_planted(loss: str) -> None:
    texts, owned = planted()
    network = new_network(SMALL)
    losses = train(network, texts, owned, TrainingPlan(epochs=12, batch=40, learning_rate=1e-2, loss=loss))
    assert losses[-1] < losses[0] / 2
    result = label_quality(score_labels(network, texts), owned, ks=(1, 2))
    assert result["P@2"] > 0.9


def test_partial_routing_learns_it_too() -> None:
    """Two sampled labels of four, at a weight of a half; in use, three candidates instead of six labels."""
    texts, owned = planted()
    network = new_network(SMALL)
    plan = TrainingPlan(epochs=20, batch=40, learning_rate=1e-2, negatives=2, negative_weight=0.5)
    train(network, texts, owned, plan)
    first = new_candidates(30, 6, dimensions=16)
    train_candidates(first, texts, owned, replace(plan, epochs=8))
    scores = score_labels(network, texts, candidates=first, count=3)
    assert (np.isfinite(scores).sum(axis=1) == 3).all()
    assert label_quality(scores, owned, ks=(1, 2))["P@2"] > 0.9


@pytest.mark.parametrize("profile", ["released", "paper"])
@pytest.mark.parametrize("routing", ["adaptive", "kde", "dynamic"])
def test_every_reading_can_be_trained(profile: str, routing: str) -> None:
    texts, owned = planted(40)
    network = new_network(replace(SMALL, profile=profile, routing=routing))
    losses = train(network, texts, owned, TrainingPlan(epochs=4, batch=20, learning_rate=1e-2, loss="margin"))
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]


def test_the_same_seed_gives_the_same_bytes() -> None:
    def trained(seed: int) -> list[bytes]:
        texts, owned = planted(60)
        network = new_network(SMALL, seed=seed)
        train(network, texts, owned, TrainingPlan(epochs=2, batch=20, negatives=2, seed=seed))
        return [parameter.detach().numpy().tobytes() for parameter in network.parameters()]

    first = trained(0)
    torch.manual_seed(5)
    assert trained(0) == first
    assert trained(1) != first


def test_words_are_hidden_by_a_text_s_own_number() -> None:
    """Some words become the unknown one, padding never does, and neighbours do not matter."""
    texts, plan = np.array([[5, 6, 7, 8, 9, 4, 0, 0]] * 60), TrainingPlan(unknown=0.3)
    hidden = _partly_unknown(texts, np.arange(60), plan, 0)
    assert set(np.unique(hidden)) == {0, 1, 4, 5, 6, 7, 8, 9}
    assert not hidden[:, 6:].any()
    assert (hidden[:, :6] == 1).mean() == pytest.approx(0.3, abs=0.08)
    assert np.array_equal(_partly_unknown(texts[7:8], np.array([7]), plan, 0), hidden[7:8])
    assert not np.array_equal(_partly_unknown(texts, np.arange(60), plan, 1), hidden)
    assert _partly_unknown(texts, np.arange(60), TrainingPlan(), 0) is texts
    with pytest.raises(RecipeError, match="between 0 and 1, got 1"):
        TrainingPlan(unknown=1)


def test_plans_and_data_that_cannot_be_trained_are_refused() -> None:
    texts, owned = planted(4)
    with pytest.raises(RecipeError, match="bce, margin, spread, got 'hinge'"):
        TrainingPlan(loss="hinge")
    with pytest.raises(RecipeError, match="above 0"):
        TrainingPlan(epochs=0)
    with pytest.raises(InputError, match="got 4 and 3"):
        train(new_network(SMALL), texts, owned[:3], TrainingPlan(epochs=1))


def test_eur_lex_s_experiment_runs_from_first_to_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At a hundredth of its size, on documents with planted words."""
    numbers, owned = planted(120)
    documents = [
        json.dumps({"text": " ".join(f"word{number}" for number in row), "labels": sorted(own)})
        for row, own in zip(numbers, owned, strict=True)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(documents[:90]), encoding="utf-8")
    (tmp_path / "test.jsonl").write_text("\n".join(documents[90:]), encoding="utf-8")
    from nlp_capsule import load_eurlex

    plan = TrainingPlan(epochs=15, batch=30, learning_rate=1e-2, negatives=3)
    verdict = compare_eurlex(load_eurlex(tmp_path), plan, base=SMALL, candidates=4)
    assert list(verdict.capsules) == ["P@1", "P@3", "P@5", "N@1", "N@3", "N@5"]
    assert verdict.capsules["P@1"] > 0.6
    assert main(["eurlex", str(tmp_path / "absent")]) == 1
    assert "neither a pickle nor a folder" in capsys.readouterr().err


def test_short_training_on_domains_beside_a_bag_of_words(data_sets: Path) -> None:
    """Both know far more than chance, .2, from some 900 texts; which knows more is a matter of the README."""
    split = load_task("domains", data_sets, most=300)
    verdict = compare_labels(split, replace(SMALL_PLAN, epochs=6), sizes=Sizes(words=24, dimensions=32))
    assert verdict.losses[-1] < verdict.losses[0] / 4
    assert verdict.capsules["P@1"] > 0.75
    assert verdict.baseline["P@1"] > 0.75


def test_short_training_of_answers(data_sets: Path) -> None:
    pairs = load_pairs(data_sets)
    sizes = replace(Sizes.of_answers(), words=24, compressed=16, filters=8)
    verdict = compare_answers(pairs, replace(ANSWER_PLAN, epochs=1), sizes=sizes)
    untrained = compare_answers(pairs, replace(ANSWER_PLAN, epochs=1, learning_rate=1e-12), sizes=sizes)
    assert verdict.capsules["MAP"] > untrained.capsules["MAP"] + 0.1
    assert verdict.capsules["MAP"] < verdict.capsules["MRR"]


@pytest.mark.long
@pytest.mark.parametrize(("task", "least"), [("domains", 0.9), ("languages", 0.9), ("systems", 0.07)])
def test_full_training_on_labels(data_sets: Path, task: str, least: float) -> None:
    """A thousand texts of each label, beside the README's three and six hundred; a system by chance is 1/16."""
    verdict = compare_labels(load_task(task, data_sets, most=1000), SMALL_PLAN)
    assert verdict.capsules["P@1"] > least


@pytest.mark.long
def test_full_training_on_outputs_of_many_systems(data_sets: Path) -> None:
    """More is known than which label is the commonest."""
    split = load_task("outputs", data_sets, most=200)
    commonest = max(sum(label in own for own in split.test.owned) for label in range(len(split.labels)))
    verdict = compare_labels(split, replace(SMALL_PLAN, negatives=20))
    assert verdict.capsules["P@1"] > commonest / len(split.test.owned)


@pytest.mark.long
def test_a_step_at_the_size_of_eur_lex() -> None:
    """Partial routing keeps it small: 25 of 3,956 labels in training, 200 candidates in use."""
    chance = np.random.default_rng(0)
    texts = chance.integers(1, EURLEX.vocabulary, size=(8, EURLEX.words))
    owned = [frozenset(chance.permutation(EURLEX.labels)[:5].tolist()) for _ in texts]
    network = new_network(EURLEX)
    before = network.proposals.weights[sorted(owned[0])].detach().clone()
    losses = train(network, texts, owned, TrainingPlan(epochs=2, batch=8, negatives=20))
    assert losses[1] < losses[0]
    assert not torch.equal(before, network.proposals.weights[sorted(owned[0])].detach())
    scores = score_labels(network, texts, candidates=new_candidates(EURLEX.vocabulary, EURLEX.labels))
    assert (np.isfinite(scores).sum(axis=1) == 200).all()


@pytest.mark.long
def test_full_training_of_answers(data_sets: Path) -> None:
    verdict = compare_answers(load_pairs(data_sets), ANSWER_PLAN)
    assert verdict.capsules["MAP"] > 0.85


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["parameters"]) == 0
    assert "140,698,616" in capsys.readouterr().out
    monkeypatch.delenv("NLGAUGE_DATA", raising=False)
    with pytest.raises(SystemExit, match="2"):
        main(["classify", "domains"])
    assert "use --data FOLDER or NLGAUGE_DATA" in capsys.readouterr().err
    assert main(["answer", "--data", "/nowhere"]) == 1
    for odd in (
        ["--threads", "0", "parameters"],
        ["classify", "domains", "--seed", "-1"],
        ["answer", "--loss", "bce"],
    ):
        with pytest.raises(SystemExit, match="2"):
            main(odd)


@pytest.mark.parametrize("name", ["text", "measures", "partial", "experiments"])
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"nlp_capsule.{name}"))
    assert result.attempted
    assert not result.failed


def test_a_task_of_one_s_own_needs_texts_and_labels_only() -> None:
    part = LabelledTexts(
        ["red wine", "white wine", "red car", "blue car"] * 5,
        [frozenset({0}), frozenset({0}), frozenset({1}), frozenset({1})] * 5,
    )
    verdict = compare_labels(
        Split(part, part, part, ("wine", "car")), replace(SMALL_PLAN, epochs=60), sizes=Sizes(words=8, dimensions=16)
    )
    assert verdict.capsules["P@1"] == verdict.baseline["P@1"] == 1


def test_rounds_of_single_texts_are_measured_and_drawn(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    texts = [" ".join(chance.choice(["red", "blue", "cat", "dog", "runs"], 5)) for _ in range(24)]
    owned = [frozenset({int("cat" in text)}) for text in texts]
    parts = [LabelledTexts(texts[i : i + 8], owned[i : i + 8]) for i in (0, 8, 16)]
    sizes = Sizes(words=8, dimensions=16, filters=4, compressed=8)
    plan = TrainingPlan(epochs=2, batch=4, learning_rate=4e-3)
    result = compare_rounds(Split(*parts, ("no cat", "cat")), plan, sizes=sizes, rounds=(2, 3))
    assert list(result.losses) == ["2 rounds", "3 rounds", "adaptive"]
    assert all(len(losses) == 2 for losses in result.losses.values())
    assert (len(result.texts), len(result.texts[0].agreement), result.rounds) == (8, 10, 3)
    # By hand from the agreements: the change of the third round, and the first change below epsilon.
    changes = [abs(float(text.agreement[2] - text.agreement[1])) for text in result.texts]
    assert result.unsettled == sum(change >= result.epsilon for change in changes) / 8
    for text in result.texts:
        steps = np.abs(np.diff(text.agreement, prepend=0.0)) < result.epsilon
        assert text.adaptive == (int(steps.argmax()) + 1 if steps.any() else text.adaptive)
    draw_rounds(result, text=3).savefig(tmp_path / "rounds.png")
    assert (tmp_path / "rounds.png").stat().st_size > 1000
    with pytest.raises(InputError, match="rounds must be 2 or more, got 1"):
        compare_rounds(Split(*parts, ("no cat", "cat")), plan, sizes=sizes, rounds=(1,))


def test_measured_agreement_is_that_of_the_network() -> None:
    network = new_network(replace(SMALL, routing="kde", iterations=4))
    texts, _ = planted(3)
    with torch.no_grad():
        expected = network(torch.from_numpy(texts)).agreement
    measured = measure_rounds(network, texts, epsilon=0.05)
    assert [float(text.agreement[3]) for text in measured] == pytest.approx(expected.tolist(), abs=1e-5)
