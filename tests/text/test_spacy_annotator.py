"""spaCy's English model from the store."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path

import pytest

from nlgauge.errors import InputError, ModelError, RecipeError
from nlgauge.io.store.resolve import resolve
from nlgauge.text.annotation import AnnotatedText
from nlgauge.text.annotators import SpacyAnnotator, load_annotator, model_folder

TEXTS = [
    "The cats sat on the mats. Dr. Smith's dogs barked at 3.5 of them!",
    "Paul Merson was brought on with only seven minutes remaining in his team's draw with Burnley.",
    "cats chase mice . mice eat cheese .",
    "He left the U.S. The talks, e.g. about trade, went on.\nNobody knew why",
    "THE GOVERNMENT FELL. IT ROSE AGAIN.",
    "Time flies like an arrow; fruit flies like a banana.",
    "",
    "...",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return resolve("spacy-en").path


def test_words_lemmas_and_features() -> None:
    annotator = load_annotator("spacy-en")
    (result,) = annotator.annotate([TEXTS[0]])
    assert [result.text[sentence.start : sentence.end] for sentence in result.sentences] == [
        "The cats sat on the mats.",
        "Dr. Smith's dogs barked at 3.5 of them!",
    ]
    assert all(
        result.text[word.start : word.end] == word.form for sentence in result.sentences for word in sentence.words
    )
    nouns = [(index, word.lemma, word.upos, word.features.get("Number")) for index, word in result.nouns()]
    assert nouns == [
        (0, "cat", "NOUN", "Plur"),
        (0, "mat", "NOUN", "Plur"),
        (1, "Dr.", "PROPN", "Sing"),
        (1, "Smith", "PROPN", "Sing"),
        (1, "dog", "NOUN", "Plur"),
    ]
    assert {word.head for sentence in result.sentences for word in sentence.words} == {-1}


def test_the_label_has_name_version_and_digest_and_no_path() -> None:
    annotator = load_annotator("spacy-en")
    assert annotator.label == "spacy-en[en_core_web_sm-3.8.0,d4717f8c608a]"
    assert annotator.engine.startswith("spacy-3.8.")
    assert load_annotator("en_core_web_sm") is annotator


def without_trees(text: AnnotatedText) -> list[object]:
    return [word._replace(head=-1, relation="") for sentence in text.sentences for word in sentence.words]


@pytest.mark.parametrize("trees", [False, True])
def test_neighbours_batch_and_order_change_nothing(folder: Path, trees: bool) -> None:
    annotator = SpacyAnnotator(folder, name="spacy-en", sentences="rules", trees=trees)
    alone = [annotator.annotate([text])[0] for text in TEXTS]
    assert annotator.annotate(TEXTS) == alone
    mixed = [*TEXTS * 20, *(f"{text} {text}" for text in TEXTS)]
    random.Random(3).shuffle(mixed)
    result = dict(zip(mixed, annotator.annotate(mixed), strict=True))
    assert [result[text] for text in TEXTS] == alone


def test_parts_of_speech_are_the_same_with_and_without_trees() -> None:
    plain = load_annotator("spacy-en").annotate(TEXTS)
    parsed = load_annotator("spacy-en", trees=True).annotate(TEXTS)
    assert [without_trees(text) for text in parsed] == [without_trees(text) for text in plain]


def test_a_sentence_is_one_tree() -> None:
    for text in load_annotator("spacy-en", trees=True).annotate([*TEXTS, "Yes . no ! maybe", "he  \t came \n home"]):
        for sentence in text.sentences:
            heads = [word.head for word in sentence.words]
            assert heads.count(0) == 1
            for number in range(1, len(heads) + 1):
                path = [number]
                while heads[path[-1] - 1]:
                    path.append(heads[path[-1] - 1])
                    assert len(path) <= len(heads)
    (result,) = load_annotator("spacy-en", trees=True).annotate(["The cat chased a mouse."])
    words = result.sentences[0].words
    assert [(word.relation, words[word.head - 1].form) for word in words if word.head] == [
        ("det", "cat"),
        ("nsubj", "chased"),
        ("det", "mouse"),
        ("dobj", "chased"),
        ("punct", "chased"),
    ]


def test_sentences_of_spacy_and_of_lines() -> None:
    text = "The cat sat. It slept.\nThe dog barked"
    result = load_annotator("spacy-en", sentences="annotator").annotate([text])[0]
    assert [text[sentence.start : sentence.end] for sentence in result.sentences] == [
        "The cat sat.",
        "It slept.",
        "The dog barked",
    ]
    lines = load_annotator("spacy-en", sentences="lines").annotate([text])[0]
    assert [text[sentence.start : sentence.end] for sentence in lines.sentences] == [
        "The cat sat. It slept.",
        "The dog barked",
    ]


def test_an_empty_text_has_no_sentence() -> None:
    for rule in ("rules", "lines", "annotator"):
        assert [item.sentences for item in load_annotator("spacy-en", sentences=rule).annotate(["", " \n "])] == [
            (),
            (),
        ]


@pytest.mark.parametrize("rule", ["rules", "annotator"])
def test_twenty_thousand_words(rule: str) -> None:
    words = [f"noun{number % 500}" if number % 3 else "the" for number in range(20_000)]
    text = " ".join(f"{word}." if index % 20 == 19 else word for index, word in enumerate(words))
    started = time.process_time()
    (result,) = load_annotator("spacy-en", sentences=rule).annotate([text])
    assert time.process_time() - started < 60
    assert sum(len(sentence.words) for sentence in result.sentences) >= 20_000


def test_a_text_that_spacy_does_not_take_is_named(folder: Path) -> None:
    annotator = SpacyAnnotator(folder, name="spacy-en", sentences="rules", trees=False)
    annotator._model.max_length = 20
    with pytest.raises(InputError, match=r"starts 'A sentence that is.*has 38 characters.*spaCy accepts at most 20"):
        annotator.annotate(["Fine.", "A sentence that is longer than allowed"])


def test_a_model_in_a_folder_or_in_an_unpacked_package(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "package" / "en_core_web_sm-3.8.0"
    shutil.copytree(folder, copy)
    assert model_folder(tmp_path / "package") == copy
    named = load_annotator("spacy-en")
    given = load_annotator(str(tmp_path / "package"))
    assert given.label == named.label.replace("spacy-en", "spacy")
    assert given.annotate(TEXTS) == named.annotate(TEXTS)
    shutil.rmtree(copy / "parser")
    config = (copy / "config.cfg").read_text(encoding="utf-8")
    (copy / "config.cfg").write_text(config.replace('"parser",', ""), encoding="utf-8")
    with pytest.raises(RecipeError, match="has no parser, required for trees; it has: tok2vec, tagger"):
        load_annotator(str(copy), trees=True)


def test_a_folder_that_is_no_model(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "tagger" / "model").unlink()
    with pytest.raises(ModelError, match=r"cannot load the spaCy model .copy. with spacy-3\.8"):
        load_annotator(str(tmp_path / "copy"))
    (tmp_path / "copy" / "meta.json").write_text(json.dumps({"lang": "en"}), encoding="utf-8")
    with pytest.raises(ModelError, match=r"meta.json does not describe a spaCy model"):
        load_annotator(str(tmp_path / "copy"))
