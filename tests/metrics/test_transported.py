"""What the transport metrics share: the flow in the result, SMD, filters, word vectors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.clouds.cloud import unit_rows
from nlgauge.encoders import encode_texts, load_encoder
from nlgauge.errors import FileFormatError
from nlgauge.transport import greedy_match

HYPS = ["A ferry was cancelled in the storm.", "Bread is good.", "Nobody wrote unputdownable letters."]
REFS = ["The ferry was called off because of the storm.", "The bread is the best.", "She wrote letters."]

VECTORS = """ferry 1 0 0
boat 0.9 0.1 0
storm 0 1 0
bread 0 0 1
a 0.1 0.1 0.1
. 0.2 0.2 0.2
"""


@pytest.mark.parametrize(
    ("metric", "score_of_cost"),
    [
        ("moverscore", lambda cost: 1 - cost),
        ("moverscore:n=2", lambda cost: 1 - cost),
        ("moverscore:profile=v2", lambda cost: 1 / (1 + cost)),
        ("moverscore:profile=paper", lambda cost: cost),
        ("smd", lambda cost: 1 - cost),
        ("baryscore", lambda cost: cost),
        ("baryscore:profile=released", lambda cost: cost),
    ],
)
def test_the_flow_explains_the_score(metric: str, score_of_cost: object) -> None:
    score = nlgauge.score(HYPS, REFS, metric=metric, alignments=True)
    assert score.alignments is not None
    for value, flow in zip(score.segments[score.main], score.alignments, strict=True):
        assert isinstance(flow, nlgauge.Flow)
        assert flow.flow.shape == flow.cost.shape == (len(flow.hypothesis_tokens), len(flow.reference_tokens))
        assert flow.flow.sum() == pytest.approx(1)
        assert value == pytest.approx(score_of_cost((flow.flow * flow.cost).sum()), abs=1e-9)  # type: ignore[operator]
    json.dumps(score.to_dict(), allow_nan=False)


def test_labels_are_the_n_grams() -> None:
    score = nlgauge.score(HYPS[1:2], REFS[1:2], metric="moverscore:n=2,idf=none", alignments=True)
    assert score.alignments is not None
    flow = score.alignments[0]
    assert isinstance(flow, nlgauge.Flow)
    assert flow.hypothesis_tokens == ("[CLS] bread", "bread is", "is good", "good [SEP]")


def test_bertscore_recall_is_a_quasi_transport() -> None:
    """Proposition 1 of MoverScore: with F_ij = 1/M at the best match j of reference token i, and
    C_ij = (M / Z) idf(y_i) x_j.y_i there, <C, F> is BERTScore's recall, for any M."""
    encoder = load_encoder("minilm")
    rng = np.random.default_rng(0)
    for hyp, ref in zip(HYPS, REFS, strict=True):
        x, y = (
            unit_rows(text.layers[4])
            for text in encode_texts(encoder, encoder.tokenizer.encode([hyp, ref]), (4,), batch_tokens=512)
        )
        idf = rng.random(len(y))
        recall = greedy_match(x @ y.T, np.ones(len(x)), idf).recall
        for mass in (len(y), len(x), 7):
            similarity = (y @ x.T).astype(np.float64)
            flow = np.zeros_like(similarity)
            flow[np.arange(len(y)), similarity.argmax(axis=1)] = 1 / mass
            cost = mass / idf.sum() * idf[:, None] * similarity
            assert (cost * flow).sum() == pytest.approx(recall, abs=1e-6)


def test_smd_is_moverscore_of_the_whole_text() -> None:
    for profile in ("v1", "v2", "paper"):
        whole = nlgauge.score(HYPS, REFS, metric=f"moverscore:profile={profile},n=sentence")
        smd = nlgauge.score(HYPS, REFS, metric=nlgauge.SMD(profile=profile))
        assert np.array_equal(smd.score, whole.score)
    with pytest.raises(nlgauge.RecipeError, match="moverscore"):
        nlgauge.SMD(n=2)


def test_smd_of_the_web_service() -> None:
    """D5.8, by hand: minus the L1 distance of unit means of min + mean + max over unit layers."""
    encoder = load_encoder("minilm")
    points = []
    for text in encode_texts(
        encoder, encoder.tokenizer.encode([HYPS[0], REFS[0]]), (2, 3, 4, 5, 6), batch_tokens=512
    ):
        stack = np.stack([unit_rows(text.layers[layer]) for layer in (2, 3, 4, 5, 6)])
        mean = np.concatenate([stack.min(0), stack.mean(0), stack.max(0)], axis=1).mean(axis=0)
        points.append(mean / np.linalg.norm(mean))
    score = nlgauge.score(HYPS[:1], REFS[:1], metric="smd:profile=web")
    assert score.score[0] == pytest.approx(-np.abs(points[0] - points[1]).sum(), abs=1e-4)
    assert nlgauge.score(REFS, REFS, metric="smd:profile=web").score == pytest.approx(0)


