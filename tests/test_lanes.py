"""Each test is in one lane of the Makefile, whatever its markers."""

from __future__ import annotations

import itertools
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.extras import LazyModule, install_command_of, is_missing

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
LANES = dict(re.findall(r"^(FIRST|MORE|TORCH|LONG|CHECK) := (.*)$", MAKEFILE, re.M))


def test_each_test_is_in_one_lane(pytestconfig: pytest.Config) -> None:
    markers = [line.partition(":")[0] for line in pytestconfig.getini("markers")]
    own = [name for name in ("data", "slow", "torch", "browser", "long", "heavy", "model") if name in markers]
    assert len(own) == 7
    for chosen in itertools.product([False, True], repeat=len(own)):
        has = dict(zip(own, chosen, strict=True))
        # The language of -m is Python's: names, not, and, or, parentheses.
        rules = {lane: rule.replace("$(FIRST)", f"({LANES['FIRST']})") for lane, rule in LANES.items()}
        lanes = [lane for lane, rule in rules.items() if eval(rule, {"__builtins__": {}}, has)]
        # What make check runs is a part of make test.
        assert len(set(lanes) - {"CHECK"}) == 1, (has, lanes)
        assert "CHECK" not in lanes or "FIRST" in lanes, (has, lanes)


@pytest.mark.parametrize(("fixture", "marker"), [("data_folder", "data"), ("process", "heavy")])
def test_fixtures_mark_their_tests(request: pytest.FixtureRequest, fixture: str, marker: str) -> None:
    for item in request.session.items:
        if fixture in getattr(item, "fixturenames", ()):
            assert item.get_closest_marker(marker), item.nodeid


def test_the_lanes_run_all_but_the_long_one() -> None:
    run = {name for name, rule in re.findall(r"^(test[\w-]*):.*\n(?:\t.*\n)*?\t.*pytest -m \"(.*)\"", MAKEFILE, re.M)}
    assert {"test", "test-more", "test-torch", "test-long"} <= run
    everything = re.search(r"^test-all: (.*)$", MAKEFILE, re.M)
    assert everything is not None
    assert everything[1].split() == ["test", "test-more", "test-torch", "test-pythons"]
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^make (check|test[\w-]*)", commands, re.M) == ["check", *everything[1].split()]


def run_isolated(folder: Path, test: str) -> str:
    """What pytest reports for a test file under the conditions of `make check`."""
    (folder / "test_sample.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-rfEs", "-n", "0", "-p", "no:cacheprovider", "--isolated"]
    command += ["--confcutdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), "-p", "conftest"]
    result = subprocess.run(
        [*command, str(folder / "test_sample.py")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return result.stdout


def test_check_skips_a_test_that_loads_a_model(tmp_path: Path) -> None:
    report = run_isolated(tmp_path, "import nlgauge\ndef test_sample(): nlgauge.score(['a'], ['a'])\n")
    assert "needs the model minilm: make test" in report
    assert "1 skipped" in report


def test_check_fails_a_test_that_connects_to_another_machine(tmp_path: Path) -> None:
    test = "import socket\ndef test_sample():\n    try: socket.create_connection(('192.0.2.1', 9), timeout=1)\n"
    report = run_isolated(tmp_path, test + "    except Exception: pass\n")
    assert "a test of `make check` connects to 192.0.2.1" in report
    assert "1 failed" in report


def test_a_missing_extra_is_named() -> None:
    assert install_command_of("sacrebleu") == "needs the extra lexical: pip install 'nlgauge[lexical]'"
    assert install_command_of("pydantic") == "needs the extra service: pip install 'nlgauge[service]'"
    assert install_command_of("jsonschema") == "needs the dependency group test: pip install --group test"
    assert install_command_of("pathlib") is None


def test_a_module_is_imported_when_it_is_used() -> None:
    assert LazyModule("socket").create_connection is socket.create_connection
    absent = LazyModule("nlgauge_has_no_such_module")
    with pytest.raises(ModuleNotFoundError):
        absent.anything  # noqa: B018
    assert not is_missing("nlgauge_has_no_such_module"), "no extra installs it"


def test_workflows_use_actions_by_commit() -> None:
    files = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "action.yml"]
    steps = [step for path in files for step in re.findall(r"uses: (.*)", path.read_text("utf-8"))]
    assert len(steps) > 10
    # A tag can be moved to other code; the version in the comment is for readers, and for Dependabot.
    assert [step for step in steps if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", step)] == []
