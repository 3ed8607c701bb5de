"""One thread computes; requests share its batches, and a score does not know its company."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nlgauge
from nlgauge.apps.operations import operations
from nlgauge.apps.service.calls import Caller, ScoreCall, request_model
from nlgauge.apps.service.policy import Policy
from nlgauge.apps.service.problems import ProblemError
from nlgauge.apps.service.service import InferenceThread
from nlgauge.apps.service.settings import Settings
from nlgauge.core.registry import METRICS
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import InputError
from nlgauge.testing import HashEncoder, hash_encoder
from nlgauge.text.windows import Windows

ScoreRequest = request_model(operations()["score"])

WORDS = "a the cat dog bird sat slept ran on under over mat sofa tree".split()  # noqa: SIM905


def text(number: int) -> str:
    """Texts of one to twelve words."""
    return " ".join(WORDS[(number * 7 + place * 5) % len(WORDS)] for place in range(1 + number % 12))


def call(hyps: list[str], refs: list[str], **options: Any) -> ScoreCall:
    caller = Caller(Settings(), Policy())
    request = {"hyps": hyps, "refs": refs, "options": {"model": "hash", "layer": 1} | options}
    return caller.score(ScoreRequest.model_validate(request), [])


@pytest.fixture
def encoder() -> Iterator[HashEncoder]:
    with hash_encoder() as name:
        made = load_encoder(name)
        assert isinstance(made, HashEncoder)
        yield made


@pytest.fixture
def batches() -> list[int]:
    """Sizes of the batches of requests."""
    return []


@pytest.fixture
def thread(batches: list[int]) -> Iterator[InferenceThread]:
    made = InferenceThread(wait=0.005, waiting=64, batch_tokens=4096, on_batch=batches.append)
    made.start()
    yield made
    made.stop()


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NlgaugeWarning")
def test_windows_are_encoded_once_among_all_requests(
    thread: InferenceThread, encoder: HashEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    original = encoder.encode

    def encode(ids: Any, layers: Any) -> Any:
        read.append(len(ids))
        return original(ids, layers)

    monkeypatch.setattr(encoder, "encode", encode)
    rng = np.random.default_rng(1)
    long, other = " ".join(rng.choice(WORDS, 180)), " ".join(rng.choice(WORDS, 120))
    result = thread.submit(call([long], [other], window="model")).result(60)
    assert sum(read) == sum(len(Windows(64, 31, (1, 1)).starts(tokens)) for tokens in (180, 120))
    with pytest.warns(nlgauge.errors.WindowsWarning):
        (expected,) = nlgauge.score_systems({"": [long]}, [other], model="hash", layer=1, window="model")
    assert result[0].to_dict() == expected.to_dict()


class Slow:
    """Holds the inference thread until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, encoder: HashEncoder) -> None:
        self.go = threading.Event()
        self.entered = threading.Event()
        self.calls = 0
        original = encoder.encode

        def encode(ids: Any, layers: Any) -> Any:
            self.calls += 1
            self.entered.set()
            assert self.go.wait(120)
            return original(ids, layers)

        monkeypatch.setattr(encoder, "encode", encode)


def test_waiting_requests_share_batches_with_identical_scores(
    encoder: HashEncoder, thread: InferenceThread, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(text(index), text(index + 3)) for index in range(40)]
    alone = [nlgauge.score([hyp], [ref], model="hash", layer=1).to_dict() for hyp, ref in pairs]
    slow = Slow(monkeypatch, encoder)
    first = thread.submit(call(["a cat"], ["a dog"]))
    assert slow.entered.wait(60)
    futures = [thread.submit(call([hyp], [ref])) for hyp, ref in pairs]
    slow.calls = 0
    slow.go.set()
    assert [future.result(60)[0].to_dict() for future in futures] == alone
    assert first.result(60)[0].system is None
    assert batches == [1, 40]
    lengths = {len(words.split()) for pair in pairs for words in pair}
    assert slow.calls <= len(lengths)  # a batch for each length, not two for each request


