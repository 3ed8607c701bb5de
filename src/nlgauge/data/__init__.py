"""Reading texts from the files people have."""

from nlgauge.data.textfiles import Inputs, TextSource, parse_source, read_references, read_texts

__all__ = ["Inputs", "TextSource", "parse_source", "read_references", "read_texts"]
