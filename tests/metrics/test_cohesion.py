"""Cohesion metrics from files to scores: recipes, counts, several references, invalid input."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.annotated_texts import annotated, conllu

import nlgauge
from nlgauge.errors import InputError, NoNounWarning, RecipeError, TooLongError

#: As in `tests/metrics/parts/test_cohesion.py`.
HYPOTHESIS = "the cat:N see:V dogs=dog:N . | cat:N and cat:N and bird:N . | a dog:N see:V ."
#: cat in 1, 2 and 3; dog in 1 only.
REFERENCE = "cat:N dog:N . | cat:N . | cat:N ."
#: dog in 2 and 3.
OTHER = "sun:N . | dog:N . | dog:N ."
NO_NOUN = "it rain:V ."


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    """The annotation of the texts, as options of a recipe."""
    path = tmp_path / "parses.conllu"
    path.write_text(conllu(HYPOTHESIS, REFERENCE, OTHER, NO_NOUN), encoding="utf-8")
    return f"annotator={path},sentences=annotator"


def text(short: str) -> str:
    return annotated(short).text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lc", 2 / 3),
        ("lc:profile=paper", 3 / 7),
        ("rc", 5 / 3),
        ("rc:devices=content", 7 / 12),
        ("entity-graph", 1.5 / 3),
        ("entity-graph:profile=paper", 1.5 / 9),
    ],
)
def test_hypotheses_are_scored_without_references(name: str, expected: float, recipe: str) -> None:
    metric = f"{name}{',' if ':' in name else ':'}{recipe}"
    alone = nlgauge.score([text(HYPOTHESIS)], metric=metric)
    assert alone.system_score == pytest.approx(expected)
    assert alone.signature.recipe["refs"] == "none"
    beside = nlgauge.score([text(HYPOTHESIS)], [[text(REFERENCE), text(OTHER)]], metric=metric)
    assert beside.system_score == alone.system_score
    assert str(beside.signature) == str(alone.signature), "references that are not read are not signed"


def test_a_changed_profile_has_a_star(recipe: str) -> None:
    score = nlgauge.score([text(HYPOTHESIS)], metric=f"rc:devices=content,{recipe}")
    assert score.signature.recipe["profile"] == "released*"


def test_a_metric_that_compares_still_needs_references(recipe: str) -> None:
    with pytest.raises(InputError, match="nothing to compare with; add references"):
        nlgauge.score([text(HYPOTHESIS)], metric=f"lexical-chain:{recipe}")
    with pytest.raises(InputError, match="nothing to compare with; add references"):
        nlgauge.score_systems({"a": [text(HYPOTHESIS)]}, metric=[f"lc:{recipe}", f"lexical-chain:{recipe}"])


def test_documents_without_a_noun_are_counted(recipe: str) -> None:
    with pytest.warns(NoNounWarning, match=r"1 segment \(index 1\): a text has no nouns; lc is 0 there"):
        score = nlgauge.score([text(HYPOTHESIS), text(NO_NOUN)], metric=f"lc:{recipe}")
    assert score.lc.tolist() == [pytest.approx(2 / 3), 0]
    assert score.notes.get("no_noun", ()) == (1,)
    assert score.counts["no_noun"] == 1
    assert score.signature.run["no_noun"] == "1"


def test_documents_without_shared_focus_are_counted(recipe: str) -> None:
    texts = [text(HYPOTHESIS), text(OTHER), "cat dog ."]  # the last: the first sentence of REFERENCE
    graph = nlgauge.score(texts[:2], metric=f"entity-graph:{recipe}")
    assert "no_ties" not in graph.counts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoNounWarning)
        graph = nlgauge.score([texts[0], texts[2], text(NO_NOUN)], metric=f"entity-graph:{recipe}")
        chain = nlgauge.score([texts[0]] * 3, [texts[0], texts[2], text(NO_NOUN)], metric=f"lexical-chain:{recipe}")
    assert graph.connectivity.tolist() == [0.5, 0, 0]
    assert graph.notes.get("no_ties", ()) == (1, 2), "one sentence, and no noun"
    assert graph.notes.get("no_noun", ()) == (2,)
    assert graph.signature.run["no_ties"] == "2"
    assert chain.notes.get("no_ties", ()) == (1, 2), "of a reference"
    assert chain.notes.get("no_noun", ()) == (2,)


def test_a_document_that_the_file_does_not_have_is_named(recipe: str) -> None:
    texts = [text(HYPOTHESIS), "Nobody parsed this."]
    refs = [[text(REFERENCE), text(OTHER)], [text(REFERENCE), texts[1]]]
    systems = {"a": [text(HYPOTHESIS)] * 2, "b": texts}
    message = "parses.conllu does not contain the document 'Nobody parsed this.'"
    with pytest.raises(InputError, match=rf"^segment 1: {message}"):
        nlgauge.score(texts, metric=f"lc:{recipe}")
    with pytest.raises(InputError, match=rf"^segment 1, reference 1: {message}"):
        nlgauge.score([text(HYPOTHESIS)] * 2, refs, metric=f"lexical-chain:{recipe}")
    with pytest.raises(InputError, match=rf"^system 'b', segment 1, hypothesis: {message}"):
        nlgauge.score_systems(systems, [text(REFERENCE)] * 2, metric=[f"ds-sent:{recipe}"])
    with pytest.raises(InputError, match=rf"^a\[1\]: {message}"):
        nlgauge.matrix(texts, [text(REFERENCE)], metric=f"entity-graph:{recipe}")


def test_a_document_of_too_many_sentences_is_named(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlgauge.vectors.transport.MOST_COSTS", 8)
    with pytest.raises(TooLongError, match=r"^segment 1: a graph of sentences of 3 x 3 points"):
        nlgauge.score([text(NO_NOUN), text(HYPOTHESIS)], metric=f"entity-graph:{recipe}")
    with pytest.raises(TooLongError, match=r"^document 0, reference 0: a graph of sentences of 3 x 3 points"):
        nlgauge.discourse([text(NO_NOUN)], [text(HYPOTHESIS)], **dict(part.split("=") for part in recipe.split(",")))


def test_multiref_best_or_mean_of_chains(recipe: str) -> None:
    # REFERENCE: cat goes through {1, 2, 3}, hypothesis {1, 2}: 2/3. dog has no chain there. OTHER: dog {2, 3} and
    # {1, 3}: 1/2; the sum over words is not divided by the number of chains.
    refs = [[text(REFERENCE), text(OTHER)]]
    best = nlgauge.score([text(HYPOTHESIS)], refs, metric=f"lexical-chain:{recipe}")
    assert best.system_score == pytest.approx(2 / 3)
    assert best.best_reference is not None
    assert best.best_reference.tolist() == [0]
    mean = nlgauge.score([text(HYPOTHESIS)], refs, metric=f"lexical-chain:multiref=mean,{recipe}")
    assert mean.system_score == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_the_lexical_graph_joins_nouns_by_vectors(recipe: str, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0\ndog 0.9 0.3\nbird 0 1\n", encoding="utf-8")
    # cat and dog are one entity (cosine .95), in all three sentences: 1 + 1 + 1/2, by 3 sentences.
    score = nlgauge.score([text(HYPOTHESIS)], metric=f"lexical-graph:vectors={vectors},{recipe}")
    assert score.system_score == pytest.approx(2.5 / 3)
    assert score.signature.recipe["vectors"].startswith("file[")
    apart = nlgauge.score([text(HYPOTHESIS)], metric=f"lexical-graph:vectors={vectors},threshold=0.97,{recipe}")
    assert apart.system_score == pytest.approx(1.5 / 3)


def test_lexical_graph_without_vectors_is_refused(recipe: str) -> None:
    with pytest.raises(RecipeError, match="needs word vectors; set lexical-graph:vectors=FILE"):
        nlgauge.score([text(HYPOTHESIS)], metric=f"lexical-graph:{recipe}")


def test_the_order_of_two_documents_changes_nothing(recipe: str) -> None:
    forward = nlgauge.score([text(HYPOTHESIS), text(OTHER)], metric=f"rc:{recipe}").rc
    backward = nlgauge.score([text(OTHER), text(HYPOTHESIS)], metric=f"rc:{recipe}").rc
    assert forward.tolist() == backward.tolist()[::-1]
