"""Objects of 0.1 that have new names are found by the old ones, with a warning."""

from __future__ import annotations

import importlib

import pytest

from nlgauge.errors import DeprecatedNameWarning


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("nlgauge.data", "load_own_table", "load_custom"),
        ("nlgauge.meta", "Agreement", "AgreementTable"),
        ("nlgauge.meta", "ScoredTable", "ScoreTable"),
        ("nlgauge.stats", "Agreement", "RaterAgreement"),
    ],
)
def test_an_old_name_works_and_warns(module: str, old: str, new: str) -> None:
    room = importlib.import_module(module)
    with pytest.warns(DeprecatedNameWarning, match=f"{old} is called {new} now"):
        assert getattr(room, old) is getattr(room, new)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        room.nothing  # noqa: B018
