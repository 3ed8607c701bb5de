"""The HTML report in a real browser: what a reader does with it, and what a hostile text cannot do."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browsing import Opened, accessibility_problems
from tests.report.report_samples import Sample, explained, hostile, large, sample
from tests.studies.compare.made_scores import uneven

from nlgauge.report.document import write_report
from nlgauge.studies.compare.systems import compare_systems

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def written(matches: Sample, path: Path, **more: Any) -> Path:
    write_report(path, matches.comparison, scores=matches.scores, texts=matches.texts, **more)
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems, 120 segments, three metrics, alignments of four segments."""
    result = sample(3, 120, ("bertscore", "chrf", "baryscore"))
    explanations = explained(result, [0, 2, 3, 7])
    return written(result, tmp_path_factory.mktemp("report") / "report.html", explanations=explanations)


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    result = Opened(browser, report.as_uri())
    yield result
    result.page.close()
    assert result.said == []
    assert result.asked == [report.as_uri()]


def rows(page: Page) -> list[dict[str, Any]]:
    """The rows in view from the top, as a reader sees them."""
    result: list[dict[str, Any]] = page.eval_on_selector_all(
        "#segments-list .row",
        """rows => rows.map(row => ({segment: Number(row.dataset.segment),
           cells: [...row.children].map(cell => cell.textContent), chosen: row.getAttribute("aria-selected")}))""",
    )
    return result


def numbers(page: Page, column: int) -> list[float]:
    return [float(row["cells"][column].replace("−", "-")) for row in rows(page)]


def wait_for_text(page: Page, selector: str, pattern: str) -> None:
    page.locator(selector).filter(has_text=re.compile(pattern)).wait_for()


def choose(page: Page, label: str, value: str) -> None:
    page.locator("#segments").get_by_label(label, exact=True).select_option(value)


def test_systems_with_an_alignment_are_named(browser: Browser, tmp_path: Path) -> None:
    """Of many systems the page holds two on each segment: the best, and another one."""
    result = sample(6, 20)
    pairs = [item for item in explained(result, [4]) if item.system in ("system-a", "system-d")]
    opened = Opened(browser, written(result, tmp_path / "many.html", explanations=pairs).as_uri())
    page = opened.page
    expected = "for 1 segment, those with the largest differences between systems (2 systems each)"
    assert expected in page.inner_text("#explained-said")
    choose(page, "Show", "explained")
    page.locator("#segments-list .row").first.click()
    wait_for_text(page, "#segment .note", "has alignments of this segment only for system-a, system-d")
    assert page.locator("#segment .alignment").count() == 1
    page.close()
    assert opened.said == []


def test_sorting(opened: Opened) -> None:
    page = opened.page
    sizes = [abs(value) for value in numbers(page, 1)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) > 5
    for order, column, backwards in (("ahead", 1, True), ("behind", 1, False), ("high", 2, True), ("low", 2, False)):
        choose(page, "Sort by", order)
        result = numbers(page, column)
        assert result == sorted(result, reverse=backwards), order
    choose(page, "Sort by", "segment")
    assert [row["segment"] for row in rows(page)][:5] == [0, 1, 2, 3, 4]


def test_a_distance_is_turned_round(opened: Opened) -> None:
    page = opened.page
    choose(page, "Metric", "2")
    choose(page, "Sort by", "ahead")
    first = rows(page)[0]
    difference, a, b = (float(cell.replace("−", "-")) for cell in first["cells"][1:4])
    assert difference > 0
    assert a < b, "the lower distance is better"
    choose(page, "Sort by", "low")
    result = numbers(page, 2)
    assert result == sorted(result, reverse=True), "the worst is the largest distance"


