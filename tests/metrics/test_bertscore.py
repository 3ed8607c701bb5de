"""BERTScore: the scores of bert-score 0.3.13 (origin: `about` in the golden files), and what goes beyond them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.byte_level_models import write_roberta
from tests.samples import GoldenPairs

import nlgauge
from nlgauge.apps.cli import main
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.vectors.cloud import Alignment

HYP = ["The ferry was called off because of the storm."]
REFS = ["A storm stopped the ferry.", "The ferry was cancelled because of the storm.", "Ferry, storm."]
NAMES = {"P": "precision", "R": "recall", "F": "f1"}
SETTINGS = [
    ("minilm", 4, "none"),
    ("minilm", 4, "refs"),
    ("minilm", 6, "none"),
    ("minilm", 6, "refs"),
    ("mpnet", 9, "none"),
    ("mpnet", 9, "refs"),
]


def agrees(score: nlgauge.Score, golden: dict[str, list[float]]) -> None:
    for key, name in NAMES.items():
        np.testing.assert_allclose(score.segments[name], golden[key], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("model", "layer", "idf"), SETTINGS)
def test_thirty_pairs_match_released_scores(thirty_pairs: dict[str, Any], model: str, layer: int, idf: str) -> None:
    score = nlgauge.score(
        [pair["hyp"] for pair in thirty_pairs["pairs"]],
        [pair["ref"] for pair in thirty_pairs["pairs"]],
        metric=nlgauge.metrics.BERTScore(model=model, layer=layer, idf=idf),
    )
    suffix = "noidf" if idf == "none" else "idf"
    agrees(score, thirty_pairs["scores"][f"{model}.bertscore.L{layer}.{suffix}"])


@pytest.mark.parametrize(("layer", "idf"), [(4, "none"), (4, "refs"), (6, "none"), (6, "refs")])
def test_wmt17_czech_english_matches_released_scores(wmt17_czech_english: GoldenPairs, layer: int, idf: str) -> None:
    score = nlgauge.score(
        wmt17_czech_english.hyps,
        wmt17_czech_english.refs,
        metric=nlgauge.metrics.BERTScore(model="minilm", layer=layer, idf=idf),
    )
    agrees(score, wmt17_czech_english.scores[f"bertscore.L{layer}.{'noidf' if idf == 'none' else 'idf'}"])


def test_default_layers_are_the_tables() -> None:
    for model, layer in (("minilm", "4"), ("mpnet", "7")):
        assert nlgauge.score(["a cat"], ["the cat"], model=model).signature.recipe["layer"] == layer


def test_multiple_references_follow_the_named_rule() -> None:
    single = [nlgauge.score(HYP, [ref]) for ref in REFS]
    values = {name: [s.segments[name][0] for s in single] for name in ("precision", "recall", "f1")}
    best = int(np.argmax(values["f1"]))
    assert best == 1
    by_rule = {rule: nlgauge.score(HYP, [REFS], multiref=rule) for rule in ("best-f", "best-each", "mean")}
    for name, per_reference in values.items():
        assert by_rule["best-f"].segments[name][0] == per_reference[best]
        assert by_rule["best-each"].segments[name][0] == max(per_reference)
        assert by_rule["mean"].segments[name][0] == pytest.approx(np.mean(per_reference), abs=1e-12)
    for rule, score in by_rule.items():
        assert score.best_reference is not None
        assert score.best_reference[0] == best
        assert score.signature.recipe["multiref"] == rule
        assert score.signature.recipe["refs"] == "3"


def test_references_may_vary_in_number_and_come_as_streams() -> None:
    hyps = HYP * 2
    varied = nlgauge.score(hyps, [REFS, "A storm stopped the ferry."])
    assert varied.signature.recipe["refs"] == "var"
    streams = nlgauge.score(hyps, ref_streams=[[REFS[0]] * 2, [REFS[1]] * 2])
    assert np.array_equal(streams.f1, nlgauge.score(hyps, [REFS[:2]] * 2).f1)


def test_the_alignment_explains_the_score() -> None:
    score = nlgauge.score(HYP, [REFS], alignments=True)
    assert score.alignments is not None
    alignment = score.alignments[0]
    assert alignment is not None
    assert alignment.reference_index == 1
    assert alignment.hypothesis_tokens[:3] == ("[CLS]", "the", "ferry")
    weights, similarity = alignment.hypothesis_weight, alignment.hypothesis_similarity
    assert weights[0] == weights[-1] == 0, "special tokens can be matched but do not count"
    assert (weights * similarity).sum() / weights.sum() == pytest.approx(score.precision[0], abs=1e-6)
    weights, similarity = alignment.reference_weight, alignment.reference_similarity
    assert (weights * similarity).sum() / weights.sum() == pytest.approx(score.recall[0], abs=1e-6)
    ferry = alignment.hypothesis_tokens.index("ferry")
    assert alignment.reference_tokens[alignment.hypothesis_match[ferry]] == "ferry"


METRICS_AT_ONCE = ["bertscore:layer=4", "bertscore:layer=6,idf=refs", "moverscore", "smd", "baryscore"]


def test_every_text_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems, references and metrics of a call share one encoding of each distinct text."""
    seen: list[tuple[int, ...]] = []
    encode = OnnxEncoder.encode

    def counting(self: OnnxEncoder, ids: np.ndarray, layers: tuple[int, ...]) -> list[np.ndarray]:
        seen.extend(tuple(row) for row in ids.tolist())
        return encode(self, ids, layers)

    monkeypatch.setattr(OnnxEncoder, "encode", counting)
    refs = ["The ferry was cancelled.", "Nobody came.", "Yes."]
    systems = {
        "a": ["A ferry was cancelled.", "Nobody came.", "Yes."],
        "b": ["A ferry was cancelled.", "No.", "Yes."],
    }
    nlgauge.score_systems(systems, refs, metric=METRICS_AT_ONCE)
    distinct = {text for texts in [*systems.values(), refs] for text in texts}
    assert len(seen) == len(set(seen)) == len(distinct)


