"""The questions of docs/questions.md are answered where the table says."""

from __future__ import annotations

import pytest
from docs.check_questions import PAGE, QUESTIONS, Question, find_answer, heading_lines, main, read_questions

ROWS = read_questions(PAGE.read_text(encoding="utf-8"))


def test_there_are_60_different_questions_in_order() -> None:
    assert [question.number for question in ROWS] == list(range(1, QUESTIONS + 1))
    assert len({question.text for question in ROWS}) == QUESTIONS


@pytest.mark.parametrize("question", ROWS, ids=lambda question: str(question.number))
def test_the_page_and_section_of_an_answer_exist(question: Question) -> None:
    assert find_answer(question), f"{question.text} {question.page}#{question.anchor}"


def test_page_and_line_of_each_answer_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == QUESTIONS + 1
    assert "docs/install.md:1 " in lines[1]
    assert lines[-1] == "60 of 60 questions answered"


def test_missing_pages_and_sections_are_found() -> None:
    assert find_answer(Question(1, "?", "nowhere.md", "")) is None
    assert find_answer(Question(1, "?", "install.md", "nowhere")) is None


def test_comments_in_code_are_not_headings() -> None:
    assert heading_lines("# A page\n\n```bash\n# not a heading\n```\n\n## GPU? How fast?\n") == {
        "a-page": 1,
        "gpu-how-fast": 7,
    }
