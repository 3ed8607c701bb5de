"""The page in a browser: segments, alignments, comparison, sensitivity."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.apps.service.pages import (
    COMPUTING,
    HYPS,
    OTHERS,
    REFS,
    choose_metrics,
    fill,
    fill_long,
    page_of,
    run,
    table_score,
)

import nlgauge

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page
    from tests.apps.service.conftest import Running

pytestmark = pytest.mark.browser

SYSTEMS = {"A": HYPS * 4, "B": OTHERS * 4}


def words(view: Locator, side: int) -> Locator:
    return view.get_by_role("group").nth(side).get_by_role("button")


def test_an_alignment_by_pointer_and_by_keyboard(page: Page) -> None:
    fill(page, {"A": HYPS}, REFS)
    choose_metrics(page, "bertscore")
    run(page)
    page.locator("#segments-list .row[data-segment='0']").click()
    view = page.locator("#segment .alignment")
    view.wait_for()
    assert words(view, 0).all_inner_texts()[:4] == ["A", "ferry", "was", "cancelled"]
    words(view, 0).nth(1).hover()
    message = view.locator(".said")
    near = nlgauge.explain_pair(HYPS[0], REFS[0]).to_dict()["hypothesis"]["words"][1]["similarity"]
    message.filter(has_text=f"ferry: matched with ferry ({near:.2f})").wait_for()
    assert message.get_attribute("role") == "status"
    lit = view.locator("button.word.on").all_inner_texts()
    assert lit[:2] == ["ferry", "ferry"]
    assert view.locator("path.on").count() >= 1
    page.mouse.move(0, 0)
    message.filter(has_not_text="ferry: matched").wait_for()
    # The keyboard: one stop for a line of words, arrows within it.
    words(view, 0).nth(0).focus()
    page.keyboard.press("ArrowRight")
    message.filter(has_text="ferry: matched with ferry").wait_for()
    page.keyboard.press("ArrowRight")
    message.filter(has_text="was: matched with").wait_for()
    page.keyboard.press("ArrowLeft")
    message.filter(has_text="ferry: matched with ferry").wait_for()
    page.keyboard.press("Tab")
    assert words(view, 1).nth(0).evaluate("word => word === document.activeElement")
    page.keyboard.press("ArrowRight")
    message.filter(has_text=re.compile(r"^ferry: matched with ferry")).wait_for()


def test_greedy_matches_and_transport_of_the_same_pair(page: Page) -> None:
    fill(page, {"A": HYPS, "B": OTHERS}, REFS)
    choose_metrics(page, "moverscore")
    run(page)
    page.locator("#segments-list .row[data-segment='1']").click()
    page.get_by_label("System A").select_option(label="A")
    view = page.locator("#segment .alignment").first
    words(view, 0).filter(has_text="Bread").wait_for()
    kind = page.get_by_label("Alignment", exact=True)
    assert kind.locator("option").count() == 2
    kind.select_option("flow")
    words(view, 0).nth(0).hover()
    view.locator(".said").filter(has_text=re.compile("Bread: moves to .*bread")).wait_for()
    kind.select_option("greedy")
    words(view, 0).nth(0).focus()
    view.locator(".said").filter(has_text=re.compile(r"Bread: matched with bread \(0\.\d\d\)")).wait_for()
    # Two systems, an alignment of each.
    assert page.locator("#segment .alignment").count() == 2
    # The choice stays when another segment is chosen.
    page.get_by_role("button", name="Next").click()
    page.locator("#segment h3").filter(has_not_text="Segment 2").wait_for()
    assert page.get_by_label("Alignment", exact=True).input_value() == "greedy"


def test_texts_of_several_rows_have_lines_of_one_word_only(browser: Browser, serving: Running) -> None:
    drawn = "view => [...view.querySelectorAll('path')].filter(path => path.getClientRects().length).length"
    long, other = (" ".join(texts).replace(".", "") for texts in (HYPS, REFS))
    with page_of(browser, f"{serving.url}/", viewport={"width": 380, "height": 800}) as page:
        fill(page, {"A": [long, "Yes, sure."]}, [other, "Yes, sure."])
        choose_metrics(page, "bertscore")
        run(page)
        page.locator("#segments-list .row[data-segment='0']").click()
        view = page.locator("#segment .alignment.wrapped")
        view.wait_for()
        assert view.locator("path").count() > 10
        assert view.evaluate(drawn) == 0
        words(view, 0).nth(1).hover()
        view.locator(".said").filter(has_text="ferry: matched with ferry").wait_for()
        assert 1 <= view.evaluate(drawn) <= 4
        # Texts that take a row each have all their lines.
        page.locator("#segments-list .row[data-segment='1']").click()
        short = page.locator("#segment .alignment:not(.wrapped):has(path[d])")
        short.wait_for()
        assert short.evaluate(drawn) == short.locator("path").count() >= 2


def test_a_metric_without_vectors_has_no_alignment(page: Page) -> None:
    fill(page, {"A": HYPS}, REFS)
    choose_metrics(page, "chrf")
    run(page)
    page.locator("#segments-list .row[data-segment='0']").click()
    page.locator("#segment").get_by_text(HYPS[0]).wait_for()
    page.wait_for_timeout(400)
    assert page.locator("#segment .alignment").count() == 0
    assert page.get_by_text("A study needs the texts and a metric that uses a model").is_visible()


def test_systems_are_compared_with_significance(page: Page) -> None:
    fill(page, SYSTEMS, REFS * 4)
    choose_metrics(page, "bertscore", "baryscore")
    run(page)
    scores = nlgauge.score_systems(SYSTEMS, REFS * 4, metric=["bertscore", "baryscore"])
    comparison = nlgauge.compare_systems(scores)
    assert comparison.metrics[0].systems[0].system == "B"
    for index, metric in enumerate(("bertscore", "baryscore")):
        result = comparison.metrics[index]
        for place, row in enumerate(result.systems):
            shown = page.locator(".ranking").nth(index).locator("tbody tr").nth(place).inner_text().split()
            assert shown[:3] == [str(row.rank), row.system, f"{row.score:.4f}"]
            assert row.interval is not None
            assert f"{row.interval.low:.4f}" in shown
        assert float(table_score(page, metric)) == pytest.approx(
            next(row.score for row in result.systems if row.system == "B"), abs=5e-5
        )
        (pair,) = result.pairs
        mark = page.locator(".matrix").nth(index).locator("tbody tr").first.locator("td").nth(1)
        word = "better than" if pair.better else "not shown to differ from"
        assert word in mark.inner_text()
    assert page.locator("#verdicts p").count() >= 2
    # A distance says which way is better.
    assert "lower is better" in page.locator("#scores").inner_text()


def test_preprocessing_is_studied_as_a_job_and_shown_as_strips(page: Page) -> None:
    fill(page, SYSTEMS, REFS * 4)
    choose_metrics(page, "bertscore")
    run(page)
    page.get_by_label("Setting to vary").select_option("idf")
    page.get_by_role("button", name="Run the study").click()
    page.locator("#strip .strip-row").first.wait_for(timeout=COMPUTING)
    row = page.locator("#strip .strip-row").first
    # Each system has a dot per setting, and the numbers can be read by those who do not see dots.
    assert row.locator("circle").count() >= 4
    assert re.search(
        r"A from 0\.\d+ to 0\.\d+; B from 0\.\d+ to 0\.\d+", row.inner_html() + row.inner_text()
    ) or re.search(r"B from 0\.\d+ to 0\.\d+; A from 0\.\d+ to 0\.\d+", row.inner_html())
    assert page.locator("#study-status").inner_text() != ""
    assert page.get_by_role("button", name="Run the study").is_enabled()


def test_a_study_is_cancelled(page: Page) -> None:
    many = 60
    fill_long(page, "Outputs of system 1", [f"{HYPS[index % 3]} Number {index}." for index in range(many)])
    fill_long(page, "References 1", [f"{REFS[index % 3]} Number {index}." for index in range(many)])
    choose_metrics(page, "moverscore")
    run(page)
    page.get_by_role("button", name="Run the study").click()
    page.get_by_role("progressbar", name="Progress of the study").wait_for()
    page.get_by_role("button", name="Cancel the study").click()
    page.locator("#study-status").filter(has_text="Cancelled.").wait_for(timeout=COMPUTING)
    assert page.locator("#strip .strip-row").count() == 0
    assert page.get_by_role("button", name="Run the study").is_enabled()
    assert page.get_by_role("button", name="Cancel the study").is_hidden()
    assert page.evaluate("document.activeElement.id") == "study", "the focus is not lost with the button"


def test_three_thousand_segments_scroll_without_stalling(page: Page) -> None:
    count = 3_000
    hyps = [f"{HYPS[index % 3]} Number {index} of a long list." for index in range(count)]
    fill_long(page, "Outputs of system 1", hyps)
    fill_long(page, "References 1", [f"{REFS[index % 3]} Number {index} of a list." for index in range(count)])
    choose_metrics(page, "chrf")
    run(page)
    assert page.locator("#segments-said").inner_text().startswith("3,000 segments")
    page.get_by_label("Sort by").select_option("segment")
    # One jump a frame from top to bottom; a frame that takes long is a stall that a reader feels.
    gaps = page.eval_on_selector(
        "#segments-list",
        """list => new Promise(done => {
             const gaps = []; let before = performance.now(); let step = 0;
             const frame = now => {
               gaps.push(now - before); before = now; step += 1;
               list.scrollTop = (list.scrollHeight - list.clientHeight) * step / 60;
               if (step < 60) requestAnimationFrame(frame); else done(gaps);
             };
             requestAnimationFrame(frame);
           })""",
    )
    gaps = sorted(gaps)
    print(f"frames: median {gaps[30]:.0f} ms, slowest {gaps[-1]:.0f} ms")
    assert gaps[30] < 100
    assert gaps[-1] < 1500
    page.locator("#segments-list .row[data-segment='2999']").wait_for()
    assert page.locator("#segments-list .row").count() < 60
    assert page.eval_on_selector("#results", "part => part.querySelectorAll('*').length") < 1500
    page.get_by_label("Search").fill("Number 1234 of")
    page.locator("#segments-said").filter(has_text="1 of 3,000 segments").wait_for()


def test_unavailable_metrics_are_not_offered(page: Page) -> None:
    assert page.locator("#metric-entity-graph").count() == 1
    assert page.locator("#metric-lexical-graph").count() == 0
    page.locator("#more-metrics > summary").click()
    assert "lexical-graph, rouge-we (it needs a file (vectors))" in page.locator("#metrics-elsewhere").inner_text()


def test_notes_are_about_numbers_on_the_page(page: Page) -> None:
    fill(page, {"best": REFS, "other": HYPS}, REFS)
    choose_metrics(page, "chrf")
    run(page)
    notes = page.locator("#comparison .notes").inner_text()
    assert "other never won an instance" in notes
    assert "Bradley-Terry" not in notes
    assert "wilcoxon" not in notes
    assert page.locator("#segments-said").inner_text().startswith("3 segments, numbered from 1.")
    assert page.locator("#segments-list .row .num").first.inner_text() in {"1", "2", "3"}