def test_over_long_text_is_cut_at_the_models_limit_and_counted() -> None:
    """512, not the 128 of the stored tokenizer.json: a change after token 128 must move the score."""
    long = " ".join(["bread"] * 400)
    changed = " ".join(["bread"] * 300 + ["storm"] * 100)
    score = nlgauge.score([long, changed], [long, long])
    assert score.counts["truncated"] == 0
    assert score.f1[1] < score.f1[0] - 0.01
    with pytest.warns(nlgauge.errors.TruncationWarning, match=r"1 segment \(index 1\).*512"):
        score = nlgauge.score(["bread", "bread " * 600], ["bread", "bread"])
    assert score.notes.get("truncated", ()) == (1,)
    assert score.signature.run["truncated"] == "1"
    with pytest.raises(nlgauge.errors.TooLongError, match=r"segment 1: the hypothesis has 602 tokens.*512"):
        nlgauge.score(["bread", "bread " * 600], ["bread", "bread"], long="error")


def test_negative_cosines_are_not_lifted_to_zero() -> None:
    from nlgauge.vectors.greedy import greedy_match

    similarity = np.array([[-0.5, -0.2], [0.4, -0.9]], dtype=np.float32)
    match = greedy_match(similarity, np.array([1.0, 1.0]), np.array([1.0, 3.0]))
    assert match.precision == pytest.approx((-0.2 + 0.4) / 2, abs=1e-7)
    assert match.recall == pytest.approx((0.4 + 3 * -0.2) / 4, abs=1e-7)


def test_language_codes_in_any_spelling() -> None:
    plain = nlgauge.score(HYP, REFS[:1], lang="en", rescale=True)
    for code in ("EN", "en-US"):
        assert nlgauge.score(HYP, REFS[:1], lang=code, rescale=True).signature == plain.signature


