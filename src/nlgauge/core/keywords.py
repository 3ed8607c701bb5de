"""Keywords of the public functions, for editors and type checkers; nothing here is needed to run.

Written by `python -m docs.write_keywords` from the options that metrics, runs and analyses declare. Do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Literal, TypedDict


class _Metric(TypedDict, total=False):
    adjacency: Literal["unweighted", "weighted", "none"]
    against: Literal["refs", "source"]
    aggregation: str
    asian: Literal["yes", "no"] | bool
    average: Literal["sentences", "entries", "profile"]
    beta: int | float
    bounds: str | PathLike[str]
    case: Literal["mixed", "lower"]
    chars: int
    combine: str
    compose: Literal["sum", "product"]
    devices: Literal["nouns", "content", "profile"]
    distance: Literal["norm", "squared", "profile"]
    distance_as: Literal["one-minus", "negative"]
    exponents: str
    fit: str | PathLike[str]
    floor: float
    focus: Literal["nn", "entity"]
    gamma: float
    gap: int
    idf: str | PathLike[str]
    layer: int | str | None
    lengths: Literal["unit", "own", "profile"]
    lexicon: str | PathLike[str]
    lm: str | PathLike[str]
    lm_weight: float
    lookup: Literal["stems", "words"]
    lowercase: Literal["no", "yes"] | bool
    match: Literal["statistics", "greedy", "optimal"]
    matches: Literal["count", "cosine"]
    max_tokens: int | str | None
    measure: Literal["precision", "recall", "f", "f1"]
    measures: str
    mentions: Literal["lemma", "surface", "profile"]
    min_mentions: int
    model: str | PathLike[str]
    multiref: Literal["mean", "best", "best-f", "best-each", "pool"]
    n: int | str
    normalized: Literal["yes", "no"] | bool
    order: int
    prefix_space: Literal["auto", "yes", "no"] | bool
    profile: Literal["corrected", "released", "paper", "v1", "v2", "web", "2020", "head"]
    punctuation: Literal["keep", "drop-ascii", "drop-unicode", "drop", "profile", "yes", "no"] | bool
    rescale: bool | str | PathLike[str]
    routing_denominator: Literal["weighted", "published"]
    routing_epsilon: float
    routing_kernel: Literal["epanechnikov", "gaussian"]
    routing_step: float
    sent_threshold: Literal["profile"] | float
    sentence: str | PathLike[str]
    sentence_lengths: Literal["unit", "own", "profile"]
    sentences: Literal["rules", "lines", "annotator"]
    sigma: float
    similar: float
    single_reference: Literal["twice", "graph", "profile"]
    smooth: Literal["exp", "floor", "add-k", "none"]
    solver: str | PathLike[str]
    specials: Literal["keep", "drop"]
    src_lang: str | PathLike[str]
    start_token: Literal["first-sentence", "left-out", "profile"]
    statistics: str
    stemmer: Literal["yes", "no", "porter", "none"] | bool
    stopwords: str | PathLike[str]
    stride: int | str | None
    subwords: Literal["first", "all", "average", "last", "profile"]
    synonyms: str | PathLike[str]
    threshold: Literal["profile"] | float
    tokenize: str | PathLike[str]
    transforms: str | PathLike[str]
    trim: Literal["profile"] | float
    unit: Literal["word", "sentence"]
    unknown: Literal["error", "zero", "score"]
    unmatched: Literal["ignored", "origin", "profile"]
    variant: Literal["d", "plain", "evaluate", "released"]
    vectors: str | PathLike[str]
    weight: float
    weighting: str
    window: int | str
    wmdo_matches: Literal["flow", "words", "meteor"]
    wmdo_synonyms: str | PathLike[str]


class _Run(TypedDict, total=False):
    engine: str | PathLike[str]
    precision: Literal["fp32", "fp16", "bf16", "int8"]
    device: str | PathLike[str]
    threads: int | None
    batch_tokens: int
    long: Literal["truncate", "error", "windows"]
    empty: Literal["error", "zero"]
    cache: str | PathLike[str] | None
    cache_size: float


class _Explanation(TypedDict, total=False):
    words: Literal["words", "blanks"]
    pieces: Literal["max", "mean", "first"]
    lime: bool
    component: str | PathLike[str] | None
    samples: int
    neighbours: int
    beside: bool
    matrix: bool


class _Comparison(TypedDict, total=False):
    test: Literal["bootstrap", "randomisation", "t", "wilcoxon", "sign", "sign-ties-in", "mood"]
    tests_shown: Iterable[Literal["bootstrap", "randomisation", "t", "wilcoxon", "sign", "sign-ties-in", "mood"]]
    correction: Literal["holm", "none"]
    alpha: float
    level: float
    resamples: int
    permutations: int
    seed: int
    ties: Literal["half", "second", "drop"]
    tie_tolerance: float
    ranking: Literal["mean", "median", "bt"]
    smallest_difference: float
    curves: str | PathLike[str]
    ratings: bool
    shuffles: int


class DiscourseKeywords(TypedDict, total=False):
    """Options of `discourse`."""

    annotator: str | PathLike[str]
    sentences: Literal["rules", "lines", "annotator"]
    vectors: str | PathLike[str] | None
    threshold: float


class BetweenKeywords(TypedDict, total=False):
    """Options of `relate_metrics`."""

    level: Literal["segment", "document", "topic", "system"]
    agreement: Iterable[Literal["pearson", "spearman", "kendall"]]
    criterion: str | PathLike[str] | None
    aggregate: Literal["mean", "median", "bt"]
    show: Literal["matrix", "scatter", "distribution", "disagreements"]
    pair: Iterable[str | PathLike[str]]
    quality: float
    most: int


class RunKeywords(_Run, total=False):
    """Options of a run."""

    alignments: bool
    progress: bool


class SegmentKeywords(_Explanation, total=False):
    """Options of `Score.explain`."""

    shapley: bool | None
    leave_one_out: bool
    side: Literal["hypothesis", "reference"]
    seed: int


class TuneKeywords(RunKeywords, total=False):
    """Options of `tune_layer`."""

    model: str | PathLike[str]
    agreement: Literal["pearson", "spearman", "kendall"]


class CompareKeywords(_Comparison, total=False):
    """Settings of `compare_systems`."""


class TableKeywords(_Metric, _Run, total=False):
    """Options of `cluster.score`."""

    alpha: float
    annotator: str | PathLike[str]
    lang: str | PathLike[str]
    words: int


class PairKeywords(TableKeywords, total=False):
    """Options of `matrix`."""

    progress: bool


class ScoreKeywords(PairKeywords, total=False):
    """Options of `nlgauge.score`: those of all metrics, and of a run."""

    alignments: bool


class RankKeywords(PairKeywords, total=False):
    """Options of `rank`."""

    prune: bool
    seed: int


class StressKeywords(_Metric, RunKeywords, total=False):
    """Options of `stress`."""

    alpha: float
    words: int
    seed: int
    level: float
    resamples: int
    perturbations: Iterable[str] | None


class TripleKeywords(ScoreKeywords, total=False):
    """Options of `score_triples`."""

    seed: int
    level: float
    resamples: int


class SensitivityKeywords(_Metric, RunKeywords, total=False):
    """Options of `sensitivity`."""

    annotator: str | PathLike[str]
    words: int
    agreement: Literal["pearson", "spearman", "kendall"]
    criterion: str | PathLike[str] | None
    levels: Iterable[Literal["segment", "topic", "system"]]
    ddof: int
    alpha: float
    resamples: int
    seed: int
    documents: bool
    lang: str
    preset: Literal["stopwords", "idf", "subwords", "punctuation", "subwords-x-punctuation", "layers", "all"]
    idf_corpus: Iterable[str | PathLike[str]]


class UntilCertainKeywords(_Metric, RunKeywords, total=False):
    """Options of `compare_until_certain`."""

    annotator: str | PathLike[str]
    lang: str | PathLike[str]
    words: int
    alpha: float
    margin: float | None
    goal: Literal["difference", "not-worse"]
    min_segments: int
    first_look: int
    step: int
    growth: float
    tuned_for: int
    final_share: float
    seed: int


class ExplainKeywords(_Metric, SegmentKeywords, RunKeywords, total=False):
    """Options of `explain_pair` and `explain_pairs`."""

    alpha: float
    annotator: str | PathLike[str]
    lang: str | PathLike[str]


class SummaryKeywords(_Metric, RunKeywords, _Explanation, total=False):
    """Options of `explain_corpus`."""

    alpha: float
    lang: str | PathLike[str]
    method: Literal["linear", "leave-one-out", "shapley", "lime"]
    side: Literal["hypothesis", "reference"]
    annotator: str | PathLike[str]
    level: float
    resamples: int
    seed: int


class CompareTextsKeywords(_Metric, _Comparison, RunKeywords, total=False):
    """Options of `compare`."""

    annotator: str | PathLike[str]
    lang: str | PathLike[str]
    words: int
