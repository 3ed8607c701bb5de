"""Systems are scored until the verdict is certain: with the scores of a full run, in a drawn order, and labelled."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import nlgauge
from nlgauge.core.prepare import prepare
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import EmptyTextWarning, InputError, RecipeError, SignatureError
from nlgauge.studies.compare import until_certain
from nlgauge.studies.compare.early_comparison import EarlyComparison, gate_early
from nlgauge.studies.compare.stopping import Order, StopRule, decide
from nlgauge.studies.compare.until_certain import compare_until_certain
from nlgauge.testing import hash_encoder

DRAW = np.random.default_rng(8)
WORDS = ["the", "a", "cat", "dog", "bird", "man", "woman", "child", "old", "small", "black", "white", "ran", "slept"]


def sentence(words: int) -> list[str]:
    return [str(word) for word in DRAW.choice(WORDS, words)]


def damage(texts: Sequence[list[str]], share: float) -> list[str]:
    """Replace words with this probability."""
    return [" ".join(str(DRAW.choice(WORDS)) if DRAW.random() < share else word for word in text) for text in texts]


LISTS = [sentence(int(DRAW.integers(4, 9))) for _ in range(300)]
REFS = [" ".join(words) for words in LISTS]
SYSTEMS = {
    "good": damage(LISTS, 0.1),
    "fair": damage(LISTS, 0.35),
    "bad": damage(LISTS, 0.8),
    "poor": damage(LISTS, 0.35),
}
TWO = {"base": SYSTEMS["fair"], "new": SYSTEMS["bad"]}
ALIKE = {"base": SYSTEMS["fair"], "new": SYSTEMS["poor"]}


@pytest.fixture
def encoder() -> Iterator[str]:
    with hash_encoder() as name:
        yield name


@pytest.mark.parametrize("metric", ["chrf", "bleu", "bertscore:layer=2", "bertscore:layer=2,idf=refs", "moverscore"])
def test_decision_is_that_of_the_rule_on_the_scores_of_a_full_run(metric: str, encoder: str) -> None:
    options: dict[str, Any] = {} if metric in ("chrf", "bleu") else {"model": encoder, "unknown": "score"}
    full = nlgauge.score_systems(ALIKE, REFS, metric, **options)
    base, new = (score.segments[score.main] for score in full)
    sign = 1 if full[0].higher_is_better else -1
    expected = decide(sign * (base - new), StopRule())
    result = compare_until_certain(ALIKE, REFS, metric, **options)
    (pair,) = result.metric().pairs
    assert (pair.outcome, pair.segments) == (expected.outcome, expected.segments)
    assert (pair.difference, pair.low, pair.high) == pytest.approx(
        (expected.difference, expected.low, expected.high), abs=1e-12
    )
    used = Order(300, StopRule()).segments[: pair.segments]
    means = [row.mean for row in result.metric().systems]
    assert means == pytest.approx([base[used].mean(), new[used].mean()], abs=1e-12)
    assert result.metric().signature == full[0].signature.recipe_part


def test_certain_verdict_scores_few_segments_and_says_so() -> None:
    result = compare_until_certain(TWO, REFS, "chrf")
    (pair,) = result.metric().pairs
    assert (pair.better, pair.decided_by, pair.segments, pair.of_segments) == ("base", "sequence", 50, 300)
    assert pair.stopped_early
    assert result.scored == pytest.approx(1 / 6)
    assert result.verdicts[0].startswith("base is better than new (chrF): difference +")
    for form in ("text", "markdown", "html", "latex"):
        page = result.render(form)
        assert "stopped after 50 of 300 segments" in page
        assert "mean of segments used" in page.replace("\\_", "_")
        assert "not the score of the test set" in page
    record = json.loads(result.render("json"))
    assert record["format"] == "nlgauge-early-comparison-1"
    assert (record["segments"], record["metrics"][0]["pairs"][0]["segments"]) == (300, 50)
    assert record["metrics"][0]["pairs"][0]["reason"] == "interval above 0"
    assert "score" not in record["metrics"][0]["systems"][0]
    assert "|seed:12345|" in record["signature"]
    assert EarlyComparison.from_dict(record).to_dict() == result.to_dict()
    header, row = result.render("tsv").splitlines()
    assert header.split("\t")[-4:] == ["segments", "of", "reason", "signature"]
    assert row.split("\t")[-4:-1] == ["50", "300", "interval above 0"]


def test_all_segments_used_names_the_test_that_decides() -> None:
    result = compare_until_certain({"base": TWO["base"], "same": TWO["base"]}, REFS, "chrf")
    (pair,) = result.metric().pairs
    assert (pair.outcome, pair.segments, pair.reason) == ("undecided", 300, "all segments used, no verdict")
    assert pair.p_value == 1
    assert "No verdict about base and same (chrF): difference 0.00" in result.verdicts[0]
    assert "all 300 segments used" in result.verdicts[0]


def test_corpus_metrics_name_what_the_interval_is_about() -> None:
    result = compare_until_certain(TWO, REFS, ["bleu", "chrf", "rouge1"])
    bleu, chrf, rouge = result.metrics
    for metric in (bleu, chrf):
        assert metric.notes == (
            f"{metric.metric}: difference, interval and means are of the scores of segments, not of the corpus score",
        )
        assert metric.notes[0] in result.render("text")
    assert not rouge.notes


def test_distance_is_better_if_lower() -> None:
    result = compare_until_certain(TWO, REFS, "ter")
    (pair,) = result.metric().pairs
    assert not result.metric().higher_is_better
    assert pair.better == "base"
    assert pair.difference > 0
    base, new = result.metric().systems
    assert base.mean < new.mean


def test_systems_and_metrics_are_scored_only_while_a_pair_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[tuple[int, list[str], list[str]]] = []

    def record(recipes: Any, corpus: Any, options: Any, **more: Any) -> Any:
        blocks.append((len(corpus), sorted(corpus.systems), [recipe.name for recipe in recipes]))
        return prepare(recipes, corpus, options, **more)

    monkeypatch.setattr(until_certain, "prepare", record)
    result = compare_until_certain(SYSTEMS, REFS, ["chrf", "rouge1"])
    assert blocks[0] == (50, sorted(SYSTEMS), ["chrf", "rouge1"])
    assert blocks[-1][1] == ["fair", "poor"]
    pair = result.metric("chrf").pair("poor", "fair")
    assert pair.segments == 300
    for metric in result.metrics:
        used = {row.system: row.segments for row in metric.systems}
        assert used["bad"] < used["fair"] == 300
        assert all(len({row.first, row.second}) == 2 for row in metric.pairs)
    assert sum(count * len(systems) for count, systems, _ in blocks) == round(result.scored * 4 * 300)
    assert "|pairs:6|" in result.signature  # which share alpha


def test_each_metric_decides_as_if_it_were_alone() -> None:
    together = compare_until_certain(ALIKE, REFS, ["chrf", "rouge1"])
    for metric in ("chrf", "rouge1"):
        alone = compare_until_certain(ALIKE, REFS, metric)
        assert alone.metric().pairs == together.metric(metric).pairs


def test_two_recipes_of_a_metric_have_names_of_their_own() -> None:
    result = compare_until_certain(TWO, REFS, ["chrf", "chrf:words=2"])
    assert [metric.metric for metric in result.metrics] == ["chrf (1)", "chrf (2)"]
    assert [metric.title for metric in result.metrics] == ["chrF (1)", "chrF++ (2)"]


def test_documents_are_drawn_whole() -> None:
    documents = [str(n // 3) for n in range(300)]
    result = compare_until_certain(TWO, REFS, "chrf", documents=documents)
    (pair,) = result.metric().pairs
    assert (pair.documents, pair.segments, result.documents) == (50, 150, 100)
    assert "stopped after 150 of 300 segments (50 documents)" in result.verdicts[0]
    assert "|unit:document|documents:" in result.signature


def test_segments_with_notes_are_listed_with_their_own_names() -> None:
    order = Order(300, StopRule()).segments
    texts = list(ALIKE["new"])
    for place in (3, 60, 299):
        texts[order[place]] = ""
    with pytest.warns(EmptyTextWarning, match=rf"^1 segment \(segment {order[3]}\): empty"):
        result = compare_until_certain(ALIKE | {"new": texts}, REFS, "chrf")
    assert result.metric().pairs[0].segments == 300
    places = ", ".join(f"segment {segment}" for segment in sorted([order[3], order[60], order[299]]))
    assert f"chrf: empty: 3 of the segments used ({places})" in result.metric().notes


def test_warnings_are_not_repeated_for_each_block() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare_until_certain({"a": ["", *TWO["new"][1:]], "b": ["", *TWO["new"][1:]]}, REFS, "chrf")
    assert len([warning for warning in caught if warning.category is EmptyTextWarning]) <= 1


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("nist", "cannot stop early by nist: scores by nist depend on the other pairs"),
        ("cider", "cannot stop early by cider"),
        ("sentsim", "scales its parts over the whole corpus.*bounds=FILE.*or compare on all segments"),
        ("bertscore:transforms=position-norm", "bertscore scores segments in groups"),
    ],
)
def test_metrics_of_the_whole_corpus_are_refused_with_the_reason(metric: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        compare_until_certain(TWO, REFS, metric, sources=REFS)


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="a comparison needs two systems, got 1"):
        compare_until_certain({"a": REFS}, REFS, "chrf")
    with pytest.raises(InputError, match="goal 'not-worse' compares two systems, the base and the new one, got 4"):
        compare_until_certain(SYSTEMS, REFS, "chrf", goal="not-worse", margin=1.0)
    with pytest.raises(InputError, match="clusters must name the document of each of 300 values, got 2"):
        compare_until_certain(TWO, REFS, "chrf", documents=["a", "b"])
    with pytest.raises(RecipeError, match="unknown keyword 'first_loook'"):
        compare_until_certain(TWO, REFS, "chrf", first_loook=3)  # type: ignore[call-arg]


def test_a_signature_is_a_metric_and_is_checked() -> None:
    signature = str(nlgauge.score(REFS, REFS, "chrf").signature)
    assert compare_until_certain(TWO, REFS, signature).metric().pairs[0].better == "base"
    with pytest.raises(SignatureError, match="the signature cannot be reproduced: refs: asked source, got 1"):
        compare_until_certain(TWO, REFS, signature.replace("|refs:1", "|refs:source"))


def test_a_run_can_be_cancelled_between_blocks() -> None:
    calls: list[int] = []

    def check() -> None:
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt

    with run_context(check=check), pytest.raises(KeyboardInterrupt):
        compare_until_certain(ALIKE, REFS, "chrf")


class TestGate:
    def test_worse_system_fails_on_few_segments(self) -> None:
        result = gate_early(compare_until_certain(TWO, REFS, ["chrf", "rouge1"]), base="base", new="new")
        assert result.gate is not None
        assert (result.gate.result, [row.result for row in result.gate.rows]) == ("failed", ["failed", "failed"])
        assert result.gate.headline.startswith("gate failed: new is worse than base: chrf difference +")
        assert "in favour of base, interval +" in result.gate.headline
        assert "stopped after 50 of 300 segments" in result.gate.sentence
        assert result.render("text").startswith("gate failed: ")
        assert result.to_dict()["gate"]["rows"][0]["n"] == 50

    def test_better_system_passes(self) -> None:
        result = gate_early(compare_until_certain(TWO, REFS, "chrf"), base="new", new="base").gate
        assert result is not None
        assert result.passed
        assert result.rows[0].difference > 0

    def test_no_difference_on_all_segments_passes_like_the_gate_on_all(self) -> None:
        result = gate_early(compare_until_certain(ALIKE, REFS, "chrf"), base="base", new="new").gate
        assert result is not None
        assert result.headline.startswith("gate passed: no significant drop: chrf difference ")
        assert "all 300 segments used" in result.sentence

    @pytest.mark.parametrize(("margin", "expected"), [(100.0, "passed"), (1.0, "failed"), (1e-6, "failed")])
    def test_margin_is_the_loss_that_is_accepted(self, margin: float, expected: str) -> None:
        result = gate_early(
            compare_until_certain(TWO, REFS, "chrf", goal="not-worse", margin=margin), base="base", new="new"
        ).gate
        assert result is not None
        assert result.result == expected
        assert f"by more than {margin:g}" in result.sentence

    def test_interval_around_the_margin_is_undecided(self) -> None:
        full = compare_until_certain(ALIKE, REFS, "chrf", min_segments=300).metric().pair("new", "base")
        assert full.low < full.difference < full.high
        margin = abs(full.difference) or 0.01
        result = gate_early(
            compare_until_certain(
                ALIKE if full.difference < 0 else dict(reversed(ALIKE.items())),
                REFS,
                "chrf",
                goal="not-worse",
                margin=margin,
            ),
            base="base" if full.difference < 0 else "new",
            new="new" if full.difference < 0 else "base",
        ).gate
        assert result is not None
        assert result.headline.startswith("gate undecided: not certain whether ")

    def test_too_few_segments_are_undecided(self) -> None:
        few = {name: texts[:20] for name, texts in TWO.items()}
        result = gate_early(compare_until_certain(few, REFS[:20], "chrf", min_segments=30), base="base", new="new")
        assert result.gate is not None
        assert (result.gate.result, result.gate.rows[0].reason) == ("undecided", "fewer segments than min_segments")

    def test_another_metric_never_lets_a_failing_gate_pass(self) -> None:
        # By length ratio alone both systems are alike; chrF fails by itself.
        metrics = ["rouge1", "chrf", "bleu"]
        for count in (1, 2, 3):
            result = gate_early(compare_until_certain(TWO, REFS, metrics[:count]), base="base", new="new").gate
            assert result is not None
            assert result.failed


def test_real_systems_get_the_verdict_of_all_segments_early(data_folder: Path) -> None:
    folder, count = data_folder / "wmt17", 200
    files = {
        "pjatk": "system-outputs/cs-en/newstest2017.PJATK.4760.cs-en",
        "uedin": "system-outputs/cs-en/newstest2017.uedin-nmt.4955.cs-en",
    }
    systems = {name: (folder / path).read_text("utf-8").splitlines()[:count] for name, path in files.items()}
    refs = (folder / "references" / "newstest2017-csen-ref.en").read_text("utf-8").splitlines()[:count]
    metrics = ["bertscore", "bertscore:idf=refs"]
    full = nlgauge.score_systems(systems, refs, metrics)
    result = compare_until_certain(systems, refs, metrics)
    for metric, scores in zip(result.metrics, (full[:2], full[2:]), strict=True):
        first, second = (score.segments["f1"] for score in scores)
        (pair,) = metric.pairs
        assert pair.better == "uedin"
        assert stats.ttest_rel(second, first).pvalue < 0.001
        assert (pair.decided_by, pair.stopped_early) == ("sequence", True)
        used = Order(count, StopRule()).segments[: pair.segments]
        assert pair.difference == pytest.approx(float((first - second)[used].mean()), abs=1e-6)
        assert metric.signature == scores[0].signature.recipe_part
    assert "of 200 segments" in result.verdicts[0]
