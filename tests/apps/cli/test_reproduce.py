"""`nlgauge study reproduce list` and `nlgauge study reproduce NAME`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines
from tests.studies.published.rankings.small_frames import write_frames

from nlgauge.apps.cli.reproduce import _cut
from nlgauge.studies.published.load import INVENTORY, PAPER_TABLES


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a test writes, or names with --at."""
    monkeypatch.delenv("NLGAUGE_DATA", raising=False)


def bagel(folder: Path) -> None:
    lines = []
    for number, text in enumerate(("a hotel", "the hotel is cheap", "cheap hotel", "no")):
        scores = {"informativeness": number, "naturalness": 3 - number, "quality": number % 2}
        line = {"id": str(number), "source": "s", "hypothesis": text, "references": ["the hotel is cheap", "a hotel"]}
        lines.append(json.dumps(line | {"human": scores}))
    write_lines(folder / "bagel.jsonl", lines)


@pytest.mark.model
def test_list_shows_which_data_is_available(run: Run, folder: Path) -> None:
    result = run("study", "reproduce", "list")
    assert (result.status, result.err) == (0, "")
    entries, _, left_out = result.out.partition("\nPublished, but not included:\n")
    assert [line.split()[0] for line in entries.splitlines()[2:] if line[0] != " "] == list(PAPER_TABLES)
    assert "SentSim                   Figures 5 to 7    a figure without numbers" in left_out
    assert "BERTScore                 Table 11          scores of systems, not agreement" in left_out
    part = "Table 11.1 (ours are explanation methods of nlgauge: the submissions to the shared task are not public)"
    assert part in " ".join(entries.split())
    assert max(map(len, result.out.splitlines())) <= 120
    # Each table of the papers can be looked up, also those that share an entry.
    in_print = re.sub(r"\s+", " ", entries)
    assert all(f"{item.paper}, {item.name}" in in_print for item in INVENTORY if item.entries)
    assert re.search(r"^repro-table8 +not here: coco-captions ", entries, re.M)
    assert "MoverScore-1 and BERTScore's recall; models of the paper: " in in_print
    assert "not here: bagel, sfhotel" in result.out
    bagel(folder)
    assert "released scores; dissertation, chapter 12, Table 3" in in_print
    assert "none, not here" not in in_print
    assert "bagel; not here: sfhotel" in run("study", "reproduce", "list", "--at", ".").out
    listed = json.loads(run("study", "reproduce", "list", "--format", "json").out)["entries"]
    described = {entry["id"]: entry for entry in listed if entry["id"] is not None}
    assert list(described) == list(PAPER_TABLES)
    # What has no entry is in both lists, with its reason.
    assert {element["reason"] for element in described.values()} == {None}
    reasons = {element["printed"][0]: element["reason"] for element in listed if element["id"] is None}
    assert reasons == {f"{item.paper}, {item.name}": item.reason for item in INVENTORY if not item.entries}
    assert {tuple(element) for element in listed} == {
        ("id", "title", "source", "printed", "data", "models", "reason")
    }
    assert described["repro-table3"]["data"] == {"wmt15": False, "wmt16": False}
    assert described["repro-table3"]["printed"] == ["reproducibility study, Table 3"]
    assert described["moverscore-table1"]["printed"][:2] == ["MoverScore, Table 1", "MoverScore, Table 7"]
    assert described["repro-table3"]["models"]["minilm"], "the tests have it"
    assert described["repro-table3"]["models"].keys() == {"bert-base-uncased", "MNLI_BERT", "minilm"}
    assert described["bt-table1"]["models"] == {}


def test_without_data_the_print_and_what_is_missing_are_shown(run: Run) -> None:
    result = run("study", "reproduce", "moverscore-table1", "-q")
    assert result.status == 1, "nothing was computed"
    assert (
        result.err == "nlgauge: no value of moverscore-table1 could be recomputed; the notes list what is missing\n"
    )
    assert "WMD-1 + BERT + MNLI + PMEANS" in result.out
    assert "0.743" in result.out
    assert "ours" not in [line.split()[-1] for line in result.out.splitlines() if line.split()]
    assert "missing: data set wmt17: no data folder set (--at PATH); available at www.statmt.org" in result.out
    captions = run("study", "reproduce", "repro-table8", "-q").out
    assert "0.851" in captions
    assert "cocodataset.org" in captions


@pytest.mark.heavy
def test_every_table_prints_without_data(run: Run) -> None:
    for name, table in PAPER_TABLES.items():
        if not (table.data or table.unavailable):
            continue  # scores are drawn: the test below
        result = run("study", "reproduce", name, "-q")
        assert result.status == 1, "nothing was computed"
        assert name in result.out