def test_the_paper_sums_vectors_by_idf() -> None:
    """Equation 1 is a sum: with a frozen table that doubles every idf, every distance doubles too."""
    weights = nlgauge.score(HYPS, REFS, metric="moverscore:profile=paper,idf=refs", alignments=True)
    bigger = nlgauge.score([*HYPS, *REFS], [*REFS, *REFS], metric="moverscore:profile=paper,idf=refs")
    assert not np.allclose(weights.score, bigger.score[:3]), "idf scales the vectors, not the weights alone"


def test_special_tokens_can_be_dropped() -> None:
    kept, dropped = (
        nlgauge.score(HYPS, REFS, metric=f"moverscore:idf=none,specials={choice}", alignments=True)
        for choice in ("keep", "drop")
    )
    assert kept.alignments is not None
    assert dropped.alignments is not None
    first_kept, first_dropped = kept.alignments[0], dropped.alignments[0]
    assert first_kept is not None
    assert first_dropped is not None
    assert "[CLS]" in first_kept.hypothesis_tokens
    assert not {"[CLS]", "[SEP]"} & set(first_dropped.hypothesis_tokens)
    assert dropped.signature.recipe["profile"] == "v1*"
    with pytest.warns(nlgauge.ZeroWeightWarning):
        bare = nlgauge.score(["...", "Bread."], ["Bread.", "Bread."], metric="moverscore:idf=none,specials=drop")
    assert bare.score[0] == 0
    assert bare.counts["zero_weight"] == 1


def test_layers_and_exponents_are_choices() -> None:
    one = nlgauge.score(HYPS, REFS, metric="moverscore:aggregation=layer-6")
    last = nlgauge.score(HYPS, REFS, metric="moverscore:aggregation=last")
    assert np.array_equal(one.score, last.score)
    mean = nlgauge.score(HYPS, REFS, metric="moverscore:exponents=1")
    assert mean.signature.recipe["exponents"] == "1"
    assert mean.signature.recipe["profile"] == "v1*"
    assert not np.allclose(mean.score, nlgauge.score(HYPS, REFS, metric="moverscore").score)
    with pytest.raises(nlgauge.RecipeError, match="exponents"):
        nlgauge.MoverScore(exponents="1+x")
    with pytest.raises(nlgauge.RecipeError, match="layers 0 to 6"):
        nlgauge.score(HYPS, REFS, metric="moverscore:aggregation=layer-7")


def test_v2_with_n_grams_is_marked() -> None:
    """The released v2 ignores its n; ours obeys, and says that this is no longer v2."""
    assert nlgauge.score(HYPS, REFS, metric="moverscore:profile=v2,n=2").signature.recipe["profile"] == "v2*"
    assert nlgauge.score(HYPS, REFS, metric="moverscore:profile=v1,n=2").signature.recipe["profile"] == "v1"


def test_word_vectors_are_an_encoder(tmp_path: Path) -> None:
    """WMD on vectors that can be checked by hand: 'ferry storm' to 'boat storm' moves half the mass."""
    path = tmp_path / "words.txt"
    path.write_text(VECTORS)
    with pytest.warns(nlgauge.UnknownWordWarning, match="1 segment"):
        score = nlgauge.score(
            ["Ferry storm", "ferry kraken"],
            ["boat storm", "ferry"],
            metric=f"moverscore:model={path},profile=paper,idf=none",
        )
    assert score.score[0] == pytest.approx(0.5 * np.hypot(0.1, 0.1), abs=1e-6)
    assert score.score[1] == pytest.approx(0, abs=1e-6)
    assert score.signature.recipe["model"] == "words.txt"
    assert score.signature.recipe["engine"] == "static"
    assert score.signature.run["unknown"] == "1"
    again = nlgauge.score(["Ferry storm"], ["boat storm"], metric=score.signature, model=str(path))
    assert again.score[0] == score.score[0]
    greedy = nlgauge.score(["ferry"], ["boat"], metric=f"bertscore:model={path}")
    assert greedy.f1[0] == pytest.approx(0.9 / np.hypot(0.9, 0.1), abs=1e-6)
    smd = nlgauge.score(["ferry storm"], ["boat"], metric=f"smd:model={path},idf=none,profile=paper")
    assert smd.score[0] == pytest.approx(np.linalg.norm([1 - 0.9, 1 - 0.1, 0]), abs=1e-6)


def test_word2vec_has_a_header_and_case(tmp_path: Path) -> None:
    path = tmp_path / "w2v.txt"
    path.write_text("3 2\nFerry 1 0\nferry 0 1\n. . 1 1\n")
    encoder = load_encoder(str(path))
    assert encoder.hidden_size == 2
    (tokens,) = encoder.tokenizer.encode(["Ferry ferry FERRY"])
    assert encoder.tokenizer.token_strings(tokens) == ("Ferry", "ferry")
    assert tokens.unknown == 1


