"""nlgauge: measure generated text with contextual embeddings, so that anyone can get the same number again.

>>> import nlgauge
>>> result = nlgauge.score(["A cat sat on the mat."], ["The cat sat on the mat."], metric="bertscore")
>>> result.f1.shape
(1,)
"""

import importlib
import typing

from nlgauge import _startup  # noqa: F401  # first, because what a command imports takes a moment to load
from nlgauge._version import __version__
from nlgauge.errors import (
    AlignmentNotFoundError,
    BaselineError,
    ConvergenceWarning,
    DataWarning,
    DigestError,
    EmptyPairError,
    EmptyTextWarning,
    FileFormatError,
    InputError,
    LanguageWarning,
    MissingExtraError,
    ModelError,
    ModelNotFoundError,
    NlgaugeError,
    NlgaugeWarning,
    NoFocusWarning,
    NoNounWarning,
    RecipeError,
    ServiceError,
    SignatureError,
    TooLongError,
    TruncationWarning,
    UnknownTextError,
    UnknownWordWarning,
    UnsupportedModelError,
    WindowsWarning,
    ZeroWeightWarning,
)

if typing.TYPE_CHECKING:  # at run time found by __getattr__ below
    from nlgauge import compare as compare
    from nlgauge import data as data
    from nlgauge import distributed as distributed
    from nlgauge import ensembles as ensembles
    from nlgauge import meta as meta
    from nlgauge import stress as stress
    from nlgauge import testing as testing
    from nlgauge.accumulator import Accumulator
    from nlgauge.clouds.alignments import Alignment, Flow
    from nlgauge.compare import SystemComparison, SystemScores, compare_systems
    from nlgauge.corpus.documents import join_documents
    from nlgauge.corpus.views import TextView
    from nlgauge.encoders import Encoder, release_models
    from nlgauge.explain.corpus import CorpusSummary, explain_corpus
    from nlgauge.explain.explanation import Explanation
    from nlgauge.explain.factors.columns import FactorOptions
    from nlgauge.explain.factors.run import explain_columns, explain_factors
    from nlgauge.explain.factors.surrogate import FactorStudy, Surrogate, fit_surrogates
    from nlgauge.explain.pairs import explain_pair, explain_pairs
    from nlgauge.features.run import Discourse, discourse
    from nlgauge.metrics.baryscore import BaryScore
    from nlgauge.metrics.bertscore import BERTScore
    from nlgauge.metrics.bleu import BLEU
    from nlgauge.metrics.chrf import ChrF
    from nlgauge.metrics.cohesion import LC, RC, EntityGraph, LexicalGraph
    from nlgauge.metrics.discoscore import DiscoScore
    from nlgauge.metrics.ds_focus import DSFocus
    from nlgauge.metrics.ds_sent import DSSent
    from nlgauge.metrics.ensemble import Ensemble
    from nlgauge.metrics.focus_frequency import FocusFrequency
    from nlgauge.metrics.lexical_chain import LexicalChain
    from nlgauge.metrics.moverscore import MoverScore
    from nlgauge.metrics.rouge import Rouge1, Rouge2, RougeL
    from nlgauge.metrics.sentsim import SentSim
    from nlgauge.metrics.smd import SMD
    from nlgauge.metrics.xmoverscore import XMoverScore
    from nlgauge.pairs.matrix import ScoreMatrix, matrix
    from nlgauge.pairs.rank import Ranking, rank
    from nlgauge.recipes.metric import Metric, TextMetric
    from nlgauge.recipes.options import option
    from nlgauge.recipes.results import Comparison, Pair, SystemResult
    from nlgauge.recipes.signature import Signature
    from nlgauge.recipes.vector_metric import State, VectorMetric
    from nlgauge.registry import recipe_from_signature
    from nlgauge.report.html import ReportOptions, ReportTexts, write_report
    from nlgauge.saved_scores import load_scores, save_scores
    from nlgauge.scores import Score
    from nlgauge.scoring import score, score_systems
    from nlgauge.service.async_client import AsyncClient
    from nlgauge.service.client import Client

__all__ = [
    "BLEU",
    "LC",
    "RC",
    "SMD",
    "Accumulator",
    "Alignment",
    "AlignmentNotFoundError",
    "AsyncClient",
    "BERTScore",
    "BaryScore",
    "BaselineError",
    "ChrF",
    "Client",
    "Comparison",
    "ConvergenceWarning",
    "CorpusSummary",
    "DSFocus",
    "DSSent",
    "DataWarning",
    "DigestError",
    "DiscoScore",
    "Discourse",
    "EmptyPairError",
    "EmptyTextWarning",
    "Encoder",
    "Ensemble",
    "EntityGraph",
    "Explanation",
    "FactorOptions",
    "FactorStudy",
    "FileFormatError",
    "Flow",
    "FocusFrequency",
    "InputError",
    "LanguageWarning",
    "LexicalChain",
    "LexicalGraph",
    "Metric",
    "MissingExtraError",
    "ModelError",
    "ModelNotFoundError",
    "MoverScore",
    "NlgaugeError",
    "NlgaugeWarning",
    "NoFocusWarning",
    "NoNounWarning",
    "Pair",
    "Ranking",
    "RecipeError",
    "ReportOptions",
    "ReportTexts",
    "Rouge1",
    "Rouge2",
    "RougeL",
    "Score",
    "ScoreMatrix",
    "SentSim",
    "ServiceError",
    "Signature",
    "SignatureError",
    "State",
    "Surrogate",
    "SystemComparison",
    "SystemResult",
    "SystemScores",
    "TextMetric",
    "TextView",
    "TooLongError",
    "TruncationWarning",
    "UnknownTextError",
    "UnknownWordWarning",
    "UnsupportedModelError",
    "VectorMetric",
    "WindowsWarning",
    "XMoverScore",
    "ZeroWeightWarning",
    "__version__",
    "compare_systems",
    "discourse",
    "explain_columns",
    "explain_corpus",
    "explain_factors",
    "explain_pair",
    "explain_pairs",
    "fit_surrogates",
    "join_documents",
    "load_scores",
    "matrix",
    "option",
    "rank",
    "recipe_from_signature",
    "release_models",
    "save_scores",
    "score",
    "score_systems",
    "write_report",
]

