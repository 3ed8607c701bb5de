"""Which words carry a score: shares by part of speech and by kind of match."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.explain.corpus import explain_corpus
from nlgauge.studies.explain.pairs import explain_pairs
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
    found = explain_corpus(HYPS, REFS, metric="bertscore", annotator=parses, resamples=100)
    assert (found.of, found.texts, found.skipped) == ("precision", 3, 0)
    parts = {one.group: one for one in found.parts_of_speech}
    assert {name: one.words for name, one in parts.items()} == {"NOUN": 3, "VERB": 3, "PUNCT": 3}
    values = [one.attribution(of="precision").values for one in explain_pairs(HYPS, REFS, metric="bertscore")]
    total = sum(abs(value) for row in values for value in row)
    assert parts["NOUN"].share == pytest.approx(sum(row[0] for row in values) / total, abs=1e-9)
    assert parts["VERB"].mean == pytest.approx(sum(row[1] for row in values) / 3, abs=1e-9)
    assert sum(one.share for one in found.parts_of_speech) == pytest.approx(1)
    assert all(one.low <= one.share <= one.high for one in found.parts_of_speech)


def test_matches_are_the_same_word_another_form_or_neither(parses):
    found = explain_corpus(HYPS, REFS, metric="bertscore", annotator=parses, resamples=100)
    # Dogs/dog and barked/barks; Cats, sleep; Cats and sleep beside nothing of theirs.
    assert [(one.group, one.words) for one in found.matches] == [
        ("same word", 2),
        ("same lemma", 2),
        ("other word", 2),
        ("punctuation", 3),
    ]


def test_words_of_the_reference_and_what_the_score_loses_without_each(parses):
    found = explain_corpus(
        HYPS, REFS, metric="bertscore", annotator=parses, side="reference", method="leave-one-out", resamples=100
    )
    assert (found.of, found.side, found.method) == ("f1", "reference", "leave-one-out")
    assert sum(one.words for one in found.parts_of_speech) == 11
    assert json.loads(json.dumps(found.to_dict()))["parts_of_speech"][0]["group"] == found.parts_of_speech[0].group


def test_a_text_that_cannot_be_annotated_is_left_out_and_counted(parses):
    found = explain_corpus([*HYPS, "Unparsed."], [*REFS, "Cats sleep."], annotator=parses, resamples=100)
    assert (found.texts, found.skipped) == (3, 1)


def test_one_text_has_shares_and_no_intervals(parses):
    found = explain_corpus(HYPS[:1], REFS[:1], metric="bertscore", annotator=parses, resamples=100)
    assert {(one.low, one.high) for one in (*found.parts_of_speech, *found.matches)} == {(None, None)}
    assert "nan" not in found.render().lower()


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
    found = annotate_each(Refusing(), [*good, "bad", "bad"])
    assert [text for text, one in found.items() if one is None] == ["bad"]
    assert len(asked) == 1 + 1 + 2 * 5, "halved five times, not asked 32 times"


def test_what_cannot_be_summed_up_is_refused(parses):
    with pytest.raises(RecipeError, match="method must be one of linear, leave-one-out, shapley, got 'lime'"):
        explain_corpus(HYPS, REFS, annotator=parses, method="lime")
    with pytest.raises(InputError, match="none of the 3 texts has linear contributions"):
        explain_corpus(HYPS, REFS, metric="chrf", annotator=parses)
