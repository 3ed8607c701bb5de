"""Triples: read, checked, made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.cards import load
from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.stress.triples import (
    LabelledPair,
    Triple,
    Triples,
    load_paws_pairs,
    load_triples,
    paws_triples,
    permute_nouns,
    released_wins,
    save_triples,
    triples_of_table,
)
from nlgauge.text.annotation import AnnotatedSentence, AnnotatedText, AnnotatedWord

ONE = Triple("the cat saw the dog", "a kitten noticed a hound", "the dog saw the cat")


class Tagger:
    """Nouns from a list, as an annotator would find them."""

    label = "list"

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        if "unknown" in texts:
            msg = "the list does not contain the document 'unknown'"
            raise InputError(msg)
        return [self._annotated(text) for text in texts]

    def _annotated(self, text: str) -> AnnotatedText:
        words, index = [], 0
        for form in text.split():
            start = text.index(form, index)
            index = start + len(form)
            noun = "NOUN" if form in {"cat", "dog", "man", "letter", "cats"} else "X"
            features = {"Number": "Plur" if form.endswith("s") else "Sing"}
            words.append(AnnotatedWord(start, index, form, form, noun, features))
        return AnnotatedText(text, (AnnotatedSentence(0, len(text), tuple(words)),))


def test_overlap_is_the_share_of_the_anchors_words() -> None:
    # Of "the cat saw the dog" no word stands in B and all five in C; neither is shorter.
    assert ONE.overlaps == (0.0, 1.0)
    assert Triples("mine", (ONE, ONE)).overlaps.tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_a_file_of_triples_is_written_and_read(tmp_path: Path) -> None:
    save_triples(Triples("mine", (ONE,)), tmp_path / "t.tsv")
    again = load_triples(tmp_path / "t.tsv")
    assert again.triples == (ONE,)
    (tmp_path / "t.jsonl").write_text('{"anchor": "a b", "paraphrase": "c d", "lookalike": "b a"}\n')
    assert load_triples(tmp_path / "t.jsonl").triples == (Triple("a b", "c d", "b a"),)


def test_files_that_hold_no_triples_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("anchor\tparaphrase\na\tb\n")
    with pytest.raises(FileFormatError, match="'lookalike': no such column"):
        load_triples(tmp_path / "t.tsv")
    (tmp_path / "t.txt").write_text("a")
    with pytest.raises(FileFormatError, match=r"give a .tsv or .jsonl file with the columns"):
        load_triples(tmp_path / "t.txt")
    with pytest.raises(InputError, match="mine contains no triples"):
        Triples("mine", ())
    with pytest.raises(InputError, match="triple 0: lookalike must not be empty"):
        Triples("mine", (Triple("a", "b", " "),))


def test_nouns_change_places_and_nothing_else_does() -> None:
    result = permute_nouns(["the cat  saw the dog .", "a man"], ["b", "b"], Tagger())
    assert result.triples[0].lookalike == "the dog  saw the cat ."
    assert result.skipped == 1
    again = permute_nouns(["a man wrote a letter", "the cat  saw the dog ."], ["b", "b"], Tagger())
    assert again.triples[1].lookalike == result.triples[0].lookalike  # the texts beside it change nothing
    three = permute_nouns(["cat dog man letter"], ["b"], Tagger(), seed=1).triples[0].lookalike
    assert sorted(three.split()) == ["cat", "dog", "letter", "man"]
    assert three != "cat dog man letter"


def test_a_text_that_the_annotator_refuses_is_counted() -> None:
    result = permute_nouns(["unknown", "the cat saw the dog"], ["b", "b"], Tagger())
    assert (len(result), result.skipped) == (1, 1)
    with pytest.raises(InputError, match="does not contain the document 'unknown'"):
        permute_nouns(["unknown"], ["b"], Tagger())


def test_texts_without_nouns_to_exchange_are_refused() -> None:
    with pytest.raises(InputError, match="none of the 2 anchors has two different nouns"):
        permute_nouns(["cat cat", "cats dog"], ["b", "b"], Tagger())
    with pytest.raises(InputError, match="each anchor needs a paraphrase, got 1 anchors and 2 paraphrases"):
        permute_nouns(["a"], ["b", "c"], Tagger())


def test_paws_takes_the_farthest_paraphrase_and_the_nearest_lookalike() -> None:
    anchor = "the cat saw the dog"
    pairs = [
        LabelledPair(anchor, "the dog saw the cat", False),
        LabelledPair(anchor, "a bird saw the cat", False),
        LabelledPair("a kitten noticed a hound", anchor, True),
        LabelledPair("the cat noticed the dog", anchor, True),
    ]
    assert paws_triples(pairs).triples == (Triple(anchor, "a kitten noticed a hound", "the dog saw the cat"),)


def test_pairs_without_a_gap_in_overlap_make_no_triple() -> None:
    pairs = [LabelledPair("a b c", "x y z", False), LabelledPair("c b a", "a b c", True)]
    with pytest.raises(InputError, match="no sentence of the 2 pairs has a paraphrase with less overlap"):
        paws_triples(pairs)


def test_a_table_needs_one_row_of_each(tmp_path: Path) -> None:
    scores = "\t".join(["0.5"] * 9)
    rows = [f"0\tA a\tC c\t{scores}", f"1\tA a\tB b\t{scores}", f"0\tD d\tE e\t{scores}"]
    (tmp_path / "out_paws.tsv").write_text("\n".join(rows) + "\n")
    result = triples_of_table(load("paws", tmp_path))
    assert (result.triples, result.skipped) == ((Triple("A a", "B b", "C c"),), 1)
    (tmp_path / "out_paws.tsv").write_text("\n".join([*rows, rows[0]]) + "\n")
    with pytest.raises(InputError, match="has two rows judged 0"):
        triples_of_table(load("paws", tmp_path))


#: Shares of wins of the paraphrase in the released scores, Freitag and PAWS, as they were computed by others from the
#: same files: independently of this code.
SHARES = {
    "bertscore": (0.032, 0.450),
    "laser": (0.013, 0.653),
    "muse": (0.003, 0.253),
    "moverscore": (0.023, 0.323),
    "sbert": (0.057, 0.453),
    "sbert_wk": (0.205, 0.323),
    "labse": (0.025, 0.367),
    "msbert": (0.053, 0.473),
    "bleurt": (0.294, 0.547),
}


@pytest.mark.parametrize(("card", "column", "size"), [("freitag", 0, 1452), ("paws", 1, 300)])
def test_released_scores_give_the_known_shares(data_folder: Path, card: str, column: int, size: int) -> None:
    study = released_wins(triples_of_table(load(card, data_folder)))
    assert study.triples == size
    for metric in study.metrics:
        assert metric.share == pytest.approx(SHARES[metric.metric][column], abs=5e-4), metric.metric
        assert metric.interval is not None
        assert 0 <= metric.interval[0] <= metric.share <= metric.interval[1] <= 1


def test_paws_can_be_put_together_again(data_folder: Path) -> None:
    made = paws_triples(load_paws_pairs(data_folder / "explain/paws_test.tsv"))
    released = triples_of_table(load("paws", data_folder))
    assert len(made) == len(released) == 300
    # Words are not quite NLTK's, so that overlaps of equal gap come in another order.
    assert len(set(made.triples) & set(released.triples)) >= 240
    assert np.allclose(made.overlaps.mean(axis=1), [0.84, 0.94], atol=0.005)
