"""From token ids to layer vectors: engines, batching, and one loaded model for all who ask."""

from nlgauge.encoders.base import EncodedText, Encoder, encode_texts
from nlgauge.encoders.cache import EmbeddingCache
from nlgauge.encoders.engines.available import Engine, engine_names
from nlgauge.encoders.load import default_threads, load_encoder, release_models

__all__ = [
    "EmbeddingCache",
    "EncodedText",
    "Encoder",
    "Engine",
    "default_threads",
    "encode_texts",
    "engine_names",
    "load_encoder",
    "release_models",
]
