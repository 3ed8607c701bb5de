"""Options of data sets, from Python and as texts of `--set`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlgauge.apps.cli import main
from nlgauge.data.cards import DATA_CARDS, find_data_card, load
from nlgauge.errors import InputError, RecipeError


def test_an_option_has_the_kind_of_the_loader() -> None:
    assert dict(DATA_CARDS["wmt17"].options) == {"level": "name", "detokenise": "flag"}
    assert DATA_CARDS["tac2008"].options["min_sentences"] == "number"
    assert DATA_CARDS["custom"].options["human"] == "names"
    assert DATA_CARDS["custom"].options["system"] == "name"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("tac2008", "humans=no", False),
        ("tac2008", "humans=OFF", False),
        ("tac2008", "humans=0", False),
        ("tac2008", "humans=Yes", True),
        ("tac2008", "min_sentences=2", 2),
        ("custom", "human=2", ("2",)),
        ("custom", "human=a,b", ("a", "b")),
        ("custom", "references=", ()),
        ("custom", "system=true", "true"),
    ],
)
def test_a_text_is_read_as_the_kind_of_its_option(name: str, text: str, value: Any) -> None:
    assert list(find_data_card(name).parse_options([text]).values()) == [value]


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("tac2008", ["humans=nein"], "humans must be true or false .*, got 'nein'"),
        ("tac2008", ["humans="], "humans must be true or false .*, got ''"),
        ("tac2008", ["min_sentences=two"], "min_sentences must be a whole number, got 'two'"),
        ("custom", ["system=a,b"], "system must be one name, got 'a,b'"),
        ("custom", ["human=a", "human=b"], "'human' is given twice"),
        ("custom", ["humans=a"], "'custom' has no option 'humans'; its options are: langpairs, hypothesis"),
        ("custom", ["human"], "KEY=VALUE, got 'human'"),
    ],
)
def test_invalid_data_options_are_refused(name: str, texts: list[str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        find_data_card(name).parse_options(texts)


def test_the_command_line_refuses_an_unknown_flag_and_a_repeated_key(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["study", "meta", "--data", "tac2008", "--at", "nowhere", "--metric", "rouge1", "--set"]
    assert main([*command, "humans=nein"]) == 2
    assert "humans must be true or false" in capsys.readouterr().err
    assert main([*command, "humans=no", "--set", "humans=yes"]) == 2
    assert "'humans' is given twice" in capsys.readouterr().err


def test_python_flags_do_not_accept_text(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="humans must be True or False, got 'no'"):
        load("tac2008", tmp_path, humans="no")
    with pytest.raises(RecipeError, match="min_sentences must be a whole number, got True"):
        load("tac2008", tmp_path, min_sentences=True)


def test_path_must_exist_and_be_a_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="path must be a folder or a file, got None"):
        load("wmt15", None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"no such file or folder: .* download wmt15 from "):
        load("wmt15", tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no such file or folder: .*a\.csv'; check the path$"):
        load("custom", tmp_path / "a.csv")
