"""Why a word does not count."""

from __future__ import annotations

from pathlib import Path

from tests.annotated_texts import text_of, write_conllu

import nlgauge
from nlgauge.studies.explain.pairs import explain_pair
from nlgauge.testing import hash_encoder


def reasons(matches: nlgauge.Explanation) -> dict[str, str]:
    return {word.text: word.removed for word in matches.hypothesis.words}


def test_a_word_of_every_document_weighs_nothing() -> None:
    with hash_encoder() as model:
        score = nlgauge.score(
            ["the cat sat", "the dog ran"], ["the cat slept", "the dog sat"], metric="moverscore", model=model
        )
        result = score.explain(0)
    assert reasons(result) == {"the": "weight 0 by idf", "cat": "", "sat": ""}
    assert result.hypothesis.words[0].weight == 0


def test_a_word_without_a_vector_is_not_in_the_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 0 0\ncat 0 1 0\nsat 0 0 1\n", encoding="utf-8")
    result = explain_pair("the cat slept", "the cat sat", metric="moverscore:idf=none", model=str(path))
    assert reasons(result) == {"the": "", "cat": "", "slept": "not in the vocabulary"}
    assert "hypothesis: 1 words or sub-words are unknown to the model" in result.notes


def test_punctuation_counts_where_a_recipe_keeps_it() -> None:
    with hash_encoder() as model:
        dropped = explain_pair("the cat !", "the cat", metric="moverscore:idf=none", model=model)
        kept = explain_pair("the cat !", "the cat", metric="moverscore:idf=none,punctuation=keep", model=model)
    assert (reasons(dropped)["!"], reasons(kept)["!"]) == ("punctuation", "")


def test_a_stop_word_is_named_in_any_case() -> None:
    result = explain_pair("THE cat", "a cat", metric="bertscore:stopwords=iso-en")
    assert reasons(result) == {"THE": "stop word", "cat": ""}


def test_words_beside_foci_are_no_mentions(tmp_path: Path) -> None:
    """DS-Focus has no idf: what does not count is no mention, or a focus that one text lacks."""
    hypothesis, reference = "cat:N sat . | dog:N ran .", "cat:N slept ."
    parses = write_conllu(tmp_path / "parses.conllu", hypothesis, reference)
    recipe = f"ds-focus:annotator={parses},sentences=annotator"
    with hash_encoder() as model:
        result = explain_pair(text_of(hypothesis), text_of(reference), metric=recipe, model=model)
    lacking, other = "focus is not in the other text", "not a mention of a focus"
    assert reasons(result) == {"cat": "", "sat": other, ".": other, "dog": lacking, "ran": other}
