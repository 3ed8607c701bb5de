"""Check that each question of docs/questions.md leads to a page and a section.

python -m docs.check_questions      print page and line of each answer; end with 1 where one is missing
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "questions.md"
QUESTIONS = 60

_ROW = re.compile(r"^(\d+)\. \[([^\]]+)\]\(([^)#]+)#?([^)]*)\)$", re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.+?) *$")


@dataclass(frozen=True)
class Question:
    """An entry of the list."""

    number: int
    text: str
    page: str
    anchor: str


def read_questions(text: str) -> list[Question]:
    """Read the entries of the list."""
    return [Question(int(number), question, page, anchor) for number, question, page, anchor in _ROW.findall(text)]


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it.

    >>> slug("What does 0.88 mean?")
    'what-does-088-mean'
    """
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def heading_lines(text: str) -> dict[str, int]:
    """Line numbers of a page's headings, from 1, by anchor."""
    lines: dict[str, int] = {}
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code and (heading := _HEADING.match(line)):
            lines.setdefault(slug(heading[1]), number)
    return lines


def find_answer(question: Question) -> int | None:
    """Line of the section that answers a question, or None if page or section are missing."""
    path = DOCS / question.page
    if not path.is_file():
        return None
    if not question.anchor:
        return 1
    return heading_lines(path.read_text(encoding="utf-8")).get(question.anchor)


def main() -> int:
    """Print where each question is answered."""
    questions = read_questions(PAGE.read_text(encoding="utf-8"))
    missing = 0
    for question in questions:
        line = find_answer(question)
        missing += line is None
        place = f"docs/{question.page}:{line}" if line else f"MISSING {question.page}#{question.anchor}"
        print(f"{question.number:>2}  {place:<60}  {question.text}")
    print(f"{len(questions) - missing} of {QUESTIONS} questions answered")
    return 0 if len(questions) == QUESTIONS and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
