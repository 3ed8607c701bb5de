"""Tables whose rows are documents: out of segments, of mt-metrics-eval folders, and of REALSumm."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.cards import find_data_card, load
from nlgauge.data.judgements import JudgementTable, document_table, without_long_texts
from nlgauge.data.loaders.mt_metrics_eval import load_mt_metrics_eval
from nlgauge.errors import FileFormatError, InputError, RecipeError

NAN = math.nan


def table(**changes: object) -> JudgementTable:
    """Two systems, a document of two segments and one of one."""
    columns: dict[str, object] = {
        "name": "made",
        "segment": ("1", "2", "3") * 2,
        "system": ("x",) * 3 + ("y",) * 3,
        "langpair": ("de-en",) * 6,
        "hypothesis": ("One.", "Two.", "Three.", "1.", "2.", "3."),
        "references": (("A.", "a."), ("B.", "b."), ("C.", "c.")) * 2,
        "source": ("Eins.", "Zwei.", "Drei.") * 2,
        "document": ("d", "d", "e") * 2,
        "human": {"score": [1, 3, NAN, NAN, 4, 7]},
        "released": {"metric": [0.5, 0.7, 0.1, NAN, NAN, 0.9]},
        "default_criterion": "score",
    }
    return JudgementTable(**(columns | changes))  # type: ignore[arg-type]


def test_segments_are_joined_and_their_scores_averaged() -> None:
    result = document_table(table())
    assert result.segment == result.document == ("d", "e", "d", "e")
    assert result.system == ("x", "x", "y", "y")
    assert result.hypothesis == ("One.\nTwo.", "Three.", "1.\n2.", "3.")
    assert result.references == (("A.\nB.", "a.\nb."), ("C.", "c.")) * 2
    assert result.source == ("Eins.\nZwei.", "Drei.") * 2
    np.testing.assert_array_equal(result.gold(), [2, NAN, 4, 7])
    np.testing.assert_allclose(result.released["metric"], [0.6, 0.1, NAN, 0.9])
    assert result.notes == ("6 segments joined to 4 documents; score: the mean over segments",)


def test_human_scores_of_documents_replace_means_of_segments() -> None:
    official = {"score": {("de-en", "x", "d"): 9.0, ("de-en", "y", "e"): 8.0}}
    result = document_table(table(), human=official)
    np.testing.assert_array_equal(result.gold(), [9, NAN, NAN, 8])
    assert result.notes == ("6 segments joined to 4 documents",)


def test_tables_without_documents_or_with_uneven_references() -> None:
    with pytest.raises(InputError, match="has no document ids; give one per row"):
        document_table(table(document=None))
    with pytest.raises(InputError, match="segments of document 'd' differ in their number of references"):
        document_table(table(references=(("A.",), ("B.", "b."), ("C.", "c.")) * 2))


def test_long_texts_are_dropped_on_request() -> None:
    long = " ".join(["word"] * 600)
    made = table(hypothesis=("One.", long, "Three.", "1.", "2.", "3."))
    kept = without_long_texts(made, 512)
    assert kept.segment == ("1", "3", "1", "2", "3")
    assert kept.notes == ("1 of 6 rows left out: a text of more than 512 word pieces",)
    assert len(without_long_texts(made, 602)) == 6, "600 pieces, [CLS] and [SEP]"
    assert len(without_long_texts(made, 601)) == 5
    with pytest.raises(InputError, match="every row has a text of more than 2 word pieces"):
        without_long_texts(made, 2)


def test_documents_of_real_talks(data_folder: Path) -> None:
    """Five TED talks by thirteen systems, of 529 segments each."""
    talks = document_table(load("mqm-ted", data_folder))
    assert len(talks) == 65
    assert len(talks.systems) == 13
    assert not np.isnan(talks.gold()).any()
    segments = {
        sum(text.count("\n") + 1 for text in talks.where(system=system).hypothesis) for system in talks.systems
    }
    assert segments == {529}


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def wmt(tmp_path: Path) -> Path:
    """Documents of two segments and of one, judged as documents and, otherwise, by segment."""
    folder = tmp_path / "wmt99"
    write(folder / "sources/de-en.txt", "eins", "zwei", "drei")
    write(folder / "documents/de-en.docs", "news doc1", "news doc1", "news doc2")
    write(folder / "references/de-en.ref.txt", "one", "two", "three")
    for system in ("sys1", "sys2"):
        write(folder / f"system-outputs/de-en/{system}.txt", *(f"{system} {n}" for n in (1, 2, 3)))
    write(folder / "human-scores/de-en.wmt-raw.doc.score", "sys1 70", "sys1 None", "sys2 60", "sys2 50")
    blocks = [
        f"{system} {score}" for system, scores in {"sys1": (1, 2, 3), "sys2": (4, 5, 6)}.items() for score in scores
    ]
    write(folder / "human-scores/de-en.wmt-z.seg.score", *blocks)
    return folder


def test_documents_of_an_mt_metrics_eval_folder(wmt: Path) -> None:
    result = load("mt-metrics-eval", wmt, unit="document", gold="wmt-raw")
    assert result.segment == ("doc1", "doc2") * 2
    assert result.hypothesis[0] == "sys1 1\nsys1 2"
    assert result.references[:2] == (("one\ntwo",), ("three",))
    np.testing.assert_array_equal(result.gold(), [70, NAN, 60, 50])
    np.testing.assert_array_equal(result.gold("wmt-z"), [1.5, 3, 4.5, 6])
    assert load_mt_metrics_eval(wmt).default_criterion == "wmt-z", "scores of documents are none of segments"
    by_mean = load_mt_metrics_eval(wmt, unit="document", gold="wmt-z")
    np.testing.assert_array_equal(by_mean.gold(), [1.5, 3, 4.5, 6])
    assert len(load_mt_metrics_eval(wmt, unit="document", gold="wmt-z", longest=512)) == 4
    with pytest.raises(RecipeError, match=r"several human scores \(wmt-raw, wmt-z\)"):
        load_mt_metrics_eval(wmt, unit="document")


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        ("human-scores/de-en.wmt-raw.doc.score", ["sys1 1"], "expected 2 scores of 'sys1', got 1"),
        ("documents/de-en.docs", ["n a", "n b", "n a"], "document 'a' is split"),
    ],
)
def test_wrong_files_of_documents_are_errors(wmt: Path, file: str, lines: list[str], message: str) -> None:
    write(wmt / file, *lines)
    with pytest.raises((FileFormatError, InputError), match=message):
        load_mt_metrics_eval(wmt, unit="document", gold="wmt-z")


def test_a_folder_without_documents(wmt: Path) -> None:
    (wmt / "documents/de-en.docs").unlink()
    with pytest.raises(InputError, match=r"documents/de-en.docs is missing"):
        load_mt_metrics_eval(wmt, unit="document", gold="wmt-z")
    with pytest.raises(RecipeError, match="unit must be segment or document, got 'line'"):
        load_mt_metrics_eval(wmt, unit="line")


def summary(text: str, human: float) -> dict[str, object]:
    return {"system_summary": text, "scores": {"litepyramid_recall": human, "rouge_1_f_score": human / 2}}


@pytest.fixture
def realsumm(tmp_path: Path) -> Path:
    folder = tmp_path / "realsumm"
    for kind, outer in (("abs", "<t> {} </t>"), ("ext", "{}")):
        rows = [
            {
                "doc_id": number,
                "ref_summ": "<t> Cats sat . </t> <t> Dogs barked . </t>",
                "system_summaries": {
                    "bart_out.txt": summary(
                        outer.format(f"<t> {kind} {number} . </t> <t> Two . </t>"), 0.25 * number
                    ),
                    "t5_out.txt": summary("<t> One . </t>", 0.5),
                },
            }
            for number in range(2)
        ]
        write(folder / f"{kind}.jsonl", *map(json.dumps, rows))
    return folder


def test_realsumm(realsumm: Path) -> None:
    result = load("realsumm", realsumm.parent)
    assert len(result) == 8
    assert result.systems == ("abs/bart_out.txt", "abs/t5_out.txt", "ext/bart_out.txt", "ext/t5_out.txt")
    assert result.hypothesis[0] == "abs 0 .\nTwo ."
    assert result.references[0] == ("Cats sat .\nDogs barked .",)
    assert result.topics == ("0", "1")
    np.testing.assert_array_equal(result.gold()[:4], [0, 0.5, 0.25, 0.5])
    np.testing.assert_array_equal(result.released["rouge_1_f_score"][:2], [0, 0.25])
    assert load("realsumm", realsumm, systems="abs").systems == ("abs/bart_out.txt", "abs/t5_out.txt")
    assert find_data_card("realsumm").whole_texts


def test_malformed_realsumm_is_refused(realsumm: Path) -> None:
    with pytest.raises(RecipeError, match="'all' does not exist; choose from: 'abs', 'ext'"):
        load("realsumm", realsumm, systems="all")
    write(
        realsumm / "abs.jsonl", json.dumps({"doc_id": 0, "ref_summ": "x", "system_summaries": {"a": {"scores": {}}}})
    )
    with pytest.raises(FileFormatError, match=r"abs.jsonl, line 1"):
        load("realsumm", realsumm)
    (realsumm / "abs.jsonl").unlink()
    with pytest.raises(InputError, match=r"no file 'abs.jsonl' in this folder"):
        load("realsumm", realsumm)
