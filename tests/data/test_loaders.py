"""Every loader on small files: what it reads, and where it says that a file is wrong."""

from __future__ import annotations

import io
import json
import math
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlgauge.data.cards import DATA_CARDS, check, load, recognise
from nlgauge.data.loaders import moses_detokeniser
from nlgauge.data.loaders.flat_files import load_custom
from nlgauge.data.loaders.mt_metrics_eval import load_mt_metrics_eval
from nlgauge.data.loaders.wmt import WmtPackage, load_wmt_rankings
from nlgauge.errors import FileFormatError, InputError, MissingExtraError, RecipeError
from nlgauge.studies.meta.evaluation import evaluate
from nlgauge.studies.meta.row_scores import ScoredJudgements, released_rows


def write(path: Path, *lines: str) -> Path:
    """A file of these lines; its folders come into being."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def replace_line(path: Path, number: int, line: str) -> None:
    """Change one line, counted from 1."""
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[number - 1] = line
    path.write_text("\n".join(lines), encoding="utf-8")


# --- WMT packages --------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of 2017 with two systems, a real one called hybrid, a mixture, and three segments."""
    write(
        tmp_path / "DA-seglevel.csv",
        "LP DATA SYSTEM SID HUMAN",
        "cs-en newstest2017 A.1+B.2 1 0.5",
        "cs-en newstest2017 nmt-smt-hybrid.7 3 -1.25",
        "cs-en newstest2017 hybrid.11 3 9.0",
        "cs-en himltest B.2 2 9.0",
        "cs-en newstest2017 B.2 2 0",
        "en-cs newstest2017 C.3 2 0.1",
    )
    write(tmp_path / "DA-syslevel.csv", "LP HUMAN SYSTEM", "cs-en 0.1 A.1", "cs-en -0.2 B.2", "cs-en 5 hybrid.11")
    write(tmp_path / "references/newstest2017-csen-ref.en", "one .", "two , two", "it &apos;s three")
    write(tmp_path / "source/newstest2017-csen-src.cs", "jedna .", "dva", "tri")
    outputs = tmp_path / "system-outputs/cs-en"
    write(outputs / "newstest2017.A.1.cs-en", "a one .", "a two .", "a three .")
    write(outputs / "newstest2017.B.2.cs-en", "b one .", "b two .", "b three .")
    write(outputs / "newstest2017.nmt-smt-hybrid.7.cs-en", "h one .", "h two .", "h three .")
    write(outputs / "newstest2017.hybrid.11.cs-en", "x", "x", "x")
    return tmp_path


def test_a_package_at_segment_level(package: Path) -> None:
    table = load("wmt17", package, detokenise=False)
    assert table.segment == ("1", "3", "2")
    assert table.system == ("A.1", "nmt-smt-hybrid.7", "B.2")
    assert table.hypothesis == ("a one .", "h three .", "b two .")
    assert table.references == (("one .",), ("it &apos;s three",), ("two , two",))
    assert table.source == ("jedna .", "tri", "dva")
    assert table.gold().tolist() == [0.5, -1.25, 0.0]
    assert table.system_scores["cs-en"] == {"A.1": 0.1, "B.2": -0.2}
    assert table.notes == ("no system outputs for en-cs, only scores in DA-seglevel.csv",)
    assert load("wmt17", package, langpairs="cs-en").notes == ()
    assert "WMT17" in table.citation


def test_the_official_protocol_detokenises_hypotheses_and_references(package: Path) -> None:
    table = load("wmt17", package)
    assert table.hypothesis == ("a one.", "h three.", "b two.")
    assert table.references == (("one.",), ("it's three",), ("two, two",))
    assert table.source == ("jedna .", "tri", "dva"), "sources stay as they are"
    documents = table.documents("cs-en", "B.2")
    assert documents.hypotheses == ("b one.", "b two.", "b three.")
    assert documents.references == (("one.",), ("two, two",), ("it's three",))
    with pytest.raises(RecipeError, match=r"system 'hybrid.11' does not exist"):
        table.documents("cs-en", "hybrid.11")


