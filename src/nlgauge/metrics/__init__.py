"""One file per metric, and what runs them."""

from nlgauge.corpus.checks import make_corpus
from nlgauge.corpus.texts import Corpus, References
from nlgauge.metrics.baryscore import BaryScore
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.build_baseline import build_baseline
from nlgauge.metrics.lexical import BLEU, ChrF, Rouge1, Rouge2, RougeL
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.metrics.registry import METRICS, metric_class, metric_name, parse_metric, recipe_from_signature
from nlgauge.metrics.runner import run_metrics
from nlgauge.metrics.sentsim import SentSim
from nlgauge.metrics.smd import SMD
from nlgauge.metrics.xmoverscore import XMoverScore
from nlgauge.recipes.defaults import model_for_language
from nlgauge.recipes.metric import CloudMetric, Metric, TextMetric
from nlgauge.recipes.run_options import RunOptions

__all__ = [
    "BLEU",
    "METRICS",
    "SMD",
    "BERTScore",
    "BaryScore",
    "ChrF",
    "CloudMetric",
    "Corpus",
    "Metric",
    "MoverScore",
    "References",
    "Rouge1",
    "Rouge2",
    "RougeL",
    "RunOptions",
    "SentSim",
    "TextMetric",
    "XMoverScore",
    "build_baseline",
    "make_corpus",
    "metric_class",
    "metric_name",
    "model_for_language",
    "parse_metric",
    "recipe_from_signature",
    "run_metrics",
]
