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
from nlgauge.core.hooks import register_explainer
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
    from nlgauge import apps as apps
    from nlgauge import data as data
    from nlgauge import studies as studies
    from nlgauge import testing as testing
    from nlgauge.apps.service.async_client import AsyncClient
    from nlgauge.apps.service.client import Client
    from nlgauge.core.corpus import join_documents
    from nlgauge.core.matrix import ScoreMatrix, matrix
    from nlgauge.core.metric import Comparison, Metric, Pair, SystemResult, TextMetric
    from nlgauge.core.options import option
    from nlgauge.core.rank import Ranking, rank
    from nlgauge.core.registry import recipe_from_signature
    from nlgauge.core.saved_scores import Accumulator, load_scores, save_scores
    from nlgauge.core.score import Score
    from nlgauge.core.scoring import score, score_systems
    from nlgauge.core.signature import Signature
    from nlgauge.core.tokens import TextView
    from nlgauge.core.vector_metric import State, VectorMetric
    from nlgauge.encoders.base import Encoder
    from nlgauge.encoders.load import release_models
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
    from nlgauge.report.html.document import write_report
    from nlgauge.report.html.inputs import ReportOptions, ReportTexts
    from nlgauge.studies.compare.comparison import SystemComparison
    from nlgauge.studies.compare.system_scores import SystemScores
    from nlgauge.studies.compare.systems import compare_systems
    from nlgauge.studies.discourse import Discourse, discourse
    from nlgauge.studies.explain.corpus import CorpusSummary, explain_corpus
    from nlgauge.studies.explain.explanation import Explanation
    from nlgauge.studies.explain.pairs import explain_pair, explain_pairs
    from nlgauge.studies.factors.columns import FactorOptions
    from nlgauge.studies.factors.surrogate import (
        FactorStudy,
        Surrogate,
        explain_columns,
        explain_factors,
        fit_surrogates,
    )
    from nlgauge.vectors.cloud import Alignment, Flow

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

#: Public packages that are imported when they are first used: `nlgauge.studies.compare.gate` imports the third.
_MODULES = ("apps", "data", "studies", "testing")

#: Public names by the module that has them. Each is imported when it is first used, so that `import nlgauge` and
#: `nlgauge --version` need not wait for numpy and all metrics.
_NAMES = {
    "Accumulator": "nlgauge.core.saved_scores",
    "Alignment": "nlgauge.vectors.cloud",
    "AsyncClient": "nlgauge.apps.service.async_client",
    "BERTScore": "nlgauge.metrics.bertscore",
    "BLEU": "nlgauge.metrics.bleu",
    "BaryScore": "nlgauge.metrics.baryscore",
    "ChrF": "nlgauge.metrics.chrf",
    "Client": "nlgauge.apps.service.client",
    "Comparison": "nlgauge.core.metric",
    "CorpusSummary": "nlgauge.studies.explain.corpus",
    "DSFocus": "nlgauge.metrics.ds_focus",
    "DSSent": "nlgauge.metrics.ds_sent",
    "DiscoScore": "nlgauge.metrics.discoscore",
    "Discourse": "nlgauge.studies.discourse",
    "Encoder": "nlgauge.encoders.base",
    "Ensemble": "nlgauge.metrics.ensemble",
    "EntityGraph": "nlgauge.metrics.cohesion",
    "Explanation": "nlgauge.studies.explain.explanation",
    "FactorOptions": "nlgauge.studies.factors.columns",
    "FactorStudy": "nlgauge.studies.factors.surrogate",
    "Flow": "nlgauge.vectors.cloud",
    "FocusFrequency": "nlgauge.metrics.focus_frequency",
    "LC": "nlgauge.metrics.cohesion",
    "LexicalChain": "nlgauge.metrics.lexical_chain",
    "LexicalGraph": "nlgauge.metrics.cohesion",
    "Metric": "nlgauge.core.metric",
    "MoverScore": "nlgauge.metrics.moverscore",
    "Pair": "nlgauge.core.metric",
    "RC": "nlgauge.metrics.cohesion",
    "Ranking": "nlgauge.core.rank",
    "ReportOptions": "nlgauge.report.html.inputs",
    "ReportTexts": "nlgauge.report.html.inputs",
    "Rouge1": "nlgauge.metrics.rouge",
    "Rouge2": "nlgauge.metrics.rouge",
    "RougeL": "nlgauge.metrics.rouge",
    "SMD": "nlgauge.metrics.smd",
    "Score": "nlgauge.core.score",
    "ScoreMatrix": "nlgauge.core.matrix",
    "SentSim": "nlgauge.metrics.sentsim",
    "Signature": "nlgauge.core.signature",
    "State": "nlgauge.core.vector_metric",
    "Surrogate": "nlgauge.studies.factors.surrogate",
    "SystemComparison": "nlgauge.studies.compare.comparison",
    "SystemResult": "nlgauge.core.metric",
    "SystemScores": "nlgauge.studies.compare.system_scores",
    "TextMetric": "nlgauge.core.metric",
    "TextView": "nlgauge.core.tokens",
    "VectorMetric": "nlgauge.core.vector_metric",
    "XMoverScore": "nlgauge.metrics.xmoverscore",
    "compare_systems": "nlgauge.studies.compare.systems",
    "discourse": "nlgauge.studies.discourse",
    "explain_columns": "nlgauge.studies.factors.surrogate",
    "explain_corpus": "nlgauge.studies.explain.corpus",
    "explain_factors": "nlgauge.studies.factors.surrogate",
    "explain_pair": "nlgauge.studies.explain.pairs",
    "explain_pairs": "nlgauge.studies.explain.pairs",
    "fit_surrogates": "nlgauge.studies.factors.surrogate",
    "join_documents": "nlgauge.core.corpus",
    "load_scores": "nlgauge.core.saved_scores",
    "matrix": "nlgauge.core.matrix",
    "option": "nlgauge.core.options",
    "rank": "nlgauge.core.rank",
    "recipe_from_signature": "nlgauge.core.registry",
    "release_models": "nlgauge.encoders.load",
    "save_scores": "nlgauge.core.saved_scores",
    "score": "nlgauge.core.scoring",
    "score_systems": "nlgauge.core.scoring",
    "write_report": "nlgauge.report.html.document",
}


def _explain(score: typing.Any, segment: int, **options: typing.Any) -> typing.Any:
    from nlgauge.studies.explain.pairs import explain_segments

    return explain_segments(score, [segment], **options)[0]


register_explainer(_explain)


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