def test_default_model_is_bit_identical_in_shared_batches(thread: InferenceThread) -> None:
    hyps = [f"The committee met on day {number} {'and again ' * (number % 5)}." for number in range(24)]
    refs = [f"On day {number} the committee came together." for number in range(24)]
    alone = [nlgauge.score([hyp], [ref]).to_dict() for hyp, ref in zip(hyps, refs, strict=True)]
    caller = Caller(Settings(), Policy())
    calls = [
        caller.score(ScoreRequest.model_validate({"hyps": [hyp], "refs": [ref]}), [])
        for hyp, ref in zip(hyps, refs, strict=True)
    ]
    with ThreadPoolExecutor(24) as pool:
        result = list(pool.map(lambda one: thread.submit(one).result(60)[0].to_dict(), calls))
    assert result == alone


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NlgaugeWarning")
def test_every_metric_is_bit_identical_in_shared_batches(thread: InferenceThread) -> None:
    caller = Caller(Settings(), Policy())
    sources = ["Die Katze saß auf der Matte.", "Ein Hund schlief, als es regnete.", "Es war spät."]
    hyps = ["A cat sat on the mat.", "The dog slept.", "It was late at night."]
    refs = ["The cat sat on the mat.", "A dog slept under a tree.", "It was late."]
    for count in (2, 3):  # SentSim scales over a corpus, which is two pairs at least; at most 64 requests wait
        bodies = [
            {"hyps": hyps[:count], "refs": refs[:count], "sources": sources[:count], "metric": [metric]}
            for metric in METRICS
            if metric not in ("ibm1", "lexical-graph", "rouge-we")  # which need a file that no request can name
        ]
        futures = [thread.submit(caller.score(ScoreRequest.model_validate(body), [])) for body in bodies]
        for body, future in zip(bodies, futures, strict=True):
            result = json.dumps([score.to_dict() for score in future.result(60)])
            alone = nlgauge.score(body["hyps"], body["refs"], sources=body["sources"], metric=body["metric"][0])
            assert result == json.dumps([alone.to_dict()]), body["metric"]


def test_failing_request_does_not_affect_others(
    encoder: HashEncoder, thread: InferenceThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, encoder)
    thread.submit(call(["a cat"], ["a dog"]))
    assert slow.entered.wait(60)
    good, bad, other = (thread.submit(call([item], [item])) for item in ("a cat", "", "the dog"))
    slow.go.set()
    assert good.result(60)[0].system_score == pytest.approx(1, abs=1e-6)
    with pytest.raises(InputError, match="both empty"):
        bad.result(60)
    assert other.result(60)[0].system_score == pytest.approx(1, abs=1e-6)


def test_single_request_does_not_wait_for_others(encoder: HashEncoder, batches: list[int]) -> None:
    patient = InferenceThread(wait=3600.0, waiting=64, batch_tokens=4096, on_batch=batches.append)
    patient.start()
    try:
        for number in range(5):
            patient.submit(call([text(number)], [text(number)])).result(60)
    finally:
        patient.stop()
    assert batches == [1] * 5


def test_wait_for_more_requests_is_bounded(
    encoder: HashEncoder, thread: InferenceThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, encoder)
    futures = [thread.submit(call(["a cat"], ["a dog"])) for _ in range(8)]
    slow.go.set()
    for future in futures:
        future.result(60)
    thread.submit(call(["a cat"], ["a dog"])).result(60)  # although nobody else comes


def test_a_full_queue_is_refused(
    encoder: HashEncoder, thread: InferenceThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, encoder)
    thread.submit(call(["a cat"], ["a dog"]))
    assert slow.entered.wait(60)
    futures = [thread.submit(call(["a cat"], ["a dog"])) for _ in range(64)]
    with pytest.raises(ProblemError) as refused:
        thread.submit(call(["a cat"], ["a dog"]))
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    slow.go.set()
    assert all(future.result(60) for future in futures)


def test_large_work_takes_turns_with_requests_and_can_be_cancelled(
    encoder: HashEncoder, thread: InferenceThread
) -> None:
    ids = np.array([[1, 5, 6, 2]])
    counted: list[int] = []
    with run_context(encoder_pool=thread, before_batch=counted.append):
        result = thread.encode(encoder, ids, (1,))
    assert counted == [4]
    assert np.array_equal(result[0], encoder.encode(ids, (1,))[0])

    def stop(_: int) -> None:
        raise InterruptedError

    with run_context(before_batch=stop), pytest.raises(InterruptedError):
        thread.encode(encoder, ids, (1,))


def test_models_are_loaded_once_and_least_recently_used_is_dropped(thread: InferenceThread) -> None:
    loaded: list[str] = []

    def load(name: str) -> Any:
        loaded.append(name)
        return object()

    for name in ("a", "b", "a", "c", "d", "a", "e", "a", "b"):
        thread.encoder(name, lambda name=name: load(name))
    assert loaded == ["a", "b", "c", "d", "e", "b"]


def test_what_waits_is_finished_before_the_thread_ends(encoder: HashEncoder, batches: list[int]) -> None:
    thread = InferenceThread(wait=0.005, waiting=64, batch_tokens=4096, on_batch=batches.append)
    futures = [thread.submit(call([text(number)], [text(number)])) for number in range(10)]
    thread.start()
    thread.stop()
    assert all(future.done() for future in futures)
    with pytest.raises(ProblemError, match="is stopping"):
        thread.submit(call(["a cat"], ["a dog"]))


def test_inference_thread_survives_errors(encoder: HashEncoder) -> None:
    def fail(_: int) -> None:
        raise ZeroDivisionError

    thread = InferenceThread(wait=0.005, waiting=64, batch_tokens=4096, on_batch=fail)
    thread.start()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            thread.submit(call(["a cat"], ["a dog"])).result(60)
    assert thread.alive
    thread.stop()
    assert not thread.alive