def test_filtering_and_searching(opened: Opened) -> None:
    page = opened.page
    choose(page, "Show", "second")
    assert all(value < 0 for value in numbers(page, 1))
    choose(page, "Show", "explained")
    assert sorted(row["segment"] for row in rows(page)) == [0, 2, 3, 7]
    wait_for_text(page, "#segments-said", r"^4 of 120 segments")
    choose(page, "Show", "all")
    search = page.locator("#segments").get_by_label("Search")
    search.fill("GRANDMOTHER")
    wait_for_text(page, "#segments-said", r"^20 of 120 segments")
    assert {row["segment"] % 6 for row in rows(page)} == {4}
    search.fill("ソファー")
    page.locator("#segments-list .row").first.filter(has_text="ソファー").wait_for()
    assert {row["segment"] % 6 for row in rows(page)} == {3}
    search.fill("nowhere to be found")
    page.wait_for_selector("#segments-list .empty")
    assert page.locator("#segment").inner_text() == ""


def test_other_systems_can_be_compared(opened: Opened) -> None:
    page = opened.page
    choose(page, "System A", "2")
    choose(page, "System B", "1")
    choose(page, "Sort by", "segment")
    row = rows(page)[0]
    assert row["cells"][4].endswith("system-c 0")
    assert float(row["cells"][1].replace("−", "-")) == pytest.approx(
        float(row["cells"][2]) - float(row["cells"][3]), abs=2e-4
    )


def test_the_keyboard_walks_the_list(opened: Opened) -> None:
    page = opened.page
    choose(page, "Sort by", "segment")
    page.locator("#segments-list").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wait_for_text(page, "#segment h3", r"^Segment 3$")
    active = page.locator("#segments-list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    wait_for_text(page, "#segment h3", r"^Segment 120$")
    assert rows(page)[-1]["segment"] == 119
    page.get_by_role("button", name="Previous").click()
    wait_for_text(page, "#segment h3", r"^Segment 119$")


def test_opening_an_alignment(opened: Opened) -> None:
    page = opened.page
    choose(page, "Show", "explained")
    choose(page, "Sort by", "segment")
    page.locator("#segments-list .row[data-segment='7']").click()
    view = page.locator("#segment .alignment").first
    view.wait_for()
    assert view.get_by_role("group").count() == 2
    assert view.locator("path").count() == 3
    words = view.get_by_role("group").first.get_by_role("button")
    assert words.all_inner_texts()[:3] == ["Bread", "is", "good."]
    words.nth(1).hover()
    assert "is: matched with is (0.95); contributes 0.1000 to precision" in view.locator(".said").inner_text()
    assert view.locator("path.on").count() == 1
    words.nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "good.: matched with good. (0.90)" in view.locator(".said").inner_text()
    # Lines end where words are.
    line = view.locator("path.on").bounding_box()
    word = words.nth(2).bounding_box()
    assert line is not None
    assert word is not None
    assert word["x"] - 2 <= line["x"] <= word["x"] + word["width"] + 2
    # Arabic runs from right to left, and so do its words.
    page.locator("#segments-list .row[data-segment='2']").click()
    wait_for_text(page, "#segment h3", "^Segment 3$")
    arabic = view.get_by_role("group").nth(1).get_by_role("button")
    first, second = arabic.nth(0).bounding_box(), arabic.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    assert first["x"] > second["x"]
    choose(page, "Show", "all")
    page.locator("#segments-list .row[data-segment='1']").click()
    page.get_by_text("This report has no alignment of this segment").wait_for()
    assert "for 4 segments" in page.locator("#explained-said").inner_text()


def test_a_point_of_the_scatter_plot_opens_its_segment(opened: Opened) -> None:
    page = opened.page
    canvas = page.locator("#scatter-canvas")
    canvas.scroll_into_view_if_needed()
    colours = page.evaluate(
        """() => { const c = document.querySelector('#scatter-canvas');
           const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
           const seen = new Set();
           for (let i = 0; i < d.length; i += 4) seen.add(d.slice(i, i + 3).join());
           return seen.size; }"""
    )
    assert colours > 5
    box = canvas.bounding_box()
    assert box is not None
    for share in (0.4, 0.45, 0.5, 0.55, 0.6):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + (1 - share) * box["height"])
        if page.locator("#scatter-tip").is_visible():
            break
    tip = page.locator("#scatter-tip").inner_text()
    page.mouse.down()
    page.mouse.up()
    name = tip.split(":")[0].removeprefix("segment ")
    wait_for_text(page, "#segment h3", rf"^Segment {name}$")
    scatter = page.locator("#scatter")
    scatter.get_by_label("Horizontal: system").select_option("all")
    scatter.get_by_label("Vertical: metric").select_option("1")
    assert page.locator("#scatter-said").inner_text().startswith("360 points: all systems, BERTScore (horizontal)")


