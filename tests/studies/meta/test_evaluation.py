"""Tables of agreement: what is scored with which idf, and what is correlated with what."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr
from tests.stats.made_scores import clustered_scores

import nlgauge
from nlgauge.core.corpus import make_corpus
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import load
from nlgauge.data.judgements import Documents, JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.studies.meta.evaluation import evaluate
from nlgauge.studies.meta.questions import Significance
from nlgauge.studies.meta.row_scores import ScoredJudgements, given_rows, released_rows, sentinels_of
from nlgauge.studies.meta.score_judgements import score_judgements, tune_layer

TEXTS = [
    "The ferry was cancelled.",
    "A storm stopped the ferry.",
    "Bread is good.",
    "The best bread of the town.",
    "Nobody wrote letters.",
    "She wrote a letter to the museum.",
]


def table(systems: int = 3, segments: int = 4, *, files: object = None, ragged: bool = False) -> JudgementTable:
    rng = np.random.default_rng(5)
    rows = [(s, t) for s in range(systems) for t in range(segments) if not (ragged and (s, t) == (0, 0))]
    return JudgementTable(
        name="made",
        segment=tuple(str(t) for _, t in rows),
        system=tuple(f"s{s}" for s, _ in rows),
        langpair=("en",) * len(rows),
        hypothesis=tuple(TEXTS[(s + t) % len(TEXTS)] for s, t in rows),
        references=tuple((TEXTS[(t + 1) % len(TEXTS)],) for _, t in rows),
        human={"adequacy": rng.random(len(rows)), "fluency": rng.random(len(rows))},
        default_criterion="adequacy",
        released={"other": rng.random(len(rows))},
        files=files,  # type: ignore[arg-type]
    )


def test_systems_on_the_same_segments_have_idf_of_their_own() -> None:
    grid = table()
    scored = score_judgements(grid, ["moverscore"])
    texts = [grid.hypothesis[index] for index in range(4, 8)]
    refs = [grid.references[index] for index in range(4, 8)]
    alone = nlgauge.score(texts, refs, metric="moverscore")
    np.testing.assert_allclose(scored.metrics[0].values[4:8], alone.score, atol=1e-12)


def test_rows_without_a_grid_share_one_idf() -> None:
    ragged = table(ragged=True)
    scored = score_judgements(ragged, ["moverscore"])
    once = dict(zip(ragged.segment, ragged.references, strict=True))
    documents = {"en": ragged.hypothesis, None: [text for name in "1230" for text in once[name]]}
    corpus = replace(make_corpus({"en": ragged.hypothesis}, ragged.references), idf_documents=documents)
    (pooled,) = run_metrics([MoverScore()], corpus, RunOptions())
    np.testing.assert_allclose(scored.metrics[0].values, pooled.score, atol=1e-12)


def test_idf_is_counted_on_whole_files() -> None:
    class Files:
        def documents(self, langpair: str, system: str) -> Documents:
            assert langpair == "en"
            return Documents(None, (*TEXTS, f"only {system}"), tuple((text,) for text in TEXTS))

    scored = score_judgements(table(files=Files()), ["moverscore"])
    sampled = score_judgements(table(), ["moverscore"])
    assert not np.allclose(scored.metrics[0].values, sampled.metrics[0].values)
    (signature,) = scored.metrics[0].signatures.values()
    whole = nlgauge.score(TEXTS, TEXTS, metric="moverscore").signature
    assert signature.split("idf:")[1][:18] == f"{whole.recipe['idf']}"[:18], "the references' table is the file's"


def test_segment_level_is_pearson_over_rows_with_the_named_criterion() -> None:
    made = table()
    scored = score_judgements(made, ["bertscore", "chrf"]).add(released_rows(made, "other"), *sentinels_of(made))
    for criterion in ("adequacy", "fluency"):
        result = evaluate(scored, criterion=criterion, significance=Significance(resamples=100))
        for metric in scored.metrics:
            cell = result.cells[metric.name]["en"]
            if not cell.note:
                assert cell.value == pytest.approx(pearsonr(metric.values, made.human[criterion]).statistic)
                assert cell.low <= cell.value <= cell.high
    assert "sentinel-random" in result.cells


def test_distance_is_negated_once() -> None:
    made = table()
    distance = given_rows(made, "d", -made.human["adequacy"], higher_is_better=False)
    result = evaluate(ScoredJudgements(made, (distance,)), significance=Significance(test="none"))
    assert result.cells["d"]["en"].value == pytest.approx(1)


def test_topic_level_averages_over_topics() -> None:
    made = table(systems=6, segments=3)
    scored = ScoredJudgements(made, (released_rows(made, "other"),))
    result = evaluate(scored, level="topic", significance=Significance(resamples=100)).cells["other"]["en"]
    human, other = (made.human["adequacy"].reshape(6, 3), made.released["other"].reshape(6, 3))
    assert result.value == pytest.approx(np.mean([pearsonr(other[:, t], human[:, t]).statistic for t in range(3)]))


def test_system_level_takes_the_official_scores_and_the_corpus_score() -> None:
    made = replace(table(systems=5), system_scores={"en": {f"s{s}": float(s) for s in range(5)}})
    scored = score_judgements(made, ["bleu", "chrf"])
    result = evaluate(scored, level="system")
    whole = [
        nlgauge.score(made.hypothesis[4 * s : 4 * s + 4], made.references[4 * s : 4 * s + 4], metric="chrf").corpus[
            "chrf"
        ]
        for s in range(5)
    ]
    assert result.cells["chrf"]["en"].value == pytest.approx(pearsonr(whole, range(5)).statistic)
    assert result.cells["chrf"]["en"].count == 5


@pytest.mark.parametrize(("level", "agreement"), [("topic", "acc-eq"), ("topic", "differences"), ("system", "spa")])
def test_practice_of_wmt_is_available(level: str, agreement: str) -> None:
    made = table(systems=5, segments=4)
    scored = ScoredJudgements(made, (released_rows(made, "other"), *sentinels_of(made)))
    result = evaluate(scored, level=level, agreement=agreement, significance=Significance(resamples=100))  # type: ignore[arg-type]
    values = [cell.value for row in result.cells.values() for cell in row.values()]
    assert all(-1 <= value <= 1 for value in values)
    if agreement == "acc-eq":
        assert (
            "count as ties (threshold fitted to the data); a random metric gets" in result.cells["other"]["en"].note
        )


def test_undefined_agreements_are_recipe_errors() -> None:
    made = table()
    scored = ScoredJudgements(made, (released_rows(made, "other"),))
    with pytest.raises(RecipeError, match="level 'system'"):
        evaluate(scored, agreement="spa")
    with pytest.raises(RecipeError, match="adequacy"):
        evaluate(scored, criterion="charm")
    constant = given_rows(made, "flat", np.ones(len(made)))
    result = evaluate(scored.add(constant), significance=Significance(resamples=100)).cells["flat"]["en"]
    assert np.isnan(result.value)
    assert "constant" in result.note
    unnamed = replace(made, system=("",) * len(made), segment=tuple(map(str, range(len(made)))))
    with pytest.raises(InputError, match="level 'segment'"):
        evaluate(ScoredJudgements(unnamed, scored.metrics), level="topic")


def test_layers_are_tuned_without_idf() -> None:
    made = table(systems=4)
    result = tune_layer(made)
    values = [row.by_langpair["en"] for row in result.layers]
    assert len(values) == 7
    by_hand = [
        pearsonr(nlgauge.score(list(made.hypothesis), list(made.references), layer=layer).f1, made.human["adequacy"])
        for layer in (0, 4)
    ]
    np.testing.assert_allclose([values[0], values[4]], [item.statistic for item in by_hand], atol=1e-9)
    assert values[result.best] == result.layers[result.best].average == max(values)


def test_corpus_scores_are_those_of_systems_even_where_systems_miss_segments() -> None:
    ragged = table(systems=5, ragged=True)
    result = evaluate(score_judgements(ragged, ["chrf"]), level="system", significance=Significance(test="none"))
    human, whole = [], []
    for system in ragged.systems:
        part = ragged.where(system=system)
        human.append(part.human["adequacy"].mean())
        whole.append(nlgauge.score(part.hypothesis, part.references, metric="chrf").corpus["chrf"])
    assert result.cells["chrf"]["en"].value == pytest.approx(pearsonr(whole, human).statistic)


def test_released_distances_are_negated() -> None:
    made = table()
    flipped = replace(made, distances=frozenset({"other"}))
    plain, turned = (
        evaluate(
            ScoredJudgements(item, (released_rows(item, "other"),)), significance=Significance(test="none")
        ).cells
        for item in (made, flipped)
    )
    assert plain["other"]["en"].value == pytest.approx(-turned["other"]["en"].value)


def test_metric_and_its_rescaled_variant_can_be_compared() -> None:
    made = replace(table(systems=12), system_scores={"en": {f"s{s}": float(s % 5) for s in range(12)}})
    base = given_rows(made, "raw", made.released["other"])
    scaled = given_rows(made, "rescaled", (made.released["other"] - 0.3) / 0.7)
    result = evaluate(ScoredJudgements(made, (base, scaled)), level="system")
    assert result.cells["raw"]["en"].value == pytest.approx(result.cells["rescaled"]["en"].value)
    assert result.options["test"] == "williams"
    assert result.cells["raw"]["en"].low <= result.cells["raw"]["en"].value <= result.cells["raw"]["en"].high


def test_a_name_that_is_taken_gets_a_number() -> None:
    made = table()
    scored = score_judgements(made, ["chrf"]).add(given_rows(made, "chrf", made.released["other"]))
    assert [metric.name for metric in scored.metrics] == ["chrf", "chrf (2)"]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        (
            {"agreement": "spa", "level": "system", "significance": Significance(test="williams")},
            "no significance test",
        ),
        ({"agreement": "acc-eq", "level": "topic", "significance": Significance(test="bootstrap")}, "permutation"),
        ({"agreement": "kendall", "significance": Significance(test="williams")}, "Pearson"),
        ({"level": "topic", "significance": Significance(test="bootstrap")}, "groups"),
        ({"aggregate": "median"}, "median"),
    ],
)
def test_a_question_without_an_answer_is_refused(question: dict[str, Any], word: str) -> None:
    made = table()
    with pytest.raises(RecipeError, match=word):
        evaluate(ScoredJudgements(made, (released_rows(made, "other"),)), **question)


#: BERTScore F with idf from the references on the test sets of WMT17, measured for this project beforehand.
TESTSET = {
    ("minilm", 4): {"cs": 0.564, "de": 0.626, "fi": 0.760, "lv": 0.666, "ru": 0.652, "tr": 0.633, "zh": 0.649},
    ("mpnet", 9): {"cs": 0.660, "de": 0.692, "fi": 0.798, "lv": 0.740, "ru": 0.726, "tr": 0.695, "zh": 0.705},
}


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")  # some outputs hold untranslated Chinese
@pytest.mark.parametrize(
    ("model", "layer", "languages"),
    [
        ("minilm", 4, tuple(TESTSET["minilm", 4])),
        ("mpnet", 9, ("tr",)),
        pytest.param("mpnet", 9, tuple(TESTSET["mpnet", 9]), marks=pytest.mark.long),
    ],
)
def test_bertscore_on_the_test_sets_of_wmt17(
    data_folder: Path, model: str, layer: int, languages: Sequence[str]
) -> None:
    tested = load("wmt17-testset", data_folder, langpairs=[f"{language}-en" for language in languages])
    scored = score_judgements(tested, [f"bertscore:layer={layer},idf=refs"], model=model)
    result = evaluate(scored, significance=Significance(test="none"))
    (row,) = result.cells.values()
    for language in languages:
        expected = TESTSET[model, layer][language]
        assert round(row[f"{language}-en"].value, 3) == pytest.approx(expected, abs=0.0011), language
    if model == "mpnet" and len(languages) == len(TESTSET[model, layer]):
        assert result.averages.popitem()[1] == pytest.approx(0.716, abs=0.001)


class RecordedBar:
    """In the place of tqdm: what bars say and how far they get."""

    made: list[RecordedBar]

    def __init__(self, *, total: int, desc: str, **_: object) -> None:
        self.total, self.desc, self.done = total, desc, 0
        self.made.append(self)

    def update(self, steps: int) -> None:
        self.done += steps

    def close(self) -> None: ...


def test_figure_names_language_pair_and_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordedBar, "made", [], raising=False)
    monkeypatch.setattr("tqdm.tqdm", RecordedBar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    grid = table(segments=24)
    both = replace(grid, langpair=tuple("de-en" if int(segment) < 12 else "cs-en" for segment in grid.segment))
    scored = score_judgements(both, ["bertscore", "chrf"], progress=True).add(*sentinels_of(both))
    evaluate(scored, agreement="kendall", significance=Significance(resamples=100), progress=True)
    names = list(dict.fromkeys(bar.desc for bar in RecordedBar.made))
    assert names == [
        f"{what}, pair {pair} of 2{where}"
        for pair in (1, 2)
        for what, where in [*(("scoring chrf", f", system {n} of 3") for n in (1, 2, 3)), ("encoding", "")]
    ] + [f"{what} kendall, pair {pair} of 2" for pair in (1, 2) for what in ("resampling", "testing")]
    assert all(bar.done == bar.total for bar in RecordedBar.made)


def test_intervals_of_ten_topics_are_students() -> None:
    grid = table(segments=12)
    metric = given_rows(grid, "m", np.random.default_rng(1).random(len(grid)))
    cell = evaluate(ScoredJudgements(grid, (metric,)), level="topic", significance=Significance(test="none")).cells[
        "m"
    ]["en"]
    assert cell.value == pytest.approx((cell.low + cell.high) / 2)  # as a t interval is, and percentiles are not
    assert cell.low < cell.high


def documented(seed: int = 0, *, documents: int = 12, rows: int = 6) -> ScoredJudgements:
    """One system's rows with two metrics, equally good; rows of a document are alike."""
    scores, human, of = clustered_scores(seed, documents, rows)
    made = replace(
        table(systems=1, segments=human.size),
        human={"adequacy": human},
        released={},
        document=tuple(f"d{item}" for item in of),
    )
    return ScoredJudgements(made, tuple(given_rows(made, name, row) for name, row in zip("ab", scores, strict=True)))


