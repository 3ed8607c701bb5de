"""Steps inside a metric: what a recipe does to vectors before it compares them, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import nlgauge
from nlgauge.core import engine
from nlgauge.encoders.base import EncodedText, encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError, InputError, RecipeError, SignatureError
from nlgauge.vectors.remap import Operation, Origin, Remapping, fit_remapping
from nlgauge.vectors.transforms import POSITION_BATCH, LanguageMeans, position_norm

MODEL, LAYER = "minilm", 4

#: The model is English; languages are named only to tell the two sides apart.
pytestmark = pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")

#: Any text serves as a source, for what is tested are numbers.
SOURCES = [
    "Rain fell all night.",
    "Nobody wrote a letter to the baker of the town.",
    "The museum has no windows.",
    "Bread!",
    "Twenty minutes later the ferry was cancelled because of a storm.",
    "She repaired it.",
    "The committee met, and nothing came of it.",
    "A dog barked.",
    "The train to Leeds leaves at noon.",
    "Wages rose.",
    "He knew the answer to every question.",
]
HYPS = [
    "It rained.",
    "The baker got no letters.",
    "There is not a window in the museum of the town.",
    "Loaf.",
    "A ferry was called off.",
    "She has repaired it again and again.",
    "The committee did nothing.",
    "Dogs bark at night.",
    "At noon a train leaves for Leeds.",
    "People earn more than before.",
    "All answers were known to him.",
]
METRIC = f"bertscore:against=source,model={MODEL},layer={LAYER}"


def vectors_of(texts: Sequence[str]) -> list[np.ndarray]:
    encoder = load_encoder(MODEL)
    encoded = encode_texts(encoder, encoder.tokenizer.encode(texts), (LAYER,), batch_tokens=999)
    return [text.layers[LAYER].astype(np.float64) for text in encoded]


def greedy_f(x: np.ndarray, y: np.ndarray) -> float:
    """BERTScore's F, special tokens can be matched but have no weight."""
    similar = 1 - cdist(x, y, "cosine")
    precision, recall = similar.max(axis=1)[1:-1].mean(), similar.max(axis=0)[1:-1].mean()
    return float(2 * precision * recall / (precision + recall))


def expected(move_hyp: Callable[[np.ndarray], Any], move_source: Callable[[np.ndarray], Any]) -> list[float]:
    pairs = zip(vectors_of(HYPS), vectors_of(SOURCES), strict=True)
    return [greedy_f(move_hyp(x), move_source(y)) for x, y in pairs]


def scored(steps: str, metric: str = METRIC, **given: Any) -> nlgauge.Score:
    return nlgauge.score(HYPS, sources=SOURCES, metric=f"{metric},transforms={steps}", **given)


def saved(tmp_path: Path, step: Remapping | LanguageMeans, name: str = "step.npz") -> str:
    step.save(tmp_path / name)
    return str(tmp_path / name)


def origin(**changes: Any) -> Origin:
    return Origin(weights=load_encoder(MODEL).weights_digest, layer=LAYER, model=MODEL)._replace(**changes)


def orthogonal(rng: np.random.Generator) -> np.ndarray:
    """Every axis goes to another, with either sign."""
    return np.eye(384)[rng.permutation(384)] * rng.choice([-1.0, 1.0], size=384)


# --- re-mappings ---------------------------------------------------------------------------------------


def test_a_planted_rotation_of_the_source_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = nlgauge.score(HYPS, sources=SOURCES, metric=METRIC).f1
    rng = np.random.default_rng(1)
    rotation = orthogonal(rng)
    encoder = load_encoder(MODEL)
    foreign = {tokens.ids.tobytes() for tokens in encoder.tokenizer.encode(SOURCES)}

    def turned(*args: Any, **options: Any) -> list[EncodedText]:
        return [
            EncodedText(
                text.tokens, {index: (rows @ rotation).astype(np.float32) for index, rows in text.layers.items()}
            )
            if text.tokens.ids.tobytes() in foreign
            else text
            for text in encode_texts(*args, **options)
        ]

    monkeypatch.setattr(engine, "encode_texts", turned)
    assert not np.allclose(nlgauge.score(HYPS, sources=SOURCES, metric=METRIC).f1, plain, atol=0.01)
    rows = rng.normal(size=(500, 384))
    path = saved(tmp_path, fit_remapping(rows @ rotation, rows, method="clp", origin=origin()))
    np.testing.assert_allclose(scored(path).f1, plain, atol=1e-5)


