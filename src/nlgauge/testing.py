"""Contract tests for metrics, and an encoder without model files for testing metrics of vectors.

A contract takes a recipe and raises an AssertionError if it is violated. The contract `signature` parses the recipe
from its signature, so the metric must be registered, and its options cannot be files.

`HashEncoder` derives a token's vector from the sha256 of its spelling. Equal tokens have equal vectors, other vectors
are unrelated, and neighbours change a vector a little, so context counts. It needs no files and no engine, and gives
the same vectors on every machine. The texts of the contracts use its vocabulary only.

`toy_scores` scores texts of words with given vectors and tags, for examples that can be computed by hand.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from nlgauge.core.metric import Metric, reads_sources
from nlgauge.core.pairs import matrix
from nlgauge.core.registry import parse_metric
from nlgauge.core.score import Score
from nlgauge.core.scoring import score_systems
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.load import add_encoder, remove_encoder
from nlgauge.errors import NlgaugeWarning
from nlgauge.io.storage import text_digest
from nlgauge.text.tokenizer import TextTokenizer

__all__ = ["CONTRACTS", "HashEncoder", "check_metric", "hash_encoder", "toy_scores"]

#: The vocabulary; any other word is unknown.
_TEXT = """
    a an the cat dog bird sat slept ran on under over at mat sofa tree and but it was black white small old storm
    ferry stopped left late early because of rain train station man woman child saw read wrote book letter . , ! ?
"""
WORDS = tuple(_TEXT.split())
#: All tokens, by their ids.
_VOCABULARY = {word: number for number, word in enumerate(("[UNK]", "[CLS]", "[SEP]", *WORDS))}

HYPOTHESES = (
    "the cat sat on the mat .",
    "a small black dog ran and the old bird slept",
    "it was late",
    "the ferry left because of the storm , but the train stopped at the station",
    "a man wrote a letter and a woman read it",
    "rain",
    "the old man saw a white cat under the tree !",
    "a child read the book",
)
REFERENCES = (
    "a cat sat on a mat .",
    "the small dog ran over the mat , the bird slept on the tree",
    "it was early",
    "the storm stopped the ferry and the train left late",
    "a woman wrote the letter",
    "the rain stopped",
    "an old man saw the cat",
    "the child wrote a book",
)


def _score(metric: Metric, /, hypotheses: Sequence[str], references: Sequence[str], **options: object) -> Score:
    sources = references if reads_sources([metric]) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NlgaugeWarning)
        keywords: dict[str, object] = {"metric": [metric], "sources": sources} | options
        (score,) = score_systems({"": hypotheses}, references, **keywords)  # type: ignore[arg-type]
    return score


def _check_equal(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], what: str) -> None:
    for name, values in first.items():
        assert np.array_equal(values, second[name], equal_nan=True), f"{name} {what}: {values} and {second[name]}"


def neighbours(metric: Metric) -> None:
    """A pair's score does not depend on other pairs, unless the recipe declares it."""
    if metric.whole_corpus or (isinstance(metric, VectorMetric) and metric.counts_idf):
        return
    together = _score(metric, HYPOTHESES, REFERENCES).segments
    for index, (hypothesis, reference) in enumerate(zip(HYPOTHESES, REFERENCES, strict=True)):
        alone = _score(metric, [hypothesis], [reference]).segments
        part = {name: values[index : index + 1] for name, values in together.items()}
        _check_equal(alone, part, f"of segment {index} depends on its neighbours")


def order(metric: Metric) -> None:
    """Scores do not depend on the order of segments."""
    forward = _score(metric, HYPOTHESES, REFERENCES).segments
    backward = _score(metric, HYPOTHESES[::-1], REFERENCES[::-1]).segments
    _check_equal(forward, {name: values[::-1] for name, values in backward.items()}, "depends on the order")


def batches(metric: Metric) -> None:
    """Scores do not depend on the batch size of the encoder."""
    if not isinstance(metric, VectorMetric):
        return
    large = _score(metric, HYPOTHESES, REFERENCES).segments
    small = _score(metric, HYPOTHESES, REFERENCES, batch_tokens=1).segments
    _check_equal(large, small, "depends on the size of batches")


def all_pairs(metric: Metric) -> None:
    """`nlgauge.matrix` gives a pair the same score."""
    if metric.whole_corpus or getattr(metric, "needs_sources", False):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NlgaugeWarning)
        scores = matrix(HYPOTHESES, REFERENCES, metric)
    expected = _score(metric, HYPOTHESES, REFERENCES).segments
    _check_equal(
        expected, {name: values.diagonal() for name, values in scores.components.items()}, "differs in a matrix"
    )


def identical(metric: Metric) -> None:
    """A text scores best against itself."""
    other = _score(metric, HYPOTHESES, REFERENCES).segments[metric.main]
    itself = _score(metric, HYPOTHESES, HYPOTHESES).segments[metric.main]
    better = itself >= other - 1e-6 if metric.higher_is_better else itself <= other + 1e-6
    assert better.all(), f"segments {np.flatnonzero(~better).tolist()} score better against another text"


def empty(metric: Metric) -> None:
    """An empty text has a defined score, and is counted."""
    if metric.whole_corpus:
        return
    score = _score(metric, ["", HYPOTHESES[0]], [REFERENCES[0], ""])
    assert np.isfinite(score.segments[metric.main]).all(), "an empty text scores nan"
    assert score.counts["empty"] == 2, "empty texts are not counted"


