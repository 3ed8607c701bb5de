"""`nlgauge study meta` and `nlgauge study tune-layer` on a small table of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nlgauge.apps.cli import main

ROWS = """segment\tsystem\thypothesis\treference\thuman\tother2\tother
1\ta\tThe ferry was cancelled.\tThe ferry was called off.\t0.9\t5\t5
2\ta\tBread.\tThe bread is the best.\t0.2\t1\t1
3\ta\tNobody wrote.\tShe wrote letters.\t0.3\t2\t2
1\tb\tA storm.\tThe ferry was called off.\t0.1\t2\t2
2\tb\tThe bread is best.\tThe bread is the best.\t0.95\t4\t4
3\tb\tShe wrote letters to him.\tShe wrote letters.\t0.8\t3\t3
"""


COLUMNS = ("references=reference", "human=human,other2", "system=system", "segment=segment")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.tsv"
    path.write_text(ROWS)
    return path


def command(own: Path, *more: str) -> list[str]:
    data = ["--data", "custom", "--at", str(own), "--set", *COLUMNS, "released=other"]
    return ["study", "meta", *data, "--metric", "bertscore", "chrf", "--resamples", "100", "--quiet", *more]


def test_a_table_in_every_format(own: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(command(own, "--plot", str(tmp_path / "f.png"), "--released", "other")) == 0
    text = capsys.readouterr().out
    assert "Pearson's r with human, segment level" in text
    assert "signature of bertscore: bertscore|minilm-L4" in text
    assert "sentinel-random" in text
    assert (tmp_path / "f.png").stat().st_size > 1000
    assert main(command(own, "--format", "json", "--no-sentinels", "--agreement", "pearson", "kendall")) == 0
    first, second = json.loads(capsys.readouterr().out)["tables"]
    assert (first["agreement"], second["agreement"]) == ("pearson", "kendall")
    assert {row["metric"] for row in first["metrics"]} == {"bertscore", "chrf"}
    assert main(command(own, "--format", "tsv")) == 0
    header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert {len(row) for row in rows} == {len(header)}
    assert main(command(own, "--format", "latex")) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out


def test_levels_of_systems_and_topics(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(own, "--level", "topic", "--agreement", "acc-eq", "differences", "--test", "none")) == 0
    assert "count as ties" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "status", "word"),
    [
        (("--criterion", "charm"), 2, "charm"),
        (("--agreement", "spa"), 2, "level 'system'"),
        (("--plot", "figure.gif"), 2, "figure.gif"),
        (("--released", "nothing"), 2, "nothing"),
        (("--set", "human"), 2, "KEY=VALUE"),
    ],
)
def test_invalid_commands_are_named(
    own: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], status: int, word: str
) -> None:
    assert main(command(own, *more)) == status
    assert word in capsys.readouterr().err


def test_the_best_layer(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--data", "custom", "--at", str(own), "--set", *COLUMNS, "--quiet"]
    assert main(["study", "tune-layer", *options, "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["layers"]) == 7
    assert result["best"] == max(result["layers"], key=lambda row: row["average"])["layer"]


def test_scores_of_another_tool_are_rows_like_ours(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = own.parent / "judge.csv"
    rows = [
        f"{system},{segment},{score}" for system, segment, score in zip("aaabbb", "123123", "526143", strict=True)
    ]
    judge.write_text("\n".join(["system,segment,score", *rows]) + "\n")
    data = ["--data", "custom", "--at", str(own), "--set", *COLUMNS]
    alone = ["study", "meta", *data, "--scores", str(judge), "--no-sentinels", "--quiet", "--format", "json"]
    assert main(alone) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["metric"] for row in table["metrics"]] == ["judge"]
    assert main([*alone, "--metric", "chrf", "--lower-is-better", "judge"]) == 0
    (turned,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["metric"] for row in turned["metrics"]] == ["chrf", "judge"]
    values = [next(row for row in item["metrics"] if row["metric"] == "judge")["average"] for item in (table, turned)]
    assert values[0] == pytest.approx(-values[1])
    judge.write_text("\n".join(["system,segment,score", *rows[1:]]) + "\n")
    assert main(alone) == 1
    assert "has no score for segment '1' of 'a'" in capsys.readouterr().err


def test_a_data_set_without_texts_shows_the_scores_that_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, rows in {
        "tac/TAC/08/ROUGE_1": ("0.1,0.4,0.2", "0.3,0.2,0.5", "0.3,0.1,0.2"),
        "tac/TAC/08/JS_1": ("-0.2,-0.1,-0.4", "-0.3,-0.2,-0.1", "-0.4,-0.5,-0.1"),
        "tac_pyramid/TAC_pyr/08": ("1,4,2", "3,2,5", "3,1,2"),
    }.items():
        file = tmp_path / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(("M0,M1,M2", *rows)) + "\n", encoding="utf-8")
    command = [
        "study",
        "meta",
        "--data",
        "tac08-scores",
        "--at",
        str(tmp_path),
        "--level",
        "topic",
        "--test",
        "none",
        "-q",
    ]
    assert main([*command, "--format", "json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["tables"]
    actual = {row["metric"]: row["average"] for row in result["metrics"]}
    assert list(actual) == ["JS_1", "ROUGE_1"], "neither sentinels nor a metric of ours"
    assert actual["ROUGE_1"] == pytest.approx(1)
    assert main([*command, "--metric", "chrf"]) == 1
    assert "chrf needs references, and tac08-scores has none" in capsys.readouterr().err


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Twelve documents of three rows each, with the scores of two metrics."""
    rng = np.random.default_rng(4)
    lines = ["hypothesis\treference\tscore\tdoc\tfirst\tsecond"]
    for number in range(36):
        human, first, other = rng.normal(size=3)
        lines.append(f"a {number}\tb {number}\t{human:.3f}\td{number // 3}\t{human + first:.3f}\t{human + other:.3f}")
    path = tmp_path / "judged.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_documents_of_the_data_or_of_a_file(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["study", "meta", "--data", "custom", "--at", str(judged), "--set", "released=first,second", "-m", "chrf"]
    command = [*data, "--released", "first", "second", "--no-sentinels", "--resamples", "100", "-q", "-f", "json"]
    ids = f"{judged}:doc"
    result = []
    for more in (["--set", "document=doc", "--documents"], ["--document-ids", ids], ["--set", "document=doc"], []):
        assert main([*command, *more]) == 0
        result.append(json.loads(capsys.readouterr().out)["tables"])
    assert result[0] == result[1]
    assert result[2] == result[3], "a column is not asked for yet"
    assert result[0][0]["options"]["unit"] == "document"
    assert result[0][0]["notes"] == ["und: resampled by document (12 documents), not by judged output"]
    assert result[3][0]["options"]["unit"] == "judged output"
    low = [[row["by_langpair"]["und"]["low"] for row in tables[0]["metrics"]] for tables in (result[0], result[3])]
    assert all(first != other for first, other in zip(*low, strict=True))
    short = judged.parent / "short.txt"
    short.write_text("d1\nd2\n")
    for more, status, word in (
        (["--document-ids", str(short)], 1, "has 2 lines, but needs a document id for each of 36 rows of judged.tsv"),
        (["--documents"], 1, "has no document ids"),
        (["--documents", "--document-ids", ids], 2, "--documents cannot be combined with --document-ids"),
        (["--document-ids", ids, "--test", "williams"], 2, "Williams"),
        (["--document-ids", ids, "--agreement", "differences", "--level", "topic"], 2, "nothing is resampled"),
    ):
        assert main([*command, *more]) == status
        assert word in capsys.readouterr().err


