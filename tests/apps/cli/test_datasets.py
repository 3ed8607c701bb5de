"""`nlgauge data list|info|check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines

from nlgauge.data.cards import DATA_CARDS


def test_list_shows_every_known_data_set(run: Run) -> None:
    result = run("data", "list")
    assert (result.status, result.err) == (0, "")
    assert [line.split()[0] for line in result.out.splitlines()[2:]] == list(DATA_CARDS)
    described = json.loads(run("data", "list", "--format", "json").out)["data"]
    assert [entry["name"] for entry in described] == list(DATA_CARDS)


def test_info_has_source_citation_licence_and_digests(run: Run) -> None:
    out = run("data", "info", "mlqe-pe").out
    assert "github.com/sheffieldnlp/mlqe-pe" in out
    assert "Fomicheva" in out
    assert "licence:   see the publisher" in out
    assert "log-likelihood of the translation model" in out
    assert DATA_CARDS["mlqe-pe"].files[0].digest in out
    described = json.loads(run("data", "info", "tac2008", "--format", "json").out)
    assert described["rows"] == {"en": 2976}
    assert "humans" in described["options"]


def test_info_of_an_unknown_name(refused: Refusal) -> None:
    assert "unknown data set 'wmt3'; see 'nlgauge data list'" in refused(2, "data", "info", "wmt3")


def test_check_recognises_by_the_files_and_fails_when_incomplete(run: Run, folder: Path) -> None:
    line = {"id": "0", "source": "s", "hypothesis": "h", "references": ["r"]}
    scores = {"informativeness": 1, "naturalness": 2, "quality": 3}
    write_lines(folder / "bagel.jsonl", [json.dumps(line | {"human": scores})])
    for path in (".", "bagel.jsonl"):
        result = run("data", "check", path)
        assert (result.status, result.err) == (1, "")
        assert f"bagel at {path}: NOT complete" in result.out
        assert "1 of 404" in result.out
    (actual,) = json.loads(run("data", "check", ".", "--format", "json").out)["checks"]
    assert actual["complete"] is False
    assert actual["files"] == [{"pattern": "bagel.jsonl", "expected": 1, "found": 1, "state": "different"}]
    forced = run("data", "check", ".", "--name", "paws")
    assert forced.status == 1
    assert "does not load" in forced.out


def test_check_of_own_data_names_its_columns(run: Run) -> None:
    Path("own.tsv").write_text("mt\tref\tadequacy\na cat\tthe cat\t3\n", encoding="utf-8")
    command = ("data", "check", "own.tsv", "--name", "custom", "--format", "json")
    assert "--set hypothesis=COLUMN" in json.loads(run(*command).out)["checks"][0]["problem"]
    result = run(*command, "--set", "hypothesis=mt", "references=ref", "human=adequacy")
    assert json.loads(result.out)["checks"][0]["problem"] is None


def test_check_refuses_a_folder_without_a_data_set(refused: Refusal) -> None:
    assert "no known data set found in '.'; name it with --name" in refused(1, "data", "check", ".")
    assert "no such file or folder: 'nowhere'" in refused(1, "data", "check", "nowhere")


def test_check_by_name_needs_a_folder(refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NLGAUGE_DATA", raising=False)
    assert "nlgauge data check PATH --name paws" in refused(2, "data", "check", "paws")


def test_check_of_real_data(run: Run, data_folder: Path) -> None:
    if not (data_folder / "explain/out_paws.tsv").is_file():
        pytest.skip("NLGAUGE_DATA does not hold paws")
    for path in ("paws", str(data_folder / "explain/out_paws.tsv")):
        result = run("data", "check", path)
        assert (result.status, result.err) == (0, "")
        assert ": complete" in result.out


def test_info_says_what_kind_of_value_an_option_takes(run: Run) -> None:
    assert "humans (flag), min_sentences (number)" in run("data", "info", "tac2008").out