#: Public modules that are there without an import of their own: `nlgauge.compare.gate` imports the first.
_MODULES = ("compare", "data", "distributed", "ensembles", "meta", "stress", "testing")

#: Public names by the module that has them. Each is imported when it is first used, so that `import nlgauge` and
#: `nlgauge --version` need not wait for numpy and all metrics.
_NAMES = {
    "Accumulator": "nlgauge.accumulator",
    "Alignment": "nlgauge.clouds.alignments",
    "AsyncClient": "nlgauge.service.async_client",
    "BERTScore": "nlgauge.metrics.bertscore",
    "BLEU": "nlgauge.metrics.bleu",
    "BaryScore": "nlgauge.metrics.baryscore",
    "ChrF": "nlgauge.metrics.chrf",
    "Client": "nlgauge.service.client",
    "Comparison": "nlgauge.recipes.results",
    "CorpusSummary": "nlgauge.explain.corpus",
    "DSFocus": "nlgauge.metrics.ds_focus",
    "DSSent": "nlgauge.metrics.ds_sent",
    "DiscoScore": "nlgauge.metrics.discoscore",
    "Discourse": "nlgauge.features.run",
    "Encoder": "nlgauge.encoders",
    "Ensemble": "nlgauge.metrics.ensemble",
    "EntityGraph": "nlgauge.metrics.cohesion",
    "Explanation": "nlgauge.explain.explanation",
    "FactorOptions": "nlgauge.explain.factors.columns",
    "FactorStudy": "nlgauge.explain.factors.surrogate",
    "Flow": "nlgauge.clouds.alignments",
    "FocusFrequency": "nlgauge.metrics.focus_frequency",
    "LC": "nlgauge.metrics.cohesion",
    "LexicalChain": "nlgauge.metrics.lexical_chain",
    "LexicalGraph": "nlgauge.metrics.cohesion",
    "Metric": "nlgauge.recipes.metric",
    "MoverScore": "nlgauge.metrics.moverscore",
    "Pair": "nlgauge.recipes.results",
    "RC": "nlgauge.metrics.cohesion",
    "Ranking": "nlgauge.pairs.rank",
    "ReportOptions": "nlgauge.report.html",
    "ReportTexts": "nlgauge.report.html",
    "Rouge1": "nlgauge.metrics.rouge",
    "Rouge2": "nlgauge.metrics.rouge",
    "RougeL": "nlgauge.metrics.rouge",
    "SMD": "nlgauge.metrics.smd",
    "Score": "nlgauge.scores",
    "ScoreMatrix": "nlgauge.pairs.matrix",
    "SentSim": "nlgauge.metrics.sentsim",
    "Signature": "nlgauge.recipes.signature",
    "State": "nlgauge.recipes.vector_metric",
    "Surrogate": "nlgauge.explain.factors.surrogate",
    "SystemComparison": "nlgauge.compare",
    "SystemResult": "nlgauge.recipes.results",
    "SystemScores": "nlgauge.compare",
    "TextMetric": "nlgauge.recipes.metric",
    "TextView": "nlgauge.corpus.views",
    "VectorMetric": "nlgauge.recipes.vector_metric",
    "XMoverScore": "nlgauge.metrics.xmoverscore",
    "compare_systems": "nlgauge.compare",
    "discourse": "nlgauge.features.run",
    "explain_columns": "nlgauge.explain.factors.run",
    "explain_corpus": "nlgauge.explain.corpus",
    "explain_factors": "nlgauge.explain.factors.run",
    "explain_pair": "nlgauge.explain.pairs",
    "explain_pairs": "nlgauge.explain.pairs",
    "fit_surrogates": "nlgauge.explain.factors.surrogate",
    "join_documents": "nlgauge.corpus.documents",
    "load_scores": "nlgauge.saved_scores",
    "matrix": "nlgauge.pairs.matrix",
    "option": "nlgauge.recipes.options",
    "rank": "nlgauge.pairs.rank",
    "recipe_from_signature": "nlgauge.registry",
    "release_models": "nlgauge.encoders",
    "save_scores": "nlgauge.saved_scores",
    "score": "nlgauge.scoring",
    "score_systems": "nlgauge.scoring",
    "write_report": "nlgauge.report.html",
}


if not typing.TYPE_CHECKING:  # which see the names above, and can tell a misspelt one

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES, *_NAMES})

    def __getattr__(name: str) -> typing.Any:
        if name in _MODULES:
            return importlib.import_module(f"nlgauge.{name}")
        if name in _NAMES:
            found = globals()[name] = getattr(importlib.import_module(_NAMES[name]), name)
            return found
        msg = f"module 'nlgauge' has no attribute {name!r}"
        raise AttributeError(msg)