@pytest.mark.parametrize("text", ["", "ferry 1 x\n", "ferry 1 2\nboat 1\n", "ferry nan 1\n"])
def test_a_broken_file_of_vectors_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"broken\.txt"):
        load_encoder(str(path))


def test_stop_words_by_name() -> None:
    pytest.importorskip("stopwordsiso")
    plain = nlgauge.score(HYPS, REFS, metric="moverscore:idf=none")
    without = nlgauge.score(HYPS, REFS, metric="moverscore:idf=none,stopwords=iso-en", alignments=True)
    assert without.alignments is not None
    flow = without.alignments[0]
    assert flow is not None
    assert not {"a", "the", "was", "of"} & {*flow.hypothesis_tokens, *flow.reference_tokens}
    assert not np.allclose(plain.score, without.score)
    assert without.signature.recipe["stopwords"].startswith("iso-en[")
    again = nlgauge.score(HYPS, REFS, metric=without.signature)
    assert np.array_equal(again.score, without.score)
    with pytest.raises(nlgauge.RecipeError, match="'xx'"):
        nlgauge.score(HYPS, REFS, metric="moverscore:stopwords=iso-xx")


def test_stop_words_of_spacy_and_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages are heavy; what is read of them is a set and a function, which stand in here."""
    from nlgauge.text import load_stopwords, stopwords

    folder = tmp_path / "spacy" / "lang" / "en"
    folder.mkdir(parents=True)
    for package in (tmp_path / "spacy", tmp_path / "spacy" / "lang", folder):
        (package / "__init__.py").touch()
    (folder / "stop_words.py").write_text("STOP_WORDS = {'the', 'a'}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "spacy"}
    for name in before:
        del sys.modules[name]
    try:
        found = load_stopwords("spacy-en")
        assert (found.name, found.words) == ("spacy-en", {"the", "a"})
        with pytest.raises(nlgauge.RecipeError, match="'xx'"):
            load_stopwords("spacy-xx")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "spacy"]:
            del sys.modules[name]
        sys.modules.update(before)
        stopwords._by_name.cache_clear()
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(nlgauge.MissingExtraError, match="pip install nltk"):
        load_stopwords("nltk-en")


@pytest.mark.parametrize(
    ("metric", "best"),
    [
        ("moverscore:idf=none", 1.0),
        ("smd:idf=none", 1.0),
        ("smd:profile=web", 0.0),
        ("moverscore:profile=paper,idf=none", 0.0),
    ],
)
def test_an_empty_text_is_never_the_best(metric: str, best: float) -> None:
    with pytest.warns(nlgauge.EmptyTextWarning):
        score = nlgauge.score(["", HYPS[0], REFS[0]], [REFS[0]] * 3, metric=metric)
    sign = 1 if score.higher_is_better else -1
    empty, unlike, same = sign * score.score
    assert unlike < same
    assert empty < sign * best - 0.2


@pytest.mark.parametrize(
    ("subwords", "kept"),
    [("first", "office thesis"), ("all", "office gem thesis"), ("average", "office ofgem thesis")],
)
def test_what_a_stop_word_is_depends_on_what_stands_for_a_word(tmp_path: Path, subwords: str, kept: str) -> None:
    """ "ofgem" is "of" + "##gem" in this vocabulary; only whole words tell it from "of"."""
    stop = tmp_path / "stop.txt"
    stop.write_text("the\na\nof\n")
    metric = f"moverscore:idf=none,specials=drop,subwords={subwords},stopwords={stop}"
    text = "The office of ofgem thesis"
    score = nlgauge.score([text], [text], metric=metric, alignments=True)
    assert score.alignments is not None
    flow = score.alignments[0]
    assert flow is not None
    tokens = load_encoder("minilm").tokenizer
    (encoded,) = tokens.encode(["ofgem"])
    assert tokens.token_strings(encoded) == ("[CLS]", "of", "##ge", "##m", "[SEP]")
    expected = {"first": ("office", "thesis"), "all": ("office", "##ge", "##m", "thesis")}
    assert flow.hypothesis_tokens == expected.get(subwords, ("office", "of", "thesis"))


def test_a_zero_vector_is_no_vector(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("ferry 1 0\nat 0 0\n")
    with pytest.warns(nlgauge.UnknownWordWarning):
        score = nlgauge.score(["ferry at"], ["ferry"], metric=f"moverscore:model={path},idf=none")
    assert score.score[0] == pytest.approx(1)


def test_the_run_part_names_each_systems_own_idf() -> None:
    one, two = nlgauge.score_systems({"a": HYPS, "b": REFS[::-1]}, REFS, metrics=["moverscore"])
    assert one.signature.recipe == two.signature.recipe
    assert one.signature.run["idf_hyps"] != two.signature.run["idf_hyps"]
    assert "idf_hyps" not in nlgauge.score(HYPS, REFS, metric="moverscore:idf=refs").signature.run
