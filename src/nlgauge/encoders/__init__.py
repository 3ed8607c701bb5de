"""From token ids to layer vectors: engines, batching, and one loaded model for all who ask."""

from nlgauge.encoders.base import EncodedText, Encoder, encode_texts
from nlgauge.encoders.cache import EmbeddingCache
from nlgauge.encoders.load import ENGINES, default_threads, load_encoder

__all__ = ["ENGINES", "EmbeddingCache", "EncodedText", "Encoder", "default_threads", "encode_texts", "load_encoder"]
