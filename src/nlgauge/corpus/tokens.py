"""A corpus with the tokens of its texts under one model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nlgauge.corpus.texts import Corpus
from nlgauge.encoders import Encoder
from nlgauge.text import TextTokenizer, Tokens
from nlgauge.text.windows import Windows

__all__ = ["TokenizedCorpus"]


@dataclass(frozen=True, eq=False)
class TokenizedCorpus:
    """A corpus with the tokens of each of its texts under one model."""

    corpus: Corpus
    encoder: Encoder
    tokenizer: TextTokenizer
    """The encoder's, as the recipe reads texts with it."""
    tokens: Mapping[str, Tokens]
    limit: int = 0
    """Longest text in tokens: the model's limit, or less where the recipe says so."""
    windows: Windows | None = None
    """How texts over the limit are read; None: they are cut."""
    memo: dict[str, Any] = field(default_factory=dict, repr=False)
    """What recipes count on the corpus and share with each other: idf tables, by choice."""

    def reference_tokens(self) -> Iterable[Tokens]:
        """Every reference as a document of idf, in order, repeated texts included."""
        other = self.corpus.idf_documents.get(None)
        texts = (text for group in self.corpus.references for text in group) if other is None else iter(other)
        return (self.tokens[text] for text in texts)

    def system_tokens(self, system: str) -> Iterable[Tokens]:
        """Every output of a system as a document of idf."""
        texts = self.corpus.idf_documents.get(system, self.corpus.systems[system])
        return (self.tokens[text] for text in texts)
