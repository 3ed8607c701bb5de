"""`nlgauge study sensitivity`: files or data sets in, tables out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines

FILES = ("study", "sensitivity", "a.txt", "b.txt", "--refs", "ref.txt", "ref2.txt", "--quiet")


def test_text_shows_variation_and_rank_flips(run: Run) -> None:
    result = run(*FILES, "--preset", "subwords-x-punctuation", "--metric", "moverscore")
    assert (result.status, result.err) == (0, "")
    assert "first + drop-ascii" in result.out
    assert "average + keep" in result.out
    assert "Rankings of systems" in result.out
    assert "No two systems swap ranks" in result.out
    assert "Flips: pairs" not in result.out


def test_text_names_the_systems_that_flip(run: Run, folder: Path) -> None:
    """Right content words in telegram style beside right function words around a wrong one."""
    things, places = ["cat", "dog", "teacher", "engine"], ["garden", "school", "bridge", "forest"]
    pairs = list(zip(things, places, strict=True))
    write_lines(folder / "terse.txt", [f"{first} {other} town" for first, other in pairs])
    others = places[2:] + places[:2]
    write_lines(
        folder / "fluent.txt", [f"the {t} is in the {p} of the moon" for t, p in zip(things, others, strict=True)]
    )
    write_lines(folder / "right.txt", [f"the {first} is in the {other} of the town" for first, other in pairs])
    write_lines(folder / "stop.txt", ["the", "is", "in", "of"])
    write_lines(folder / "mine.toml", ['metric = ["bertscore"]', "[[sweep]]", 'stopwords = ["none", "stop.txt"]'])
    systems = ("study", "sensitivity", "terse.txt", "fluent.txt", "--refs", "right.txt", "--quiet")
    out = run(*systems, "--study", "mine.toml").out
    assert "Flips: pairs of systems that swap ranks" in out
    assert "No two systems swap ranks" not in out
    flips = out[out.index("Flips: pairs of systems that swap ranks") :]
    assert re.search(r"stop\.txt +fluent +terse", flips), "with the list the one behind goes ahead"


def test_json_is_the_same_again_and_with_a_state_and_a_cache(run: Run, folder: Path) -> None:
    command = (*FILES, "--preset", "idf", "--format", "json")
    first = run(*command)
    record = json.loads(first.out)
    assert record["study"] == "idf"
    assert record["agreement"] is None
    assert {movement["sweep"] for movement in record["movements"]} == {"idf", "idf-random"}
    moved = record["movements"][0]
    assert moved["settings"] == ["original", "none"]
    assert set(moved["groups"]) == {"a", "b"}
    before, after = moved["groups"]["a"]["values"]
    assert moved["groups"]["a"]["rd"][1] == pytest.approx(100 * (after - before) / before)
    assert all("moverscore|" in setting["signatures"]["en"] for setting in record["settings"][:2])
    for _ in range(2):
        assert run(*command, "--state", "study.state", "--cache", "vectors").out == first.out
    assert (folder / "study.state").exists()
    assert list((folder / "vectors").rglob("*.vec"))


def test_latex_and_tsv(run: Run) -> None:
    latex = run(*FILES, "--preset", "punctuation", "--format", "latex").out
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") >= 3
    assert "drop-ascii" in run(*FILES, "--preset", "punctuation", "--format", "tsv").out


def test_study_file_replaces_the_preset(run: Run, folder: Path) -> None:
    (folder / "mine.toml").write_text(
        'metric = ["bertscore"]\n[[sweep]]\nmultiref = ["best-f", "mean"]\n', encoding="utf-8"
    )
    out = run(*FILES, "--study", "mine.toml", "--decimals", "2").out
    assert "mine on systems" in out
    assert "best-f  mean" in out


def test_an_idf_corpus_is_a_variant(run: Run) -> None:
    out = run(*FILES, "--preset", "idf", "--metric", "bertscore", "--idf-corpus", "a.txt").out
    assert "corpus:a.txt" in out


def test_data_with_human_scores(run: Run, data_folder: Path) -> None:
    result = run(
        "study", "sensitivity", "--preset", "punctuation", "--data", "wmt17-testset", "--at", str(data_folder),
        "--metric", "moverscore",
        "--langpairs", "cs-en", "de-en", "--rows", "20", "--quiet", "--format", "json",
    )  # fmt: skip
    record = json.loads(result.out)
    assert record["agreement"] == "pearson with HUMAN_score"
    (moved,) = record["movements"]
    assert moved["level"] == "segment"
    assert set(moved["groups"]) == {"cs-en", "de-en"}
    assert moved["groups"]["cs-en"]["best"] in moved["settings"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("a.txt", "--preset", "all"), "--refs"),
        (("--preset", "all"), "--data"),
        (("a.txt", "--refs", "ref.txt"), "--preset"),
        (("a.txt", "--refs", "ref.txt", "--preset", "all", "--study", "x.toml"), "--study"),
        (("a.txt", "--refs", "ref.txt", "--preset", "all", "--data", "wmt17"), "cannot be combined"),
        (("--data", "wmt17", "--preset", "all"), "--at"),
        (("--data", "wmt17", "--preset", "idf", "--at", ".", "--set", "level"), "KEY=VALUE"),
        (("--data", "wmt17", "--preset", "idf", "--at", ".", "--set", "colour=red"), "colour"),
        (("a.txt", "--refs", "ref.txt", "--preset", "all", "--rows", "5"), "--rows"),
        (("a.txt", "--refs", "ref.txt", "--preset", "all", "--levels", "segment"), "--levels"),
        (("a.txt", "--refs", "ref.txt", "--preset", "all", "--agreement", "kendall"), "--agreement"),
        (("a.txt", "--refs", "ref.txt", "--preset", "idf", "--metric", "bleu"), "bleu"),
        (("a.txt", "--refs", "ref.txt", "--preset", "stopwords", "--idf-corpus", "ref.txt"), "idf"),
        (("a.txt", "--refs", "ref.txt", "--preset", "idf", "--cache", "c", "--cache-size", "0"), "gigabytes"),
    ],
)
def test_missing_arguments_are_named(
    refused: Refusal, words: tuple[str, ...], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NLGAUGE_DATA", raising=False)  # it stands in for --at
    assert named in refused(2, "study", "sensitivity", *words, "--quiet")


def test_a_missing_study_file(refused: Refusal) -> None:
    assert "mine.toml" in refused(1, "study", "sensitivity", "a.txt", "--refs", "ref.txt", "--study", "mine.toml")


def test_what_the_settings_start_from_is_signed(run: Run) -> None:
    command = ("study", "sensitivity", "a.txt", "b.txt", "--refs", "ref.txt", "--preset", "punctuation", "-q")
    out = run(*command, "-m", "moverscore", "--signature", "full").out
    assert out.count("signature of ") == 1
    signature = out.partition("signature of moverscore (punctuation drop-ascii):")[2].split()[0]
    assert "|punctuation:drop-ascii|" in signature


def test_flips_over_documents(run: Run, refused: Refusal, folder: Path) -> None:
    command = (*FILES, "--preset", "punctuation", "--metric", "moverscore")
    lines = len((folder / "ref.txt").read_text().splitlines())
    write_lines(folder / "docs.txt", [f"d{index // 2}" for index in range(lines)])
    record = json.loads(run(*command, "--document-ids", "docs.txt", "-f", "json").out)
    assert record["options"]["documents"] is True
    assert f"flips are tested by permuting whole documents, not segments: {-(-lines // 2)} (en)" in record["notes"]
    assert json.loads(run(*command, "-f", "json").out)["options"]["documents"] is False
    write_lines(folder / "short.txt", ["d1"])
    message = refused(1, *command, "--document-ids", "short.txt")
    assert f"'short.txt' has 1 line, but needs a document id for each of {lines} segments" in message
    assert "--documents works only with --data NAME" in refused(2, *command, "--documents")


def test_documents_of_data(run: Run, refused: Refusal, folder: Path) -> None:
    texts = ["The ferry, late.", "Bread!", "A storm came.", "She wrote letters."]
    rows = [
        f"{texts[index % 4]}\t{texts[index // 2 % 4]}\t{index}\t{index // 2}\ts{index % 2}\td{index // 4}"
        for index in range(12)
    ]
    write_lines(folder / "own.tsv", ["hypothesis\treference\tscore\tsegment\tsystem\tdoc", *rows])
    data = ("--data", "custom", "--at", "own.tsv", "--set", "system=system", "segment=segment")
    command = ("study", "sensitivity", *data, "--preset", "punctuation", "--metric", "moverscore", "-q", "-f", "json")
    of_data = run(*command, "--set", "document=doc", "--documents")
    assert json.loads(of_data.out)["notes"][-1].endswith("not segments: 3 (und)")
    assert run(*command, "--document-ids", "own.tsv:doc").out == of_data.out
    assert "has no document ids" in refused(1, *command, "--documents")
