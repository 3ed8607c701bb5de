"""`nlgauge study calibrate`: which language pairs it uses, and the file that compare takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.apps.cli import main
from nlgauge.errors import InputError
from nlgauge.studies.calibrate.curves import AgreementCurves

pytestmark = pytest.mark.heavy

#: Systems of a language pair, of which the first keeps all words of the reference.
_SYSTEMS = 7


def write_package(folder: Path, year: int, pairs: tuple[str, ...]) -> None:
    """A package of the WMT metrics task, with worse systems for higher numbers."""
    name, words = f"newstest20{year}", ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    lines = ["LP HUMAN SYSTEM"]
    for part in ("references", "source"):
        (folder / f"wmt{year}" / part).mkdir(parents=True, exist_ok=True)
    for pair in pairs:
        source, target = pair.split("-")
        texts = [" ".join(words[i % 3 :]) for i in range(30)]
        outputs = folder / f"wmt{year}" / "system-outputs" / pair
        outputs.mkdir(parents=True)
        for number in range(_SYSTEMS):
            system = [" ".join(text.split()[: 9 - number + i % 2]) for i, text in enumerate(texts)]
            (outputs / f"{name}.s{number}.{pair}").write_text("\n".join(system) + "\n")
            lines.append(f"{pair} {-number / 10} s{number}")
        both = source + target
        (folder / f"wmt{year}" / "references" / f"{name}-{both}-ref.{target}").write_text("\n".join(texts) + "\n")
        (folder / f"wmt{year}" / "source" / f"{name}-{both}-src.{source}").write_text("\n".join(texts) + "\n")
    (folder / f"wmt{year}" / "DA-syslevel.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """WMT17 with three language pairs and WMT18 with four."""
    write_package(tmp_path, 17, ("cs-en", "de-en", "lv-en"))
    write_package(tmp_path, 18, ("cs-en", "de-en", "et-en", "en-de"))
    monkeypatch.setenv("NLGAUGE_DATA", str(tmp_path))
    return tmp_path


def calibrate(folder: Path, *flags: str) -> AgreementCurves:
    file = folder / "curves.json"
    call = ["study", "calibrate", "--data", "wmt17", "wmt18", "-m", "chrf", "--resamples", "100", "-q"]
    assert main([*call, *flags, "-o", str(file)]) == 0
    return AgreementCurves.load(file)


def test_language_pairs_of_all_years_are_pooled(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    curves = calibrate(packages, "--target", "en", "--segments", "20", "--domain", "numbers")
    (curve,) = curves.curves
    assert curves.origin.langpairs == ("cs-en", "de-en", "lv-en", "et-en")
    assert (curves.origin.name, curves.origin.domain, curves.origin.sample) == ("WMT17-18", "numbers", 20)
    assert (curve.pairs, curve.segments) == (6 * 21, 20)
    assert [row.groups for row in curve.left_out] == ["year", "langpair"]
    assert "chrf" in capsys.readouterr().out


def test_each_year_uses_the_named_pairs_that_it_has(packages: Path) -> None:
    curves = calibrate(packages, "--langpairs", "cs-en", "et-en", "lv-en", "de-en")
    assert curves.curves[0].pairs == 6 * 21
    fewer = calibrate(packages, "--langpairs", "cs-en", "et-en", "lv-en")
    assert (fewer.origin.langpairs, fewer.origin.resampled) == (("cs-en", "lv-en", "et-en"), "systems")


def test_missing_language_pairs_are_named(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["study", "calibrate", "--data", "wmt17", "-m", "chrf"]
    assert main([*call, "--target", "fr"]) != 0
    assert "--target fr: wmt17 has no such language pair; it has cs-en, de-en, lv-en" in capsys.readouterr().err


def test_file_is_used_by_compare(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calibrate(packages, "--target", "en", "--name", "Made")
    outputs = packages / "wmt17" / "system-outputs" / "cs-en"
    files = [str(outputs / f"newstest2017.s{number}.cs-en") for number in (0, 1)]
    reference = str(packages / "wmt17" / "references" / "newstest2017-csen-ref.en")
    call = ["compare", *files, "--refs", reference, "-m", "chrf", "--curves", str(packages / "curves.json")]
    assert main(call) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "among Made system pairs with a difference this large, human raters preferred the same system in" in text


def test_default_metric_is_used(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics: list[str] = []

    def stop(_: object, recipes: list[str], **__: object) -> None:
        metrics.extend(recipes)
        raise InputError

    monkeypatch.setattr("nlgauge.apps.cli.calibrate.calibrate", stop)
    assert main(["study", "calibrate", "--data", "wmt17", "--target", "en"]) == 1
    assert [metric.partition(":")[0] for metric in metrics] == ["bertscore"]
