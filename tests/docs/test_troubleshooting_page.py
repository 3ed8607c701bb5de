"""Messages of docs/troubleshooting.md are those that users get: provoked where that is cheap, else found."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import socket
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import ROOT, check, reading, steps_of

import nlgauge
from nlgauge.apps.cli import main
from nlgauge.text.idf import IdfTable

FERRY = "The ferry was cancelled."
PAGE = ROOT / "docs" / "troubleshooting.md"
TEXT = PAGE.read_text(encoding="utf-8")
QUOTED = [block.strip() for block in re.findall(r"^```text\n(.*?)^```", TEXT, re.S | re.M)]
FROM_PYTHON = [message for message in QUOTED if re.match(r"(hyps|refs): ", message)]
CALLS = [(FERRY, [FERRY]), ([FERRY, FERRY], [[FERRY, FERRY]])]
PROVOKED = [step for step in steps_of(TEXT) if step.shown]


def lay_out(folder: Path) -> None:
    """The files that commands of the page name."""
    texts = {
        "hyp": ["The ferry was called off.", "It rains.", "She lost her key."],
        "ref": ["The ferry was cancelled.", "It is raining.", "She has lost her key."],
        "short": ["The ferry was cancelled.", "It is raining."],
        "long": ["word " * 600, "It rains.", "She lost her key."],
        "blank": ["The ferry was called off.", "", "She lost her key."],
        "unknown": ["The ferry was called off.", "𓀀 𓀁", "She lost her key."],
        "stop": ["The ferry was called off.", "It", "She lost her key."],
        "stopwords": ["it"],
        "sentences": [f"Sentence {number} of a corpus." for number in range(40)],
    }
    for name, lines in texts.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "latin1.txt").write_bytes("Die Fähre fiel aus.\n\n\n".encode("latin-1"))
    (folder / "table.tsv").write_text("mt\tref\tadequacy\nIt rains.\tIt is raining.\t4\n", encoding="utf-8")
    refs = texts["ref"]
    for name, layer in (("layer4", 4), ("layer5", 5)):
        scores = nlgauge.score_systems({name: texts["hyp"]}, refs, metric=f"bertscore:layer={layer}")
        nlgauge.save_scores(folder / f"{name}.json", scores, references=refs)
    assert main(["build", "idf", "sentences.txt", "-o", "other.idf", "--quiet"]) == 0
    table = IdfTable.load(folder / "other.idf")
    replace(table, tokenizer="0" * 64).save(folder / "other.idf")


def test_commands_say_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")  # some of them would ask the hub
    with reading(tmp_path) as reader:
        lay_out(tmp_path)
        reader.may_fail = True
        check(PAGE, reader)


def threes(text: str) -> set[str]:
    """Every three words in a row."""
    words = text.split()
    return {" ".join(words[index : index + 3]) for index in range(len(words) - 2)}


@cache
def templates() -> list[re.Pattern[str]]:
    """Every text of the sources that could be a quoted message; what is put into it may be anything."""
    wanted = set().union(*map(threes, QUOTED))
    result = set()
    for path in Path(nlgauge.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if not wanted & threes(source):  # most files, which need not be parsed
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                parts = [node.value]
            else:
                continue
            if sum(len(part) for part in parts if part) >= 20:
                result.add("".join(".*?" if part is None else re.escape(part) for part in parts))
    return [re.compile(pattern, re.DOTALL) for pattern in result]


def fits(message: str) -> bool:
    """Whether a message of the sources reads like this; one that goes on in some way ends with "..."."""
    readings = {message, message.removesuffix("...")}
    return any(pattern.fullmatch(item) for pattern in templates() for item in readings)


@pytest.mark.parametrize("message", [item for item in QUOTED if item not in FROM_PYTHON], ids=lambda text: text[:40])
def test_a_quoted_message_is_in_the_sources(message: str) -> None:
    assert fits(message), f"no message of nlgauge reads like this: {message}"


def test_calls_from_python_say_what_the_page_quotes() -> None:
    assert len(FROM_PYTHON) == 2
    for message, (hyps, refs) in zip(FROM_PYTHON, CALLS, strict=True):
        with pytest.raises(nlgauge.errors.InputError) as caught:
            nlgauge.score(hyps, refs)
        assert str(caught.value) == message


def test_the_port_that_is_taken_is_named_with_a_way_on() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with contextlib.redirect_stderr(io.StringIO()) as output:
            assert main(["serve", "--port", str(port)]) == 1
    assert output.getvalue().removeprefix("nlgauge: error: ").strip().replace(str(port), "8765") in QUOTED


def test_a_message_that_does_not_exist_is_noticed() -> None:
    assert not fits("model 'minilm' is nowhere to be found on this machine; try again")


def test_each_section_has_messages_and_most_are_provoked() -> None:
    sections = TEXT.split("\n## ")[1:]
    assert len(sections) == 8
    assert all("```console\n" in section or "```text\n" in section for section in sections)
    assert len(PROVOKED) > len(QUOTED) > 10