@pytest.mark.parametrize("agreement", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("test", ["permutation", "bootstrap"])
def test_documents_are_drawn_as_wholes(agreement: str, test: Any) -> None:
    scored = documented()
    plain = evaluate(scored, agreement=agreement, significance=Significance(test=test, resamples=200))
    result = evaluate(
        scored, agreement=agreement, significance=Significance(test=test, resamples=200, documents=True)
    )
    for name in "ab":
        first, other = plain.cells[name]["en"], result.cells[name]["en"]
        assert first.value == other.value
        assert other.high - other.low > 1.3 * (first.high - first.low)
    assert (plain.options["unit"], result.options["unit"]) == ("judged output", "document")
    assert result.notes == ("en: resampled by document (12 documents), not by judged output",)
    assert "200 resamples by document, seed 12345" in result.mark
    assert result.to_dict()["options"]["documents"] is True
    single = replace(scored.table, document=tuple(map(str, range(72))))
    rows = evaluate(
        ScoredJudgements(single, scored.metrics),
        agreement=agreement,
        significance=Significance(test=test, resamples=200, documents=True),
    )
    assert rows.cells == plain.cells, "a document for each row is no documents, to the bit"


@pytest.mark.heavy
def test_metrics_that_are_equally_good_differ_only_if_rows_are_taken_for_independent() -> None:
    """Of 60 sets of equally good metrics about six should have a loser at p <= .05 for either metric."""
    losers = {False: 0, True: 0}
    for seed in range(60):
        for documents in losers:
            significance = Significance(resamples=100, seed=seed, documents=documents)
            cells = evaluate(documented(seed, documents=30), significance=significance).cells
            losers[documents] += not all(cells[name]["en"].unbeaten for name in "ab")
    assert losers[True] <= 14
    assert losers[False] >= 25


@pytest.mark.parametrize(("level", "agreement"), [("topic", "kendall"), ("topic", "acc-eq"), ("system", "spa")])
def test_topics_of_a_document_are_drawn_together(level: Any, agreement: str) -> None:
    made = table(systems=4, segments=40)
    documents = tuple(f"d{int(segment) // 4}" for segment in made.segment)
    scored = ScoredJudgements(
        replace(made, document=documents),
        (released_rows(made, "other"), given_rows(made, "m", made.human["fluency"] + made.human["adequacy"])),
    )
    question = {"level": level, "agreement": agreement}
    plain = evaluate(scored, significance=Significance(resamples=100), **question)
    result = evaluate(scored, significance=Significance(resamples=100, documents=True), **question)
    unit = {"topic": "topic", "system": "segment"}[level]
    assert result.notes == (f"en: resampled by document (10 documents), not by {unit}",)
    assert plain.options["unit"] == unit
    if agreement == "spa":  # defined by draws
        assert result.cells["other"]["en"].value != plain.cells["other"]["en"].value
    else:
        assert result.cells["other"]["en"].value == plain.cells["other"]["en"].value
        assert result.cells["m"]["en"].unbeaten
    if agreement == "kendall":
        assert result.cells["m"]["en"].low != plain.cells["m"]["en"].low


def test_fewer_than_ten_documents_are_not_drawn() -> None:
    result = evaluate(documented(documents=9), significance=Significance(resamples=100, documents=True))
    assert result.notes == ("en: 9 documents, too few for an interval or significance test (minimum: 10)",)
    assert np.isnan(result.cells["a"]["en"].low)
    assert result.cells["a"]["en"].rank is None


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ({"level": "system"}, "systems are resampled"),
        ({"level": "topic", "agreement": "differences"}, "nothing is resampled"),
        ({"significance": Significance(test="williams", documents=True)}, "Williams"),
        ({"level": "topic"}, "'0' and '4'"),
    ],
)
def test_documents_that_cannot_be_drawn_are_refused(question: dict[str, Any], word: str) -> None:
    made = table()
    made = replace(made, document=tuple(map(str, range(len(made)))))
    question = {"significance": Significance(documents=True), **question}
    with pytest.raises((InputError, RecipeError), match=word):
        evaluate(ScoredJudgements(made, (released_rows(made, "other"),)), **question)