def test_detokenising_without_sacremoses_names_the_package(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moses_detokeniser.cache_clear()
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[lexical\]'"):
        load("wmt17", package)
    assert len(load("wmt17", package, detokenise=False)) == 3


def test_a_package_at_system_level(package: Path) -> None:
    table = load("wmt17", package, level="system", detokenise=False)
    assert len(table) == 9
    assert table.systems == ("A.1", "B.2", "nmt-smt-hybrid.7")
    assert table.default_criterion is None
    assert table.notes == ("cs-en: outputs without scores for nmt-smt-hybrid.7",)
    assert table.documents("cs-en", "A.1").hypotheses == ("a one .", "a two .", "a three .")
    with pytest.raises(RecipeError, match="level must be 'segment' or 'system', got 'doc'"):
        load("wmt17", package, level="doc")


def test_a_package_can_be_in_a_subfolder(package: Path, tmp_path: Path) -> None:
    deep = tmp_path / "deep/system-outputs/newstest2017/cs-en"
    deep.mkdir(parents=True)
    for file in (package / "system-outputs/cs-en").iterdir():
        file.rename(deep / file.name)
    (package / "system-outputs/cs-en").rmdir()
    (package / "system-outputs").rmdir()
    (package / "references").rename(tmp_path / "deep/references")
    assert WmtPackage(package, 2017).segment_table().hypothesis == ("a one .", "h three .", "b two .")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cs-en newstest2017 A.1 1", r"DA-seglevel.csv, line 2: expected 5 .* got 4 .*column 'HUMAN' is missing"),
        (
            "cs-en newstest2017 A.1 1 good",
            r"DA-seglevel.csv, line 2, column 'HUMAN': expected a number, got \"good\"",
        ),
        ("cs-en newstest2017 A.1 1 nan", r"line 2, column 'HUMAN': expected a number"),
        ("cs-en newstest2017 A.1 4 0.5", r"line 2, column 'SID': expected a whole number from 1 to 3, got \"4\""),
        ("cs-en newstest2017 Z.9 1 0.5", r"line 2, column 'SYSTEM': no output file of 'Z.9'"),
        ("cs-en newstest2017 B.2 2 0.5", r"line 6: duplicate of segment '2' of system 'B.2', .* at .*csv, line 2"),
    ],
)
def test_wrong_assessment_error_names_line_and_column(package: Path, line: str, message: str) -> None:
    replace_line(package / "DA-seglevel.csv", 2, line)
    with pytest.raises(FileFormatError, match=message):
        load("wmt17", package, detokenise=False)


def test_files_with_different_numbers_of_lines_are_errors(package: Path) -> None:
    write(package / "system-outputs/cs-en/newstest2017.A.1.cs-en", "a one .", "a two .")
    message = r"newstest2017.A.1.cs-en: 2 lines, but .*ref.en has 3; .*first missing line: .*, line 3"
    for level in ("segment", "system"):
        with pytest.raises(FileFormatError, match=message):
            load("wmt17", package, level=level, detokenise=False)
    write(package / "source/newstest2017-csen-src.cs", "jedna .")
    with pytest.raises(FileFormatError, match=r"src.cs: 1 lines, but .*ref.en has 3"):
        load("wmt17", package, detokenise=False)


def test_a_system_with_two_scores(package: Path) -> None:
    write(package / "DA-syslevel.csv", "LP HUMAN SYSTEM", "cs-en 0.1 A.1", "cs-en 0.2 A.1")
    with pytest.raises(FileFormatError, match=r"DA-syslevel.csv, line 3, column 'SYSTEM': duplicate of 'A.1'"):
        load("wmt17", package, detokenise=False)


def test_the_header_must_name_the_columns(package: Path) -> None:
    replace_line(package / "DA-seglevel.csv", 1, "LP DATA SYSTEM SID SCORE")
    with pytest.raises(FileFormatError, match=r"line 1, column 'HUMAN': no such column"):
        load("wmt17", package)


@pytest.mark.parametrize("header", ["DATA SID BETTER WORSE", "LP DATA SID BETTER WORSE"])
def test_rankings_with_and_without_the_missing_name(tmp_path: Path, header: str) -> None:
    write(
        tmp_path / "RR-seglevel.csv",
        header,
        "zh-en newstest2018 12 A.1.zh-en B.2.zh-en",
        "de-en newstest2018 3 B.2 A.1",
        "de-en newstest2018 3 B.2 hybrid.5",
    )
    pairs = load_wmt_rankings(tmp_path, year=2018)
    assert pairs.langpair == ("zh-en", "de-en")
    assert pairs.segment == ("12", "3")
    assert pairs.better == ("A.1", "B.2")
    assert pairs.worse == ("B.2", "A.1")
    assert load_wmt_rankings(tmp_path, year=2018, langpairs="de-en").segment == ("3",)


def test_incomplete_rankings_are_errors(tmp_path: Path) -> None:
    write(tmp_path / "RR-seglevel.csv", "DATA SID BETTER WORSE", "de-en newstest2018 3 B.2")
    with pytest.raises(FileFormatError, match=r"line 2: expected 5 .*got 4.*column 'WORSE' is missing"):
        load_wmt_rankings(tmp_path, year=2018)
    (tmp_path / "RR-seglevel.csv").unlink()
    with pytest.raises(InputError, match=r"no 'RR-seglevel.csv' in this folder or below"):
        load_wmt_rankings(tmp_path, year=2018)


