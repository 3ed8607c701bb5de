"""nlgauge: BERTScore, MoverScore, BLEU, chrF and more, each score with a signature that reproduces it.

>>> import nlgauge
>>> result = nlgauge.score(["A cat sat on the mat."], ["The cat sat on the mat."], metric="bertscore")
>>> result.f1.shape
(1,)
"""

import importlib
import typing

from nlgauge import _startup  # noqa: F401  # first, because it handles interrupts during slow imports
from nlgauge._version import __version__

if typing.TYPE_CHECKING:  # at run time __getattr__ below imports them
    from nlgauge import apps as apps
    from nlgauge import data as data
    from nlgauge import errors as errors
    from nlgauge import metrics as metrics
    from nlgauge import plugin as plugin
    from nlgauge import studies as studies
    from nlgauge import testing as testing
    from nlgauge.apps.service.client import AsyncClient as AsyncClient
    from nlgauge.apps.service.client import Client as Client
    from nlgauge.core.corpus import join_documents as join_documents
    from nlgauge.core.pairs import ScoreMatrix as ScoreMatrix
    from nlgauge.core.pairs import matrix as matrix
    from nlgauge.core.rank import Ranking as Ranking
    from nlgauge.core.rank import rank as rank
    from nlgauge.core.registry import recipe_from_signature as recipe_from_signature
    from nlgauge.core.score import Score as Score
    from nlgauge.core.score_table import ScoreTable as ScoreTable
    from nlgauge.core.score_table import load_scores as load_scores
    from nlgauge.core.score_table import save_scores as save_scores
    from nlgauge.core.scoring import Accumulator as Accumulator
    from nlgauge.core.scoring import score as score
    from nlgauge.core.scoring import score_systems as score_systems
    from nlgauge.core.short_signature import signature_form as signature_form
    from nlgauge.core.signature import Signature as Signature
    from nlgauge.encoders.load import release_models as release_models
    from nlgauge.report.document import write_report as write_report
    from nlgauge.report.inputs import ReportOptions as ReportOptions
    from nlgauge.report.inputs import ReportTexts as ReportTexts
    from nlgauge.studies.compare.comparison import SystemComparison as SystemComparison
    from nlgauge.studies.compare.system_scores import SystemScores as SystemScores
    from nlgauge.studies.compare.systems import compare as compare
    from nlgauge.studies.compare.systems import compare_systems as compare_systems
    from nlgauge.studies.discourse import Discourse as Discourse
    from nlgauge.studies.discourse import discourse as discourse
    from nlgauge.studies.explain.corpus import CorpusSummary as CorpusSummary
    from nlgauge.studies.explain.corpus import explain_corpus as explain_corpus
    from nlgauge.studies.explain.explanation import Explanation as Explanation
    from nlgauge.studies.explain.pairs import explain_pair as explain_pair
    from nlgauge.studies.explain.pairs import explain_pairs as explain_pairs
    from nlgauge.studies.factors.surrogate import FactorStudy as FactorStudy
    from nlgauge.studies.factors.surrogate import explain_factors as explain_factors

#: Public packages and modules. Each is imported when it is first used, and so are those inside the packages:
#: `nlgauge.studies.compare.gate` works after `import nlgauge`.
_MODULES = ("apps", "data", "errors", "metrics", "plugin", "studies", "testing")

#: Public names by their module. Each is imported at its first use, so `import nlgauge` and `nlgauge --version` do not
#: load numpy and all metrics.
_NAMES = {
    "Accumulator": "nlgauge.core.scoring",
    "AsyncClient": "nlgauge.apps.service.client",
    "Client": "nlgauge.apps.service.client",
    "CorpusSummary": "nlgauge.studies.explain.corpus",
    "Discourse": "nlgauge.studies.discourse",
    "Explanation": "nlgauge.studies.explain.explanation",
    "FactorStudy": "nlgauge.studies.factors.surrogate",
    "Ranking": "nlgauge.core.rank",
    "ReportOptions": "nlgauge.report.inputs",
    "ReportTexts": "nlgauge.report.inputs",
    "Score": "nlgauge.core.score",
    "ScoreMatrix": "nlgauge.core.pairs",
    "ScoreTable": "nlgauge.core.score_table",
    "Signature": "nlgauge.core.signature",
    "SystemComparison": "nlgauge.studies.compare.comparison",
    "SystemScores": "nlgauge.studies.compare.system_scores",
    "compare": "nlgauge.studies.compare.systems",
    "compare_systems": "nlgauge.studies.compare.systems",
    "discourse": "nlgauge.studies.discourse",
    "explain_corpus": "nlgauge.studies.explain.corpus",
    "explain_factors": "nlgauge.studies.factors.surrogate",
    "explain_pair": "nlgauge.studies.explain.pairs",
    "explain_pairs": "nlgauge.studies.explain.pairs",
    "join_documents": "nlgauge.core.corpus",
    "load_scores": "nlgauge.core.score_table",
    "matrix": "nlgauge.core.pairs",
    "rank": "nlgauge.core.rank",
    "recipe_from_signature": "nlgauge.core.registry",
    "release_models": "nlgauge.encoders.load",
    "save_scores": "nlgauge.core.score_table",
    "score": "nlgauge.core.scoring",
    "score_systems": "nlgauge.core.scoring",
    "signature_form": "nlgauge.core.short_signature",
    "write_report": "nlgauge.report.document",
}

__all__ = [*_NAMES, "__version__"]


if not typing.TYPE_CHECKING:  # type checkers use the imports above

    def __dir__() -> list[str]:
        return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})

    def __getattr__(name: str) -> typing.Any:
        if name in _MODULES:
            return importlib.import_module(f"nlgauge.{name}")
        if name in _NAMES:
            value = globals()[name] = getattr(importlib.import_module(_NAMES[name]), name)
            return value
        homes = [home for home in ("metrics", "errors") if name in importlib.import_module(f"nlgauge.{home}").__all__]
        msg = f"{name} is in nlgauge.{homes[0]}" if homes else f"module 'nlgauge' has no attribute {name!r}"
        raise AttributeError(msg)