def test_rankings_of_drawn_scores_need_no_data(run: Run, folder: Path, refused: Refusal) -> None:
    result = run("study", "reproduce", "bt-figure2", "--plot", "pairings.png", "--seed", "3")
    assert (result.status, result.err) == (0, "")
    assert "three types, S as 1 3 2" in result.out
    assert "note: non-default options: seed=3" in result.out
    assert (folder / "pairings.png").read_bytes().startswith(b"\x89PNG")
    assert " needs none  " in run("study", "reproduce", "list").out
    assert "ties=half has no effect on bt-figure2" in refused(2, "study", "reproduce", "bt-figure2", "--ties", "half")
    assert "options of rankings (--frames, --score" in refused(2, "study", "reproduce", "table3", "--full")
    assert "options of sensitivity studies" in refused(2, "study", "reproduce", "bt-table1", "--state", "s")


def test_rankings_on_frames(run: Run, folder: Path) -> None:
    write_frames(folder)
    command = ("study", "reproduce", "bt-table1", "--at", ".", "--data", "topicalchat-scores", "--format", "json")
    second, half = (json.loads(run(*command, "--ties", ties).out) for ties in ("second", "half"))
    assert second["rows"][1]["reason"] == "8 of 296 setups"
    cells = [result["rows"][1]["cells"]["disagree"]["ours"] for result in (second, half)]
    assert cells[0] != cells[1]
    assert half["options"]["ties"] == "half"
    assert (
        "topicalchat-scores, personachat-scores; not here: tac08"
        in run("study", "reproduce", "list", "--at", ".").out
    )


def test_missing_data_folder_is_refused(refused: Refusal) -> None:
    assert "'/nowhere' does not exist" in refused(1, "study", "reproduce", "repro-table3", "--at", "/nowhere")
    assert "'/nowhere' does not exist" in refused(1, "study", "reproduce", "list", "--at", "/nowhere")


@pytest.mark.parametrize(
    "option", [("--rows", "x"), ("--langpairs", "cs-en"), ("--model", "none"), ("--draws", "3"), ("--plot", "f.png")]
)
def test_the_list_takes_no_options_of_a_table(refused: Refusal, option: tuple[str, str]) -> None:
    assert f"{option[0]} goes with the name of a table" in refused(2, "study", "reproduce", "list", *option)


def test_formats_and_the_json_file(run: Run, folder: Path) -> None:
    bagel(folder)
    command = ("study", "reproduce", "moverscore-table3", "--at", ".", "--model", "none", "-q")
    text = run(*command)
    assert run(*command, "-f", "json", "-o", "out.json")[:2] == (0, "")
    written = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert written == json.loads(run(*command, "--format", "json").out)
    rows = {row["name"]: row for row in written["rows"]}
    cell = rows["ROUGE-L"]["cells"]["bagel inf"]
    assert cell["published"] == 0.202
    assert cell["difference"] == pytest.approx(cell["ours"] - 0.202)
    assert rows["ROUGE-L"]["cells"]["sfhotel inf"]["ours"] is None
    assert rows["ROUGE-L"]["signatures"]["bagel inf"].startswith("rougel|")
    assert rows["BERTSCORE-F1"]["reason"] == "not computed: --model none"
    assert f"{cell['ours']:.3f}" in text.out
    tsv = [row for row in run(*command, "--format", "tsv").rows if row["metric"] == "ROUGE-L"]
    assert [item["value"] for item in tsv] == ["published", "ours", "difference"]
    assert tsv[1]["bagel inf"] == f"{cell['ours']:.3f}"
    assert r"\begin{tabular}" in run(*command, "--format", "latex").out
    assert "| ROUGE-L | published |" in run(*command, "--format", "markdown").out


def test_unknown_table_suggests_the_closest_id(refused: Refusal) -> None:
    assert "did you mean 'repro-table9'?" in refused(2, "study", "reproduce", "table99")
    assert "did you mean 'repro-table4'?" in refused(2, "study", "reproduce", "tabel4")
    assert "did you mean 'bertscore-table4'?" in refused(2, "study", "reproduce", "bertscore-tabel4")
    assert "language pair 'xx-en' does not exist" in refused(
        2, "study", "reproduce", "table2", "--langpairs", "xx-en"
    )
    assert "row 'nothing' does not exist" in refused(2, "study", "reproduce", "table2", "--rows", "nothing")
    says = refused(2, "study", "reproduce", "disco-table7", "--vectors", "glove.txt")
    assert "no row of disco-table7 uses word vectors; leave out --vectors" in says


