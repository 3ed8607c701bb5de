"""What tests of shards share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.cluster.tables import corpus_table

from nlgauge.testing import hash_encoder


@pytest.fixture
def small_encoder() -> Iterator[None]:
    """Vectors by hashing, for recipes with model=hash."""
    with hash_encoder():
        yield


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small corpus as Parquet."""
    corpus_table(tmp_path / "pairs.parquet")
    return tmp_path / "pairs.parquet"
