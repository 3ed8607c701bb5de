"""Installation commands of the documentation work from a clone, as long as no release exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.extras import skip_without

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "action.yml", "deploy/*")
    for path in sorted(ROOT.glob(pattern))
    if path.name != "CHANGELOG.md" and "build" not in path.parts
]
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])


def text_without_messages(path: Path) -> str:
    """A page without the error messages it quotes: those name an extra of the installed package."""
    return re.sub(r"(?m)^.*\bis not installed; run: .*$", "", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_no_release_that_does_not_exist(path: Path) -> None:
    page = text_without_messages(path)
    assert not re.findall(r"pip install '?nlgauge\b.*", page)
    assert not re.findall(r"nlgauge/nlgauge@\S+|rev: v\d\S*|git clone https://\S+|ghcr\.io\S+", page)


def test_extras_of_install_commands_exist() -> None:
    named = {
        extra
        for path in PAGES
        for group in re.findall(r"pip install '[^'\[]*\[([\w,]+)\]'", path.read_text(encoding="utf-8"))
        for extra in group.split(",")
    }
    assert len(named) > 6
    assert named <= EXTRAS


def test_extras_of_pages_and_messages_exist() -> None:
    sources = [*PAGES, *sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "benchmarks").glob("*.py"))]
    names = set()
    for path in sources:
        text = path.read_text(encoding="utf-8")
        names.update(re.findall(r"\bextras? `(\w+)`", text))
        for group in re.findall(r"nlgauge\[([a-z,]+)\]", text):
            names.update(group.split(","))
    assert len(names) > 6
    assert names <= EXTRAS


def test_addresses_have_the_default_port_of_the_service() -> None:
    from nlgauge.apps.service.settings import Settings

    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/service.md"))
    ports = set(re.findall(r"http://(?:127\.0\.0\.1|localhost):(\d+)", text))
    assert ports == {str(Settings().port)}


def test_the_command_of_a_missing_extra_works_for_an_installed_clone(tmp_path: Path) -> None:
    """pip resolves the extra from the installed copy and does not look for nlgauge in an index."""
    skip_without("sacrebleu")
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "nlgauge[lexical]"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Would install" not in done.stdout
