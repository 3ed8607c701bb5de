"""Parsed sentences from CoNLL-U: what is read, and what is refused with its line."""

from __future__ import annotations

import pytest

from nlgauge.errors import FileFormatError
from nlgauge.text.conllu import Contraction, parse_conllu

#: Two sentences as UDPipe writes them, the first with a contraction, the second with an empty node and no text.
ITALIAN = """\
# sent_id = 1
# text = Il gatto del vicino dorme.
1	Il	il	DET	RD	Definite=Def|PronType=Art	2	det	_	_
2	gatto	gatto	NOUN	S	Gender=Masc|Number=Sing	6	nsubj	_	_
3-4	del	_	_	_	_	_	_	_	_
3	di	di	ADP	E	_	5	case	_	_
4	il	il	DET	RD	Definite=Def|PronType=Art	5	det	_	_
5	vicino	vicino	NOUN	S	Gender=Masc|Number=Sing	2	nmod	_	_
6	dorme	dormire	VERB	V	Mood=Ind	0	root	_	SpaceAfter=No
7	.	.	PUNCT	FS	_	6	punct	_	_

1	Lei	lei	PRON	PE	_	2	nsubj	_	_
2	beve	bere	VERB	V	_	0	root	_	_
3-4	dell'	_	_	_	_	_	_	_	SpaceAfter=No
3	di	di	ADP	E	_	5	case	_	_
4	l'	il	DET	RD	_	5	det	_	_
5	acqua	acqua	NOUN	S	_	2	obj	_	_
5.1	beve	bere	VERB	V	_	_	_	2:conj	_

"""


def refusal(content: str) -> str:
    with pytest.raises(FileFormatError) as caught:
        list(parse_conllu(content.split("\n"), name="it.conllu"))
    return str(caught.value)


def test_words_contractions_and_text() -> None:
    first, second = parse_conllu(ITALIAN.split("\n"), name="it.conllu")
    assert first.text == "Il gatto del vicino dorme."
    assert [word.form for word in first.words] == ["Il", "gatto", "di", "il", "vicino", "dorme", "."]
    assert first.contractions == (Contraction(3, 4, "del"),)
    assert (first.words[1].head, first.words[1].relation, first.words[1].upos) == (6, "nsubj", "NOUN")
    assert first.words[0].features == {"Definite": "Def", "PronType": "Art"}
    assert second.text == "Lei beve dell'acqua"
    assert len(second.words) == 5, "an empty node is no word of the text"


def test_a_text_keeps_its_own_blanks() -> None:
    content = ITALIAN.replace("= Il gatto del", "= Il  gatto\u00a0del")
    first, _ = parse_conllu(content.split("\n"), name="it.conllu")
    assert first.text == "Il  gatto\u00a0del vicino dorme."


def test_the_last_sentence_may_end_with_the_file() -> None:
    assert len(list(parse_conllu(ITALIAN.rstrip("\n").split("\n"), name="it.conllu"))) == 2


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("2\tgatto\tgatto", "2 gatto gatto", "line 4: expected 10 tab-separated columns, got 8"),
        ("2\tgatto", "two\tgatto", "line 4: expected a number such as 3, 3-4 or 3.1 in column 1, got 'two'"),
        ("2\tgatto", "3\tgatto", "line 4: expected word 2, got 3"),
        ("3-4\tdel", "4-5\tdel", "line 5: the range 4-5 must start at the next word"),
        ("3-4\tdel", "3-3\tdel", "line 5: the range 3-3 must start at the next word"),
        ("3-4\tdell'", "3-9\tdell'", 'line 14: "dell\'" covers words 3 to 9, but the sentence has 5'),
        ("2\tgatto\t", "2\t_\t", "line 4: the word 2 has no form; merge the treebank with its texts"),
        ("\t6\tnsubj", "\t_\tnsubj", "line 4: expected the number of a head in column 7, got '_'; parse the text"),
        ("\t6\tnsubj", "\t8\tnsubj", "line 4: word 2 depends on 8, but the sentence has words 1 to 7"),
        ("\t6\tnsubj", "\t5\tnsubj", "line 4: not a tree: word 2 depends on itself through others"),
        ("\t6\tnsubj", "\t0\tnsubj", "line 3: expected one root (head 0), got 2"),
        ("\t6\tnsubj", "\t6\t_", "line 4: expected a relation such as obj in column 8, got '_'"),
        ("vicino dorme.", "cane dorme.", "line 2: the text 'Il gatto del cane dorme.' does not match its tokens"),
        ("punct\t_\t_\n\n", "punct\t_\t_\n", "line 11: expected word 8, got 1"),
        (
            "punct\t_\t_\n\n",
            "punct\t_\t_\n# text = A\n",
            "line 11: a comment after the words of a sentence, '# text = A'",
        ),
        ("# sent_id = 1", "# text = A", "line 2: a second text, 'Il gatto del vicino dorme.'"),
        ("punct\t_\t_\n\n", "punct\t_\t_\n  \n", "line 11: blanks only, '  '"),
        ("# sent_id = 1\n", "# sent_id = 1\n\n", "line 1: a sentence without a word"),
    ],
)
def test_invalid_conllu_is_refused_with_its_line(before: str, after: str, said: str) -> None:
    assert before in ITALIAN
    assert f"it.conllu, {said}" in refusal(ITALIAN.replace(before, after, 1))


def test_a_file_without_a_sentence_is_refused() -> None:
    assert "it.conllu: no sentence" in refusal("\n\n")
