"""Options are in the signature: another value gives another signature, the same numbers, or an error."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlgauge
import nlgauge.testing
from nlgauge.core.annotation import AnnotatorName
from nlgauge.core.kinds import Choice, Float, Int, NameList, NumberList
from nlgauge.core.options import Option
from nlgauge.core.registry import built_in_metrics
from nlgauge.core.resources import IdfChoice, LanguageModelName, SentenceModelName, StopwordList, TransformFiles
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.metrics.parts.foci import WordVectorFile
from nlgauge.metrics.parts.learned_weights import WeightsChoice
from nlgauge.metrics.parts.lexicon import LexiconFile
from nlgauge.metrics.parts.word_matches import SynonymSource
from nlgauge.studies.alignment.lexicon import train_lexicon
from nlgauge.testing import HYPOTHESES, REFERENCES

#: Values of kinds whose values cannot be listed.
OTHERS: dict[str, list[Any]] = {
    "aggregation": ["pmeans", "last", "two-thirds", "layer-0", "routing", "barycentre"],
    "tokenize": ["char", "none", "intl"],
    "lang": ["de"],
    "src_lang": ["de"],
    "model": ["other"],
    "exponents": ["1+2"],
    "weighting": [".3+.7"],
    "bounds": ["corpus"],
    "solver": ["relaxed", "sinkhorn-0.5"],
    "window": [3, 5, "model"],
    "rescale": ["no"],
    "members": ["bertscore+bleu", "bleu+chrf", "rouge1+rougel", "bertscore+smd"],
    "norms": ["shipped"],
    "weight": [1.5],
}

#: Options that have a meaning only with others.
COMPANIONS: dict[str, dict[str, Any]] = {
    "stride": {"window": 5},
    "threshold": {"focus": "entity", "vectors": "own.txt"},
    "sent_threshold": {"focus": "entity", "vectors": "own.txt"},
    "vectors": {"focus": "entity"},
    "exponents": {"aggregation": "pmeans"},
    "routing_step": {"aggregation": "kde-routing"},
    "routing_epsilon": {"aggregation": "kde-routing"},
    "routing_kernel": {"aggregation": "kde-routing"},
    "routing_denominator": {"aggregation": "kde-routing"},
    "compose": {"order": 2},
    "wmdo_matches": {"combine": "wmd+wmdo"},
    "wmdo_synonyms": {"combine": "wmd+wmdo", "wmdo_matches": "meteor"},
}

#: Options without another value that a test without models can give: they name models, or follow from one.
UNTRIED = {"annotator", "sentence", "lm", "lm_weight", "fit"}


def is_tried(metric: type[nlgauge.plugin.Metric], name: str) -> bool:
    """Whether another value exists.

    The solver of smd is always exact, spaCy's annotator reads English only, and sentence vectors ignore options of
    tokens.
    """
    if name == "lang":
        return "annotator" not in metric.options()
    without = {"smd": {"solver"}, "sbert": {"max_tokens", "prefix_space", "transforms"}}
    return name not in UNTRIED | without.get(metric.name, set())


def companions_of(metric: type[nlgauge.plugin.Metric], name: str, folder: Path) -> dict[str, Any]:
    """Options to set next to one that is varied."""
    options = {key: value for key, value in COMPANIONS.get(name, {}).items() if key in metric.options()}
    return options | ({"vectors": str(folder / "own.txt")} if "vectors" in options else {})


def other_values(about: Option, folder: Path) -> Iterator[Any]:
    kind = about.kind
    if about.name in OTHERS:
        yield from OTHERS[about.name]
    elif isinstance(kind, Choice):
        yield from kind.words
    elif isinstance(kind, Int):
        yield from (max(kind.least, 1), max(kind.least, 1) + 1, 5)
    elif isinstance(kind, Float):
        yield from (0.25, 0.5)
    elif isinstance(kind, NameList):
        yield from (*kind.names[:3], "+".join(kind.names[:2]))
    elif isinstance(kind, IdfChoice):
        yield from ("none", "refs", "both")
    elif isinstance(kind, StopwordList):
        (folder / "stop.txt").write_text("the a\n", encoding="utf-8")
        yield str(folder / "stop.txt")
    elif isinstance(kind, SynonymSource):
        yield from ("wordnet", "none")
    elif isinstance(kind, TransformFiles):
        yield "position-norm"
    elif isinstance(kind, WordVectorFile):
        (folder / "vectors.txt").write_text("cat 1 0\ndog 1 0.1\nbird 0 1\n", encoding="utf-8")
        yield str(folder / "vectors.txt")
    elif isinstance(kind, LexiconFile):
        train_lexicon(HYPOTHESES, REFERENCES).save(folder / "other.npz")
        yield str(folder / "other.npz")
    else:  # models of whole texts are another folder's test; numbers joined by + are named above
        assert isinstance(kind, LanguageModelName | SentenceModelName | NumberList | AnnotatorName | WeightsChoice), (
            f"no other value for {about.name}"
        )


def result(metric: type[nlgauge.plugin.Metric], folder: Path, **options: Any) -> tuple[str, list[Any]]:
    if issubclass(metric, VectorMetric):
        options = {"model": "hash", "against": "refs"} | options
        layered = "layer" in metric.options() and options.get("aggregation", "layer") == "layer"
        options = ({"layer": 3} if layered else {}) | options
        options = ({"combine": "bertscore+wmd"} if metric.name == "sentsim" else {}) | options
    if metric.name == "sbert":  # the hash encoder has no sentence vectors; of a file of words, their mean is one
        words = sorted({word for text in (*HYPOTHESES, *REFERENCES) for word in text.lower().split()})
        lines = [f"{word} {number % 3} {number % 5}" for number, word in enumerate(words, start=1)]
        (folder / "words.txt").write_text("\n".join(lines), encoding="utf-8")
        options["model"] = str(folder / "words.txt")
    if metric.name in ("lexical-graph", "rouge-we"):  # which have no vectors of their own
        options = {"vectors": str(folder / "own.txt")} | options
    if metric.name == "ibm1":
        train_lexicon(REFERENCES, HYPOTHESES).save(folder / "own.npz")
        options = {"lexicon": str(folder / "own.npz")} | options
    score = metric(**options).score(HYPOTHESES, REFERENCES, sources=REFERENCES[::-1])
    return score.signature.recipe_part, [values.tolist() for values in score.segments.values()]


@pytest.mark.heavy
@pytest.mark.parametrize("name", built_in_metrics())
def test_another_value_of_an_option_is_another_signature_or_the_same_number(name: str, tmp_path: Path) -> None:
    metric = built_in_metrics()[name]
    tried: Counter[str] = Counter()
    with (
        warnings.catch_warnings(),
        nlgauge.testing.hash_encoder("hash", layers=6),
        nlgauge.testing.hash_encoder("other", layers=6, width=24),
    ):
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        (tmp_path / "own.txt").write_text("cat 1 0\nmat 1 0.1\ntree 0 1\n", encoding="utf-8")
        plain = result(metric, tmp_path)
        for about in metric.options().values():
            companions = companions_of(metric, about.name, tmp_path)
            signature, numbers = result(metric, tmp_path, **companions) if companions else plain
            for value in other_values(about, tmp_path):
                try:
                    signed, actual = result(metric, tmp_path, **companions | {about.name: value})
                except nlgauge.errors.NlgaugeError:
                    continue
                tried[about.name] += 1
                same = all(np.array_equal(item, two) for item, two in zip(numbers, actual, strict=False))
                assert signed != signature or same, f"{about.name}={value!r} moves {name} under one signature"
    assert [option for option in metric.options() if is_tried(metric, option) and not tried[option]] == []
