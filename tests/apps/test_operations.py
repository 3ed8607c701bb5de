"""The table of operations, and an operation of another package by command and in Python."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.extras import LazyModule

from nlgauge.apps import cli
from nlgauge.apps.cli.common import output_flags
from nlgauge.apps.cli.flags import CommandParser, Flags, add_flags
from nlgauge.apps.operations import operations
from nlgauge.core.kinds import Flag, InputFile, Int, Many, Text
from nlgauge.core.operations import PAIR, SYSTEMS, Operation, check_names
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.errors import RecipeError

calls = LazyModule("nlgauge.apps.service.calls")
policies = LazyModule("nlgauge.apps.service.policy")

EXAMPLE = Path(__file__).parents[2] / "examples" / "nlgauge-lengths"


@pytest.mark.parametrize("operation", operations().values(), ids=lambda operation: operation.name)
def test_function_options_and_result_of_each_operation_exist(operation: Operation) -> None:
    parameters = inspect.signature(operation.call).parameters
    assert issubclass(operation.result_class, Result)
    assert operation.result_class.format, "its JSON has a name"
    assert operation.help[0].islower()
    assert not operation.help.endswith(".")
    for entry in operation.inputs:
        assert entry.name in parameters
    if operation.metric != "none":
        assert "metric" in parameters
    for options in operation.option_sets:
        assert options.options()


def test_places_of_texts_are_named_as_messages_name_them() -> None:
    rank = operations()["rank"]
    texts = {"candidates": [["a", "b"]], "refs": [["c", "d"]], "sources": None}
    assert list(rank.places(texts)) == [
        ("candidates[0][0]", "a"),
        ("candidates[0][1]", "b"),
        ("refs, segment 0", "c"),
        ("refs, segment 0", "d"),
    ]
    assert rank.count_pairs(texts) == 4


@pytest.fixture
def package(tmp_path: Path) -> dict[str, str]:
    """The environment in which the example package is installed."""
    info = tmp_path / "nlgauge_lengths-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nlgauge-lengths\nVersion: 0.1.0\n", encoding="utf-8")
    points = "[nlgauge.operations]\nlengths = nlgauge_lengths:OPERATION\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    (tmp_path / "a.txt").write_text("The cat sat down.\nIt rained.\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("The cat sat.\nThere was rain.\n", encoding="utf-8")
    folders = [str(EXAMPLE / "src"), str(tmp_path), *sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}


def run(environment: dict[str, str], folder: Path, *words: str) -> str:
    answer = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return answer.stdout


def test_an_operation_of_a_package_has_a_command(package: dict[str, str], tmp_path: Path) -> None:
    nlgauge = ("-m", "nlgauge")
    assert "measure how long outputs are" in run(package, tmp_path, *nlgauge, "--help")
    out = run(package, tmp_path, *nlgauge, "lengths", "a.txt", "--refs", "ref.txt", "--format", "json")
    record = json.loads(out)
    assert record["format"] == "nlgauge-lengths-1"
    # By hand: (4 + 2) / 2 words against (3 + 3) / 2.
    assert record["systems"] == [{"system": "a", "mean": 3.0, "ratio": 1.0}]
    table = run(package, tmp_path, *nlgauge, "lengths", "a.txt", "--unit", "characters", "--format", "tsv")
    assert table == "system\tcharacters\tratio\na\t13.50\t\n"
    script = run(package, tmp_path, *nlgauge, "completion", "bash")
    assert "lengths" in script


def test_an_operation_of_a_package_is_a_function(package: dict[str, str], tmp_path: Path) -> None:
    code = (
        "from nlgauge_lengths import Lengths, lengths\n"
        "result = lengths({'a': ['The cat sat down.']}, ['The cat sat.'], unit='words')\n"
        "assert Lengths.from_dict(result.to_dict()) == result\n"
        "print(result.systems[0].ratio)\n"
    )
    assert float(run(package, tmp_path, "-c", code)) == pytest.approx(4 / 3)


def echo(systems: object, refs: object = None, metric: str = "chrf", **options: object) -> Result:
    raise AssertionError("only its signature is read")


def operation(**changes: object) -> Operation:
    values: dict[str, object] = {
        "name": "echo",
        "function": echo,
        "inputs": SYSTEMS,
        "result": Result,
        "help": "echo",
    }
    return Operation(**(values | changes))  # type: ignore[arg-type]  # each test gives one that fits or does not


def test_an_operation_without_a_command_says_so() -> None:
    with pytest.raises(RecipeError, match="no command is possible for a pair of texts; set command=False"):
        operation(inputs=PAIR)
    assert not operation(inputs=PAIR, command=False).command
    with pytest.raises(
        RecipeError, match="no command is possible for the group 'mine'; use one of '', 'explain', 'study'"
    ):
        operation(group="mine")
    with pytest.raises(RecipeError, match="inputs must be SYSTEMS, SEGMENTS"):
        operation(inputs=SYSTEMS[:1])


def test_two_operations_of_one_name_or_function_are_refused() -> None:
    with pytest.raises(RecipeError, match="two operations are named 'echo'"):
        check_names([operation(), operation(name="other")])


@pytest.mark.parametrize("changes", [{"name": "serve"}, {"name": "study"}, {"name": "meta", "group": "study"}])
def test_an_operation_with_the_words_of_another_command_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changes: dict[str, object]
) -> None:
    added, known = operation(**changes), operations()
    monkeypatch.setattr("nlgauge.apps.operations.operations", lambda: {**known, added.name: added})
    cli.command_groups.cache_clear()
    try:
        assert cli.main(["--help"]) == 2
    finally:
        cli.command_groups.cache_clear()
    assert f"'nlgauge {added.spelling}' already exists" in capsys.readouterr().err


@dataclass(frozen=True, kw_only=True)
class ClashingOptions(OptionSet):
    format: str = option("", Text("a text"), help="format of something else")


def test_an_option_with_a_flag_of_every_command_is_refused() -> None:
    with pytest.raises(RecipeError, match="option 'format' of ClashingOptions has the same flag as another option"):
        add_flags(CommandParser(), output_flags(), Flags(ClashingOptions))


def test_every_surface_has_the_default_metric_of_the_function() -> None:
    assert operation().default_metric == "chrf"
    assert operations()["rank"].default_metric == "bertscore"
    model = calls.request_model(operation())
    assert model.model_validate({"hyps": ["a"]}).metrics == ["chrf"]


@dataclass(frozen=True, kw_only=True)
class ListOptions(OptionSet):
    sizes: tuple[int, ...] = option((), Many(Int(0)), help="sizes", limit=10)
    window: int | None = option(None, Int(1, word="auto"), help="window")
    segments: bool = option(False, Flag(), help="segments")


def test_limits_hold_inside_lists_and_words_are_taken() -> None:
    model = calls.request_model(operation(name="lists", options=(ListOptions,), metric="none"))
    assert model.model_validate({"hyps": ["a"], "sizes": [10], "window": "auto"}).chosen["window"] == "auto"
    with pytest.raises(ValueError, match="10"):
        model.model_validate({"hyps": ["a"], "sizes": [11]})
    assert model.parts == (), "an option may be called segments"


@dataclass(frozen=True, kw_only=True)
class FileOptions(OptionSet):
    tables: tuple[str, ...] = option((), Many(InputFile()), help="tables")


def test_files_are_never_read_for_a_request() -> None:
    with_files = operation(name="files", options=(FileOptions,), metric="none")
    assert "tables" not in with_files.request_options
    policy = policies.Policy(())
    with pytest.raises(RecipeError, match="tables must be left out in a request"):
        policy.check_values(FileOptions.options(), FileOptions(tables=("/etc/passwd",)))
