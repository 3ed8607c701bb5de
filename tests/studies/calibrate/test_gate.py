"""The gate with `min_agreement`: only drops that human raters would notice fail it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies.calibrate.test_statements import CHRF, made_curves, texts

from nlgauge.apps.cli import main
from nlgauge.errors import RecipeError
from nlgauge.studies.compare.gates import GateResult, gate
from nlgauge.studies.compare.systems import compare

pytestmark = pytest.mark.heavy


def decide(curves: str, min_agreement: float | None, metric: str = "chrf") -> GateResult:
    """The gate for a new system that is worse: the old one of the texts."""
    systems, refs = texts()
    comparison = compare(systems, refs, metric=metric, curves=curves).comparison
    return gate(comparison, base="new", new="old", min_agreement=min_agreement)


@pytest.fixture
def noticed(tmp_path: Path) -> str:
    """Raters agree on nearly every difference."""
    made_curves(CHRF, scale=1e-3, largest=100.0).save(tmp_path / "noticed.json")
    return str(tmp_path / "noticed.json")


@pytest.fixture
def unnoticed(tmp_path: Path) -> str:
    """Raters toss a coin at any difference below 100."""
    made_curves(CHRF, scale=1e4, largest=100.0).save(tmp_path / "unnoticed.json")
    return str(tmp_path / "unnoticed.json")


def test_drop_that_raters_notice_fails(noticed: str) -> None:
    result = decide(noticed, 0.8)
    assert result.failed
    assert "human raters preferred the same system in 100 %" in result.sentence
    assert result.rows[0].human_agreement is not None


def test_drop_that_raters_do_not_notice_passes_and_says_so(unnoticed: str) -> None:
    assert decide(unnoticed, None).failed
    result = decide(unnoticed, 0.8)
    assert result.passed
    assert result.rows[0].excused
    assert result.sentence.startswith(
        "old is significantly worse than new, but by a difference with a human agreement below 80%: chrF differs by"
    )


def test_without_a_curve_every_significant_drop_fails(noticed: str) -> None:
    result = decide(noticed, 0.8, "bleu")
    assert result.failed
    assert result.sentence.endswith("'nlgauge study calibrate' can measure it")


def test_another_metric_never_makes_a_failing_gate_pass(noticed: str, unnoticed: str) -> None:
    systems, refs = texts()
    for curves, status in ((noticed, "failed"), (unnoticed, "failed")):
        comparison = compare(systems, refs, metric=["chrf", "bleu"], curves=curves).comparison
        assert gate(comparison, base="new", new="old", min_agreement=0.8).result == status  # bleu has no curve


def test_share_must_be_above_a_coin(noticed: str) -> None:
    with pytest.raises(RecipeError, match=r"min_agreement must be above 0.5 and at most 1, got 0.3"):
        decide(noticed, 0.3)


def test_exit_status(tmp_path: Path, noticed: str, unnoticed: str, capsys: pytest.CaptureFixture[str]) -> None:
    systems, refs = texts()
    for name, lines in {**systems, "refs": refs}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    files = [str(tmp_path / f"{name}.txt") for name in ("new", "old")]
    call = ["compare", *files, "--refs", str(tmp_path / "refs.txt"), "-m", "chrf", "--gate"]
    assert main([*call, "--curves", unnoticed]) == 3
    assert main([*call, "--curves", unnoticed, "--min-agreement", "0.8"]) == 0
    assert main([*call, "--curves", noticed, "--min-agreement", "0.8"]) == 3
    capsys.readouterr()
    assert main([*call, "--min-agreement", "0.8", "--until-certain"]) == 2
    assert "--min-agreement needs the difference on all segments" in capsys.readouterr().err