def test_data_without_documents_is_an_error() -> None:
    made = table()
    with pytest.raises(InputError, match="made has no document ids"):
        evaluate(ScoredJudgements(made, (released_rows(made, "other"),)), significance=Significance(documents=True))


def with_gaps(made: JudgementTable) -> JudgementTable:
    """People judged each segment for one system only, so that no segment was judged for every system."""
    judged = [int(segment) % 3 == int(system[1:]) for segment, system in zip(made.segment, made.system, strict=True)]
    return replace(made, human={"adequacy": np.where(judged, made.human["adequacy"], np.nan)})


def test_agreement_that_cannot_be_computed_leaves_empty_cells_and_a_note() -> None:
    made = with_gaps(table(systems=3, segments=12))
    scored = ScoredJudgements(made, (released_rows(made, "other"), *sentinels_of(made)))
    assert np.isfinite(evaluate(scored, level="system").cells["other"]["en"].value)
    result = evaluate(scored, level="system", agreement="spa", undefined="nan")
    assert np.isnan([cell.value for row in result.cells.values() for cell in row.values()]).all()
    assert result.cells["other"]["en"].note.startswith("no segment was judged for every system")
    with pytest.raises(InputError, match="no segment was judged for every system"):
        evaluate(scored, level="system", agreement="spa")