# --- the other public formats --------------------------------------------------------------------------


def wmt15_item(**scores: Any) -> dict[str, Any]:
    output = {"generated_sentence": "hyp\n", "scores": {"human": 0.5, "bleu": 12.0, "bary": [0.25], **scores}}
    return {"system": {"wmt15": output}, "references_sentences": "ref\n"}


def test_wmt15_json(tmp_path: Path) -> None:
    write(tmp_path / "15_cs-en_formated.json", json.dumps({"0": wmt15_item(), "1": wmt15_item(human=-1)}))
    table = load("wmt15", tmp_path)
    assert (table.hypothesis[0], table.references[0]) == ("hyp", ("ref",))
    assert table.gold().tolist() == [0.5, -1.0]
    assert table.released["bary"].tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps({"0": wmt15_item(human="high")}), r"item '0', .*column 'human': expected a number, got \"high\""),
        (json.dumps({"0": wmt15_item(bary=[1, 2])}), r"column 'bary': expected a number or a list of one"),
        (json.dumps({"0": {"system": {}}}), r"item '0', column 'references_sentences': no such column"),
        (json.dumps({"0": 3}), r"item '0': expected an object, got 3"),
        ('{"0": 1, "0": 2}', r"item '0' occurs more than once"),
        ("[1]", r"expected one JSON object"),
        ("{", r"broken JSON"),
    ],
)
def test_malformed_wmt15_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "15_cs-en_formated.json", text)
    with pytest.raises(FileFormatError, match=message):
        load("wmt15", tmp_path)


TESTSET = "LP\tsource\ttranslation\treference\tHUMAN_score\tsentBLEU"


def test_a_quote_in_the_testset_is_a_quote(tmp_path: Path) -> None:
    write(tmp_path / "testset_cs-en.tsv", TESTSET, 'cs-en\t"a ""b"""\t"h\tr\t0.5\t0.1', 'cs-en\t"c"\th\tr"\t-1\t0')
    table = load("wmt17-testset", tmp_path)
    assert table.source == ('"a ""b"""', '"c"')
    assert (table.hypothesis[0], table.references[1]) == ('"h', ('r"',))
    assert load("wmt17-testset", tmp_path, unquote=True).source == ('a "b"', '"c"')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cs-en\ts\tt\tr\t0.5", r"testset_cs-en.tsv, line 2: expected 6 .* got 5 .*column 'sentBLEU' is missing"),
        ("cs-en\ts\tt\tr\t-\t0.1", r"line 2, column 'HUMAN_score': expected a number, got \"-\""),
        ("de-en\ts\tt\tr\t0.5\t0.1", r"line 2, column 'LP': expected 'cs-en'"),
    ],
)
def test_a_wrong_testset(tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path / "testset_cs-en.tsv", TESTSET, line)
    with pytest.raises(FileFormatError, match=message):
        load("wmt17-testset", tmp_path)


MLQE = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores"


def archive(path: Path, **files: list[str]) -> None:
    with tarfile.open(path, "w:gz") as out:
        for name, lines in files.items():
            data = "".join(f"{line}\n" for line in lines).encode()
            member = tarfile.TarInfo(f"en-de/{name.replace('__', '.')}")
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))


