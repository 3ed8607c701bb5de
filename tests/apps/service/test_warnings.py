"""Warnings find the call that they belong to."""

from __future__ import annotations

import threading
import warnings

from nlgauge.apps.service.calls import collected_warnings
from nlgauge.errors import DataWarning, NlgaugeWarning


def test_each_thread_collects_its_own() -> None:
    start = threading.Barrier(8)
    found: dict[int, list[str]] = {number: [] for number in range(8)}

    def work(number: int) -> None:
        with collected_warnings(found[number]):
            start.wait(60)
            for _ in range(50):
                warnings.warn(f"of {number}", DataWarning, stacklevel=1)

    threads = [threading.Thread(target=work, args=[number]) for number in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [f"of {number}"] for number in range(8)}


def test_others_are_left_to_whoever_had_them() -> None:
    said: list[str] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with collected_warnings(said):
            warnings.warn("mine", NlgaugeWarning, stacklevel=1)
            warnings.warn("elsewhere", UserWarning, stacklevel=1)
        warnings.warn("after", NlgaugeWarning, stacklevel=1)
    assert said == ["mine"]
    assert [str(one.message) for one in seen] == ["elsewhere", "after"]


def test_filters_that_somebody_left_behind_do_no_harm() -> None:
    said: list[str] = []
    with warnings.catch_warnings():
        with collected_warnings(said):
            pass
        warnings.simplefilter("ignore", NlgaugeWarning)
        with collected_warnings(said):
            warnings.warn("heard", NlgaugeWarning, stacklevel=1)
    assert said == ["heard"]
