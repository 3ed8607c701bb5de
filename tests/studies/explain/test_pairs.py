"""Explanations of pairs, of many pairs, and of segments of a score."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.annotated_texts import write_conllu
from tests.apps.cli.conftest import REFERENCE, SECOND_REFERENCE, SYSTEM_A
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.errors import EmptyPairError, InputError, RecipeError, SignatureError
from nlgauge.studies.explain.explanation import Explanation
from nlgauge.studies.explain.pairs import explain_pair, explain_pairs, explain_segments, iter_explanations
from nlgauge.testing import hash_encoder
from nlgauge.vectors.cloud import Flow

HYP, REF = "the black cat sat on the mat .", "a cat sat under the old tree !"

#: Every metric with an alignment of words, in recipes that weigh and drop tokens differently.
ALIGNED = [
    "bertscore",
    "bertscore:idf=refs",
    "moverscore",
    "moverscore:n=2",
    "moverscore:profile=v2",
    "moverscore:profile=paper",
    "moverscore:profile=web",
    "moverscore:subwords=average,stopwords=iso-en",
    "baryscore",
    "xmoverscore:against=refs,model=minilm,src_lang=en",
]


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with hash_encoder() as name:
        yield name


@pytest.mark.parametrize("metric", ALIGNED)
def test_contributions_sum_to_what_is_linear_in_them(metric: str) -> None:
    for explanation in explain_pairs(SYSTEM_A, REFERENCE, metric=metric):
        for attribution in explanation.attributions:
            assert sum(attribution.values) + attribution.rest == pytest.approx(attribution.total, abs=1e-6)
        if "precision" in explanation.scores:
            for of, side in (("precision", "hypothesis"), ("recall", "reference")):
                assert explanation.attribution(of=of, side=side).total == pytest.approx(
                    explanation.scores[of], abs=1e-6
                )  # type: ignore[arg-type]
        else:
            assert isinstance(explanation.alignment, Flow)
            cost = float((explanation.alignment.flow * explanation.alignment.cost).sum())
            for side in ("hypothesis", "reference"):
                assert explanation.attribution(of="cost", side=side).total == pytest.approx(cost, abs=1e-6)  # type: ignore[arg-type]
            links = sum(link.weight * (link.cost or 0.0) for link in explanation.links)
            assert links == pytest.approx(cost, abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "score"),
    [("moverscore", lambda cost: 1 - cost), ("moverscore:profile=v2", lambda cost: 1 / (1 + cost))],
)
def test_the_cost_is_that_behind_the_score(metric: str, score: object) -> None:
    result = explain_pair(SYSTEM_A[1], REFERENCE[1], metric=metric)
    assert result.score == pytest.approx(score(result.attribution(of="cost").total), abs=1e-9)  # type: ignore[operator]


def test_scores_are_those_of_nlgauge_score(model: str) -> None:
    texts = ["the cat sat", "a dog ran"], ["a cat sat", "the bird ran"]
    for metric in ("bertscore:layer=2,idf=refs", "moverscore"):
        expected = nlgauge.score(*texts, metric=metric, model=model)
        result = explain_pairs(*texts, metric=metric, model=model)
        assert [item.score for item in result] == expected.segments[expected.main].tolist()
        assert {str(item.signature) for item in result} == {str(expected.signature)}


def test_words_have_positions_in_the_text() -> None:
    result = explain_pair("  The ofgem's cat, sat.", "A cat sat down.")
    for word in result.hypothesis.words:
        assert result.hypothesis.text[word.start : word.end] == word.text
    assert [word.text for word in result.hypothesis.words] == ["The", "ofgem's", "cat", ",", "sat", "."]
    assert sum(word.weight for word in result.hypothesis.words) == pytest.approx(1)
    assert not any(word.removed for word in result.hypothesis.words)


def test_pieces_decide_what_stands_for_a_word() -> None:
    # Of "ofgem" the first piece is a word of its own and matches better than the others.
    result = {rule: explain_pair("ofgem", "of course", pieces=rule) for rule in ("max", "mean", "first")}
    values = {rule: value.hypothesis.words[0].similarity or 0.0 for rule, value in result.items()}
    alignment = result["max"].alignment
    assert alignment is not None
    pieces = alignment.hypothesis_similarity[1:-1]  # type: ignore[union-attr]  # without special tokens
    assert values["max"] == pytest.approx(pieces.min())
    assert values["mean"] == pytest.approx(pieces.mean())
    assert values["first"] == pytest.approx(pieces[0])
    assert values["max"] < values["mean"] < values["first"]


def test_lower_case_of_another_length_keeps_the_places() -> None:
    result = explain_pair("İ saw a CAT", "i saw a cat", lowercase="yes")
    assert result.hypothesis.words[3][:3] == ("CAT", 8, 11)
    assert result.hypothesis.words[3].similarity == pytest.approx(1, abs=0.1)


def test_what_preprocessing_removed_is_named() -> None:
    result = explain_pair("The ofgem cat glowers .", "A cat sat !", metric="moverscore:stopwords=iso-en")
    removed = {word.text: word.removed for word in result.hypothesis.words if word.removed}
    # As published, a stop word may be the first piece of another word.
    assert removed == {"The": "stop word", "ofgem": "its first sub-word 'of' is a stop word", ".": "punctuation"}
    assert "hypothesis: 3 sub-words after the first of a word were left out (subwords=first)" in result.notes
    assert "idf gave a text no weight, so all its tokens weigh the same" in result.notes


def test_a_word_of_which_only_a_mark_is_kept_is_named() -> None:
    # Muse spells some words as a bare mark of white space and the word behind it, and the mark is their first piece.
    metric = "moverscore:model=muse,idf=none"
    result = explain_pair("中文语言", "A guy with a red jacket", metric=metric, threads=1)
    reported = "only the mark before it is kept (subwords=first)"
    assert [word.removed for word in result.hypothesis.words] == [reported, reported, "", ""]
    assert {word.text: word.removed for word in result.reference.words if word.removed} == {"guy": reported}
    assert "reference: only the space mark of 1 word was kept; use subwords=all to keep the text" in result.notes
    whole = explain_pair("中文语言", "A guy with a red jacket", metric=f"{metric},subwords=all", threads=1)
    assert not any(word.removed for word in (*whole.hypothesis.words, *whole.reference.words))
    assert not any("mark of white space" in note for note in whole.notes)


def test_words_cut_off_at_the_limit_are_named() -> None:
    result = explain_pair("the cat sat on the mat", "the cat", max_tokens=5)
    assert [word.removed for word in result.hypothesis.words] == ["", "", "", *["truncated at 5 tokens"] * 3]
    assert "hypothesis: 3 tokens beyond the limit of 5 were truncated" in result.notes
    assert result.attribution(of="precision").total == pytest.approx(result.scores["precision"], abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "component"),
    [("bleu", None), ("chrf", None), ("rouge1", None), ("smd", None), ("bertscore", "recall"), ("moverscore", None)],
)
def test_shapley_values_sum_to_the_score_minus_that_of_the_empty_text(metric: str, component: str | None) -> None:
    hyp, ref = "the cat sat on it", "a cat sat on the mat"
    result = explain_pair(hyp, ref, metric=metric, shapley=True, component=component)
    first = result.attribution(kind="shapley")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        empty = nlgauge.score([""], [ref], metric=metric)
    name = component or result.main
    expected = result.scores[name] - float(empty.segments[name][0])
    assert first.of == name
    assert first.error is None
    assert sum(first.values) == pytest.approx(expected, abs=1e-6)
    assert first.total == pytest.approx(expected, abs=1e-6)


def test_more_than_ten_words_are_sampled_with_an_error(model: str) -> None:
    hyp = "the black cat sat on the mat and it was old ."
    options = {"metric": "bertscore:layer=2", "model": model, "shapley": True, "samples": 8}
    result = [explain_pair(hyp, REF, **options, seed=seed).attribution(kind="shapley") for seed in (1, 1, 2)]  # type: ignore[arg-type]
    assert result[0].error is not None
    assert result[0] == result[1]
    assert result[0].values != result[2].values
    assert sum(result[0].values) == pytest.approx(result[0].total, abs=1e-6)
    assert result[0].total == pytest.approx(result[2].total, abs=1e-9)


def test_leave_one_out_is_the_loss_without_the_word(model: str) -> None:
    recipe = {"metric": "bertscore:layer=2", "model": model}
    result = explain_pair("the black cat", "the cat", **recipe, leave_one_out=True)  # type: ignore[arg-type]
    first = result.attribution(kind="leave-one-out")
    without = nlgauge.score(["the cat"], ["the cat"], **recipe).system_score  # type: ignore[arg-type]
    assert first.values[1] == pytest.approx(result.score - without)
    assert first.total is None
    other = explain_pair("the cat", "the black cat", **recipe, leave_one_out=True, side="reference")  # type: ignore[arg-type]
    turned = other.attribution(kind="leave-one-out", side="reference")
    assert turned.values[1] == pytest.approx(other.score - without)


def test_a_metric_without_a_sum_over_words_is_explained_by_shapley_values() -> None:
    result = explain_pair("the cat sat", "a cat sat", metric="chrf")
    assert [attribution.kind for attribution in result.attributions] == ["shapley"]
    assert result.notes == ("chrf does not align words",)
    with pytest.raises(InputError, match="does not align words"):
        result.error_scores()
    assert explain_pairs(["the cat sat"], ["a cat sat"], metric="chrf")[0].attributions == ()


def test_a_text_of_one_point_says_that_words_have_no_share() -> None:
    result = explain_pair("the cat sat", "a cat sat", metric="smd")
    assert "each text is one point, so its words have no separate shares of the cost" in result.notes
    assert (result.links, [attribution.kind for attribution in result.attributions]) == ((), ["shapley"])


def test_corpus_scaled_score_has_no_alignment_and_no_shapley_values() -> None:
    recipe = "sentsim:against=refs,model=minilm,combine=sss+wmd"
    result = explain_pairs(SYSTEM_A[:2], REFERENCE[:2], metric=recipe, shapley=None)[0]
    assert result.attributions == ()
    assert any("scales its parts over the whole corpus" in note for note in result.notes)
    with pytest.raises(RecipeError, match="bounds=FILE"):
        explain_pairs(SYSTEM_A[:2], REFERENCE[:2], metric=recipe, leave_one_out=True)


def test_hard_and_soft_alignments_stand_side_by_side() -> None:
    greedy = explain_pair(SYSTEM_A[0], REFERENCE[0], beside=True)
    assert {link.kind for link in greedy.links} == {"forward", "backward"}
    assert {link.kind for link in greedy.beside} == {"flow"}
    assert sum(link.weight for link in greedy.beside) == pytest.approx(1)
    soft = explain_pair(SYSTEM_A[0], REFERENCE[0], metric="moverscore", beside=True)
    assert {link.kind for link in soft.links} == {"flow"}
    assert {link.kind for link in soft.beside} == {"forward", "backward"}
    assert explain_pair(SYSTEM_A[0], REFERENCE[0]).beside == ()
    # The relaxed cost, each to its nearest, is never above that of the transport (Kusner et al. 2015).
    hard = sum(link.weight * (link.cost or 0) for link in soft.beside if link.kind == "forward")
    assert hard <= (soft.attribution(of="cost").total or 0) + 1e-9


def test_one_of_several_references_is_shown_and_the_note_says_which() -> None:
    result = explain_pair(SYSTEM_A[0], [SECOND_REFERENCE[0], SYSTEM_A[0]])
    assert result.reference.text == SYSTEM_A[0]
    assert "reference 2 of 2 is shown (the best)" in result.notes


def test_the_source_is_the_other_text_where_a_metric_compares_with_it() -> None:
    result = explain_pair("Eine Katze.", source="A cat.", metric="bertscore:against=source", threads=1)
    assert (result.against, result.reference.text) == ("source", "A cat.")
    assert [word.text for word in result.reference.words] == ["A", "cat", "."]


def test_a_segment_is_explained_with_the_idf_of_its_run(model: str) -> None:
    hyps, refs = ["the cat sat", "a dog ran", "the bird sat"], ["a cat sat", "the dog slept", "the bird ran"]
    for metric in ("moverscore", "bertscore:layer=2,idf=refs"):
        score = nlgauge.score(hyps, refs, metric=metric, model=model)
        result = score.explain(2)
        assert result.score == pytest.approx(score.segments[score.main][2], abs=1e-12)
        assert result.hypothesis.text == hyps[2]
        several = explain_segments(score, [2, 0])
        assert [item.hypothesis.text for item in several] == [hyps[2], hyps[0]]
        assert several[0].to_dict()["links"] == result.to_dict()["links"]


def test_alignments_that_a_score_carries_are_not_computed_again(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat sat", "", "the bird sat"], [["a cat sat", "the cat ran"], ["the dog"], ["the bird", "a bird"]]
    metrics = ("bertscore:layer=2,idf=refs", "moverscore:multiref=best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.EmptyTextWarning)
        plain, carrying = (
            [nlgauge.score(*texts, metric=metric, model=model, alignments=align) for metric in metrics]
            for align in (False, True)
        )
    expected = [[explanation.to_dict() for explanation in explain_segments(score, [2, 1, 0])] for score in plain]
    monkeypatch.setattr("nlgauge.studies.explain.pairs.compare", None)
    result = [[explanation.to_dict() for explanation in explain_segments(score, [2, 1, 0])] for score in carrying]
    assert result == expected


def test_leaving_words_out_keeps_the_idf_of_the_run(model: str) -> None:
    hyps, refs = ["the cat sat", "a dog ran"], ["a cat sat", "the dog slept"]
    score = nlgauge.score(hyps, refs, metric="moverscore", model=model)
    first = score.explain(0, shapley=True).attribution(kind="shapley")
    assert first.total == pytest.approx(score.segments["score"][0], abs=1e-9)  # an empty text scores 0


def test_a_system_among_others_is_explained_as_itself(model: str) -> None:
    systems = {"a": ["the cat sat", "a dog"], "b": ["a bird ran", "the dog"]}
    scores = nlgauge.score_systems(systems, ["a cat sat", "the dog slept"], metric="moverscore", model=model)
    for score, texts in zip(scores, systems.values(), strict=True):
        assert score.explain(1).hypothesis.text == texts[1]
        assert score.explain(1).score == pytest.approx(score.segments["score"][1], abs=1e-12)


def test_a_score_that_depends_on_other_segments_is_explained_among_them() -> None:
    score = nlgauge.score(SYSTEM_A, REFERENCE, metric="sentsim:against=refs,model=minilm,combine=sss+wmd")
    result = score.explain(1)
    assert result.score == score.sentsim[1]
    assert any("no alignment and no Shapley values" in note for note in result.notes)


@pytest.mark.parametrize("how", ["json", "pickle"])
def test_a_score_without_its_texts_names_the_fix(model: str, how: str) -> None:
    score = nlgauge.score(["the cat"], ["a cat"], metric="bertscore:layer=2", model=model)
    if how == "json":
        again = nlgauge.Score.from_dict(json.loads(json.dumps(score.to_dict())))
    else:
        again = pickle.loads(pickle.dumps(score))
    with pytest.raises(InputError, match=r"nlgauge\.explain_pair\(hyp, ref, metric=score\.signature\)"):
        again.explain(0)
    result = explain_pair("the cat", "a cat", metric=again.signature, model=model)
    assert result.score == score.system_score


@pytest.mark.parametrize("segment", [-1, 1, "0", 0.0])
def test_a_segment_that_is_not_there_is_refused(model: str, segment: object) -> None:
    score = nlgauge.score(["the cat"], ["a cat"], metric="bertscore:layer=2", model=model)
    with pytest.raises(InputError, match="from 0 to 0, got"):
        score.explain(segment)  # type: ignore[arg-type]


def test_an_empty_text_has_nothing_to_align(model: str) -> None:
    result = explain_pair("", "a cat", metric="bertscore:layer=2", model=model)
    assert (result.score, result.links, result.hypothesis.words) == (0.0, (), ())
    assert result.notes == ("a text is empty, so nothing can be aligned",)
    assert result.attributions == ()
    with pytest.raises(EmptyPairError):
        explain_pair(" ", "", metric="bertscore:layer=2", model=model)


def test_a_text_of_nothing_but_removed_words_is_explained_as_such() -> None:
    result = explain_pair("... !", "A cat.", metric="moverscore")
    assert [word.removed for word in result.hypothesis.words] == ["punctuation"] * 4
    assert all(link.hypothesis is None for link in result.links)
    first = result.attribution(of="cost")
    assert (sum(first.values), first.rest) == (0.0, pytest.approx(first.total))
    assert result.sentence


def test_a_long_text_has_no_shapley_values(model: str) -> None:
    long = "cat " * 201
    with pytest.raises(InputError, match="limited to texts of 200 words, got 201; use leave-one-out"):
        explain_pair(long, "a cat", metric="bleu", shapley=True)
    assert "no Shapley values: the text has 201 words, more than 200" in explain_pair(long, "a", metric="bleu").notes


def test_text_that_looks_like_html_is_escaped() -> None:
    result = explain_pair("<script>alert(1)</script> cat", "a <b>cat</b>")
    html = result._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;" in html
    assert json.loads(json.dumps(result.to_dict()))["hypothesis"]["text"] == "<script>alert(1)</script> cat"


def test_plain_data_has_words_links_contributions_and_notes(model: str) -> None:
    result = explain_pair(HYP, REF, metric="moverscore", model=model, beside=True, shapley=True, matrix=True)
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["format"] == "nlgauge-explanation-1"
    assert record["hypothesis"]["words"][2] == result.hypothesis.words[2]._asdict()
    assert len(record["links"]) == len(result.links)
    assert set(record["links"][0]) == {"kind", "hypothesis", "reference", "weight", "similarity", "cost"}
    assert [attribution["kind"] for attribution in record["attributions"]] == ["linear", "linear", "shapley"]
    assert np.array(record["matrix"]).shape == (len(result.hypothesis.words), len(result.reference.words))
    assert record["notes"] == list(result.notes)


def test_the_matrix_has_the_similarity_of_the_nearest_pieces() -> None:
    result = explain_pair("ofgem sat", "ofgem stood")
    matrix = result.word_matrix()
    assert matrix is not None
    assert matrix.shape == (2, 2)
    alignment = result.alignment
    assert alignment is not None
    assert matrix[0, 0] == pytest.approx(alignment.similarity[1:4, 1:4].max())  # type: ignore[union-attr]


def test_sentence_names_weakest_matches_and_moves(model: str) -> None:
    same = explain_pair("the cat sat", "the cat sat", metric="bertscore:layer=2", model=model)
    assert same.sentence == "bertscore f1 is 1.000 (precision 1.000, recall 1.000). Every word has an exact match."
    moved = explain_pair("the cat sat", "the cat sat", metric="moverscore", model=model).sentence
    assert moved == "moverscore is 1.000. No mass has to move: the counted words are the same."
    result = explain_pair("the cat sat", "the dog sat", metric="moverscore", model=model).sentence
    assert "Costliest moves, by their share of the cost" in result
    assert "'cat' to 'dog'" in result
    distance = explain_pair("the cat", "the dog", metric="baryscore", model=model).sentence
    assert distance.startswith("baryscore W is 0.")
    assert "lower is better" in distance


def test_rescaled_scores_say_what_the_contributions_are_to() -> None:
    result = explain_pair(SYSTEM_A[0], REFERENCE[0], metric="bertscore:rescale=yes")
    assert any("before rescaling" in note for note in result.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pieces": "last"}, "pieces must be"),
        ({"words": "letters"}, "words must be"),
        ({"side": "both"}, "side must be"),
        ({"samples": 1}, "samples must be"),
        ({"seed": -1}, "seed must be"),
        ({"component": "f2", "shapley": True}, "no component 'f2'; it has precision, recall, f1"),
        ({"laye": 3}, "did you mean"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        explain_pair("a cat", "a dog", **options)  # type: ignore[arg-type]


def test_several_texts_are_for_explain_pairs() -> None:
    with pytest.raises(InputError, match=r"explain_pairs\(\) takes several"):
        explain_pair(["a", "b"], "c")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="empty"):
        explain_pairs([], [], metric="bleu")


def test_a_signature_is_required_to_come_out_again(model: str) -> None:
    signature = nlgauge.score(["the cat", "a dog"], ["a cat", "a dog"], metric="moverscore", model=model).signature
    with pytest.raises(SignatureError):  # its idf was counted on other texts
        explain_pair("the cat", "a cat", metric=signature, model=model)


def test_an_attribution_that_is_not_there_names_those_that_are(model: str) -> None:
    result: Explanation = explain_pair("the cat", "a cat", metric="bertscore:layer=2", model=model)
    with pytest.raises(InputError, match=r"no shapley f1 of the hypothesis; available: linear precision"):
        result.attribution(of="f1", kind="shapley")


@pytest.mark.parametrize("metric", ["moverscore", "bertscore:idf=refs", "sentsim:against=refs,model=minilm", "chrf"])
def test_segments_of_a_corpus_are_explained_as_those_of_its_score(metric: str) -> None:
    score = nlgauge.score(HYPS, REFS, metric=metric)
    result = iter_explanations(HYPS, REFS, segments=[2, 0], metric=metric)
    again = explain_segments(score, [2, 0])
    assert [item.to_dict() for item in result] == [item.to_dict() for item in again]


def test_a_segment_that_is_not_in_the_corpus() -> None:
    with pytest.raises(InputError, match="from 0 to 1, got 2"):
        iter_explanations(HYPS[:2], REFS[:2], segments=[2])


def test_a_metric_that_looks_at_texts_by_themselves_is_explained_without_references(tmp_path: Path) -> None:
    parses = write_conllu(tmp_path / "parses.conllu", "cat:N sat . | cat:N dog:N ran .", "dog:N ran .")
    recipe = f"lc:annotator={parses},sentences=annotator"
    (result,) = explain_pairs(["cat sat . cat dog ran ."], ["dog ran ."], metric=recipe)
    assert result.scores["lc"] == 0.5  # the cat comes back, the dog does not
    assert result.notes == ("lc does not align words",)


@pytest.mark.parametrize("metric", ["lc", "rc"])
def test_metric_without_references_is_not_explained_by_a_source(metric: str) -> None:
    text = f"{metric} does not use sources; give references"
    with pytest.raises(nlgauge.errors.RecipeError, match=text):
        nlgauge.explain_pairs(["A cat sat."], sources=["x y"], metric=metric)
    with pytest.raises(nlgauge.errors.RecipeError, match=text):
        nlgauge.explain_pair("A cat sat.", source="x y", metric=metric)
    with pytest.raises(nlgauge.errors.RecipeError, match=text):
        nlgauge.explain_corpus(["A cat sat."], sources=["x y"], metric=metric)
    with pytest.raises(nlgauge.errors.RecipeError, match=text):
        nlgauge.score(["A cat sat."], sources=["x y"], metric=metric).explain(0)