def test_mlqe_archives(tmp_path: Path) -> None:
    rows = [MLQE, '0\t"src\tmt\t[1, 2]\t1.5\t[0.1, 0.3]\t0.2\t-0.4', "1\tsrc\tmt\t[]\t5\t[]\t-1\t-0.5"]
    path = tmp_path / "en-de-test.tar.gz"
    archive(path, test20__ende__df__short__tsv=rows, test20__doc_ids=["doc_id", "Oman", "Rome"])
    table = load("mlqe-pe", tmp_path)
    assert table.gold().tolist() == [0.2, -1.0]
    assert table.document == ("Oman", "Rome")
    assert table.source == ('"src', "src")
    archive(path, test20__ende__df__short__tsv=[*rows, rows[1]], test20__doc_ids=["doc_id", "a", "b", "c"])
    with pytest.raises(FileFormatError, match=r"tsv, line 4: duplicate of segment '0', en-de, .*tsv, line 2"):
        load("mlqe-pe", tmp_path)
    archive(path, test20__ende__df__short__tsv=rows, test20__doc_ids=["doc_id", "Oman"])
    with pytest.raises(FileFormatError, match=r"doc_ids: 2 lines, but .*tsv has 3"):
        load("mlqe-pe", tmp_path)
    archive(path, test20__doc_ids=["doc_id", "Oman"])
    with pytest.raises(FileFormatError, match=r"expected a file 'test20.ende.df.short.tsv' in the archive"):
        load("mlqe-pe", tmp_path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(FileFormatError, match=r"incomplete tar\.gz archive"):
        load("mlqe-pe", tmp_path)


def tac_peer(summ_id: str, *sentences: str, **scores: float) -> dict[str, Any]:
    return {"summ_id": summ_id, "text": list(sentences), "responsiveness": 3.0, "pyr_score": 0.5, **scores}


def test_tac_joins_sentences_and_marks_people(tmp_path: Path) -> None:
    peers = [tac_peer("0", "One.", "Two.", pyr_mod_score=0.4), tac_peer("1"), tac_peer("C", "By hand.", "Yes.")]
    content = {"D1": {"references": [{"id": "r", "text": ["R.", "S."]}], "annotations": peers}}
    write(tmp_path / "tac.08.mds.gen.resp-pyr", json.dumps(content))
    table = load("tac2008", tmp_path)
    assert table.hypothesis == ("One. Two.", "", "By hand. Yes.")
    assert table.references[0] == ("R. S.",)
    assert table.human_systems == {"C"}
    np.testing.assert_array_equal(table.gold("pyr_mod_score"), [0.4, math.nan, math.nan])
    assert load("tac2008", tmp_path, humans=False).systems == ("0", "1")
    assert load("tac2008", tmp_path, min_sentences=2).systems == ("0", "C")
    peers[0]["responsiveness"] = "good"
    write(tmp_path / "tac.08.mds.gen.resp-pyr", json.dumps(content))
    with pytest.raises(FileFormatError, match=r"topic 'D1', 'annotations'\[0\], column 'responsiveness'"):
        load("tac2008", tmp_path)
    content["D1"]["annotations"] = [peers[1], peers[1]]
    write(tmp_path / "tac.08.mds.gen.resp-pyr", json.dumps(content))
    with pytest.raises(FileFormatError, match=r"'annotations'\[1\]: duplicate of segment 'D1' of system '1'"):
        load("tac2008", tmp_path)


def judged(**changes: Any) -> str:
    human = {"informativeness": 6.0, "naturalness": 4.0, "quality": 5.0}
    return json.dumps(
        {"id": "0", "source": "inform()", "hypothesis": "h", "references": ["r"], "human": human} | changes
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (judged(), r"bagel.jsonl, line 2: duplicate of segment '0', en, first at .*line 1"),
        (judged(id="1", human={"informativeness": 1}), r"line 2, 'human', column 'naturalness': no such column"),
        (judged(id="1", references=[]), r"line 2, column 'references': expected a string or a non-empty list"),
        (judged(id="1", hypothesis=None), r"line 2, column 'hypothesis': expected a string, got null"),
        (judged(id="1", human=[1]), r"line 2, column 'human': expected an object"),
        ("not json", r"line 2: broken JSON"),
    ],
)
def test_malformed_judged_jsonl_is_refused(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "bagel.jsonl", judged())
    assert load("bagel", path).gold("quality").tolist() == [5.0]
    write(path, judged(), line)
    with pytest.raises(FileFormatError, match=message):
        load("bagel", tmp_path)


def multi30k(folder: Path, translations: Any, *, gold: str = '{"1.jpg": "ref"}') -> Path:
    write(folder / "MMTsourcedict.json", '{"1.jpg": "src"}')
    write(folder / "MMTgolddict_de.json", gold)
    write(folder / "MMTtranslationdict_de.json", json.dumps({"1.jpg": translations}))
    return folder


def test_multi30k_drops_file_names_with_a_warning(tmp_path: Path) -> None:
    multi30k(tmp_path, [["ein hund", 0.5], ["1_ab.jpg", -1.5], ["zwei", 1]])
    with pytest.warns(UserWarning, match="en-de: 1 translations are names of image files, not text; dropped"):
        table = load("multi30k", tmp_path)
    assert table.segment == ("1.jpg#0", "1.jpg#2")
    assert table.hypothesis == ("ein hund", "zwei")
    multi30k(tmp_path, [["ein hund", "gut"]])
    with pytest.raises(FileFormatError, match=r"item '1.jpg'\[0\], column 'score': expected a number"):
        load("multi30k", tmp_path)
    multi30k(tmp_path, [["ein hund"]])
    with pytest.raises(FileFormatError, match=r"expected a list of \[translation, score\]"):
        load("multi30k", tmp_path)
    multi30k(tmp_path, [["ein hund", 1]], gold="{}")
    with pytest.raises(FileFormatError, match=r"item '1.jpg': the image has no reference"):
        load("multi30k", tmp_path)


