"""What several test folders share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browsing import launched
from tests.samples import GoldenPairs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GOLDEN = Path(__file__).parent / "golden"


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures: those on real data, and those that start processes."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "data_folder" in fixtures:
            item.add_marker(pytest.mark.data)
        if "process" in fixtures:
            item.add_marker(pytest.mark.heavy)


@pytest.fixture(scope="session")
def thirty_pairs() -> dict[str, Any]:
    """Scores of the published implementations on thirty pairs; `about` says how they were made."""
    content: dict[str, Any] = json.loads((GOLDEN / "thirty_pairs.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="session")
def roberta_space() -> dict[str, Any]:
    """Scores of bert-score under transformers 4 for `write_roberta`; `about` says how they were made."""
    content: dict[str, Any] = json.loads((GOLDEN / "roberta_prefix_space.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real data with human judgements; absent on most machines."""
    folder = os.environ.get("NLGAUGE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("NLGAUGE_DATA names no folder of data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def wmt17_czech_english(data_folder: Path) -> GoldenPairs:
    """The first 100 rows of the test set, and the golden file that lies beside the data."""
    path = data_folder.parent / "golden" / "minilm_wmt17_cs-en.json"
    if not path.is_file():
        pytest.skip("minilm_wmt17_cs-en.json is not beside the data")
    scores = json.loads(path.read_text(encoding="utf-8"))["cs-en"]["scores"]
    lines = (data_folder / "wmt17/testset/testset_cs-en.tsv").read_text(encoding="utf-8").split("\n")
    header, rows = lines[0].split("\t"), [line.split("\t") for line in lines[1:101]]
    hyps, refs = ([row[header.index(name)] for row in rows] for name in ("translation", "reference"))
    return GoldenPairs(hyps, refs, scores)


@pytest.fixture(scope="module")  # while it is open, asyncio.run() does not work in this thread
def browser() -> Iterator[Browser]:
    """A real browser."""
    with launched() as result:
        yield result


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, for tests that do not need the fetched models."""
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
