"""Statements about human raters: which curve they use, when there is none, and their wording."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.errors import InputError
from nlgauge.stats.agreement_curve import AgreementFit
from nlgauge.studies.calibrate.curves import (
    AgreementCurve,
    AgreementCurves,
    Band,
    Origin,
    find_curve,
    human_agreement,
    load_curves,
    recipe_fields,
)
from nlgauge.studies.compare import compare_systems
from nlgauge.studies.compare.systems import compare

CHRF = "chrf|chars:6|words:0|beta:2|sacrebleu:2.6.0|refs:1|nlgauge:0.2.0|sig:1"
BERTSCORE = (
    "bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1|model:minilm|weights:53aa51172d14|"
    "tokenizer:be50c3628f2b|config:f90758c9ccb5|maxlen:512|engine:onnxruntime-1.31.1-int8@1|nlgauge:0.2.0|sig:1"
)


def made_curves(signature: str = BERTSCORE, *, scale: float = 0.01, largest: float = 0.1) -> AgreementCurves:
    fields, precision = recipe_fields(signature)
    sizes = (0.0, 0.2 * largest, largest)
    curve = AgreementCurve(
        metric=signature.partition("|")[0],
        fields=fields,
        precision=precision,
        tolerances={"fp32": 0.1 * largest} if precision == "int8" else {},
        fit=AgreementFit(1.0, scale, 1.0),
        pairs=699,
        segments=1000,
        largest=largest,
        band=Band(sizes, (0.5, 0.7, 0.9), (0.5, 0.9, 1.0)),
        observed=(),
        left_out=(),
    )
    origin = Origin("WMT17-18", "news", ("wmt17", "wmt18"), ("de-en",), "", None, 1000, 1, 0.95, "years", 100)
    return AgreementCurves(origin, (curve,))


def state(
    signature: str = BERTSCORE,
    *,
    difference: float = 0.01,
    segments: int = 1000,
    curves: AgreementCurves | None = None,
):  # type: ignore[no-untyped-def]
    return human_agreement(
        [curves or made_curves()],
        metric="bertscore",
        signature=signature,
        first="a",
        second="b",
        difference=difference,
        segments=segments,
    )


def test_sentence_gives_share_interval_and_whose_raters() -> None:
    """.5 + .5 * (1 - exp(-1)) = .816; the band at .01 is half way between (.5, .5) and (.7, .9)."""
    statement = state(difference=-0.01)
    assert (statement.difference, statement.share) == (0.01, pytest.approx(0.81606, abs=1e-5))
    assert (statement.low, statement.high) == (pytest.approx(0.6), pytest.approx(0.81606, abs=1e-5))
    assert statement.sentence == (
        "BERTScore differs by 0.0100; among WMT17-18 system pairs (news) with a difference this large, human raters "
        "preferred the same system in 82 % (95 % interval 60-82 %)."
    )


def test_interval_is_widened_by_the_tolerance_of_another_precision() -> None:
    """fp32 changes a difference by up to .01: the ends are those at .01 and at .03."""
    other = state(BERTSCORE.replace("-int8@1", "-fp32"), difference=0.02)
    same = state(difference=0.02)
    assert (same.low, same.high) == (pytest.approx(0.7), pytest.approx(0.93233, abs=1e-5))
    assert (other.low, other.high) == (pytest.approx(0.6), pytest.approx(0.93233, abs=1e-5))
    assert other.share == same.share


def test_larger_differences_than_any_pair_are_not_extrapolated() -> None:
    statement = state(difference=0.5)
    assert statement.beyond
    assert statement.share == state(difference=0.1).share
    assert "with a difference of 0.1000 (the largest of 699 pairs)" in statement.sentence


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("layer:4", "layer:5"),
        ("53aa51172d14", "000000000000"),
        ("rescale:no", "rescale:yes"),
        ("refs:1", "refs:4"),
        ("-int8@1", "-bf16"),
        ("idf:none", "idf:refs[0123456789ab]"),
        ("bertscore|", "chrf|"),
    ],
)
def test_another_recipe_gets_no_statement(old: str, new: str) -> None:
    assert state(BERTSCORE.replace(old, new)) is None


def test_versions_of_packages_do_not_matter() -> None:
    assert state(BERTSCORE.replace("1.31.1", "1.40.0").replace("nlgauge:0.2.0", "nlgauge:9.9")) is not None


def test_too_few_segments_and_foreign_scores_get_no_statement() -> None:
    assert state(segments=99) is None
    assert state(segments=100) is not None
    assert state("") is None
    assert state("comet wmt22 | whatever") is None


def test_idf_of_a_corpus_matches_idf_of_another_corpus() -> None:
    signature = BERTSCORE.replace("idf:none", "idf:refs[0123456789ab]")
    curves = made_curves(signature)
    assert state(signature.replace("0123456789ab", "ba9876543210"), curves=curves) is not None


def scores(count: int = 200) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    base = random.normal(50, 10, size=count)
    return {"old": base, "new": base + random.normal(1.0, 2.0, size=count)}


def texts(count: int = 120) -> tuple[dict[str, list[str]], list[str]]:
    words = ["the", "quick", "brown", "fox", "jumps", "over", "one", "lazy", "dog", "near", "a", "quiet", "river"]
    refs = [" ".join(words[i % 5 :]) for i in range(count)]
    new = [" ".join(words[i % 5 : 12 - i % 2]) for i in range(count)]
    old = [" ".join(words[i % 5 : 12 - i % 3]) for i in range(count)]
    return {"old": old, "new": new}, refs


def test_comparison_of_texts_has_the_statement_in_text_and_json() -> None:
    systems, refs = texts()
    result = compare(systems, refs, metric="chrf")
    statement = result.comparison.metric().human_agreement
    assert statement is not None
    pair = result.comparison.metric().pair("old", "new")
    assert statement.difference == pytest.approx(abs(pair.difference))
    (file, curve) = find_curve(load_curves("wmt"), str(result.scores[0].signature)) or pytest.fail("no curve")
    assert statement.share == pytest.approx(float(curve.fit.predict(min(statement.difference, curve.largest))))
    assert statement.curve == file.digest[:12]
    assert "chrF differs by" in " ".join(result.render().split())
    assert "human raters preferred the same system in" in " ".join(result.render("markdown").split())
    assert result.verdicts[1] == statement.sentence
    record = json.loads(result.render("json"))
    assert record["comparison"]["metrics"][0]["human_agreement"]["sentence"] == statement.sentence
    assert nlgauge.studies.compare.ScoredComparison.from_dict(record).verdicts == result.verdicts


def test_curves_can_be_switched_off_and_replaced(tmp_path: Path) -> None:
    systems, refs = texts()
    assert compare(systems, refs, metric="chrf", curves="none").comparison.metric().human_agreement is None
    made_curves(CHRF, scale=1e-6, largest=100.0).save(tmp_path / "mine.json")
    mine = compare(systems, refs, metric="chrf", curves=str(tmp_path / "mine.json"))
    statement = mine.comparison.metric().human_agreement
    assert statement is not None
    assert (statement.share, statement.domain) == (1.0, "news")
    with pytest.raises(InputError, match=r"nowhere.json' does not exist; make one with 'nlgauge study calibrate"):
        compare(systems, refs, metric="chrf", curves="nowhere.json")


def test_scores_without_a_recipe_get_no_statement() -> None:
    assert compare_systems({"chrf": scores()}).metric().human_agreement is None


def test_several_systems_name_the_pair() -> None:
    systems, refs = texts()
    systems["third"] = ["fox"] * len(refs)
    result = compare(systems, refs, metric="chrf")
    assert result.verdicts[1].startswith("chrF of ")
    assert " differs by " in result.verdicts[1]


def test_shipped_files_are_small_and_match_their_digests() -> None:
    folder = Path(nlgauge.__file__).parent / "studies" / "calibrate" / "shipped"
    paths = sorted(folder.glob("*.json"))
    assert sum(path.stat().st_size for path in paths) < 100_000
    for path in paths:
        assert AgreementCurves.load(path).curves