def test_sentence_pairs(tmp_path: Path) -> None:
    path = write(tmp_path / "sts_en.tsv", "5.000\tA plane.\tAn air plane.", "1\tx\ty")
    assert load("sts", tmp_path).gold().tolist() == [5.0, 1.0]
    write(path, "5.000\tA plane.")
    with pytest.raises(FileFormatError, match=r"sts_en.tsv, line 1: expected 3 .*column 'second' is missing"):
        load("sts", path)
    scores = "\t".join(["0.5"] * 9)
    write(tmp_path / "out_paws.tsv", f"0\tA\tC\t{scores}", f"1\tA\tB\t{scores}")
    assert load("paws", tmp_path).gold().tolist() == [0.0, 1.0]
    write(tmp_path / "out_paws.tsv", f"2\tA\tC\t{scores}")
    with pytest.raises(FileFormatError, match=r"line 1, column 'label': expected a whole number from 0 to 1"):
        load("paws", tmp_path)


# --- mt-metrics-eval -----------------------------------------------------------------------------------


@pytest.fixture
def mtme(tmp_path: Path) -> Path:
    """A test set with two systems, a second reference among the outputs, and MQM beside another score."""
    folder = tmp_path / "wmt99"
    write(folder / "sources/en-de.txt", "one", "two")
    write(folder / "documents/en-de.docs", "news doc1", "news doc2")
    write(folder / "references/en-de.refA.txt", "eins", "zwei")
    write(folder / "references/en-de.refB.txt", "EINS", "ZWEI")
    for system, lines in {
        "sys1": ("e", "z"),
        "sys2": ("ee", "zz"),
        "refB": ("EINS", "ZWEI"),
        "refA": ("eins", "zwei"),
    }.items():
        write(folder / f"system-outputs/en-de/{system}.txt", *lines)
    write(folder / "human-scores/en-de.mqm.seg.score", "sys1\t-1", "sys1\tNone", "refB\t0", "refB\t-0.5")
    write(folder / "human-scores/en-de.mqm.sys.score", "sys1 -1", "sys2 None", "refB -0.25")
    write(folder / "human-scores/en-de.wmt-z.seg.score", "sys2 1", "sys2 2")
    write(folder / "metric-scores/en-de/BLEU-refA.seg.score", "sys1 10", "sys1 20", "sys2 30", "sys2 40")
    return folder


def test_mt_metrics_eval_folder(mtme: Path) -> None:
    table = load_mt_metrics_eval(mtme)
    assert table.name == "wmt99"
    assert table.systems == ("refB", "sys1", "sys2")
    assert table.human_systems == {"refB"}
    assert table.references == (("eins",), ("zwei",)) * 3
    assert table.topic is None
    assert table.document == ("doc1", "doc2") * 3
    assert table.default_criterion == "mqm"
    np.testing.assert_array_equal(table.gold(), [0, -0.5, -1, math.nan, math.nan, math.nan])
    np.testing.assert_array_equal(table.gold("wmt-z"), [math.nan] * 4 + [1, 2])
    np.testing.assert_array_equal(table.released["BLEU-refA"], [math.nan, math.nan, 10, 20, 30, 40])
    assert table.system_scores["en-de"] == {"sys1": -1.0, "refB": -0.25}


def test_systems_are_compared_by_segment_where_a_document_has_several(mtme: Path) -> None:
    write(mtme / "documents/en-de.docs", "news doc1", "news doc1")
    for level in ("seg", "sys"):
        (mtme / f"human-scores/en-de.mqm.{level}.score").unlink()
    scores = [f"{system} {value}" for system, values in {"sys1": "13", "sys2": "24"}.items() for value in values]
    write(mtme / "human-scores/en-de.wmt-z.seg.score", *scores)
    table = load_mt_metrics_eval(mtme).where(system=["sys1", "sys2"])
    scored = ScoredJudgements(table, (released_rows(table, "BLEU-refA"),))
    for level, judgements in (("topic", 4), ("system", 2)):
        cell = evaluate(scored, level=level).cells["BLEU-refA"]["en-de"]  # type: ignore[arg-type]
        assert (cell.value, cell.count) == (pytest.approx(1.0), judgements)


