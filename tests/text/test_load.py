"""Annotators by name, and what they remember."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.samples import write_dated

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import MissingExtraError, RecipeError, UnsupportedModelError
from nlgauge.text.annotation import AnnotatedSentence, AnnotatedText, AnnotatedWord
from nlgauge.text.annotators import LoadedAnnotator, load_annotator


class Counting:
    """One sentence, a word per blank; counts what it is asked."""

    label, engine, language = "counting", "", ""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        self.asked += texts
        return [
            AnnotatedText(
                text, (AnnotatedSentence(0, len(text), tuple(AnnotatedWord(0, 1, w, w, "X") for w in text.split())),)
            )
            for text in texts
        ]


def test_each_distinct_text_is_annotated_once() -> None:
    inner = Counting()
    annotator = LoadedAnnotator(inner)
    first = annotator.annotate(["a b", "c", "a b"])
    again = annotator.annotate(["c", "d", "a b"])
    assert inner.asked == ["a b", "c", "d"]
    assert annotator.annotated == 3
    assert [text.text for text in first] == ["a b", "c", "a b"]
    assert again[2] is first[0]


def test_cache_of_annotations_is_bounded() -> None:
    inner = Counting()
    annotator = LoadedAnnotator(inner, memo_words=7)  # a text weighs its words and one
    annotator.annotate(["a b", "c d"])
    annotator.annotate(["a b"])
    annotator.annotate(["e f"])
    annotator.annotate(["a b"])
    assert inner.asked == ["a b", "c d", "e f"], "the text asked for least recently goes first"
    annotator.annotate(["c d"])
    assert inner.asked[-1] == "c d"
    long = annotator.annotate(["x " * 20])
    assert len(long[0].sentences[0].words) == 20, "longer than the memory, and annotated all the same"


@pytest.mark.parametrize("name", ["spacy-de", "udpipe", "/nowhere"])
def test_a_language_without_annotator_is_pointed_to_conllu(name: str) -> None:
    with pytest.raises(RecipeError, match=r"unknown annotator .*spacy-en for English.*CoNLL-U"):
        load_annotator(name)


def test_rules_for_sentences_are_checked() -> None:
    with pytest.raises(RecipeError, match="sentences must be one of rules, lines, annotator, got 'punkt'"):
        load_annotator("spacy-en", sentences="punkt")


def test_without_spacy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from nlgauge.text import annotators as load

    load._load.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[spacy\]', or use your own CoNLL-U"):
        load_annotator("spacy-en")


def test_an_annotator_is_no_encoder() -> None:
    with pytest.raises(UnsupportedModelError, match="'spacy-en' is an annotator, not an encoder; use an encoder"):
        load_encoder("spacy-en")


def test_replaced_conllu_file_of_the_same_size_and_date_is_read_again(tmp_path: Path) -> None:
    line = b"# text = runs\n1\truns\t%b\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    path = write_dated(tmp_path / "parses.conllu", line % b"run")

    def lemma_and_label() -> tuple[str, str]:
        annotator = load_annotator(str(path), sentences="annotator")
        return annotator.annotate(["runs"])[0].sentences[0].words[0].lemma, annotator.label

    before = lemma_and_label()
    write_dated(path, line % b"ran")
    after = lemma_and_label()
    assert (before[0], after[0]) == ("run", "ran")
    assert before[1] != after[1]