def test_theme(opened: Opened) -> None:
    page = opened.page
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Change to dark colours").click()
    dark = page.evaluate(colour)
    assert light != dark
    page.get_by_role("button", name="Change to light colours").click()
    assert page.evaluate(colour) == light


def test_tables_can_be_copied(browser: Browser, report: Path) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    part = page.locator("[data-export=metric-1-ranking] details").first
    part.locator("summary").click()
    part.get_by_role("button", name="Copy TSV").click()
    part.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("rank\tsystem\tscore")
    assert text == page.locator("#metric-1-ranking-tsv").text_content()
    page.locator("#segments-export").get_by_role("button", name="Copy all rows as TSV").click()
    page.locator("#segments-export").get_by_role("button", name="Copied").wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert len(lines) == 121
    assert lines[0].split("\t")[:4] == ["segment", "difference", "system-a", "system-b"]
    context.close()


def test_no_text_can_run_or_become_markup(browser: Browser, tmp_path: Path) -> None:
    result = hostile()
    metric = result.scores[0].metric
    path = written(result, tmp_path / "hostile.html", explanations=explained(result, [0, 1, 2, 3], metric=metric))
    opened = Opened(browser, path.as_uri())
    page = opened.page
    for place in range(12):
        page.locator(f"#row-{place}").click()
    page.locator("#segment details summary").first.click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, main script, #segment b").count() == 0
    assert opened.said == []
    assert opened.asked == [path.as_uri()]
    # Even markup that got in would not run: the policy knows the page's own script only.
    page.evaluate(
        """() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1';
           document.body.append(s); const d = document.createElement('div');
           d.innerHTML = '<img src=x onerror="window.hacked = 1">'; document.body.append(d); }"""
    )
    page.wait_for_timeout(300)
    for _ in range(300):  # what a page says arrives in its own time
        if opened.said:
            break
        page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in line for line in opened.said)
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_accessibility(browser: Browser, report: Path, scheme: str, width: int) -> None:
    opened = Opened(browser, report.as_uri(), color_scheme=scheme, viewport={"width": width, "height": 900})
    page = opened.page
    choose(page, "Show", "explained")
    page.wait_for_selector("#segment .alignment")
    page.eval_on_selector_all("details", "parts => parts.forEach(part => { part.open = true; })")
    assert accessibility_problems(page) == []
    page.close()


def test_a_phone_scrolls_one_way_only(browser: Browser, report: Path, tmp_path: Path) -> None:
    for path in (report, written(hostile(), tmp_path / "hostile.html")):
        page = Opened(browser, path.as_uri(), viewport={"width": 360, "height": 740}).page
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.locator("#segments-list .row").nth(2).click()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.close()


def test_ten_systems_fit_and_a_narrow_page_shows_that_the_matrix_goes_on(browser: Browser, tmp_path: Path) -> None:
    """A table that is wider than the page fades out at the right edge until it is scrolled to its end."""
    from playwright.sync_api import expect

    view = sample(10, 60).scores[0]
    renamed = [replace(score, system=f"RWTH-nmt-ensemble-{number}") for number, score in enumerate(view.scores)]
    scores = [replace(view, scores=replace(view.scores, scores=tuple(renamed)))]
    path = tmp_path / "ten.html"
    write_report(path, compare_systems(scores, permutations=200), scores=scores)
    for width, wider in ((1280, False), (800, True)):
        page = Opened(browser, path.as_uri(), viewport={"width": width, "height": 900}).page
        area = page.get_by_role("region", name="Significance matrix of BERTScore")
        assert area.evaluate("area => area.scrollWidth > area.clientWidth") is wider
        shown = "area => getComputedStyle(area).maskImage.startsWith('linear-gradient')"
        assert area.evaluate(shown) is wider
        area.evaluate("area => { area.scrollLeft = area.scrollWidth; }")
        expect(page.locator(".more > .matrix")).to_have_count(0)
        assert area.evaluate(shown) is False
        page.close()


