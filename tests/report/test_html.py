"""The HTML report as a file: what is in it, and what cannot get into it. What it does is in test_html_browser.py."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.report_samples import HOSTILE, Sample, explained, hostile, made, sample, unpacked
from tests.studies.compare.made_scores import scores_of

import nlgauge
from nlgauge.io.table import Table
from nlgauge.report.document import html_report, write_report
from nlgauge.report.figures import pair_table, ranking_table
from nlgauge.report.inputs import (
    PairExplanation,
    ReportOptions,
    ReportTexts,
    differing_segments,
    explain_for_report,
)
from nlgauge.studies.compare.paired_differences import shown_pairs


class Parsed(HTMLParser):
    """Elements and attributes of a page, and the text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.inside):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.texts))


def page_of(matches: Sample, **more: Any) -> str:
    return html_report(matches.comparison, scores=matches.scores, texts=matches.texts, **more)


@pytest.fixture(scope="module")
def two() -> Sample:
    return sample()


@pytest.fixture(scope="module")
def many() -> Sample:
    return sample(6, 60, ("bertscore", "chrf", "baryscore"))


def test_the_same_input_gives_the_same_bytes(two: Sample, tmp_path: Path) -> None:
    paths = [tmp_path / "one.html", tmp_path / "two.html"]
    for path in paths:
        nlgauge.write_report(
            path, two.comparison, scores=two.scores, texts=two.texts, explanations=explained(two, [1])
        )
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.decode("utf-8") == page_of(two, explanations=explained(two, [1]))


def test_the_policy_names_the_scripts_and_styles_by_their_digests(two: Sample) -> None:
    page = page_of(two)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        (body,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(body.encode("utf-8")).digest()).decode("ascii")
        assert rules[rule] == f"'sha256-{digest}'"


def test_nothing_is_loaded_from_anywhere(two: Sample) -> None:
    parsed = Parsed(page_of(two))
    for name, attributes in parsed.elements:
        assert name not in ("link", "img", "iframe", "object", "embed"), name
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    script = page_of(two).partition("<script>")[2]
    assert not re.search(r"fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_text_that_looks_like_markup_stays_text() -> None:
    page = page_of(hostile(), options=ReportOptions(title=HOSTILE[0], date=HOSTILE[2], notes=(HOSTILE[1],)))
    parsed = Parsed(page)
    assert sum(name == "script" for name, _ in parsed.elements) == 3, "the data, the explanations, the page's own"
    names = {name for name, _ in parsed.elements}
    assert not names & {"img", "i", "a:hover"}
    for name, attributes in parsed.elements:
        assert not [key for key in attributes if key.startswith("on") or key == "style"], (name, attributes)
    for line in HOSTILE[:3]:
        assert line in parsed.text
    assert "{{data}} {{script}}" in parsed.text
    assert page.count("{{data}}") > 0
    page.encode("utf-8")


def test_the_data_holds_all_scores_and_texts(many: Sample) -> None:
    data = unpacked(page_of(many))
    assert data["count"] == 60
    assert data["names"] is None
    order = [row.system for row in many.comparison.metrics[0].systems]
    assert data["systems"] == order
    for metric, scores in zip(data["metrics"], many.scores, strict=True):
        result = np.array(metric["values"]).T / 10.0 ** metric["decimals"]
        expected = scores.take(order).values
        assert np.abs(result - expected).max() <= 1e-4 * np.ptp(expected)
        assert metric["higher"] is scores.higher_is_better
    for index, (source, references, *outputs) in enumerate(data["texts"]):
        assert source is None
        assert references == list((many.texts.references or [])[index])
        assert outputs == [many.texts.systems[name][index] for name in order]


def test_documents_are_named(two: Sample) -> None:
    documents = tuple(f"document {index // 5}" for index in range(40))
    result = made([replace(score, documents=documents) for score in two.scores], two.texts)
    messages = Parsed(page_of(result)).text
    assert "40 segments · 8 documents" in messages
    assert "a bootstrap of 8 documents would be too narrow" in messages
    assert "bootstrap of segments, 200 resamples" in Parsed(page_of(two)).text
    assert unpacked(page_of(result))["documents"] == list(documents)
    assert unpacked(page_of(two))["documents"] is None


def test_names_of_segments_and_odd_letters_survive() -> None:
    data = unpacked(page_of(hostile()))
    assert data["names"][1] == f"{HOSTILE[1]} 1"
    assert data["texts"][2][0] == HOSTILE[2]
    assert data["texts"][4][0] == HOSTILE[4].replace("\ud800", "?")


def test_verdict_of_two_systems() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(0.5, 0.1, (200, 1))
    values = base + np.array([[0.05, 0.0]]) + rng.normal(0, 0.01, (200, 2))
    result = made([scores_of("m", ("a", "b"), values)], ReportTexts({}))
    pair = result.comparison.metrics[0].pairs[0]
    messages = Parsed(page_of(result)).text
    assert (
        f"a is significantly better than b (m): difference {pair.difference:.4f}, 95 % interval {pair.low:.4f} to "
        f"{pair.high:.4f}, p = {pair.p_adjusted:.3f}." in messages
    )
    distance = made([scores_of("m", ("a", "b"), values, higher_is_better=False)], ReportTexts({}))
    verdict = f"b is significantly better than a (m): difference {pair.difference:.4f}, 95 % "
    assert verdict in Parsed(page_of(distance)).text
    even = made([scores_of("m", ("a", "b"), rng.normal(0.5, 0.1, (200, 2)))], ReportTexts({}))
    messages = Parsed(page_of(even)).text
    assert re.search(
        r"No significant difference between . and . \(m\): difference 0\.\d+, 95 % interval −?0\.\d+ to 0\.\d+, p",
        messages,
    )
    assert "This test set can detect a difference of 0." in messages


def test_verdict_of_many_systems(many: Sample) -> None:
    messages = Parsed(page_of(many)).text
    assert "system-a has the best BERTScore of 6 systems (0." in messages
    assert "(p < 0.05, Holm-corrected for 15 pairs)" in messages
    assert "All 3 metrics rank system-a first." in messages
    turned = scores_of("turned", many.scores[0].systems, -many.scores[0].values)
    result = made([many.scores[0], turned], many.texts)
    assert (
        "The metrics disagree on the best system: system-a (BERTScore); system-f (turned)."
        in Parsed(page_of(result)).text
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 2), (5, 2)])
def test_few_systems_and_few_segments(shape: tuple[int, int]) -> None:
    values = np.random.default_rng(0).normal(0.5, 0.1, shape)
    names = tuple("abc"[: shape[1]])
    result = made([scores_of("m", names, values)], ReportTexts({name: ["x"] * shape[0] for name in names}))
    messages = Parsed(page_of(result)).text
    assert f"{shape[0]} segment" in messages
    assert "nan" not in messages.lower().replace("pennant", "")
    assert ("there is no other system to compare it with" in messages) == (shape[1] == 1)


