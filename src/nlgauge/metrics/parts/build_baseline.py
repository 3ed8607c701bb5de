"""Make a baseline: BERTScore of random pairs from a corpus, at every layer, in one encoding."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from nlgauge._version import __version__
from nlgauge.core.corpus import make_corpus
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.run_options import RunOptions
from nlgauge.core.vector_metric import with_reason
from nlgauge.encoders.base import vectors_digest
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import DataWarning, InputError, ModelNotFoundError, RecipeError
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.parts.baseline import Baseline
from nlgauge.text.languages import language_code

#: Sentences are paired within blocks of this size, so that a window encodes each of them once.
_BLOCK = 500

#: Below this many sentences or pairs the mean moves in the third decimal from one sample to the next.
_ENOUGH = 1000


def build_baseline(
    sentences: Sequence[str],
    *,
    model: str = "minilm",
    language: str = "en",
    pairs: int = 10_000,
    seed: int = 12345,
    corpus: str = "",
    options: RunOptions | None = None,
) -> Baseline:
    """Mean P, R and F of `pairs` random pairs of distinct sentences, for every layer of the model.

    Each sentence of a seeded sample is once the hypothesis and once the reference, of another sentence.
    """
    if pairs < 1 or seed < 0:
        msg = f"a baseline needs pairs >= 1 and seed >= 0, got pairs={pairs!r}, seed={seed!r}"
        raise RecipeError(msg)
    options = options or RunOptions()
    language = language_code(language)
    try:
        encoder = load_encoder(model, **options.loading)
    except ModelNotFoundError as error:
        raise with_reason(error, model, [language]) from error
    distinct = sorted({text.strip() for text in sentences})
    tokens = encoder.tokenizer.encode(distinct)
    distinct = [text for text, its in zip(distinct, tokens, strict=True) if not (its.empty or its.only_unknown)]
    if len(distinct) < 2:
        msg = f"a baseline needs at least 2 different sentences, got {len(distinct)}"
        raise InputError(msg)
    if min(len(distinct), pairs) < _ENOUGH:
        msg = (
            f"a baseline of {len(distinct)} sentences and {pairs} pairs is uncertain, and so is every score that is "
            f"rescaled with it; take at least {_ENOUGH} of each"
        )
        warnings.warn(msg, DataWarning, stacklevel=2)
    hypotheses, references = random_pairs(distinct, pairs, seed)
    recipes = [BERTScore(model=model, layer=layer) for layer in range(encoder.layers + 1)]
    scores = run_metrics(recipes, make_corpus({"": hypotheses}, references), options)
    header = {
        "model": encoder.model,
        "weights": vectors_digest(encoder),
        "language": language,
        "corpus": " ".join(corpus.split()) or "not stated",
        "pairs": f"{len(hypotheses)} random pairs of {len(distinct)} distinct sentences, seed {seed}",
        "made with": f"nlgauge {__version__}, {encoder.engine}",
    }
    rows = {
        layer: (score.means["precision"], score.means["recall"], score.means["f1"])
        for layer, score in enumerate(scores)
    }
    return Baseline.parse(Baseline(header, rows).text(), source="baseline")


def random_pairs(sentences: Sequence[str], pairs: int, seed: int) -> tuple[list[str], list[str]]:
    """Pairs of different sentences: seeded permutations, each sentence against its successor in a block."""
    rng = np.random.default_rng(seed)
    hypotheses: list[str] = []
    references: list[str] = []
    while len(hypotheses) < pairs:
        order = rng.permutation(len(sentences))
        for start in range(0, len(order), _BLOCK):
            block = order[start : start + _BLOCK]
            if len(block) < 2:
                continue
            hypotheses += [sentences[at] for at in block]
            references += [sentences[at] for at in np.roll(block, 1)]
    return hypotheses[:pairs], references[:pairs]