def test_lines_in_the_matrix_are_those_between_clusters(browser: Browser, tmp_path: Path) -> None:
    """Also between names, which stay in place while the matrix scrolls: no other rule is drawn there."""
    scores = [uneven()]
    path = tmp_path / "uneven.html"
    write_report(path, compare_systems(scores, permutations=1000), scores=scores)
    page = Opened(browser, path.as_uri()).page
    widths = page.eval_on_selector_all(
        ".matrix tbody th", "cells => cells.map(cell => getComputedStyle(cell).borderTopWidth)"
    )
    assert widths == ["0px", "0px", "0px", "1px"]
    below = page.eval_on_selector_all(
        ".matrix tbody th", "cells => cells.map(cell => getComputedStyle(cell).borderBottomWidth)"
    )
    assert set(below) == {"0px"}
    page.close()


def fits_on_paper(page: Page) -> bool:
    """Whether nothing is cut off on A4 with margins of a centimetre: 19 cm are 718 pixels."""
    page.set_viewport_size({"width": 718, "height": 1000})
    page.emulate_media(media="print")
    return bool(page.evaluate("document.documentElement.scrollWidth <= 718"))


def test_print(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    choose(page, "Sort by", "segment")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is white"
    page.locator("#segments-printed tbody tr").nth(49).wait_for()
    assert page.locator("#segments-printed tbody tr").count() == 50
    assert page.locator("#segments-printed caption").inner_text().startswith("The first 50 of 120 segments")
    assert page.locator("#segments-printed tbody tr").first.is_visible()
    for hidden in ("#segments-list", ".top", "#segments-controls select", "#scatter"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert page.locator(".ranking").first.is_visible()
    assert fits_on_paper(page)
    path = tmp_path / "report.pdf"
    page.pdf(path=path)
    assert path.read_bytes().startswith(b"%PDF")


def test_tables_are_readable_without_scripts(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".ranking").count() == 3
    assert page.locator("#segments-waits").is_visible()
    assert not page.locator("#segments-live").is_visible()
    context.close()


def test_an_old_browser_gets_a_message(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(report.as_uri())
    page.wait_for_selector("#theme:not([hidden])")
    assert page.locator("#segments-waits").is_visible()
    assert page.locator(".ranking").count() == 3
    page.close()


def test_one_system_without_texts(browser: Browser, tmp_path: Path) -> None:
    result = sample(1, 30, ("bertscore",))
    path = tmp_path / "one.html"
    write_report(path, result.comparison, scores=result.scores)
    opened = Opened(browser, path.as_uri())
    assert opened.said == []
    page = opened.page
    found_rows = numbers(page, 1)
    assert found_rows == sorted(found_rows), "the worst first"
    assert page.locator("#segments").get_by_label("System B").count() == 0
    assert "Texts are not available here" in page.locator("#segment").inner_text()
    page.close()


def test_twenty_systems_with_3000_segments_open_without_stalling(browser: Browser, tmp_path: Path) -> None:
    path = written(large(), tmp_path / "large.html")
    size = path.stat().st_size / 1e6
    opened = Opened(browser, path.as_uri())
    page = opened.page
    started = time.monotonic()
    choose(page, "Sort by", "spread")
    page.locator("#segments").get_by_label("Search").fill("ab")
    wait_for_text(page, "#segments-said", " of 3,000 segments")
    page.eval_on_selector("#segments-list", "list => { list.scrollTop = 36 * 500; }")
    page.locator("#row-505").wait_for()
    used = time.monotonic() - started
    nodes = page.eval_on_selector("#segments-list", "list => list.querySelectorAll('*').length")
    print(f"{size:.1f} MB, open after {opened.seconds:.1f} s, sorted and searched in {used:.1f} s, {nodes} nodes")
    assert size < 8
    assert len(rows(page)) < 40
    assert nodes < 200
    assert opened.said == []
    assert fits_on_paper(page)
    page.close()
