"""What all tests and doctests share: skips for missing extras, and the isolation of `make check`."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest
from tests.extras import install_command_of

#: How Python, pytest.importorskip and nlgauge name a package that is not installed.
_MISSING = re.compile(r"No module named '([\w.]+)'|could not import '([\w.]+)'|the package (\w+) is not installed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --isolated."""
    parser.addoption("--isolated", action="store_true", help="fail tests that use a model or the network")


def pytest_configure(config: pytest.Config) -> None:
    """With --isolated: no model in the cache, no download, no connection to another machine."""
    if not config.getoption("--isolated"):
        return
    cache = tempfile.TemporaryDirectory(prefix="nlgauge-check-")
    config.add_cleanup(cache.cleanup)
    os.environ |= {"NLGAUGE_CACHE": cache.name, "NLGAUGE_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    os.environ.pop("NLGAUGE_DATA", None)
    sys.addaudithook(_refuse_network)


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


def _skip_for_missing_package(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Turn a failure that names a missing package of an extra into a skip that names the extra."""
    if report.passed:
        return False
    for match in _MISSING.finditer(str(report.longrepr)):
        package = next(filter(None, match.groups())).partition(".")[0]
        command = install_command_of(package)
        if command is not None and find_spec(package) is None:
            path, line = report.location[:2] if isinstance(report, pytest.TestReport) else (report.nodeid, 0)
            report.outcome = "skipped"
            report.longrepr = (path, (line or 0) + 1, f"Skipped: {command}")
            return True
    return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that needs a missing extra."""
    report = yield
    _skip_for_missing_package(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file or folder that needs a missing extra."""
    report = yield
    if _skip_for_missing_package(report):
        # pytest keeps a module whose import failed, and the next file would import what there is of it.
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) == str(collector.path):
                del sys.modules[name]
    return report
