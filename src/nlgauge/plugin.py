"""Base classes and functions for metrics, analyses, encoders and engines of other packages (docs/extending.md)."""

from nlgauge.core.corpus import Corpus, make_corpus
from nlgauge.core.kinds import Choice, Flag, Float, Int, Kind, Many, NameList, NumberList, Pattern, Text
from nlgauge.core.metric import Comparison, Metric, Pair, SystemResult, TextMetric
from nlgauge.core.operations import CANDIDATES, DOCUMENTS, LISTS, PAIR, SEGMENTS, SYSTEMS, Input, Operation
from nlgauge.core.options import OptionSet, option, seed_option
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
from nlgauge.core.result import Result
from nlgauge.core.score import Note, declare_note
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State, VectorMetric
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.load import Engine, add_encoder, remove_encoder
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.io.table import Cell, Marked, Probability, Table
from nlgauge.vectors.cloud import Alignment, Flow

__all__ = [
    "CANDIDATES",
    "DOCUMENTS",
    "LISTS",
    "PAIR",
    "SEGMENTS",
    "SYSTEMS",
    "Alignment",
    "Cell",
    "Choice",
    "Comparison",
    "Corpus",
    "Encoder",
    "Engine",
    "Flag",
    "Float",
    "Flow",
    "IdfChoice",
    "Input",
    "Int",
    "Kind",
    "LanguageModelName",
    "LoadContext",
    "Loaded",
    "Many",
    "Marked",
    "Metric",
    "ModelFiles",
    "NameList",
    "Note",
    "NumberList",
    "Operation",
    "OptionSet",
    "Pair",
    "Pattern",
    "Probability",
    "Resource",
    "Result",
    "SentenceModelName",
    "State",
    "StopwordList",
    "SystemResult",
    "Table",
    "Text",
    "TextMetric",
    "TextView",
    "TransformFiles",
    "VectorMetric",
    "add_encoder",
    "declare_note",
    "idf_option",
    "make_corpus",
    "option",
    "remove_encoder",
    "seed_option",
]