def test_mt_metrics_eval_choices(mtme: Path) -> None:
    table = load("mt-metrics-eval", mtme, gold="wmt-z", references=["refB", "refA"], released=False)
    assert table.systems == ("sys1", "sys2")
    assert table.references[0] == ("EINS", "eins")
    assert table.default_criterion == "wmt-z"
    assert table.released == {}
    with pytest.raises(RecipeError, match="'da' does not exist; choose from: 'mqm', 'wmt-z'"):
        load_mt_metrics_eval(mtme, gold="da")
    for level in ("seg", "sys"):
        (mtme / f"human-scores/en-de.mqm.{level}.score").rename(mtme / f"human-scores/en-de.sqm.{level}.score")
    with pytest.raises(RecipeError, match=r"several human scores \(sqm, wmt-z\); choose one with gold=NAME"):
        load_mt_metrics_eval(mtme)
    (mtme / "references/en-de.refA.txt").rename(mtme / "references/en-de.refC.txt")
    with pytest.raises(RecipeError, match=r"several references \(refB, refC\); choose with"):
        load_mt_metrics_eval(mtme)


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        ("human-scores/en-de.mqm.seg.score", ["sys1 1"], r"expected 2 scores of 'sys1', got 1"),
        (
            "human-scores/en-de.mqm.seg.score",
            ["sys1 1"] * 3,
            r"line 3, column 'SYSTEM': more than 2 scores of 'sys1'",
        ),
        ("human-scores/en-de.mqm.seg.score", ["sys1 bad"], r"line 1, column 'SCORE': expected a number"),
        ("human-scores/en-de.mqm.seg.score", ["sys9 1"], r"line 1, column 'SYSTEM': 'sys9' has no file"),
        ("system-outputs/en-de/sys1.txt", ["e"], r"sys1.txt: 1 lines, but .*sources.en-de.txt has 2"),
        ("references/en-de.refA.txt", ["e"], r"refA.txt: 1 lines"),
        ("documents/en-de.docs", ["news doc1"], r"en-de.docs: 1 lines"),
    ],
)
def test_malformed_mt_metrics_eval_is_refused(mtme: Path, file: str, lines: list[str], message: str) -> None:
    write(mtme / file, *lines)
    with pytest.raises(FileFormatError, match=message):
        load_mt_metrics_eval(mtme)


# --- own tables ----------------------------------------------------------------------------------------


def test_own_tsv_with_named_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.tsv",
        "id\tsys\tlp\tmt\tref\tref2\tadequacy\tfluency\tchrf",
        "7\ta\tde-en\th1\tr1\ts1\t4\t5\t50",
        "8\ta\tde-en\th2\tr2\ts2\t\t3\t60",
        "7\tb\tfr-en\th3\tr1\ts1\t1\t2\t70",
    )
    columns: dict[str, Any] = {
        "hypothesis": "mt",
        "references": ["ref", "ref2"],
        "human": ["adequacy", "fluency"],
        "released": "chrf",
        "segment": "id",
        "system": "sys",
        "langpair": "lp",
    }
    table = load("custom", path, **columns)
    assert table.name == "mine.tsv"
    assert table.references[0] == ("r1", "s1")
    np.testing.assert_array_equal(table.gold(), [4, math.nan, 1])
    assert load_custom(path, **columns, gold="fluency").gold().tolist() == [5, 3, 2]
    assert load_custom(path, **columns, langpairs="fr-en").hypothesis == ("h3",)
    with pytest.raises(
        FileFormatError,
        match=r"no column 'hypothesis' with outputs; the columns are 'id', 'sys', .*--set hypothesis=COLUMN",
    ):
        load_custom(path)
    with pytest.raises(RecipeError, match=r"gold criterion 'chrf' does not exist"):
        load_custom(path, **columns, gold="chrf")
    replace_line(path, 4, "7\ta\tde-en\th3\tr1\ts1\t1\t2\t70")
    with pytest.raises(FileFormatError, match=r"mine.tsv, line 4: duplicate of segment '7' .*mine.tsv, line 2"):
        load_custom(path, **columns)
    replace_line(path, 4, "9\ta\tde-en\th3\tr1\ts1\tok\t2\t70")
    with pytest.raises(FileFormatError, match=r"mine.tsv, line 4, column 'adequacy': expected a number, got \"ok\""):
        load_custom(path, **columns)


def test_own_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", "hypothesis,reference,score", '"a, b",r,1', "h,r,")
    table = load_custom(path)
    assert table.hypothesis == ("a, b", "h")
    np.testing.assert_array_equal(table.gold(), [1, math.nan])
    with pytest.raises(FileFormatError, match=r"line 1: no column 'adequacy' with human ratings"):
        load_custom(path, human="adequacy")


def test_own_jsonl(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.jsonl",
        '{"hypothesis": "h", "reference": ["r", "s"], "score": 1}',
        '{"hypothesis": "h", "reference": "r", "score": null}',
    )
    table = load_custom(path)
    assert table.references == (("r", "s"), ("r",))
    assert table.segment == ("1", "2")
    np.testing.assert_array_equal(table.gold(), [1, math.nan])
    assert load_custom(path, references=()).references == ((), ())
    write(path, '{"hypothesis": "h", "reference": "r", "score": true}')
    with pytest.raises(FileFormatError, match=r"line 1, column 'score': expected a number, got true"):
        load_custom(path)
    with pytest.raises(InputError, match=r"your own data needs a .tsv, .csv or .jsonl file"):
        load_custom(write(tmp_path / "mine.txt", "x"))


# --- names, options, checks ----------------------------------------------------------------------------


