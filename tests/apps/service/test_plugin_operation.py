"""An operation of another package: over HTTP at once and as a job, and as a method of both clients."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.apps.service.conftest import listening

from nlgauge.apps import operations as table
from nlgauge.apps.service.client import AsyncClient, Client
from nlgauge.apps.service.settings import Settings
from nlgauge.core import operations as declarations
from nlgauge.errors import RecipeError, ServiceError
from nlgauge.testing import hash_encoder

MODULE = '''
from __future__ import annotations

from dataclasses import dataclass

import nlgauge
from nlgauge.core.kinds import InputFile, Int
from nlgauge.core.operations import SEGMENTS, Operation
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.io.table import Table


@dataclass(frozen=True, kw_only=True)
class WorstOptions(OptionSet):
    most: int = option(1, Int(1), help="number of segments", limit=10)
    notes: str | None = option(None, InputFile(), help="notes on the segments")


@dataclass(frozen=True)
class Worst(Result):
    """The segments that score lowest."""

    format = "worst-1"
    metric: str
    segments: tuple[int, ...]
    gap: float
    """From the last of them to the next segment; infinite where there is none."""

    def tables(self, form="text"):
        return [Table(["segment"], [[segment] for segment in self.segments])]


def worst(hyps, refs=None, metric="chrf", *, sources=None, **options):
    """The segments that score lowest.

    More words.
    """
    chosen = WorstOptions.of({name: options.pop(name) for name in ("most", "notes") if name in options})
    score = nlgauge.score(hyps, refs, metric, sources=sources, **options)
    values = score.segments[score.main]
    order = values.argsort(kind="stable")
    last, following = order[: chosen.most][-1], order[chosen.most :]
    gap = values[following[0]] - values[last] if following.size else float("inf")
    return Worst(score.metric, tuple(int(segment) for segment in order[: chosen.most]), float(gap))


OPERATION = Operation(
    name="worst-segments",
    function=worst,
    inputs=SEGMENTS,
    result=Worst,
    help="find the segments that score lowest",
    options=(WorstOptions,),
)
'''

HYPS, REFS = ["a cat sat", "the dog", "a bird ran"], ["a cat sat", "a tree", "a bird slept"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with an operation, as pip would leave it on the path."""
    (tmp_path / "worst_segments.py").write_text(MODULE)
    about = tmp_path / "worst_segments-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: worst-segments\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[nlgauge.operations]\nworst-segments = worst_segments:OPERATION\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    caches = (declarations.added_operations, table.operations)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()
    sys.modules.pop("worst_segments", None)


@pytest.fixture
def address(installed: None, tmp_path: Path) -> Iterator[str]:
    with hash_encoder(), listening(Settings(folder=tmp_path / "data", preload=())) as url:
        yield url


def test_an_operation_of_a_package_is_an_endpoint(address: str) -> None:
    with httpx2.Client(base_url=address, trust_env=False) as http:
        body = {"hyps": HYPS, "refs": REFS, "most": 2}
        answer = http.post("/v1/worst-segments", json=body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["segments"] == [1, 2]
        assert http.post("/v1/worst-segments", json=body | {"most": 3}).json()["gap"] is None, "it is infinite"
        assert http.post("/v1/worst-segments?format=tsv", json=body).text.split() == ["segment", "1", "2"]
        assert http.post("/v1/worst-segments", json=body | {"most": 11}).status_code == 422
        assert http.post("/v1/worst-segments", json=body | {"notes": "/etc/passwd"}).status_code == 422
        described = http.get("/openapi.json").json()
        assert {"/v1/worst-segments", "/v1/jobs/worst-segments"} <= set(described["paths"])
        assert "worst-segments" in http.get("/docs").text
        assert "<dt><code>worst-segments</code></dt><dd>Find the segments that score lowest." in http.get("/").text


def test_an_operation_of_a_package_is_a_call_of_the_clients(address: str) -> None:
    async def awaited() -> list[object]:
        async with AsyncClient(address) as client:
            job = await client.submit("worst-segments", HYPS, REFS, most=2)
            return [await client.worst(HYPS, REFS), await job.wait()]  # type: ignore[attr-defined]  # found at run time

    with Client(address) as client:
        method = client.worst  # type: ignore[attr-defined]  # found at run time
        here = sys.modules["worst_segments"].worst
        assert inspect.signature(method) == inspect.signature(here)
        assert method.__doc__ == here.__doc__
        assert "worst" in dir(client)
        result = method(HYPS, REFS, model="hash", layer=1, metric="bertscore")
        assert result == here(HYPS, REFS, model="hash", layer=1, metric="bertscore")
        assert client.submit("worst-segments", HYPS, REFS, most=2).wait().segments == (1, 2)
        with pytest.raises(RecipeError, match="reads no files"):
            method(HYPS, REFS, notes="notes.txt")
        with pytest.raises(AttributeError, match="no attribute 'wurst'"):
            client.wurst  # type: ignore[attr-defined]  # noqa: B018
        with pytest.raises(ServiceError, match="unknown operation 'wurst'"):
            client.submit("wurst")
    assert asyncio.run(awaited()) == [here(HYPS, REFS), here(HYPS, REFS, most=2)]


@pytest.mark.parametrize("name", ["submit", "close", "score", "_worst"])
def test_function_named_like_a_method_of_the_clients_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, name: str
) -> None:
    monkeypatch.setitem(globals(), "MODULE", MODULE.replace("worst(", f"{name}(").replace("=worst,", f"={name},"))
    request.getfixturevalue("installed")
    with pytest.raises(RecipeError, match=f"cannot be a method of nlgauge.Client under the name '{name}'"):
        table.operations()


def test_reserved_methods_are_those_of_the_clients() -> None:
    own = {method for method in vars(Client) | vars(Client.__mro__[1]) if not method.startswith("_")}
    assert own == set(table.CLIENT_METHODS)
