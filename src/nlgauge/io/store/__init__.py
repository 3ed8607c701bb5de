"""The model store: from a model's name to a folder of files whose bytes are the known ones."""

from nlgauge.io.store.catalog import CARDS, ModelCard, find_card
from nlgauge.io.store.fetch import fetch_card
from nlgauge.io.store.resolve import ModelFiles, resolve

__all__ = [
    "CARDS",
    "ModelCard",
    "ModelFiles",
    "fetch_card",
    "find_card",
    "resolve",
]
