"""The estimate of the duration, printed before long runs only."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

import nlgauge
from nlgauge.core.corpus import make_corpus
from nlgauge.core.pipeline import expected_work
from nlgauge.core.prepare import prepare
from nlgauge.core.registry import parse_metric
from nlgauge.core.run_options import RunOptions
from nlgauge.testing import WORDS, hash_encoder

module = importlib.import_module("nlgauge.core.pipeline")

#: 60 and 30 words; with the two special tokens 62 and 32 tokens.
HYP, REF = " ".join([WORDS[0]] * 60), " ".join([WORDS[1]] * 30)


@pytest.fixture(scope="module", autouse=True)
def _model() -> Iterator[None]:
    with hash_encoder(limit=22):
        yield


def test_work_counts_tokens_of_windows_and_pairs_of_tokens() -> None:
    """Windows of 22 tokens hold 20 of the text and begin every 10: 5 of them for 60 words, 2 for 30."""
    recipe = parse_metric("bertscore:layer=1,model=hash,window=model")
    prepared = prepare([recipe], make_corpus({"": [HYP]}, [REF]), RunOptions(), warn=False)
    work = expected_work(prepared)
    assert work.tokens == (5 + 2) * 22
    assert work.pairs == 62 * 32
    assert work.operations >= 2 * work.pairs
    both = [recipe, parse_metric("smd:model=hash,window=model")]
    prepared = prepare(both, make_corpus({"": [HYP]}, [REF]), RunOptions(), warn=False)
    assert expected_work(prepared)[:2] == (work.tokens, 2 * work.pairs), "texts are encoded once for both"


@pytest.mark.filterwarnings("ignore::nlgauge.errors.WindowsWarning")
def test_a_long_run_is_announced_where_progress_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"metric": "bertscore:layer=1", "model": "hash", "long": "windows", "threads": 1}
    plain = nlgauge.score([HYP], [REF], progress=True, **options)
    assert capsys.readouterr().err == "", "a short run is not announced"
    # A machine so slow that the run takes 10 minutes.
    recipe = parse_metric("bertscore:layer=1,model=hash,window=model")
    prepared = prepare([recipe], make_corpus({"": [HYP]}, [REF]), RunOptions(), warn=False)
    speed = expected_work(prepared).operations / 600
    monkeypatch.setattr(module, "_FASTEST", speed)
    monkeypatch.setattr(module, "_measure_speed", lambda: speed)
    assert nlgauge.score([HYP], [REF], progress=True, **options).system_score == plain.system_score
    expected = "nlgauge: this will take at least 10 minutes: 154 tokens to encode, 1,984 token pairs to compare\n"
    assert capsys.readouterr().err == expected
    nlgauge.score([HYP], [REF], progress=False, **options)
    assert capsys.readouterr().err == ""
