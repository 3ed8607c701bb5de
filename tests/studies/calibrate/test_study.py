"""Calibration: pairs of systems, precisions, left-out checks, and the frozen file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nlgauge.core.signature import Signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError
from nlgauge.stats.agreement_curve import AgreementFit
from nlgauge.studies.calibrate.curves import AgreementCurves
from nlgauge.studies.calibrate.scored_groups import ScoredGroup, score_groups
from nlgauge.studies.calibrate.study import (
    CalibrateOptions,
    CalibrateStudy,
    calibrate,
    calibrate_groups,
    join_years,
    smallest_groups,
)

pytestmark = pytest.mark.heavy

SIGNATURE = "bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1|model:minilm|weights:53aa51172d14|"
SIGNATURE += (
    "tokenizer:be50c3628f2b|config:f90758c9ccb5|maxlen:512|engine:onnxruntime-1.31.1-fp32|nlgauge:0.2.0|sig:1"
)


def made_groups(
    *, systems: int = 12, years: int = 2, pairs: int = 4, signature: str = SIGNATURE
) -> list[ScoredGroup]:
    """Systems whose human scores are their metric scores plus noise."""
    random = np.random.default_rng(8)
    groups = []
    for year in range(years):
        for pair in range(pairs):
            quality = random.normal(0.8, 0.01, size=systems)
            groups.append(
                ScoredGroup(
                    metric="bertscore",
                    data=f"wmt{17 + year}",
                    langpair=f"x{pair}-en",
                    systems=tuple(f"s{i}" for i in range(systems)),
                    human=quality + random.normal(0, 0.006, size=systems),
                    scores=quality,
                    segments=quality[:, None] + random.normal(0, 0.05, size=(systems, 200)),
                    signature=Signature.parse(signature),
                )
            )
    return groups


OPTIONS = CalibrateOptions(resamples=100)


def test_curve_agrees_with_the_simulation_that_made_the_ratings() -> None:
    """P(same order) of two systems d apart, human noise .006 each: Phi(d / (.006 * sqrt 2))."""
    from scipy.stats import norm

    study = calibrate_groups(made_groups(systems=16, pairs=8), options=OPTIONS)
    (curve,) = study.curves.curves
    assert curve.pairs == 2 * 8 * 120
    for size in (0.004, 0.008, 0.016):
        assert float(curve.fit.predict(size)) == pytest.approx(norm.cdf(size / (0.006 * np.sqrt(2))), abs=0.06)
    assert [left_out.groups for left_out in curve.left_out] == ["year", "langpair"]
    assert all(left_out.error < 0.05 for left_out in curve.left_out)
    assert all(left_out.brier < left_out.brier_of_p for left_out in curve.left_out)


def test_thresholds_lie_on_the_curve() -> None:
    study = calibrate_groups(made_groups(), options=OPTIONS)
    (curve,), (row,) = study.curves.curves, study.thresholds
    for threshold in row.thresholds:
        assert threshold.difference is not None
        assert threshold.low is not None
        assert threshold.low < threshold.difference
        assert float(curve.fit.predict(threshold.difference)) == pytest.approx(threshold.agreement, abs=1e-4)


def test_few_groups_resample_and_leave_out_systems() -> None:
    study = calibrate_groups(made_groups(years=1, pairs=1, systems=16), options=OPTIONS)
    assert study.curves.origin.resampled == "systems"
    assert [left_out.groups for left_out in study.curves.curves[0].left_out] == ["system"]


def test_other_precisions_are_stored_with_the_largest_change() -> None:
    groups = made_groups()
    eight_bits = SIGNATURE.replace("-fp32", "-int8@e213c06f7003.onnx.avx512")
    other = made_groups(pairs=1, years=1, signature=eight_bits)[0]
    other.scores[:2] += [0.0005, -0.0002]
    study = calibrate_groups(groups, checked={"int8": [other], "fp32": groups[:1]}, options=OPTIONS)
    (curve,) = study.curves.curves
    assert curve.precision == "fp32"
    assert dict(curve.tolerances) == {"int8": pytest.approx(0.0007)}


def test_groups_of_another_recipe_are_refused() -> None:
    groups = [*made_groups(), *made_groups(signature=SIGNATURE.replace("layer:4", "layer:5"))]
    with pytest.raises(InputError, match="bertscore has another recipe in wmt17 x0-en"):
        calibrate_groups(groups, options=OPTIONS)


def test_file_keeps_its_digest_and_refuses_changed_numbers(tmp_path: Path) -> None:
    study = calibrate_groups(made_groups(), options=OPTIONS)
    study.save(tmp_path / "curves.json")
    assert AgreementCurves.load(tmp_path / "curves.json").digest == study.digest
    assert CalibrateStudy.from_dict(study.to_dict()).to_dict() == study.to_dict()
    content = json.loads((tmp_path / "curves.json").read_text())
    content["curves"][0]["fit"]["scale"] *= 2
    (tmp_path / "curves.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="digest does not match"):
        AgreementCurves.load(tmp_path / "curves.json")
    content["curves"][0]["fit"]["scale"] = -1
    (tmp_path / "curves.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="scale, shape and largest difference above 0"):
        AgreementCurves.load(tmp_path / "curves.json")


def made_table(segments: int = 40, systems: int = 10) -> JudgementTable:
    """Outputs that keep fewer words of the reference the worse the system is, and ratings that follow."""
    words = ["the", "quick", "brown", "fox", "jumps", "over", "one", "lazy", "dog", "near", "a", "quiet", "river"]
    rows = [(f"s{system}", str(i)) for system in range(systems) for i in range(segments)]
    return JudgementTable(
        name="made",
        segment=tuple(segment for _, segment in rows),
        system=tuple(system for system, _ in rows),
        langpair=("en",) * len(rows),
        hypothesis=tuple(" ".join(words[: len(words) - int(system[1:]) - int(i) % 3]) for system, i in rows),
        references=((" ".join(words), "another reference"),) * len(rows),
        human={"rating": np.array([-float(system[1:]) for system, _ in rows])},
        default_criterion="rating",
    )


def test_texts_are_sampled_scored_and_fitted() -> None:
    study = calibrate([made_table()], ["chrf"], segments=20, references=1, resamples=100, domain="tests")
    (curve,) = study.curves.curves
    assert (curve.pairs, curve.segments, curve.fields["refs"]) == (45, 20, "1")
    assert study.curves.origin.name == "MADE"
    assert float(curve.fit.predict(curve.largest)) == pytest.approx(1.0, abs=1e-3)  # raters always agree


def test_sample_is_the_same_for_all_systems_and_every_call() -> None:
    first, second = (score_groups(made_table(), ["chrf"], segments=20)[0] for _ in range(2))
    assert first.segments.tolist() == second.segments.tolist()
    assert first.segments.shape == (10, 20)
    other = score_groups(made_table(), ["chrf"], segments=20, seed=1)[0]
    assert other.segments.tolist() != first.segments.tolist()


def test_score_of_a_system_is_the_corpus_score_of_the_sample() -> None:
    import nlgauge

    table = made_table()
    group = score_groups(table, ["bleu"])[0]
    rows = [row for row in range(len(table)) if table.system[row] == "s1"]
    score = nlgauge.score(
        [table.hypothesis[row] for row in rows], [table.references[row] for row in rows], metric="bleu"
    )
    assert group.scores[1] == pytest.approx(score.system_score, abs=1e-9)


def test_incomplete_outputs_are_refused() -> None:
    table = made_table()
    with pytest.raises(InputError, match="a curve needs 2 systems with 10 segments in common, got 10 and 5"):
        score_groups(table.take([row for row in range(len(table)) if int(table.segment[row]) < 5]), ["chrf"])


def test_names_of_years_and_smallest_groups() -> None:
    assert join_years(["wmt17", "wmt18", "wmt19"]) == "WMT17-19"
    assert join_years(["wmt17"]) == "WMT17"
    assert smallest_groups(made_table()) == ["en"]


def test_figure_and_tables(tmp_path: Path) -> None:
    study = calibrate_groups(made_groups(), options=OPTIONS)
    study.save_figure(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    text = study.render()
    assert "WMT17-18: wmt17, wmt18" in text
    assert "Brier scores of curves over p values" in text
    assert AgreementFit(*study.curves.curves[0].fit).scale > 0
