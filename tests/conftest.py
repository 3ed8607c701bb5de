"""What several test folders share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def thirty_pairs() -> dict[str, Any]:
    """Scores of the published implementations on thirty pairs; `about` says how they were made."""
    content: dict[str, Any] = json.loads((GOLDEN / "thirty_pairs.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real data with human judgements; absent on most machines."""
    folder = os.environ.get("NLGAUGE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("NLGAUGE_DATA names no folder of data sets")
    return Path(folder)