def test_names_and_options_are_checked(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"unknown data set 'wmt3'; see 'nlgauge data list'"):
        load("wmt3", tmp_path)
    with pytest.raises(RecipeError, match=r"'tac2008' has no option 'human'; its options are: langpairs, humans"):
        load("tac2008", tmp_path, human=False)
    with pytest.raises(RecipeError, match=r"has no option 'year'"):
        load("wmt17", tmp_path, year=2018)
    with pytest.raises(InputError, match=r"no such file or folder: .* download wmt17 from www.statmt.org"):
        load("wmt17", tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no file named like 'testset_\*.tsv'; give"):
        load("wmt17-testset", tmp_path)


def test_every_card_names_its_source() -> None:
    for card in DATA_CARDS.values():
        assert card.title
        assert card.gold
        assert card.published or card.generic
        assert card.licence
        assert card.citation or card.generic
        for group in card.files:
            assert group.digest == "" or len(group.digest) == 64


def test_check_distinguishes_missing_from_different_files(package: Path) -> None:
    assert recognise(package) == ("wmt17",)
    result = check("wmt17", package)
    assert not result.complete
    states = {entry.pattern: entry.state for entry in result.files}
    assert states["**/DA-seglevel.csv"] == "different"
    assert states["**/newstest2017-*-ref.en"] == "missing"
    assert {entry.langpair: (entry.expected, entry.found) for entry in result.rows}["cs-en"] == (560, 3)
    assert result.problem is None
    replace_line(package / "DA-seglevel.csv", 2, "cs-en newstest2017 A.1 1 good")
    result = check("wmt17", package)
    assert result.rows == ()
    assert result.problem is not None
    assert "column 'HUMAN'" in result.problem


def test_check_of_a_layout_without_known_bytes(mtme: Path) -> None:
    assert recognise(mtme) == ("mt-metrics-eval",)
    result = check("mt-metrics-eval", mtme)
    assert result.complete
    assert [tuple(entry) for entry in result.rows] == [("en-de", None, 6)]
    assert {entry.state for entry in result.files} == {"present"}


# --- marked errors -------------------------------------------------------------------------------------


def eval4nlp(folder: Path, name: str = "ro-en-dev", **changes: str) -> Path:
    split = name.rpartition("-")[2]
    content = {
        "src": "un gat .\nda\n",
        "mt": "a  gate .\nyes\n",
        "src-tags": "0 1 0\n0\n",
        "tgt-tags": "0 1 0\n0\n",
        "da": "40.5\n90\n",
    } | {key.replace("_", "-"): value for key, value in changes.items()}
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
        for kind, text in content.items():
            member = tarfile.TarInfo(f"{name}/{split}.{kind}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return folder


def test_tags_of_words_become_spans(tmp_path: Path) -> None:
    table = load("eval4nlp", eval4nlp(tmp_path))
    assert table.langpairs == ("ro-en",)
    assert table.hypothesis_errors == (((3, 7, 1.0),), ())
    assert table.source_errors == (((3, 6, 1.0),), ())
    assert table.gold().tolist() == [40.5, 90.0]
    assert table.take([1]).hypothesis_errors == ((),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tgt_tags": "0 1\n0\n"}, "line 1, column 'tgt-tags': expected 0 or 1 for each of the 3 words"),
        ({"src_tags": "0 2 0\n0\n"}, "line 1, column 'src-tags'"),
        ({"da": "40.5\n"}, "1 lines, but"),
        ({"da": "40.5\nx\n"}, "line 2, column 'da': expected a number"),
    ],
)
def test_wrong_number_of_tags_is_an_error(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        load("eval4nlp", eval4nlp(tmp_path, **changes))


def test_a_pair_with_both_splits_needs_a_choice(tmp_path: Path) -> None:
    eval4nlp(tmp_path)
    eval4nlp(tmp_path, "ro-en-test21", da="1\n2\n")
    with pytest.raises(RecipeError, match="has both dev and test21; choose one, such as split=dev"):
        load("eval4nlp", tmp_path)
    assert load("eval4nlp", tmp_path, split="test21").gold().tolist() == [1.0, 2.0]
    with pytest.raises(RecipeError, match="split must be one of dev, test21"):
        load("eval4nlp", tmp_path, split="train")


MQM = [
    "a d 1 7 r1 源 A|<v>big</v>|cat. Style/Awkward Major",
    "a d 1 7 r1 源 A|big|cat<v>.</v> Fluency/Punctuation Minor",
    "a d 1 7 r1 <v>源</v> A|big|cat. Accuracy/Omission Minor",
    "ref d 1 7 r2 源 Cat. Non-translation! Major",
    "refB d 1 7 r1 源 A|cat. No-error No-error",
]


def mqm(folder: Path, *rows: str) -> Path:
    header = "system doc doc_id seg_id rater source target category severity"
    lines = ["\t".join(row.split(" ")).replace("|", " ") for row in [header, *(rows or MQM)]]
    write(folder / "mqm_ted_zhen.tsv", *lines)
    return folder


def test_mqm_spans_lose_their_marks_and_weigh_by_severity(tmp_path: Path) -> None:
    table = load("mqm-ted", mqm(tmp_path))
    assert (table.systems, table.langpairs, table.references) == (("a",), ("zh-en",), (("A cat.",),))
    assert (table.hypothesis, table.source) == (("A big cat.",), ("源",))
    assert table.hypothesis_errors == (((2, 5, 5.0), (9, 10, 0.1)),)
    assert table.source_errors == (((0, 1, 1.0),),)
    assert table.gold().tolist() == [pytest.approx(-6.1)]
    other = load("mqm-ted", tmp_path / "mqm_ted_zhen.tsv", references="ref", humans=True)
    assert (other.systems, other.human_systems) == (("a", "refB"), {"refB"})
    people = load("mqm-ted", tmp_path, humans=True)
    assert dict(zip(people.system, people.gold(), strict=True))["ref"] == -25.0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a d 1 7 r 源 A x Huge", MQM[4]], "column 'severity': expected one of Major, Minor"),
        ([MQM[0], "a d 1 7 r1 源 A|dog x Minor", MQM[4]], "column 'target': expected the same text as in line 2"),
        ([MQM[0], "refB d 1 8 r 源 A x No-error"], "segment 'd:7' has no line of the reference 'refB'"),
    ],
)
def test_inconsistent_mqm_lines_are_errors(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        load("mqm-ted", mqm(tmp_path, *rows))


def test_a_reference_missing_from_the_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        RecipeError, match="references='refC' is not a system of the file; its systems are: a, ref, refB"
    ):
        load("mqm-ted", mqm(tmp_path), references="refC")


