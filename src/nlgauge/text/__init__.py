"""From characters to token ids: tokenizers, and inverse document frequencies over their ids."""

from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import TextTokenizer, Tokens

__all__ = ["IdfTable", "TextTokenizer", "Tokens"]