def two_pairs() -> JudgementTable:
    """Twelve rows of de-en, and twelve of si-en, whose first text minilm cannot read."""
    made = table(systems=3, segments=4)
    texts = ("ශ්‍රී ලංකාව", *made.hypothesis[1:])
    return replace(
        made,
        segment=(*made.segment, *made.segment),
        system=(*made.system, *made.system),
        langpair=("de-en",) * 12 + ("si-en",) * 12,
        hypothesis=(*made.hypothesis, *texts),
        references=(*made.references, *made.references),
        human={"adequacy": np.tile(made.human["adequacy"], 2)},
        released={"other": np.tile(made.released["other"], 2)},
    )


def test_language_pair_that_a_metric_cannot_score_leaves_the_other_cells() -> None:
    made = two_pairs()
    with pytest.raises(InputError, match="Sinhala"):
        score_judgements(made, ["bertscore", "chrf"])
    scored = score_judgements(made, ["bertscore", "chrf"], undefined="nan")
    result = evaluate(scored)
    alone = evaluate(score_judgements(made.where(langpair="de-en"), ["bertscore", "chrf"]))
    for name in ("bertscore", "chrf"):
        assert result.cells[name]["de-en"].value == alone.cells[name]["de-en"].value
    assert np.isfinite(result.cells["chrf"]["si-en"].value)
    assert np.isnan(result.cells["bertscore"]["si-en"].value)
    assert "Sinhala" in result.cells["bertscore"]["si-en"].note
    assert np.isnan(result.averages["bertscore"])


