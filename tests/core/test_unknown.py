"""Texts of unknown tokens: refused, counted or warned about."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlgauge
from nlgauge.core.registry import METRICS

THAI = ["รถไฟมาสาย ยี่สิบนาที เพราะพายุ", "แมวนอนอยู่ บนโซฟา ในห้อง"]
UNRELATED = {
    "Thai": THAI,
    "Amharic": ["ባቡሩ ዘግይቷል።", "ድመቷ ተኝታለች።"],
    "Khmer": ["រថភ្លើងមកយឺត", "ឆ្មាកំពុងដេក"],
    "emoji": ["😀 😂 🚀", "🐈 🐟 🛋"],
    "with punctuation": ["😀 😂!", "🐈 🐟!"],
    "long words": ["a" * 101, "b" * 300],
}


def quiet(*args: Any, **options: Any) -> nlgauge.Score:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        return nlgauge.score(*args, **options)


@pytest.mark.parametrize("pair", UNRELATED.values(), ids=UNRELATED)
def test_texts_of_unknown_tokens_only_are_an_error(pair: list[str]) -> None:
    with pytest.raises(
        nlgauge.errors.UnknownTextError, match="segment 0: all tokens of a text are unknown to model 'minilm'"
    ):
        quiet(pair[:1], pair[1:])


def test_error_lists_segments_and_remedies() -> None:
    with pytest.raises(nlgauge.errors.UnknownTextError) as caught:
        quiet([THAI[0]] * 12, [THAI[1]] * 12)
    message = str(caught.value)
    assert "segment 0; segment 1; " in message
    assert "segment 9; and 2 more: " in message
    for way in ("Thai script", "model='muse'", "unknown='zero'", "unknown='score'"):
        assert way in message


def test_the_error_names_the_system() -> None:
    systems = {"a": ["The train is late."], "b": [THAI[0]]}
    with pytest.raises(nlgauge.errors.UnknownTextError, match=r"^system 'b', segment 0: "):
        nlgauge.score_systems(systems, ["The train was late."])


def test_a_model_that_supports_the_script_scores_them() -> None:
    score = nlgauge.score(THAI[:1], THAI[1:], model="muse")
    assert 0 < score.system_score < 0.6
    assert "unknown" not in score.counts


@pytest.mark.parametrize("unknown", ["error", "zero", "score"])
@pytest.mark.parametrize("text", [THAI[0], "😀", "ሰላም!"])
def test_identical_unknown_texts_match(text: str, unknown: str) -> None:
    score = quiet([text, f" {text} "], [text, text], unknown=unknown)
    assert score.f1 == pytest.approx([1, 1], abs=1e-6)
    assert score.counts["unknown"] == 2


@pytest.mark.parametrize("metric", ["bertscore", "moverscore", "smd", "xmoverscore:against=refs"])
def test_zero_scores_the_pair_0_and_leaves_the_others_alone(metric: str) -> None:
    hyps, refs = [THAI[0], "The train is late.", THAI[0]], [THAI[1], "The train was late.", THAI[0]]
    zero = quiet(hyps, refs, metric=metric, unknown="zero").segments
    plain = quiet(hyps, refs, metric=metric, unknown="score").segments
    for name, values in zero.items():
        assert values[0] == 0
        assert plain[name][0] == pytest.approx(1, abs=1e-4)
        assert np.array_equal(values[1:], plain[name][1:])


def test_zero_gives_distance_to_empty_text() -> None:
    english = "The train is late."
    score = quiet(
        [THAI[0], THAI[0], english], [THAI[1], english, THAI[1]], metric="baryscore:idf=none", unknown="zero"
    )
    empty = quiet(["", ""], [THAI[1], english], metric="baryscore:idf=none", unknown="score")
    assert score.W[:2] == pytest.approx(empty.W)
    assert score.W[2] == pytest.approx(empty.W[1])


def test_of_several_references_only_the_pair_with_an_unknown_text_scores_0() -> None:
    refs = [["The train was late.", THAI[1]]]
    both = quiet(["The train is late."], refs, unknown="zero", multiref="mean", alignments=True)
    first = quiet(["The train is late."], ["The train was late."])
    assert both.f1[0] == pytest.approx(first.f1[0] / 2)
    same = quiet([THAI[1]], refs, unknown="zero", alignments=True)
    assert same.f1[0] == pytest.approx(1, abs=1e-6)
    assert same.best_reference is not None
    assert same.alignments is not None
    assert same.alignments[0] is not None
    assert same.alignments[0].reference_index == same.best_reference[0] == 1


def test_signature_contains_and_restores_choice() -> None:
    for unknown in ("zero", "score"):
        score = quiet(THAI[:1], THAI[1:], unknown=unknown)
        assert score.signature.recipe["unknown"] == unknown
        assert score.signature.run["unknown"] == "1"
        assert quiet(THAI[:1], THAI[1:], metric=score.signature).f1[0] == score.f1[0]
    usual = nlgauge.score(["A cat."], ["The cat."])
    assert "unknown" not in str(usual.signature)


@pytest.mark.parametrize("metric", [name for name, kind in METRICS.items() if "model" in kind.options()])
def test_every_metric_of_vectors_refuses_other_values(metric: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="error, zero, score"):
        nlgauge.score(["a"], ["b"], metric=metric, unknown="ignore")


def test_lexical_metrics_have_no_unknown_tokens() -> None:
    assert nlgauge.score(THAI[:1], THAI[1:], metric="chrf").system_score < 50
    with pytest.raises(nlgauge.errors.RecipeError, match="has no option 'unknown'"):
        nlgauge.score(THAI[:1], THAI[1:], metric="chrf", unknown="zero")


@pytest.mark.parametrize(
    ("metrics", "outcomes"),
    [
        (["bertscore"], ["scored 0"]),
        (["bertscore:rescale=yes"], ["scored 0 before rescaling"]),
        (["moverscore"], ["treated as a zero vector"]),
        (["bertscore", "moverscore"], ["scored 0 by bertscore", "treated as a zero vector by moverscore"]),
        (["bertscore", "chrf"], ["scored 0"]),
    ],
)
def test_warning_about_empty_texts_says_what_each_metric_does(metrics: list[str], outcomes: list[str]) -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning) as caught:
        nlgauge.score_systems({"a": ["", "a cat"]}, ["a dog", "a cat"], metrics)
    message = ", ".join(["1 segment (index 0): empty hypothesis or reference", *outcomes])
    assert {str(warning.message) for warning in caught} == {message}


def test_idf_that_is_no_file_is_compared_with_the_words() -> None:
    with pytest.raises(
        nlgauge.errors.RecipeError, match=r"idf must be none, refs, both or a file .*'ref'; did you mean 'refs'"
    ):
        nlgauge.score(["a"], ["b"], "bertscore:idf=ref")


def test_unknown_tokens_among_others_are_counted_and_warned_of_once() -> None:
    hyps, refs = ["A train 🚂 came.", "A cat.", "Done."], ["The train came.", "The cat 🐈.", "Done."]
    with pytest.warns(nlgauge.errors.UnknownWordWarning) as caught:
        score = nlgauge.score(hyps, refs)
    assert [str(warning.message) for warning in caught] == [
        "2 segments (index 0, 1): tokens unknown to model 'minilm'; the score is unreliable"
    ]
    assert score.notes.get("unknown", ()) == (0, 1)
    assert str(score.signature).endswith("||truncated:0|empty:0|unknown:2")


def test_a_token_that_was_cut_off_is_not_counted() -> None:
    with pytest.warns(nlgauge.errors.TruncationWarning):
        score = nlgauge.score(["one two three four 🚂"], ["one two three"], max_tokens=6)
    assert "unknown" not in score.counts


def test_warning_if_word_vectors_contain_no_word_of_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 2\nmat 3 4\n", encoding="utf-8")
    with pytest.raises(
        nlgauge.errors.EmptyPairError, match="segment 0: no word of hypothesis and reference has a vector"
    ):
        nlgauge.score(["dog"], ["log"], model=str(path))


# --- scripts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "script"),
    [(["Мы идём в парк.", "Он спит."], "Cyrillic"), (["我们今天去公园玩", "今天天气很好"], "Han")],
    ids=["Russian", "Chinese"],
)
def test_unsupported_script_is_named_with_a_model_that_supports_it(texts: list[str], script: str) -> None:
    expected = rf"1 segment \(index 0\): {script} script, which model 'minilm' does not support.*model='muse'"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.UnknownWordWarning)
        with pytest.warns(nlgauge.errors.LanguageWarning, match=expected) as caught:
            nlgauge.score(texts[:1], texts[1:])
    assert [warning.category for warning in caught].count(nlgauge.errors.LanguageWarning) == 1
    nlgauge.score(texts[:1], texts[1:], model="muse")


def test_script_that_no_model_supports_offers_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.UnknownWordWarning)
        with pytest.warns(
            nlgauge.errors.LanguageWarning, match="Greek script, which model 'muse' does not support"
        ) as caught:
            nlgauge.score(["Η γάτα κοιμάται."], ["Ο σκύλος τρέχει."], model="muse")
    assert not any("model='muse'" in str(warning.message) for warning in caught)


@pytest.mark.parametrize(
    "text", ["The α and ω of it.", "Osaka (大阪) is a city.", "3.14 — 42 %", "Żółć, naïve, Ōsaka"]
)
def test_no_warning_for_single_letters_of_another_script(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", nlgauge.errors.LanguageWarning)
        warnings.simplefilter("ignore", nlgauge.errors.UnknownWordWarning)
        nlgauge.score([text], ["The end of it."])