@pytest.mark.parametrize("sides", ["both", "source"])
def test_a_direction_is_removed_from_the_sides_it_was_fitted_for(tmp_path: Path, sides: Any) -> None:
    rng = np.random.default_rng(2)
    direction = rng.normal(size=384)
    direction /= np.linalg.norm(direction)
    rows = rng.normal(size=(50, 384))
    shifted = rows + rng.uniform(5, 9, size=(50, 1)) * direction
    path = saved(tmp_path, fit_remapping(shifted, rows, method="umd", umd_sides=sides, origin=origin()))

    def removed(vectors: np.ndarray) -> np.ndarray:
        return vectors - np.outer(vectors @ direction, direction)

    values = expected(removed if sides == "both" else np.asarray, removed)
    np.testing.assert_allclose(scored(path).f1, values, atol=1e-5)


def test_a_reference_is_on_the_targets_side(tmp_path: Path) -> None:
    """A rotation for sources does nothing to references and hypotheses."""
    rotation = orthogonal(np.random.default_rng(3))
    path = saved(tmp_path, Remapping((Operation("linear", rotation),), origin()))
    metric = f"bertscore:model={MODEL},layer={LAYER}"
    moved = nlgauge.score(HYPS, SOURCES, metric=f"{metric},transforms={path}")
    assert np.array_equal(moved.f1, nlgauge.score(HYPS, SOURCES, metric=metric).f1)
    assert not np.allclose(scored(path).f1, moved.f1)


def test_steps_work_in_the_order_they_are_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    first, second = (orthogonal(rng) for _ in range(2))
    a = saved(tmp_path, Remapping((Operation("linear", first),), origin()), "a.npz")
    b = saved(tmp_path, Remapping((Operation("linear", second),), origin()), "b.npz")
    values = expected(np.asarray, lambda rows: rows @ first @ second)
    np.testing.assert_allclose(scored(f"{a}+{b}").f1, values, atol=1e-5)


def test_published_arrays_are_steps(tmp_path: Path) -> None:
    rotation = orthogonal(np.random.default_rng(5))
    with (tmp_path / "de-en.BAM").open("wb") as file:
        np.save(file, rotation)
    values = expected(np.asarray, lambda rows: rows @ rotation)
    np.testing.assert_allclose(scored(str(tmp_path / "de-en.BAM")).f1, values, atol=1e-5)


