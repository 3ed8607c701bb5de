"""Every test is in one lane of the Makefile, whatever its markers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

MAKEFILE = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
LANES = dict(re.findall(r"^(FIRST|MORE|TORCH|LONG) := (.*)$", MAKEFILE, re.M))


def test_a_test_is_in_one_lane_whatever_its_markers(pytestconfig: pytest.Config) -> None:
    markers = [line.partition(":")[0] for line in pytestconfig.getini("markers")]
    own = [name for name in ("data", "slow", "torch", "browser", "long") if name in markers]
    assert len(own) == 5
    for chosen in itertools.product([False, True], repeat=len(own)):
        has = dict(zip(own, chosen, strict=True))
        # The language of -m is Python's: names, not, and, or, parentheses.
        lanes = [lane for lane, rule in LANES.items() if eval(rule, {"__builtins__": {}}, has)]
        assert len(lanes) == 1, (has, lanes)


def test_real_data_is_marked_by_its_fixture(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        if "data_folder" in getattr(item, "fixturenames", ()):
            assert item.get_closest_marker("data"), item.nodeid


def test_the_lanes_run_all_but_the_long_one() -> None:
    run = {name for name, rule in re.findall(r"^(test[\w-]*):.*\n(?:\t.*\n)*?\t.*pytest -m \"(.*)\"", MAKEFILE, re.M)}
    assert {"test", "test-more", "test-torch", "test-long"} <= run
    everything = re.search(r"^test-all: (.*)$", MAKEFILE, re.M)
    assert everything is not None
    assert everything[1].split() == ["test", "test-more", "test-torch", "test-pythons"]
    commands = (Path(__file__).parents[1] / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^make (test[\w-]*)", commands, re.M) == everything[1].split()


def test_workflows_use_actions_by_commit() -> None:
    root = Path(__file__).parents[1]
    files = [*(root / ".github" / "workflows").glob("*.yml"), root / "action.yml"]
    steps = [step for path in files for step in re.findall(r"uses: (.*)", path.read_text("utf-8"))]
    assert len(steps) > 10
    # A tag can be moved to other code; the version in the comment is for readers, and for Dependabot.
    assert [step for step in steps if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", step)] == []