def test_bug_in_a_metric_is_not_taken_for_a_missing_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IndexError("a bug")

    monkeypatch.setattr(sys.modules["nlgauge.studies.meta.score_judgements"], "run_metrics", broken)
    with pytest.raises(IndexError, match="a bug"):
        score_judgements(table(), ["chrf"], undefined="nan")


def test_metric_without_its_model_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    result = evaluate(score_judgements(two_pairs(), ["bertscore:model=no/such", "chrf"], undefined="nan"))
    assert np.isfinite(result.averages["chrf"])
    assert "no/such" in result.cells["bertscore:model=no/such"]["si-en"].note


def test_texts_of_a_language_pair_are_not_annotated_as_english() -> None:
    made = replace(table(), langpair=("en-de",) * 12)
    with pytest.raises(RecipeError, match="lc: annotator 'spacy-en' reads en, but the texts are 'de'"):
        score_judgements(made, ["lc"])
    scored = score_judgements(made, ["lc", "chrf"], undefined="nan")
    assert list(scored["lc"].failed) == ["en-de"]
    assert np.isfinite(scored["chrf"].values).all()


def test_seed_4_gives_the_soft_accuracy_of_mt_metrics_eval() -> None:
    made = table(systems=4, segments=30)
    scored = ScoredJudgements(made, (released_rows(made, "other"),))
    # mt-metrics-eval's pce.py by hand: 1,000 draws of default_rng(4), p the share of flips that reach the difference.
    signs = 2 * np.rint(np.random.default_rng(4).random((1000, 30), dtype=np.float32)).astype(float) - 1
    sides = [values.reshape(4, 30) for values in (made.human["adequacy"], made.released["other"])]

    def p_value(scores: Any, i: int, j: int) -> float:
        difference = scores[i] - scores[j]
        return float(np.mean(signs @ difference >= difference.sum() - 1e-12))

    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    expected = 1 - np.mean([abs(p_value(sides[0], *pair) - p_value(sides[1], *pair)) for pair in pairs])
    asked: dict[str, Any] = {"level": "system", "agreement": "spa"}
    result = evaluate(scored, **asked, significance=Significance(seed=4))
    assert result.cells["other"]["en"].value == pytest.approx(expected, abs=1e-12)
    assert evaluate(scored, **asked).cells["other"]["en"].value != pytest.approx(expected, abs=1e-12), "seed 12345"