# --- means of languages --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["centre", "standardise"])
def test_each_side_is_freed_of_its_own_languages_mean(tmp_path: Path, mode: str) -> None:
    x, y = vectors_of(HYPS), vectors_of(SOURCES)
    norm = LanguageMeans.fit({"en": x, "de": y}, mode=mode, weights=load_encoder(MODEL).weights_digest, layer=LAYER)
    path = saved(tmp_path, norm)

    def moved(own: list[np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        rows = np.concatenate(own)
        scale = np.sqrt(rows.var(axis=0) + 1e-9) if mode == "standardise" else 1.0
        return lambda vectors: (vectors - rows.mean(axis=0)) / scale

    score = scored(path, src_lang="de", lang="en")
    np.testing.assert_allclose(score.f1, expected(moved(x), moved(y)), atol=1e-4)
    assert score.signature.recipe["transforms"] == f"{mode}[{norm.digest[:12]},de>en]"
    again = nlgauge.score(HYPS, sources=SOURCES, metric=score.signature, transforms=path)
    assert np.array_equal(again.f1, score.f1), "the languages are in the signature"
    other = scored(path, src_lang="en", lang="en")
    assert not np.allclose(other.f1, score.f1)
    assert other.signature.recipe["transforms"] != score.signature.recipe["transforms"]
    with pytest.raises(SignatureError, match="cannot be reproduced: transforms"):
        nlgauge.score(HYPS, sources=SOURCES, metric=score.signature, transforms=path, src_lang="en")


def test_languages_must_be_named(tmp_path: Path) -> None:
    rows = vectors_of(HYPS)
    path = saved(tmp_path, LanguageMeans.fit({"en": rows, "de": rows}))
    with pytest.raises(
        RecipeError, match=r"means are for de, en, but the language of the source is 'not given'.*src_lang="
    ):
        scored(path)
    with pytest.raises(RecipeError, match="the language of the source is 'fr'; set it with src_lang="):
        scored(path, src_lang="fr")
    with pytest.raises(RecipeError, match="the language of the target is 'fr'; set it with lang="):
        scored(path, src_lang="de", lang="fr")


def test_references_need_no_language_of_a_source(tmp_path: Path) -> None:
    rows = vectors_of(HYPS)
    path = saved(tmp_path, LanguageMeans.fit({"en": rows}))
    score = nlgauge.score(HYPS, SOURCES, metric=f"bertscore:model={MODEL},layer={LAYER},transforms={path}")
    mean = np.concatenate(rows).mean(axis=0)
    values = expected(lambda v: v - mean, lambda v: v - mean)
    np.testing.assert_allclose(score.f1, values, atol=1e-5)
    assert score.signature.recipe["transforms"].endswith(",en]")


# --- refusals ------------------------------------------------------------------------------------------


def test_steps_of_another_model_or_layer_are_refused(tmp_path: Path) -> None:
    step = Operation("linear", np.eye(384))
    path = saved(tmp_path, Remapping((step,), origin()))
    with pytest.raises(InputError, match=r"fitted on layer 4 of model 'minilm'.*vectors are of layer 6"):
        scored(path, METRIC.replace("layer=4", "layer=6"))
    foreign = saved(tmp_path, Remapping((step,), origin(weights="0" * 64, model="other")))
    with pytest.raises(InputError, match=r"model 'other' \(000000000000\).*fit it again with 'nlgauge align fit'"):
        scored(foreign)
    narrow = saved(tmp_path, Remapping((Operation("linear", np.eye(7)),)))
    with pytest.raises(InputError, match="vectors of width 7, but the model's have 384"):
        scored(narrow)
    means = saved(tmp_path, LanguageMeans.fit({"en": vectors_of(HYPS)}, weights="0" * 64, layer=LAYER))
    with pytest.raises(InputError, match="language means were fitted on layer 4 of weights 000000000000"):
        scored(means, src_lang="en")


def test_a_re_mapping_of_another_language_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, Remapping((Operation("linear", np.eye(384)),), origin(source="de", target="en")))
    with pytest.raises(RecipeError, match="fitted for source language 'de', but the sources are in 'ru'"):
        scored(path, src_lang="ru")
    assert np.array_equal(scored(path, src_lang="de").f1, scored(path).f1), "nobody has to name it"


def test_files_that_are_no_steps(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(
        FileFormatError,
        match=r"'notes\.txt' is not a transform: expected position-norm, layer-norm, seq",
    ):
        scored(str(tmp_path / "notes.txt"))
    with pytest.raises(InputError, match="does not exist"):
        scored(str(tmp_path / "absent.npz"))


# --- the published normalisation -----------------------------------------------------------------------


def by_eights(vectors: list[np.ndarray], size: int = 8) -> list[np.ndarray]:
    """Eq. 4 for eight texts at a time: what is missing at the end of a short text counts as zeros (D9.4)."""
    moved = []
    for first in range(0, len(vectors), size):
        batch = vectors[first : first + size]
        longest = max(map(len, batch))
        padded = np.array([np.pad(rows, ((0, longest - len(rows)), (0, 0))) for rows in batch])
        normed = (padded - padded.mean(axis=0)) / np.sqrt(padded.var(axis=0) + 1e-9)
        moved += [rows[: len(own)] for rows, own in zip(normed, batch, strict=True)]
    return moved


def test_position_norm_is_equation_4_over_eight_neighbours() -> None:
    assert POSITION_BATCH == 8
    pairs = list(zip(by_eights(vectors_of(HYPS)), by_eights(vectors_of(SOURCES)), strict=True))
    score = scored("position-norm")
    np.testing.assert_allclose(score.f1, [greedy_f(x, y) for x, y in pairs], atol=1e-4)
    for own, fast in zip(by_eights(vectors_of(HYPS)), position_norm(vectors_of(HYPS)[:8]), strict=False):
        np.testing.assert_allclose(fast, own, atol=1e-4)
    assert score.signature.recipe["transforms"] == "position-norm"
    again = nlgauge.score(HYPS, sources=SOURCES, metric=score.signature)
    assert np.array_equal(again.f1, score.f1)


def test_the_batch_size_of_position_norm_is_an_option_in_the_signature() -> None:
    """Figure 4 of the paper varies the batch size; batches of 3 and of 8 in one call do not disturb each other."""
    pairs = zip(by_eights(vectors_of(HYPS), 3), by_eights(vectors_of(SOURCES), 3), strict=True)
    expected_f = [greedy_f(x, y) for x, y in pairs]
    metrics = [f"{METRIC},transforms=position-norm{size}" for size in ("-3", "")]
    both = nlgauge.score_systems({"a": HYPS}, sources=SOURCES, metric=metrics)
    np.testing.assert_allclose(both[0].f1, expected_f, atol=1e-4)
    assert np.array_equal(both[1].f1, scored("position-norm").f1)
    assert [score.signature.recipe["transforms"] for score in both] == ["position-norm-3", "position-norm"]
    again = nlgauge.score(HYPS, sources=SOURCES, metric=both[0].signature)
    assert np.array_equal(again.f1, both[0].f1)


@pytest.mark.parametrize(("name", "axis"), [("layer-norm", 1), ("sequence-norm", 0)])
def test_layer_norm_is_a_transform_of_each_text(name: str, axis: int) -> None:
    def moved(rows: np.ndarray) -> np.ndarray:
        deviation = np.sqrt(rows.var(axis=axis, keepdims=True) + 1e-9)
        return (rows - rows.mean(axis=axis, keepdims=True)) / deviation

    score = scored(name)
    np.testing.assert_allclose(score.f1, expected(moved, moved), atol=1e-4)
    assert score.signature.recipe["transforms"] == name
    assert np.array_equal(nlgauge.score(HYPS, sources=SOURCES, metric=score.signature).f1, score.f1)


def test_position_norm_depends_on_neighbours_of_the_same_eight_only() -> None:
    whole = scored("position-norm").f1
    order = [1, 0, *range(2, len(HYPS))]
    metric = f"{METRIC},transforms=position-norm"
    swapped = nlgauge.score(
        [HYPS[index] for index in order], sources=[SOURCES[index] for index in order], metric=metric
    ).f1
    np.testing.assert_allclose(swapped[order], whole, atol=1e-4)
    changed = nlgauge.score(["A text of its own.", *HYPS[1:]], sources=SOURCES, metric=metric).f1
    assert np.array_equal(changed[8:], whole[8:])
    assert (changed[1:8] != whole[1:8]).all()


def test_position_norm_does_not_depend_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    systems = {"a": HYPS, "b": HYPS[::-1], "copy": SOURCES}
    metric = f"{METRIC},transforms=position-norm"
    whole = nlgauge.score_systems(systems, sources=SOURCES, metric=[metric, METRIC])
    monkeypatch.setattr(engine, "_WINDOW_BYTES", 1)
    tiny = nlgauge.score_systems(systems, sources=SOURCES, metric=[metric, METRIC])
    for first, other in zip(whole, tiny, strict=True):
        assert np.array_equal(first.f1, other.f1)
    assert np.array_equal(whole[0].f1, scored("position-norm").f1), "another system is no neighbour"


def test_position_norm_takes_one_reference() -> None:
    with pytest.raises(RecipeError, match="needs exactly one reference"):
        nlgauge.score(
            HYPS, [[text, text] for text in SOURCES], metric=f"bertscore:model={MODEL},transforms=position-norm"
        )
