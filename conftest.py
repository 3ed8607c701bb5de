"""What all tests and doctests share: skips for missing extras, and the isolation of `make check`."""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests.extras import install_command_of, is_missing, skip_without

from nlgauge.io import packages

if TYPE_CHECKING:
    from nlgauge.io.store.catalog import ModelCard

#: How Python, pytest.importorskip and nlgauge name a package that is not installed.
_MISSING_PACKAGE = re.compile(
    r"No module named '([\w.]+)'|could not import '([\w.]+)'|the package ([\w-]+)\S* is not installed"
)

#: The remedy in the message of a command that lacks a model.
_MISSING_MODEL = re.compile(r"nlgauge models pull (\w+)")

#: How the name of the empty cache begins.
_ISOLATED = os.path.join(tempfile.gettempdir(), "nlgauge-check-")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --isolated."""
    parser.addoption("--isolated", action="store_true", help="no model and no network: skip tests that need a model")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples Hypothesis tries, and isolate the tests of `make check`."""
    # The time that an example takes depends on what else runs on the machine.
    untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("all", untimed)
    settings.register_profile("isolated", untimed, max_examples=20)
    isolated = config.getoption("--isolated")
    settings.load_profile("isolated" if isolated else "all")
    if isolated:
        cache = tempfile.TemporaryDirectory(prefix=_ISOLATED)
        config.add_cleanup(cache.cleanup)
        os.environ |= {"NLGAUGE_CACHE": cache.name, "NLGAUGE_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
        os.environ.pop("NLGAUGE_DATA", None)
        sys.addaudithook(_refuse_network)
    for name in ("resolve", "fetch"):
        # By import_module, because the package's attribute `resolve` is the function.
        module = importlib.import_module(f"nlgauge.io.store.{name}")
        module.cached_card = _skip_without_model(module.cached_card)
    packages.missing_package_message = _skip_without_package(packages.missing_package_message)


def _skip_without_model(cached_card: Callable[[ModelCard], Path | None]) -> Callable[[ModelCard], Path | None]:
    """A search in the cache that skips the running test if it needs a model that comes with a missing extra.

    With --isolated, it skips any test that needs a model of nlgauge.
    """

    def search(card: ModelCard) -> Path | None:
        folder = cached_card(card)
        if folder is None and card.package is not None:
            skip_without(card.package.module)
        elif folder is None and _is_isolated():
            pytest.skip(_needs_model(card.name), allow_module_level=True)
        return folder

    return search


def _skip_without_package(missing_package_message: Callable[[str, str], str]) -> Callable[[str, str], str]:
    """A message about a missing package that skips the running test unless the test only simulates its absence."""

    def message(package: str, extra: str) -> str:
        skip_without(package)
        return missing_package_message(package, extra)

    return message


def _is_isolated() -> bool:
    """Whether the cache is the empty one, not one of a test that looks at caches."""
    return os.environ.get("NLGAUGE_CACHE", "").startswith(_ISOLATED)


def _needs_model(name: str) -> str:
    return f"needs the model {name}: make test"


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Fail a test that connects to another machine. Audit hooks see all sockets of Python."""
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else "localhost"  # others are paths on this machine
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in (None, "", "localhost", "127.0.0.1", "::1", b"localhost", b"127.0.0.1"):
        pytest.fail(f"a test of `make check` connects to {host}")


def _missing_need(failure: str) -> str | None:
    """The package of an extra, or the model, whose absence explains a failure."""
    for match in _MISSING_PACKAGE.finditer(failure):
        package = next(filter(None, match.groups())).partition(".")[0]
        if is_missing(package):
            return install_command_of(package)
    # Of commands in processes of their own.
    model = _MISSING_MODEL.search(failure) if _is_isolated() else None
    return model and _needs_model(model[1])


def _skip_for_missing_need(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Turn a failure for a missing extra or model into a skip that names it."""
    need = None if report.passed else _missing_need(str(report.longrepr))
    if need is None:
        return False
    path, line = report.location[:2] if isinstance(report, pytest.TestReport) else (report.nodeid, 0)
    report.outcome = "skipped"
    report.longrepr = (path, (line or 0) + 1, f"Skipped: {need}")
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that needs a missing extra."""
    report = yield
    _skip_for_missing_need(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file or folder that needs a missing extra."""
    report = yield
    _skip_for_missing_need(report)
    if not report.passed:
        # pytest keeps a module whose import failed, and the next file would import what there is of it.
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) == str(collector.path):
                del sys.modules[name]
    return report
