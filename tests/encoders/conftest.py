"""What the tests of the engines share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, for tests that do not need the fetched models."""
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