def test_all_ties_and_constant_scores() -> None:
    result = made([scores_of("m", ("a", "b", "c"), np.full((20, 3), 0.5))], ReportTexts({}))
    messages = Parsed(page_of(result)).text
    assert "a, b and c share the best m of 3 systems (0.5000)." in messages
    assert "all systems tie on every instance" in messages
    assert unpacked(page_of(result))["metrics"][0]["values"] == [[5000] * 20] * 3


def test_without_texts(two: Sample) -> None:
    page = html_report(two.comparison, scores=two.scores)
    assert unpacked(page)["texts"] is None


def test_behind_each_table_are_three_forms_of_it(many: Sample) -> None:
    page = page_of(many)
    result = many.comparison.metrics[0]
    for name, table in (("metric-1-ranking", ranking_table(result)), ("metric-1-pairs", pair_table(result))):
        for form, text in (("tsv", table.to_tsv()), ("latex", table.to_latex()), ("markdown", table.to_markdown())):
            (body,) = re.findall(rf'<pre id="{name}-{form}"[^>]*>(.*?)</pre>', page, re.S)
            assert Parsed(body).texts == [text] or "".join(Parsed(body).texts) == text
    exports = re.findall(r'data-export="([^"]*)"', page)
    of_metric = [
        f"metric-{index}-{what}"
        for index in (1, 2, 3)
        for what in ("ranking", "pairs", "differences", "distribution")
    ]
    assert sorted(exports) == sorted([*of_metric, "overview", "disagreement", "signatures"])


def test_strengths_have_their_intervals(two: Sample) -> None:
    row = two.comparison.metrics[0].systems[0]
    assert row.bt_interval is not None
    low, high = row.bt_interval.low, row.bt_interval.high
    assert f'title="95 % interval {low:.3f} – {high:.3f}">{row.bradley_terry:.3f}</td>' in page_of(two)
    header, first, *_ = ranking_table(two.comparison.metrics[0]).to_tsv(width=6).splitlines()
    cells = dict(zip(header.split("\t"), first.split("\t"), strict=True))
    assert (cells["bt low"], cells["bt high"]) == (f"{low:.6f}", f"{high:.6f}")


