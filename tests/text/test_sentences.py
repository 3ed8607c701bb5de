"""Sentences by rules: what a reader would say, in any script, in linear time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.data.cards import load
from nlgauge.text.annotation import split_at_lines, split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It cost 3.5 dollars, e.g. in 1999. Then no more.", ["It cost 3.5 dollars, e.g. in 1999.", "Then no more."]),
        ("The U.S. government fell. J. K. Rowling wrote.", ["The U.S. government fell.", "J. K. Rowling wrote."]),
        ("He left the U.S. The talks went on.", ["He left the U.S.", "The talks went on."]),
        ("Mr. Doe met Dr. Smith at 5 p.m. on Monday.", ["Mr. Doe met Dr. Smith at 5 p.m. on Monday."]),
        ("He said no. See no. 5 and fig. 3.", ["He said no.", "See no. 5 and fig. 3."]),
        ("1. First item. 2. Second.", ["1. First item.", "2. Second."]),
        ("Well... maybe. Wait... What?", ["Well... maybe.", "Wait...", "What?"]),
        ('"Really?" he asked. "Yes." She left.', ['"Really?" he asked.', '"Yes."', "She left."]),
        ("(It rained.) He slept.", ["(It rained.)", "He slept."]),
        ("lower case . as published metrics have it .", ["lower case .", "as published metrics have it ."]),
        ("he said . '' she left .", ["he said . ''", "she left ."]),
        ("Die Mannschaft kam z.B. aus Bonn. Sie gewann.", ["Die Mannschaft kam z.B. aus Bonn.", "Sie gewann."]),
        ("这是第一句。第二句！第三句？", ["这是第一句。", "第二句！", "第三句？"]),
        ("「行こう。」彼は言った。", ["「行こう。」", "彼は言った。"]),
        ("मैं गया। वह आया।", ["मैं गया।", "वह आया।"]),
        ("كيف حالك؟ أنا بخير.", ["كيف حالك؟", "أنا بخير."]),
        ("a heading\n\nA text. It\ngoes on.", ["a heading", "A text.", "It\ngoes on."]),
        ("no full stop at all", ["no full stop at all"]),
        ("Look at www.example.com and a.b.c today", ["Look at www.example.com and a.b.c today"]),
        ("The end. . . .", ["The end. . . ."]),
        ("...", ["..."]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_sentence_boundaries(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet="aB1 .!?…。\n\"')("))
def test_every_character_but_blanks_is_in_one_sentence(text: str) -> None:
    spans = split_sentences(text)
    covered = [place for start, end in spans for place in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(char.isspace() for place, char in enumerate(text) if place not in set(covered))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@given(st.lists(st.text(alphabet="ab ")))
def test_lines_that_are_not_blank_are_sentences(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert [text[start:end] for start, end in split_at_lines(text)] == [
        line.strip() for line in lines if line.strip()
    ]


def test_a_line_of_marks_belongs_to_the_one_before() -> None:
    text = "One\n***\nTwo. Three"
    assert [text[start:end] for start, end in split_at_lines(text)] == ["One\n***", "Two. Three"]


@pytest.mark.parametrize("text", ["." * 200_000, "a. " * 100_000, "x" * 500_000 + ".", '"' * 200_000, "! " * 100_000])
def test_time_is_linear_in_the_text(text: str) -> None:
    started = time.process_time()
    split_sentences(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("data", "systems", "published"),
    # Sentences per summary in DiscoScore's paper (Zhao, Strube, Eger 2023, data statistics), by NLTK's punkt:
    # of SummEval the 12 abstractive systems, of Newsroom all. Ours are 3.13 and 1.97.
    [("summeval", 12, 3.13), ("newsroom", 7, 1.90)],
)
def test_as_many_sentences_as_published(data_folder: Path, data: str, systems: int, published: float) -> None:
    table = load(data, data_folder)
    extractive = {"M0", "M1", "M2", "M5"}
    texts = [text for text, system in zip(table.hypothesis, table.system, strict=True) if system not in extractive]
    assert len(texts) == systems * len(table.topics)
    mean = sum(len(split_sentences(text)) for text in texts) / len(texts)
    assert mean == pytest.approx(published, abs=0.005 if data == "summeval" else 0.08)
