"""What metrics, encoders and engines of other packages are made of (docs/extending.md)."""

from nlgauge.core.kinds import Choice, Flag, Float, Int, Kind, Many, NameList, NumberList, Pattern, Text
from nlgauge.core.metric import Comparison, Metric, Pair, SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.resources import (
    IdfChoice,
    LanguageModelName,
    LoadContext,
    Loaded,
    Resource,
    SentenceModelName,
    StopwordList,
    TransformFiles,
    idf_option,
)
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State, VectorMetric
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.engines.available import Engine
from nlgauge.encoders.load import add_encoder, remove_encoder
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.vectors.cloud import Alignment, Flow

__all__ = [
    "Alignment",
    "Choice",
    "Comparison",
    "Encoder",
    "Engine",
    "Flag",
    "Float",
    "Flow",
    "IdfChoice",
    "Int",
    "Kind",
    "LanguageModelName",
    "LoadContext",
    "Loaded",
    "Many",
    "Metric",
    "ModelFiles",
    "NameList",
    "NumberList",
    "Pair",
    "Pattern",
    "Resource",
    "SentenceModelName",
    "State",
    "StopwordList",
    "SystemResult",
    "Text",
    "TextMetric",
    "TextView",
    "TransformFiles",
    "VectorMetric",
    "add_encoder",
    "idf_option",
    "option",
    "remove_encoder",
]
