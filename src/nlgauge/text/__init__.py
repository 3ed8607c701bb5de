"""From characters to token ids: tokenizers, stop words, and inverse document frequencies over token ids."""

from nlgauge.text.idf import IdfTable
from nlgauge.text.stopwords import StopWords, load_stopwords
from nlgauge.text.tokenizer import TextTokenizer, Tokens

__all__ = ["IdfTable", "StopWords", "TextTokenizer", "Tokens", "load_stopwords"]
