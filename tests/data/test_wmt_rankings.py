"""Rankings of up to five outputs, as WMT had until 2016 (made texts in the layout of the packages)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlgauge.apps.cli import main
from nlgauge.data import load
from nlgauge.data.loaders.wmt import load_wmt_rankings
from nlgauge.errors import FileFormatError

COLUMNS = ["srclang", "trglang", "srcIndex", "documentId", "segmentId", "judgeId"]
COLUMNS += [f"system{number}{kind}" for number in range(1, 6) for kind in ("Number", "Id")]
COLUMNS += [f"system{number}rank" for number in range(1, 6)]


def ranking(line: int, systems: str, ranks: list[int], pair: str = "cs-en") -> str:
    names = [cell for number, name in enumerate(systems) for cell in (str(number), f"newstest2014.{name}.{pair}")]
    return ",".join(["Czech", "English", str(line), "-1", str(line), "judge7", *names, *map(str, ranks)])


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    lines = ["the cat sat on the mat", "it will rain again tomorrow", "nobody came to the party"]
    write(tmp_path / "references" / "newstest2014-ref.cs-en", *lines)
    write(tmp_path / "sources" / "newstest2014-src.cs-en", "x", "y", "z")
    for name in "ABCDE":
        worse = [" ".join(line.split()[: 6 - "ABCDE".index(name)]) for line in lines]
        write(tmp_path / "system-outputs" / "cs-en" / f"newstest2014.{name}.cs-en", *worse)
    write(
        tmp_path / "judgements" / "wmt14.cs-en.csv",
        ",".join(COLUMNS),
        ranking(1, "ABCDE", [1, 2, 2, 3, -1]),
        ranking(3, "EABCD", [1, 2, -1, -1, -1]),
    )
    return tmp_path


def test_a_ranking_is_a_preference_for_each_two_ranks(package: Path) -> None:
    pairs = load_wmt_rankings(package, year=2014)
    # Of A 1, B 2, C 2, D 3: A before B, C and D, B and C before D; B and C tie, and E is blank.
    first = [(better, worse) for line, better, worse in zip(pairs.segment, pairs.better, pairs.worse, strict=True)]
    assert sorted(first) == [("A", "B"), ("A", "C"), ("A", "D"), ("B", "D"), ("C", "D"), ("E", "A")]
    assert pairs.segment == ("1",) * 5 + ("3",)
    assert set(pairs.langpair) == {"cs-en"}


def test_the_package_has_all_outputs(package: Path) -> None:
    table = load("wmt14", package)
    assert (table.systems, len(table)) == (("A", "B", "C", "D", "E"), 15)
    assert table.references[0] == ("the cat sat on the mat",)
    assert table.source is not None
    assert table.source[:3] == ("x", "y", "z")


def test_tau_of_the_rankings(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["study", "meta", "--data", "wmt14", "--at", str(package), "-m", "chrf", "--agreement", "darr"]
    assert main([*command, "-q", "--no-sentinels", "-f", "json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    cell = table["metrics"][0]["by_langpair"]["cs-en"]
    # Outputs get shorter from A to E: chrF orders five pairs as the judge, and not the one of line 3.
    assert cell["count"] == 6
    assert cell["value"] == pytest.approx((5 - 1) / 6)


def test_names_of_another_year_are_refused(package: Path) -> None:
    file = package / "judgements" / "wmt14.cs-en.csv"
    file.write_text(file.read_text(encoding="utf-8").replace("newstest2014.B", "newstest2013.B"), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"line 2, column 'system2Id': expected a name like 'newstest2014"):
        load_wmt_rankings(package, year=2014)