def test_a_study_with_its_figure(run: Run, folder: Path, refused: Refusal) -> None:
    outputs = {
        "A.1": ("the cat sat, here", "a dog, no", "rain!"),
        "B.2": ("cat sat", "the dog ran home", "it is dry"),
    }
    human = iter((0.5, 0.1, -0.2, 0.3, 0.9, -0.7))
    (folder / "references").mkdir()
    (folder / "system-outputs").mkdir()
    write_lines(
        folder / "references" / "newstest2017-csen-ref.en", ["the cat sat here.", "the dog ran.", "rain fell."]
    )
    judged = ["LP DATA SYSTEM SID HUMAN"]
    for system, lines in outputs.items():
        write_lines(folder / "system-outputs" / f"newstest2017.{system}.cs-en", list(lines))
        judged += [f"cs-en newstest2017 {system} {line} {next(human)}" for line in (1, 2, 3)]
    write_lines(folder / "DA-seglevel.csv", judged)
    limits = ("--at", ".", "--data", "wmt17", "--levels", "segment", "--langpairs", "cs-en", "-q")
    result = run("study", "reproduce", "figure2", *limits, "--state", "s", "--plot", "f.png", "--format", "json")
    assert (result.status, result.err) == (0, "")
    actual = json.loads(result.out)
    assert actual["id"] == "repro-figure2"
    assert {row["name"]: row["cells"]["17 seg cs-en"]["ours"] is None for row in actual["rows"]} == {
        "Mover-1 RD(dis,ori)": False,
        "Mover-1 RD(dis,pr)": False,
    }
    assert (folder / "f.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "s").stat().st_size > 100
    assert "repro-table2 has no figure" in refused(2, "study", "reproduce", "table2", "--plot", "f.png")
    assert "repro-table2 is not a sensitivity study" in refused(2, "study", "reproduce", "table2", "--state", "s")


def test_all_tables_are_written_by_the_extension_of_the_output(run: Run, folder: Path) -> None:
    write_frames(folder)
    chosen = ("study", "reproduce", "--all", "--tables", "bt-figure2", "bertscore-table5", "--at", ".")
    result = run(*chosen, "-o", "page.md", "--state-folder", "finished")
    assert result.status == 0
    assert "2 of 2, bertscore-table5: not run: data set coco-captions: not found in '.'" in result.err
    assert "nlgauge: 1 of 2 tables run, 63 cells computed: 63 that the paper does not print" in result.err
    page = (folder / "page.md").read_text(encoding="utf-8")
    assert "| row | column | printed | ours | difference | why |" in page
    again = run(*chosen, "-o", "page.html", "--state-folder", "finished", "-q")
    assert (again.status, again.err) == (0, "")
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    run(*chosen, "-o", "page.json", "--state-folder", "finished", "-q")
    record = json.loads((folder / "page.json").read_text(encoding="utf-8"))
    assert record["format"] == "nlgauge-reproduced-tables-1"
    assert record["totals"]["run"] == 1
    assert {path.name for path in (folder / "finished").iterdir()} == {"bt-figure2.json", "bertscore-table5.json"}


def test_no_table_that_can_be_run_is_status_1(run: Run, folder: Path) -> None:
    result = run("study", "reproduce", "--all", "--tables", "bertscore-table5", "--at", ".", "-q")
    assert result.status == 1
    assert "Not run: 1 table" in result.out


def test_options_of_one_table_are_refused_with_all(refused: Refusal, folder: Path) -> None:
    assert "--all recomputes all tables; leave out --all or --rows" in refused(
        2, "study", "reproduce", "--all", "--rows", "x"
    )
    assert "--all recomputes all tables; leave out --all or table3, --ties" in refused(
        2, "study", "reproduce", "table3", "--all", "--ties", "half"
    )
    assert "name a table or figure, 'list' or --all" in refused(2, "study", "reproduce")
    assert "--minutes works only with --all" in refused(2, "study", "reproduce", "table3", "--minutes", "1")


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("not computed: --model none", "--model none"),
        ("needs corpora, such as WiLI (zenodo.org/records/841984) and IMDB", "needs corpora, such as WiLI and IMDB"),
        ("data set x: not found in '.'; available at example.org", "data set x: not found in '.'"),
    ],
)
def test_reason_of_a_table_that_was_not_run(reason: str, shown: str) -> None:
    assert _cut(reason) == shown