def test_idf_both_uses_a_table_per_side() -> None:
    hyps = ["A ferry was cancelled.", "The ferry and the ferry.", "Bread."]
    refs = ["The ferry was cancelled.", "Nobody came.", "Bread is good."]
    both, first, none = (nlgauge.score(hyps, refs, idf=choice) for choice in ("both", "refs", "none"))
    assert np.array_equal(both.recall, first.recall), "references are weighed by the references' table in both"
    assert not np.allclose(both.precision, first.precision)
    assert not np.allclose(both.precision, none.precision)
    assert both.signature.recipe["idf"].startswith("both[")


def test_stop_words_are_removed_after_encoding_on_both_sides(tmp_path: Path) -> None:
    words = tmp_path / "stop.txt"
    words.write_text("the\na\nwas\n", encoding="utf-8")
    hyp, ref = "The storm was a surprise.", "A storm, the surprise was."
    score = nlgauge.score([hyp], [ref], stopwords=str(words), alignments=True)
    assert score.alignments is not None
    aligned = score.alignments[0]
    assert isinstance(aligned, Alignment)
    assert aligned.hypothesis_tokens == ("[CLS]", "storm", "surprise", ".", "[SEP]")
    assert aligned.reference_tokens == ("[CLS]", "storm", ",", "surprise", ".", "[SEP]")
    # The vectors are those of the whole texts: the same similarities as without a list, for the tokens that stay.
    whole = nlgauge.score([hyp], [ref], alignments=True)
    assert whole.alignments is not None
    full = whole.alignments[0]
    assert isinstance(full, Alignment)
    index = full.hypothesis_tokens.index("storm")
    assert aligned.hypothesis_similarity[1] == pytest.approx(full.hypothesis_similarity[index], abs=1e-6)
    weighty = aligned.hypothesis_similarity[aligned.hypothesis_weight > 0]
    assert score.precision[0] == pytest.approx(weighty.mean(), abs=1e-7)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")
def test_the_unknown_token_is_no_stop_word(tmp_path: Path) -> None:
    # The stop word is several pieces, the glyph is [UNK].
    words = tmp_path / "stop.txt"
    words.write_text("aforesaidly\n", encoding="utf-8")
    texts = ["The 𓀀 stayed."]
    with_list = nlgauge.score(texts, ["A 𓀀 stays."], stopwords=str(words))
    without = nlgauge.score(texts, ["A 𓀀 stays."])
    assert with_list.f1.tolist() == without.f1.tolist()


def test_a_text_of_stop_words_only_scores_0_and_is_counted(tmp_path: Path) -> None:
    words = tmp_path / "stop.txt"
    words.write_text("the\nof\n", encoding="utf-8")
    with pytest.warns(nlgauge.errors.ZeroWeightWarning):
        score = nlgauge.score(["The of the", "A storm"], ["A storm", "A storm"], stopwords=str(words))
    assert score.f1[0] == 0
    assert score.f1[1] == pytest.approx(1)
    assert score.counts["zero_weight"] == 1


def test_stop_words_are_in_the_signature_only_where_there_are_any(tmp_path: Path) -> None:
    words = tmp_path / "stop.txt"
    words.write_text("the\n", encoding="utf-8")
    plain = nlgauge.score(["The cat"], ["A cat"])
    assert "stopwords" not in plain.signature.recipe
    removed = nlgauge.score(["The cat"], ["A cat"], stopwords=str(words))
    assert removed.signature.recipe["stopwords"].startswith("file[")
    again = nlgauge.score(["The cat"], ["A cat"], metric=str(removed.signature), stopwords=str(words))
    assert again.f1.tolist() == removed.f1.tolist()
    words.write_text("cat\n", encoding="utf-8")
    with pytest.raises(nlgauge.errors.SignatureError, match="stopwords"):
        nlgauge.score(["The cat"], ["A cat"], metric=str(removed.signature), stopwords=str(words))


# --- a space before each text --------------------------------------------------------------------------


@pytest.fixture
def roberta(tmp_path: Path, own_cache: Path, roberta_space: dict[str, Any]) -> str:
    """The folder of the model whose scores were recorded."""
    folder = write_roberta(tmp_path / "roberta")
    for file, digest in roberta_space["model"].items():
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == digest, f"{file} is not the recorded one"
    return str(folder)


