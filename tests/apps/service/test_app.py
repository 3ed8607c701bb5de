"""The page for people: what is served, to whom, and that it is whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.apps.service.conftest import KEY

from nlgauge.apps.operations import operations
from nlgauge.apps.service.app import PAGE_SCRIPTS, PAGE_STYLES

ROOT = Path(__file__).parents[3]
PAGE = Path(str(resources.files("nlgauge.apps.service"))) / "page"


def assets(service: TestClient) -> dict[str, str]:
    """By kind the address of what the page loads."""
    result = re.findall(r'(?:href|src)="(assets/[^"]+)"', service.get("/").text)
    return {address.rpartition(".")[2]: f"/{address}" for address in result}


def test_the_page_and_all_it_loads_come_from_the_service(service: TestClient) -> None:
    answer = service.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    addresses = re.findall(r'(?:href|src)="([^"]*)"', answer.text)
    assert not [address for address in addresses if address.startswith(("http", "/", "data:"))], "relative, and ours"
    loaded = [address for address in addresses if not address.startswith(("#", "docs"))]
    assert len(loaded) == 3
    for address in loaded:
        assert service.get(f"/{address}").status_code == 200, address
    assert service.get("/docs").status_code == 200


def test_content_types(service: TestClient) -> None:
    result = assets(service)
    assert service.get(result["css"]).headers["content-type"] == "text/css; charset=utf-8"
    assert service.get(result["js"]).headers["content-type"] == "text/javascript; charset=utf-8"
    assert service.get("/favicon.svg").headers["content-type"] == "image/svg+xml"
    assert service.get(result["js"]).headers["x-content-type-options"] == "nosniff"


def test_content_policy_allows_no_inline_code(service: TestClient) -> None:
    answer = service.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"<style|style=|\son\w+=|javascript:", answer.text), "no style and no handler inside"
    assert re.findall(r"<script[^>]*>", answer.text) == [f'<script src="{assets(service)["js"][1:]}" defer>']


def test_page_lists_every_operation_of_the_table(service: TestClient) -> None:
    page, docs = service.get("/").text, service.get("/docs").text
    entries = dict(re.findall(r"<dt><code>([\w-]+)</code></dt><dd>(.*?)</dd>", page))
    assert list(entries) == list(operations())
    for name, operation in operations().items():
        assert operation.help[1:] in entries[name]
        links = dict(re.findall(r'<a href="docs#(\w+)">([^<]+)</a>', entries[name]))
        ids = {"at once": operation.method, "as a job": f"submit_{operation.method}"}
        assert links == {ids[way]: way for way in ids if operation.at_once or way == "as a job"}
        assert all(f'<section id="{entry}">' in docs for entry in links)


def test_api_page_describes_all_endpoints(service: TestClient) -> None:
    page = service.get("/docs").text
    operations = [
        (f"{method.upper()} {path}", operation)
        for path, methods in service.get("/openapi.json").json()["paths"].items()
        for method, operation in methods.items()
    ]
    links = re.findall(r'<li><a href="#(\w+)"><code>([^<]+)</code>', page)
    sections = re.findall(r'<section id="(\w+)"><h2>([^<]+)</h2>', page)
    assert links == sections == [(operation["operationId"], name) for name, operation in operations]
    assert "<dt><code>refs</code> array of (string | array of string)</dt>" in page
    assert "Options for all metrics that have them (<code>GET /v1/metrics</code>)" in page
    assert "<dt><code>200</code> application/json, text/tab-separated-values</dt>" in page


def test_api_page_needs_no_script_and_nothing_from_other_hosts(service: TestClient) -> None:
    page = service.get("/docs").text
    assert not re.search(r"<script|<style|style=|src=|//", page)
    for address in re.findall(r'href="([^#"][^"]*)"', page):
        assert service.get(f"/{address.removeprefix('./')}").status_code == 200, address


def test_cache_headers(service: TestClient) -> None:
    """The document is asked for again; what it loads is named by its content, and kept."""
    assert service.get("/").headers["cache-control"] == "no-cache"
    for address in assets(service).values():
        assert service.get(address).headers["cache-control"] == "public, max-age=31536000, immutable"
    assert service.get("/v1").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "name",
    ["page.js", "index.html", "../app.py", "..%2fapp.py", "%2e%2e/%2e%2e/etc/passwd", "", "a%00b"],
)
def test_asset_names_cannot_name_other_files(service: TestClient, name: str) -> None:
    answer = service.get(f"/assets/{name}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_page_loads_without_a_key(made: Callable[..., TestClient]) -> None:
    service = made(keys=(KEY,))
    assert service.get("/").status_code == 200
    for address in (*assets(service).values(), "/favicon.svg"):
        assert service.get(address).status_code == 200
    for address in ("/v1", "/v1/metrics", "/v1/models", "/assets", "/metrics"):
        assert service.get(address).status_code == 401, address


def test_every_file_of_the_page_is_used() -> None:
    used = {
        "docs.html",
        "index.html",
        "favicon.svg",
        *(f"{name}.css" for name in PAGE_STYLES),
        *(f"{name}.js" for name in PAGE_SCRIPTS),
    }
    assert {path.name for path in PAGE.iterdir()} == used


def test_texts_become_text_and_never_markup(service: TestClient) -> None:
    script = service.get(assets(service)["js"]).text
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert way not in script, way


def test_ids_that_scripts_look_for_are_in_the_page() -> None:
    """Or are made by a script."""
    scripts = "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("*.js"))
    document = (PAGE / "index.html").read_text(encoding="utf-8")
    wanted = set(re.findall(r'byId\("([\w-]+)"\)', scripts))
    components = "".join(
        path.read_text(encoding="utf-8")
        for path in (Path(str(resources.files("nlgauge.report"))) / "components").glob("*.js")
    )
    made = set(re.findall(r'\bid: "([\w-]+)"', scripts + components))
    assert len(wanted) > 20
    assert wanted <= set(re.findall(r'\bid="([\w-]+)"', document)) | made


def test_labels_and_descriptions_name_elements_that_are_there() -> None:
    document = (PAGE / "index.html").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([\w-]+)"', document)
    assert len(ids) == len(set(ids))
    named = [
        name
        for value in re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^"]+)"', document)
        for name in value.split()
    ]
    assert named
    assert set(named) <= set(ids)


def test_the_example_needs_no_package_but_those_of_the_service() -> None:
    metrics = re.search(r"metrics: \[(.*?)\n  \]", (PAGE / "example.js").read_text(), re.DOTALL)
    assert metrics is not None
    assert re.findall(r'\["([^"]+)", ""\]', metrics[1]) == ["bertscore", "moverscore", "chrf"]
    extra = re.search(r"^service = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert extra is not None
    assert '"sacrebleu' in extra[1]  # chrF; the other two need no package of an extra
