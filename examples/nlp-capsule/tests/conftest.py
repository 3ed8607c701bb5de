"""What the tests of this package share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums are the same on every machine then, and two tests do not fight for its cores."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def data_sets() -> Path:
    """The folder of data sets; absent on most machines."""
    folder = os.environ.get("NLGAUGE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("NLGAUGE_DATA names no folder of data sets")
    return Path(folder)
