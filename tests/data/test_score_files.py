"""Scores of other tools: every layout gives the same table, and nothing is filled in or guessed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from nlgauge.core.signature import Signature
from nlgauge.data.score_files import ImportedScores, ScoreSpec, read_score_file, read_score_files
from nlgauge.errors import DataWarning, FileFormatError, InputError, RecipeError

VALUES = [[0.5, 0.25], [0.75, 1.0], [0.1, -2.0]]

WIDE = "id\ta\tb\ns1\t0.5\t0.25\ns2\t0.75\t1\ns3\t0.1\t-2\n"
LONG = "system,segment,score\na,s1,0.5\na,s2,0.75\na,s3,0.1\nb,s3,-2\nb,s1,.25\nb,s2,1e0\n"
JSONL = "".join(
    json.dumps({"id": f"s{index + 1}", "system": name, "mt": "text", "score": VALUES[index][column]}) + "\n"
    for index in range(3)
    for column, name in enumerate("ab")
)


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def read(folder: Path, name: str, text: str, **options: object) -> ImportedScores:
    (result,) = read_score_file(write(folder, name, text), **options)  # type: ignore[arg-type]
    return result


def values(imported: ImportedScores) -> list[list[float]]:
    """Instances x systems."""
    return np.column_stack([score.score for score in imported.scores]).tolist()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("comet.tsv", WIDE),
        ("comet.csv", WIDE.replace("\t", ",")),
        ("comet.csv.gz", WIDE.replace("\t", ",")),
        ("comet.csv", LONG),
        ("comet.tsv", LONG.replace(",", "\t")),
        ("comet.jsonl", JSONL),
    ],
)
def test_every_layout_gives_the_same_table(tmp_path: Path, name: str, text: str) -> None:
    result = read(tmp_path, name, text)
    assert (result.metric, result.systems, result.instances) == ("comet", ("a", "b"), ("s1", "s2", "s3"))
    assert values(result) == VALUES
    assert all(score.higher_is_better for score in result.scores)
    assert result.documents is None


def test_the_file_is_in_the_signature(tmp_path: Path) -> None:
    first, other = read(tmp_path, "comet.tsv", WIDE), read(tmp_path, "comet.tsv", WIDE.replace("-2", "-3"))
    assert str(first.scores[0].signature).startswith("comet|scores:")
    assert str(first.scores[0].signature).endswith("|better:higher")
    assert first.scores[0].signature.recipe["scores"] != other.scores[0].signature.recipe["scores"]
    odd = read(tmp_path, "x.csv", LONG.replace("score", "a:b|c"), lower_is_better=["a:b|c"])
    assert Signature.parse(str(odd.scores[0].signature)) == odd.scores[0].signature
    assert odd.scores[0].signature.metric == "a:b|c"


def test_lower_is_better_sets_the_orientation(tmp_path: Path) -> None:
    result = read(tmp_path, "ter.tsv", WIDE, lower_is_better=["ter"])
    assert not result.scores[0].higher_is_better
    assert result.scores[0].signature.recipe["better"] == "lower"
    with pytest.raises(RecipeError, match=r"lower_is_better names 'comet', but .* scores of: chrf"):
        read_score_files([write(tmp_path, "chrf.tsv", WIDE)], lower_is_better=["comet"])


def test_error_rates_that_count_as_better_when_higher_are_warned_of(tmp_path: Path) -> None:
    with pytest.warns(
        DataWarning, match=r"ter.tsv: higher scores of 'ter' count as better; .* --lower-is-better ter"
    ):
        read(tmp_path, "ter.tsv", WIDE)


def test_comet_writes_lists_of_objects_by_system(tmp_path: Path) -> None:
    content = {
        f"out/{name}.txt": [{"src": "s", "mt": "m", "COMET": VALUES[index][column]} for index in range(3)]
        for column, name in enumerate("ab")
    }
    result = read(tmp_path, "out.json", json.dumps(content))
    assert (result.metric, result.systems, result.instances) == ("COMET", ("out/a.txt", "out/b.txt"), ("0", "1", "2"))
    assert values(result) == VALUES
    (named,) = read_score_file(f"comet={tmp_path / 'out.json'}:COMET")
    assert named.metric == "comet"
    for wrong, message in (
        ({"a": 3}, "'a': expected a list with an object per segment"),
        ({"a": []}, "'a': expected a list"),
        ({"a": [3]}, "'a', segment 0: expected an object, got 3"),
        ({"format": "nlgauge-scores-1"}, "this is a result of nlgauge"),
    ):
        with pytest.raises(FileFormatError, match=message):
            read(tmp_path, "out.json", json.dumps(wrong))


def test_several_metrics_of_a_file(tmp_path: Path) -> None:
    columns = "system,id,text,comet,ter\na,1,x,.5,3\na,2,x,.7,2\nb,1,x,.1,1\nb,2,x,.2,0\n"
    comet, ter = read_score_file(write(tmp_path, "all.csv", columns), lower_is_better=["ter"])
    assert [(item.metric, item.scores[0].higher_is_better) for item in (comet, ter)] == [
        ("comet", True),
        ("ter", False),
    ]
    (only,) = read_score_file(f"{tmp_path / 'all.csv'}:comet")
    assert values(only) == values(comet)
    both = read_score_file(f"judge={tmp_path / 'all.csv'}:comet,ter")
    assert [item.metric for item in both] == ["judge comet", "judge ter"]
    rows = "metric,system,id,score\nx,a,1,.5\nx,b,1,.6\ny,a,1,.7\ny,b,1,.8\n"
    assert [entry.metric for entry in read_score_file(write(tmp_path, "rows.csv", rows))] == ["x", "y"]


def test_consecutive_numeric_ids_are_sorted(tmp_path: Path) -> None:
    rows = [f"{index},{index / 10}" for index in (10, 1, 2, 3, 4, 5, 6, 7, 8, 9)]
    result = read(tmp_path, "x.csv", "\n".join(["id,a", *rows]) + "\n")
    assert result.instances == tuple(map(str, range(1, 11)))
    assert result.scores[0].score.tolist() == [index / 10 for index in range(1, 11)]
    others = read(tmp_path, "y.csv", "id,a\n7,.1\n3,.2\n")
    assert others.instances == ("7", "3")
    unnamed = read(tmp_path, "z.csv", "a,b\n.1,.2\n.3,.4\n")
    assert unnamed.instances == ("0", "1")


def test_documents_and_names_of_columns(tmp_path: Path) -> None:
    text = "model\titem\tstory\tscore\na\t1\tx\t.5\na\t2\ty\t.6\nb\t1\tx\t.7\nb\t2\ty\t.8\n"
    columns = {"system": "model", "segment": "item", "document": "story"}
    result = read(tmp_path, "judge.tsv", text, columns=columns)
    assert (result.systems, result.documents) == (("a", "b"), ("x", "y"))
    with pytest.raises(
        FileFormatError, match=r"line 4, column 'story': segment '1' is in document 'x' in an earlier row"
    ):
        read(tmp_path, "judge.tsv", text.replace("b\t1\tx", "b\t1\ty"), columns=columns)
    with pytest.raises(
        RecipeError, match="unknown column role 'judge'; the roles are: system, segment, document, metric, langpair"
    ):
        read(tmp_path, "judge.tsv", text, columns={"judge": "model"})
    with pytest.raises(FileFormatError, match="column 'models': no such column"):
        read(tmp_path, "judge.tsv", text, columns={"system": "models"})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", LONG.replace("b,s2,1e0\n", ""), "x of 'b' lacks segment 's2', which other systems have"),
        ("x.csv", LONG.replace("b,s3,-2\nb,s1,.25\n", ""), "lacks segment 's1' and 1 others"),
        ("x.csv", LONG + "b,s2,1\n", r"line 8.*second score of segment 's2' of 'b' \(first: .*line 7"),
        ("x.csv", LONG.replace("0.75", ""), r"line 3, column 'score': expected a number, got \"\""),
        ("x.csv", LONG.replace("0.75", "nan"), r"line 3, column 'score': expected a number, got \"nan\""),
        ("x.tsv", WIDE.replace("0.75", "inf"), r"line 3, column 'a': expected a number, got \"inf\""),
        ("x.tsv", WIDE.replace("s2\t", "s1\t"), "second score of segment 's1' of 'a'"),
        ("x.tsv", WIDE.replace("a\tb", "a\ta"), "column 'a': 2 columns have this name"),
        (
            "x.tsv",
            "id\ttext\ta\n1\tno\t.5\n",
            r"column 'text': expected a number, got \"no\"; correct it, or choose the score columns: ",
        ),
        ("x.tsv", "id\n1\n", "no column of scores; the only columns are 'id'"),
        (
            "x.csv",
            "system,id,text\na,1,no\n",
            "no column 'score' and no column of numbers; name the column of scores",
        ),
        ("x.csv", "id;a\n1;.5\n", "columns are separated by ';', but CSV files use commas"),
        ("x.csv", "id,a\n1,1e200\n", r"column 'a': expected a score of at most 1e\+100"),
        ("x.jsonl", '{"id": 1, "a": true}\n', "column 'a': expected a number, got true"),
        ("x.jsonl", '{"id": 1, "a": 1}\n{"id": 2}\n', "line 2, column 'a': no such column"),
    ],
)
def test_misaligned_scores_are_errors_with_their_location(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(tmp_path, name, text)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "system,score\na,1\n", "a column of systems but no column of segment ids"),
        ("x.csv", "metric,id,a\nm,1,.5\n", "column 'metric' needs a column with system names as well"),
        ("x.csv", "id,segment,a\n1,1,.5\n", "columns 'segment' and 'id' can both be the segment"),
        ("x.csv", "metric,system,id,p,q\nm,a,1,.5,.6\n", "column 'metric' allows one column of scores, got p, q"),
    ],
)
def test_ambiguous_layouts_are_errors(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read(tmp_path, name, text)


def test_score_file_specs_are_parsed(tmp_path: Path) -> None:
    odd = write(tmp_path, "a=b.tsv", WIDE)
    assert ScoreSpec.parse(odd) == ScoreSpec(odd)
    assert ScoreSpec.parse("comet=x.json:COMET") == ScoreSpec("x.json", "comet", ("COMET",))
    assert ScoreSpec.parse("x.csv:a,b") == ScoreSpec("x.csv", None, ("a", "b"))
    with pytest.raises(InputError, match="does not name a file of scores"):
        ScoreSpec.parse("comet=")
    with pytest.raises(InputError, match=r"scores are read from .tsv, .csv, .jsonl and .json files"):
        read(tmp_path, "scores.txt", ".5\n")
    with pytest.raises(RecipeError, match="two files have scores of 'comet'"):
        read_score_files([write(tmp_path, "comet.tsv", WIDE), write(tmp_path, "comet.csv", LONG)])


@pytest.mark.parametrize(("name", "text"), [("x.tsv", "0.4199\t0.5\n0.3\t0.2\n"), ("x.csv", "1,.5,2e-1\n2,.3,.2\n")])
def test_a_first_row_of_numbers_is_not_a_header(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(FileFormatError, match=r"line 1: expected column names, got numbers \("):
        read_score_file(write(tmp_path, name, text))
    (result,) = read_score_file(write(tmp_path, name, text.replace(text[:1], "system ", 1)))
    assert result.systems[0].startswith("system "), "a name that is no number is enough"


def test_an_empty_object_has_no_scores(tmp_path: Path) -> None:
    file = tmp_path / "e.json"
    file.write_text("{}")
    with pytest.raises(FileFormatError, match=r"e\.json: no scores; expected a list of objects per system"):
        read_score_file(file)
