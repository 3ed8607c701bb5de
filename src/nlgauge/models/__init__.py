"""The model store: from a model's name to a folder of files whose bytes are the known ones."""

from nlgauge.models.catalog import CARDS, ModelCard, find_card
from nlgauge.models.fetch import fetch_card
from nlgauge.models.resolve import ModelFiles, resolve

__all__ = [
    "CARDS",
    "ModelCard",
    "ModelFiles",
    "fetch_card",
    "find_card",
    "resolve",
]