def test_several_raters_are_averaged(tmp_path: Path) -> None:
    table = load("mqm-ted", mqm(tmp_path, *MQM, "a d 1 7 r9 源 A|big|cat. No-error No-error"))
    assert table.gold().tolist() == [pytest.approx(-3.05)]


def test_search_stops_in_a_huge_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nlgauge.data import loaders as folders

    monkeypatch.setattr(folders, "_MOST_ENTRIES", 20)
    for number in range(30):
        (tmp_path / "other" / str(number)).mkdir(parents=True)
    with pytest.raises(
        InputError, match=r"no file named like 'DA-seglevel\.csv' among the first 20; give the data set's own"
    ):
        load("wmt17", tmp_path)


def test_labelled_pairs_of_paws_and_qqp(tmp_path: Path) -> None:
    paws = ("id\tsentence1\tsentence2\tlabel", '1\tA "b" c .\tC "b" a .\t0', "2\tA b .\tB , a .\t1")
    write(tmp_path / "explain/paws_test.tsv", *paws)
    table = load("paws-wiki", tmp_path)
    assert (table.name, table.segment, table.gold().tolist()) == ("paws-wiki", ("1", "2"), [0.0, 1.0])
    assert table.hypothesis == ('C "b" a .', "B , a .")
    assert table.references == (('A "b" c .',), ("A b .",))
    # GLUE's copy of QQP, with quotes around some texts; the generator of PAWS-QQP writes byte strings.
    qqp = ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", '7\t1\t2\t"Is ""x"" y?"\tWhy?\t1')
    write(tmp_path / "QQP/dev.tsv", *qqp)
    assert load("qqp", tmp_path).references == (('"Is ""x"" y?"',),)
    assert load("qqp", tmp_path, unquote=True).references == (('Is "x" y?',),)
    literal = r"1" + '\tb\'Caf\\xc3\\xa9 "A" ?\'\tb"What\'s B ?"\t0'
    write(tmp_path / "paws_qqp/dev_and_test.tsv", "id\tsentence1\tsentence2\tlabel", literal)
    table = load("paws-qqp", tmp_path)
    assert (table.hypothesis, table.references) == (("What's B ?",), (('Café "A" ?',),))
    assert table.notes == ("1 pairs with sentences like b'...', which were decoded",)
    write(tmp_path / "other.tsv", "id\tfirst\tsecond\tlabel", "1\ta\tb\t0")
    with pytest.raises(FileFormatError, match="sentence1"):
        load("paws-wiki", tmp_path / "other.tsv")
    write(tmp_path / "other.tsv", "id\tsentence1\tsentence2\tlabel", "1\ta\tb\t2")
    with pytest.raises(FileFormatError, match="a whole number from 0 to 1"):
        load("paws-wiki", tmp_path / "other.tsv")