def test_further_tables_are_shown(two: Sample) -> None:
    table = Table(["system", "runs"], [["<b>", 5], ["b", 3]], caption="Runs", notes=["A note."])
    page = page_of(two, tables=[table])
    assert "Further tablesRunssystemruns" in Parsed(page).text
    assert "<td><bdi>&lt;b&gt;</bdi></td>" in page
    assert "A note." in Parsed(page).text
    assert 'data-export="further-1"' in page
    assert "Further tables" not in page_of(two)


def test_ids_are_unique_and_labels_lead_somewhere(many: Sample) -> None:
    elements = Parsed(page_of(many)).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements:
        for key in ("aria-labelledby", "data-copies"):
            if attributes.get(key):
                assert attributes[key] in ids
        if (attributes.get("href") or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in ids


def test_report_has_signatures_and_settings(many: Sample) -> None:
    messages = Parsed(page_of(many)).text
    for metric in many.comparison.metrics:
        assert metric.signature in messages
    assert many.comparison.signature in messages
    assert "paired bootstrap" in messages


def test_report_has_a_date_only_on_request(two: Sample) -> None:
    assert "2026-11-17" not in page_of(two)
    assert "2026-11-17" in Parsed(page_of(two, options=ReportOptions(date="2026-11-17"))).text


def test_explanations_are_packed_small(two: Sample) -> None:
    page = page_of(two, explanations=explained(two, [3, 7]))
    assert unpacked(page)["explained"] == [3, 7]
    data = unpacked(page, "page-explanations")
    assert sorted(data["pairs"]) == ["0/0/3", "0/0/7", "0/1/3", "0/1/7"]
    words, reference, links, costs, against, sentence, sides, removed = data["pairs"]["0/0/7"]
    assert words[:3] == ["Bread", "is", "good."]
    assert reference == ["Bread", "is", "good."]
    assert links == [[0, 0, 1000], [1, 1, 950], [2, 2, 900]], "one link of each pair, none of special tokens"
    assert (costs, against) == (0, "reference")
    assert sentence.endswith("a sentence.")
    assert sides[0] == ["precision", *[1000] * len(words)]
    assert removed == [{}, {}]
    low, high = data["ranges"]["0"]
    assert 500 <= low < high == 1000


def test_as_many_segments_keep_their_explanations_as_asked_for(two: Sample) -> None:
    page = page_of(two, explanations=explained(two, [9, 4, 2]), options=ReportOptions(alignments=2))
    kept = unpacked(page)["explained"]
    assert len(kept) == 2
    (left_out,) = {9, 4, 2} - set(kept)
    ranges = [np.ptp(score.values, axis=1) / score.values.std() for score in two.scores]
    assert all(np.max(ranges, axis=0)[index] > np.max(ranges, axis=0)[left_out] for index in kept)
    assert (
        unpacked(page_of(two, explanations=explained(two, [9]), options=ReportOptions(alignments=0)))["explained"]
        == []
    )


def test_segments_that_differ_most_under_any_metric() -> None:
    first = scores_of("one", ("a", "b"), [[0.1, 0.1], [0.1, 0.9], [0.5, 0.5], [0.4, 0.5]])
    other = scores_of("other", ("a", "b"), [[50.0, 50.0], [50.0, 50.0], [10.0, 90.0], [50.0, 51.0]])
    assert differing_segments([first, other], 2) == [1, 2]
    assert differing_segments([first], 0) == []
    assert differing_segments([first], 9) == [0, 1, 2, 3]


def test_explanations_of_results() -> None:
    systems = {"a": ["A cat sat on a mat.", "Bread is good."], "b": ["The dog ran.", "Bread is bad."]}
    references = ["The cat sat on the mat.", "Bread is good."]
    results = nlgauge.score_systems(systems, references, metric=["bertscore", "moverscore", "chrf"])
    result = explain_for_report(results, [0, 1], systems=["b"])
    assert {(item.metric, item.system, item.segment) for item in result} == {
        ("bertscore", "b", 0), ("bertscore", "b", 1), ("moverscore", "b", 0), ("moverscore", "b", 1),
    }  # fmt: skip
    tables = nlgauge.studies.compare.system_scores(results)
    texts = ReportTexts(systems, [[text] for text in references])
    page = page_of(Sample(nlgauge.compare_systems(tables, permutations=100), tables, texts), explanations=result)
    pairs = unpacked(page, "page-explanations")["pairs"]
    place = unpacked(page)["systems"].index("b")
    words, _, links, costs, *_ = pairs[f"0/{place}/1"]
    assert words == ["Bread", "is", "bad", "."]
    assert [0, 0] in [link[:2] for link in links]
    assert costs == 0
    assert pairs[f"1/{place}/1"][3] == 1, "a transport has costs"


def test_of_many_systems_the_best_and_the_furthest_are_explained() -> None:
    right = ["The cat sat on the mat.", "Bread is good.", "She lost her keys."]
    systems = {name: list(right) for name in "abcde"}
    systems["b"][0], systems["d"][1] = "A plane flew.", "Nobody knows why."
    systems["c"][2], systems["e"] = "No.", ["The cat sat.", "Bread is.", "She lost keys."]
    results = nlgauge.score_systems(systems, right, metric=["bertscore"])
    result = explain_for_report(results, [0, 1])
    assert [(item.system, item.segment) for item in result] == [("a", 0), ("a", 1), ("b", 0), ("d", 1)]
    everybody = explain_for_report(results, [0], systems=list(systems))
    assert [item.system for item in everybody] == list(systems)
    tables = nlgauge.studies.compare.system_scores(results)
    sample = Sample(nlgauge.compare_systems(tables, permutations=100), tables, ReportTexts(systems))
    assert unpacked(page_of(sample, explanations=result))["explained_systems"] == 2
    assert unpacked(page_of(sample))["explained_systems"] == 0
    assert explain_for_report(results, []) == []


def test_what_does_not_belong_together_is_refused(two: Sample) -> None:
    lines = {name: ["x"] for name in two.scores[0].systems}
    with pytest.raises(
        nlgauge.errors.InputError, match=r"texts of system 'system-a' have 1 segments, the scores have 40"
    ):
        html_report(two.comparison, scores=two.scores, texts=ReportTexts(lines))
    with pytest.raises(nlgauge.errors.InputError, match=r"texts of references have 2 segments, the scores have 40"):
        html_report(two.comparison, scores=two.scores, texts=ReportTexts({}, [["x"], ["y"]]))
    with pytest.raises(nlgauge.errors.InputError, match="the comparison is by 'chrf', the scores are of"):
        html_report(two.comparison, scores=two.scores[:1])
    with pytest.raises(nlgauge.errors.InputError, match="of 2 systems on 40 instances, the scores are of 1 on 40"):
        html_report(two.comparison, scores=[score.take(["system-a"]) for score in two.scores])
    with pytest.raises(nlgauge.errors.InputError, match="at least one metric"):
        html_report(replace(two.comparison, metrics=()), scores=two.scores)
    with pytest.raises(nlgauge.errors.RecipeError, match="alignments must be a whole number from 0, got -1"):
        ReportOptions(alignments=-1)
    with pytest.raises(nlgauge.errors.InputError, match="with alignments must be 0 or more, got -1"):
        differing_segments(two.scores, -1)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (PairExplanation("bleu", "system-a", 0, {}), r"explanation of 'bleu'.*the comparison has the metrics"),
        (
            PairExplanation("chrf", "system-z", 0, {}),
            r"explanation of system 'system-z'.*the comparison has the systems",
        ),
        (PairExplanation("chrf", "system-a", 40, {}), r"explanation of segment 40.*from 0 to 39"),
        (PairExplanation("chrf", "system-a", 0, {"links": []}), r"what Explanation.to_dict\(\) gives"),
    ],
)
def test_explanations_of_something_else_are_refused(two: Sample, one: PairExplanation, message: str) -> None:
    with pytest.raises(nlgauge.errors.InputError, match=message):
        page_of(two, explanations=[one])


def test_an_existing_file_is_replaced_whole(two: Sample, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    write_report(str(path), two.comparison, scores=two.scores)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_scores_that_differ_by_rounding_only_have_a_distribution() -> None:
    values = np.ones((6, 2))
    values[0, 0] -= 2**-53
    table = scores_of("moverscore", ("a", "b"), values)
    page = Parsed(page_of(made([table], ReportTexts({}))))
    assert [tag for tag, attributes in page.elements if attributes.get("class") == "histogram"] == ["svg", "svg"]


def test_pairs_have_a_histogram_and_sorted_differences(many: Sample) -> None:
    page = page_of(many)
    shown = len(shown_pairs(many.comparison.metrics[0]))
    drawn = re.findall(r'<svg class="histogram of-pair"[^>]*aria-label="([^"]*)"', page)
    assert len(drawn) == 2 * len(many.comparison.metrics) * shown
    pair = many.comparison.metrics[0].pairs[0]
    n = many.comparison.metrics[0].n
    assert f"{pair.first} minus {pair.second}: {pair.first} wins {pair.wins / n:.0%} of segments" in drawn[0]
