"""Licences of all packages that nlgauge and its extras install: none is under the GPL or AGPL."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent

#: Under the LGPL, which allows imports.
LGPL = {"gensim"}


def declared() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(text) for texts in lists for text in texts]


def installed_packages() -> set[str]:
    """The declared packages and what they require, as far as they are installed."""
    left, names = [entry.name for entry in declared()], set[str]()
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        if name in names or name == "nlgauge":
            continue
        try:
            texts = requires(name) or []
        except PackageNotFoundError:
            continue
        names.add(name)
        needed = [Requirement(text) for text in texts]
        left += [entry.name for entry in needed if entry.marker is None or entry.marker.evaluate({"extra": ""})]
    return names


def licences(package: str) -> str:
    """Expression, first line and classifiers of a licence; a full text as the field contains other names."""
    fields = metadata(package)
    classifiers = [text for text in fields.get_all("Classifier") or [] if text.startswith("License")]
    first = (fields.get("License") or "").strip().partition("\n")[0]
    return "; ".join([fields.get("License-Expression") or "", first, *classifiers])


def is_gpl(text: str) -> bool:
    return bool(re.search(r"(?<![L\w])A?GPL|(?<!Lesser )General Public License", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GPL-3.0-or-later", True),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", True),
        ("AGPL-3.0", True),
        ("LGPL-2.1-only", False),
        ("GNU Lesser General Public License", False),
        ("MPL-2.0 AND MIT", False),
    ],
)
def test_licences_are_recognised(text: str, expected: bool) -> None:
    assert is_gpl(text) == expected


def test_no_package_is_under_the_gpl() -> None:
    found = {name: licences(name) for name in sorted(installed_packages())}
    assert {"numpy", "sacrebleu", "nltk"} & found.keys()
    assert not {name: text for name, text in found.items() if is_gpl(text)}
    assert {name for name, text in found.items() if re.search("LGPL|Lesser", text)} <= LGPL
    # CharacTER is written from its paper: the package `cer` is under the GPL.
    assert "cer" not in {entry.name for entry in declared()}
