"""Optional packages are imported in one place, and an error names the extra that has the package."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nlgauge.errors import MissingExtraError
from nlgauge.io.packages import package_version, require

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

#: Packages that come with another one.
BROUGHT_BY = {"nltk": "rouge-score"}


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make a package look as if it were not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize(
    ("name", "extra"), [("sacrebleu.metrics", "lexical"), ("pyarrow.parquet", "cluster"), ("ray", "cluster")]
)
def test_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, name: str, extra: str) -> None:
    package = name.partition(".")[0]
    hide(monkeypatch, package)
    with pytest.raises(MissingExtraError) as caught:
        require(name, extra)
    assert str(caught.value) == f"the package {package} is not installed; run: pip install 'nlgauge[{extra}]'"


def test_message_says_what_works_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "gensim")
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[spacy\]', or give a file$"):
        require("gensim", "spacy", instead="give a file")


def test_package_that_cannot_be_imported_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "damaged.py").write_text("raise ImportError('libdamaged.so:\\nno such file')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        MissingExtraError, match=r"damaged cannot be imported \(libdamaged\.so: no such file\); run: pip"
    ):
        require("damaged", "torch")


def test_version_of_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "rouge_score")
    with pytest.raises(
        MissingExtraError, match=r"rouge_score is not installed; run: pip install 'nlgauge\[lexical\]'"
    ):
        package_version("rouge-score", "lexical")


def required(function: str) -> Iterator[tuple[str, str]]:
    """Package and extra of each call with plain texts, in all of nlgauge."""
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if f"{function}(" not in source:  # parsing every file would take seconds
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                name, extra = node.args
                if isinstance(name, ast.Constant) and isinstance(extra, ast.Constant):
                    yield str(name.value).partition(".")[0].replace("_", "-"), str(extra.value)


@pytest.mark.parametrize("function", ["require", "package_version", "missing_package_message"])
def test_extras_have_the_packages_that_errors_name(function: str) -> None:
    calls = set(required(function))
    assert calls
    for package, extra in calls:
        packages = {re.split(r"[^\w-]", requirement)[0] for requirement in EXTRAS[extra]}
        assert BROUGHT_BY.get(package, package) in packages, (package, extra)
