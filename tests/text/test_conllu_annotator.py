"""Annotations of one's own, found by the characters of the documents."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.text.annotators import load_annotator

ITALIAN = """\
# text = Il gatto del vicino.
1\tIl\til\tDET\t_\t_\t2\tdet\t_\t_
2\tgatto\tgatto\tNOUN\t_\tNumber=Sing\t0\troot\t_\t_
3-4\tdel\t_\t_\t_\t_\t_\t_\t_\t_
3\tdi\tdi\tADP\t_\t_\t5\tcase\t_\t_
4\til\til\tDET\t_\t_\t5\tdet\t_\t_
5\tvicino\tvicino\tNOUN\t_\t_\t2\tnmod\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# text = Gatti!
1\tGatti\tgatto\tNOUN\t_\tNumber=Plur\t0\troot\t_\tSpaceAfter=No
2\t!\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_

"""

#: Tagged, not parsed.
TAGGED = "1\tCani\tcane\tNOUN\t_\t_\t_\t_\t_\t_\n2\t.\t.\tPUNCT\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture
def parses(tmp_path: Path) -> str:
    path = tmp_path / "parses.conllu"
    path.write_text(ITALIAN, encoding="utf-8")
    return str(path)


def test_words_stand_where_the_text_has_them(parses: str) -> None:
    text = "  Il gatto del\nvicino. Gatti!"
    (result,) = load_annotator(parses, sentences="annotator", trees=True).annotate([text])
    assert [text[sentence.start : sentence.end] for sentence in result.sentences] == [
        "Il gatto del\nvicino.",
        "Gatti!",
    ]
    first = result.sentences[0].words
    assert [text[word.start : word.end] for word in first] == ["Il", "gatto", "del", "del", "vicino", "."]
    assert [word.form for word in first] == ["Il", "gatto", "di", "il", "vicino", "."]
    assert [word.head for word in first] == [2, 0, 5, 5, 2, 2]
    assert [word.relation for word in first][:2] == ["det", "root"]
    assert [(index, word.lemma, word.features.get("Number")) for index, word in result.nouns()] == [
        (0, "gatto", "Sing"),
        (0, "vicino", None),
        (1, "gatto", "Plur"),
    ]
    assert result.sentences[1].words[1].lemma == "!", "no lemma in the file: the form"


def test_a_document_is_any_run_of_sentences(parses: str) -> None:
    annotator = load_annotator(parses, sentences="annotator")
    first, other, blank = annotator.annotate(["Gatti !", "Il gatto del vicino.", " \n"])
    assert [len(text.sentences) for text in (first, other, blank)] == [1, 1, 0]
    assert first.sentences[0].words[0].head == -1, "trees were not asked for"


def test_sentences_by_another_rule_regroup_the_words(parses: str) -> None:
    text = "Il gatto\ndel vicino. Gatti!"
    lines = load_annotator(parses, sentences="lines").annotate([text])[0].sentences
    assert [[word.form for word in line.words] for line in lines] == [
        ["Il", "gatto"],
        ["di", "il", "vicino", ".", "Gatti", "!"],
    ]
    rules = load_annotator(parses, sentences="rules").annotate([text])[0].sentences
    assert [text[rule.start : rule.end] for rule in rules] == ["Il gatto\ndel vicino.", "Gatti!"]
    with pytest.raises(RecipeError, match="use sentences=annotator, not rules"):
        load_annotator(parses, trees=True)


def test_several_files_packed_or_not(parses: str, tmp_path: Path) -> None:
    packed = tmp_path / "more.conllu.gz"
    packed.write_bytes(gzip.compress(TAGGED.encode()))
    both = load_annotator(f"{parses}+{packed}")
    assert [len(text.sentences) for text in both.annotate(["Cani.", "Gatti!"])] == [1, 1]
    assert both.label.startswith("conllu[")
    assert both.label != load_annotator(parses).label
    with pytest.raises(FileFormatError, match="parse the text first"):
        load_annotator(str(packed), sentences="annotator", trees=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Il cane.", r"parses.conllu does not contain the document 'Il cane.': no sentence starts like this"),
        (
            "Il gatto del vicino. Cani!",
            r"document 'Il gatto del vicino. Cani!': its first 17 characters without blanks match, then the text has "
            r"'Cani!' and the file 'Gatti!'; annotate exactly the texts",
        ),
        ("Gatti! Gatti!", r"the text has 'Gatti!' and the file ends"),
        ("Gatti! " + "x" * 100, r"document 'Gatti! x{53}\.\.\.'"),
    ],
)
def test_a_document_that_the_file_does_not_have_is_named(parses: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_annotator(parses, sentences="annotator").annotate(["Gatti!", text])


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(TAGGED, encoding="utf-8")
    before = load_annotator(str(path))
    assert load_annotator(str(path)) is before
    path.write_text(TAGGED.replace("cane", "lupo"), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    after = load_annotator(str(path))
    assert after.label != before.label
    assert after.annotate(["Cani."])[0].sentences[0].words[0].lemma == "lupo"


def test_missing_conllu_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.conllu"):
        load_annotator(str(tmp_path / "no.conllu"))