def test_soft_accuracy_that_cannot_be_computed_does_not_lose_pearson(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gaps.tsv"
    rng = np.random.default_rng(1)
    lines = ["segment\tsystem\thypothesis\treference\thuman"]
    for segment in range(9):
        for system in range(3):
            judged = f"{rng.random():.3f}" if segment % 3 == system else ""
            lines.append(f"{segment}\ts{system}\ta cat sat {segment} {'x' * system}\ta cat sat {segment}\t{judged}")
    path.write_text("\n".join(lines) + "\n")
    columns = ("references=reference", "system=system", "segment=segment", "human=human")
    data = ["--data", "custom", "--at", str(path), "--set", *columns]
    asked = ["study", "meta", *data, "--metric", "chrf", "rouge1", "--level", "system", "--quiet", "--agreement"]
    assert main([*asked, "pearson", "spa"]) == 0
    pearson, spa = capsys.readouterr().out.split("\n\n", 1)
    assert "Pearson's r" in pearson
    assert "soft pairwise accuracy" in spa
    assert spa.count("no segment was judged for every system") == 1, "said once for all metrics"
    assert main([*asked, "spa"]) == 1
    assert "no agreement could be computed for gaps.tsv" in capsys.readouterr().err


def test_metric_that_cannot_be_computed_at_all_is_an_error(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["study", "meta", "--data", "custom", "--at", str(own), "--set", *COLUMNS, "released=other", "--quiet"]
    assert main([*asked, "--metric", "bertscore:layer=99"]) == 2
    assert "layer must be" in capsys.readouterr().err
    assert main([*asked, "--metric", "bertscore:layer=99", "chrf"]) == 0
    assert "bertscore:layer=99, und: layer must be" in capsys.readouterr().out


def test_seed_of_the_draws_is_said_beside_soft_accuracy(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(own, "--level", "system", "--agreement", "spa", "--seed", "4")) == 0
    assert "p-values from 100 resamples, seed 4" in capsys.readouterr().out


def test_metrics_next_to_each_other(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["--set", "released=first,second", "--released", "first", "second", "-m", "chrf", "-q", "--between"]
    command = ["study", "meta", "--data", "custom", "--at", str(judged), *columns]
    folder = judged.parent
    files = ["--plot", str(folder / "f.svg"), "--report", str(folder / "r.html")]
    assert main([*command, "--pair", "first", "second", "--most", "1", "--show", "scatter", *files]) == 0
    text = capsys.readouterr().out
    assert "judged.tsv, und: Pearson's r of scores, 36 judged outputs" in text
    assert "largest differences of rank between first and second" in text
    assert "sentinel" not in text
    assert "<svg" in (folder / "f.svg").read_text()
    assert "data:image/png" in (folder / "r.html").read_text()
    assert main([*command, "--agreement", "kendall", "-f", "tsv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split("\t")[3:6] == ["first", "second", "value"]
    assert len(rows) == 16
    for more, word in (
        (["--agreement", "auc"], "--between needs --agreement pearson, spearman, kendall, got 'auc'"),
        (["--pair", "first", "secnd"], "--pair names 'secnd'; did you mean 'second'?"),
        (["--test", "none"], "--test has no effect with --between"),
    ):
        assert main([*command, *more]) == 2
        assert word in capsys.readouterr().err
    assert main([*command[:-1], "--most", "3"]) == 2
    assert "--most works only with --between" in capsys.readouterr().err


def test_relative_rankings_of_a_wmt_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(name: str, *lines: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))

    write("references/newstest2018-csen-ref.en", *["the cat sat on the mat"] * 12)
    write("system-outputs/cs-en/newstest2018.A.1.cs-en", *["the cat sat on the mat"] * 12)
    write("system-outputs/cs-en/newstest2018.B.2.cs-en", *["a dog"] * 12)
    command = ["study", "meta", "--data", "wmt18", "--at", str(tmp_path), "-m", "chrf", "--agreement", "darr"]
    command += ["-q", "--no-sentinels", "--set", "detokenise=no"]
    assert main(command) == 1
    assert "needs the relative rankings, RR-seglevel.csv, which are not in" in capsys.readouterr().err
    pairs = [f"cs-en newstest2018 {line} A.1 B.2" for line in range(1, 12)] + ["cs-en newstest2018 12 B.2 A.1"]
    write("RR-seglevel.csv", "LP DATA SID BETTER WORSE", *pairs)
    assert main([*command, "-f", "json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    cell = table["metrics"][0]["by_langpair"]["cs-en"]
    assert cell["value"] == pytest.approx(10 / 12), "11 of 12 pairs right"
    assert cell["count"] == 12
    assert cell["low"] < cell["value"] < cell["high"] <= 1
    assert table["criterion"] == "relative rankings"
