"""The number of BLAS threads, which threads of ours share."""

from __future__ import annotations

import threading

from threadpoolctl import threadpool_info

from nlgauge.encoders.run_context import one_blas_thread


def test_the_limit_of_blas_threads_lasts_until_the_last_thread_is_done() -> None:
    def counts() -> set[int]:
        return {item["num_threads"] for item in threadpool_info() if item["user_api"] == "blas"}

    before, entered, leave = counts(), threading.Event(), threading.Event()

    def other() -> None:
        with one_blas_thread:
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with one_blas_thread:
        thread.start()
        entered.wait(60)
    assert counts() == {1}, "the other thread still compares"
    leave.set()
    thread.join()
    assert counts() == before
