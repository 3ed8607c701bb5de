"""README.md shows what a reader gets: outputs, commands, counts of metrics and dependencies."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import difference

import nlgauge
from nlgauge.apps.cli import main, parser_for
from nlgauge.core.registry import built_in_metrics
from nlgauge.io.store.catalog import CARDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = README.splitlines()
NUMBERS_OF_WORDS = {"Nine": 9, "Ten": 10}


def indented_block(after: str) -> str:
    """The first indented block after a text."""
    rest = README.partition(after)[2]
    assert rest, f"README.md does not contain {after!r}"
    result = re.search(r"(?:^    .*\n|^\n)*^    .*\n", rest, re.M)
    assert result is not None
    return re.sub(r"^    ", "", result[0].strip("\n"), flags=re.M)


def commands() -> list[str]:
    """All commands of nlgauge that the page shows, without comments."""
    return re.findall(r"^    nlgauge (.*?)(?: +#.*)?$", README, re.M)


def assert_shown(shown: str, printed: str) -> None:
    """Fail unless the page shows what was printed, except for versions and the last decimal."""
    problem = difference(shown, printed)
    assert not problem, problem


def test_readme_is_short_and_starts_with_picture_and_install() -> None:
    assert len(LINES) <= 120
    install = next(i for i, line in enumerate(LINES, 1) if line.startswith("    pip install"))
    picture = next(i for i, line in enumerate(LINES, 1) if line.startswith("!["))
    assert picture < install <= 25


def test_python_example_prints_what_is_shown() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert_shown(indented_block("print(score)\n```\n"), out.getvalue())


def test_demo_command_prints_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = re.search(r"^demo:.*\n(?:\t.*\n)*\t\$\(BIN\)/nlgauge (score .*)$", (ROOT / "Makefile").read_text(), re.M)
    assert recipe is not None
    command, _, table = indented_block("one sentence per line:\n").partition("\n\n")
    assert command == f"nlgauge {recipe[1]}"
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(recipe[1])) == 0
    assert_shown(table, capsys.readouterr().out)


def test_commands_parse() -> None:
    assert len(commands()) >= 6
    for command in commands():
        assert parser_for(shlex.split(command)).parse_args(shlex.split(command)).run, command


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"`make ([\w-]+)`|^    make ([\w-]+)", README, re.M)
    assert targets
    for names in targets:
        assert re.search(rf"^{names[0] or names[1]}:", makefile, re.M), names


def test_exit_status_is_that_of_the_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "0 success, 1 runtime error, 2 usage error, 3 gate failed, 4 gate undecided (with `--strict`)" in README
    monkeypatch.chdir(ROOT / "examples")
    for name in ("base", "new", "refs"):
        (tmp_path / f"{name}.txt").write_text("A cat sat.\n", encoding="utf-8")
    few = [str(tmp_path / f"{name}.txt") for name in ("base", "new", "refs")]
    gate = ["--gate", "-o", str(tmp_path / "summary.txt")]
    statuses = [
        main(["score", "system-a.txt", "--refs", "reference.txt"]),
        main(["score", "missing.txt", "--refs", "reference.txt"]),
        main(["score", "system-a.txt", "--refs", "reference.txt", "--metric", "bertscore:layers=4"]),
        main(["compare", "base=system-a.txt", "new=system-b.txt", "--refs", "reference.txt", *gate]),
        main(["compare", few[0], few[1], "--refs", few[2], "--strict", *gate]),
    ]
    assert statuses == [0, 1, 2, 3, 4]
    main(["score", "system-a.txt", "--refs", "reference.txt"])
    printed = capsys.readouterr()
    assert "bertscore" in printed.out
    assert "gate failed" in printed.err


def test_counts_are_those_of_the_package() -> None:
    assert f"all {len(built_in_metrics())} metrics" in README
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [name for name in project["dependencies"] if "python_version" not in name]
    (count,) = re.findall(r"(\w+) dependencies and no PyTorch", README)
    assert NUMBERS_OF_WORDS[count] == len(required)
    assert not any(name.startswith(("torch", "transformers")) for name in required)


def test_default_model_and_its_size_are_those_of_the_store() -> None:
    assert "default model, 84 MB" in README
    assert CARDS["minilm"].size_mb == 84
    score = nlgauge.score(["A cat sat."], ["The cat sat."])
    assert score.signature.short().startswith("bertscore|minilm-L4|")


def test_signature_recomputes_the_score() -> None:
    score = nlgauge.score(["A cat sat."], ["The cat sat."])
    again = nlgauge.score(["A cat sat."], ["The cat sat."], metric=str(score.signature))
    assert again.system_score == score.system_score


def test_links_lead_to_files() -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    local = [target for target in targets if not target.startswith("http")]
    assert len(local) >= 8
    assert [target for target in local if not (ROOT / target).exists()] == []
    assert README.count("\n- [") == 6