def signature(metric: Metric) -> None:
    """The signature reproduces the score."""
    first = _score(metric, HYPOTHESES, REFERENCES)
    again = _score(metric, HYPOTHESES, REFERENCES, metric=[str(first.signature)])
    _check_equal(first.segments, again.segments, "is not reproduced by the signature")
    assert str(again.signature) == str(first.signature), "the signature changes when it is parsed and scored again"


def output(metric: Metric) -> None:
    """The same input gives the same JSON, byte by byte and without nan."""
    first, second = (json.dumps(_score(metric, HYPOTHESES, REFERENCES).to_dict(), allow_nan=False) for _ in range(2))
    assert first == second, "the JSON output differs from run to run"


CONTRACTS: dict[str, Callable[[Metric], None]] = {
    check.__name__: check for check in (neighbours, order, batches, all_pairs, identical, empty, signature, output)
}


def check_metric(metric: Metric) -> None:
    """Check all contracts."""
    for check in CONTRACTS.values():
        check(metric)


class HashEncoder:
    """Deterministic vectors for the words of a small vocabulary."""

    cacheable = False
    languages: tuple[str, ...] = ("en",)

    def __init__(self, model: str = "hash", *, layers: int = 2, width: int = 16, limit: int = 64) -> None:
        self.model = model
        self.layers = layers
        self.hidden_size = width
        self.engine = "hash-1-fp32"
        self.weights_digest = text_digest(f"nlgauge hash encoder {layers} {width}")
        self.config_digest = ""
        self.digest = self.weights_digest
        self.tokenizer = _tokenizer(limit)
        self._tables = [
            np.stack([_vector(f"{layer} {word}", width) for word in _VOCABULARY]) for layer in range(layers + 1)
        ]

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors (batch, length, width) of each layer."""
        outputs = []
        for layer in layers:
            vectors = self._tables[layer][ids]
            # Layer 0 ignores neighbours; they have more weight in each layer above.
            before = np.roll(vectors, 1, axis=1)
            before[:, 0] = 0
            outputs.append((vectors + np.float32(0.1 * layer) * before).astype(np.float32))
        return outputs


@contextlib.contextmanager
def hash_encoder(name: str = "hash", *, layers: int = 2, width: int = 16, limit: int = 64) -> Iterator[str]:
    """Register a `HashEncoder` under a name, for `model=name`, within a `with` block; it reads `limit` tokens."""
    add_encoder(name, HashEncoder(name, layers=layers, width=width, limit=limit))
    try:
        yield name
    finally:
        remove_encoder(name)


def _vector(text: str, width: int) -> NDArray[np.float32]:
    """Reproducible numbers from -1 to 1."""
    digest = b"".join(hashlib.sha256(f"{text} {part}".encode()).digest() for part in range(width // 8 + 1))
    whole = np.frombuffer(digest, dtype="<u4")[:width].astype(np.float64)
    return (whole / 2**31 - 1).astype(np.float32)


def _tokenizer(limit: int) -> TextTokenizer:
    backend = tokenizers.Tokenizer(WordLevel(_VOCABULARY, unk_token="[UNK]"))
    backend.pre_tokenizer = BertPreTokenizer()
    frame = [(token, _VOCABULARY[token]) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=frame)
    return TextTokenizer(backend, limit=limit, digest=text_digest(" ".join(_VOCABULARY)))


def toy_scores(
    metric: str,
    hyps: str | Sequence[str],
    others: str | Sequence[str],
    *,
    vectors: Mapping[str, Sequence[float]] | None = None,
    tagged: bool = False,
) -> dict[str, list[float]]:
    """Score texts whose words have the given vectors; by component, to four decimals.

    `others` are references, or sources for a metric that compares with the source. Each word is a token with the same
    vector everywhere, and there is one layer. With `tagged`, `cat:N sat . | dog:N ran .` is a text of two sentences
    with two nouns; these tags replace an annotator.

    >>> toy_scores("bertscore", "a cat", "a dog", vectors={"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1]})
    {'precision': [0.9], 'recall': [0.9], 'f1': [0.9]}
    """
    hyps, others = ([texts] if isinstance(texts, str) else list(texts) for texts in (hyps, others))
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, object] = {}
        if vectors is not None:
            options["model"] = model = Path(folder, "vectors.txt")
            lines = [" ".join([word, *map(str, vector)]) for word, vector in vectors.items()]
            model.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if tagged:
            options |= {"annotator": Path(folder, "tags.conllu"), "sentences": "annotator"}
            Path(folder, "tags.conllu").write_text("".join(map(_to_conllu, [*hyps, *others])), encoding="utf-8")
            hyps, others = ([_remove_tags(text) for text in texts] for texts in (hyps, others))
        score = _score(parse_metric(metric, **options), hyps, others)
    return {name: values.round(4).tolist() for name, values in score.segments.items()}


def _remove_tags(text: str) -> str:
    return text.replace(":N", "").replace("| ", "")


def _to_conllu(text: str) -> str:
    """Convert a text with tags to sentences of a CoNLL-U file."""
    lines = []
    for sentence in text.split(" | "):
        lines.append(f"# text = {_remove_tags(sentence)}")
        for number, word in enumerate(sentence.split(), start=1):
            form, _, tag = word.partition(":")
            lines.append(f"{number}\t{form}\t{form}\t{'NOUN' if tag else 'X'}\t_\t_\t0\troot\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"
