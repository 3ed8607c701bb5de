"""The model store: from a model's name to a folder of files whose bytes are the known ones."""

from nlgauge.store.catalog import CARDS, ModelCard, find_card
from nlgauge.store.digests import file_digest, text_digest
from nlgauge.store.fetch import fetch_card
from nlgauge.store.files import write_whole
from nlgauge.store.paths import cache_dir
from nlgauge.store.resolve import ModelFiles, resolve

__all__ = [
    "CARDS",
    "ModelCard",
    "ModelFiles",
    "cache_dir",
    "fetch_card",
    "file_digest",
    "find_card",
    "resolve",
    "text_digest",
    "write_whole",
]
