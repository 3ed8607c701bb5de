"""The page in a browser: from texts to scores, and errors in the input."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.apps.service.conftest import KEY, Running, started
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
    settled_address,
    shown_results,
    table_score,
)

import nlgauge

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.fixture
def refused(browser: Browser, serving: Running) -> Iterator[Page]:
    """A page whose requests may be refused."""
    with page_of(browser, f"{serving.url}/", refusals=True) as result:
        yield result


def saved(page: Page, label: str) -> str:
    """What a button saves."""
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name=f"Download {label}", exact=True).click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def dropped(page: Page, place: str, files: Mapping[str, bytes]) -> None:
    """Files that a reader drags onto the page."""
    content = [[name, list(data)] for name, data in files.items()]
    transfer = page.evaluate_handle(
        """files => { const found = new DataTransfer();
           for (const [name, bytes] of files) found.items.add(new File([new Uint8Array(bytes)], name));
           return found; }""",
        content,
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(place, event, {"dataTransfer": transfer})


def test_pasted_texts_get_the_scores_of_the_library(page: Page) -> None:
    fill(page, {"A": HYPS}, REFS)
    choose_metrics(page, "bertscore", "moverscore", "chrf")
    run(page)
    expected = {name: nlgauge.score(HYPS, REFS, metric=name) for name in ("bertscore", "moverscore", "chrf")}
    for name, score in expected.items():
        assert float(table_score(page, name)) == pytest.approx(
            score.to_dict()["score"], abs=5.1e-5 if name != "chrf" else 5.1e-3
        )
        title = {"bertscore": "BERTScore", "moverscore": "MoverScore", "chrf": "chrF"}[name]
        signature = page.locator(f"#signatures .signature:has(b:text-is('{title}')) code")
        assert signature.inner_text() == score.signature.short()
        assert str(score.signature).startswith(signature.get_attribute("title") or "none")
    result = json.loads(saved(page, "JSON"))["scores"]
    for record in result:
        del record["system"]
    for record, score in zip(result, expected.values(), strict=True):
        of_library = score.to_dict()
        of_library.pop("system", None)
        assert record == of_library


def test_several_references(page: Page) -> None:
    fill(page, {"A": HYPS}, REFS, OTHERS)
    choose_metrics(page, "bertscore")
    run(page)
    expected = nlgauge.score(HYPS, [list(group) for group in zip(REFS, OTHERS, strict=True)])
    assert table_score(page, "bertscore") == f"{expected.system_score:.4f}"
    assert page.get_by_text("2 references each").is_visible()
    page.get_by_role("button", name="Remove references 2").click()
    assert page.get_by_label("References 2", exact=True).count() == 0


def test_options_and_model_of_a_metric(page: Page) -> None:
    fill(page, {"A": HYPS}, REFS)
    page.get_by_label("Options of BERTScore", exact=True).fill("layer=3, idf=refs")
    page.get_by_label("Model", exact=True).select_option("minilm")
    run(page)
    expected = nlgauge.score(HYPS, REFS, layer=3, idf="refs")
    assert table_score(page, "bertscore") == f"{expected.system_score:.4f}"


def test_dropped_files_become_systems_and_references(page: Page) -> None:
    lines = {"one": HYPS, "two": OTHERS}
    files = {f"{name}.txt": ("\n".join(texts) + "\n").encode() for name, texts in lines.items()}
    files["two.txt.gz"] = gzip.compress(files.pop("two.txt"))
    dropped(page, "#systems", files)
    dropped(page, "#references-1-text", {"refs.en": "\r\n".join(REFS).encode()})
    page.locator("#references-1-count").filter(has_text="3 lines").wait_for()
    page.locator("#system-2-count").filter(has_text="3 lines from two.txt.gz").wait_for()
    assert [page.get_by_label(f"Name of system {index}").input_value() for index in (1, 2)] == ["one", "two"]
    choose_metrics(page, "bertscore")
    run(page)
    assert table_score(page, "bertscore", 0) == f"{nlgauge.score(OTHERS, REFS).system_score:.4f}"
    assert table_score(page, "bertscore", 1) == f"{nlgauge.score(HYPS, REFS).system_score:.4f}"


FILES = {"one.txt": HYPS, "two.txt": OTHERS}


def names_of_systems(page: Page) -> list[str]:
    return [box.input_value() for box in page.get_by_label("Name of system").all()]


def test_files_dropped_on_a_box_become_a_system_each(page: Page) -> None:
    dropped(page, "#system-1-text", {name: "\n".join(texts).encode() for name, texts in FILES.items()})
    page.locator("#system-2-count").filter(has_text="3 lines from two.txt").wait_for()
    assert names_of_systems(page) == ["one", "two"]
    for number, texts in enumerate(FILES.values(), 1):
        assert page.get_by_label(f"Outputs of system {number}", exact=True).input_value() == "\n".join(texts)
    dropped(page, "#references-1-text", {name: "\n".join(texts).encode() for name, texts in FILES.items()})
    page.locator("#references-2-count").filter(has_text="3 lines from two.txt").wait_for()
    dropped(page, "#sources-text", {"s.txt": b"a\nb\nc", "t.txt": b"d"})
    page.locator("#sources-error").filter(has_text="Only one file can be opened here: s.txt was opened").wait_for()


def test_opened_files_become_a_system_each(page: Page, tmp_path: Path) -> None:
    for name, texts in FILES.items():
        (tmp_path / name).write_text("\n".join(texts), encoding="utf-8")
    page.locator("#system-1-file").set_input_files([tmp_path / name for name in FILES])
    page.locator("#system-2-count").filter(has_text="3 lines from two.txt").wait_for()
    assert names_of_systems(page) == ["one", "two"]
    # Another file for the first system takes its place; a name that was typed stays.
    page.locator("#system-1-file").set_input_files(tmp_path / "two.txt")
    page.locator("#system-1-count").filter(has_text="3 lines from two.txt").wait_for()
    assert names_of_systems(page) == ["two 2", "two"]
    page.get_by_label("Name of system 1").fill("mine")
    page.locator("#system-1-file").set_input_files(tmp_path / "one.txt")
    page.locator("#system-1-count").filter(has_text="3 lines from one.txt").wait_for()
    assert names_of_systems(page) == ["mine", "two"]


def test_an_opened_file_replaces_the_text(page: Page, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("\n".join(HYPS), encoding="utf-8")
    page.get_by_label("Outputs of system 1", exact=True).fill("something else")
    page.locator("#system-1-file").set_input_files(tmp_path / "mine.txt")
    page.locator("#system-1-count").filter(has_text="3 lines from mine.txt").wait_for()
    assert page.get_by_label("Outputs of system 1", exact=True).input_value() == "\n".join(HYPS)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"caf\xe9", "not UTF-8"),
        ("a.txt", "text".encode("utf-16"), "UTF-16"),
        ("a.txt", b"", "is empty"),
        ("a.txt.gz", b"\x1f\x8b damaged", "is damaged"),
        ("a.tsv", b"a\tb", "is not plain text"),
    ],
)
def test_files_that_are_not_plain_text_are_refused(page: Page, name: str, content: bytes, said: str) -> None:
    dropped(page, "#system-1-text", {name: content})
    page.locator("#system-1-error").filter(has_text=said).wait_for()
    assert page.get_by_label("Outputs of system 1", exact=True).get_attribute("aria-invalid") == "true"


def shown_at(page: Page, field: str, error: str, said: str) -> None:
    """The error stands at its field, which names it, is marked and has the focus; assistive software is told."""
    message = page.locator(error)
    message.filter(has_text=said).wait_for()
    assert message.get_attribute("role") == "alert"
    box = page.locator(field)
    assert box.get_attribute("aria-invalid") == "true"
    assert error.removeprefix("#") in (box.get_attribute("aria-describedby") or "").split()
    assert page.evaluate("document.activeElement.id") == field.removeprefix("#")


def test_unequal_numbers_of_lines_are_reported(page: Page) -> None:
    fill(page, {"A": HYPS}, REFS[:2])
    page.get_by_role("button", name="Score", exact=True).click()
    shown_at(page, "#references-1-text", "#references-1-error", "2 lines here, but 3 in system 1.")
    assert page.locator("#status").inner_text() == "Please fix 1 problem first."
    # Corrected, it runs, and the error is gone.
    page.get_by_label("References 1", exact=True).fill("\n".join(REFS))
    assert page.locator("#references-1-error").inner_text() == ""
    run(page)


def test_empty_form_reports_missing_texts(page: Page) -> None:
    page.get_by_role("button", name="Score", exact=True).click()
    shown_at(page, "#system-1-text", "#system-1-error", "Enter the outputs of the system")
    assert page.locator("#references-1-error").inner_text() != ""


def test_missing_metric_and_duplicate_name_are_reported(page: Page) -> None:
    fill(page, {"A": HYPS, "B": HYPS}, REFS)
    page.get_by_label("Name of system 2").fill("A")
    choose_metrics(page)
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#system-2-error").filter(has_text="Two systems are named A").wait_for()
    page.locator("#metrics-error").filter(has_text="Choose at least one metric").wait_for()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("layer=99", "layer"),
        ("nonsense=1", "nonsense"),
        ("idf=/etc/passwd", "the service reads no files"),
        ("layer", "layer"),
    ],
)
def test_options_that_the_service_refuses(refused: Page, options: str, said: str) -> None:
    page = refused
    fill(page, {"A": HYPS}, REFS)
    page.get_by_label("Options of BERTScore", exact=True).fill(options)
    page.get_by_role("button", name="Score", exact=True).click()
    shown_at(page, "#options-bertscore", "#error-of-bertscore", said)
    assert page.locator("#results").is_hidden()


def test_unknown_recipe_is_shown_at_its_field(refused: Page) -> None:
    page = refused
    fill(page, {"A": HYPS}, REFS)
    choose_metrics(page)
    page.locator("#further summary").click()
    page.get_by_label("Recipes or signatures, one per line").fill("bertscorr")
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#recipes-error").filter(has_text="bertscorr").wait_for()


def test_too_long_text_shows_the_limit(refused: Page) -> None:
    page = refused
    fill(page, {"A": ["word " * 2000]}, ["word"])
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("[role=alert]").filter(has_text="limit 5,000").first.wait_for()


def opened(page: Page, place: str, name: str, texts: Sequence[str]) -> None:
    """A file that a reader opens."""
    content = "\n".join(texts).encode()
    page.locator(f"#{place}-file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
    page.locator(f"#{place}-count").filter(has_text=f"{len(texts):,} lines from {name}").wait_for()


def test_too_many_texts_are_reported_before_sending(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    for place in ("system-1", "references-1"):
        opened(page, place, "many.txt", ["A text."] * 50_001)
    # While the form is filled, before anything is pressed; the way out is named.
    said = page.locator("#size-error").filter(has_text="Too many texts (100,002; limit 100,000)")
    said.wait_for()
    assert "Use fewer systems, or ask the operator to raise --max-job-texts." in said.inner_text()
    choose_metrics(page, "chrf")
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_timeout(500)
    assert "POST" not in asked
    assert page.get_by_role("button", name="Score", exact=True).is_enabled()
    page.get_by_role("button", name="Remove the file").first.click()
    page.locator("#size-error:empty").wait_for(state="attached")


@pytest.mark.slow
def test_three_systems_of_three_thousand_segments(page: Page) -> None:
    """As large as one language of WMT17: 12,016 texts."""
    numbers = range(3_004)
    for system in (1, 2, 3):
        if system > 1:
            page.get_by_role("button", name="Add a system").click()
        texts = [f"{HYPS[number % 3]} The bus number {number} is {system} minutes late." for number in numbers]
        opened(page, f"system-{system}", f"{system}.txt", texts)
    opened(page, "references-1", "refs.txt", [f"{REFS[number % 3]} Bus {number} is late." for number in numbers])
    choose_metrics(page, "bertscore")
    run(page)
    assert page.locator("#scores tbody tr").count() == 3
    assert "3,004 segments" in page.locator("#status").inner_text()
    page.locator("#segment .alignment").first.wait_for(timeout=COMPUTING)


def test_empty_line_gives_a_warning(page: Page) -> None:
    fill(page, {"A": [HYPS[0], "", HYPS[2]]}, REFS)
    choose_metrics(page, "bertscore")
    run(page)
    assert "empty" in page.locator("#warnings").inner_text()


def test_the_example_runs_on_one_click(page: Page) -> None:
    page.get_by_role("button", name="Run an example").click()
    results = shown_results(page)
    assert results.is_visible()
    assert page.locator("#scores tbody tr").count() == 3
    assert page.locator("#verdicts p").count() >= 3
    page.get_by_role("button", name="Clear").click()
    assert results.is_hidden()
    assert page.get_by_label("Outputs of system 1", exact=True).input_value() == ""
    page.wait_for_url(re.compile("^[^#]*$"))


def test_a_shared_address_restores_the_form(browser: Browser, serving: Running, page: Page) -> None:
    from playwright.sync_api import expect

    odd = ["<b>a & b</b> # 100 % \u202e", "日本語 🐈 \u0645\u0631\u062d\u0628\u0627", 'quotes " and \\ and\ttabs']
    fill(page, {"first system": odd, "zweites": OTHERS}, REFS, HYPS)
    choose_metrics(page, "chrf", "bertscore")
    page.get_by_label("Options of BERTScore", exact=True).fill("layer=3")
    page.get_by_label("Model", exact=True).select_option("minilm")
    address = settled_address(page)
    form = "#form input[type=text], #form textarea, #form select"
    values = "fields => fields.map(field => [field.id, field.value])"
    before, checked = page.eval_on_selector_all(form, values), chosen(page)
    with page_of(browser, address) as again:
        expect(again.locator("#system-1-text")).not_to_have_value("")
        assert again.eval_on_selector_all(form, values) == before
        assert chosen(again) == checked == ["metric-bertscore", "metric-chrf"]
        assert again.locator("#results").is_hidden()
    assert ["system-1-text", "\n".join(odd)] in before


def chosen(page: Page) -> list[str]:
    result: list[str] = page.eval_on_selector_all(
        "#metric-groups input:checked", "boxes => boxes.map(box => box.id).sort()"
    )
    return result


@pytest.mark.parametrize("packed", ["AAAA", "!!!", "q1YqSizJzFOyUoqOVYrVUQIA"])
def test_damaged_link_shows_an_error(browser: Browser, serving: Running, packed: str) -> None:
    with page_of(browser, f"{serving.url}/#form={packed}") as page:
        page.get_by_role("alert").filter(has_text="The link is damaged").wait_for()
        assert page.get_by_label("Outputs of system 1", exact=True).is_editable()


def test_long_texts_are_left_out_of_the_link(page: Page) -> None:
    chance = random.Random(1)
    fill_long(page, "Outputs of system 1", [f"{chance.random()}" for _ in range(1500)])
    page.locator("#address-note").filter(has_text="too long for a link").wait_for()
    assert len(page.url) < 9000


def test_links_and_signatures_are_copied(browser: Browser, serving: Running) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{serving.url}/")
    page.wait_for_selector("html[data-ready=yes]")
    fill(page, {"A": HYPS}, REFS)
    choose_metrics(page, "bertscore")
    run(page)
    page.get_by_role("button", name="Copy short signature of BERTScore").click()
    assert page.evaluate("navigator.clipboard.readText()") == nlgauge.score(HYPS, REFS).signature.short()
    page.get_by_role("button", name="Copy full signature of BERTScore").click()
    signature = page.evaluate("navigator.clipboard.readText()")
    # Whoever asks for the signature gets the score again.
    assert nlgauge.score(HYPS, REFS, metric=signature).system_score == nlgauge.score(HYPS, REFS).system_score
    page.get_by_role("button", name="Copy link").click()
    page.locator("#copy-link").filter(has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    context.close()


def test_results_are_saved_as_files(page: Page) -> None:
    fill(page, {"A": HYPS, "B": OTHERS}, REFS)
    choose_metrics(page, "bertscore", "bleu")
    run(page)
    expected = nlgauge.score_systems({"A": HYPS, "B": OTHERS}, REFS, metric=["bertscore", "bleu"])
    assert json.loads(saved(page, "JSON"))["scores"] == [score.to_dict() for score in expected]
    table = [line.split("\t") for line in saved(page, "TSV").splitlines()]
    assert {row[table[0].index("system")] for row in table[1:]} == {"A", "B"}
    assert list(csv.reader(saved(page, "CSV").splitlines())) == table
    segments = saved(page, "segments as TSV").splitlines()
    assert len(segments) == 1 + 2 * 2 * 3
    assert list(csv.reader(saved(page, "segments as CSV").splitlines())) == [line.split("\t") for line in segments]
    report = saved(page, "report")
    assert report.startswith("<!DOCTYPE html>")
    assert "Content-Security-Policy" in report
    assert "bertscore" in report


def test_a_service_with_a_key_asks_for_it(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{KEY}\n")
    with started(tmp_path, "--key-file", str(tmp_path / "keys")) as service:
        page = browser.new_page()
        said: list[str] = []
        page.on("request", lambda request: said.append(request.url))
        page.goto(f"{service.url}/")
        box = page.get_by_label("API key")
        box.wait_for()
        assert box.get_attribute("type") == "password"
        box.fill("a-wrong-key-of-somebody-else")
        page.get_by_role("button", name="Use this key").click()
        page.locator("#key-error").filter(has_text="not valid for this service").wait_for()
        box.fill(KEY)
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-ready=yes]")
        fill(page, {"A": HYPS}, REFS)
        run(page)
        page.locator("#segment .alignment").first.wait_for()
        assert saved(page, "TSV")
        # It stands in no address, and a reload of the tab still has it.
        assert not [url for url in [*said, page.url] if KEY in url]
        page.reload()
        page.wait_for_selector("html[data-ready=yes]")
        page.close()
    assert KEY not in service.log.read_text()


HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\u202eright to left\u202c and \u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "a\x00b \x07 \x1b[31m",
    "🐈‍⬛ 👩‍👩‍👧 e\u0301\u0323 \ufeff",
    "{{style}} ${window.hacked = 1} javascript:window.hacked=1",
    "x" * 400,
]


def test_hostile_texts_are_texts(page: Page) -> None:
    name = "<b onclick=alert(1)>'\"&"
    fill(page, {name: HOSTILE, "B": HOSTILE[::-1]}, HOSTILE[1:] + HOSTILE[:1])
    choose_metrics(page, "chrf", "bertscore")
    page.get_by_label("Options of BERTScore", exact=True).fill("unknown=score")
    run(page)
    assert page.locator("#scores tbody th").all_inner_texts()[0] in {name, "B"}
    assert name in page.locator("#comparison .ranking").first.inner_text()
    page.get_by_label("Sort by").select_option("segment")
    page.get_by_label("System A").select_option(label=name)
    page.get_by_label("System B").select_option(label="B")
    for index, text in enumerate(HOSTILE):
        page.locator(f"#segments-list .row[data-segment='{index}']").click()
        page.locator("#segment h3").filter(has_text=re.compile(rf"^Segment {index + 1}$")).wait_for()
        shown: Any = (
            page.locator("#segment .words").all_text_contents()
            + page.locator(f"#segments-list .row[data-segment='{index}'] .text").all_text_contents()
        )
        assert any(text[:160] in item for item in shown), index
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script, #segment b, #scores b").count() == 0
    # Even markup that got in would not run: the policy knows the page's own script only.
    report = saved(page, "report")
    assert "<img src=x" not in report
    assert "<b onclick" not in report


def test_four_metrics_are_shown_and_the_others_folded(page: Page) -> None:
    shown = page.locator("#metric-groups .card:visible label:not(.field label)").all_inner_texts()
    assert shown == ["BERTScore", "MoverScore", "chrF", "BLEU"]
    page.locator("#more-metrics > summary").click()
    page.get_by_role("checkbox", name="BaryScore").check()
    assert page.locator("#about-baryscore").inner_text().endswith("Lower is better.")


def test_trailing_blank_lines_are_ignored(page: Page) -> None:
    fill(page, {"A": [*HYPS, "", ""]}, REFS)
    page.locator("#system-1-count").filter(has_text="4 lines, the last one blank").wait_for()
    run(page)
    assert table_score(page, "bertscore") == f"{nlgauge.score(HYPS, REFS).system_score:.4f}"


def test_language_that_the_model_does_not_cover_gives_a_hint(page: Page) -> None:
    german = ["Die Fähre zur Insel ist wegen des Sturms nicht gefahren, und das Brot ist gut."]
    fill(page, {"A": german}, german)
    hint = page.locator("#language-note").filter(
        has_text="The texts seem to be in German. Model minilm covers English"
    )
    hint.wait_for()
    assert "muse" in hint.inner_text()
    page.get_by_label("Model", exact=True).select_option("muse")
    page.locator("#language-note:empty").wait_for(state="attached")


def test_score_button_is_in_view_wherever_the_form_is_scrolled(page: Page) -> None:
    for place in ("#texts-title", "#metrics-title"):
        page.locator(place).evaluate("title => title.scrollIntoView()")
        box = page.locator("#run").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < box["y"] + box["height"] <= 900, place
