"""Error scores beside marked errors; published figures come out of published scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.cards import load
from nlgauge.data.judgements import ErrorSpan, JudgementTable
from nlgauge.errors import InputError
from nlgauge.studies.explain.evaluate import evaluate_errors, gold_words, word_errors
from nlgauge.testing import hash_encoder


def table(**columns: object) -> JudgementTable:
    values: dict[str, object] = {
        "name": "made",
        "segment": ("1", "2"),
        "system": ("", ""),
        "langpair": ("en", "en"),
        "hypothesis": ("the black cat sat", "a dog ran."),
        "references": (("the cat sat",), ("a dog slept.",)),
        "human": {},
        "default_criterion": None,
        "hypothesis_errors": ((ErrorSpan(4, 9),), (ErrorSpan(6, 9, 5.0), ErrorSpan(0, 1, 0.0))),
    }
    return JudgementTable(**(values | columns))  # type: ignore[arg-type]


# Figures of the shared task's baseline XMover-SHAP (Fomicheva et al. 2021, dev sets): AUC, AP, recall at top-K.
@pytest.mark.parametrize(
    ("langpair", "published", "texts"),
    [("ro-en", (0.638, 0.464, 0.339), 654), ("et-en", (0.583, 0.456, 0.352), 887)],
)
def test_released_explanations_give_the_published_figures(
    data_folder: Path, langpair: str, published: tuple[float, float, float], texts: int
) -> None:
    if not (data_folder / "eval4nlp").is_dir():
        pytest.skip("NLGAUGE_DATA does not hold eval4nlp")
    released = data_folder / "eval4nlp" / f"xmover-shap.{langpair}.dev.jsonl"
    lines = released.read_text(encoding="utf-8").splitlines()
    scores = [[-value for value in json.loads(line)["shap"]] for line in lines]
    found = evaluate_errors(gold_words(load("eval4nlp", data_folder, langpairs=langpair)), scores)
    assert tuple(round(value, 3) for value in (found.auc, found.ap, found.recall)) == published
    assert found.texts == texts


def test_matches_with_the_source_find_words_that_were_translated_wrongly(data_folder: Path) -> None:
    """A first trial of this error score (word vectors of muse) had AUC .738 on all 1,180 sources of ru-de."""
    if not (data_folder / "eval4nlp").is_dir():
        pytest.skip("NLGAUGE_DATA does not hold eval4nlp")
    part = load("eval4nlp", data_folder, langpairs="ru-de").first_rows(80)
    scores = word_errors(part, metric="bertscore:model=muse,against=source", side="reference", words="blanks")
    found = evaluate_errors(gold_words(part, side="reference"), scores)
    assert found.auc > 0.738


def test_words_that_an_error_touches_are_gold_unless_it_weighs_nothing() -> None:
    assert gold_words(table(), words="words") == [[0, 1, 0, 0], [0, 0, 1, 0]]
    assert gold_words(table(), words="blanks") == [[0, 1, 0, 0], [0, 0, 1]]


def test_a_table_without_marked_errors_is_refused() -> None:
    with pytest.raises(InputError, match="made has no errors marked in the source"):
        gold_words(table(), side="reference")


def test_means_are_over_texts_with_both_kinds_of_words() -> None:
    found = evaluate_errors([[1, 0], [1, 1], [0, 1, 0]], [[0.9, 0.1], [0.1, 0.2], [0.3, 0.2, 0.1]])
    assert found.skipped == 1
    assert found.by_text is not None
    np.testing.assert_allclose(found.by_text, [[1.0, 0.5], [1.0, 0.5], [1.0, 0.0]])
    assert (found.auc, found.ap, found.recall) == (0.75, 0.75, 0.5)


@pytest.mark.parametrize(
    ("gold", "scores", "message"),
    [
        ([[0, 1]], [], "as many texts, got 1 and 0"),
        ([[0, 1]], [[1.0]], "text 0: expected a score for each of 2 words, got 1"),
        ([[0, 0]], [[1.0, 2.0]], "none of the 1 texts"),
    ],
)
def test_what_does_not_fit_is_refused(gold: list[list[int]], scores: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_errors(gold, scores)


@pytest.mark.parametrize("method", ["match", "leave-one-out", "shapley"])
@pytest.mark.parametrize("metric", ["bertscore:layer=0", "baryscore"])
def test_a_word_that_is_too_much_has_the_highest_error(method: str, metric: str) -> None:
    """Both for a similarity and for a distance."""
    with hash_encoder(layers=0) as model:
        found = word_errors(table(), metric=metric, method=method, model=model, words="blanks")
    assert [len(row) for row in found] == [4, 3]
    assert int(np.argmax(found[0])) == 1


def test_another_method_is_refused() -> None:
    with pytest.raises(InputError, match="match, leave-one-out, shapley, got 'lime'"):
        word_errors(table(), method="lime")
