"""nlgauge: measure generated text with contextual embeddings, so that anyone can get the same number again.

>>> import nlgauge
>>> result = nlgauge.score(["A cat sat on the mat."], ["The cat sat on the mat."], metric="bertscore")
>>> result.f1.shape
(1,)
"""

from nlgauge._version import __version__
from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.errors import (
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
    OldNameWarning,
    RecipeError,
    SignatureError,
    TooLongError,
    TruncationWarning,
    UnknownWordWarning,
    UnsupportedModelError,
    ZeroWeightWarning,
)
from nlgauge.metrics.baryscore import BaryScore
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.bleu import BLEU
from nlgauge.metrics.chrf import ChrF
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.metrics.rouge import Rouge1, Rouge2, RougeL
from nlgauge.metrics.sentsim import SentSim
from nlgauge.metrics.smd import SMD
from nlgauge.metrics.xmoverscore import XMoverScore
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.signature import Signature
from nlgauge.registry import recipe_from_signature
from nlgauge.scores import Score
from nlgauge.scoring import score, score_systems

__all__ = [
    "BLEU",
    "SMD",
    "Alignment",
    "BERTScore",
    "BaryScore",
    "BaselineError",
    "ChrF",
    "ConvergenceWarning",
    "DataWarning",
    "DigestError",
    "EmptyPairError",
    "EmptyTextWarning",
    "FileFormatError",
    "Flow",
    "InputError",
    "LanguageWarning",
    "Metric",
    "MissingExtraError",
    "ModelError",
    "ModelNotFoundError",
    "MoverScore",
    "NlgaugeError",
    "NlgaugeWarning",
    "OldNameWarning",
    "RecipeError",
    "Rouge1",
    "Rouge2",
    "RougeL",
    "Score",
    "SentSim",
    "Signature",
    "SignatureError",
    "TooLongError",
    "TruncationWarning",
    "UnknownWordWarning",
    "UnsupportedModelError",
    "XMoverScore",
    "ZeroWeightWarning",
    "__version__",
    "recipe_from_signature",
    "score",
    "score_systems",
]