@pytest.mark.parametrize(
    ("options", "call", "signed"),
    [
        ("", "slow", "yes"),
        (",prefix_space=yes", "slow", "yes"),
        (",idf=refs", "slow-idf", "yes"),
        (",prefix_space=no", "fast", "no"),
    ],
)
@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_roberta_reads_a_space_before_each_text_as_published(
    roberta: str, roberta_space: dict[str, Any], options: str, call: str, signed: str
) -> None:
    hyps, refs = map(list, zip(*roberta_space["pairs"], strict=True))
    score = nlgauge.score(hyps, refs, metric=f"bertscore:layer={roberta_space['layer']}{options}", model=roberta)
    agrees(score, dict(zip(NAMES, roberta_space["scores"][call], strict=True)))
    assert score.signature.recipe["prefix_space"] == signed
    again = nlgauge.score(hyps, refs, metric=str(score.signature), model=roberta)
    assert again.to_dict() == score.to_dict()
    other = roberta_space["scores"]["slow" if call == "fast" else "fast"]
    assert np.abs(score.f1 - other[2]).mean() > 0.01


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_recipes_with_and_without_prefix_space_in_one_run(roberta: str, roberta_space: dict[str, Any]) -> None:
    hyps, refs = map(list, zip(*roberta_space["pairs"], strict=True))
    recipe = f"bertscore:layer={roberta_space['layer']},prefix_space="
    both = nlgauge.score_systems({"": hyps}, refs, metric=[f"{recipe}yes", f"{recipe}no"], model=roberta)
    for score, call in zip(both, ("slow", "fast"), strict=True):
        agrees(score, dict(zip(NAMES, roberta_space["scores"][call], strict=True)))


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_alignment_spans_do_not_depend_on_prefix_space(roberta: str) -> None:
    hyp, ref = "  The storm passed", "A storm has passed"
    score = nlgauge.score([hyp], [ref], metric="bertscore:layer=1", model=roberta, alignments=True)
    alignment = score.alignments[0]
    assert isinstance(alignment, Alignment)
    for text, spans in ((hyp, alignment.hypothesis_spans), (ref, alignment.reference_spans)):
        assert "".join(text[start:end] for token in spans for start, end in token) == text.replace(" ", "")


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning", "ignore::nlgauge.errors.DataWarning")
def test_idf_file_is_counted_with_a_space_where_texts_are_read_with_one(
    roberta: str, roberta_space: dict[str, Any], tmp_path: Path
) -> None:
    hyps, refs = map(list, zip(*roberta_space["pairs"], strict=True))
    (tmp_path / "refs.txt").write_text("\n".join(refs) + "\n", encoding="utf-8")
    build = ["build", "idf", str(tmp_path / "refs.txt"), "--model", roberta, "--quiet", "-o"]
    assert main([*build, str(tmp_path / "with.idf")]) == 0
    assert main([*build, str(tmp_path / "without.idf"), "--prefix-space", "no"]) == 0
    recipe = f"bertscore:layer={roberta_space['layer']},idf="
    score = nlgauge.score(hyps, refs, metric=f"{recipe}{tmp_path / 'with.idf'}", model=roberta)
    agrees(score, dict(zip(NAMES, roberta_space["scores"]["slow-idf"], strict=True)))
    with pytest.raises(
        nlgauge.errors.InputError, match=r"was counted without a space .* build it again with --prefix-space yes"
    ):
        nlgauge.score(hyps, refs, metric=f"{recipe}{tmp_path / 'without.idf'}", model=roberta)


def test_prefix_space_is_not_signed_without_effect() -> None:
    recipe = nlgauge.score(["A cat"], ["A cat"]).signature.recipe
    assert "prefix_space" not in recipe
    assert nlgauge.score(["A cat"], ["A cat"], prefix_space="no").signature.recipe == recipe
    with pytest.raises(nlgauge.errors.RecipeError, match="prefix_space=yes has no effect on model 'minilm'"):
        nlgauge.score(["A cat"], ["A cat"], prefix_space="yes")
