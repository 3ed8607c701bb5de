"""nlgauge: measure generated text with contextual embeddings, so that anyone can get the same number again.

>>> import nlgauge
>>> result = nlgauge.score(["A cat sat on the mat."], ["The cat sat on the mat."], metric="bertscore")
>>> result.f1.shape
(1,)
"""

import importlib
import typing

from nlgauge import _startup  # noqa: F401  # first, because the modules below take a moment to load
from nlgauge._version import __version__
from nlgauge.accumulator import Accumulator
from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.corpus.documents import join_documents
from nlgauge.corpus.views import TextView
from nlgauge.encoders import Encoder, release_models
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
from nlgauge.pairs.matrix import ScoreMatrix, matrix
from nlgauge.pairs.rank import Ranking, rank
from nlgauge.recipes.metric import Metric, TextMetric
from nlgauge.recipes.options import option
from nlgauge.recipes.results import Comparison, Pair, SystemResult
from nlgauge.recipes.signature import Signature
from nlgauge.recipes.vector_metric import State, VectorMetric
from nlgauge.registry import built_in_metrics, recipe_from_signature
from nlgauge.saved_scores import load_scores, save_scores
from nlgauge.scores import Score
from nlgauge.scoring import score, score_systems

if typing.TYPE_CHECKING:  # found by __getattr__ below
    from nlgauge import compare as compare
    from nlgauge import data as data
    from nlgauge import distributed as distributed
    from nlgauge import ensembles as ensembles
    from nlgauge import meta as meta
    from nlgauge import stress as stress
    from nlgauge import testing as testing
    from nlgauge.compare import SystemComparison as SystemComparison
    from nlgauge.compare import SystemScores as SystemScores
    from nlgauge.compare import compare_systems as compare_systems
    from nlgauge.explain.corpus import CorpusSummary, explain_corpus
    from nlgauge.explain.explanation import Explanation
    from nlgauge.explain.factors.columns import FactorOptions
    from nlgauge.explain.factors.run import explain_columns, explain_factors
    from nlgauge.explain.factors.surrogate import FactorStudy, Surrogate, fit_surrogates
    from nlgauge.explain.pairs import explain_pair, explain_pairs
    from nlgauge.features.run import Discourse, discourse
    from nlgauge.report.html import ReportOptions, ReportTexts, write_report
    from nlgauge.service.async_client import AsyncClient
    from nlgauge.service.client import Client

__all__ = [
    "Accumulator",
    "Alignment",
    "AlignmentNotFoundError",
    "AsyncClient",
    "BaselineError",
    "Client",
    "Comparison",
    "ConvergenceWarning",
    "CorpusSummary",
    "DataWarning",
    "DigestError",
    "Discourse",
    "EmptyPairError",
    "EmptyTextWarning",
    "Encoder",
    "Explanation",
    "FactorOptions",
    "FactorStudy",
    "FileFormatError",
    "Flow",
    "InputError",
    "LanguageWarning",
    "Metric",
    "MissingExtraError",
    "ModelError",
    "ModelNotFoundError",
    "NlgaugeError",
    "NlgaugeWarning",
    "NoFocusWarning",
    "NoNounWarning",
    "Pair",
    "Ranking",
    "RecipeError",
    "ReportOptions",
    "ReportTexts",
    "Score",
    "ScoreMatrix",
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

# The metrics of nlgauge are public by the names of their classes: BERTScore, MoverScore, ...
_metrics = {metric.__name__: metric for metric in built_in_metrics().values()}
globals().update(_metrics)
__all__ += sorted(_metrics)
del built_in_metrics


#: Public modules that scoring has no need of: `nlgauge.compare.gate` imports the first.
_ON_DEMAND = ("compare", "data", "distributed", "ensembles", "meta", "stress", "testing")

#: Public names that scoring has no need of, by the module that has them.
_NAMES_ON_DEMAND = {
    "AsyncClient": "nlgauge.service.async_client",
    "Client": "nlgauge.service.client",
    "CorpusSummary": "nlgauge.explain.corpus",
    "Explanation": "nlgauge.explain.explanation",
    "Discourse": "nlgauge.features.run",
    "SystemComparison": "nlgauge.compare",
    "SystemScores": "nlgauge.compare",
    "compare_systems": "nlgauge.compare",
    "discourse": "nlgauge.features.run",
    "FactorOptions": "nlgauge.explain.factors.columns",
    "FactorStudy": "nlgauge.explain.factors.surrogate",
    "Surrogate": "nlgauge.explain.factors.surrogate",
    "explain_columns": "nlgauge.explain.factors.run",
    "explain_corpus": "nlgauge.explain.corpus",
    "explain_factors": "nlgauge.explain.factors.run",
    "explain_pair": "nlgauge.explain.pairs",
    "explain_pairs": "nlgauge.explain.pairs",
    "fit_surrogates": "nlgauge.explain.factors.surrogate",
    "ReportOptions": "nlgauge.report.html",
    "ReportTexts": "nlgauge.report.html",
    "write_report": "nlgauge.report.html",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND, *_NAMES_ON_DEMAND})


def __getattr__(name: str) -> type[Metric]:
    # Reached for other names only; declared for type checkers, which do not see the metrics above.
    if name in _ON_DEMAND:
        return importlib.import_module(f"nlgauge.{name}")  # type: ignore[return-value]  # they see it above
    if name in _NAMES_ON_DEMAND:
        return getattr(importlib.import_module(_NAMES_ON_DEMAND[name]), name)  # type: ignore[no-any-return]
    msg = f"module 'nlgauge' has no attribute {name!r}"
    raise AttributeError(msg)
