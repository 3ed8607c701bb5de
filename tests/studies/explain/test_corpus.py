"""Summaries of a corpus by kinds of words, and error scores of words against words that people marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.cards import load
from nlgauge.data.judgements import ErrorSpan, JudgementTable
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.studies.explain.corpus import (
    evaluate_errors,
    explain_corpus,
    gold_words,
    read_word_scores,
    read_word_tags,
    word_errors,
)
from nlgauge.studies.explain.pairs import explain_pairs
from nlgauge.testing import hash_encoder
from nlgauge.text.annotation import AnnotatedText, annotate_each

TREES = """\
# text = Dogs barked.
1\tDogs\tdog\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_
2\tbarked\tbark\tVERB\t_\tTense=Past\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# text = A dog barks loudly.
1\tA\ta\tDET\t_\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\t_\tNumber=Sing\t3\tnsubj\t_\t_
3\tbarks\tbark\tVERB\t_\tTense=Pres\t0\troot\t_\t_
4\tloudly\tloudly\tADV\t_\t_\t3\tadvmod\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

# text = Cats sleep.
1\tCats\tcat\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_
2\tsleep\tsleep\tVERB\t_\tTense=Pres\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_
"""
HYPS, REFS = ["Dogs barked.", "Cats sleep.", "Cats sleep."], ["A dog barks loudly.", "Cats sleep.", "Dogs barked."]


@pytest.fixture
def parses(tmp_path: Path) -> str:
    file = tmp_path / "texts.conllu"
    file.write_text(TREES, encoding="utf-8")
    return str(file)


def test_shares_are_those_of_the_contributions_of_each_pair(parses):
    result = explain_corpus(HYPS, REFS, metric="bertscore", annotator=parses, resamples=100)
    assert (result.of, result.texts, result.skipped) == ("precision", 3, 0)
    parts = {part.group: part for part in result.parts_of_speech}
    assert {name: item.words for name, item in parts.items()} == {"NOUN": 3, "VERB": 3, "PUNCT": 3}
    values = [
        explanation.attribution(of="precision").values
        for explanation in explain_pairs(HYPS, REFS, metric="bertscore")
    ]
    total = sum(abs(value) for row in values for value in row)
    assert parts["NOUN"].share == pytest.approx(sum(row[0] for row in values) / total, abs=1e-9)
    assert parts["VERB"].mean == pytest.approx(sum(row[1] for row in values) / 3, abs=1e-9)
    assert sum(part.share for part in result.parts_of_speech) == pytest.approx(1)
    assert all(part.low <= part.share <= part.high for part in result.parts_of_speech)


def test_matches_are_the_same_word_another_form_or_neither(parses):
    result = explain_corpus(HYPS, REFS, metric="bertscore", annotator=parses, resamples=100)
    # Dogs/dog and barked/barks; Cats, sleep; Cats and sleep beside nothing of theirs.
    assert [(match.group, match.words) for match in result.matches] == [
        ("same word", 2),
        ("same lemma", 2),
        ("other word", 2),
        ("punctuation", 3),
    ]


def test_words_of_the_reference_and_what_the_score_loses_without_each(parses):
    result = explain_corpus(
        HYPS, REFS, metric="bertscore", annotator=parses, side="reference", method="leave-one-out", resamples=100
    )
    assert (result.of, result.side, result.method) == ("f1", "reference", "leave-one-out")
    assert sum(part.words for part in result.parts_of_speech) == 11
    assert json.loads(json.dumps(result.to_dict()))["parts_of_speech"][0]["group"] == result.parts_of_speech[0].group


def test_a_text_that_cannot_be_annotated_is_left_out_and_counted(parses):
    result = explain_corpus([*HYPS, "Unparsed."], [*REFS, "Cats sleep."], annotator=parses, resamples=100)
    assert (result.texts, result.skipped) == (3, 1)


def test_one_text_has_shares_and_no_intervals(parses):
    result = explain_corpus(HYPS[:1], REFS[:1], metric="bertscore", annotator=parses, resamples=100)
    assert {(item.low, item.high) for item in (*result.parts_of_speech, *result.matches)} == {(None, None)}
    assert "nan" not in result.render().lower()


def test_texts_are_annotated_in_one_go_and_a_refused_one_alone_is_left_out():
    asked: list[int] = []

    class Refusing:
        label = engine = "refusing"

        def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
            asked.append(len(texts))
            if "bad" in texts:
                msg = "bad"
                raise InputError(msg)
            return [AnnotatedText(text, ()) for text in texts]

    good = [f"text {number}" for number in range(31)]
    assert all(annotate_each(Refusing(), good).values())
    assert asked == [31]
    result = annotate_each(Refusing(), [*good, "bad", "bad"])
    assert [text for text, value in result.items() if value is None] == ["bad"]
    assert len(asked) == 1 + 1 + 2 * 5, "halved five times, not asked 32 times"


def test_corpora_without_contributions_are_errors(parses):
    message = "method must be one of linear, leave-one-out, shapley, lime, got 'gradient'"
    with pytest.raises(RecipeError, match=message):
        explain_corpus(HYPS, REFS, annotator=parses, method="gradient")
    with pytest.raises(InputError, match="none of the 3 texts has linear contributions"):
        explain_corpus(HYPS, REFS, metric="chrf", annotator=parses)


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
    result = evaluate_errors(gold_words(load("eval4nlp", data_folder, langpairs=langpair)), scores)
    assert tuple(round(value, 3) for value in (result.auc, result.ap, result.recall)) == published
    assert result.texts == texts


def test_matches_with_the_source_find_words_that_were_translated_wrongly(data_folder: Path) -> None:
    """A first trial of this error score (word vectors of muse) had AUC .738 on all 1,180 sources of ru-de."""
    if not (data_folder / "eval4nlp").is_dir():
        pytest.skip("NLGAUGE_DATA does not hold eval4nlp")
    part = load("eval4nlp", data_folder, langpairs="ru-de").first_rows(80)
    scores = word_errors(part, metric="bertscore:model=muse,against=source", side="reference", words="blanks")
    result = evaluate_errors(gold_words(part, side="reference"), scores)
    assert result.auc > 0.738


def test_words_that_an_error_touches_are_gold_unless_it_weighs_nothing() -> None:
    assert gold_words(table(), words="words") == [[0, 1, 0, 0], [0, 0, 1, 0]]
    assert gold_words(table(), words="blanks") == [[0, 1, 0, 0], [0, 0, 1]]


def test_a_table_without_marked_errors_is_refused() -> None:
    with pytest.raises(InputError, match="made has no marked errors in the source"):
        gold_words(table(), side="reference")


def test_means_are_over_texts_with_both_kinds_of_words() -> None:
    result = evaluate_errors([[1, 0], [1, 1], [0, 1, 0]], [[0.9, 0.1], [0.1, 0.2], [0.3, 0.2, 0.1]])
    assert result.skipped == 1
    assert (result.auc, result.ap, result.recall) == (0.75, 0.75, 0.5)


@pytest.mark.parametrize(
    ("gold", "scores", "message"),
    [
        ([[0, 1]], [], "the same number of texts, got 1 and 0"),
        ([[0, 1]], [[1.0]], "text 0: expected a score for each of 2 words, got 1"),
        ([[0, 0]], [[1.0, 2.0]], "none of the 1 texts"),
    ],
)
def test_mismatched_labels_and_scores_are_errors(
    gold: list[list[int]], scores: list[list[float]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_errors(gold, scores)


@pytest.mark.parametrize("method", ["match", "leave-one-out", "shapley"])
@pytest.mark.parametrize("metric", ["bertscore:layer=0", "baryscore"])
def test_a_word_that_is_too_much_has_the_highest_error(method: str, metric: str) -> None:
    """Both for a similarity and for a distance."""
    with hash_encoder(layers=0) as model:
        result = word_errors(table(), metric=metric, method=method, model=model, words="blanks")
    assert [len(row) for row in result] == [4, 3]
    assert int(np.argmax(result[0])) == 1


def test_another_method_is_refused() -> None:
    with pytest.raises(InputError, match="match, leave-one-out, shapley, lime, got 'gradient'"):
        word_errors(table(), method="gradient")


def test_tags_and_scores_are_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "tags").write_text("0 1 0\n1 1\n", encoding="utf-8")
    (tmp_path / "scores").write_text("0.5 -1 2e-3\n1 0\n", encoding="utf-8")
    (tmp_path / "scores.jsonl").write_text('{"shap": [0.5, -1]}\n', encoding="utf-8")
    assert read_word_tags(str(tmp_path / "tags")) == [[0, 1, 0], [1, 1]]
    assert read_word_scores(str(tmp_path / "scores")) == [[0.5, -1.0, 0.002], [1.0, 0.0]]
    assert read_word_scores(f"{tmp_path / 'scores.jsonl'}:shap", lower_is_error=True) == [[-0.5, 1.0]]


@pytest.mark.parametrize(("line", "got"), [("0 2", "'0 2'"), ("", "''"), ("OK BAD", "'OK BAD'")])
def test_tags_are_0_or_1(tmp_path: Path, line: str, got: str) -> None:
    (tmp_path / "tags").write_text(f"0 1\n{line}\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"line 2: expected 0 or 1 for each word, got {got}"):
        read_word_tags(str(tmp_path / "tags"))


@pytest.mark.parametrize("line", ["0.5 x", "nan", "1 inf"])
def test_scores_are_finite_numbers(tmp_path: Path, line: str) -> None:
    (tmp_path / "scores").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 1: expected a number for each word"):
        read_word_scores(str(tmp_path / "scores"))


def test_non_numeric_value_in_jsonl_is_located(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"s": [1, null]}\n', encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 1, column 's': expected a number for each word, got None"):
        read_word_scores(f"{tmp_path / 'a.jsonl'}:s")
